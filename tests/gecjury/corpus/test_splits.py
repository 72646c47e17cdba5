"""Sources drawn into train, dev and test."""

from __future__ import annotations

import numpy as np

from gecjury.corpus.splits import split_sources

SOURCES = [f"sentence {number}" for number in range(40) for _ in range(3)]


def test_a_source_stands_in_one_part_with_all_its_rows() -> None:
    split = split_sources(SOURCES, seed=1)
    assert str(split) == "96 train, 12 dev, 12 test"
    rows = np.concatenate([split.train, split.dev, split.test])
    assert sorted(rows.tolist()) == list(range(len(SOURCES)))
    found = [{SOURCES[row] for row in part} for part in (split.train, split.dev, split.test)]
    assert [len(part) for part in found] == [32, 4, 4]
    assert len(set.union(*found)) == 40


def test_the_draw_is_of_the_seed_alone() -> None:
    # Trained models are held against the part their training left out: the draw may never change.
    assert sorted({SOURCES[row] for row in split_sources(SOURCES).test}) == [
        "sentence 2",
        "sentence 23",
        "sentence 3",
        "sentence 34",
    ]
    assert split_sources(SOURCES, 0).test.tolist() == split_sources(SOURCES).test.tolist()
    assert split_sources(SOURCES, 1).test.tolist() != split_sources(SOURCES).test.tolist()


def test_typing_habits_make_no_other_source() -> None:
    typed = [source.upper().replace(" ", "  ") for source in SOURCES]
    typed[::3] = SOURCES[::3]
    assert split_sources(typed).test.tolist() == split_sources(SOURCES).test.tolist()


def test_too_few_sources_leave_a_part_empty() -> None:
    split = split_sources(["one source"] * 40)
    assert [len(part) for part in (split.train, split.dev, split.test)] == [0, 40, 0]

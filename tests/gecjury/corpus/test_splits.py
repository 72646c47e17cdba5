"""Sources drawn into train, dev and test."""

from __future__ import annotations

import numpy as np

from gecjury.corpus.splits import split_sources

SOURCES = [f"sentence {number}" for number in range(40) for _ in range(3)]


def test_all_rows_of_a_source_are_in_one_part() -> None:
    split = split_sources(SOURCES, seed=1)
    assert str(split) == "96 train, 12 dev, 12 test"
    rows = np.concatenate([split.train, split.dev, split.test])
    assert sorted(rows.tolist()) == list(range(len(SOURCES)))
    found = [{SOURCES[row] for row in part} for part in (split.train, split.dev, split.test)]
    assert [len(part) for part in found] == [32, 4, 4]
    assert len(set.union(*found)) == 40


def test_the_draw_depends_only_on_the_seed() -> None:
    # Trained models are evaluated on their held-out part, so the draw must never change.
    assert sorted({SOURCES[row] for row in split_sources(SOURCES).test}) == [
        "sentence 2",
        "sentence 23",
        "sentence 3",
        "sentence 34",
    ]
    assert split_sources(SOURCES, 0).test.tolist() == split_sources(SOURCES).test.tolist()
    assert split_sources(SOURCES, 1).test.tolist() != split_sources(SOURCES).test.tolist()


def test_case_and_spacing_do_not_make_another_source() -> None:
    typed = [source.upper().replace(" ", "  ") for source in SOURCES]
    typed[::3] = SOURCES[::3]
    assert split_sources(typed).test.tolist() == split_sources(SOURCES).test.tolist()


def test_too_few_sources_leave_a_part_empty() -> None:
    split = split_sources(["one source"] * 40)
    assert [len(part) for part in (split.train, split.dev, split.test)] == [0, 40, 0]

"""Pairs built from rankings in parts equal those built at once, and so do their statistics."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import numpy as np
import pytest

from gecjury.benchmarks.human_scores import human_expected_wins, human_trueskill
from gecjury.benchmarks.judgments import (
    JudgmentPairs,
    RankedItem,
    expand_pairs,
    judged_entries,
)
from gecjury.metaeval.cautions import count_repeats

SYSTEMS = tuple("abcdefg")


def rankings(items: int, seed: int) -> list[RankedItem]:
    """Rankings of random systems with shared texts, some repeated by the same annotator."""
    rng, found = random.Random(seed), []
    for number in range(items):
        names, groups = rng.sample((*SYSTEMS, "unknown"), rng.randint(1, 7)), []
        while names:
            size = rng.randint(1, 2)
            groups.append(tuple(names[:size]))
            names = names[size:]
        ranks = tuple(rng.randint(1, 3) for _ in groups)
        item = RankedItem(str(number), rng.randrange(3), rng.choice("xyz"), tuple(groups), ranks)
        found.append(item)
    return found


def columns(pairs: JudgmentPairs) -> dict[str, list[int]]:
    names = [field.name for field in fields(pairs) if field.name not in ("systems", "annotators")]
    return {name: getattr(pairs, name).tolist() for name in names}


def joined(parts: list[JudgmentPairs]) -> dict[str, list[int]]:
    found = [columns(part) for part in parts]
    return {name: [value for part in found for value in part[name]] for name in found[0]}


@pytest.mark.parametrize("mode", ["expanded", "unexpanded"])
@pytest.mark.parametrize("at_once", [1, 5, 1000])
def test_joined_parts_are_the_whole_in_its_order(mode: str, at_once: int) -> None:
    items = rankings(12, seed=1)
    entries = judged_entries(items, SYSTEMS, mode)  # type: ignore[arg-type]
    parts = list(entries.parts(at_once))
    whole = expand_pairs(items, SYSTEMS, mode)  # type: ignore[arg-type]
    assert len(whole) == len(entries) > 20
    assert joined(parts) == columns(whole)
    assert all(len(part) <= max(at_once, len(SYSTEMS) - 1) for part in parts)
    assert (len(parts) == 1) == (at_once == 1000)
    apart = list(replace(entries, shared=False).parts(at_once))
    assert joined(apart) == columns(whole.select(~whole.shared))


def test_without_pairs_there_is_one_empty_part() -> None:
    for items in ([], [RankedItem("1", 0, "x", (("unknown",),), (1,))]):
        entries = judged_entries(items, SYSTEMS)
        assert [len(part) for part in entries.parts()] == [0]
        assert not entries.compared.any()


@pytest.mark.parametrize("at_once", [1, 4, 1000])
@pytest.mark.parametrize("within", [True, False])
def test_repeated_judgments_are_found_together(within: bool, at_once: int) -> None:
    items = rankings(10, seed=2)
    entries = judged_entries(items, SYSTEMS)

    def keys(pairs: JudgmentPairs) -> list[tuple[int, ...]]:
        who = pairs.annotator if within else 0 * pairs.annotator
        columns = who, pairs.sentence, pairs.first, pairs.second
        return list(zip(*(column.tolist() for column in columns), strict=True))

    found = [keys(part) for part in entries.repeated(within=within, at_once=at_once)]
    every = keys(entries.whole())
    wanted = sorted(key for key in every if every.count(key) > 1)
    assert wanted
    for key in wanted:
        assert sorted(part.count(key) for part in found)[-1] == every.count(key)
    # No pair is found twice.
    assert all(sum(part.count(key) for part in found) <= every.count(key) for key in every)


@pytest.mark.parametrize("seed", range(4))
def test_statistics_of_entries_equal_those_of_pairs(seed: int) -> None:
    items = rankings(12, seed)
    entries, pairs = judged_entries(items, SYSTEMS), expand_pairs(items, SYSTEMS)
    assert count_repeats(entries) == count_repeats(pairs)
    assert count_repeats(pairs)[0] > 3
    for score in (human_trueskill, human_expected_wins):
        assert score(entries).tolist() == score(pairs).tolist()
    compared = np.isin(np.arange(len(SYSTEMS)), [pairs.first, pairs.second])
    assert entries.compared.tolist() == compared.tolist()

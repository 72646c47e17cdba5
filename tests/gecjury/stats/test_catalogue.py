"""The catalogue of statistics: every figure has an entry."""

from __future__ import annotations

from gecjury.metaeval.result import LEVELS
from gecjury.stats.catalogue import CATALOGUE, statistic


def test_every_statistic_of_a_level_has_an_entry() -> None:
    for level, keys in LEVELS.items():
        for key in keys:
            assert statistic(key, level).key.endswith(key)
            assert f"{level}.{key}" in CATALOGUE or key in CATALOGUE


def test_an_entry_of_a_place_comes_first() -> None:
    assert statistic("kendall", "system").heading == "τ sys"
    assert statistic("kendall").heading == "τ"
    assert statistic("name of a system").heading == ""


def test_ranges_contain_chance() -> None:
    for entry in CATALOGUE.values():
        low, high = entry.range
        assert low < high
        assert entry.chance is None or low <= entry.chance <= high

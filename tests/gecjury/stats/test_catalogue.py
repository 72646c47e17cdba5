"""The catalogue of statistics: every figure has an entry."""

from __future__ import annotations

import ast
from pathlib import Path

import gecjury
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


def test_no_heading_stands_elsewhere() -> None:
    """Headings that are names from the data, such as that of a system, are no literals."""
    families = ("judges", "refless", "refbased", "prompts")  # links to the families
    for path in Path(gecjury.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Column(" in text and not {*path.parts} & {*families}:
            for call in ast.walk(ast.parse(text)):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Column":
                    headings = [
                        *call.args[1:2],
                        *(k.value for k in call.keywords if k.arg == "heading"),
                    ]
                    assert not any(
                        isinstance(one, ast.Constant) and one.value for one in headings
                    ), f"{path}:{call.lineno}"

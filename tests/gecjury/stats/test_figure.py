"""Figures and the flat records made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from gecjury.stats.figure import Figure, FromValues, figures_about, figures_by, records, values_of


def test_one_record_for_everything_that_figures_are_about() -> None:
    figures = [
        Figure(level="system", metric="a", statistic="pearson", value=0.5, low=0.25, high=0.75),
        Figure(level="system", metric="b", statistic="pearson", value=0.125, cluster=2),
        Figure(level="sentence", metric="a", statistic="pearson", value=1.0, cluster=1),
        Figure(level="system", metric="a", statistic="spearman", value=math.nan),
    ]
    first, second = records(figures, lambda one: f"{one.level} {one.statistic}")
    assert math.isnan(first.pop("system spearman"))
    assert first == {
        "metric": "a",
        "system pearson": 0.5,
        "system pearson_ci95": (0.25, 0.75),
        "sentence pearson": 1.0,
        "sentence_cluster": 1,
    }
    assert second == {"metric": "b", "system pearson": 0.125, "system_cluster": 2}


def test_records_may_have_other_keys_than_figures() -> None:
    figures = figures_about({"net": 0.5, "change": 2}, {"net": (0.25, 0.75)}, metric="a", part="x")
    names = {"part": "attack", "net_ci95": "interval", "metric": ""}
    assert records(figures, names=names) == [
        {"attack": "x", "net": 0.5, "interval": (0.25, 0.75), "change": 2}
    ]


def test_figures_by_name() -> None:
    one, two = figures_by("system", {"a": {"edits": 1}, "b": {"edits": 2}}, n=3)
    assert (one.system, one.statistic, one.value, one.n) == ("a", "edits", 1, 3)
    assert (two.system, two.value, two.interval) == ("b", 2, None)


def test_values_are_named_by_attributes() -> None:
    assert values_of(Figure(statistic="edits", value=1), "statistic", "value") == {
        "statistic": "edits",
        "value": 1,
    }
    with pytest.raises(AttributeError, match="renamed"):
        values_of(Figure(statistic="edits", value=1), "renamed")


@dataclass(frozen=True)
class Valued:
    values: Mapping[str, float]
    pearson, pairs = FromValues(), FromValues()


def test_an_attribute_from_values_has_its_own_name() -> None:
    row = Valued({"pearson": 0.5})
    assert row.pearson == 0.5
    with pytest.raises(KeyError, match="pairs"):
        _ = row.pairs

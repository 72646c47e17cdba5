"""Figures and the flat records made of them."""

from __future__ import annotations

import math

from gecjury.stats.figure import Figure, records


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

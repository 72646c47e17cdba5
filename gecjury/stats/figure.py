"""Figures: one type for every number that a study returns."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number, what it is about, and how certain it is.

    Fields that do not apply are empty: `pandas.DataFrame(result.figures())` is a flat table.

    Attributes:
        level: `system`, `sentence`, `edit`, `rating`, `segment` or `label` in comparisons with
            people, `annotators` in comparisons with single people; `score` for scores of systems.
        human: the judgments: a view of the rankings, the rated aspect, or a class of labels.
        metric: the metric with its settings and, for single edits, how it credits them; for people,
            who is compared.
        family: the metric's family; `chance` or `humans` for rows that are not metrics.
        system: the system that is scored.
        task: the benchmark or task, if there are several.
        statistic: its key in the catalogue (`gecjury.stats.catalogue`), such as `pearson`.
        value: NaN if it is not defined.
        low: lower bound of its interval; NaN if there is none.
        high: upper bound of its interval; NaN if there is none.
        cluster: cluster without significant differences, 1 is best; None without tests.
        n: number of pairs, edits, sentences or corrections that it is based on; None if not known.
        missing: number of missing scores.
    """

    level: str = ""
    human: str = ""
    metric: str = ""
    family: str = ""
    system: str = ""
    task: str = ""
    statistic: str
    value: float
    low: float = math.nan
    high: float = math.nan
    cluster: int | None = None
    n: int | None = None
    missing: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The bounds of the interval; None if there is none."""
        return None if math.isnan(self.low) or math.isnan(self.high) else (self.low, self.high)

"""Figures: one type for every number that a study returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gecjury.core.records import PassedOn


class _Valued(Protocol):
    @property
    def values(self) -> Mapping[str, float]: ...


class FromValues:
    """An attribute that is the number of its own name among the `values` of a record."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: _Valued, owner: type) -> float:
        return record.values[self._name]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number, what it is about, and how certain it is.

    Fields that do not apply are empty: `pandas.DataFrame(result.figures())` is a flat table.

    Attributes:
        level: `system`, `sentence`, `edit`, `rating`, `segment` or `label` in comparisons with
            people, `annotators` in comparisons with single people, `window` over a few adjacent
            systems, `bias` for preferences that people do not share; `score` for scores of systems.
        human: the judgments: a view of the rankings, the rated aspect, or a class of labels.
        metric: the metric with its settings; for people, who is compared.
        family: the metric's family; `chance` or `humans` for rows that are not metrics.
        signature: the metric's signature in one line.
        credit: how the metric credits single edits.
        side: the side of a pair of corrections that the metric may prefer.
        system: the system that is scored.
        systems: the systems that the figure is restricted to.
        task: the benchmark or task, if there are several.
        part: what else the number is about: an error type, a kind of damage, an option's value.
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
    signature: str = ""
    credit: str = ""
    side: str = ""
    system: str = ""
    systems: tuple[str, ...] = ()
    task: str = ""
    part: str = ""
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


ABOUT = (
    "human", "metric", "family", "signature", "credit", "side", "system", "systems", "task",
    "part",
)  # fmt: skip
"""The fields that say what a figure is about, apart from its level."""


def grouped(figures: Iterable[Figure], names: Sequence[str] = ABOUT) -> list[list[Figure]]:
    """Return figures in groups of equal fields, in the order in which these first occur."""
    groups: dict[tuple[object, ...], list[Figure]] = {}
    for figure in figures:
        groups.setdefault(tuple(getattr(figure, name) for name in names), []).append(figure)
    return list(groups.values())


def figures_about(
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]] = {},
    /,
    **about: PassedOn,
) -> list[Figure]:
    """Return a figure for each value.

    Args:
        values: by statistic.
        intervals: bounds of values, by statistic.
        **about: the other fields, which all figures share.
    """
    none = (math.nan, math.nan)
    bounds = {key: intervals.get(key, none) for key in values}
    return [
        Figure(statistic=key, value=value, low=bounds[key][0], high=bounds[key][1], **about)
        for key, value in values.items()
    ]


def figures_by(
    field: str, values: Mapping[str, Mapping[str, float]], **about: PassedOn
) -> list[Figure]:
    """Return the figures of several systems, or of the names in another field.

    Args:
        field: the field, such as `system`.
        values: by name, then by statistic.
        **about: the other fields, which all figures share.
    """
    return [
        figure
        for name, own in values.items()
        for figure in figures_about(own, **{field: name}, **about)
    ]


def values_of(one: object, *names: str) -> dict[str, Any]:
    """Return attributes as entries of a record: `name`, or `name=key` under another key.

    An attribute that is renamed in the code is an error, and not a key that changes.
    """
    pairs = (name.partition("=") for name in names)
    return {key or name: getattr(one, name) for name, _, key in pairs}


def records(
    figures: Iterable[Figure],
    key: Callable[[Figure], str] = lambda figure: figure.statistic,
    names: Mapping[str, str] = {},
) -> list[dict[str, object]]:
    """Return figures as flat records, one for everything that figures are about.

    A record has the fields of `ABOUT` that are not empty, each value under its key, its interval
    as `{key}_ci95`, and a cluster as `{level}_cluster`.

    Args:
        figures: the figures, in the order of the records.
        key: returns the key of a figure's value; by default its statistic.
        names: other names for keys; an empty one leaves the entry out.
    """
    rows = []
    for group in grouped(figures):
        row = {name: value for name in ABOUT if (value := getattr(group[0], name))}
        for figure in group:
            row[key(figure)] = figure.value
            if figure.interval is not None:
                row[f"{key(figure)}_ci95"] = figure.interval
            if figure.cluster is not None:
                row[f"{figure.level}_cluster"] = figure.cluster
        rows.append({named: v for name, v in row.items() if (named := names.get(name, name))})
    return rows

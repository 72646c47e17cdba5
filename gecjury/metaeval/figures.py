"""Every number of a comparison as a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gecjury.metaeval.people import PEOPLE
from gecjury.stats.bootstrap import Interval
from gecjury.stats.correlation import MEASURES
from gecjury.stats.figure import Figure

if TYPE_CHECKING:
    from gecjury.metaeval.result import Comparison

LEVELS: Mapping[str, Sequence[str]] = {
    "system": (*MEASURES, "spa"),
    "sentence": ("accuracy", "kendall", "tied_share"),
    "edit": (
        "auc",
        "average_precision",
        "average_precision_invalid",
        "accuracy",
        "balanced",
        "kappa",
    ),
    "rating": ("pearson", "spearman", "kendall", "within", "system_pearson", "system_spearman"),
    "segment": ("acc_eq", "acc_exact", "kendall", "pearson", "pdp", "epsilon"),
    "label": ("auc",),
}
"""Statistics by level, in the order in which tables show them."""

JUDGE = "one annotator by another"
"""The row of people at the level of edits."""


def comparison_figures(comparison: Comparison) -> Iterator[Figure]:
    """Yield the figures of a comparison: by level, for metrics, then chance, then people."""
    for result in (*comparison.results, *comparison.chance):
        about: dict[str, Any] = {
            "human": result.view,
            "metric": result.label,
            "family": result.family,
        }
        about |= {"missing": result.missing if result.family != "chance" else 0}
        if comparison.settings.level in ("system", "all"):
            system = result.system
            yield from _figures("system", system, system.ci95, about, cluster=system.cluster)
        if comparison.settings.level in ("sentence", "all") and result.sentence is not None:
            about |= {"cluster": result.sentence_cluster, "n": result.sentence.pairs}
            yield from _figures("sentence", result.sentence, result.sentence_ci95, about)
    if comparison.settings.level != "system":
        for view, people in comparison.annotators.items():
            agreement = people.agreement
            yield Figure(
                level="sentence", human=view, metric=PEOPLE, family="humans",
                statistic="accuracy", value=agreement.accuracy, n=agreement.decided,
            )  # fmt: skip
    yield from _of_edits(comparison)
    for level, rows in (
        ("rating", comparison.ratings),
        ("segment", comparison.segments),
        ("label", comparison.labels.rows if comparison.labels else ()),
    ):
        for row in rows:
            one: Any = row.agreement
            sizes = {"rating": "outputs", "segment": "pairs"}
            n = getattr(one, sizes[level]) if level in sizes else one.good + one.bad
            about = {"human": row.human, "metric": row.label, "family": row.family}
            yield from _figures(level, one, row.intervals, about, n=n, missing=one.missing)


def _of_edits(comparison: Comparison) -> Iterator[Figure]:
    edits = comparison.edits
    if edits is None:
        return
    entries = [
        (f"{r.label} ({r.credit})" if r.credit else r.label, r.family, r.agreement)
        for r in (*edits.results, *edits.chance.values())
    ]
    for label, family, one in (*entries, (JUDGE, "humans", edits.ceiling.agreement)):
        about = {"human": "edit", "metric": label, "family": family}
        yield from _figures("edit", one, one.ci95, about, n=one.cases, missing=one.missing)


def _figures(
    level: str,
    agreement: object,
    intervals: Mapping[str, Interval],
    about: Mapping[str, Any],
    **more: Any,
) -> Iterator[Figure]:
    for name in LEVELS[level]:
        low, high = intervals.get(name, (math.nan, math.nan))
        value: Any = {"value": float(getattr(agreement, name)), "low": float(low)}
        yield Figure(level=level, statistic=name, high=float(high), **value, **{**about, **more})

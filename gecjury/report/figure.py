"""Figures: one type of row for every number of a comparison, at any level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.metaeval.result import EDIT_STATISTICS, SENTENCE_STATISTICS, SYSTEM_STATISTICS

STATISTICS: Mapping[str, Sequence[str]] = {
    "system": SYSTEM_STATISTICS,
    "sentence": (*SENTENCE_STATISTICS, "tied_share"),
    "edit": EDIT_STATISTICS,
    "rating": ("pearson", "spearman", "kendall", "within", "system_pearson", "system_spearman"),
    "segment": ("acc_eq", "acc_exact", "kendall", "pearson", "pdp", "epsilon"),
    "label": ("auc",),
}
"""Statistics by level, in the order in which tables show them."""
HEADINGS: Mapping[str, str] = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "pairwise_accuracy": "pair acc",
    "spa": "SPA",
    "system_cluster": "cl sys",
    "sentence_kendall": "τ sent",
    "sentence_cluster": "cl sent",
    "tied": "tied %",
    "tied_share": "tied %",
    "human_tied": "human tied %",
    "seconds": "s",
    "auc": "AUC",
    "auc_ci95": "95%",
    "auc_there": "AUC there",
    "average_precision": "AP valid",
    "average_precision_invalid": "AP invalid",
    "average_precision_invalid_ci95": "95%",
    "kappa": "κ",
    "within": "τ in source",
    "system_pearson": "r sys",
    "system_spearman": "ρ sys",
    "epsilon": "ε",
    "acc_exact": "acc ε=0",
    "pdp": "PDP",
}
"""Headings in tables and pages of the columns whose heading is not their key."""
_Entry = tuple[tuple[str, str, str, str], Mapping[str, Any], int | None, int]
"""(Level, human judgments, metric, family), the record, number of items, number missing."""


@dataclass(frozen=True)
class Figure:
    """A number of a comparison.

    Attributes:
        level: `system`, `sentence`, `edit`, `rating`, `segment` or `label`.
        human: the judgments: a view of the rankings, the rated aspect, or a class of labels.
        metric: the metric with its settings and, for single edits, how it credits them; for people,
            who is compared.
        family: the metric's family; `chance` or `humans` for rows that are not metrics.
        statistic: such as `pearson`, `accuracy`, `auc`.
        value: NaN if it is not defined.
        low: lower bound of its interval; NaN if there is none.
        high: upper bound of its interval; NaN if there is none.
        cluster: cluster of metrics without significant differences, 1 is best; None without tests.
        n: number of pairs, edits or corrections that it is based on; None if not known.
        missing: number of missing scores.
    """

    level: str
    human: str
    metric: str
    family: str
    statistic: str
    value: float
    low: float = math.nan
    high: float = math.nan
    cluster: int | None = None
    n: int | None = None
    missing: int = 0


def figures_of(document: Mapping[str, Any]) -> list[Figure]:
    """Return every figure of a comparison.

    Args:
        document: the comparison as in its JSON output, with typed values or plain ones.
    """
    figures = []
    for about, entry, n, missing in (*_of_rankings(document), *_of_single_things(document)):
        intervals = entry.get("ci95") or {}
        for statistic in STATISTICS[about[0]]:
            if statistic in entry:
                low, high = map(_number, intervals.get(statistic) or (None, None))
                value, cluster = _number(entry[statistic]), entry.get("cluster")
                figures.append(Figure(*about, statistic, value, low, high, cluster, n, missing))
    return figures


def _of_rankings(document: Mapping[str, Any]) -> Iterator[_Entry]:
    """Yield the entries of the system and sentence levels: metrics, chance, two annotators."""
    rows = [(row["metric"], row["family"], row["human"], row) for row in document["rows"]]
    for name, baseline in (document.get("chance") or {}).items():
        rows += [(name, "chance", view, row) for view, row in baseline["human"].items()]
    for metric, family, human, row in rows:
        # A level that was not compared has no record; one without judgments has None.
        for level in ("system", "sentence"):
            entry = row.get(level) or {}
            missing = row.get("missing") or 0
            yield (level, human, metric, family), entry, entry.get("pairs"), missing
    for view, people in (document.get("ceiling") or {}).items():
        yield ("sentence", view, "two annotators", "humans"), people, people.get("decided"), 0


def _edit_entries(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the name, family and record of every metric and every way to credit it.

    A metric's record is repeated in its row for every view of the rankings.
    """
    for row in {row["metric"]: row for row in document["rows"] if row.get("edit")}.values():
        for entry in (row.get("edit_by_credit") or {"": row["edit"]}).values():
            way = f" ({entry['credit']})" if entry.get("credit") else ""
            yield f"{row['metric']}{way}", row["family"], entry


def _of_single_things(document: Mapping[str, Any]) -> Iterator[_Entry]:
    """Yield the entries of single edits (metrics, chance, people) and of single corrections."""
    entries = list(_edit_entries(document))
    entries += [(name, "chance", e) for name, e in (document.get("edit_chance") or {}).items()]
    if document.get("edit_ceiling"):
        entries.append(("one annotator by another", "humans", document["edit_ceiling"]))
    for metric, family, entry in entries:
        missing = entry.get("missing") or 0
        yield ("edit", "edit", metric, family), entry, entry.get("cases"), missing
    segments, labels = document.get("segment") or {}, document.get("labels") or {}
    # The three levels of single corrections have different keys for the judgments.
    rows = [("rating", row["aspect"], row) for row in document.get("ratings") or ()]
    rows += [("segment", row["human"], row) for row in segments.get("rows") or ()]
    rows += [("label", row["bad"], row) for row in labels.get("rows") or ()]
    for level, human, row in rows:
        metric, n = row["metric"], row.get("outputs" if level == "rating" else "pairs")
        if level == "label":
            n = sum(row["corrections"].values())
        yield (level, human, metric, row["family"]), row, n, row.get("missing") or 0


def _number(value: object) -> float:
    # None is NaN in plain values. Strings in a damaged file are not numbers.
    return float(value) if isinstance(value, int | float) else math.nan

"""Figures: one type of row for every number of a comparison, whatever its level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.metaeval.result import EDIT_STATISTICS, SENTENCE_STATISTICS, SYSTEM_STATISTICS

_LEVELS = (("system", SYSTEM_STATISTICS), ("sentence", (*SENTENCE_STATISTICS, "tied_share")))
_RATING = ("pearson", "spearman", "kendall", "within", "system_pearson", "system_spearman")
_SEGMENT = ("acc_eq", "acc_exact", "kendall", "pearson", "epsilon")


@dataclass(frozen=True)
class Figure:
    """A number of a comparison.

    Attributes:
        level: `system`, `sentence`, `edit`, `rating`, `segment` or `label`.
        human: the judgments: a view of the rankings, the aspect rated, or a class of labels.
        metric: with its settings and, of single edits, how it credits them; or who is compared.
        family: the metric's family; `chance` or `humans` for rows beside the metrics.
        statistic: such as `pearson`, `accuracy`, `auc`.
        value: NaN where it is not defined.
        low: lower bound of its interval; NaN without one.
        high: upper bound; NaN without one.
        cluster: cluster of metrics that tests do not tell apart, 1 is best; None without tests.
        n: pairs, edits or corrections that it rests on; None where not known.
        missing: scores that are missing.
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
        document: the comparison as JSON has it, typed values or plain ones.
    """
    return [
        *_of_rankings(document),
        *_of_edits(document),
        *_of_corrections(document),
    ]


def _of_rankings(document: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the system and the sentence level: metrics, then chance, then two annotators."""
    rows = [(row["metric"], row["family"], row["human"], row) for row in document["rows"]]
    for name, entry in (document.get("chance") or {}).items():
        rows += [(name, "chance", view, row) for view, row in entry["human"].items()]
    for metric, family, human, row in rows:
        missing = int(row.get("missing") or 0)
        for level, statistics in _LEVELS:
            entry = row.get(level) or {}
            about = (level, human, metric, family)
            yield from _figures(
                about, entry, statistics, entry.get("cluster"), entry.get("pairs"), missing
            )
    for view, people in (document.get("ceiling") or {}).items():
        about = ("sentence", view, "two annotators", "humans")
        yield from _figures(about, people, ("accuracy",), None, people.get("decided"))


def edit_entries(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield name, family and record of every metric, and of every way to credit it.

    The record of a metric stands in its row for every view of the rankings.
    """
    for row in {row["metric"]: row for row in document["rows"] if row.get("edit")}.values():
        for entry in (row.get("edit_by_credit") or {"": row["edit"]}).values():
            way = f" ({entry['credit']})" if entry.get("credit") else ""
            yield f"{row['metric']}{way}", row["family"], entry


def _of_edits(document: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the level of single edits: metrics, then chance, then people."""
    entries = list(edit_entries(document))
    entries += [(name, "chance", e) for name, e in (document.get("edit_chance") or {}).items()]
    if document.get("edit_ceiling"):
        entries.append(("one annotator by another", "humans", document["edit_ceiling"]))
    for metric, family, entry in entries:
        about = ("edit", "edit", metric, family)
        missing = int(entry.get("missing") or 0)
        yield from _figures(about, entry, EDIT_STATISTICS, None, entry.get("cases"), missing)


def _of_corrections(document: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the levels of single corrections: rated, compared in groups, or labelled."""
    for row in document.get("ratings") or ():
        about = ("rating", row["aspect"], row["metric"], row["family"])
        yield from _figures(about, row, _RATING, None, row.get("outputs"), row.get("missing") or 0)
    for row in (document.get("segment") or {}).get("rows") or ():
        about = ("segment", row["human"], row["metric"], row["family"])
        yield from _figures(about, row, _SEGMENT, None, row.get("pairs"), row.get("missing") or 0)
    for row in (document.get("labels") or {}).get("rows") or ():
        about = ("label", row["bad"], f"{row['metric']} ({row['score']})", row["family"])
        count = sum((row.get("corrections") or {}).values())
        yield from _figures(about, row, ("auc",), None, count, row.get("missing") or 0)


def _figures(
    about: tuple[str, str, str, str],
    entry: Mapping[str, Any],
    statistics: Sequence[str],
    cluster: int | None,
    n: int | None,
    missing: int = 0,
) -> Iterator[Figure]:
    intervals = entry.get("ci95") or {}
    for statistic in statistics:
        if statistic in entry:
            low, high = map(_number, intervals.get(statistic) or (None, None))
            value = _number(entry[statistic])
            yield Figure(*about, statistic, value, low, high, cluster, n, missing)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan

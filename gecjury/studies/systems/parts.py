"""Parts of a score: by error type, by rule of a checker, and macro averages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.report.result import Column, Record, Table
from gecjury.report.table import BRIEF, OTHERS
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.choices import TypeLevel
from gecjury.stats.counts import defined_mean, precision_recall_f
from gecjury.stats.figure import Figure, figures_about

register(Statistic("alarms_per_1000", "per 1,000 tokens", digits=2, better="lower"))

_COUNTS = ("tp", "fp", "fn")
_ALL_RULES = "all rules"


@dataclass(frozen=True)
class PartialScore:
    """Numbers of a system by a metric for an error type, a rule, or a kind of average.

    Attributes:
        name: the error type, the rule, or what is averaged over.
        numbers: by statistic.
        counts: TP, FP and FN of an error type.
        cost: how much higher F0.5 over all types would be if every edit of the type were right and
            none were missing, 0 to 1.
    """

    system: str
    metric: str
    name: str
    numbers: dict[str, float | None]
    counts: tuple[float, float, float] = (0, 0, 0)
    cost: float = 0.0

    def figures(self, key: str) -> list[Figure]:
        """Return the numbers that are defined; `key` names the kind of the part."""
        values = {name: value for name, value in self.numbers.items() if value is not None}
        about = {"metric": self.metric, "system": self.system, "part": self.name}
        return figures_about(values, level=f"by_{key}", **about)

    @property
    def shown(self) -> dict[str, float | None]:
        """The numbers as people see them; a share is not defined without edits to take it of."""
        tp, fp, fn = self.counts
        empty = {"precision": not tp + fp, "recall": not tp + fn}
        dashed = {key: nan for key, none in empty.items() if none and any(self.counts)}
        return {**self.numbers, **dashed}


def merged_type(kind: str, level: TypeLevel) -> str:
    """Return the part of an error type that a level distinguishes."""
    operation, _, category = kind.partition(":")
    return {1: operation, 2: category or kind, 3: kind}[level]


def whole_counts(counts: Iterable[float]) -> tuple[float, float, float]:
    """Return TP, FP and FN, as integers if they are whole numbers; sums of weights stay floats."""
    tp, fp, fn = (int(v) if float(v).is_integer() else float(v) for v in counts)
    return tp, fp, fn


def by_type(table: ScoreTable, level: TypeLevel) -> list[PartialScore]:
    """Return counts, precision, recall and F0.5 of each system and error type.

    Args:
        table: scores of a metric; there are no parts if the metric counts no types.
    """
    parts = []
    for system, counts in table.statistics.details.get("by_type", {}).items():
        sums: dict[str, FloatArray] = {}
        for kind, values in counts.items():
            merged = merged_type(kind, level)
            sums[merged] = sums.get(merged, np.zeros(3)) + np.array(values)
        kinds = sorted(sums)
        cells = np.array([sums[kind] for kind in kinds]).reshape(-1, 3)
        shares = np.stack(precision_recall_f(*cells.T, beta=0.5), axis=1).tolist()
        for kind, cell, share, cost in zip(kinds, cells, shares, type_costs(cells), strict=True):
            # Counts are whole numbers, except for metrics that weight edits.
            tp, fp, fn = whole_counts(cell.tolist())
            numbers = dict(zip(("precision", "recall", "f0.5"), share, strict=True))
            numbers = {"tp": tp, "fp": fp, "fn": fn, **numbers}
            label = table.signature.label
            parts.append(PartialScore(system, label, kind, numbers, (tp, fp, fn), float(cost)))
    return parts


def type_costs(counts: FloatArray) -> FloatArray:
    """Return the cost of each error type; see `PartialScore.cost`.

    Args:
        counts: T × 3: TP, FP and FN.
    """
    total = counts.sum(axis=0)
    _, fp, fn = counts.T
    # Missing edits become right ones, and wrong edits disappear.
    perfect = total + np.stack([fn, -fp, -fn], axis=1)
    costs: FloatArray = (
        precision_recall_f(*perfect.T, beta=0.5)[2]
        - precision_recall_f(*total[:, None], beta=0.5)[2]
    )
    return costs


def by_rule(table: ScoreTable, level: TypeLevel, tokens: int) -> list[PartialScore]:
    """Return numbers of each checker and rule, after one for all rules; most edits first.

    A part has TP and FP as the metric counts them, precision, the `alarms` (false positives that
    no reference has) and `alarms_per_1000` tokens. There is no recall, since a missed error belongs
    to no rule.

    Args:
        table: scores of a metric; there are no parts if it counts no rules.
        level: 1 distinguishes categories, 2 rules, 3 both.
        tokens: number of tokens of the sources.
    """
    parts = []
    for system, counts in table.statistics.details.get("by_rule", {}).items():
        sums = {_ALL_RULES: np.zeros(3, dtype=np.int64)}
        for rule, values in counts.items():
            for name in (merged_type(rule, level) or "no rule", _ALL_RULES):
                sums[name] = sums.get(name, 0) + np.array(values)
        for rule in sorted(sums, key=lambda rule: (rule != _ALL_RULES, -sum(sums[rule][:2]), rule)):
            tp, fp, alarms = sums[rule].tolist()
            numbers = {
                "tp": tp,
                "fp": fp,
                "precision": tp / (tp + fp) if tp + fp else None,
                "alarms": alarms,
                "alarms_per_1000": 1000 * alarms / tokens if tokens else None,
            }
            parts.append(PartialScore(system, table.signature.label, rule, numbers))
    return parts


def macro(table: ScoreTable, level: TypeLevel) -> list[PartialScore]:
    """Return macro averages of precision, recall and F, each 0 to 1, higher is better.

    Over `sentences` they are means of the sentence scores. Over `types`, F is the mean of all
    types' F. Precision is averaged over the types that the system proposes and recall over those
    that the reference has, since they are not defined for other types. `units` is the number of
    sentences or types.

    Args:
        table: scores of a metric; there are no parts if it has no precision and recall.
    """
    means = table.by_sentence.mean()
    if means.precision is None or means.recall is None:
        return []
    beta = float(table.signature.settings.get("beta") or 0.0)
    label, types = table.signature.label, by_type(table, level)
    parts = []
    for row, system in enumerate(table.systems):
        numbers: dict[str, float | None] = {
            "precision": float(means.precision[row]),
            "recall": float(means.recall[row]),
            "score": float(means.score[row]),
            "units": int(np.count_nonzero(~np.isnan(table.sentences[row]))),
        }
        parts.append(PartialScore(system, label, "sentences", numbers))
        counts = [part.counts for part in types if part.system == system]
        if counts:
            tp, fp, fn = np.array(counts, float).T
            precision, recall, f = precision_recall_f(tp, fp, fn, beta=beta)
            numbers = {
                "precision": float(defined_mean(np.where(tp + fp != 0, precision, np.nan), 0)),
                "recall": float(defined_mean(np.where(tp + fn != 0, recall, np.nan), 0)),
                "score": float(f.mean()),
                "units": len(counts),
            }
            parts.append(PartialScore(system, label, "types", numbers))
    return parts


def part_table(key: str, parts: Sequence[PartialScore]) -> Table:
    """Return the table of parts.

    Args:
        key: `type`, `rule` or `over`, the name of the parts' column.
    """
    rows: list[dict[str, object]] = [
        {"system": part.system, "metric": part.metric, key: part.name, **part.shown}
        for part in parts
    ]
    names, name = [*rows[0]], ""
    if key == "over":
        names, name = ["system", "metric", key, "score", "precision", "recall", "units"], "macro"
    columns = [Column(name) for name in names]
    if key == "type":
        # People see the three counts in one column, and everybody else in three.
        three = Column("tp/fp/fn", value=_three, hidden=OTHERS)
        hidden = [replace(c, hidden=BRIEF * (c.key in _COUNTS)) for c in columns]
        columns = [*hidden[:3], three, *hidden[3:]]
    return Table(columns, rows, _TITLES[key], _NOTES.get(key, ()), name)


def _three(row: Record) -> str:
    return three_counts([row[key] for key in _COUNTS])


def cost_tables(parts: Sequence[PartialScore]) -> dict[str, Table]:
    """Return the error types by metric and system, the costliest first, for a page."""
    rows: dict[str, list[dict[str, object]]] = {}
    for part in sorted(parts, key=lambda part: (-part.cost, part.name)):
        row: dict[str, object] = {"type": part.name, "cost": part.cost, **part.shown}
        rows.setdefault(f"{part.metric}: {part.system}", []).append(row)
    order = dict.fromkeys(f"{part.metric}: {part.system}" for part in parts)
    keys = ("type", "cost", "precision", "recall", "f0.5", "tp", "fp", "fn")
    note = (
        "Cost: how much higher F0.5 over all types would be if every edit of this type were right "
        "and none were missing."
    )
    return {
        name: Table([Column(key) for key in keys], rows[name], notes=() if place else (note,))
        for place, name in enumerate(order)
    }


def three_counts(counts: Sequence[float]) -> str:
    """Return TP, FP and FN in short form: `5/14/2`."""
    return "/".join(f"{one:.4g}" if isinstance(one, float) else str(one) for one in counts)


_TITLES = {"type": "By error type", "rule": "By rule", "over": "Macro averages"}
_NOTES = {"rule": ["alarms: edits that no reference has, also per 1,000 tokens of the source"]}

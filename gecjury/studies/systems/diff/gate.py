"""Conditions on differences, for a gate: which are true, with their values, and what is missing.

A gate judges only what was scored: a figure that is named but not defined is missing, and a gate
with missing figures does not pass, even if no condition is true.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.errors import OptionError
from gecjury.scoring.conditions import Condition, parse_condition
from gecjury.stats.figure import values_of
from gecjury.studies.study import Work
from gecjury.studies.systems.diff.paired import RATES, Paired

TRIPPED = 3
"""Exit status if a condition of `--fail-if` is true."""

PARTS = ("old", "new", "low", "high", "p")
"""Suffixes of a figure's name, after a dot; the bare name means the difference, NEW − OLD."""


Gate = tuple[Condition, ...]
"""Conditions, any of which fails a release; `or` at the top level joins separate conditions."""


def parse_gate(texts: Sequence[str]) -> Gate:
    """Parse conditions, any of which fails; see `gecjury.scoring.conditions`.

    Raises:
        OptionError: a condition cannot be parsed; names the column.
    """
    return tuple(part for text in texts for part in parse_condition(text).alternatives)


def check_gate(gate: Gate, names: Sequence[str]) -> None:
    """Refuse unknown names of figures.

    Raises:
        OptionError: names the condition, and similar names.
    """
    for part in gate:
        # This is the most common mistake, and similar names would not help.
        rates = [n for n in part.names if n.partition(".")[0] in RATES and n not in names]
        if rates and rates[0].partition(".")[2] in ("", *PARTS):
            raise OptionError(
                f"`fail_if={part.text!r:.200}`: {rates[0]} needs references: give at least "
                "one with -r FILE"
            )
        part.check(names, "figure")


@dataclass(frozen=True)
class GateVerdict:
    """The verdict of a gate on figures.

    Attributes:
        tripped: the conditions that are true.
        values: the value of every figure named; NaN where it is not defined.
    """

    tripped: Gate
    values: Mapping[str, float]

    @property
    def missing(self) -> list[str]:
        """The figures that are not defined."""
        return [name for name, value in self.values.items() if math.isnan(value)]

    @property
    def passed(self) -> bool:
        """True if all figures are defined and no condition is true."""
        return not self.tripped and not self.missing

    def values_in(self, condition: Condition) -> dict[str, float]:
        """Return the values of the figures that a condition names."""
        return {name: self.values[name] for name in condition.names}

    def record(self) -> dict[str, object]:
        """Return the verdict for JSON."""
        tripped = [
            {"condition": part.text, "values": self.values_in(part)} for part in self.tripped
        ]
        return {"passed": self.passed, "tripped": tripped, **values_of(self, "missing", "values")}


def judge_gate(gate: Gate, figures: Mapping[str, float]) -> GateVerdict:
    """Return which conditions are true.

    Args:
        figures: by name; NaN where one is not defined.
    """
    names = dict.fromkeys(name for part in gate for name in part.names)
    values = {name: float(figures[name]) for name in names}
    columns = {name: np.array([value]) for name, value in values.items()}
    return GateVerdict(tuple(part for part in gate if part.holds(columns)[0]), values)


def metric_names(work: Work) -> dict[str, str]:
    """Return labels of metrics by possible names: as given, and short names if unambiguous."""
    labels = [scorer.signature(work.corpus, work.runtime).label for scorer in work.scorers]
    short = [scorer.name for scorer in work.scorers]
    names = {text: labels[work.scorers.index(scorer)] for text, scorer in work.typed.items()} | {
        label: label for label in labels
    }
    for name, label in zip(short, labels, strict=True):
        if label == name or short.count(name) == 1:
            names.setdefault(name, label)
    return names


def figure_names(labels: Sequence[str], names: Mapping[str, str], rates: bool) -> list[str]:
    """Return the names that conditions may use.

    Args:
        labels: labels of the metrics, as in tables.
        names: further names of metrics, with the label of each.
        rates: whether there are references, and therefore rates.
    """
    firsts = dict.fromkeys((*labels, *names, *(RATES if rates else ())))
    return [name for first in firsts for name in (first, *(f"{first}.{p}" for p in PARTS))]


def figures_of(differences: Mapping[str, Paired], names: Mapping[str, str]) -> dict[str, float]:
    """Return figures by the names that conditions use for them.

    Args:
        differences: by the label of the metric, or by the name of the rate.
        names: see `figure_names`.
    """
    named = {**differences, **{name: differences[label] for name, label in names.items()}}
    figures: dict[str, float] = {}
    for name, one in named.items():
        low, high = one.interval
        parts = (one.old, one.new, low, high, one.p)
        figures[name] = one.difference
        figures |= {f"{name}.{p}": value for p, value in zip(PARTS, parts, strict=True)}
    return figures


def outcome(gate: GateVerdict, unscored: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return the exit status of the gate, and messages about the figures.

    Args:
        gate: from `judge_gate`.
        unscored: what else is missing.
    """
    said = [f"gate: {part.text} holds: {_values(gate.values_in(part))}" for part in gate.tripped]
    missing = [*unscored, *(f"{name} is not defined" for name in gate.missing)]
    if missing:
        return 2, (*said, f"gate: cannot be judged: missing: {'; '.join(missing)}")
    if said:
        return TRIPPED, tuple(said)
    return 0, (f"gate: passed: {_values(gate.values)}",)


def _values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())

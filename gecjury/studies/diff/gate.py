"""Conditions on differences, for a gate: which hold, with their values, and what is missing.

A gate says yes only of what was scored: a figure that is named and not defined is missing, and a
gate with something missing neither holds nor passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.errors import OptionError
from gecjury.scoring.conditions import Condition, parse_condition
from gecjury.studies.diff.paired import RATES, Paired

PARTS = ("old", "new", "low", "high", "p")
"""Suffixes of a figure's name, behind a dot; the bare name is the difference, NEW − OLD."""


@dataclass(frozen=True)
class Verdict:
    """Conditions of a gate that hold, and figures that it misses.

    Attributes:
        tripped: the parts that hold, as typed, with the values of what they name.
        missing: names that are not defined, for which nothing can be said.
        values: of every figure named; NaN where it is not defined.
    """

    tripped: tuple[tuple[str, Mapping[str, float]], ...]
    missing: tuple[str, ...]
    values: Mapping[str, float]

    @property
    def passed(self) -> bool:
        """True where everything named is defined and nothing holds."""
        return not self.tripped and not self.missing


Gate = tuple[Condition, ...]
"""Conditions any of which is to fail a release; those that `or` joins at the top stand apart."""


def parse_gate(texts: Sequence[str]) -> Gate:
    """Read conditions, any of which fails; see `gecjury.scoring.conditions`.

    Args:
        texts: as typed, at least one.

    Raises:
        OptionError: one cannot be read; says at which column.
    """
    return tuple(part for text in texts for part in parse_condition(text).alternatives)


def check_gate(gate: Gate, names: Sequence[str]) -> None:
    """Refuse names of figures that there will not be.

    Args:
        gate: the conditions.
        names: of all figures.

    Raises:
        OptionError: names the condition, and near names.
    """
    for part in gate:
        # The commonest mistake, for which near names would be no help.
        rates = [n for n in part.names if n.partition(".")[0] in RATES and n not in names]
        if rates and rates[0].partition(".")[2] in ("", *PARTS):
            raise OptionError(
                f"--fail-if {part.text!r:.200}: {rates[0]} needs references: give at least "
                "one with -r FILE"
            )
        part.check(names, "figure")


def judge_gate(gate: Gate, figures: Mapping[str, float]) -> Verdict:
    """Return which conditions hold.

    Args:
        gate: the conditions.
        figures: by name; NaN where one is not defined.
    """
    names = dict.fromkeys(name for part in gate for name in part.names)
    values = {name: float(figures[name]) for name in names}
    columns = {name: np.array([value]) for name, value in values.items()}
    tripped = tuple(
        (part.text, {name: values[name] for name in part.names})
        for part in gate
        if part.holds(columns)[0]
    )
    return Verdict(tripped, tuple(n for n, value in values.items() if math.isnan(value)), values)


def figure_names(labels: Sequence[str], names: Mapping[str, str], rates: bool) -> list[str]:
    """Return what conditions may name.

    Args:
        labels: of the metrics, as tables show them.
        names: further names of metrics, with the label that each stands for.
        rates: whether there are references, and rates with them.
    """
    firsts = dict.fromkeys((*labels, *names, *(RATES if rates else ())))
    return [name for first in firsts for name in (first, *(f"{first}.{p}" for p in PARTS))]


def figures_of(differences: Mapping[str, Paired], names: Mapping[str, str]) -> dict[str, float]:
    """Return figures by the names that conditions have for them.

    Args:
        differences: by the label of the metric, or by the name of the rate.
        names: see `figure_names`.
    """
    both = {**differences, **{name: differences[label] for name, label in names.items()}}
    figures: dict[str, float] = {}
    for name, one in both.items():
        low, high = one.interval
        parts = (one.old, one.new, low, high, one.p)
        figures[name] = one.difference
        figures |= {f"{name}.{p}": value for p, value in zip(PARTS, parts, strict=True)}
    return figures

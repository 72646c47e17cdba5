"""The verdict: one place that words who leads, by how much, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gecjury.core.arrays import FloatArray
from gecjury.core.wording import listed, number, p_value

# Values that look equal when rounded to three digits are not distinguished in words either.
_SAME = 0.0005


@dataclass(frozen=True)
class PairedTests:
    """Tests between every two of several metrics or systems, as verdicts and pages read them.

    Attributes:
        names: the metrics or systems.
        adjusted: corrected p-values, N × N; NaN where there is none.
        test: name of the test in running text; empty to leave it out.
        level: the level of significance.
    """

    names: Sequence[str] = ()
    adjusted: FloatArray | Sequence[Sequence[float | None]] = ()
    test: str = ""
    level: float = 0.05

    def p(self, one: str, other: str) -> float | None:
        """Return the corrected p-value of a difference; None if it was not tested."""
        if one == other or not {one, other} <= set(self.names):
            return None
        value = self.adjusted[self.names.index(one)][self.names.index(other)]
        return None if value is None or math.isnan(value) else float(value)


@dataclass(frozen=True)
class Ranked:
    """Metrics or systems ranked by one figure.

    Attributes:
        values: the figure of each, best first; those without one are left out.
        what: the figure's name in a sentence; empty if the context says it.
        digits: digits of the figure.
        tests: tests between them.
        intervals: interval of each figure.
        paired: interval of the lead over another, by both names.
        gaps: the lead over another by both names, where it is estimated from pairs and is not
            the difference of the figures.
        confidence: of the intervals.
        same: figures that differ by less are equal.
        directed: whether the best figure is an advantage; other metrics only describe outputs.
    """

    values: Mapping[str, float]
    what: str = ""
    digits: int = 3
    tests: PairedTests = PairedTests()
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    paired: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    gaps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    confidence: float = 0.95
    same: float = _SAME
    directed: bool = True

    @property
    def leaders(self) -> list[str]:
        """The names whose figure is the best."""
        best = next(iter(self.values.values()))
        return [name for name, value in self.values.items() if abs(best - value) < self.same]

    def renamed(self, names: Mapping[str, str]) -> Ranked:
        """Return the same ranking with other names."""
        return replace(
            self,
            values={names[name]: value for name, value in self.values.items()},
            tests=replace(self.tests, names=[names[name] for name in self.tests.names]),
            intervals={names[name]: ends for name, ends in self.intervals.items()},
            paired={(names[one], names[two]): ends for (one, two), ends in self.paired.items()},
            gaps={(names[one], names[two]): gap for (one, two), gap in self.gaps.items()},
        )

    def figure(self, name: str) -> str:
        """Return a figure in words, with its interval if there is one: `r 0.912`."""
        text = f"{self.what} {number(self.values[name], self.digits)}".strip()
        return text + self._range(self.intervals.get(name))

    def ahead(self, first: str, second: str, named: str = "") -> str:
        """Return by how much one is ahead of another, `0.021 ahead of green`.

        Args:
            named: what the other is called; its name by default.
        """
        gap = self.gaps.get((first, second), self.values[first] - self.values[second])
        # An estimate from pairs may contradict the order of the figures.
        place = "behind" if gap < 0 and (first, second) in self.gaps else "ahead of"
        paired = self._range(self._paired(first, second), "paired ")
        return f"{number(abs(gap), self.digits)} {place} {named or second}{paired}"

    def verdict(self) -> str:
        """Return a sentence on who leads, by how much, and how certain that is.

        Empty if nothing has a figure.
        """
        if not self.values:
            return ""
        (first, *others), leaders = self.values, self.leaders
        if not self.directed:
            highest = f"highest in {listed(leaders)}: {self.figure(first)}"
            return f"{highest}; the metric only describes outputs."
        if not others:
            return f"{first}, the only one: {self.figure(first)}."
        if len(leaders) > 1:
            bounds = self._paired(*leaders) if len(leaders) == 2 else None
            range_of_two = self._range(bounds, "paired ")
            return f"{listed(leaders)} share the lead: {self.figure(first)}{range_of_two}."
        ahead = f"{self.ahead(first, others[0])}, {self.certainty(first, others)}."
        if self.gaps.get((first, others[0]), 0.0) < 0:
            return f"{first} is highest: {self.figure(first)}, but by the paired difference {ahead}"
        return f"{first} leads: {self.figure(first)}, {ahead}"

    def brief(self) -> str:
        """Return who leads and how certain that is, as a clause without the lead over others."""
        (first, *others), leaders = self.values, self.leaders
        if not others or len(leaders) > 1:
            share = " share the lead" * (len(leaders) > 1)
            return f"{listed(leaders)}{share} ({self.figure(first)})"
        unnamed = replace(self, tests=replace(self.tests, test=""))
        certainty = unnamed.certainty(first, others[:1]).replace(" (", ", ").rstrip(")")
        return f"{first} leads ({self.figure(first)}, {certainty})"

    def certainty(self, first: str, others: Sequence[str]) -> str:
        """Return how certain a lead is: `not significant (p = 0.210, Holm), nor against green`.

        Args:
            first: the leader.
            others: those behind it, the nearest first.
        """
        p_values = {name: self.tests.p(first, name) for name in others}
        p, level = p_values[others[0]], self.tests.level
        if p is None:
            # A lead that is itself an estimate is judged by its interval instead of a test.
            bounds = self.paired.get((first, others[0]))
            if bounds is None or (first, others[0]) not in self.gaps:
                return "not tested"
            low, high = bounds
            return "significant" if low > 0 or high < 0 else "not significant"
        how = f"{p_value(p)}, {self.tests.test}" if self.tests.test else p_value(p)
        if p <= level:
            return f"significant ({how})"
        # One that was not tested cannot be called worse.
        level_with = [n for n, value in p_values.items() if value is None or value > level]
        if len(level_with) == len(p_values) > 1:
            return f"not significant ({how}), nor against any other"
        more = f", nor against {listed(level_with[1:])}" if len(level_with) > 1 else ""
        return f"not significant ({how}){more}"

    def families(self, family_of: Mapping[str, str], words: Mapping[str, str]) -> str:
        """Return how far apart the best of each family are; empty if there is one family.

        Args:
            family_of: the family of each name.
            words: what families are called in a sentence.
        """
        best: dict[str, str] = {}
        for name in self.values:
            best.setdefault(family_of[name], name)
        if len(best) < 2:
            return ""
        named = {name: f"{words.get(family, family)} {name}" for family, name in best.items()}
        first, second, *others = named
        value = f"{self.what} {number(self.values[first], self.digits)}".strip()
        ahead = self.ahead(first, second, named[second])
        text = f"{named[first]} ({value}) is {ahead}, {self.certainty(first, [second])}"
        rest = [f"{named[n]} has {number(self.values[n], self.digits)}" for n in others]
        return "; ".join([text, listed(rest)]) if rest else text

    def _paired(self, first: str, second: str) -> tuple[float, float] | None:
        bounds = self.paired.get((first, second))
        if bounds is None and (other := self.paired.get((second, first))):
            # The interval is that of the other's lead; this one is its mirror image.
            bounds = -other[1], -other[0]
        return bounds

    def _range(self, bounds: tuple[float, float] | None, kind: str = "") -> str:
        if bounds is None or any(map(math.isnan, bounds)):
            return ""
        low, high = (number(bound, self.digits) for bound in bounds)
        return f" ({kind}{100 * self.confidence:g}%: {low} to {high})"


def opening(ranked: Mapping[str, Ranked]) -> tuple[str, ...]:
    """Return the verdict by the first metric, and a sentence on whether the others agree.

    Metrics that only describe outputs have no say if another metric has one.

    Args:
        ranked: systems by each metric; an empty name needs no mention.
    """
    valued = {metric: one for metric, one in ranked.items() if one.values}
    judging = {metric: one for metric, one in valued.items() if one.directed} or valued
    if not judging:
        return ()
    (first, lead), *others = judging.items()
    sentences = [f"{first}: {lead.verdict()}" if first else lead.verdict()]
    agree = [metric for metric, one in others if set(one.leaders) == set(lead.leaders)]
    parts = [f"{listed(agree)} {'agree' if len(agree) > 1 else 'agrees'}"] if agree else []
    parts += [
        f"{metric} puts {listed(one.leaders)} first"
        for metric, one in others
        if metric not in agree and one.directed
    ]
    return (*sentences, f"{'; '.join(parts)}.") if parts else tuple(sentences)

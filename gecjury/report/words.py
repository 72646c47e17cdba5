"""A comparison in words: what its figures and tests say, for the terminal, JSON and the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

from gecjury.benchmarks.table import View
from gecjury.core.wording import listed, number, percent, shortened, shortly
from gecjury.metaeval.cautions import Caution
from gecjury.metaeval.chance import COPY_SOURCE, simplest_rival
from gecjury.metaeval.disagreement import Consensus
from gecjury.metaeval.edits.corrections import ANY
from gecjury.metaeval.result import SYSTEM_STATISTICS, Comparison
from gecjury.metaeval.uncertainty import Significance
from gecjury.report.escaping import clean
from gecjury.report.verdict import PairedTests, Ranked
from gecjury.scoring.options import short_names
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import Figure

FAMILY_NAMES: Mapping[str, str] = {
    "refbased": "reference-based",
    "refless": "reference-free",
    "judges": "LLM judge",
    "jury": "sum of metrics",
    "scores": "given scores",
    "chance": "chance",
    "humans": "people",
}
BESIDE = ("chance", "humans")
"""Families that are not metrics but are shown next to them."""
CAN_WAIT = ("Ties", "Notes")
"""Headings of cautions that nearly every comparison has; only the others are shown unfolded."""
VIEWS: Mapping[str, str] = {"edit": "edit-based judgments", "sentence": "sentence-based judgments"}
PROPER = {
    "perm-both": "PERM-BOTH",
    "perm-systems": "PERM-SYS",
    "paired-permutation": "paired permutation",
}
"""Names of tests for running text."""
EXTENTS = {
    "perm-systems": "to other systems as well",
    "perm-both": "to other sentences by these systems",
    "paired-permutation": "to other sentences by these systems",
}
"""How far the significant differences of a test generalise."""
_SAMPLE = "This sample shows how the program works; it is never evidence about a metric."
_TASKS = {"system": "To rank systems", "sentence": "To order corrections of a sentence"}
_USUAL = {"system": "pearson", "sentence": "accuracy"}


def holm(count: int) -> str:
    """Return in words how the p-values of tests between metrics were corrected."""
    return f", Holm-corrected over {count} metrics" if count > 2 else ""


def _is_rival(metric: str) -> bool:
    """Return True for the metric that counts changes, which is itself a baseline."""
    return metric.partition(":")[0] == "changes"


@dataclass(frozen=True)
class Statement:
    """A paragraph with its topic; folded if it is less important."""

    topic: str
    text: str
    folded: bool = False


@dataclass(frozen=True)
class ComparisonWords:
    """The answer that a comparison gives, in words. Everything is computed once and when needed.

    Metrics are called by their shortest distinct names.

    Attributes:
        change: how cautions and the benchmark's notes are changed for their readers.
    """

    comparison: Comparison
    change: Callable[[str], str] = str

    @property
    def cautions(self) -> list[Caution]:
        """The cautions for the reader."""
        return [replace(one, text=self.change(one.text)) for one in self.comparison.cautions]

    @property
    def notes(self) -> list[str]:
        """The remarks of the benchmark."""
        return [self.change(str(note)) for note in self.comparison.benchmark.notes]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Replacements of names that are long or that would change the direction of the text."""
        about = self.comparison.benchmark
        names = (*about.corpus.names, about.name, about.references, about.systems, about.citation)
        shown = {str(name): str(name) for name in names}
        shown |= short_names(figure.metric for figure in self.comparison.figures())
        return {name: shortened(clean(short)) for name, short in shown.items()}

    def shown(self, name: str) -> str:
        """Return what is shown for a name."""
        return self.names.get(name) or shortened(clean(name))

    def text(self, text: str) -> str:
        """Return a text with its names as they are shown."""
        return shortly(clean(text), {clean(name): short for name, short in self.names.items()})

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures of the comparison, of metrics by their shown names and ways to credit."""
        named = ((figure, self.shown(figure.metric)) for figure in self.comparison.figures())
        return [
            replace(figure, metric=f"{name} ({figure.credit})" if figure.credit else name)
            for figure, name in named
        ]

    @cached_property
    def views(self) -> list[View]:
        """The views of the human judgments that metrics were compared with."""
        return [view for view in get_args(View) if view in self.comparison.views]

    @cached_property
    def rankings(self) -> Mapping[tuple[str, View], tuple[str, Ranked]]:
        """The metrics ranked at system and sentence level against each view, and the statistic.

        It is the statistic that was tested, or for a single metric the one that was asked for,
        otherwise Pearson's r or the accuracy: leads and tests must use the same one, or an untested
        lead would look tested.
        """
        return {
            (level, view): self._ranking(level, view) for level in _USUAL for view in self.views
        }

    def _ranking(self, level: str, view: View) -> tuple[str, Ranked]:
        test, how = self._test(level, view), self.comparison.settings.resampling
        keys = [test.statistic] if test is not None else []
        if level == "system" and len(self.values(level, view, _USUAL[level])) == 1:
            keys = [self.comparison.settings.statistic]
        values = {key: self.values(level, view, key) for key in (*keys, _USUAL[level])}
        key = next(filter(values.get, values), _USUAL[level])
        tests = PairedTests(level=how.level)
        if test is not None:
            names = [self.shown(name) for name in test.metrics]
            words = PROPER.get(test.test, test.test) + holm(len(names))
            tests = PairedTests(names, test.adjusted, words, how.level)
        uncertainty = self.comparison.uncertainty
        paired = {
            (self.shown(gap.first), self.shown(gap.second)): gap.ci95[how.over]
            for gap in (uncertainty.differences if uncertainty else ())
            if (gap.level, gap.human, gap.statistic) == (level, view, key) and how.over in gap.ci95
        }
        words = statistic(key, level).words
        return key, Ranked(values[key], words, 3, tests, {}, paired, confidence=how.confidence)

    def _test(self, level: str, view: View) -> Significance | None:
        uncertainty = self.comparison.uncertainty
        tests = uncertainty.tests.get(view, ()) if uncertainty else ()
        return next((test for test in tests if test.level == level), None)

    def at(self, level: str, view: str, key: str) -> dict[str, Figure]:
        """Return the figures of a statistic, of metrics, chance and people by their names."""
        place = level, view, key
        return {f.metric: f for f in self.figures if (f.level, f.human, f.statistic) == place}

    def values(self, level: str, view: str, key: str) -> dict[str, float]:
        """Return the metrics' values of a statistic, best first; undefined ones are left out."""
        values = {
            name: figure.value
            for name, figure in self.at(level, view, key).items()
            if figure.family not in BESIDE and not math.isnan(figure.value)
        }
        return dict(sorted(values.items(), key=lambda item: -item[1]))

    @cached_property
    def verdict(self) -> list[str]:
        """The sentences that answer the comparison, the most important first.

        They say who leads at each level, by how much and how certainly, how the families compare,
        and which metrics to use.
        """
        sentences = [_SAMPLE] if self.comparison.benchmark.sample else []
        for level, view in self.rankings:
            if text := self._leader(level, view):
                sentences.append(f"{self._place(level, view)}: {text}")
        others = filter(None, (self.of_labels, self.of_edits))
        sentences += [f"{statement.topic}: {statement.text}" for statement in others]
        return [*sentences, *self.families, *self._recommendations()]

    @cached_property
    def opening(self) -> list[str]:
        """The verdict in at most two sentences: one on systems, one on sentences.

        Each covers all kinds of judgments, and says which metrics do not exceed the baselines.
        """
        sentences = []
        for level in _USUAL:
            several = len(self.views) > 1
            clauses = [
                f"{VIEWS[view]}: {text}" if several else text
                for place, view in enumerate(self.views)
                if (text := self._clause(level, view, whole=not place))
            ]
            if clauses:
                between = ", " if several else ": "
                sentences.append(f"{level.capitalize()} level{between}{'; '.join(clauses)}.")
        return sentences or self.verdict[:2]

    def _clause(self, level: str, view: View, *, whole: bool) -> str:
        """Return who leads a level in one clause; empty if the level was not compared.

        Args:
            whole: whether to say by how much it leads, and who leads by other statistics.
        """
        _, ranked = self.rankings[level, view]
        if not ranked.values:
            return self._leader(level, view).rstrip(".")
        text = ranked.verdict().rstrip(".") if whole else ranked.brief()
        if floored := self._floored(level, view, whole=whole):
            text += f", but {floored}"
        elif whole and (others := self._other_leaders(level, view)):
            text += f", but {others}"
        return text

    def _floored(self, level: str, view: View, *, whole: bool) -> str:
        """Return which metrics are not above the highest baseline; empty if all are.

        Args:
            whole: whether to name the intervals by which this is decided.
        """
        key, ranked = self.rankings[level, view]
        lows, floors = self._lows(level, view), self._floors(level, view, key)
        if not lows or self.comparison.benchmark.sample:
            return ""
        words = max(floors, key=lambda name: floors[name])
        rated = [name for name in lows if not _is_rival(name)]
        weak = [name for name in rated if lows[name] <= floors[words]]
        if not weak:
            return ""
        confidence = f" by its {100 * self.comparison.settings.resampling.confidence:g}% interval"
        how = confidence if whole else ""
        if len(weak) == 1:
            return f"{weak[0]} is not above {words}{how}"
        if len(weak) < len(rated):
            return (
                f"{listed(weak)} are not above {words}{how.replace(' its', ' their') + 's' * whole}"
            )
        other = "other " * (len(rated) < len(ranked.values))
        return f"no {other}metric is above {words}{how}"

    def _place(self, level: str, view: View) -> str:
        """Return the words for a level, with the kind of judgments if there are several."""
        return f"{level.capitalize()} level" + f", {VIEWS[view]}" * (len(self.views) > 1)

    def _leader(self, level: str, view: View) -> str:
        """Return who leads a level, by how much and how certainly, and who leads by other figures.

        If no metric has a figure, say so; empty if the level was not compared.
        """
        _, ranked = self.rankings[level, view]
        if not ranked.values:
            compared = any(
                (f.level, f.human) == (level, view) and f.family not in BESIDE for f in self.figures
            )
            return "No metric can be ranked: too few systems, or constant scores." * compared
        more = self._other_leaders(level, view)
        return ranked.verdict() + (f" But {more}." if more else "")

    def _other_leaders(self, level: str, view: View) -> str:
        """Return who leads by other statistics; empty if it is the same metric."""
        key, ranked = self.rankings[level, view]
        others: dict[tuple[str, ...], list[str]] = {}
        for other in SYSTEM_STATISTICS if level == "system" and len(ranked.values) > 1 else ():
            by_other = Ranked(self.values(level, view, other))
            if other != key and by_other.values and not {*by_other.leaders} & {*ranked.leaders}:
                best = by_other.leaders
                words = statistic(other).heading if other == "spa" else statistic(other).words
                figure = f"{words} {number(by_other.values[best[0]])}"
                others.setdefault(tuple(best), []).append(figure)
        parts = [
            f"{listed(best)} {'leads' if len(best) == 1 else 'lead'} by {listed(figures)}"
            for best, figures in others.items()
        ]
        return "; ".join(parts)

    @cached_property
    def families(self) -> list[str]:
        """A sentence for each level and view on the best of each family; none for one family."""
        family_of = {figure.metric: figure.family for figure in self.figures}
        return [
            f"{self._place(level, view)}, best of each family: {text}."
            for (level, view), (_, ranked) in self.rankings.items()
            if (text := ranked.families(family_of, FAMILY_NAMES))
        ]

    def _recommendations(self) -> Iterator[str]:
        for level, view in self.rankings:
            if text := self._recommended(level, view):
                of_view = f" ({VIEWS[view]})" * (len(self.views) > 1)
                yield f"{_TASKS[level]}{of_view}: {text}"

    def _recommended(self, level: str, view: View) -> str:
        """Return the metrics that no test places below the leader, and those not above chance.

        Empty for a sample, which is not evidence, and without intervals and tests.
        """
        key, ranked = self.rankings[level, view]
        lows = self._lows(level, view)
        # A single metric leaves no choice, and without tests and intervals there is no basis.
        if not ranked.tests.names or not lows or self.comparison.benchmark.sample:
            return ""
        first = next(iter(ranked.values))
        p_values = {other: ranked.tests.p(first, other) for other in ranked.values}
        level_with = [
            name
            for name, p in p_values.items()
            if name == first or (p is not None and p > ranked.tests.level)
        ]
        floors = self._floors(level, view, key)
        # A metric is listed under the first floor that its interval does not clear. The simplest
        # rival is the floor that the others are compared with.
        rivals = [name for name in lows if _is_rival(name)]
        below: dict[str, list[str]] = {}
        for name, low in lows.items():
            reached = next((words for words, floor in floors.items() if low <= floor), "")
            if reached and name not in rivals:
                below.setdefault(reached, []).append(name)
        weak = {name for names in below.values() for name in names}
        useful = [name for name in level_with if name not in weak and name not in rivals]
        text = f"use {listed(useful, 'or')}" if useful else "no metric can be recommended"
        if len(useful) > 1:
            text += " (no test places them below the leader)"
        for words, names in below.items():
            confidence = f"{100 * ranked.confidence:g}%"
            text += f". Not above {words} by their {confidence} intervals: {listed(names)}"
        return f"{text}."

    def _lows(self, level: str, view: View) -> dict[str, float]:
        """Return the lower end of each metric's interval, of those that have one."""
        key, ranked = self.rankings[level, view]
        return {
            name: figure.low
            for name, figure in self.at(level, view, key).items()
            if name in ranked.values and not math.isnan(figure.low)
        }

    def _floors(self, level: str, view: View, key: str) -> dict[str, float]:
        """Return what a metric has to exceed, by name: chance, then the simplest rival."""
        entry = statistic(key, level)
        floor = entry.chance or 0.0
        floors = {f"chance ({entry.words} {floor:g})": floor}
        at = self.at("sentence", view, "accuracy")
        if level == "sentence" and COPY_SOURCE in at and not math.isnan(at[COPY_SOURCE].value):
            rival = simplest_rival(at[COPY_SOURCE].value)
            # Other rules for ties favour metrics that tie more pairs.
            if rival == COPY_SOURCE or self.comparison.settings.ties == "half":
                floors[f"{rival} ({number(at[rival].value)})"] = at[rival].value
        return floors

    @cached_property
    def of_edits(self) -> Statement | None:
        """Which metric distinguishes valid from invalid edits best; None without edits."""
        text = self._separates("edit", "edit", "valid from invalid edits")
        return Statement("Edit level", text, folded=True) if text else None

    @cached_property
    def of_labels(self) -> Statement | None:
        """Which metric distinguishes good from bad corrections best; None without labels."""
        text = self._separates("label", ANY, "good from bad corrections")
        return Statement("Whole corrections", text) if text else None

    def _separates(self, level: str, human: str, what: str) -> str:
        """Return which metric has the highest AUC; empty if none has one."""
        by_auc = Ranked(self.values(level, human, "auc"))
        if not by_auc.values:
            return ""
        best = by_auc.leaders
        separates = "separates" if len(best) == 1 else "separate"
        text = f"{listed(best)} {separates} {what} best: AUC "
        text += f"{number(by_auc.values[best[0]])} (chance 0.5"
        for figure in self.at(level, human, "auc").values():
            if figure.family == "humans" and not math.isnan(figure.value):
                text += f", one annotator by another {number(figure.value)}"
        return f"{text})."

    def summary(self, view: View, consensus: Consensus | None) -> list[Statement]:
        """Return the statements on one view that a reader should see first.

        Args:
            consensus: how far the camps agree on judged pairs.
        """
        statements = [
            Statement("System level", self._leader("system", view)),
            Statement("Sentence level", self._leader("sentence", view)),
            *(Statement(task, self._recommended(level, view)) for level, task in _TASKS.items()),
            Statement("People", self._two_annotators(view)),
            Statement("Where they agree", self._agreement(consensus), True),
        ]
        return [statement for statement in statements if statement.text]

    def _two_annotators(self, view: View) -> str:
        """Return how far people agree, and how far metrics could and do agree on the same pairs."""
        people = self.comparison.annotators.get(view)
        if people is None or not self.values("sentence", view, "accuracy"):
            return ""
        agreed = people.agreement
        if math.isnan(agreed.accuracy):
            return ""
        text = f"Two annotators agree on {percent(agreed.accuracy)} of {number(agreed.decided)}"
        parts = []
        if not math.isnan(agreed.perfect):
            ends = f"{percent(agreed.accuracy)} to {percent(agreed.perfect)}"
            parts.append(f"a perfect metric would on {ends}")
        if accuracies := self.values("sentence", view, "accuracy_there"):
            best = Ranked(accuracies).leaders
            do = "does" if len(best) == 1 else "do"
            parts.append(f"{listed(best)} {do} on {percent(accuracies[best[0]])}")
        return "; ".join([f"{text} pairs", *([", ".join(parts)] if parts else [])]) + "."

    def _agreement(self, consensus: Consensus | None) -> str:
        """Return on how many judged pairs the camps agree, and who is right on the others."""
        if consensus is None or not consensus.pairs:
            return ""
        families = {figure.family for figure in self.figures} - {*BESIDE}
        who = "families" if len(families) > 1 else "metrics"
        share = percent(consensus.united / consensus.pairs)
        text = f"All {who} agree on {share} of {number(consensus.pairs)} judged pairs"
        if consensus.united:
            text += f"; people agree with them on {percent(consensus.right)} of these"
        defined = {n: r for n, r in consensus.split_right.items() if not math.isnan(r)}
        if defined:
            best = max(defined, key=lambda name: defined[name])
            name = FAMILY_NAMES.get(best, self.shown(best))
            text += f". On the others {name} is right most often ({percent(defined[best])})"
        return text + "."

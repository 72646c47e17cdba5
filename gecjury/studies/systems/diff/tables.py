"""Tables of two outputs: error types, edits that came and went, sentences that moved most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.report.result import Column, Record, Table
from gecjury.report.table import Sentences
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.choices import TypeLevel
from gecjury.stats.figure import values_of
from gecjury.stats.permutation import holm
from gecjury.stats.resampling import Resampling
from gecjury.studies.study import Work
from gecjury.studies.systems.costly import judged
from gecjury.studies.systems.diff.edited import EditChange, MovedSentence, most_frequent, totals
from gecjury.studies.systems.diff.paired import Paired, type_counts, type_differences
from gecjury.studies.systems.parts import three_counts, whole_counts

register(Statistic("effect", digits=5))


class TypeDifference(NamedTuple):
    """F0.5 of two systems for an error type.

    Attributes:
        old: TP, FP and FN of the OLD system.
        adjusted: p after Holm's correction over the types.
    """

    metric: str
    type: str
    old: Sequence[float]
    new: Sequence[float]
    paired: Paired
    adjusted: float

    def row(self) -> dict[str, object]:
        """Return its record for tables and JSON."""
        return {
            **values_of(self, "metric", "type", "adjusted"),
            **_counts("old", self.old),
            **_counts("new", self.new),
            **self.paired.row(),
        }

    def for_people(self) -> TypeDifference:
        """Return it without the F0.5 of a system that has no edits of the type."""
        if any(self.old) and any(self.new):
            return self
        old = self.paired.old if any(self.old) else nan
        new = self.paired.new if any(self.new) else nan
        undefined = replace(self.paired, old=old, new=new, interval=(nan, nan))
        return self._replace(paired=undefined, adjusted=nan)

    @property
    def uncertainty(self) -> tuple[bool, float, float, float]:
        """The key that sorts error types: the most certain differences first."""
        gap = self.paired.difference
        return isnan(gap), self.adjusted, self.paired.p, -abs(gap)


def differences_by_type(
    table: ScoreTable, level: TypeLevel, how: Resampling, seed: int
) -> list[TypeDifference]:
    """Return F0.5 by error type; empty if the metric counts no types."""
    counted = type_counts(table, level)
    if counted is None or not counted[0]:
        return []
    kinds, counts = counted
    differences = type_differences(counts, how, seed)
    adjusted = holm(np.array([one.p for one in differences])).tolist()
    sums = zip(*counts.sum(axis=1).tolist(), strict=True)
    return [
        TypeDifference(table.signature.label, kind, old, new, one, p)
        for kind, (old, new), one, p in zip(kinds, sums, differences, adjusted, strict=True)
    ]


def type_table(types: Sequence[TypeDifference]) -> Table:
    """Return the table of one metric's error types."""
    columns = [
        Column("type"),
        *(Column(f"{side} tp/fp/fn", value=partial(_three, side)) for side in ("old", "new")),
        *bounded(3),
        Column("adjusted"),
    ]
    note = "F0.5; p (Holm): corrected over the types; with the corpus score's references"
    title = f"By error type: {types[0].metric}"
    full = Table(columns, [one.row() for one in types], title, [note], "types")
    people = sorted((one.for_people() for one in types), key=lambda one: one.uncertainty)
    return replace(full, instead={"verbose": replace(full, rows=[one.row() for one in people])})


def bounded(digits: int) -> list[Column]:
    """Return the columns of a difference, with the bounds of its interval."""
    return [
        *(Column(key, digits=digits) for key in ("old", "new", "difference")),
        *(
            Column(key, digits=digits, value=_bound(place))
            for place, key in enumerate(("low", "high"))
        ),
    ]


def _bound(place: int) -> Callable[[Record], float]:
    """Return a function that gives the lower (0) or upper (1) bound of a record's interval."""
    return lambda row: float(row["ci95"][place])


def _three(side: str, row: Record) -> str:
    return three_counts([row[f"{side}_{key}"] for key in ("tp", "fp", "fn")])


def _counts(side: str, counts: Iterable[float]) -> dict[str, float]:
    names = [f"{side}_{key}" for key in ("tp", "fp", "fn")]
    return dict(zip(names, whole_counts(counts), strict=True))


def remarks(corpus: Corpus, figures: Mapping[str, Paired]) -> Iterator[str]:
    """Yield notes on equal outputs, on missing references, and on resamples left out."""
    one, two = corpus.systems.values()
    if all(a.split() == b.split() for a, b in zip(one.lines, two.lines, strict=True)):
        yield f"OLD and NEW have the same corrections on all {len(corpus)} lines"
    if not corpus.references:
        yield (
            "no references (-r): rates of over-correction, under-correction and success, and which "
            "edits are right, are left out"
        )
    for name, figure in figures.items():
        if figure.dropped and figure.sentences:
            yield f"{name}: {figure.dropped} resampled differences are not defined and are left out"


def edit_tables(edits: Sequence[EditChange] | None, show: int) -> Iterator[Table]:
    """Yield the numbers of edits that came and went, and the most frequent ones."""
    if edits is None:
        return
    judged = ["right", "wrong"] if any(one.right is not None for one in edits) else []
    columns = [Column(key) for key in ("edits", "count", *judged)]
    note = "came: only NEW makes it; went: only OLD did"
    if judged:
        columns.append(Column("share"))
        note += "; right: some reference has it, at the same place"
    yield Table(columns, totals(edits), "Edits that came and went", [note])
    if rows := most_frequent(edits, show):
        columns = [Column(key) for key in ("edits", "edit", "type", "count", *judged)]
        yield Table(columns, rows, "The most frequent of them")


def moved_groups(work: Work, moved: Sequence[MovedSentence]) -> Sentences:
    """Return the sentences that moved most by metric and direction, for the page."""
    scorers = {one.signature(work.corpus, work.runtime).label: one for one in work.scorers}
    groups: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {}
    for one in moved:
        about = f"line {one.line} · {number(one.old, 4)} → {number(one.new, 4)}"
        about += f" · effect {number(one.effect, 5)}"
        (_, old), *near_old = judged(work.corpus.names[0], one.line, scorers[one.metric], work)
        (_, new), *near_new = judged(work.corpus.names[1], one.line, scorers[one.metric], work)
        # The two corrections may be close to different references.
        texts = [("OLD", old), ("NEW", new), *dict([*near_old, *near_new]).items()]
        group = f"{one.metric}: sentences on which NEW {'gains' if one.effect > 0 else 'loses'}"
        groups.setdefault(group, []).append((about, texts))
    return groups


def moved_tables(moved: Sequence[MovedSentence], show: int) -> Iterator[Table]:
    """Yield all sentences for programs, and those of the first metric that moved most for people.

    The two corrections of a sentence are one below the other.
    """
    yield Table((), [one.row() for one in moved], name="moved")
    first = moved[0].metric
    of_first = [one for one in moved if one.metric == first]
    rows: list[Record] = []
    for one in sorted(of_first, key=lambda one: -abs(one.effect))[:show]:
        about = {"line": one.line, "effect": one.effect}
        rows.append({**about, "side": "OLD", "score": one.old, "marked": one.old_marked})
        below = {"side": "NEW", "score": one.new, "marked": one.new_marked}
        rows.append({**dict.fromkeys(about, ""), **below})
    columns = [Column("line"), Column("effect"), Column("side")]
    columns += [Column("score"), Column("marked")]
    note = "effect: how much of NEW − OLD disappears without the sentence; edits as [old→new]"
    yield Table(columns, rows, f"Sentences that moved most: {first}", [note])

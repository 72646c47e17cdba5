"""Two systems compared: what a NEW output gains and loses against an OLD one.

Everything comes of one scoring: corpus scores, and those of error types and groups of sentences,
with paired intervals and tests; how often either system changes what is right and leaves what is
wrong; the edits that came and went; the sentences that moved most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gecjury.corpus.corpus import Corpus
from gecjury.decisions.edited import EditChanges, MovedSentence, edit_changes, moved_sentences
from gecjury.decisions.groups import Groups
from gecjury.decisions.paired import (
    RATES,
    Outcomes,
    Paired,
    Resampler,
    metric_difference,
    outcomes_of,
    rate_difference,
    type_counts,
    type_differences,
)
from gecjury.errors import InputError, MissingExtraError
from gecjury.experiments.inputs import Metrics, Texts, corpus_of, scorers_of
from gecjury.experiments.result import ExperimentResult
from gecjury.experiments.score import score, whole_counts
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import check_resamples
from gecjury.stats.permutation import holm

TypeLevels = Literal[0, 1, 2, 3]
"""As `TypeLevel`; 0: error types are not told apart."""


@dataclass(frozen=True, kw_only=True)
class DiffSettings:
    """What `diff` can be told.

    Attributes:
        resamples: of the bootstrap over sentences, from 1.
        confidence: of the intervals, between 0 and 1.
        permutations: of each test, from 1.
        seed: of both.
        by_type: how finely error types are told apart; 0: not at all.
        shown: how many of the sentences and edits that moved are listed, of each direction; 0:
            none.

    Raises:
        OptionError: a value out of range.
    """

    resamples: int = 1000
    confidence: float = 0.95
    permutations: int = 1000
    seed: int = 0
    by_type: TypeLevels = 2
    shown: int = 5

    def __post_init__(self) -> None:
        _ = self.resampler

    @property
    def resampler(self) -> Resampler:
        """How is drawn and swapped."""
        return Resampler(self.resamples, self.confidence, self.permutations, self.seed)


@dataclass(frozen=True)
class TypeRow:
    """A metric's F0.5 of one error type.

    Attributes:
        metric: the metric's label.
        type: the error type.
        old: TP, FP and FN of the OLD system.
        new: of the NEW one.
        paired: both F0.5 and their difference; its sentences are those with the type.
        adjusted: p after Holm's correction over the metric's types.
    """

    metric: str
    type: str
    old: tuple[float, float, float]
    new: tuple[float, float, float]
    paired: Paired
    adjusted: float

    def row(self) -> dict[str, Any]:
        """A plain record."""
        counts = {
            f"{side}_{what}": value
            for side, three in (("old", self.old), ("new", self.new))
            for what, value in zip(("tp", "fp", "fn"), three, strict=True)
        }
        about = {"metric": self.metric, "type": self.type}
        return {**about, **counts, **self.paired.row(), "adjusted": self.adjusted}


@dataclass(frozen=True)
class GroupRow:
    """A figure of one group of sentences.

    Attributes:
        group: its label.
        measure: the metric's label, or the name of a rate.
        paired: both figures and their difference.
        adjusted: p after Holm's correction over the measure's groups.
    """

    group: str
    measure: str
    paired: Paired
    adjusted: float

    def row(self) -> dict[str, Any]:
        """A plain record."""
        about = {"group": self.group, "measure": self.measure}
        return {**about, **self.paired.row(), "adjusted": self.adjusted}


@dataclass(frozen=True, repr=False, eq=False)
class Difference(ExperimentResult):
    """What a NEW system gains and loses against an OLD one.

    Attributes:
        old: name of the OLD system.
        new: of the NEW one.
        tables: scores of both, one a metric.
        metrics: differences of corpus scores, by the metric's label.
        rates: differences of rates, by name; none without references.
        types: F0.5 by error type, of metrics that count types.
        groups: figures by group of sentences; none where none are told apart.
        grouped_by: what groups are of; empty without.
        edits: edits that came and went; None where they could not be extracted.
        moved: sentences that moved most.
        settings: how was compared.
        remarks: what must be said of the comparison.
    """

    old: str
    new: str
    tables: tuple[ScoreTable, ...]
    metrics: Mapping[str, Paired]
    rates: Mapping[str, Paired]
    types: tuple[TypeRow, ...]
    groups: tuple[GroupRow, ...]
    grouped_by: str
    edits: EditChanges | None
    moved: tuple[MovedSentence, ...]
    settings: DiffSettings
    remarks: tuple[str, ...]

    @property
    def figures(self) -> dict[str, Paired]:
        """Differences of scores and rates, by label and name."""
        return {**self.metrics, **self.rates}

    @property
    def unanswered(self) -> int:
        """How many scores were wanted and not had."""
        return sum(table.unanswered for table in self.tables)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said, and what the metrics have to say, each remark once."""
        told = [note for table in self.tables for note in table.statistics.notes]
        edits = self.edits.notes if self.edits is not None else ()
        return tuple(dict.fromkeys((*self.remarks, *told, *edits)))

    def rows(self) -> list[dict[str, Any]]:
        """One record a metric, with its signature, and one a rate: both figures, difference, p."""
        signatures = [str(table.signature) for table in self.tables]
        found = [
            {"measure": label, **one.row(), "signature": signature}
            for (label, one), signature in zip(self.metrics.items(), signatures, strict=True)
        ]
        return [*found, *({"measure": name, **one.row()} for name, one in self.rates.items())]


def diff(
    texts: Texts,
    hypotheses: Mapping[str, Sequence[str]] | None = None,
    references: Sequence[Sequence[str]] = (),
    *,
    metrics: Metrics,
    by: Groups | None = None,
    settings: DiffSettings | None = None,
    runtime: Runtime | None = None,
) -> Difference:
    """Compare two systems.

    Args:
        texts: N tokenised sources; or a corpus, a benchmark or a benchmark's name, which bring
            their own hypotheses and references.
        hypotheses: name → N sentences, the OLD system first, the NEW one second.
        references: R lists of N sentences; one list of strings counts as one reference.
        metrics: names, with options as on the command line, or scorers.
        by: groups of sentences that are compared by themselves as well.
        settings: intervals, tests and what is listed.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric, option or benchmark.
        InputError: not two systems, or texts that do not belong together, or that lack what a
            metric needs.
    """
    settings = settings or DiffSettings()
    runtime = runtime or Runtime()
    scorers = list(dict.fromkeys(scorers_of(metrics)))  # one may be typed in two ways
    corpus = corpus_of(texts, hypotheses, references)
    if len(corpus.systems) != 2:
        raise InputError(
            f"{len(corpus.systems)} systems; expected two, the OLD one first and the NEW one second"
        )
    if by is not None and len(by.labels) != len(corpus):
        raise InputError(f"{by.name}: {len(by.labels)} labels for {len(corpus)} sentences")
    how = settings.resampler
    check_resamples(how.resamples, len(corpus))
    scored = score(corpus, metrics=scorers, runtime=runtime)
    tables = tuple(table.settled() for table in scored.tables)
    named = list(zip(scorers, tables, strict=True))
    remarks = _remarks(corpus)
    measured = {table.signature.label: metric_difference(one, table, how) for one, table in named}
    outcomes = outcomes_of(corpus)
    rates = {}
    if outcomes is None:
        remarks.append(
            "no references (-r): rates of over-correction, under-correction and success, and which "
            "edits are right, are left out"
        )
    else:
        rates = {name: rate_difference(outcomes, name, how) for name in RATES}
    edits, told = _edits(corpus, scorers, runtime)
    remarks += told
    remarks += [
        f"{name}: {one.dropped} resampled differences not defined, left out"
        for name, one in {**measured, **rates}.items()
        if one.dropped and one.sentences
    ]
    moved = [
        each
        for one, table in named
        if settings.shown
        for each in moved_sentences(one, table, corpus, settings.shown)
    ]
    old, new = corpus.names
    return Difference(
        old,
        new,
        tables,
        measured,
        rates,
        tuple(_types(tables, settings.by_type, how)),
        tuple(_groups(named, outcomes, by, how)) if by is not None else (),
        by.name if by is not None else "",
        edits,
        tuple(moved),
        settings,
        tuple(remarks),
    )


def _remarks(corpus: Corpus) -> list[str]:
    one, two = corpus.systems.values()
    if all(a.split() == b.split() for a, b in zip(one.lines, two.lines, strict=True)):
        return [f"OLD and NEW hold the same corrections on all {len(corpus)} lines"]
    return []


def _edits(
    corpus: Corpus, scorers: Sequence[Scorer], runtime: Runtime
) -> tuple[EditChanges | None, list[str]]:
    """Edits as the first metric over edits sees them, else by the language's tagger."""
    first: Any = next((scorer for scorer in scorers if hasattr(scorer, "tagger")), None)
    tagger, pos = ("embedded", "spacy2") if first is None else (first.tagger, first.pos)
    try:
        return edit_changes(corpus, runtime, tagger, pos), []
    except MissingExtraError as error:
        return None, [f"edits that came and went are left out: {error}"]


def _types(tables: Sequence[ScoreTable], level: TypeLevels, how: Resampler) -> list[TypeRow]:
    rows: list[TypeRow] = []
    for table in tables:
        counted = type_counts(table, level) if level else None
        if counted is None or not counted[0]:
            continue
        kinds, counts = counted
        differences = type_differences(counts, how)
        adjusted = holm(np.array([one.p for one in differences])).tolist()
        old, new = ([whole_counts(cell) for cell in cells] for cells in counts.sum(axis=1))
        rows += [
            TypeRow(table.signature.label, *row)
            for row in zip(kinds, old, new, differences, adjusted, strict=True)
        ]
    return rows


def _groups(
    named: Sequence[tuple[Scorer, ScoreTable]],
    outcomes: Outcomes | None,
    by: Groups,
    how: Resampler,
) -> list[GroupRow]:
    parts = by.rows()
    measures: dict[str, list[Paired]] = {
        table.signature.label: [metric_difference(one, table, how, rows) for rows in parts.values()]
        for one, table in named
    }
    if outcomes is not None:
        measures |= {
            name: [rate_difference(outcomes, name, how, rows) for rows in parts.values()]
            for name in RATES
        }
    found = []
    for measure, differences in measures.items():
        adjusted = holm(np.array([one.p for one in differences])).tolist()
        found += [
            GroupRow(group, measure, one, p)
            for group, one, p in zip(parts, differences, adjusted, strict=True)
        ]
    return found

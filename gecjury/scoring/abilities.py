"""Abilities of some metrics besides scoring, each for the commands that ask for it.

A metric has an ability if it has its methods: `isinstance(metric, CreditsEdits)`. A subclass gives
an ability of its base up by setting the method to None: `credit = None`.

    CreditsEdits       what its own counts give to single edits   `compare --level edit`
    EditJudge          a judge of single edits                    `compare --level edit`, `valid`
    Explains           how it matched edits with a reference      `explain`, `score`, `serve`
    ReadsEdits         how it reads edits                         `score`, `diff`, `explain`
    RunsReferences     the reference that an output is compared   `valid`
                       with
    HasParts           further scores of each sentence            `score DATASET`
    Sums               corpus scores from sums of parts           `score DATASET`
    Sweeps             several values of options at once          `tune`
    ChoosesReferences  corpus scores average over references      tests that swap outputs
    Plans              requests that may cost money               `--dry-run`, `--max-cost`
    NamesMetrics       metrics that its options name              consent

`CountsInParts` is a mix-in that counts corpora on disk part by part. A class attribute `tuning`
says what the metric's paper tuned, for `gecjury tune`: options with the values tried
(`{"beta": "0:5:0.01"}`), and the `folds`, `aggregate` and `human-scores` of the search.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, NumberArray, blocks
from gecjury.core.runtime import Progress, Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.scoring.scores import Plan, Scores, Statistics
from gecjury.scoring.signature import Signature

CountedPart: TypeAlias = Any
"""Counts of a part of a corpus, which the metric joins: its statistics, or more than these."""

_PART = 1 << 15  # sentences of a corpus on disk that are held at once


@dataclass(frozen=True)
class EditCase:
    """A single edit that annotators judged.

    Attributes:
        row: the source's row in the benchmark's corpus; -1 if the corpus does not contain it.
        source: the source, tokens joined by single blanks.
        context: the sentences before and after it; None if they are unknown or not shown.
        edit: the edit.
        edits: all edits of the correction that it belongs to, including itself.
        valid: the verdict, as the share of annotators who accepted the edit.
        correction: text of the correction; it has more edits than `edits` if the verdict on one of
            them is unreadable.
        language: language of the texts.
    """

    row: int
    source: str
    context: tuple[str, str] | None
    edit: Edit
    edits: tuple[Edit, ...]
    valid: float
    correction: str = ""
    language: Language = ENGLISH

    @property
    def complete(self) -> bool:
        """True if applying the edits gives the correction."""
        return " ".join(apply_edits(self.source.split(), self.edits)) == self.correction


@dataclass(frozen=True)
class EditCounts:
    """The credit that an edit-counting metric gives to N judged edits.

    Attributes:
        own: credit under the metric's own rule for multiple references, shape (N,).
        notes: remarks for the user.
    """

    own: FloatArray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeatMap:
    """A matrix of the mass transported from rows to columns.

    Attributes:
        title: title of the matrix.
        rows: labels of the hypothesis' edits, with their masses.
        columns: labels of the reference's edits, with their masses.
        values: rows × columns.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Explanation:
    """A record of how a metric judged one hypothesis against one reference.

    Attributes:
        scores: precision, recall, score and other single numbers.
        columns: keys of the rows, in order.
        rows: one record per edit or chunk.
        heat_map: the transport plan, for metrics that have one.
    """

    scores: Mapping[str, float]
    columns: Sequence[str]
    rows: Sequence[Mapping[str, object]]
    heat_map: HeatMap | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class CreditsEdits(Protocol):
    """A metric whose own counts give credit to single edits."""

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return the credit of single edits.

        Args:
            cases: judged edits of sources in the corpus.
            corpus: corpus with the references and gold edits of the sources, and other systems.

        Returns:
            The credit under the reference that the metric would use for the correction that the
            edit belongs to.
        """


@runtime_checkable
class EditJudge(Protocol):
    """A scorer that judges single edits without using the references."""

    family: ClassVar[str]

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, as every scorer does."""

    def plan_edits(self, cases: Sequence[EditCase], runtime: Runtime) -> Plan | None:
        """Return what `edit_scores` would send to a paid service; None if nothing."""

    def edit_scores(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        """Return a score for each case, higher for valid edits and NaN where there is none.

        Callers use only the details and notes of the statistics, not the values.

        Returns:
            Scores of shape (cases,), and the statistics.
        """


@runtime_checkable
class Explains(Protocol):
    """A metric that matches the edits of a hypothesis with those of a reference."""

    def explain(
        self,
        source: str,
        hypothesis: tuple[Edit, ...],
        reference: tuple[Edit, ...],
        runtime: Runtime,
    ) -> Explanation:
        """Explain how the metric judges a hypothesis by a reference, edit by edit.

        Args:
            source: tokens separated by blanks.
            hypothesis: edits of the hypothesis, from left to right.
        """


@runtime_checkable
class ReadsEdits(Protocol):
    """A metric over edits."""

    @property
    def extraction(self) -> tuple[Literal["auto", "gold", "errant"], str]:
        """How edits are read: types of gold edits, and tagger."""


@runtime_checkable
class RunsReferences(Protocol):
    """A metric whose corpus score compares each output with one reference."""

    def run_references(self, statistics: Statistics) -> IntArray:
        """Return these references, systems × sentences; −1 where a sentence has none."""


@runtime_checkable
class HasParts(Protocol):
    """A metric with further scores of each sentence, by default its precision and recall.

    Class attribute `part_names`: the names of the scores that `parts` returns.
    """

    part_names: ClassVar[tuple[str, ...]] = ("precision", "recall")

    def parts(self, statistics: Statistics, scores: Scores) -> dict[str, FloatArray]:
        """Return the further scores by name, systems × sentences each.

        Args:
            scores: the scores of the sentences.
        """
        both = {"precision": scores.precision, "recall": scores.recall}
        return {n: part for n, part in both.items() if n in self.part_names and part is not None}


def part_names(scorer: object) -> tuple[str, ...]:
    """Return the names of a metric's further scores of each sentence."""
    return scorer.part_names if isinstance(scorer, HasParts) else ()


@runtime_checkable
class Sums(Protocol):
    """A metric whose corpus score can be computed from sums over sentences."""

    def adds_up(self, references: int) -> bool:
        """Return True if sums of the parts of a corpus with so many references add up."""
        return True

    def totals(self, statistics: Statistics) -> FloatArray:
        """Return sums over sentences that determine the corpus score, systems × K."""

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return corpus scores from `totals`, summed over the parts of a corpus."""


def adds_up(scorer: object, references: int) -> bool:
    """Return True if a metric's corpus score can be computed from sums of parts."""
    return isinstance(scorer, Sums) and scorer.adds_up(references)


@runtime_checkable
class Sweeps(Protocol):
    """A metric that computes scores for several values of its options faster than one by one."""

    def sweep(
        self, points: Sequence[Mapping[str, float]], corpus: Corpus, runtime: Runtime
    ) -> Iterator[FloatArray] | None:
        """Return sentence scores for several values of options.

        Args:
            points: values by option.

        Returns:
            For each point, systems × sentences; None if scoring them together saves no time.
        """


@runtime_checkable
class ChoosesReferences(Protocol):
    """A metric whose corpus score averages over random choices of references."""

    def by_choice(self, statistics: Statistics) -> Iterable[Statistics]:
        """Yield the statistics under each choice of references that tests average scores over.

        A test that swaps outputs between systems rearranges the statistics of one choice at a time,
        so that all systems meet the same reference of a sentence.
        """


@runtime_checkable
class Plans(Protocol):
    """A metric that may send requests to a service that costs money."""

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return what scoring would send; None if nothing. Planning itself sends nothing."""


def plan_of(scorer: object, corpus: Corpus, runtime: Runtime) -> Plan | None:
    """Return what scoring would send to a service that may cost money; None if nothing."""
    return scorer.plan(corpus, runtime) if isinstance(scorer, Plans) else None


def asks(scorer: object) -> bool:
    """Return True if scoring asks a language model, as a metric's attribute `asks` says."""
    return bool(getattr(scorer, "asks", False))


@runtime_checkable
class NamesMetrics(Protocol):
    """A metric whose options name others, such as the members of a sum."""

    @classmethod
    def named_metrics(cls, options: Mapping[str, str], home: Path) -> Iterable[tuple[str, Path]]:
        """Return the metrics that the options name.

        Args:
            home: folder of the file that names the metric.

        Returns:
            Each as on the command line, with the folder of the file that names it.
        """


class CountsInParts(ABC):
    """Mix-in of metrics whose statistics of a corpus can be combined from those of its parts.

    A corpus on disk is then read part by part; otherwise it is loaded as a whole.
    """

    @abstractmethod
    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Read the corpus once, as every scorer does."""

    @abstractmethod
    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the score of every single sentence, as every scorer does."""

    def by_parts(self, corpus: Corpus) -> bool:
        """Return True unless the statistics depend on the whole corpus."""
        return True

    def count_part(self, corpus: Corpus, runtime: Runtime) -> CountedPart:
        """Return what `join_parts` needs from a part of a corpus on disk: its statistics.

        Values that need the whole corpus are left to `join_parts`.
        """
        return self.statistics(corpus, runtime)

    def join_parts(self, parts: Iterable[CountedPart], corpus: Corpus) -> Statistics:
        """Return the statistics of a corpus from those of its parts.

        Counts by error type (`by_type`), the only details, are summed.

        Args:
            parts: results of `count_part`, in order, each computed when it is requested.
            corpus: the whole corpus, whose texts may be on disk.
        """
        values: NumberArray | None = None
        details: dict[str, dict[str, dict[str, list[float]]]] = {}
        notes: dict[str, str] = {}
        done = 0
        for part in parts:
            rows = slice(done, done + part.values.shape[1])
            if rows == slice(0, len(corpus)):
                whole: Statistics = part
                return whole
            # Allocated once and filled in, since joining the parts would need twice the memory.
            if values is None:
                shape = (len(part.values), len(corpus), *part.values.shape[2:])
                values = np.empty(shape, part.values.dtype)
            values[:, rows] = part.values
            for name, by_system in part.details.items():
                for system, counts in by_system.items():
                    sums = details.setdefault(name, {}).setdefault(system, {})
                    for kind, more in counts.items():
                        before = sums.get(kind, [0] * len(more))
                        sums[kind] = [a + b for a, b in zip(before, more, strict=True)]
            # Of remarks that differ only in numbers, keep the first, as for datasets.
            where = f"lines {rows.start + 1} to {rows.stop}, counted from the first of them"
            for note in part.notes:
                notes.setdefault(re.sub(r"\d+", "#", note), f"{where}: {note}")
            done = rows.stop
            del part  # its memory is freed before the next part is computed
        assert values is not None  # no corpus is empty
        return Statistics(values, details=details, notes=tuple(notes.values()))


def counted_in_parts(
    scorer: CountsInParts, name: str, corpus: Corpus, runtime: Runtime
) -> Statistics:
    """Return the statistics of a corpus on disk, of which one part at a time is held.

    Args:
        name: name of the metric, for the progress bar.
    """
    bare = replace(runtime, progress=Progress())

    def counted() -> Iterator[CountedPart]:
        with runtime.progress.task(name, len(corpus)) as bar:
            for rows in blocks(len(corpus), 1, _PART):
                yield scorer.count_part(corpus.take(range(rows.start, rows.stop)), bare)
                bar.advance(rows.stop - rows.start)

    return scorer.join_parts(counted(), corpus)


def scored_in_parts(scorer: CountsInParts, statistics: Statistics, count: int) -> Scores:
    """Return the sentence scores of a corpus of so many sentences, computed part by part."""
    parts = (
        scorer.sentence_scores(Statistics(statistics.values[:, rows]))
        for rows in blocks(count, 1, _PART)
    )
    return Scores.joined(parts, count)

"""Base classes of edit-based metrics: edits, choice of references, credit, explanations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, Edits, apply_edits, counted_edits
from gecjury.corpus.references import refuse_overlaps
from gecjury.extraction.extract import CorpusEdits, corpus_edits
from gecjury.extraction.retyping import GoldTypes, is_retyped, typed_corpus_edits
from gecjury.extraction.taggers import extraction_signature
from gecjury.refbased.references import FirstBest, best_f, choose_best, choose_running
from gecjury.scoring.abilities import EditCase, EditCounts, HasParts
from gecjury.scoring.scorer import Scorer, changed_settings
from gecjury.scoring.scores import Scores, Statistics
from gecjury.scoring.signature import Signature
from gecjury.stats.counts import precision_recall_f

ScoreLevel = Literal["sentence", "corpus"]

Types = Mapping[tuple[str, int], float]
"""Amounts by error type and kind of count (0 TP, 1 FP, 2 FN)."""


@dataclass(frozen=True)
class TypedCounts:
    """TP, FP and FN of a corpus, or of a part of one, before references are chosen.

    Attributes:
        values: systems × sentences × references × 3.
        types: function that returns the counts by error type of a system, sentence and reference.
        edits: edits of the sentences.
        notes: notes for the user, in addition to those on the edits.
        zero: initial value of each count; 0 keeps whole numbers whole.
        details: function that returns further details from the references chosen.
    """

    values: NDArray[Any]
    types: Callable[[int, int, int], Types]
    edits: CorpusEdits
    notes: Iterable[str] = ()
    zero: float = 0.0
    details: Callable[[IntArray], Mapping[str, object]] = lambda chosen: {}

    def without_hits(self, empty: BoolArray) -> TypedCounts:
        """Return the counts with the hits of some outputs as misses, both FP and FN.

        Args:
            empty: the outputs, systems × sentences × references; see `wordless`.
        """
        if not empty.any():
            return self
        values = self.values.copy()
        values[empty] += values[empty][:, :1] * np.array([-1, 1, 1], dtype=values.dtype)

        def types(system: int, row: int, reference: int) -> Types:
            counted = self.types(system, row, reference)
            if not empty[system, row, reference]:
                return counted
            moved: dict[tuple[str, int], float] = {}
            for (kind, count), amount in counted.items():
                for place in (count,) if count else (1, 2):
                    moved[kind, place] = moved.get((kind, place), 0) + amount
            return moved

        return replace(self, values=values, types=types)

    def statistics(self, chosen: IntArray) -> Statistics:
        """Return statistics with TP, FP and FN by error type, for systems and for sentences.

        Args:
            chosen: systems × sentences, the references of the corpus score, so that tables by type
                add up to it.
        """
        # The function below refers to this local name, so that it does not keep the edits alive.
        types = self.types

        def types_of(system: int, row: int) -> Types:
            # −1 means that no reference is usable: read the first, whose counts are NaN or empty.
            return types(system, row, max(int(chosen[system, row]), 0))

        tables: dict[str, dict[str, list[float]]] = {}
        for system, name in enumerate(self.edits.systems):
            table = tables.setdefault(name, {})
            for row in range(chosen.shape[1]):
                for (kind, count), amount in types_of(system, row).items():
                    table.setdefault(kind, [self.zero] * 3)[count] += amount
        return Statistics(
            self.values,
            details={"by_type": tables, **self.details(chosen)},
            notes=(*self.edits.notes, *self.notes),
            sentence_types=types_of,
        )


@dataclass(frozen=True)
class BestReference(Scorer, HasParts):
    """Base of metrics that compare a sentence with each reference and use the best one.

    Statistics are counts or weights, systems × sentences × references × K, NaN where a reference
    is absent from a sentence. The sentence score uses the reference that is best for the sentence
    alone. The corpus score is computed from sums, to which each sentence adds the counts of the
    reference that gives the best running score.
    """

    family: ClassVar[str] = "refbased"

    @property
    @abstractmethod
    def beta(self) -> float:
        """The weight of recall."""

    def check(self, corpus: Corpus) -> None:
        """Check the corpus, and that a model can run, before edits are extracted and matched."""
        super().check(corpus)
        if self.loaded_models:
            from gecjury.models.networks import check_packages

            check_packages(self.name)

    @property
    def rule(self) -> FirstBest:
        """The running rule that chooses a reference: ERRANT's, from TP, FP and FN."""
        return best_f(self.beta)

    def scores_of(self, counts: FloatArray, level: ScoreLevel) -> Scores:
        """Return the scores of counts, ... × K: F, precision and recall of TP, FP and FN."""
        precision, recall, score = precision_recall_f(*np.moveaxis(counts, -1, 0), beta=self.beta)
        return Scores(score, precision, recall)

    def sentence_keys(self, counts: FloatArray) -> Sequence[FloatArray]:
        """Return keys that choose a reference by the sentence's own counts.

        Each key has the shape of the counts without the last axis.
        """
        return self.rule(counts, counts)

    def counts_at(self, values: FloatArray, level: ScoreLevel) -> FloatArray:
        """Return the counts of a level, (..., K); overridden where sentences and corpora differ."""
        return values

    def best_references(self, counts: FloatArray) -> IntArray:
        """Return the reference that each sentence is scored against.

        Args:
            counts: ... × references × K at sentence level; NaN where a reference is absent.

        Returns:
            Indices, shaped like the counts without the last two axes; 0 where every reference is
            absent.
        """
        return choose_best(self.sentence_keys(np.nan_to_num(counts)), ~np.isnan(counts[..., 0]))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the best reference's score of each sentence; NaN where there is none."""
        values = self.counts_at(statistics.values.astype(np.float64, copy=False), "sentence")
        best = self.best_references(values)[..., None, None]
        return self.scores_of(np.take_along_axis(values, best, axis=-2)[..., 0, :], "sentence")

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return scores of the counts summed by the running choice of references."""
        return self.scores_of(self.chosen_in_run(statistics.values, draws)[0], "corpus")

    def adds_up(self, references: int) -> bool:
        """Return True for one reference; of several, one is chosen by running scores."""
        return references == 1

    def totals(self, statistics: Statistics) -> FloatArray:
        """Return summed counts, systems × K."""
        counts = self.counts_at(statistics.values.astype(np.float64, copy=False), "corpus")
        sums: FloatArray = np.nan_to_num(counts[:, :, 0]).sum(axis=1)
        return sums

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return the scores of the summed counts."""
        return self.scores_of(totals, "corpus")

    def chosen_in_run(
        self,
        values: FloatArray,
        draws: IntArray | None = None,
        before: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Return the summed counts of the corpus and the references chosen; see `choose_running`.

        Returns:
            Systems × K and systems × sentences; with draws, draws × systems × K and an empty array.
        """
        counts = self.counts_at(values, "corpus")
        if draws is None and counts.shape[2] == 1 and counts.dtype.kind == "i":
            # Sums of whole numbers are exact in any order, and there is nothing to choose.
            sums = counts[:, :, 0].sum(axis=1, dtype=np.int64).astype(np.float64)
            sums = sums if before is None else sums + before
            return sums, np.broadcast_to(np.int64(0), counts.shape[:2])
        return choose_running(counts, self.rule, draws, before)

    def run_references(self, statistics: Statistics) -> IntArray:
        """Return the references that the corpus score uses, systems × sentences."""
        return self.chosen_in_run(statistics.values)[1]

    def typed_statistics(self, parts: Iterable[TypedCounts]) -> Iterator[Statistics]:
        """Yield statistics of the parts of a corpus, with details for the references chosen.

        The choice of references continues from part to part, with the sums of the parts before.
        """
        sums = None
        for part in parts:
            sums, chosen = self.chosen_in_run(part.values, before=sums)
            yield part.statistics(chosen)
            del part  # frees its edits before the next part is counted

    def credited(
        self,
        by_reference: FloatArray,
        counts: FloatArray,
        place: IntArray,
        notes: tuple[str, ...] = (),
    ) -> EditCounts:
        """Return credit of single edits against the reference chosen for their correction.

        Args:
            by_reference: credit against each reference, N × references.
            counts: counts of the corrections that the edits belong to, C × references × K.
            place: index of each edit's correction, shape (N,).
            notes: notes for the user.
        """
        # The best reference is that of the whole correction, not of a single edit.
        best = self.best_references(counts)[place]
        credit = np.take_along_axis(by_reference, best[:, None], axis=1)[:, 0]
        return EditCounts(credit, notes)


@dataclass(frozen=True)
class EditMetric(Scorer):
    """Base of metrics over edits of hypotheses and references.

    Hypotheses and references given as M2 keep their edits; ERRANT edits are extracted from all
    others.

    Class variable `apart`: True if a reference's edits must not overlap, because sentences are
    divided at them or single edits are taken back.

    Attributes:
        tagger: how edits are extracted: `embedded` (the packaged tagger for English, and the
            tagger of the language otherwise), the name of a spaCy model of English, `spacy:NAME`
            (a pipeline of any language), or `none` (edits without parts of speech).
    """

    family: ClassVar[str] = "refbased"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    apart: ClassVar[bool] = True

    tagger: str = "embedded"

    @property
    def extraction(self) -> tuple[GoldTypes, str]:
        """How edits are read: types of gold edits, and tagger."""
        return "gold", self.tagger

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the tagger and the versions of the packages that decide edits."""
        return extraction_signature(self.tagger)

    def check(self, corpus: Corpus) -> None:
        """Check the corpus, and that the tagger is installed before any work is done."""
        super().check(corpus)
        # Checked first, because extraction may take minutes.
        if self.apart:
            refuse_overlaps(corpus, self.name)
        extraction_signature(corpus.language.tagger_for(self.tagger))

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature with the tagger of the corpus' language."""
        tagger = corpus.language.tagger_for(self.tagger)
        if tagger == self.tagger:
            return super().signature(corpus, runtime)
        # The signature names the tagger that ran: `embedded` is a different one in each language.
        settled = replace(self, tagger=tagger).signature(corpus, runtime)
        return replace(settled, changed=changed_settings(self))

    def edits(self, corpus: Corpus, runtime: Runtime) -> CorpusEdits:
        """Return the edits of all hypotheses and references."""
        return corpus_edits(corpus, self.tagger, runtime)

    def reference_edits(self, corpus: Corpus, runtime: Runtime) -> list[list[Edits]]:
        """Return the edits of every reference, R × N; hypotheses are not read.

        Edits typed `UNK` are included: each metric decides whether they count.
        """
        edits = self.edits(corpus.with_systems([]), runtime)
        return [
            [counted_edits(line, detected=True) for line in lines] for lines in edits.references
        ]

    def explained_scores(
        self, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
    ) -> dict[str, float]:
        """Return the metric's own sentence score of one hypothesis against one reference."""

        def version(edits: Edits) -> Version:
            return Version((" ".join(apply_edits(source.split(), edits)),), (edits,))

        corpus = Corpus((source,), {"hypothesis": version(hypothesis)}, (version(reference),))
        by_sentence = self.score_corpus(corpus, runtime).by_sentence
        scores = {"score": float(by_sentence.score[0, 0])}
        if by_sentence.precision is not None and by_sentence.recall is not None:
            scores["precision"] = float(by_sentence.precision[0, 0])
            scores["recall"] = float(by_sentence.recall[0, 0])
        return scores


@dataclass(frozen=True)
class TypedEditMetric(EditMetric):
    """Base of metrics that compare a hypothesis' edits with gold edits and count them by type.

    Attributes:
        types: error types of gold edits read from M2: `auto` replaces types of other schemes if
            hypotheses have ERRANT's types, `errant` replaces all, as ERRANT's own
            `errant_m2 -gold` does, `gold` keeps all.
    """

    types: GoldTypes = "auto"

    @property
    def extraction(self) -> tuple[GoldTypes, str]:
        """How edits are read: types of gold edits, and tagger."""
        return self.types, self.tagger

    def edits(self, corpus: Corpus, runtime: Runtime) -> CorpusEdits:
        """Return the edits of all hypotheses and references, with gold edits typed by `types`."""
        return typed_corpus_edits(corpus, self.types, self.tagger, runtime)

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, which says whether gold edits were retyped."""
        made = super().signature(corpus, runtime)
        if not is_retyped(corpus, self.types, self.tagger):
            return made
        return replace(made, extra={**made.extra, "gold": "retyped"})


_ChosenCorrection = tuple[int, Edits]
"""The correction that a judged edit belongs to: row of the source, and all its edits."""


def distinct_corrections(cases: Sequence[EditCase]) -> tuple[list[_ChosenCorrection], IntArray]:
    """Return the distinct corrections of the cases, and each case's index, shape (cases,)."""
    numbers: dict[_ChosenCorrection, int] = {}
    place = [numbers.setdefault((case.row, case.edits), len(numbers)) for case in cases]
    return list(numbers), np.array(place, dtype=np.int64)


def words(source: str, edit: Edit) -> str | None:
    """Return the source words that an edit replaces; None for an insertion."""
    return " ".join(source.split()[edit.start : edit.end]) or None

"""Base classes of metrics over edits: edits, choice of references, credit, explanations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, Edits, apply_edits, counted_edits
from gecjury.errors import OptionError
from gecjury.extraction.extract import CorpusEdits, corpus_edits
from gecjury.extraction.retyping import GoldTypes, is_retyped, typed_corpus_edits
from gecjury.extraction.taggers import extraction_signature
from gecjury.refbased.references import FirstBest, best_f, choose_best, choose_running
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase, EditCounts
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, Statistics
from gecjury.scoring.signature import Signature
from gecjury.stats.counts import precision_recall_f

ScoreLevel = Literal["sentence", "corpus"]

Types = Mapping[tuple[str, int], float]
"""Key of a count of an error type (0 TP, 1 FP, 2 FN)."""


@dataclass(frozen=True)
class TypedCounts:
    """TP, FP and FN of a corpus, or of a part of one, before references are chosen.

    Attributes:
        values: systems × sentences × references × 3.
        types: counts by error type of a system, sentence and reference.
        edits: of the sentences.
        notes: remarks for the user besides those on the edits.
        zero: start of each count; 0 keeps whole numbers whole.
        details: what else is kept of the systems, from the references chosen.
    """

    values: NDArray[Any]
    types: Callable[[int, int, int], Types]
    edits: CorpusEdits
    notes: Iterable[str] = ()
    zero: float = 0.0
    details: Callable[[IntArray], Mapping[str, Any]] = lambda chosen: {}

    def statistics(self, chosen: IntArray) -> Statistics:
        """Return statistics with TP, FP and FN by error type, of systems and of sentences.

        Args:
            chosen: systems × sentences, the references of the corpus score, which tables by type
                so add up to.
        """
        # The function below keeps the types alone, not the edits.
        types = self.types

        def types_of(system: int, row: int) -> Types:
            # −1, where no reference could be used, reads the first: its counts are NaN or none.
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
class BestReference(Scorer):
    """Base of metrics that compare a sentence with each reference and take the best.

    Statistics are counts or weights, systems × sentences × references × K, NaN where a reference
    is absent from a sentence. The sentence score is that of the best reference by itself; the
    corpus score that of the sums, each sentence giving the counts of the reference that is best
    in the run of the corpus so far.
    """

    family: ClassVar[str] = "refbased"
    part_names: ClassVar[tuple[str, ...]] = ("precision", "recall")

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)

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
        """The keys that choose a reference in the run of a corpus: ERRANT's, of TP, FP and FN."""
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

    def counts_at(self, values: NDArray[Any], level: ScoreLevel) -> NDArray[Any]:
        """Return the counts of a level, (..., K), where sentences and corpora differ."""
        return values

    def best_references(self, counts: FloatArray) -> IntArray:
        """Return the reference that each sentence is scored by.

        Args:
            counts: ... × references × K of the sentence level; NaN where a reference is absent.

        Returns:
            Indices, of the shape without the last two axes; 0 where every reference is absent.
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

    def totals(self, statistics: Statistics) -> FloatArray | None:
        """Return summed counts, or None if references are chosen in the run of the corpus.

        None either where a subclass makes its corpus score otherwise.
        """
        # With one reference there is nothing to choose, so that the sums of a corpus' parts add up.
        usual = type(self).corpus_scores is BestReference.corpus_scores
        if not usual or statistics.values.shape[2] != 1:
            return None
        counts = self.counts_at(statistics.values.astype(np.float64, copy=False), "corpus")
        sums: FloatArray = np.nan_to_num(counts[:, :, 0]).sum(axis=1)
        return sums

    @property
    def sums_with_several(self) -> bool:
        """True if corpus scores are sums even with several references."""
        return type(self).corpus_scores is not BestReference.corpus_scores

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return the scores of the summed counts."""
        return self.scores_of(totals, "corpus")

    def chosen_in_run(
        self,
        values: NDArray[Any],
        draws: IntArray | None = None,
        before: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Return the summed counts of the corpus and the references chosen; see `choose_running`.

        Returns:
            Systems × K and systems × sentences; with draws, draws × systems × K and an empty one.
        """
        counts = self.counts_at(values, "corpus")
        if draws is None and counts.shape[2] == 1 and counts.dtype.kind == "i":
            # Sums of whole numbers are exact in any order, and there is nothing to choose.
            sums = counts[:, :, 0].sum(axis=1, dtype=np.int64).astype(np.float64)
            sums = sums if before is None else sums + before
            return sums, np.broadcast_to(np.int64(0), counts.shape[:2])
        return choose_running(counts, self.rule, draws, before)

    def typed_statistics(self, parts: Iterable[TypedCounts]) -> Iterator[Statistics]:
        """Yield statistics of the parts of a corpus, with details under the references chosen.

        Each part's references are chosen in the run of the corpus, from the sums of the parts
        before it.
        """
        sums = None
        for part in parts:
            sums, chosen = self.chosen_in_run(part.values, before=sums)
            yield part.statistics(chosen)
            del part  # its edits are let go before the next is counted

    def credited(
        self,
        by_reference: FloatArray,
        counts: FloatArray,
        place: IntArray,
        notes: tuple[str, ...] = (),
    ) -> EditCounts:
        """Return credit of single edits under the reference that their correction takes.

        Args:
            by_reference: N × references.
            counts: of the corrections they belong to, C × references × K.
            place: index of each edit's correction, shape (N,).
            notes: remarks for the user.
        """
        # An edit alone has no best reference: its correction as a whole has one.
        best = self.best_references(counts)[place]
        credit = np.take_along_axis(by_reference, best[:, None], axis=1)[:, 0]
        return EditCounts(credit, by_reference, notes)


@dataclass(frozen=True)
class EditMetric(Scorer):
    """Base of metrics over edits of hypotheses and references.

    Hypotheses and references that came as M2 keep their edits; of the others ERRANT's are
    extracted.

    Class variable `apart`: whether a reference's edits must not overlap, since sentences are taken
    apart at them, or single edits taken out of a corrected sentence.

    Attributes:
        tagger: `none`, `spacy:NAME` or the name of a spaCy model, see
            `gecjury.extraction.extract`; `embedded` (the default) is the embedded tagger for
            English and what the corpus' language says for others.
        pos: part-of-speech scheme of the embedded tagger: `spacy2` (as in the official files,
            made with ERRANT 2) or `spacy3`.
    """

    family: ClassVar[str] = "refbased"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    apart: ClassVar[bool] = True

    tagger: str = "embedded"
    pos: Literal["spacy2", "spacy3"] = "spacy2"

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the tagger and the versions of the packages that decide edits."""
        return extraction_signature(self.tagger, self.pos)

    def check(self, corpus: Corpus) -> None:
        """Check the corpus, and that the tagger is installed before any work is done."""
        super().check(corpus)
        # Refused before any work is done: extraction may take minutes.
        if self.apart:
            corpus.refuse_overlaps(self.name)
        extraction_signature(corpus.language.tagger_for(self.tagger), self.pos)

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature with the tagger of the corpus' language."""
        tagger = corpus.language.tagger_for(self.tagger)
        if tagger == self.tagger:
            return super().signature(corpus, runtime)
        # What is signed is the tagger that ran: `embedded` means another one in each language.
        settled = replace(self, tagger=tagger).signature(corpus, runtime)
        return replace(settled, changed=self._changed())

    def edits(self, corpus: Corpus, runtime: Runtime) -> CorpusEdits:
        """Return the edits of all hypotheses and references."""
        return corpus_edits(corpus, self.tagger, self.pos, runtime)

    def reference_edits(self, corpus: Corpus, runtime: Runtime) -> list[list[Edits]]:
        """Return the edits of every reference, R × N; hypotheses are not read.

        Those typed `UNK` are among them: whether they count is each metric's own rule.
        """
        edits = self.edits(corpus.with_systems([]), runtime)
        return [[counted_edits(line, unknown=True) for line in lines] for lines in edits.references]

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
        types: of ready gold edits (M2): `auto` types those anew that have another scheme's, while
            hypotheses have ERRANT's, `errant` all of them, as ERRANT's own `errant_m2 -gold`
            does; `gold` keeps them.
    """

    later_settings: ClassVar[frozenset[str]] = frozenset({"types"})

    types: GoldTypes = "auto"

    def edits(self, corpus: Corpus, runtime: Runtime) -> CorpusEdits:
        """Return the edits of all hypotheses and references, with gold edits typed as set."""
        return typed_corpus_edits(corpus, self.types, self.tagger, self.pos, runtime)

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, which says if gold edits were typed anew."""
        made = super().signature(corpus, runtime)
        if not is_retyped(corpus, self.types, self.tagger):
            return made
        return replace(made, extra={**made.extra, "gold": "retyped"})


_Correction = tuple[int, Edits]
"""Row of the source and all edits: what a judged edit belongs to."""


def distinct_corrections(cases: Sequence[EditCase]) -> tuple[list[_Correction], IntArray]:
    """Return the distinct corrections of the cases, and each case's index, shape (cases,)."""
    numbers: dict[_Correction, int] = {}
    place = [numbers.setdefault((case.row, case.edits), len(numbers)) for case in cases]
    return list(numbers), np.array(place, dtype=np.int64)


def words(source: str, edit: Edit) -> str | None:
    """Return the source words that an edit replaces; None for an insertion."""
    return " ".join(source.split()[edit.start : edit.end]) or None


def check_beta(name: str, beta: float) -> None:
    """Refuse a β that no F-score has.

    Raises:
        OptionError: it is negative, infinite or not a number.
    """
    if not 0 <= beta <= 1e100:
        raise OptionError(f"{name}: beta={beta} is out of range; expected 0 or more")

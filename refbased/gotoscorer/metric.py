"""GoToScorer as a metric: a chunk's weight is its difficulty for the systems compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.extraction.extract import CorpusEdits
from gecjury.refbased.edit_metric import EditMetric, check_beta
from gecjury.refbased.gotoscorer.weights import (
    chunk_sequence,
    judge_systems,
    verdicts,
)
from gecjury.scoring.by_edit import EditCase, EditCounts
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import precision_recall_f


@dataclass(frozen=True)
class GoToScorer(EditMetric):
    """F0.5 over chunks weighted by the share of systems that got them wrong (Gotou et al. 2020).

    Range 0 to 1, higher is better. A chunk that every system gets right weighs nothing, so scores
    depend on which systems are scored together. One reference is used.
    Precision and recall are 0 when they have nothing to count, as in the authors' program. An
    output without words gets every chunk wrong.

    Attributes:
        beta: weight of recall.
        reference: which reference, counted from 0. The figures of the SEEDA paper are reproduced
            with the second annotator's, 1.
    """

    name: ClassVar[str] = "gotoscorer"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "F0.5 over chunks weighted by how many systems miss them"
    paper: ClassVar[str] = "Gotou et al. 2020"
    needs: ClassVar[frozenset[str]] = frozenset({"references", "rivals"})
    joint: ClassVar[bool] = True
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})

    beta: float = 0.5
    reference: int = 0

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)
        if self.reference < 0:
            raise OptionError(
                f"{self.name}: reference={self.reference}; references are counted from 0"
            )

    def check(self, corpus: Corpus) -> None:
        """Check the corpus and that the reference exists."""
        super().check(corpus)
        if self.reference >= len(corpus.references):
            raise InputError(
                f"{self.name}: reference={self.reference}, but {len(corpus.references)} references "
                "were given; they are counted from 0"
            )

    def by_parts(self, corpus: Corpus) -> bool:
        """Return True, since every sentence has its own chunks."""
        return True

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return weighted counts, systems × sentences × (TP, FP, FN)."""
        return self.join_parts([self.count_part(corpus, runtime)], corpus)

    def join_parts(self, parts: Iterable[Statistics], corpus: Corpus) -> Statistics:
        """Return the statistics of the corpus, with a note on the references that are not used.

        Args:
            parts: results of `count_part`.
            corpus: the whole corpus.
        """
        statistics = super().join_parts(parts, corpus)
        if len(corpus.references) == 1:
            return statistics
        note = (
            f"{self.name} uses one reference: number {self.reference} (from 0) of "
            f"{len(corpus.references)}"
        )
        return replace(statistics, notes=(*statistics.notes, note))

    def count_part(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the statistics without the note on references."""
        edits = self.edits(corpus, runtime)
        counts, _ = self._judged(edits, [source.split() for source in corpus.sources])
        return Statistics(counts, notes=edits.notes)

    def _judged(
        self, edits: CorpusEdits, sources: Sequence[Sequence[str]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Return weighted counts of all systems, and the weights of chunks."""
        reference = edits.references[self.reference]
        judged = judge_systems(sources, reference, list(edits.systems.values()))
        weights = judged.weights()
        return judged.counts(weights), weights

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the score of every single sentence."""
        return self._scores(statistics.values)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return scores of the summed counts, with the weights of the whole corpus."""
        values = statistics.values
        sums = np.einsum("bi,sik->bsk", draw_weights(draws, values.shape[1]), values)
        return self._scores(sums if draws is not None else sums[0])

    def _scores(self, counts: FloatArray) -> Scores:
        tp, fp, fn = np.moveaxis(counts, -1, 0)
        # If there is nothing to count, the authors' program gives 0, unlike ERRANT, which gives 1.
        precision, recall, f = precision_recall_f(tp, fp, fn, beta=self.beta, empty=0.0)
        return Scores(f, precision, recall)

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return the weight of the chunks that an edit changes, negative where they are wrong.

        Weights are those of the corpus' systems.
        """
        edits = self.edits(corpus, runtime)
        reference = edits.references[self.reference]
        sources = [source.split() for source in corpus.sources]
        _, weights = self._judged(edits, sources)
        credit = np.zeros((len(cases), 1))
        for number, case in enumerate(cases):
            source = sources[case.row]
            chunks = chunk_sequence(source, reference[case.row])
            # Chunks that the edit alone makes right or wrong, compared with the unchanged source.
            before, after = verdicts(source, chunks, []), verdicts(source, chunks, [case.edit])
            for chunk, (was, now) in enumerate(zip(before, after, strict=True)):
                if now != was:
                    weight = weights[case.row][chunk]
                    credit[number, 0] += weight if now == 0 else -weight
        return EditCounts(credit[:, 0], credit)

"""GoToScorer as a metric: chunks weigh as much as they are hard for the systems compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from gecjury.arrays import FloatArray, IntArray, draw_weights
from gecjury.corpus.corpus import Corpus
from gecjury.errors import InputError, OptionError
from gecjury.refbased.edit_metric import EditScorer, check_beta
from gecjury.refbased.gotoscorer.weights import Weights, accuracy, judge, precision_recall_f
from gecjury.runtime import Runtime
from gecjury.scoring.scores import Scores, Statistics

__all__ = ["GoToScorer"]


@dataclass(frozen=True)
class GoToScorer(EditScorer):
    """F0.5 over chunks weighted by the share of systems that got them wrong (Gotou et al. 2020).

    Range 0 to 1, higher is better. A chunk that every system gets right weighs nothing, so scores
    depend on which systems are scored together (or on the weights file). One reference is used.
    Precision and recall are 0 when they have nothing to count, as in the authors' program.

    Attributes:
        measure: `f` or `accuracy`, the weighted share of right chunks.
        beta: weight of recall.
        reference: which reference, from 0. The figures of the SEEDA paper come back with the
            second annotator's, 1.
        weights: JSON file with weights of earlier systems; by default those scored now give them.
    """

    name: ClassVar[str] = "gotoscorer"
    summary: ClassVar[str] = "F0.5 over chunks weighted by how many systems miss them"
    needs: ClassVar[frozenset[str]] = frozenset({"references", "rivals"})
    joint: ClassVar[bool] = True
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})

    measure: Literal["f", "accuracy"] = "f"
    beta: float = 0.5
    reference: int = 0
    weights: str | None = None

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)
        if self.reference < 0:
            raise OptionError(f"{self.name}: reference={self.reference}; they count from 0")

    def check(self, corpus: Corpus) -> None:
        """As usual, and the reference must exist; with given weights one system will do."""
        if self.weights is None or not corpus.references:
            super().check(corpus)
        if self.reference >= len(corpus.references):
            raise InputError(
                f"{self.name}: reference={self.reference}, but {len(corpus.references)} were "
                "given; they count from 0"
            )

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Weighted counts, systems × sentences × 5, as in `chunkweights.COUNTS`."""
        edits = self.edits(corpus, runtime)
        sources = [source.split() for source in corpus.sources]
        chosen = edits.references[self.reference]
        judged = judge(sources, chosen, list(edits.systems.values()))
        given = None if self.weights is None else Weights.load(Path(self.weights))
        notes: tuple[str, ...] = edits.notes
        if len(edits.references) > 1:
            notes += (
                f"{self.name} uses one reference: number {self.reference} (from 0) of "
                f"{len(edits.references)}",
            )
        return Statistics(judged.counts(given or judged.weights()), notes=notes)

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Scores of every sentence by itself."""
        return self._scores(statistics.values)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Scores of the summed counts; the weights stay those of the whole corpus."""
        values = statistics.values
        sums = np.einsum("bi,sik->bsk", draw_weights(draws, values.shape[1]), values)
        return self._scores(sums if draws is not None else sums[0])

    def _scores(self, counts: FloatArray) -> Scores:
        precision, recall, f = precision_recall_f(counts, self.beta)
        return Scores(accuracy(counts) if self.measure == "accuracy" else f, precision, recall)

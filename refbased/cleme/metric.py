"""CLEME and CLEME2.0 as metrics: F0.5, and hit, wrong, under and over, of shared chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.refbased.cleme.counts import (
    CORPUS_WEIGHTS,
    COUNTS,
    HIT_WEIGHTS,
    PUBLISHED_WEIGHTS_DEPENDENT,
    PUBLISHED_WEIGHTS_INDEPENDENT,
    SENTENCE_HIT_WEIGHTS,
    SENTENCE_WEIGHTS_DEPENDENT,
    SENTENCE_WEIGHTS_INDEPENDENT,
    Verdicts,
    combined,
    components,
    judge,
    precision_recall_f,
)
from gecjury.refbased.edit_metric import EditScorer, check_beta
from gecjury.refbased.references import FirstBest, RatioRule, choose_best, choose_running
from gecjury.runtime import Runtime
from gecjury.scoring.scores import Scores, Statistics

__all__ = ["CLEME", "CLEME2"]

_CORPUS, _SENTENCE = slice(0, len(COUNTS)), slice(len(COUNTS), 2 * len(COUNTS))

# Sentence-level weights by `compat`: dependent, independent.
_SENTENCE_WEIGHTS = {
    "gecjury": (SENTENCE_WEIGHTS_DEPENDENT, SENTENCE_WEIGHTS_INDEPENDENT),
    "official": (CORPUS_WEIGHTS, CORPUS_WEIGHTS),
    "published": (PUBLISHED_WEIGHTS_DEPENDENT, PUBLISHED_WEIGHTS_INDEPENDENT),
}


@dataclass(frozen=True)
class CLEME(EditScorer):
    """F0.5 over chunks whose boundaries all references share (Ye et al. 2023).

    Range 0 to 1, higher is better. Precision is 1 without false positives, recall 1 without false
    negatives. References that delete the whole sentence are dropped. Judged dependently, the corpus
    score takes sentence by sentence the reference with the best running F (ties: more TP, fewer FP,
    fewer FN, more TN), the sentence score the best by F, precision and recall.

    Attributes:
        assumption: `dependent` compares with each reference by itself, `independent` with all at
            once: a chunk is right if any reference has it.
        beta: weight of recall.
        compat: `official` weighs sentences like the corpus, since the authors' program never
            applies its sentence-level weights, and rounds the running F to 4 digits. `published`
            takes the sentence weights behind the published SEEDA tables, in which false negatives
            have weights of their own.
    """

    name: ClassVar[str] = "cleme"
    summary: ClassVar[str] = "F0.5 over chunks shared by all references"
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})

    assumption: Literal["dependent", "independent"] = "independent"
    beta: float = 0.5
    compat: Literal["gecjury", "official", "published"] = "gecjury"

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Systems × sentences × references × 10; NaN for a dropped reference.

        The five counts of `clemecounts.COUNTS` with corpus weights, then with sentence weights.
        One reference when judged independently.
        """
        edits = self.edits(corpus, runtime)
        sources = [source.split() for source in corpus.sources]
        independent = self.assumption == "independent"
        tables = []
        for name in runtime.track(edits.systems, f"{self.name}: chunks", len(corpus.systems)):
            lines = edits.systems[name]
            verdicts = judge(sources, lines, edits.references, independent=independent)
            weightings = (CORPUS_WEIGHTS, _SENTENCE_WEIGHTS[self.compat][independent])
            counts = np.concatenate([verdicts.counts(w) for w in weightings], axis=-1)
            counts[~verdicts.usable] = np.nan
            tables.append(counts)
        return Statistics(np.stack(tables), notes=edits.notes)

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """The best reference's score of each sentence."""
        values = statistics.values[..., _SENTENCE]
        best = choose_best(self._sentence_keys(values), ~np.isnan(values[..., 0]))
        chosen = np.take_along_axis(values, best[..., None, None], axis=2)[:, :, 0]
        return self._scores(chosen, SENTENCE_HIT_WEIGHTS)

    def best_references(self, judged: Verdicts) -> IntArray:
        """The reference that each sentence of one system is scored by."""
        independent = self.assumption == "independent"
        counts = judged.counts(_SENTENCE_WEIGHTS[self.compat][independent])
        return choose_best(self._sentence_keys(counts), judged.usable)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Scores of the counts summed by the running choice of references."""
        totals, _ = choose_running(statistics.values[..., _CORPUS], self._rule, draws)
        return self._scores(totals, HIT_WEIGHTS)

    @property
    def _official(self) -> bool:
        return self.compat == "official"

    @property
    def _rule(self) -> FirstBest:
        square = self.beta * self.beta
        weights = (1 + square, 1.0, 1.0, square, 0.0)
        return RatioRule(self._running_keys, 1 + square, weights, self._digits)

    @property
    def _digits(self) -> int:
        return 4 if self._official else 12

    def _running_keys(self, sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        tp, needed, needless, fn, tn = np.moveaxis(own, -1, 0)
        score = np.round(self._scores(sums, HIT_WEIGHTS).score, self._digits)
        return (score, tp, -needed - needless, -fn, tn)

    def _sentence_keys(self, own: FloatArray) -> Sequence[FloatArray]:
        precision, recall, score = precision_recall_f(own, self.beta)
        return (score, precision, recall)

    def _scores(self, counts: FloatArray, weights: tuple[float, float, float, float]) -> Scores:
        del weights
        precision, recall, score = precision_recall_f(counts, self.beta)
        return Scores(score, precision, recall)


@dataclass(frozen=True)
class CLEME2(CLEME):
    """CLEME2.0: hit, wrong, under- and over-correction in one score (Ye et al. 2025).

    Range 0 to 1, higher is better: w1·hit + w2·(1−wrong) + w3·(1−under) + w4·(1−over) with weights
    .45 .35 .15 .05 for the corpus and .35 .25 .20 .20 for sentences. The four components of every
    system stand in the statistics' details.
    """

    name: ClassVar[str] = "cleme2"
    summary: ClassVar[str] = "hit, wrong, under- and over-correction of shared chunks"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """As for CLEME, with the corpus components of each system in the details."""
        statistics = super().statistics(corpus, runtime)
        totals, _ = choose_running(statistics.values[..., _CORPUS], self._rule)
        names = ("hit", "wrong", "under", "over")
        table = {
            system: {name: float(part[row]) for name, part in zip(names, parts, strict=True)}
            for parts in [components(totals)]
            for row, system in enumerate(corpus.systems)
        }
        return Statistics(statistics.values, details={"components": table}, notes=statistics.notes)

    @property
    def _rule(self) -> FirstBest:
        return self._running_keys  # no F-score

    def _sentence_keys(self, own: FloatArray) -> Sequence[FloatArray]:
        hit, wrong, under, over = components(own)
        return (combined(own, SENTENCE_HIT_WEIGHTS), hit, -wrong, -under, -over)

    def _scores(self, counts: FloatArray, weights: tuple[float, float, float, float]) -> Scores:
        return Scores(combined(counts, weights))

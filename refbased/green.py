"""GREEN: an F-score over the n-grams of source, reference and hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray, blocks, draw_weights
from gecjury.corpus.corpus import Corpus
from gecjury.errors import OptionError
from gecjury.refbased.ngrams import Unit, corpus_overlaps
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import f_beta, ratio

_TIE_DIGITS = 12
_CELLS = 100_000  # counts compared at once, so that temporary arrays stay small


@dataclass(frozen=True)
class GREEN(Scorer):
    """N-gram F-score over insertions, deletions and kept n-grams (Koyama et al. 2024).

    Range 0 to 1, higher is better. Precision and recall are geometric means over the orders 1 to
    n, computed from corpus sums; F weighs recall `beta` times as much. With several references,
    each sentence uses the one with the best sentence score; ties are broken by the scores up to
    order n−1, n−2, …, then in favour of the first. A sentence in which no text has n-grams of some
    order scores 0, as in the authors' implementation (gec-metrics gives it 1).

    Attributes:
        n: longest n-gram; the default is the paper's, 4 for words and 6 for characters.
        unit: `word`, `char` (white space at the ends of a text is left out), or `line` (all
            characters of the line, as the authors' program counts them).
        beta: weight of recall; 2.0 suits several data sets (paper, appendix A.2).
    """

    name: ClassVar[str] = "green"
    family: ClassVar[str] = "refbased"
    summary: ClassVar[str] = "n-gram F-score of insertions, deletions and keeps"
    paper: ClassVar[str] = "Koyama et al. 2024"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    part_names: ClassVar[tuple[str, ...]] = ("precision", "recall")
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})
    tuning: ClassVar[Mapping[str, str]] = {
        "beta": "0:5:0.01",
        "folds": "10",
        "aggregate": "corpus",
        "human-scores": "expected-wins",
    }

    n: int | None = None
    unit: Unit = "word"
    beta: float = 2.0

    def __post_init__(self) -> None:
        if self.n is None:
            object.__setattr__(self, "n", 4 if self.unit == "word" else 6)
        if self.n is None or not 1 <= self.n <= 100:
            raise OptionError(f"green: n={self.n} is out of range; expected 1 to 100")
        if not 0 <= self.beta <= 1e100:
            raise OptionError(f"green: beta={self.beta} is out of range; expected 0 or more")

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Count TP, FP, FN: systems × sentences × references × n × 3, whole numbers."""
        assert self.n is not None  # set in __post_init__
        o = corpus_overlaps(corpus, self.n, self.unit, self.name, runtime)
        r, sr = o.r.transpose(1, 0, 2), o.sr.transpose(1, 0, 2)
        h, sh = o.h[:, :, None], o.sh[:, :, None]
        values = np.empty((*o.rh.shape, 3), dtype=np.int32)
        # TI + TD + TK, with TD = s − sr − sh + srh.
        values[..., 0] = o.rh + o.s[None, :, None] - sr - sh + o.srh
        # OI + OD, and UI + UD, also in terms of the intersections.
        values[..., 1] = h - sh - o.rh + sr
        values[..., 2] = r - sr - o.rh + sh
        return Statistics(values)

    def by_parts(self, corpus: Corpus) -> bool:
        """Return True, since every sentence is counted separately."""
        return True

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the best reference's score of each sentence, systems × sentences."""
        return self._scores(self._chosen(statistics))

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return scores of the summed statistics of each sentence's best reference."""
        chosen = self._chosen(statistics)
        if draws is None:
            return self._scores(chosen.sum(axis=1, dtype=np.int64))
        systems, count = chosen.shape[:2]
        flat = chosen.swapaxes(0, 1).reshape(count, -1).astype(np.float64)
        sums = draw_weights(draws, count) @ flat
        return self._scores(sums.reshape(len(draws), systems, *chosen.shape[2:]))

    def totals(self, statistics: Statistics) -> FloatArray:
        """Return TP, FP and FN of every order, summed over sentences; systems × 3n."""
        sums = self._chosen(statistics).sum(axis=1, dtype=np.int64)
        flat: FloatArray = sums.reshape(len(sums), -1).astype(np.float64)
        return flat

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return the scores of the summed statistics."""
        return self._scores(totals.reshape(len(totals), -1, 3))

    def _chosen(self, statistics: Statistics) -> IntArray:
        """Return the counts of each sentence's best reference, systems × sentences × n × 3."""
        values: IntArray = statistics.values
        if values.shape[2] == 1:
            return values[:, :, 0]
        chosen = np.empty_like(values[:, :, 0])
        for rows in blocks(values.shape[1], values[:, :1].size, _CELLS):
            part = values[:, rows]
            best = self._best(part)[:, :, None, None, None]
            chosen[:, rows] = np.take_along_axis(part, best, axis=2)[:, :, 0]
        return chosen

    def _scores(self, values: NDArray[Any]) -> Scores:
        """Return the scores of counts whose last two axes are order and (TP, FP, FN)."""
        tp, fp, fn = values[..., 0], values[..., 1], values[..., 2]
        precision = _geometric_mean(ratio(tp, tp + fp, 1.0))
        recall = _geometric_mean(ratio(tp, tp + fn, 0.0))
        return Scores(f_beta(precision, recall, self.beta), precision, recall)

    def _best(self, values: IntArray) -> IntArray:
        """Return the index of each sentence's best reference, systems × sentences."""
        # Equal fractions multiplied in another order may differ in the last bit: still a tie.
        scores = self._scores(values).score.round(_TIE_DIGITS)
        best: IntArray = scores.argmax(axis=2)
        level = scores == scores.max(axis=2, keepdims=True)
        # Tied references with equal counts are interchangeable: only the others are compared.
        first = np.take_along_axis(values, best[:, :, None, None, None], axis=2)
        differs = (values != first).any(axis=(3, 4))
        tied = np.nonzero((level & differs).any(axis=2))
        candidates, counts = level[tied], values[tied]
        # Orders are compared from the longest down, so that a reference for which only long
        # n-grams are missed beats one for which short ones are missed as well.
        for order in range(values.shape[3] - 1, 0, -1):
            shorter = self._scores(counts[:, :, :order]).score.round(_TIE_DIGITS)
            shorter[~candidates] = -1.0
            candidates &= shorter == shorter.max(axis=1, keepdims=True)
        best[tied] = candidates.argmax(axis=1)
        return best


def _geometric_mean(values: FloatArray) -> FloatArray:
    """Return the geometric mean over the last axis; 0 if any value is 0."""
    result: FloatArray = np.prod(values, axis=-1) ** (1 / values.shape[-1])
    return result

"""GREEN: an F-score over the n-grams of source, reference and hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import IntArray, NumberArray, blocks
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.refbased.ngrams import Unit, corpus_overlaps
from gecjury.refbased.references import wordless
from gecjury.scoring.abilities import CountsInParts, HasParts
from gecjury.scoring.scorer import SummedScorer, setting
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import f_beta, ratio

_TIE_DIGITS = 12
_CELLS = 100_000  # counts compared at once, so that temporary arrays stay small


@dataclass(frozen=True)
class GREEN(SummedScorer, CountsInParts, HasParts):
    """N-gram F-score over insertions, deletions and kept n-grams (Koyama et al. 2024).

    Range 0 to 1, higher is better. Precision and recall are geometric means over the orders 1 to
    n, computed from corpus sums; F weighs recall `beta` times as much. With several references,
    each sentence uses the one with the best sentence score; ties are broken by the scores up to
    order n−1, n−2, …, then in favour of the first. Orders of which no text has n-grams are left
    out, so a perfect correction of fewer than n tokens scores 1 (in the authors' implementation 0).
    An output without words scores 0 unless the reference has none either.

    Attributes:
        n: longest n-gram; the default is the paper's, 4 for words and 6 for characters.
        unit: `word`, `char` (white space at the ends of a text is left out), or `line` (all
            characters of the line, as the authors' program counts them).
        beta: weight of recall; 2.0 suits several data sets (paper, appendix A.2).
    """

    name: ClassVar[str] = "green"
    version: ClassVar[int] = 2
    family: ClassVar[str] = "refbased"
    summary: ClassVar[str] = "n-gram F-score of insertions, deletions and keeps"
    paper: ClassVar[str] = "Koyama et al. 2024"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    tuning: ClassVar[Mapping[str, str]] = {
        "beta": "0:5:0.01",
        "folds": "10",
        "aggregate": "corpus",
        "human-scores": "expected-wins",
    }

    n: int | None = option(None, least=1, most=100)
    unit: Unit = "word"
    beta: float = setting(2.0, scoring=True, least=0, most=1e100)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n is None:
            object.__setattr__(self, "n", 4 if self.unit == "word" else 6)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return whole numbers, systems × sentences × references × (1 + 3n).

        The length of the hypothesis, 0 without words; then TP, FP and FN of each order.
        """
        assert self.n is not None  # set in __post_init__
        o = corpus_overlaps(corpus, self.n, self.unit, self.name, runtime)
        r, sr = o.r.transpose(1, 0, 2), o.sr.transpose(1, 0, 2)
        h, sh = o.h[:, :, None], o.sh[:, :, None]
        values = np.empty((*o.rh.shape[:3], 1 + 3 * self.n), dtype=np.int32)
        values[..., 0] = o.h[:, :, None, 0]
        values[wordless(corpus), 0] = 0  # blanks, which are characters of a line
        # TI + TD + TK, with TD = s − sr − sh + srh.
        values[..., 1::3] = o.rh + o.s[None, :, None] - sr - sh + o.srh
        # OI + OD, and UI + UD, also in terms of the intersections.
        values[..., 2::3] = h - sh - o.rh + sr
        values[..., 3::3] = r - sr - o.rh + sh
        return Statistics(values)

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the best reference's score of each sentence, systems × sentences."""
        return self.total_scores(self.summands(statistics))

    def summands(self, statistics: Statistics) -> IntArray:
        """Return the counts of each sentence's best reference, systems × sentences × (1 + 3n)."""
        values: IntArray = statistics.values
        if values.shape[2] == 1:
            return values[:, :, 0]
        chosen = np.empty_like(values[:, :, 0])
        for rows in blocks(values.shape[1], values[:, :1].size, _CELLS):
            part = values[:, rows]
            best = self._best(part)[:, :, None, None]
            chosen[:, rows] = np.take_along_axis(part, best, axis=2)[:, :, 0]
        return chosen

    def total_scores(self, values: NumberArray) -> Scores:
        """Return the scores of statistics (last axis)."""
        tp, fp, fn = values[..., 1::3], values[..., 2::3], values[..., 3::3]
        proposed, wanted = tp + fp, tp + fn
        # Every n-gram counts as one of the three, so only an order without n-grams has none.
        none = proposed + fn == 0
        recalls = ratio(tp, wanted, 0.0)
        recalls[none] = 1.0
        power = 1 / np.maximum(none.shape[-1] - none.sum(axis=-1), 1)
        precision = np.prod(ratio(tp, proposed, 1.0), axis=-1) ** power
        recall = np.prod(recalls, axis=-1) ** power
        # Against a hypothesis of length 0, FP and FN are the reference's n-grams. Without this, its
        # deletions would earn a score.
        empty = (values[..., 0] == 0) & (fp[..., 0] + fn[..., 0] > 0)
        precision[empty] = recall[empty] = 0.0
        return Scores(f_beta(precision, recall, self.beta), precision, recall)

    def _best(self, values: IntArray) -> IntArray:
        """Return the index of each sentence's best reference, systems × sentences."""
        # Equal fractions multiplied in another order may differ in the last bit: still a tie.
        scores = self.total_scores(values).score.round(_TIE_DIGITS)
        best: IntArray = scores.argmax(axis=2)
        level = scores == scores.max(axis=2, keepdims=True)
        # Tied references with equal counts are interchangeable: only the others are compared.
        first = np.take_along_axis(values, best[:, :, None, None], axis=2)
        differs = (values != first).any(axis=3)
        tied = np.nonzero((level & differs).any(axis=2))
        candidates, counts = level[tied], values[tied]
        # Orders are compared from the longest down, so that a reference for which only long
        # n-grams are missed beats one for which short ones are missed as well.
        for width in range(values.shape[3] - 3, 1, -3):
            shorter = self.total_scores(counts[:, :, :width]).score.round(_TIE_DIGITS)
            shorter[~candidates] = -1.0
            candidates &= shorter == shorter.max(axis=1, keepdims=True)
        best[tied] = candidates.argmax(axis=1)
        return best

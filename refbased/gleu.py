"""GLEU: n-gram precision against the references, minus source n-grams that should be corrected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray, blocks, draw_weights, weighted_sums
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.refbased.ngrams import Unit, corpus_overlaps
from gecjury.refbased.references import wordless
from gecjury.scoring.abilities import CountsInParts
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import ratio

# Choices of references kept at once (draws × sentences), so that memory does not grow with both.
_CELLS = 10_000_000
_CACHED = 200_000  # choices multiplied at once, so that they stay in the processor's cache
# Products up to this many multiplications are computed by OpenBLAS in this thread: to wake others
# takes longer than all of the products.
_ALONE = 1 << 18

# Scores of resampled corpora are averaged over so many choices that all sentences together get
# `_CHOSEN` references, but over no more than `_MOST_CHOICES`; each reference is used at least once.
_CHOSEN = 3_000
_MOST_CHOICES = 100


@dataclass(frozen=True)
class GLEU(Scorer, CountsInParts):
    r"""GLEU+ (Napoles et al. 2016) with the multiset difference its formula asks for.

    Range 0 to 1, higher is better: exp(min(0, 1 − r/c)) times the geometric mean of
    p_n = (TK + TI − UD) / (number of the hypothesis' n-grams), in GREEN's terms (Koyama et al.
    2024, figure 5); r and c are the lengths of reference and hypothesis. With several references,
    the corpus score is the mean over `draws` random choices of one reference per sentence, which
    estimates the mean over all combinations of references; the sentence score is the mean over all
    references. A sum below 0 counts as 0, any p_n of 0 makes the score 0 (there is no smoothing),
    and an order in which the hypothesis has no n-grams has p_n = 1. An output without words scores
    0, or 1 if the reference has none either.

    Attributes:
        n: longest n-gram.
        unit: `word`, `char` (white space at the ends of a text is left out), or `line` (all
            characters of the line).
        draws: random choices of references that the corpus score averages over.
        seed: seed of the choices.
    """

    name: ClassVar[str] = "gleu"
    version: ClassVar[int] = 2
    family: ClassVar[str] = "refbased"
    summary: ClassVar[str] = "n-gram precision less uncorrected source n-grams"
    paper: ClassVar[str] = "Napoles et al. 2015, 2016"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})

    # True if an n-gram of the source is penalised only where the reference lacks it entirely.
    _absent_only: ClassVar[bool] = False

    n: int = option(4, least=1, most=100)
    unit: Unit = "word"
    draws: int = option(500, least=1, most=1_000_000)
    seed: int = option(0, least=0)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return lengths and n-gram counts, systems × sentences × references × (2 + 2n).

        Lengths of hypothesis and reference, then for each order numerator and denominator.
        """
        o = corpus_overlaps(corpus, self.n, self.unit, self.name, runtime, absent=self._absent_only)
        values = np.empty((*o.rh.shape[:3], 2 + 2 * self.n), dtype=np.int32)
        values[..., 0] = o.h[:, :, None, 0]
        values[..., 1] = o.r[None, :, :, 0].transpose(0, 2, 1)
        if o.sh_not_r is None:
            values[..., 2::2] = o.rh - (o.sh[:, :, None] - o.srh)
        else:
            values[..., 2::2] = np.maximum(o.rh - o.sh_not_r, 0)
        values[..., 3::2] = o.h[:, :, None]
        # Blanks, which are characters of a line, do not make an output longer than nothing.
        empty = wordless(corpus)
        values[empty, 0] = values[empty, 2:] = 0
        return Statistics(values)

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the mean over the references of each sentence's score, systems × sentences."""
        return Scores(self._sentence(statistics.values).mean(axis=2))

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return the mean over choices of one reference per sentence, the same for all systems.

        The score of the corpus is the mean over `draws` random choices. The scores of resampled
        corpora are means over the few choices of `by_choice`, shifted so that a resample with every
        sentence once has the score of the corpus.
        """
        values = statistics.values
        single = values.shape[2] == 1
        whole = self._sum_scores(values[:, :, 0]) if single else self._mean_over_draws(values)
        if draws is None:
            return Scores(whole)
        weights = draw_weights(draws, values.shape[1])
        if single:
            return Scores(self._sum_scores(values[:, :, 0], weights))
        # Differences from the corpus itself: the error of few choices is the same in both.
        gains = [
            self._sum_scores(choice.values[:, :, 0], weights)
            - self._sum_scores(choice.values[:, :, 0])
            for choice in self.by_choice(statistics)
        ]
        return Scores(np.clip(whole + sum(gains) / len(gains), 0.0, 1.0))

    def by_choice(self, statistics: Statistics) -> Iterator[Statistics]:
        """Yield the statistics under a few choices of one reference per sentence.

        Each choice gives every sentence a random reference; within as many choices as there are
        references, a sentence gets each of them once. The mean of the summed statistics is
        therefore their mean over all combinations of references, and the choices add no noise to
        the scores to first order. The second-order noise is larger for smaller corpora, which
        therefore get more choices.
        """
        values = statistics.values
        lines, references = values.shape[1:3]
        rng = np.random.default_rng(self.seed)
        fewest = min(_MOST_CHOICES, _CHOSEN // max(lines, 1))
        for _ in range(0, max(fewest, 1), references):
            for chosen in rng.random((references, lines)).argsort(axis=0):
                yield Statistics(values[:, np.arange(lines), chosen][:, :, None])

    def _mean_over_draws(self, values: FloatArray) -> FloatArray:
        """Return the mean score over `draws` random choices of references, shape (systems,)."""
        systems, count, references, width = values.shape
        rng = np.random.default_rng(self.seed)
        sums = np.zeros((self.draws, systems * width))
        for rows in blocks(count, self.draws, _CELLS):
            part = values[:, rows].swapaxes(0, 1)
            chosen = rng.integers(references, size=(self.draws, len(part)), dtype=np.int16)
            first = part[:, :, 0].reshape(len(part), -1)
            sums += first.sum(axis=0, dtype=np.int64)
            for reference in range(1, references):
                # Other references are added as differences from the first. These are whole
                # numbers, which 32-bit floats represent exactly below 2^24: no sum is rounded.
                change = part[:, :, reference].reshape(len(part), -1) - first
                exact = np.abs(change).sum(axis=0, dtype=np.int64).max(initial=0) < 1 << 24
                dtype = np.float32 if exact else np.float64
                for some in blocks(len(part), self.draws, _CACHED):
                    picked = (chosen[:, some] == reference).astype(dtype)
                    added = change[some].astype(dtype)
                    for few in blocks(self.draws, added.size, _ALONE):
                        sums[few] += picked[few] @ added
        scores = self._corpus(sums.reshape(self.draws, systems, width))
        # Summed system by system, so that a score is the same to the last bit whatever systems
        # are scored with it.
        mean: FloatArray = np.ascontiguousarray(scores.T).mean(axis=1)
        return mean

    def _sum_scores(self, values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return scores of summed statistics, shape (systems,), or B × systems with weights.

        Args:
            values: systems × sentences × (2 + 2n).
            weights: B × sentences, how often each occurs in each resampled corpus.
        """
        return self._corpus(weighted_sums(values, weights))

    def adds_up(self, references: int) -> bool:
        """Return True for one reference; several are drawn for the whole corpus."""
        return references == 1

    def totals(self, statistics: Statistics) -> FloatArray:
        """Return summed statistics, systems × (2 + 2n)."""
        return weighted_sums(statistics.values[:, :, 0])

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return the scores of the summed statistics."""
        return Scores(self._corpus(totals))

    def _corpus(self, values: FloatArray) -> FloatArray:
        """Return the scores of summed statistics (last axis)."""
        return _gleu(values)

    def _sentence(self, values: FloatArray) -> FloatArray:
        """Return the scores of single sentences' statistics (last axis)."""
        return _gleu(values)


@dataclass(frozen=True)
class OfficialGLEU(GLEU):
    r"""GLEU as the authors' script computes it, for comparison with published tables.

    Range 0 to 1, higher is better. Differs from `gleu`: an n-gram that occurs in both source and
    reference is never penalised, whatever its counts; numerators are floored at 0 for each
    sentence and order; in sentence scores every statistic of 0 becomes 1, except that an output
    without words scores 0 (the script gives it e^(1−r)). References are drawn by this package's
    generator, so corpus scores agree with the script's up to the noise of its draws.
    """

    name: ClassVar[str] = "gleu-official"
    summary: ClassVar[str] = "GLEU as the authors' script computes it"
    paper: ClassVar[str] = "Napoles et al. 2016"
    _absent_only: ClassVar[bool] = True

    def _corpus(self, values: FloatArray) -> FloatArray:
        # The script gives 0 as soon as one statistic of the corpus is 0.
        return np.where((values == 0).any(axis=-1), 0.0, _gleu(values))

    def _sentence(self, values: FloatArray) -> FloatArray:
        return np.where(_says_nothing(values), 0.0, _gleu(np.maximum(values, 1)))


def _gleu(values: FloatArray) -> FloatArray:
    """Return GLEU of statistics (last axis): lengths c and r, then numerators and denominators."""
    c, r = values[..., 0], values[..., 1]
    precision = np.maximum(ratio(values[..., 2::2], values[..., 3::2], 1.0), 0.0)
    brevity = np.exp(np.minimum(0.0, 1 - r / np.maximum(c, 1)))
    score = brevity * np.prod(precision, axis=-1) ** (1 / precision.shape[-1])
    return np.where(_says_nothing(values), 0.0, score)


def _says_nothing(values: FloatArray) -> BoolArray:
    """Return True where the hypothesis has length 0 and the reference has not."""
    nothing: BoolArray = (values[..., 0] == 0) & (values[..., 1] > 0)
    return nothing

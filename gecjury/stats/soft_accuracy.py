"""Soft pairwise accuracy: agreement of a metric with humans on how sure an order of systems is.

The confidence is p of a paired permutation test of two systems. For a corpus it is computed by
permutations (`confidence`); for resampled corpora and inside a test between two metrics it is
computed by their normal limit (`normal_confidence`, `perm_both_spa`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, IntArray, blocks
from gecjury.stats.counts import ratio
from gecjury.stats.permutation import (
    defined_pairs,
    permutation_signs,
    share_at_least,
    standardise,
    swapped_cells,
    symmetric,
)
from gecjury.stats.resampling import PERMUTATIONS

_MOST_SIGNS = 16_000_000  # 128 MB
_MOST_PRODUCTS = 2_000_000_000  # multiplications for one metric: a fifth of a second
_CHUNK = 500  # permutations of cells whose random bits are drawn together


class Differences(Protocol):
    """Differences between two systems by sentence and pair, computed when needed.

    All pairs of 2,000 systems on 1,000 sentences would need 16 GB.
    """

    @property
    def size(self) -> int:
        """Number of pairs of systems."""

    @property
    def sentences(self) -> int:
        """Number of sentences."""

    @property
    def compared(self) -> IntArray:
        """The places of the pairs that may have a difference, ascending."""

    def take(self, places: IntArray | slice) -> FloatArray:
        """Return the differences at these ascending places, sentences × pairs; NaN if none."""


@dataclass(frozen=True)
class ScoreDifferences:
    """Scores of the first minus those of the second system of every pair, computed when needed.

    The order of pairs is (0, 1), (0, 2), ...; a difference is NaN where either score is missing.

    Attributes:
        scores: systems × sentences, NaN where there is none.
    """

    scores: FloatArray

    @property
    def size(self) -> int:
        """Number of pairs of systems."""
        return len(self.scores) * (len(self.scores) - 1) // 2

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return int(self.scores.shape[1])

    @cached_property
    def compared(self) -> IntArray:
        """Pairs of systems that have scores of the same sentence."""
        scored = (~np.isnan(self.scores)).astype(np.float32)
        # In single precision counts are exact up to 2^24 sentences; larger ones stay above 0.
        return np.flatnonzero((scored @ scored.T)[self._sides])

    @cached_property
    def _sides(self) -> tuple[IntArray, IntArray]:
        first, second = np.triu_indices(len(self.scores), 1)
        return first, second

    def take(self, places: IntArray | slice) -> FloatArray:
        """Return differences, sentences × pairs; NaN where either score is missing."""
        first, second = self._sides
        difference: FloatArray = (self.scores[first[places]] - self.scores[second[places]]).T
        return difference


@dataclass(frozen=True)
class JudgedDifferences:
    """Differences of some pairs of systems on some sentences; the other cells have none.

    Attributes:
        cell: place of the pair times `sentences`, plus the sentence; ascending, without duplicates.
        difference: the difference of each cell.
        sentences: number of sentences.
        size: number of pairs of systems.
    """

    cell: IntArray
    difference: FloatArray
    sentences: int
    size: int

    @property
    def compared(self) -> IntArray:
        """Pairs with a difference on some sentence."""
        return np.unique(self.cell // max(self.sentences, 1))

    def take(self, places: IntArray | slice) -> FloatArray:
        """Return differences, sentences × pairs; NaN where nobody compared the two."""
        chosen = np.arange(self.size)[places] if isinstance(places, slice) else places
        differences = np.full((self.sentences, len(chosen)), np.nan)
        low, high = (np.searchsorted(self.cell, (chosen + k) * self.sentences) for k in (0, 1))
        held = high - low
        column = np.repeat(np.arange(len(chosen)), held)
        # The indices of each pair's cells, counting up from its first.
        at = np.arange(len(column)) - np.repeat(held.cumsum() - held, held) + low[column]
        differences[self.cell[at] % max(self.sentences, 1), column] = self.difference[at]
        return differences


def _parts(wanted: Differences, width: int, at_once: int) -> Sequence[IntArray | slice]:
    """Return places of pairs in chunks: all pairs if they fit in memory, else those judged."""
    if wanted.size * width <= at_once:
        return [slice(0, wanted.size)]
    places = wanted.compared
    # A dozen arrays of this size exist at the same time.
    return [places[part] for part in blocks(len(places), width, at_once // 4)]


def _where(wanted: FloatArray, metric: FloatArray) -> FloatArray:
    """Return a metric's differences where there are human ones, NaN elsewhere."""
    return np.where(np.isnan(wanted), np.nan, metric)


def confidences(
    wanted: Differences,
    metric: Differences | None,
    signs: FloatArray,
    *,
    at_once: int = BLOCK,
) -> FloatArray:
    """Return `confidence` of every pair of systems that humans compared.

    Args:
        wanted: human differences.
        metric: a metric's differences, used where there are human ones; None to compute p of the
            human differences.
        signs: permutations × sentences.
        at_once: array elements in memory at once.

    Returns:
        p between 0 and 1, shape (pairs,); NaN for a pair without any sentence in common.
    """
    p = np.full(wanted.size, np.nan)
    for part in _parts(wanted, max(signs.shape), at_once):
        taken = wanted.take(part)
        p[part] = confidence(taken if metric is None else _where(taken, metric.take(part)), signs)
    return p


def resampled_soft_accuracy(
    wanted: Differences,
    metrics: Sequence[Differences],
    counts: FloatArray,
    times: FloatArray | None = None,
    *,
    at_once: int = BLOCK,
) -> list[FloatArray]:
    """Return SPA of metrics on resampled corpora, by `normal_confidence`.

    Args:
        wanted: human differences.
        metrics: differences of each metric, used where there are human ones.
        counts: B × N, how often each draw contains each sentence.
        times: B × S, how often each draw contains each system; None for once.
        at_once: array elements in memory at once.

    Returns:
        For each metric B values, NaN where no pair in the draw has both human and metric data.
    """
    first, second = np.triu_indices(_systems(wanted.size), 1)

    def weights(part: IntArray | slice, rows: slice) -> FloatArray | None:
        if times is None:
            return None
        drawn = times[rows]
        pairs: FloatArray = drawn[:, first[part]] * drawn[:, second[part]]
        return pairs

    # Chunks of pairs are the outer loop, since their differences are computed each time they are
    # taken. SPA is a ratio of sums over pairs, so the sums add up. Small data are one chunk and one
    # pass.
    lines, size = max(wanted.sentences, 1), len(counts)
    held = at_once if wanted.size * max(lines, size) <= at_once else at_once // 4
    far, total = np.zeros((2, len(metrics), size))
    for part in _parts(wanted, max(lines, size), at_once):
        taken = wanted.take(part)
        tables = [_where(taken, metric.take(part)) for metric in metrics]
        for rows in blocks(size, taken.shape[1], held):
            weight, human = weights(part, rows), normal_confidence(taken, counts[rows])
            for number, table in enumerate(tables):
                p = normal_confidence(table, counts[rows])
                sums = _gap_sums(human, p, weight)
                far[number, rows] += sums[0]
                total[number, rows] += sums[1]
    return list(_one_minus_share(far, total))


def _systems(pairs: int) -> int:
    """Return the number of systems that have this many pairs."""
    return (1 + math.isqrt(1 + 8 * pairs)) // 2


def soft_signs(
    sentences: int, permutations: int | None = None, seed: int = 0, *, pairs: int = 1
) -> FloatArray:
    """Return signs for `confidence`, permutations × sentences, shared by humans and all metrics.

    Args:
        sentences: N.
        permutations: number of permutations; None for as many as are cheap, from 1,000 to 10,000.
            With 1,000, as in Thompson et al. (2024) and mt-metrics-eval, SPA varies by .003 with
            the seed.
        seed: the seed of the generator.
        pairs: number of pairs of systems to be tested.
    """
    if permutations is None:
        cheap = min(_MOST_SIGNS, _MOST_PRODUCTS // max(pairs, 1)) // max(sentences, 1)
        permutations = min(10_000, max(1000, cheap))
    return permutation_signs(sentences, permutations, seed)[0]


def confidence(differences: FloatArray, signs: FloatArray, ties: float = 0.5) -> FloatArray:
    """Return one-sided p of the paired permutation test that the first system of a pair is better.

    Args:
        differences: N × pairs; NaN is ignored.
        signs: K × N.
        ties: weight of a permuted sum that equals the observed one. With one half (the mid-p
            value) p of (a, b) and of (b, a) add up to 1, so that the order of the systems does not
            matter; 1 is mt-metrics-eval's rule. The results differ only where scores are so coarse
            that sums coincide.

    Returns:
        p between 0 and 1, shape (pairs,); NaN for a pair without any sentence in common.
    """
    defined = ~np.isnan(differences)
    values = np.where(defined, differences, 0.0)
    null, observed = signs @ values, values.sum(axis=0)
    slack = 1e-9 * np.abs(values).sum(axis=0)
    above, equal = null > observed + slack, np.abs(null - observed) <= slack
    p = above.mean(axis=0) + ties * equal.mean(axis=0)
    return np.where(defined.any(axis=0), p, np.nan)


def normal_confidence(differences: FloatArray, counts: FloatArray) -> FloatArray:
    """Return `confidence` of resampled corpora, by the normal limit of the permutations.

    Args:
        differences: N × pairs.
        counts: B × N, how often each draw contains each sentence.

    Returns:
        p, B × pairs; NaN for a pair without any sentence in common in the draw.
    """
    defined = ~np.isnan(differences)
    values = np.where(defined, differences, 0.0)
    total, variance = counts @ values, counts @ values**2
    common = counts @ defined.astype(np.float64) > 0
    return np.where(common, _normal_p(total, variance, variance > 0), np.nan)


def _normal_p(total: FloatArray, square: FloatArray, some: BoolArray) -> FloatArray:
    """Return one-sided p of Σd with variance Σd² under the null hypothesis.

    p is one half where `some` is False: differences that are all 0 are no evidence either way.
    """
    from gecjury.stats.special import ndtr

    scale = np.sqrt(square, out=np.ones_like(square), where=some)
    score = np.divide(total, scale, out=np.zeros_like(total), where=some)
    return np.asarray(ndtr(-score))


def soft_pairwise_accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return SPA = 1 − mean |p_human − p_metric| over pairs of systems (Thompson et al. 2024).

    Args:
        human: p of humans, (..., pairs).
        metric: p of the metric, (..., pairs).
        weights: count of each pair, (..., pairs); by default once.

    Returns:
        Between 0 and 1, higher is better; NaN if no pair has both human and metric data.
    """
    return _one_minus_share(*_gap_sums(human, metric, weights))


def drawn_soft_accuracy(
    human: FloatArray, metric: FloatArray, times: FloatArray | None, *, at_once: int = BLOCK
) -> FloatArray:
    """Return SPA of every draw of systems; a pair counts as often as the draw contains it.

    Args:
        human: p of humans, shape (pairs,).
        metric: p of the metric, shape (pairs,).
        times: B × S, how often each draw contains each system; None for one draw of each system.
        at_once: array elements in memory at once.
    """
    if times is None:
        return np.atleast_1d(soft_pairwise_accuracy(human, metric))
    first, second = np.triu_indices(times.shape[1], 1)
    if len(times) * len(metric) > at_once:
        # With thousands of systems few pairs are judged; the others add nothing.
        judged = np.flatnonzero(~np.isnan(human + metric))
        human, metric = human[judged], metric[judged]
        first, second = first[judged], second[judged]
    parts = [
        soft_pairwise_accuracy(human, metric, times[rows][:, first] * times[rows][:, second])
        for rows in blocks(len(times), len(metric), at_once)
    ]
    return np.concatenate(parts)


def _gap_sums(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return weighted sums of |p_human − p_metric| and of weights, over pairs with both values."""
    gap = np.abs(human - metric)
    defined = ~np.isnan(gap)
    weight = defined * (1.0 if weights is None else weights)
    total = weight.sum(axis=-1)
    far = (weight * np.where(defined, gap, 0.0)).sum(axis=-1)
    return np.asarray(far), np.asarray(total)


def _one_minus_share(far: FloatArray, total: FloatArray) -> FloatArray:
    return 1 - ratio(far, total, np.nan)


def perm_both_spa(
    wanted: Differences,
    cells: Sequence[FloatArray],
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    whole: bool = False,
    at_once: int = 8 * BLOCK,
) -> tuple[FloatArray, FloatArray]:
    """Test whether metrics' soft pairwise accuracies differ: two-sided, PERM-BOTH or PERM-SYS.

    As in `gecjury.stats.permutation.perm_both` every cell (a system on a sentence) of two
    standardised metrics is swapped with probability one half. SPA itself needs a permutation test
    of every pair of systems. Inside this test its normal limit is used instead, also for humans.

    Args:
        wanted: human differences.
        cells: for each of M metrics its sentence scores, systems × sentences. NaN leaves the cell
            out, for both metrics of a comparison.
        permutations: number of permutations; all 2^(S·N) are used if there are not more.
        seed: the seed of the permutations.
        whole: swap all cells of a system together, so that systems vary (PERM-SYS).
        at_once: array elements in memory at once.

    Returns:
        SPA of each metric, shape (M,), and p, M × M, NaN on the diagonal and where SPA is not
        defined: with fewer than three systems, or without a pair that humans compared.
    """
    size = len(cells)
    systems, width = cells[0].shape
    if systems < 3:
        return np.full(size, np.nan), np.full((size, size), np.nan)
    scaled = [standardise(table) for table in cells]
    human = _limits(wanted, None, at_once)
    values = np.array(
        [
            float(soft_pairwise_accuracy(human, _limits(wanted, ScoreDifferences(table), at_once)))
            for table in scaled
        ]
    )
    duels = defined_pairs(values)
    if not duels:
        return values, np.full((size, size), np.nan)
    # The observed difference is computed by the same formula, as a permutation that swaps nothing,
    # so that rounding cannot make it differ from the permuted ones.
    difference = _difference_of(human, wanted, scaled, duels, at_once)
    observed = difference(np.ones((1, systems, width)))[0]
    if whole:
        signs, exact = permutation_signs(systems, permutations, seed)
        parts = [
            difference(np.repeat(signs[rows, :, None], width, axis=2))
            for rows in blocks(len(signs), systems * width, at_once)
        ]
        null = np.concatenate(parts)
    else:
        null, exact = swapped_cells(
            difference, systems, width, permutations, seed, chunk=_CHUNK, at_once=at_once
        )
    return values, symmetric(size, duels, share_at_least(null, observed, exact))


def _limits(wanted: Differences, metric: Differences | None, at_once: int) -> FloatArray:
    """Return `confidences` computed by their normal limit."""
    whole = np.ones((1, wanted.sentences))
    p = np.full(wanted.size, np.nan)
    for part in _parts(wanted, wanted.sentences, at_once):
        taken = wanted.take(part)
        table = taken if metric is None else _where(taken, metric.take(part))
        p[part] = normal_confidence(table, whole)[0]
    return p


def _difference_of(
    human: FloatArray,
    wanted: Differences,
    scaled: Sequence[FloatArray],
    duels: Sequence[tuple[int, int]],
    at_once: int,
) -> Callable[[FloatArray], FloatArray]:
    """Return a function from signs, K × systems × sentences, to differences of SPA, K × duels.

    Let m be the mean of both metrics' cells and h half their difference. The swapped metrics are
    m + sh and m − sh, and the difference of two systems is d = m_a − m_b ± (s_a h_a − s_b h_b).
    The test needs the sums of d and of d² over sentences. They are linear in s_a, s_b and s_a s_b,
    so they take three matrix products for each pair of systems.
    """
    width = scaled[0].shape[1]
    x = np.stack([scaled[i] for i, _ in duels], axis=2)
    y = np.stack([scaled[j] for _, j in duels], axis=2)
    scored = ~np.isnan(x + y)
    middle, half = np.where(scored, (x + y) / 2, 0.0), np.where(scored, (x - y) / 2, 0.0)
    first, second = np.triu_indices(len(middle), 1)
    # Pairs that nobody compared add nothing to the sums.
    places = wanted.compared

    def difference(signs: FloatArray) -> FloatArray:
        gaps = np.zeros((2, len(signs), len(duels)))
        used = np.zeros(len(duels))
        for part in blocks(len(places), width, at_once):
            judged = ~np.isnan(wanted.take(places[part]))
            for number, compared in zip(places[part].tolist(), judged.T, strict=True):
                a, b = first[number], second[number]
                common = scored[a] & scored[b] & compared[:, None]
                step, left, right = (
                    np.where(common, cells, 0.0)
                    for cells in (middle[a] - middle[b], half[a], half[b])
                )
                defined = common.any(axis=0)
                used += defined
                swing = signs[:, a] @ np.hstack([left, 2 * step * left])
                swing -= signs[:, b] @ np.hstack([right, 2 * step * right])
                cross = (signs[:, a] * signs[:, b]) @ (2 * left * right)
                total, square = step.sum(axis=0), (step**2 + left**2 + right**2).sum(axis=0)
                turned, bent = np.hsplit(swing, 2)
                for side, turn in enumerate((1.0, -1.0)):
                    swapped = square + turn * bent - cross
                    # Where the squares cancel, only rounding errors are left.
                    p = _normal_p(total + turn * turned, swapped, swapped > 1e-12 * square)
                    gaps[side] += defined * np.abs(np.nan_to_num(human[number]) - p)
        return np.asarray((gaps[1] - gaps[0]) / used)

    return difference

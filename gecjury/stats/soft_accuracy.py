"""Soft pairwise accuracy: agreement of a metric with humans on how sure an order of systems is.

The confidence is p of a paired permutation test of two systems. For a corpus it is computed by
permutations (`confidence`); for resampled corpora and inside a test between two metrics it is
computed by their normal limit (`normal_confidence`, `perm_both_spa`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, IntArray, blocks
from gecjury.stats.counts import ratio
from gecjury.stats.permutation import (
    defined_pairs,
    p_of_order,
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

    def take(self, places: IntArray) -> FloatArray:
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

    def take(self, places: IntArray) -> FloatArray:
        """Return differences, sentences × pairs; NaN where either score is missing."""
        first, second = self._sides
        return (self.scores[first[places]] - self.scores[second[places]]).T


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

    def take(self, places: IntArray) -> FloatArray:
        """Return differences, sentences × pairs; NaN where nobody compared the two."""
        differences = np.full((self.sentences, len(places)), np.nan)
        low, high = (np.searchsorted(self.cell, (places + k) * self.sentences) for k in (0, 1))
        held = high - low
        column = np.repeat(np.arange(len(places)), held)
        # The indices of each pair's cells, counting up from its first.
        at = np.arange(len(column)) - np.repeat(held.cumsum() - held, held) + low[column]
        differences[self.cell[at] % max(self.sentences, 1), column] = self.difference[at]
        return differences


def _parts(wanted: Differences, width: int, at_once: int) -> Iterator[IntArray]:
    """Yield the places of the pairs that humans compared, as many at a time as fit in memory."""
    places = wanted.compared
    # A dozen arrays of this size exist at the same time. All pairs of twelve systems fit in one.
    for part in blocks(len(places), width, at_once // 3):
        yield places[part]


def _where(wanted: FloatArray, metric: FloatArray) -> FloatArray:
    """Return a metric's differences where there are human ones, NaN elsewhere."""
    return np.where(np.isnan(wanted), np.nan, metric)


def _of_pairs(
    wanted: Differences,
    metric: Differences | None,
    p_of: Callable[[FloatArray], FloatArray],
    width: int,
    at_once: int,
) -> FloatArray:
    """Return p of every pair of systems; NaN for a pair that humans did not compare.

    Args:
        wanted: human differences.
        metric: a metric's differences, used where there are human ones; None for the human ones.
        p_of: from differences, sentences × pairs, to p.
        width: array elements that `p_of` needs for a pair.
        at_once: array elements in memory at once.
    """
    p = np.full(wanted.size, np.nan)
    for part in _parts(wanted, width, at_once):
        taken = wanted.take(part)
        p[part] = p_of(taken if metric is None else _where(taken, metric.take(part)))
    return p


def confidences(
    wanted: Differences, metric: Differences | None, signs: FloatArray, *, at_once: int = BLOCK
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
    width = max(signs.shape)
    return _of_pairs(wanted, metric, lambda gaps: confidence(gaps, signs), width, at_once)


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
    # The differences of pairs are computed each time they are taken, so pairs are the outer loop.
    # SPA is a ratio of sums over pairs, so the sums add up.
    size = len(counts)
    far, total = np.zeros((2, len(metrics), size))
    for part in _parts(wanted, max(wanted.sentences, size), at_once):
        taken = wanted.take(part)
        tables = [_where(taken, metric.take(part)) for metric in metrics]
        for rows in blocks(size, len(part), at_once // 4):
            weight = None
            if times is not None:
                weight = times[rows][:, first[part]] * times[rows][:, second[part]]
            human = normal_confidence(taken, counts[rows])
            for number, table in enumerate(tables):
                sums = _gap_sums(human, normal_confidence(table, counts[rows]), weight)
                far[number, rows] += sums[0]
                total[number, rows] += sums[1]
    return list(_one_minus_share(far, total))


def _systems(pairs: int) -> int:
    """Return the number of systems that have this many pairs."""
    return (1 + math.isqrt(1 + 8 * pairs)) // 2


def soft_permutations(sentences: int, pairs: int) -> int:
    """Return as many permutations for `confidence` as are cheap, from 1,000 to `PERMUTATIONS`.

    With 1,000, as in Thompson et al. (2024) and mt-metrics-eval, SPA varies by .003 with the seed.

    Args:
        sentences: number of sentences.
        pairs: number of pairs of systems to be tested.
    """
    cheap = min(_MOST_SIGNS, _MOST_PRODUCTS // max(pairs, 1)) // max(sentences, 1)
    return min(PERMUTATIONS, max(1000, cheap))


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
    # Multiplied the other way round, which is twice as fast for so many permutations.
    null, observed = (values.T @ signs.T).T, values.sum(axis=0)
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
    human: FloatArray, metric: FloatArray, times: FloatArray | None
) -> FloatArray:
    """Return SPA of every draw of systems; a pair counts as often as the draw contains it.

    Args:
        human: p of humans, shape (pairs,).
        metric: p of the metric, shape (pairs,).
        times: B × S, how often each draw contains each system; None for one draw of each system.
    """
    if times is None:
        return np.atleast_1d(soft_pairwise_accuracy(human, metric))
    # With thousands of systems few pairs are judged; the others add nothing.
    judged = ~np.isnan(human + metric)
    human, metric = human[judged], metric[judged]
    first, second = (side[judged] for side in np.triu_indices(times.shape[1], 1))
    parts = [
        soft_pairwise_accuracy(human, metric, times[rows][:, first] * times[rows][:, second])
        for rows in blocks(len(times), len(metric))
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
        defined: with fewer than three systems, or without a pair that humans compared; see
        `gecjury.stats.permutation.p_of_order`.
    """
    size = len(cells)
    systems, width = cells[0].shape
    if systems < 3:
        return np.full(size, np.nan), np.full((size, size), np.nan)
    scaled = [standardise(table) for table in cells]

    def limit(gaps: FloatArray) -> FloatArray:
        return np.asarray(normal_confidence(gaps, np.ones((1, width)))[0])

    def limits(metric: Differences | None) -> FloatArray:
        return _of_pairs(wanted, metric, limit, width, at_once)

    human = limits(None)
    values = np.array(
        [float(soft_pairwise_accuracy(human, limits(ScoreDifferences(t)))) for t in scaled]
    )
    duels = defined_pairs(values)
    if not duels:
        return values, np.full((size, size), np.nan)
    # The mean of both metrics' cells, and half their difference; NaN where either has no score.
    halves = [((scaled[i] + scaled[j]) / 2, (scaled[i] - scaled[j]) / 2) for i, j in duels]

    def difference(signs: FloatArray) -> FloatArray:
        return _swapped_differences(human, wanted, halves, signs)

    # The observed difference is computed by the same formula, as a permutation that swaps nothing,
    # so that rounding cannot make it differ from the permuted ones.
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
    first, second = np.array(duels).T
    p = share_at_least(null, observed, exact)
    return values, symmetric(size, duels, p_of_order(p, values[first] - values[second], observed))


def _swapped_differences(
    human: FloatArray,
    wanted: Differences,
    halves: Sequence[tuple[FloatArray, FloatArray]],
    signs: FloatArray,
) -> FloatArray:
    """Return differences of the SPA of two metrics whose cells are swapped, K × duels.

    A swap turns the cells m + h and m − h of the two metrics into m + s·h and m − s·h. For the
    systems a and b it turns the difference of the first metric on a sentence into
    m_a − m_b + (s_a·h_a − s_b·h_b), and that of the second into m_a − m_b − (s_a·h_a − s_b·h_b).
    p needs only the sums of these differences and of their squares over the sentences.

    Args:
        human: p of humans, shape (pairs of systems,).
        wanted: human differences; sentences on which they are NaN are left out.
        halves: for each duel m and h, systems × sentences.
        signs: s, K × systems × sentences: −1 for a cell that is swapped, else 1.
    """
    first, second = np.triu_indices(signs.shape[1], 1)
    far, used = np.zeros((2, len(signs), len(halves))), np.zeros(len(halves))
    for place in wanted.compared.tolist():
        a, b = first[place], second[place]
        compared = ~np.isnan(wanted.take(np.array([place]))[:, 0])
        product = signs[:, a] * signs[:, b]
        for duel, (middle, half) in enumerate(halves):
            common = compared & ~np.isnan(middle[a] + middle[b])
            if not common.any():
                continue
            used[duel] += 1
            step, left, right = (
                np.where(common, cells, 0.0) for cells in (middle[a] - middle[b], half[a], half[b])
            )
            moved = signs[:, a] @ left - signs[:, b] @ right
            bent = 2 * (signs[:, a] @ (step * left) - signs[:, b] @ (step * right))
            unswapped = (step**2 + left**2 + right**2).sum()
            square = unswapped - 2 * (product @ (left * right))
            for metric, turn in enumerate((1.0, -1.0)):
                squares = square + turn * bent
                # Where the squares cancel, only rounding errors are left.
                p = _normal_p(step.sum() + turn * moved, squares, squares > 1e-12 * unswapped)
                far[metric, :, duel] += np.abs(human[place] - p)
    return ratio(far[1] - far[0], used, np.nan)

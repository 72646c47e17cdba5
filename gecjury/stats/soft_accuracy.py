"""Soft pairwise accuracy: whether a metric tells systems apart as confidently as humans do.

How confident, says p of a paired permutation test of every two systems: by permutations for a
corpus (`confidence`), by their normal limit for resampled corpora and inside a test between two
metrics (`normal_confidence`, `perm_both_spa`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from gecjury.arrays import BoolArray, FloatArray
from gecjury.stats.permutation import (
    PERMUTATIONS,
    permutation_signs,
    random_signs,
    share_at_least,
    standardise,
)

__all__ = [
    "confidence",
    "normal_confidence",
    "perm_both_spa",
    "score_differences",
    "soft_pairwise_accuracy",
    "soft_signs",
]

_CHUNK = 500  # permutations of cells held at once


def score_differences(scores: FloatArray) -> FloatArray:
    """Sentence scores of the first minus those of the second system of every pair.

    Args:
        scores: systems × sentences, NaN where there is none.

    Returns:
        Sentences × pairs, in the order (0, 1), (0, 2), ...; NaN where either is missing.
    """
    first, second = np.triu_indices(len(scores), 1)
    difference: FloatArray = (scores[first] - scores[second]).T
    return difference


def soft_signs(sentences: int, permutations: int = 1000, seed: int = 0) -> FloatArray:
    """Permutations × sentences of ±1 for `confidence`, the same for humans and every metric."""
    return permutation_signs(sentences, permutations, seed)[0]


def confidence(differences: FloatArray, signs: FloatArray, ties: float = 0.5) -> FloatArray:
    """One-sided p of the paired permutation test that the first system of a pair is better.

    Args:
        differences: N × pairs, see `score_differences`; NaN takes no part.
        signs: K × N.
        ties: how much a permuted sum counts that equals the observed one. One half (the mid-p
            value) makes p of (a, b) and of (b, a) add up to 1, so that the order of the systems
            does not matter; 1 is mt-metrics-eval's rule. They differ only where scores are so
            coarse that sums coincide.

    Returns:
        p between 0 and 1, shape (pairs,); NaN for a pair without any sentence in common.
    """
    known = ~np.isnan(differences)
    values = np.where(known, differences, 0.0)
    null, observed = signs @ values, values.sum(axis=0)
    slack = 1e-9 * np.abs(values).sum(axis=0)
    above, equal = null > observed + slack, np.abs(null - observed) <= slack
    found = above.mean(axis=0) + ties * equal.mean(axis=0)
    return np.where(known.any(axis=0), found, np.nan)


def normal_confidence(differences: FloatArray, counts: FloatArray) -> FloatArray:
    """`confidence` of many resampled corpora, by the normal limit of the permutation distribution.

    Args:
        differences: N × pairs.
        counts: B × N, how often each draw holds each sentence.

    Returns:
        p, B × pairs; NaN for a pair without any sentence in common in the draw.
    """
    known = ~np.isnan(differences)
    values = np.where(known, differences, 0.0)
    total, variance = counts @ values, counts @ values**2
    common = counts @ known.astype(np.float64) > 0
    return np.where(common, _normal_p(total, variance, variance > 0), np.nan)


def _normal_p(total: FloatArray, square: FloatArray, some: BoolArray) -> FloatArray:
    """One-sided p of Σd with variance Σd² under the null hypothesis.

    One half where not `some`: differences that are all 0 say nothing either way.
    """
    from scipy.special import ndtr

    scale = np.sqrt(square, out=np.ones_like(square), where=some)
    score = np.divide(total, scale, out=np.zeros_like(total), where=some)
    return np.asarray(ndtr(-score))


def soft_pairwise_accuracy(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """SPA = 1 − mean |p_human − p_metric| over pairs of systems (Thompson et al. 2024).

    Args:
        human: p of humans, (..., pairs).
        metric: p of the metric, (..., pairs).
        weights: how often each pair counts, (..., pairs); by default once.

    Returns:
        Between 0 and 1, higher is better; NaN without any pair that both know.
    """
    gap = np.abs(human - metric)
    known = ~np.isnan(gap)
    weight = known * (1.0 if weights is None else weights)
    total = weight.sum(axis=-1)
    far = (weight * np.where(known, gap, 0.0)).sum(axis=-1)
    return np.asarray(
        1 - np.divide(far, total, out=np.full(np.shape(total), np.nan), where=total > 0)
    )


def perm_both_spa(
    wanted: FloatArray,
    cells: Sequence[FloatArray],
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Are two metrics' soft pairwise accuracies different? Two-sided, by PERM-BOTH.

    As in `gecjury.stats.permutation.perm_both` every cell (a system on a sentence) of two
    standardised metrics is swapped with probability one half. SPA asks for a permutation test of
    every pair of systems; inside another permutation test that test's normal limit is taken, for
    humans too.

    Args:
        wanted: human differences, sentences × pairs of systems, NaN where nobody compared the two.
        cells: for each of M metrics its sentence scores, systems × sentences. NaN leaves the cell
            out, for both metrics of a comparison.
        permutations: how many; all 2^(S·N) where there are not more.
        seed: of the permutations.

    Returns:
        SPA of each metric, shape (M,), and p, M × M, NaN on the diagonal and where SPA is not
        defined: with fewer than three systems, or without a pair that humans compared.
    """
    size = len(cells)
    p = np.full((size, size), np.nan)
    systems, width = cells[0].shape
    if systems < 3:
        return np.full(size, np.nan), p
    whole = np.ones((1, width))
    human = normal_confidence(wanted, whole)[0]
    scaled = [standardise(table) for table in cells]
    judged = np.where(np.isnan(wanted), np.nan, 0.0)
    values = np.array(
        [
            float(
                soft_pairwise_accuracy(
                    human, normal_confidence(score_differences(table) + judged, whole)[0]
                )
            )
            for table in scaled
        ]
    )
    duels = [(i, j) for i, j in combinations(range(size), 2) if not np.isnan(values[i] + values[j])]
    if not duels:
        return values, p
    difference = _difference_of(human, judged, scaled, duels)
    observed = difference(np.ones((1, systems, width)))[0]
    null, exact = _permuted(difference, systems, width, permutations, seed)
    for (i, j), value in zip(duels, share_at_least(null, observed, exact), strict=True):
        p[i, j] = p[j, i] = value
    return values, p


def _permuted(
    difference: Callable[[FloatArray], FloatArray],
    systems: int,
    width: int,
    permutations: int,
    seed: int,
) -> tuple[FloatArray, bool]:
    """Differences under the null hypothesis, K × duels, and whether they are all there are."""
    if systems * width < 60 and 2 ** (systems * width) <= permutations:
        signs, _ = permutation_signs(systems * width, permutations)
        return difference(signs.reshape(-1, systems, width)), True
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, permutations, _CHUNK):
        size = min(_CHUNK, permutations - start)
        drawn = [random_signs(size, width, rng) for _ in range(systems)]
        parts.append(difference(np.stack(drawn, axis=1)))
    return np.concatenate(parts), False


def _difference_of(
    human: FloatArray,
    judged: FloatArray,
    scaled: Sequence[FloatArray],
    duels: Sequence[tuple[int, int]],
) -> Callable[[FloatArray], FloatArray]:
    """From signs, K × systems × sentences, to the difference of SPA of every duel, K × duels.

    With m the mean of both metrics' cells and h half their difference, the swapped metrics are
    m + sh and m − sh. Of the difference of two systems, d = m_a − m_b ± (s_a h_a − s_b h_b), the
    test needs the sums of d and of d² over sentences, which are linear in s_a, s_b and s_a s_b:
    three matrix products for each pair of systems.
    """
    one = np.stack([scaled[i] for i, _ in duels], axis=2)
    two = np.stack([scaled[j] for _, j in duels], axis=2)
    both = ~np.isnan(one + two)
    middle, half = np.where(both, (one + two) / 2, 0.0), np.where(both, (one - two) / 2, 0.0)
    pairs = list(combinations(range(len(middle)), 2))

    def difference(signs: FloatArray) -> FloatArray:
        gaps = np.zeros((2, len(signs), len(duels)))
        used = np.zeros(len(duels))
        for number, (a, b) in enumerate(pairs):
            common = both[a] & both[b] & ~np.isnan(judged[:, number])[:, None]
            step, left, right = (
                np.where(common, part, 0.0) for part in (middle[a] - middle[b], half[a], half[b])
            )
            known = common.any(axis=0)
            used += known
            swing = signs[:, a] @ np.hstack([left, 2 * step * left])
            swing -= signs[:, b] @ np.hstack([right, 2 * step * right])
            cross = (signs[:, a] * signs[:, b]) @ (2 * left * right)
            total, square = step.sum(axis=0), (step**2 + left**2 + right**2).sum(axis=0)
            turned, bent = np.hsplit(swing, 2)
            for side, turn in enumerate((1.0, -1.0)):
                swapped = square + turn * bent - cross
                # What is left of squares that cancel is rounding.
                p = _normal_p(total + turn * turned, swapped, swapped > 1e-12 * square)
                gaps[side] += known * np.abs(np.nan_to_num(human[number]) - p)
        return np.asarray((gaps[1] - gaps[0]) / used)

    return difference

"""Soft pairwise accuracy: whether a metric tells systems apart as confidently as humans do."""

from __future__ import annotations

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.judgments import JudgmentPairs
from gecjury.permutation import permutation_signs

__all__ = [
    "confidence",
    "judged_differences",
    "normal_confidence",
    "score_differences",
    "soft_pairwise_accuracy",
    "soft_signs",
]


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


def judged_differences(pairs: JudgmentPairs, sentences: int) -> FloatArray:
    """What annotators preferred on each sentence, for every pair of systems.

    A ranking gives no score of a sentence, but it says of two systems which is better: the mean
    of +1 (the first), −1 (the second) and 0 (a tie) over all judgments of the two on the sentence.

    Args:
        pairs: judgments, ties included.
        sentences: how many the corpus has.

    Returns:
        Sentences × pairs of systems, between −1 and 1; NaN where nobody compared the two.
    """
    size = len(pairs.systems)
    first, second = np.triu_indices(size, 1)
    place = np.full((size, size), -1, dtype=np.int64)
    place[first, second] = np.arange(len(first))
    cell = pairs.sentence * len(first) + place[pairs.first, pairs.second]
    width = sentences * len(first)
    sums = np.bincount(cell, pairs.preference.astype(np.float64), minlength=width)
    counts = np.bincount(cell, minlength=width)
    means = np.divide(sums, counts, out=np.full(width, np.nan), where=counts > 0)
    return np.asarray(means.reshape(sentences, len(first)))


def soft_signs(sentences: int, permutations: int = 1000, seed: int = 0) -> FloatArray:
    """Signs for `confidence`; the same for humans and every metric, as in mt-metrics-eval."""
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
    from scipy.special import ndtr

    known = ~np.isnan(differences)
    values = np.where(known, differences, 0.0)
    total, variance = counts @ values, counts @ values**2
    common = counts @ known.astype(np.float64) > 0
    # Differences that are all 0 say nothing either way.
    score = np.divide(total, np.sqrt(variance), out=np.zeros_like(total), where=variance > 0)
    return np.where(common, ndtr(-score), np.nan)


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

"""Array types, weights of resampled corpora, memory limits, and equality of scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
UInt64Array = NDArray[np.uint64]
NumberArray = NDArray[np.bool_ | np.integer | np.floating]
"""Where verdicts, counts and scores are treated alike."""

BLOCK = 2_000_000
"""Numbers held in memory at once (16 MB of floats) where the whole array may be of any size.

Smaller arrays are computed in one piece, as those of published benchmarks (a hundred pairs of
systems) are.
"""


def blocks(count: int, width: int, at_once: int = BLOCK) -> Iterator[slice]:
    """Yield slices of `count` rows, in order, each of at most `at_once` numbers or one row.

    Args:
        count: number of rows; 0 gives no slice.
        width: numbers per row.
        at_once: the most numbers per slice.
    """
    step = max(1, at_once // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


TOLERANCE = 1e-10
"""Scores whose relative difference is below this count as equal.

Sums of the same numbers in another order, or 5/7 as 1 − 2/7, differ in the sixteenth digit; no
text metric is meaningful in the tenth.
"""
_ZERO = 4e-15  # rounding error of a sum of numbers near 1 that is 0; GLEU goes below 2e-14


def draw_weights(draws: IntArray | None, count: int) -> FloatArray:
    """Return how often each of `count` sentences occurs in each resampled corpus: B × count.

    Without draws, return one row of ones: the corpus itself.
    """
    if draws is None:
        return np.ones((1, count))
    rows = np.repeat(np.arange(len(draws)), draws.shape[1])
    flat = np.bincount(rows * count + draws.ravel(), minlength=len(draws) * count)
    return flat.reshape(len(draws), count).astype(np.float64)


def weighted_sums(values: NumberArray, weights: FloatArray | None = None) -> FloatArray:
    """Return sums over sentences, systems × K; B × systems × K with weights.

    Args:
        values: systems × sentences × K.
        weights: B × sentences, how often each occurs in each resampled corpus.
    """
    systems, count, width = values.shape
    if weights is None:
        return np.asarray(values.sum(axis=1, dtype=np.float64))
    flat = values.swapaxes(0, 1).reshape(count, -1).astype(np.float64)
    sums: FloatArray = (weights @ flat).reshape(-1, systems, width)
    return sums


def settled(scores: FloatArray) -> FloatArray:
    """Return scores in which values that differ only by rounding are made equal.

    Wherever scores are compared (pairs of corrections, games of TrueSkill, ranks of systems), a
    rounding difference would count as a win or a loss that no metric means.

    Args:
        scores: array of any shape; NaN and infinities stay.

    Returns:
        The same shape. In a run of sorted scores whose neighbours differ by no more than rounding,
        each becomes the smallest of the run.
    """
    flat = np.asarray(scores, dtype=np.float64).ravel()
    finite = np.flatnonzero(np.isfinite(flat))
    order = finite[np.argsort(flat[finite], kind="stable")]
    values = flat[order]
    apart = np.diff(values) > np.maximum(TOLERANCE * np.abs(values[1:]), _ZERO)
    first = np.concatenate([[0], np.flatnonzero(apart) + 1]).astype(np.int64)
    levelled = flat.copy()
    if len(values):
        levelled[order] = np.repeat(values[first], np.diff(np.append(first, len(values))))
    return levelled.reshape(np.shape(scores))

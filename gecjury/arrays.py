"""Array types, weights of resampled corpora, limits of memory, and equality of scores."""

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

BLOCK = 2_000_000
"""Numbers of an array that is held at once (16 MB of floats) where the whole may be of any size.

What fits is computed in one piece. Published benchmarks, of a hundred pairs of systems, do.
"""


def blocks(count: int, width: int, at_once: int = BLOCK) -> Iterator[slice]:
    """Yield slices of `count` rows, in order, each of at most `at_once` numbers or one row.

    Args:
        count: rows; without any there is no slice.
        width: numbers in a row.
        at_once: numbers in a slice.
    """
    step = max(1, at_once // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


TOLERANCE = 1e-10
"""Scores that differ by less than this share of them are equal.

Sums of the same numbers in another order, or 5/7 as 1 − 2/7, differ in the sixteenth digit; no
metric of text says anything in the tenth.
"""
_ZERO = 4e-15  # what rounding leaves of a sum of numbers about 1 that is 0; GLEU goes below 2e-14


def draw_weights(draws: IntArray | None, count: int) -> FloatArray:
    """Return how often each of `count` sentences stands in each resampled corpus: B × count.

    Without draws there is one row of ones: the corpus itself.
    """
    if draws is None:
        return np.ones((1, count))
    rows = np.repeat(np.arange(len(draws)), draws.shape[1])
    flat = np.bincount(rows * count + draws.ravel(), minlength=len(draws) * count)
    return flat.reshape(len(draws), count).astype(np.float64)


def settled(scores: FloatArray) -> FloatArray:
    """Return scores with those made equal that differ by rounding alone.

    Wherever scores are compared (pairs of corrections, games of TrueSkill, ranks of systems), a
    difference of rounding would count as a win or a loss that no metric means.

    Args:
        scores: array of any shape; NaN and infinities stay.

    Returns:
        The same shape. In a sequence of sorted scores whose neighbours differ by no more than
        rounding, each is the least.
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

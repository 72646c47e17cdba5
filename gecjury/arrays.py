"""Array types, the weights of resampled corpora, and how much is held at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BLOCK",
    "BoolArray",
    "Float32Array",
    "FloatArray",
    "Int32Array",
    "IntArray",
    "blocks",
    "draw_weights",
]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]

BLOCK = 2_000_000
"""Numbers of an array that is held at once (16 MB of floats) where the whole may be of any size.

What fits is computed in one piece. Published benchmarks, of a hundred pairs of systems, do.
"""


def blocks(count: int, width: int, at_once: int = BLOCK) -> Iterator[slice]:
    """Stretches of `count` rows, in order, each of at most `at_once` numbers or one row.

    Args:
        count: rows; without any there is no stretch.
        width: numbers in a row.
        at_once: numbers in a stretch.
    """
    step = max(1, at_once // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def draw_weights(draws: IntArray | None, count: int) -> FloatArray:
    """How often each of `count` sentences stands in each resampled corpus: B × count.

    Without draws one row of ones: the corpus itself.
    """
    if draws is None:
        return np.ones((1, count))
    rows = np.repeat(np.arange(len(draws)), draws.shape[1])
    flat = np.bincount(rows * count + draws.ravel(), minlength=len(draws) * count)
    return flat.reshape(len(draws), count).astype(np.float64)

"""Array types, and the weights of resampled corpora."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "Float32Array",
    "FloatArray",
    "Int32Array",
    "IntArray",
    "draw_weights",
]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]


def draw_weights(draws: IntArray | None, count: int) -> FloatArray:
    """How often each of `count` sentences stands in each resampled corpus: B × count.

    Without draws one row of ones: the corpus itself.
    """
    if draws is None:
        return np.ones((1, count))
    rows = np.repeat(np.arange(len(draws)), draws.shape[1])
    flat = np.bincount(rows * count + draws.ravel(), minlength=len(draws) * count)
    return flat.reshape(len(draws), count).astype(np.float64)

"""F-scores from counts, with the rules at empty denominators stated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray

__all__ = ["f_beta", "ratio"]


def ratio(part: NDArray[Any], whole: NDArray[Any], empty: float) -> FloatArray:
    """Elementwise `part / whole`, and `empty` where `whole` is 0."""
    whole = np.asarray(whole, dtype=np.float64)
    result = np.full(np.broadcast_shapes(np.shape(part), whole.shape), empty)
    np.divide(part, whole, out=result, where=whole != 0)
    return result


def f_beta(precision: FloatArray, recall: FloatArray, beta: float) -> FloatArray:
    """Weighted harmonic mean of precision and recall; 0 where both are 0.

    Args:
        precision: any shape.
        recall: the same shape.
        beta: weight of recall against precision; 0 gives precision alone.
    """
    square = beta * beta
    return ratio((1 + square) * precision * recall, square * precision + recall, 0.0)

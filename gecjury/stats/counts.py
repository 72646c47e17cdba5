"""Precision, recall and F from counts; an argument gives their value where there are no counts."""

from __future__ import annotations

import math

import numpy as np

from gecjury.core.arrays import FloatArray, NumberArray


def ratio(part: NumberArray, whole: NumberArray, empty: float) -> FloatArray:
    """Return elementwise `part / whole` in their common shape, and `empty` where `whole` is 0."""
    whole = np.asarray(whole, dtype=np.float64)
    result = np.full(np.broadcast_shapes(np.shape(part), whole.shape), empty)
    np.divide(part, whole, out=result, where=whole != 0)
    return result


def defined_mean(values: FloatArray, axis: int) -> FloatArray:
    """Return the mean over an axis of the values that are not NaN; NaN where there are none."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=axis), defined.sum(axis=axis), np.nan)


def wilson_interval(count: float, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the score interval of a share (Wilson 1927), bounds from 0 to 1.

    Unlike the bootstrap interval it has a width where the share is 0 or 1.

    Args:
        count: number of items that have the property.
        total: number of all items, at least one.
        confidence: above 0 and below 1.
    """
    from scipy.special import ndtri

    square = float(ndtri((1 + confidence) / 2)) ** 2
    middle = (count + square / 2) / (total + square)
    spread = math.sqrt(square * (count * (total - count) / total + square / 4)) / (total + square)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def f_beta(precision: FloatArray, recall: FloatArray, beta: float) -> FloatArray:
    """Return the weighted harmonic mean of precision and recall; 0 where both are 0.

    Args:
        precision: any shape.
        recall: array of the same shape.
        beta: weight of recall against precision; 0 gives precision alone.
    """
    square = beta * beta
    return ratio((1 + square) * precision * recall, square * precision + recall, 0.0)


def precision_recall_f(
    tp: NumberArray, fp: NumberArray, fn: NumberArray, *, beta: float, empty: float = 1.0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precision, recall and F_β of counts or weights of one shape.

    Each is 0 to 1, higher is better, unless counts are negative (UOT-ERRANT's may be).

    Args:
        tp: true positives.
        fp: false positives.
        fn: false negatives.
        beta: weight of recall.
        empty: precision where nothing is proposed, and recall where nothing is wanted. 1 is the
            rule of ERRANT's scorer, which CLEME and UOT-ERRANT share: a system that rightly
            changes nothing is perfect. The authors of GoToScorer use 0.
    """
    precision, recall = ratio(tp, tp + fp, empty), ratio(tp, tp + fn, empty)
    return precision, recall, f_beta(precision, recall, beta)


def f_of_counts(
    correct: NumberArray, proposed: NumberArray, wanted: NumberArray, beta: float
) -> FloatArray:
    """Return F_β as one quotient, (1 + β²)·correct / (β²·wanted + proposed), from 0 to 1.

    It equals F_β of `precision_recall_f` except for the last digits. The official M2 scorer
    computes it in this way and chooses between references by those digits. It is 1 where both
    `proposed` and `wanted` are 0, and 0 where only one of them is 0.

    Returns:
        An array of the common shape of the three.
    """
    square = beta * beta
    return ratio((1 + square) * correct, square * wanted + proposed, 1.0)

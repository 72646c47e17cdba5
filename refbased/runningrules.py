"""Rules by which a reference is chosen for a sentence, and F with its zero rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray
from gecjury.refbased.counts import f_beta, ratio

__all__ = ["FirstBest", "RatioRule", "best_f", "choose_best", "prf"]

FirstBest = Callable[[FloatArray, FloatArray], Sequence[FloatArray]]
"""From running sums and a sentence's own counts (both ... × references × K) to keys, compared one
after another, higher is better."""


@dataclass(frozen=True)
class RatioRule:
    """A rule whose first key is an F-score, known to be one count against a weighted sum of all.

    F = top · counts₀ / (weights · counts), and 1 where nothing at all is counted. Later keys order
    references as the sentence's own counts alone do.

    Attributes:
        keys: the rule itself.
        top: what the first count is multiplied with, 0 or more.
        weights: of the K counts, each 0 or more.
        digits: decimal places to which the first key is rounded; None compares it as it is.
    """

    keys: FirstBest
    top: float
    weights: tuple[float, ...]
    digits: int | None = None

    def __call__(self, sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        """The keys, highest first."""
        return self.keys(sums, own)


def prf(counts: NDArray[Any], beta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Precision, recall and F of (TP, FP, FN) in the last axis.

    Precision is 1 when there is no FP, recall 1 when there is no FN, F 0 when both are 0: the
    rules of ERRANT's scorer.
    """
    tp, fp, fn = counts[..., 0], counts[..., 1], counts[..., 2]
    precision = np.where(fp == 0, 1.0, ratio(tp, tp + fp, 1.0))
    recall = np.where(fn == 0, 1.0, ratio(tp, tp + fn, 1.0))
    return precision, recall, f_beta(precision, recall, beta)


def best_f(beta: float, digits: int | None = None) -> RatioRule:
    """ERRANT's rule: best running F, then more TP, fewer FP, fewer FN in the sentence.

    Args:
        beta: weight of recall.
        digits: decimal places to which F is rounded before it is compared, as the official
            scorer does with 4; None compares F as it is (to 12 digits, below which it is noise).
    """
    places = 12 if digits is None else digits
    square = beta * beta

    def keys(sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        return (np.round(prf(sums, beta)[2], places), own[..., 0], -own[..., 1], -own[..., 2])

    return RatioRule(keys, 1 + square, (1 + square, 1.0, square), places)


def choose_best(keys: Sequence[FloatArray], usable: NDArray[np.bool_]) -> IntArray:
    """Index along the last axis of the best by the first key, ties by the next, then the first.

    Args:
        keys: arrays of one shape, higher is better.
        usable: which entries may be chosen; where none may, the result is 0.
    """
    mask = usable.copy()
    for key in keys:
        bounded = np.where(mask, key, -np.inf)
        # The axis is short: column by column numpy is many times as fast as along it.
        highest = reduce(np.maximum, (bounded[..., k] for k in range(bounded.shape[-1])))
        mask &= bounded == highest[..., None]
    best: IntArray = np.asarray(mask).argmax(axis=-1)
    return best

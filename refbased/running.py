"""Choosing references one sentence after another: the one that serves the corpus score best.

ERRANT, M2, CLEME and UOT-ERRANT score a corpus this way: for each sentence, in order, they take
the reference whose counts, added to what was counted so far, give the best F. The result depends
on the order of the sentences, so counts are never summed before they are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.scoretable import FloatArray, IntArray
from refbased.counts import f_beta, ratio

__all__ = ["FirstBest", "best_f", "choose_best", "choose_running", "prf"]

FirstBest = Callable[[FloatArray, FloatArray], Sequence[FloatArray]]
"""From running sums and a sentence's own counts (both ... × references × K) to keys, compared one
after another, higher is better."""

# Resampled corpora are handled this many (corpus, system) pairs at a time: memory stays small.
_ROWS = 20_000


def prf(counts: NDArray[Any], beta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Precision, recall and F of (TP, FP, FN) in the last axis.

    Precision is 1 when there is no FP, recall 1 when there is no FN, F 0 when both are 0: the
    rules of ERRANT's scorer.
    """
    tp, fp, fn = counts[..., 0], counts[..., 1], counts[..., 2]
    precision = np.where(fp == 0, 1.0, ratio(tp, tp + fp, 1.0))
    recall = np.where(fn == 0, 1.0, ratio(tp, tp + fn, 1.0))
    return precision, recall, f_beta(precision, recall, beta)


def best_f(beta: float, digits: int | None = None) -> FirstBest:
    """ERRANT's rule: best running F, then more TP, fewer FP, fewer FN in the sentence.

    Args:
        beta: weight of recall.
        digits: decimal places to which F is rounded before it is compared, as the official
            scorer does with 4; None compares F as it is (to 12 digits, below which it is noise).
    """
    places = 12 if digits is None else digits

    def keys(sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        return (np.round(prf(sums, beta)[2], places), own[..., 0], -own[..., 1], -own[..., 2])

    return keys


def choose_best(keys: Sequence[FloatArray], usable: NDArray[np.bool_]) -> IntArray:
    """Index along the last axis of the best by the first key, ties by the next, then the first.

    Args:
        keys: arrays of one shape, higher is better.
        usable: which entries may be chosen; where none may, the result is 0.
    """
    mask = usable.copy()
    for key in keys:
        bounded = np.where(mask, key, -np.inf)
        mask &= bounded == bounded.max(axis=-1, keepdims=True)
    best: IntArray = np.asarray(mask).argmax(axis=-1)
    return best


def choose_running(
    counts: NDArray[Any], rule: FirstBest, draws: IntArray | None = None
) -> tuple[FloatArray, IntArray]:
    """Sum counts over sentences, taking each sentence's reference by the running rule.

    Args:
        counts: S × N × R × K; NaN where a reference is absent from a sentence.
        rule: the keys to choose by.
        draws: B × M sentence indices, resampled corpora in order; None for the corpus itself.

    Returns:
        Summed counts, S × K or B × S × K with draws; and the references chosen, S × N, or an
        empty array with draws. A sentence without any reference adds nothing (chosen: −1).
    """
    systems, sentences = counts.shape[:2]
    values = np.asarray(counts, dtype=np.float64)
    if draws is None:
        order = np.broadcast_to(np.arange(sentences), (1, sentences))
        totals, chosen = _run(values, order, rule)
        return totals[0], chosen[0]
    size = max(1, _ROWS // systems)
    parts = [_run(values, draws[i : i + size], rule)[0] for i in range(0, len(draws), size)]
    return np.concatenate(parts), np.empty((0, 0), dtype=np.int64)


def _run(values: FloatArray, order: IntArray, rule: FirstBest) -> tuple[FloatArray, IntArray]:
    """The running choice for several orders at once."""
    by_sentence = values.swapaxes(0, 1)
    usable: NDArray[np.bool_] = np.asarray(~np.isnan(by_sentence[..., 0]))
    by_sentence = np.nan_to_num(by_sentence)
    corpora, steps = order.shape
    systems, kinds = values.shape[0], values.shape[3]
    totals = np.zeros((corpora, systems, kinds))
    chosen = np.full((corpora, systems, steps), -1, dtype=np.int64)
    for step in range(steps):
        at = order[:, step]
        own, may = by_sentence[at], usable[at]
        best = choose_best(rule(totals[:, :, None] + own, own), may)
        taken = np.take_along_axis(own, best[..., None, None], axis=2)[:, :, 0]
        some = np.asarray(may.any(axis=-1))
        totals += np.where(some[..., None], taken, 0.0)
        chosen[:, :, step] = np.where(some, best, -1)
    return totals, chosen

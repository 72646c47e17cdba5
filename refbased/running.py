"""Choosing references one sentence after another: the one that serves the corpus score best.

ERRANT, M2, CLEME and UOT-ERRANT score a corpus this way: for each sentence, in order, they take
the reference whose counts, added to what was counted so far, give the best F. The result depends
on the order of the sentences, so counts are never summed before they are chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray
from gecjury.refbased.runningdraws import sum_draws
from gecjury.refbased.runningrules import FirstBest, choose_best

__all__ = ["choose_running"]


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
    values = np.asarray(counts, dtype=np.float64)
    if draws is not None:
        return sum_draws(values, rule, draws), np.empty((0, 0), dtype=np.int64)
    systems, sentences, _, kinds = values.shape
    usable: NDArray[np.bool_] = np.asarray(~np.isnan(values[..., 0]))
    values = np.nan_to_num(values)
    totals = np.zeros((systems, kinds))
    chosen = np.full((systems, sentences), -1, dtype=np.int64)
    for row in range(sentences):
        own, may = values[:, row], usable[:, row]
        best = choose_best(rule(totals[:, None] + own, own), may)
        some = np.asarray(may.any(axis=-1))
        taken = np.take_along_axis(own, best[:, None, None], axis=1)[:, 0]
        totals += np.where(some[:, None], taken, 0.0)
        chosen[:, row] = np.where(some, best, -1)
    return totals, chosen

"""Wins of systems over each other, by sentence: Expected Wins of resampled corpora, win rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gecjury.core.arrays import BLOCK, FloatArray, blocks
from gecjury.stats.counts import ratio

Wins = Callable[[slice, bool], FloatArray]
"""Counts, sentences × rows × systems, of wins of some systems over all; of losses to all if True.

They are computed for some systems at a time, since two thousand systems on a thousand sentences
would need 32 GB."""


def score_wins(scores: FloatArray) -> Wins:
    """Return wins by score.

    Args:
        scores: systems × sentences, NaN where not scored.
    """

    def take(rows: slice, lost: bool) -> FloatArray:
        score, other = scores.T[:, rows, None], scores.T[:, None, :]
        return np.asarray(other > score if lost else score > other, dtype=np.float64)

    return take


def resampled_wins(
    wins: Wins, size: int, counts: FloatArray, *, at_once: int = BLOCK
) -> FloatArray:
    """Return Expected Wins of every draw, B × S.

    Args:
        wins: the result of `score_wins` or `judged_wins`.
        size: S, number of systems.
        counts: B × sentences.
        at_once: array elements in memory at once.
    """
    rates = np.empty((len(counts), size))
    for rows in blocks(size, size * max(counts.shape), at_once):
        # These are sums of whole numbers, which are exact in any order.
        won, lost = (
            (counts @ wins(rows, side).reshape(counts.shape[1], -1)).reshape(len(counts), -1, size)
            for side in (False, True)
        )
        decided = won + lost
        share = ratio(won, decided, 0.0).sum(axis=2)
        rates[:, rows] = ratio(share, (decided > 0).sum(axis=2), np.nan)
    return rates


def win_rates(scores: FloatArray) -> FloatArray:
    """Return the share of the other systems that each beats on each sentence, ties one half.

    The mean of a row orders systems much as TrueSkill and Expected Wins do. Unlike them it is a
    mean of cells, which a permutation test can swap.

    Args:
        scores: systems × sentences, NaN where not scored.

    Returns:
        The same shape, 0 to 1; NaN where a system has no score or no opponent.
    """
    scored = ~np.isnan(scores)
    total = np.zeros(scores.shape)
    for row in scores:
        total += np.where(np.isnan(row), 0.0, ((scores > row) - 1.0 * (scores < row) + 1) / 2)
    opponents = scored.sum(axis=0) - 1
    rates: FloatArray = (total - 0.5) / np.where(opponents > 0, opponents, np.nan)
    return np.where(scored, rates, np.nan)

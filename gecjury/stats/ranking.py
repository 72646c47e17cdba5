"""Ranking systems by their sentence scores: TrueSkill, Expected Wins, and the plain mean.

`aggregate_scores` chooses among these and a metric's own corpus scores.

Unscored outputs are not compared: a pair with one is left out, and is never a tie or a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gecjury.core.arrays import BLOCK, FloatArray, IntArray, blocks
from gecjury.stats.choices import Aggregate
from gecjury.stats.correlation import signs
from gecjury.stats.counts import defined_mean, ratio

if TYPE_CHECKING:
    from gecjury.stats.trueskill import Game, Outcome

_AT_ONCE = 500_000  # comparisons that are held in memory at a time


def score_outcomes(scores: FloatArray, rounds: IntArray | None = None) -> Iterator[Outcome]:
    """Yield the outcomes of a table: sentences in order, then pairs of systems.

    Args:
        scores: shape (systems, sentences); NaN where not scored.
        rounds: the result of `meetings` if a sample of the pairs is compared on each sentence.
    """
    if rounds is not None:
        from gecjury.stats.trueskill import met

        for column, numbers in zip(scores.T, rounds.tolist(), strict=True):
            left, right = np.concatenate([met(n, len(scores)) for n in numbers], axis=1)
            a, b = column[left], column[right]
            kept = ~(np.isnan(a) | np.isnan(b))
            columns = (left, right, signs(a, b))
            yield from zip(*(side[kept].tolist() for side in columns), strict=True)
        return
    first, second = np.triu_indices(len(scores), 1)
    lines = _AT_ONCE // max(len(first), 1)
    for part in blocks(scores.shape[1], 1, lines or 1):
        table = scores[:, part].T
        # The pairs of one sentence may be too many to be held in memory at once.
        for pairs in blocks(len(first), 1, len(first) if lines else _AT_ONCE):
            left, right = first[pairs], second[pairs]
            a, b = table[:, left], table[:, right]
            kept = ~(np.isnan(a) | np.isnan(b))
            sides = (np.broadcast_to(side, kept.shape)[kept].tolist() for side in (left, right))
            yield from zip(*sides, signs(a, b)[kept].tolist(), strict=True)


def trueskill(
    scores: FloatArray, game: Game | None = None, rounds: IntArray | None = None
) -> FloatArray:
    """Return TrueSkill over sentence scores: the higher score wins, equal scores draw.

    One pass: sentences in order, and within a sentence the pairs of systems (0, 1), (0, 2), ...
    The result depends on both orders and on which systems take part; the published tables
    (Goto et al. 2026) use the order of the file and the alphabetical order of the systems.

    Args:
        scores: shape (systems, sentences); NaN where not scored.
        game: the constants; the usual ones if None.
        rounds: the result of `meetings` if a sample of the pairs plays on each sentence.

    Returns:
        Means of the skills, shape (systems,).
    """
    from gecjury.stats.trueskill import Game, rate

    return rate(score_outcomes(scores, rounds), len(scores), game or Game())[0]


def wins_to_scores(wins: IntArray) -> FloatArray:
    """Return Expected Wins from a table of wins.

    Args:
        wins: shape (systems, systems): how often the row won against the column.

    Returns:
        For each system the mean over its opponents of wins / (wins + losses); NaN without any.
    """
    decided = wins + wins.T
    share = ratio(wins, decided, 0.0)
    return ratio(share.sum(axis=1), (decided > 0).sum(axis=1), np.nan)


def expected_wins(scores: FloatArray) -> FloatArray:
    """Return Expected Wins over sentence scores (Bojar et al. 2013, section 3.2).

    A system's score is the mean over its opponents of wins / (wins + losses). Ties are left out,
    and so are opponents with whom every comparison is a tie or missing.

    Args:
        scores: shape (systems, sentences); NaN where not scored.

    Returns:
        Scores between 0 and 1; NaN for a system without a decided comparison.
    """
    # A comparison with a missing score is neither won nor lost.
    wins = [[np.count_nonzero(row > other) for other in scores] for row in scores]
    return wins_to_scores(np.array(wins, dtype=np.int64))


def aggregate_scores(
    aggregate: Aggregate,
    sentences: FloatArray,
    corpus_scores: FloatArray,
    *,
    opponents: int | None = None,
    seed: int = 0,
) -> FloatArray:
    """Return one score for each system, higher is better.

    Args:
        aggregate: `corpus` uses the metric's own corpus scores, `mean` the mean over scored
            sentences; `trueskill` and `expected-wins` compare systems sentence by sentence.
        sentences: systems × sentences; NaN = not scored.
        corpus_scores: shape (systems,).
        opponents: how many others each system plays on each sentence in TrueSkill; None for all.
        seed: the seed of the opponents.
    """
    if aggregate == "corpus":
        return corpus_scores
    if aggregate == "mean":
        return defined_mean(sentences, 1)
    if aggregate == "expected-wins":
        return expected_wins(sentences)
    from gecjury.stats.trueskill import Game, meetings

    size, lines = sentences.shape
    if (np.fmax.reduce(sentences, axis=0) > np.fmin.reduce(sentences, axis=0)).any():
        rounds = None if opponents is None else meetings(size, lines, opponents, seed)
        skills = trueskill(sentences, rounds=rounds)
    else:
        # No system is ever preferred, and a draw between equals moves no skill.
        skills = np.full(size, Game().mu)
    # A system without a score plays with nobody; it is missing, and not of usual skill.
    return np.where(np.isnan(sentences).all(axis=1), np.nan, skills)


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

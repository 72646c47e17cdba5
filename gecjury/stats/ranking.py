"""Ranking systems by their sentence scores: TrueSkill, Expected Wins, and the plain mean.

`aggregate_scores` chooses among these and a metric's own corpus scores.

Unscored outputs are not compared: such a pair is left out and counted as missing, never as a tie
or a loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray, blocks
from gecjury.errors import OptionError
from gecjury.stats.trueskill import Game, Outcome, rate

Aggregate = Literal["trueskill", "expected-wins", "corpus", "mean"]
"""Ways to compute a system's score; see `aggregate_scores`."""
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)

_GAME = Game()
_AT_ONCE = 500_000  # comparisons that are laid out at a time


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of systems, higher is better.

    Attributes:
        scores: shape (systems,); NaN for a system that could not be compared at all.
        compared: comparisons that the scores rest on, ties included; for the mean, scores.
        missing: comparisons (for the mean, scores) left out because a score is missing.
        deviations: for TrueSkill the standard deviations of the skills, shape (systems,); after
            several passes those of the skills over the passes. None for the others.
    """

    scores: FloatArray
    compared: int
    missing: int
    deviations: FloatArray | None = None


def _comparisons(scores: FloatArray) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Yield the outcomes of a table in chunks: sentences in order, then pairs of systems."""
    first, second = np.triu_indices(len(scores), 1)
    lines = _AT_ONCE // max(len(first), 1)
    for part in blocks(scores.shape[1], 1, lines or 1):
        table = scores[:, part].T
        # The pairs of one sentence may be too many to be laid out at once.
        for pairs in blocks(len(first), 1, len(first) if lines else _AT_ONCE):
            left, right = first[pairs], second[pairs]
            a, b = table[:, left], table[:, right]
            sign = (a > b).astype(np.int8) - (a < b)
            kept = ~(np.isnan(a) | np.isnan(b))
            shape = kept.shape
            yield (
                np.broadcast_to(left, shape)[kept].tolist(),
                np.broadcast_to(right, shape)[kept].tolist(),
                sign[kept].tolist(),
            )


def _stream(scores: FloatArray) -> Iterator[Outcome]:
    """Yield the outcomes of a table one by one."""
    for first, second, sign in _comparisons(scores):
        yield from zip(first, second, sign, strict=True)


def _table(scores: NDArray[Any]) -> FloatArray:
    """Return the table as floats, its shape checked."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise OptionError(f"scores of shape {table.shape}: expected (systems, sentences)")
    return table


def trueskill(scores: NDArray[Any], game: Game = _GAME) -> Ranking:
    """Return TrueSkill over sentence scores: the higher score wins, equal scores draw.

    One pass: sentences in order, and within a sentence the pairs of systems (0, 1), (0, 2), ...
    The result depends on both orders and on which systems take part; the published tables
    (Goto et al. 2026) use the order of the file and the alphabetical order of the systems.

    Args:
        scores: shape (systems, sentences); NaN where not scored.
        game: the constants.

    Returns:
        Means of the skills, comparisons made and left out, standard deviations.

    Raises:
        OptionError: scores are no table.
    """
    table = _table(scores)
    means, deviations, compared = rate(_stream(table), len(table), game)
    return Ranking(
        means, compared, math.comb(len(table), 2) * table.shape[1] - compared, deviations
    )


def trueskill_shuffled(
    scores: NDArray[Any],
    rng: np.random.Generator,
    passes: int = 10,
    game: Game = _GAME,
) -> Ranking:
    """Return TrueSkill averaged over passes that each take the sentences in a random order.

    Args:
        scores: shape (systems, sentences); NaN where not scored.
        rng: source of the orders.
        passes: number of passes.
        game: the constants.

    Returns:
        Means over the passes; `compared` and `missing` are those of one pass, and `deviations`
        the standard deviations over the passes (0 for a single pass).

    Raises:
        OptionError: scores are no table, or there is fewer than one pass.
    """
    table = _table(scores)
    if passes < 1:
        raise OptionError(f"passes={passes}: expected 1 or more")
    means = np.empty((passes, len(table)))
    compared = 0
    for row in means:
        order = rng.permutation(table.shape[1])
        row[:], _, compared = rate(_stream(table[:, order]), len(table), game)
    missing = math.comb(len(table), 2) * table.shape[1] - compared
    return Ranking(means.mean(axis=0), compared, missing, means.std(axis=0))


def wins_to_scores(wins: IntArray) -> FloatArray:
    """Return Expected Wins from a table of wins.

    Args:
        wins: shape (systems, systems): how often the row won against the column.

    Returns:
        For each system the mean over its opponents of wins / (wins + losses); NaN without any.
    """
    decided = wins + wins.T
    met = decided > 0
    share = np.divide(wins, decided, out=np.zeros(wins.shape), where=met)
    opponents = met.sum(axis=1)
    scores = np.full(len(wins), np.nan)
    np.divide(share.sum(axis=1), opponents, out=scores, where=opponents > 0)
    return scores


def expected_wins(scores: NDArray[Any]) -> Ranking:
    """Return Expected Wins over sentence scores (Bojar et al. 2013, section 3.2).

    A system's score is the mean over its opponents of wins / (wins + losses). Ties are left out,
    and so is an opponent with whom every comparison is a tie or missing.

    Args:
        scores: shape (systems, sentences); NaN where not scored.

    Returns:
        Scores between 0 and 1; NaN for a system without a decided comparison.

    Raises:
        OptionError: scores are no table.
    """
    table = _table(scores)
    size = len(table)
    wins = np.zeros((size, size), dtype=np.int64)
    for first, second in combinations(range(size), 2):
        wins[first, second] = np.count_nonzero(table[first] > table[second])
        wins[second, first] = np.count_nonzero(table[first] < table[second])
    present = (~np.isnan(table)).sum(axis=0)
    compared = int((present * (present - 1) // 2).sum())
    missing = math.comb(size, 2) * table.shape[1] - compared
    return Ranking(wins_to_scores(wins), compared, missing)


def mean_score(scores: NDArray[Any]) -> Ranking:
    """Return the mean over the scored sentences.

    Args:
        scores: shape (systems, sentences); NaN where not scored.

    Returns:
        Means; NaN for a system without a score.

    Raises:
        OptionError: scores are no table.
    """
    table = _table(scores)
    present = ~np.isnan(table)
    counts = present.sum(axis=1)
    sums = np.where(present, table, 0.0).sum(axis=1)
    means = np.divide(sums, counts, out=np.full(len(table), np.nan), where=counts > 0)
    return Ranking(means, int(counts.sum()), int(table.size - counts.sum()))


def aggregate_scores(
    aggregate: Aggregate,
    sentences: FloatArray,
    corpus_scores: FloatArray,
    *,
    shuffles: int = 0,
    seed: int = 0,
) -> FloatArray:
    """Return one score for each system, higher is better.

    Args:
        aggregate: `corpus` takes the metric's own corpus scores, `mean` the mean over scored
            sentences, `trueskill` and `expected-wins` compare systems sentence by sentence.
        sentences: systems × sentences; NaN = not scored.
        corpus_scores: shape (systems,).
        shuffles: 0 for TrueSkill's one pass in the order of the sentences (the value depends on
            that order), otherwise the number of shuffled passes to average.
        seed: the seed of the shuffles.

    Raises:
        OptionError: there is no such aggregate.
    """
    if aggregate not in AGGREGATES:
        raise OptionError(f"unknown aggregate {aggregate!r}: expected {', '.join(AGGREGATES)}")
    if aggregate == "corpus":
        return corpus_scores
    if aggregate == "mean":
        return mean_score(sentences).scores
    if aggregate == "expected-wins":
        return expected_wins(sentences).scores
    if not (np.fmax.reduce(sentences, axis=0) > np.fmin.reduce(sentences, axis=0)).any():
        # Nothing is ever preferred, and a draw between equals moves nobody.
        return np.full(len(sentences), _GAME.mu)
    if shuffles:
        return trueskill_shuffled(sentences, np.random.default_rng(seed), shuffles).scores
    return trueskill(sentences).scores

"""Human scores of systems, from pairwise judgments: Expected Wins and TrueSkill.

`human_trueskill_sampled` is the procedure of the published TrueSkill columns of GJG15 and SEEDA.
`human_trueskill` uses every judgment once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gecjury.benchmarks.judgments import (
    JudgedEntries,
    JudgmentPairs,
    RankedItem,
    expand_pairs,
)
from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.stats.ranking import wins_to_scores
from gecjury.stats.trueskill import Game, Outcome, rate


def _wins(pairs: JudgmentPairs | JudgedEntries) -> IntArray:
    """Return how often the system of each row was preferred to that of each column."""
    size = len(pairs.systems)
    wins = np.zeros((size, size), dtype=np.int64)
    for part in pairs.parts():
        won, lost = part.preference > 0, part.preference < 0
        np.add.at(wins, (part.first[won], part.second[won]), 1)
        np.add.at(wins, (part.second[lost], part.first[lost]), 1)
    return wins


def human_columns(
    pairs: JudgmentPairs | JudgedEntries, trueskill: FloatArray
) -> dict[str, dict[str, float]]:
    """Return both kinds of human scores by kind and system, as a benchmark stores them."""
    kinds = {"trueskill": trueskill, "expected-wins": human_expected_wins(pairs)}
    return {
        kind: dict(zip(pairs.systems, scores.tolist(), strict=True))
        for kind, scores in kinds.items()
    }


def columns_of_rankings(judged: JudgedEntries) -> dict[str, dict[str, float]]:
    """Return `human_columns` from the rankings alone; NaN for systems that nobody compared."""
    skills = human_trueskill(judged)
    skills[~judged.compared] = np.nan
    return human_columns(judged, skills)


def columns_by_draws(
    items: Sequence[RankedItem], systems: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return `human_columns`, computed with the procedure of published columns (seed 0)."""
    pairs = expand_pairs(items, systems)
    return human_columns(pairs, human_trueskill_sampled(pairs, np.random.default_rng(0)))


def human_expected_wins(pairs: JudgmentPairs | JudgedEntries) -> FloatArray:
    """Return Expected Wins from human judgments; all expanded pairs give the published columns.

    Args:
        pairs: judgments, ties included or not.

    Returns:
        Scores between 0 and 1 in the order of the pairs' systems; NaN for a system without
        a decided judgment.
    """
    return wins_to_scores(_wins(pairs))


def human_trueskill(pairs: JudgmentPairs | JudgedEntries) -> FloatArray:
    """Return TrueSkill over human judgments, each used once, in the order given.

    On SEEDA's expanded judgments the scores correlate with the published ones at .998 or more and
    are at most .064 off (`human_trueskill_sampled`: .005). With such a large performance variance
    every judgment has a similar weight, and their order hardly matters.

    Args:
        pairs: judgments, ties included.

    Returns:
        Means of the skills in the order of the pairs' systems.
    """
    means, _ = rate(_outcomes(pairs), len(pairs.systems), _game(max(len(pairs), 1)))
    return means


def _game(judgments: int) -> Game:
    """Return TrueSkill with the performance of WMT, β = σN/40 (Sakaguchi et al. 2014)."""
    return Game(beta=Game().sigma * judgments / 40)


def _outcomes(pairs: JudgmentPairs | JudgedEntries) -> Iterator[Outcome]:
    """Yield the judgments one by one."""
    for part in pairs.parts():
        columns = (part.first.tolist(), part.second.tolist(), part.preference.tolist())
        yield from zip(*columns, strict=True)


def human_trueskill_sampled(
    pairs: JudgmentPairs, rng: np.random.Generator, runs: int = 100
) -> FloatArray:
    """Return TrueSkill over judgments drawn with matchmaking, averaged over runs, as published.

    A run draws N + 1 times from N judgments. The system whose skill is least certain comes next;
    its opponent is drawn with a probability proportional to exp(-|difference of the means|), and
    one of the judgments of the two at random; β = σ(N + 1)/40 (Sakaguchi et al. 2014; Grundkiewicz
    et al. 2015 averaged 1,000 runs). All runs advance together, one draw at a time.

    Args:
        pairs: judgments, ties included; the published columns need all expanded ones.
        rng: source of the draws.
        runs: number of runs; 100 runs reproduce a published column within .005.

    Returns:
        Means of the skills over the runs in the order of the pairs' systems; NaN for a system
        without judgments.
    """
    draws = len(pairs) + 1
    game = _game(draws)
    size = len(pairs.systems)
    judged = np.zeros((size, size), dtype=np.int64)
    np.add.at(judged, (pairs.first, pairs.second), 1)
    judged += judged.T
    met = judged > 0
    # To draw one judgment of two systems is to draw an outcome with its share as probability.
    won = np.divide(_wins(pairs), judged, out=np.zeros((size, size)), where=met)
    # A system without judgments has no opponents: it is excluded from the draws and has no score.
    absent = ~met.any(axis=1)
    means = np.full((runs, size), game.mu)
    variances = np.full((runs, size), game.sigma**2)
    variances[:, absent] = -1.0  # Never the least certain.
    if not absent.all():
        _draw_all(means, variances, won, met, game, draws, rng)
    means[:, absent] = np.nan
    return np.asarray(means.mean(axis=0))


def _draw_all(
    means: FloatArray,
    variances: FloatArray,
    won: FloatArray,
    met: BoolArray,
    game: Game,
    draws: int,
    rng: np.random.Generator,
) -> None:
    """Advance all runs by the given number of draws, in place."""
    runs = np.arange(len(means))
    # Two performances differ by the noise of both; within the margin they are a draw.
    noise, margin = 2 * game.beta**2, game.margin
    for _ in range(draws):
        first = variances.argmax(axis=1)
        mean, variance = means[runs, first], variances[runs, first]
        # Matchmaking: systems with close means meet more often, those never judged together never.
        weights = np.exp(-np.abs(means - mean[:, None])) * met[first]
        weights[runs, first] = 0.0
        ladder = weights.cumsum(axis=1)
        # One random number selects the opponent, the other the outcome.
        chance, fate = rng.random((2, len(runs)))
        second = (ladder <= (chance * ladder[:, -1])[:, None]).sum(axis=1)
        chance_won, chance_lost = won[first, second], won[second, first]
        outcome = (fate < chance_won) * 1.0 - (
            (fate >= chance_won) & (fate < chance_won + chance_lost)
        )
        other = variances[runs, second]
        spread = noise + variance + other
        scale = np.sqrt(spread)
        # The update of two players, as `rate` does one by one (Herbrich et al. 2006).
        v, w = _corrections((mean - means[runs, second]) / scale, margin / scale, outcome)
        w /= spread
        means[runs, first] += variance / scale * v
        means[runs, second] -= other / scale * v
        variances[runs, first] = variance * (1 - variance * w)
        variances[runs, second] = other * (1 - other * w)


def _corrections(
    gap: FloatArray, width: FloatArray, outcome: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the corrections v and w of `rate` for arrays; small gaps need no tail expansion."""
    from gecjury.stats.special import ndtr

    density = 1 / math.sqrt(2 * math.pi)
    x = outcome * gap - width
    v = density * np.exp(-0.5 * x * x) / ndtr(x)
    w = v * (v + x)
    upper, lower = width - gap, -width - gap
    mass = ndtr(upper) - ndtr(lower)
    high, low = density * np.exp(-0.5 * upper * upper), density * np.exp(-0.5 * lower * lower)
    drawn_v = (low - high) / mass
    drawn_w = drawn_v * drawn_v + (upper * high - lower * low) / mass
    drawn = outcome == 0
    return np.where(drawn, drawn_v, v * outcome), np.where(drawn, drawn_w, w)

"""Ranking systems by pairwise comparison: TrueSkill, Expected Wins, and the plain mean.

From a table of scores (systems × sentences) as from human judgments. What is not scored is not
compared: such a pair is left out and counted, never a tie and never a loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.errors import OptionError
from gecjury.judgments import JudgmentPairs

__all__ = [
    "Ranking",
    "expected_wins",
    "human_expected_wins",
    "human_trueskill",
    "mean_score",
    "trueskill",
    "trueskill_shuffled",
]

_Floats = NDArray[np.float64]
_Outcome = tuple[int, int, int]

_CHUNK = 4096  # sentences whose comparisons are laid out at a time


@dataclass(frozen=True, slots=True)
class Ranking:
    """One score a system, higher is better.

    Attributes:
        scores: shape (systems,); NaN for a system that could not be compared at all.
        compared: comparisons that the scores rest on, ties included; for the mean, scores.
        missing: comparisons (for the mean, scores) left out because a score is missing.
        deviations: for TrueSkill the standard deviations of the skills, shape (systems,); after
            several passes those of the skills over the passes. None for the others.
    """

    scores: _Floats
    compared: int
    missing: int
    deviations: _Floats | None = None


@dataclass(frozen=True, slots=True)
class _Game:
    """TrueSkill's constants."""

    mu: float
    sigma: float
    beta: float
    tau: float
    draw_probability: float

    def __post_init__(self) -> None:
        for name in ("sigma", "beta"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise OptionError(f"{name}={value}: expected a finite number above 0")
        if not (self.tau >= 0 and math.isfinite(self.tau)):
            raise OptionError(f"tau={self.tau}: expected a finite number, 0 or more")
        if not 0 <= self.draw_probability < 1:
            raise OptionError(
                f"draw_probability={self.draw_probability}: expected at least 0 and below 1"
            )

    @property
    def margin(self) -> float:
        """Width of a draw on the scale of the difference of two performances."""
        share = (self.draw_probability + 1) / 2
        return NormalDist().inv_cdf(share) * math.sqrt(2) * self.beta


def _rate(outcomes: Iterable[_Outcome], systems: int, game: _Game) -> tuple[_Floats, _Floats, int]:
    """Run TrueSkill over outcomes (first, second, +1 first won | -1 second won | 0 draw).

    For two players the message passing of Herbrich, Minka and Graepel (2006) has a closed form:
    with c² = 2β² + σ₁² + σ₂² and t = (μ₁ − μ₂)/c, the winner gains σ²/c · v and both variances
    shrink by 1 − σ²/c² · w; v and w are the corrections of a truncated normal distribution.

    Returns:
        Means, standard deviations, number of outcomes.
    """
    erfc, exp, sqrt = math.erfc, math.exp, math.sqrt
    root = -1 / math.sqrt(2)
    density = 1 / math.sqrt(2 * math.pi)
    noise, margin, drift = 2 * game.beta**2, game.margin, game.tau**2
    means = [game.mu] * systems
    variances = [game.sigma**2] * systems
    count = 0
    for one, two, outcome in outcomes:
        count += 1
        first, second = (one, two) if outcome >= 0 else (two, one)
        variance, other = variances[first] + drift, variances[second] + drift
        spread = noise + variance + other
        scale = sqrt(spread)
        gap = (means[first] - means[second]) / scale
        width = margin / scale
        if outcome:
            x = gap - width
            mass = 0.5 * erfc(x * root)
            v = density * exp(-0.5 * x * x) / mass if mass > 0 else -x
            w = v * (v + x)
        else:
            size = gap if gap >= 0 else -gap
            upper, lower = width - size, -width - size
            mass = 0.5 * (erfc(upper * root) - erfc(lower * root))
            if mass > 0:
                high = density * exp(-0.5 * upper * upper)
                low = density * exp(-0.5 * lower * lower)
                v = (low - high) / mass
                w = v * v + (upper * high - lower * low) / mass
            else:
                # All mass lies beyond what a float holds: the limit is the nearer margin. Without
                # a margin a draw says that both performed alike, which is the same limit.
                v, w = upper, 1.0
            if gap < 0:
                v = -v
        if w > 1:
            w = 1.0
        step = v / scale
        w /= spread
        means[first] += variance * step
        means[second] -= other * step
        variances[first] = variance * (1 - variance * w)
        variances[second] = other * (1 - other * w)
    return np.array(means), np.sqrt(np.array(variances)), count


def _comparisons(scores: _Floats) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Outcomes of a table, a stretch of sentences at a time: sentences, then pairs of systems."""
    first, second = np.triu_indices(len(scores), 1)
    for start in range(0, scores.shape[1], _CHUNK):
        part = scores[:, start : start + _CHUNK].T
        a, b = part[:, first], part[:, second]
        sign = (a > b).astype(np.int8) - (a < b)
        kept = ~(np.isnan(a) | np.isnan(b))
        shape = kept.shape
        yield (
            np.broadcast_to(first, shape)[kept].tolist(),
            np.broadcast_to(second, shape)[kept].tolist(),
            sign[kept].tolist(),
        )


def _stream(scores: _Floats) -> Iterator[_Outcome]:
    """Outcomes of a table one by one."""
    for first, second, sign in _comparisons(scores):
        yield from zip(first, second, sign, strict=True)


def _table(scores: NDArray[Any]) -> _Floats:
    """The table as floats, its shape checked."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise OptionError(f"scores of shape {table.shape}: expected (systems, sentences)")
    return table


def trueskill(
    scores: NDArray[Any],
    *,
    mu: float = 0.0,
    sigma: float = 0.5,
    beta: float = 0.25,
    tau: float = 0.0,
    draw_probability: float = 0.25,
) -> Ranking:
    """TrueSkill over sentence scores: the higher score wins, equal scores draw.

    One pass: sentences in order, and within a sentence the pairs of systems (0, 1), (0, 2), ...
    The result depends on both orders and on which systems take part; the published tables
    (Goto et al. 2026) use the order of the file and the alphabetical order of the systems.

    Args:
        scores: shape (systems, sentences); NaN where not scored.
        mu: mean of a skill before the first comparison.
        sigma: its standard deviation.
        beta: standard deviation of a performance around the skill.
        tau: standard deviation added to a skill before every comparison.
        draw_probability: probability of a draw between equals, which sets the draw margin.

    Returns:
        Means of the skills, comparisons made and left out, standard deviations.

    Raises:
        OptionError: scores are no table, or a constant is out of its range.
    """
    table = _table(scores)
    game = _Game(mu, sigma, beta, tau, draw_probability)
    means, deviations, compared = _rate(_stream(table), len(table), game)
    return Ranking(means, compared, math.comb(len(table), 2) * table.shape[1] - compared, deviations)


def trueskill_shuffled(
    scores: NDArray[Any],
    rng: np.random.Generator,
    passes: int = 10,
    *,
    mu: float = 0.0,
    sigma: float = 0.5,
    beta: float = 0.25,
    tau: float = 0.0,
    draw_probability: float = 0.25,
) -> Ranking:
    """TrueSkill, averaged over passes that each take the sentences in a random order.

    Args:
        scores: shape (systems, sentences); NaN where not scored.
        rng: source of the orders.
        passes: number of passes.
        mu: as in `trueskill`.
        sigma: as in `trueskill`.
        beta: as in `trueskill`.
        tau: as in `trueskill`.
        draw_probability: as in `trueskill`.

    Returns:
        Means over the passes; `compared` and `missing` are those of one pass, and `deviations`
        the standard deviations over the passes (0 for a single pass).

    Raises:
        OptionError: as `trueskill`, or fewer than one pass.
    """
    table = _table(scores)
    if passes < 1:
        raise OptionError(f"passes={passes}: expected 1 or more")
    game = _Game(mu, sigma, beta, tau, draw_probability)
    means = np.empty((passes, len(table)))
    compared = 0
    for row in means:
        order = rng.permutation(table.shape[1])
        row[:], _, compared = _rate(_stream(table[:, order]), len(table), game)
    missing = math.comb(len(table), 2) * table.shape[1] - compared
    return Ranking(means.mean(axis=0), compared, missing, means.std(axis=0))


def _expected_wins(wins: NDArray[np.int64]) -> _Floats:
    """Expected Wins from counts of wins of row over column."""
    decided = wins + wins.T
    met = decided > 0
    share = np.divide(wins, decided, out=np.zeros(wins.shape), where=met)
    opponents = met.sum(axis=1)
    nothing = np.full(len(wins), np.nan)
    return np.divide(share.sum(axis=1), opponents, out=nothing, where=opponents > 0)


def expected_wins(scores: NDArray[Any]) -> Ranking:
    """Expected Wins over sentence scores (Bojar et al. 2013, section 3.2).

    For each system the mean over its opponents of wins / (wins + losses). Ties are left out, and
    so is an opponent with whom every comparison is a tie or missing.

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
    for one, two in combinations(range(size), 2):
        wins[one, two] = np.count_nonzero(table[one] > table[two])
        wins[two, one] = np.count_nonzero(table[one] < table[two])
    present = (~np.isnan(table)).sum(axis=0)
    compared = int((present * (present - 1) // 2).sum())
    missing = math.comb(size, 2) * table.shape[1] - compared
    return Ranking(_expected_wins(wins), compared, missing)


def mean_score(scores: NDArray[Any]) -> Ranking:
    """Mean over the sentences that are scored.

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


def human_expected_wins(pairs: JudgmentPairs) -> Ranking:
    """Expected Wins from human judgments; with all expanded pairs it gives the published columns.

    Args:
        pairs: judgments, ties included or not.

    Returns:
        Scores between 0 and 1 in the order of the pairs' systems; NaN for a system that no
        annotator decided on.
    """
    size = len(pairs.systems)
    wins = np.zeros((size, size), dtype=np.int64)
    won, lost = pairs.preference > 0, pairs.preference < 0
    np.add.at(wins, (pairs.first[won], pairs.second[won]), 1)
    np.add.at(wins, (pairs.second[lost], pairs.first[lost]), 1)
    return Ranking(_expected_wins(wins), len(pairs), 0)


def human_trueskill(
    pairs: JudgmentPairs,
    *,
    mu: float = 0.0,
    sigma: float = 0.5,
    beta: float | None = None,
    draw_probability: float = 0.25,
    rng: np.random.Generator | None = None,
    passes: int = 1,
) -> Ranking:
    """TrueSkill from human judgments.

    Args:
        pairs: judgments, ties included.
        mu: mean of a skill before the first judgment.
        sigma: its standard deviation.
        beta: standard deviation of a performance; by default sigma · N / 40 for N judgments, the
            convention of WMT (Sakaguchi et al. 2014), with which the published scores come back in
            scale. So wide a performance makes every judgment count alike: the order hardly matters.
        draw_probability: probability of a draw between equals, which sets the draw margin.
        rng: source of random orders; by default the judgments come in the order given.
        passes: number of random orders to average over.

    Returns:
        Means of the skills in the order of the pairs' systems, and their standard deviations.

    Raises:
        OptionError: a constant is out of its range, or several passes without `rng`.
    """
    if passes < 1 or (rng is None and passes > 1):
        raise OptionError(f"passes={passes}: expected 1, or more together with rng")
    if beta is None:
        beta = sigma * max(len(pairs), 1) / 40
    game = _Game(mu, sigma, beta, 0.0, draw_probability)
    size = len(pairs.systems)
    means, deviations = np.empty((passes, size)), np.empty(size)
    for row in means:
        part = pairs if rng is None else pairs.select(rng.permutation(len(pairs)))
        columns = (part.first.tolist(), part.second.tolist(), part.preference.tolist())
        row[:], deviations, _ = _rate(zip(*columns, strict=True), size, game)
    if passes > 1:
        deviations = means.std(axis=0)
    return Ranking(means.mean(axis=0), len(pairs), 0, deviations)

"""TrueSkill for two players in closed form, for one stream of comparisons or many resampled ones.

`rate` plays one comparison after the other in double precision. `rate_resampled` plays the
sentences of many resampled corpora side by side, wave by wave, in single precision. It follows the
same rule, and the same order within each corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np

from gecjury.core.arrays import Float32Array, FloatArray, IntArray
from gecjury.core.processes import in_forks

MOST_GAMES = 5_000_000
"""The most games that one pass plays in full; of more, a sample of about `SAMPLED_GAMES` is played.

2,000 systems on 1,000 sentences have 2e9 games, and those of 1,000 resamples take days.
"""
SAMPLED_GAMES = 2_000_000

_LEAST_SHARE = 3_000_000  # games for which a fork is worth its start, less than a tenth of a second
_AT_ONCE = 60_000  # skills; the data of a wave of comparisons then stay in the processor's cache

# The correction of a decided comparison is read from a table of chords, exact to 1e-6 between
# these bounds. Skills that TrueSkill computes are never further apart.
_LOW, _HIGH, _STEPS = -12.0, 6.0, 8192

_SCALE = np.float32(_STEPS / (_HIGH - _LOW))
_ONE = np.float32(1.0)

# The five-point Gauss-Legendre rule on [−1, 1]: two nodes, used on both sides of 0, their weights,
# and the weight of the centre.
_NODES: Float32Array = np.array(
    [[math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3], [math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3]],
    dtype=np.float32,
)
_WEIGHTS: Float32Array = np.array(
    [[(322 + 13 * math.sqrt(70)) / 900], [(322 - 13 * math.sqrt(70)) / 900]], dtype=np.float32
)
_CENTRE = np.float32(128 / 225)

Outcome = tuple[int, int, int]
"""First player, second player, and +1 if the first won, -1 if the second did, 0 for a draw."""


@dataclass(frozen=True, slots=True)
class Game:
    """TrueSkill's constants; by default those of the published tables (Goto et al. 2026).

    Attributes:
        mu: mean of a skill before the first comparison.
        sigma: its standard deviation.
        beta: standard deviation of a performance around the skill.
        tau: standard deviation added to a skill before every comparison.
        draw_probability: probability of a draw between equals, which sets the draw margin.
    """

    mu: float = 0.0
    sigma: float = 0.5
    beta: float = 0.25
    tau: float = 0.0
    draw_probability: float = 0.25

    @property
    def margin(self) -> float:
        """Width of a draw on the scale of the difference of two performances."""
        share = (self.draw_probability + 1) / 2
        return NormalDist().inv_cdf(share) * math.sqrt(2) * self.beta


def rate(outcomes: Iterable[Outcome], systems: int, game: Game) -> tuple[FloatArray, FloatArray]:
    """Run TrueSkill over outcomes, one after the other.

    For two players the message passing of Herbrich, Minka and Graepel (2006) has a closed form:
    with c² = 2β² + σ₁² + σ₂² and t = (μ₁ − μ₂)/c, the winner gains σ²/c · v and both variances
    shrink by 1 − σ²/c² · w; v and w are the corrections of a truncated normal distribution.

    Args:
        outcomes: comparisons in order.
        systems: number of players.
        game: the constants.

    Returns:
        Means and standard deviations of the skills, each of shape (systems,).
    """
    erfc, exp, sqrt = math.erfc, math.exp, math.sqrt
    root = -1 / math.sqrt(2)
    density = 1 / math.sqrt(2 * math.pi)
    noise, margin, drift = 2 * game.beta**2, game.margin, game.tau**2
    means = [game.mu] * systems
    variances = [game.sigma**2] * systems
    for system, opponent, outcome in outcomes:
        first, second = (system, opponent) if outcome >= 0 else (opponent, system)
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
                # The mass is below the smallest float, so take the limit, the nearer margin.
                # Without a margin a draw means equal performances, which has the same limit.
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
    return np.array(means), np.sqrt(np.array(variances))


def sampled_opponents(systems: int, sentences: int) -> int | None:
    """Return how many opponents a system meets on a sentence; None if it meets all.

    A system meets all others if that gives at most `MOST_GAMES`, and otherwise as many as give
    `SAMPLED_GAMES`, at least one.
    """
    if math.comb(systems, 2) * sentences <= MOST_GAMES:
        return None
    opponents = max(1, 2 * SAMPLED_GAMES // (systems * sentences))
    return opponents if opponents < systems - 1 else None


def meetings(systems: int, sentences: int, opponents: int, seed: int) -> IntArray:
    """Return the rounds of games of each sentence: sentences × opponents, integers below `systems`.

    In round r systems i and j meet if i + j = r or i + j = r + S, so that each has at most one
    opponent. All S rounds follow each other in a seeded order, again and again, so the numbers of
    meetings of any two pairs of systems differ by at most one.

    Args:
        systems: S.
        sentences: N, in the order in which they are played.
        opponents: rounds on each sentence.
        seed: seed of the order of the rounds.
    """
    # The second number makes this stream independent of other uses of the seed.
    order = np.random.default_rng([seed, 11]).permutation(systems)
    return order[np.arange(sentences * opponents) % systems].reshape(sentences, opponents)


@lru_cache(maxsize=4096)
def met(number: int, systems: int) -> IntArray:
    """Return the pairs of a round of `meetings`, 2 × pairs, the first system before the second."""
    sides = []
    for total in (number, number + systems):
        first = np.arange(*_bounds(total, systems))
        sides.append([first, total - first])
    return np.concatenate(sides, axis=1)


class ScoreWaves:
    """The comparisons of all sentences, in the order of `gecjury.stats.ranking.trueskill`.

    The pairs of a sentence are (0, 1), (0, 2), ..., (1, 2), .... With n systems, pair (i, j) of the
    q-th sentence to be played is due at time n·q + i + j. So each system meets one opponent at a
    time, all opponents on one sentence before those on the next, and in the same order as if the
    games were played one after another. Time n·q + w, wave w, has the pairs of the q-th sentence
    with i + j = w and those of the sentence before with i + j = w + n.

    Outcomes are computed when they are played: in advance, they would need memory for all pairs of
    systems times all sentences.

    Args:
        scores: for each of M metrics a table systems × sentences, NaN where not scored.
        rounds: the result of `meetings` if a sample of all games is played.

    Attributes:
        ranks: systems × M × (sentences + 1), ranks within a sentence, small whole numbers, which
            are exact in single precision; NaN where not scored, and in the last, which is no
            sentence.
    """

    def __init__(self, scores: Sequence[FloatArray], rounds: IntArray | None = None) -> None:
        size, lines = scores[0].shape
        self._rounds = rounds
        self.ranks = np.full((size, len(scores), lines + 1), np.nan, dtype=np.float32)
        for metric, table in enumerate(scores):
            order = table.argsort(axis=0)
            ordered = np.take_along_axis(table, order, axis=0)
            ranks = np.zeros(table.shape)
            higher = (ordered[1:] > ordered[:-1]).cumsum(axis=0)
            np.put_along_axis(ranks, order[1:], higher, axis=0)
            self.ranks[:, metric, :lines] = np.where(np.isnan(table), np.nan, ranks)

    def played(self, turns: IntArray) -> Iterator[tuple[IntArray, Float32Array]]:
        """Yield all waves in order; in a wave no system is in two comparisons of the same metric.

        The first comparisons belong to the sentence whose turn it is, the others to the sentence
        before, except in a sample of games, in which each round ends before the next sentence.

        Args:
            turns: see `_turns`.

        Yields:
            The first systems of all comparisons, then their opponents, as rows of a table systems
            × (M · draws), which has one system's skills for all metrics in a row; and how much
            higher the first are ranked, 0 for a draw, NaN without a score.
        """
        size, rounds, early = len(self.ranks), self._rounds, self._of(turns[-1])
        sampled = rounds is not None
        for number, now in enumerate(turns):
            late, early = early, self._of(now)
            for wave in map(int, range(size) if rounds is None else rounds[number % len(rounds)]):
                rows = met(wave, size)
                leads = np.empty((rows.shape[1], early.shape[1]), dtype=np.float32)
                free = leads
                for total, ranks in ((wave, early), (wave + size, early if sampled else late)):
                    low, high = _bounds(total, size)
                    others = ranks[total - high + 1 : total - low + 1][::-1]
                    np.subtract(ranks[low:high], others, out=free[: high - low])
                    free = free[high - low :]
                if rows.size:
                    yield rows.ravel(), leads.ravel()

    def _of(self, lines: IntArray) -> Float32Array:
        """Return the ranks of the sentences whose turn it is, systems × (M · draws)."""
        return self.ranks.take(lines, axis=2).reshape(len(self.ranks), -1)


def _bounds(total: int, size: int) -> tuple[int, int]:
    """Return the first systems i of the pairs (i, j) with i + j = total, i < j < size."""
    low = max(0, total - size + 1)
    return low, max(low, (total + 1) // 2)


def rate_resampled(
    waves: ScoreWaves,
    counts: FloatArray,
    game: Game,
    *,
    workers: int = 1,
    at_once: int = _AT_ONCE,
) -> FloatArray:
    """Return the means of skills of every draw, M × B × S: those of `rate` for its sentences.

    A draw plays its sentences in the order of the file, and one that it contains k times k times in
    a row. All draws are played side by side, each at its own sentence. Single precision keeps
    skills exact to about 1e-5.

    Args:
        counts: B × sentences, how often each draw contains each sentence.
        game: the constants; `tau` must be 0 and the probability of a draw below one half.
        workers: number of processes; the result does not depend on it.
        at_once: number of skills updated side by side; the result does not depend on it.
    """
    systems, metrics, _ = waves.ranks.shape
    turns = _turns(counts.astype(np.int64))
    games = int(counts.sum()) * math.comb(systems, 2) * metrics
    shares = np.array_split(turns, max(1, min(workers, games // _LEAST_SHARE)), axis=1)

    def skills(number: int) -> list[object]:
        # The draws of a share are split to bound the memory.
        share = shares[number]
        count = -(-share.shape[1] * systems * metrics // at_once) or 1
        parts = np.array_split(share, count, axis=1)
        done = [_rate(waves, part, game) for part in parts]
        everything: list[object] = np.concatenate(done, axis=2).tolist()
        return everything

    _table()  # Once for all forks, and faster while no other thread runs.
    done = in_forks(skills, len(shares))
    return np.concatenate([np.array(part) for part in done], axis=2).transpose(1, 2, 0)


def _turns(times: IntArray) -> IntArray:
    """Return the sentences of every draw in order, turns × draws, padded with their number.

    There is one turn more than any draw has sentences, for the late comparisons of the last one.
    """
    size, lines = times.shape
    turns = np.full((int(times.sum(axis=1).max(initial=0)) + 1, size), lines)
    for column, row in enumerate(times):
        played = np.repeat(np.arange(lines), row)
        turns[: len(played), column] = played
    return turns


def _rate(waves: ScoreWaves, turns: IntArray, game: Game) -> Float32Array:
    """Return means of the skills of some draws, S × M × draws."""
    # Skills are in units of √2·β, so that the noise of a comparison is 1.
    unit = math.sqrt(2) * game.beta
    shape = *waves.ranks.shape[:2], turns.shape[1]
    means = np.full((shape[0], shape[1] * shape[2]), game.mu / unit, dtype=np.float32)
    variances = np.full(means.shape, (game.sigma / unit) ** 2, dtype=np.float32)
    margin = np.float32(game.margin / unit)
    for rows, leads in waves.played(turns):
        _play(means, variances, rows, leads, margin)
    return (means * np.float32(unit)).reshape(shape)


def _play(
    means: Float32Array,
    variances: Float32Array,
    rows: IntArray,
    leads: Float32Array,
    margin: np.float32,
) -> None:
    """Update the skills of a wave's systems in place.

    Args:
        means: the means of skills, systems × (M · draws).
        variances: the variances of skills, of the same shape.
        rows: of a wave, see `ScoreWaves.played`.
        leads: of the same wave.
        margin: the margin of a draw.
    """
    # This is the hot loop of resampled TrueSkill: everything is computed in place in these arrays.
    mean = means.take(rows, axis=0).reshape(2, -1)
    variance = variances.take(rows, axis=0).reshape(2, -1)
    inverse = variance[0] + variance[1]
    inverse += _ONE
    np.sqrt(inverse, out=inverse)
    np.divide(_ONE, inverse, out=inverse)
    gap = mean[0] - mean[1]
    gap *= inverse
    width = inverse * margin
    # Draws need a different correction from wins, and a more expensive one.
    drawn, absent = np.flatnonzero(leads == 0), np.isnan(leads)
    gaps = bool(absent.any())
    # The signs of differences of ranks, which are whole numbers; `np.sign` is slow.
    sign = np.clip(leads, -1, 1, out=leads)
    if gaps:
        sign[absent] = 0
    lead = gap * sign
    lead -= width
    v, w = _won(lead)
    v *= sign
    v[drawn], w[drawn] = _drawn(gap.take(drawn), width.take(drawn))
    if gaps:
        v[absent] = w[absent] = 0
    v *= inverse
    inverse *= inverse
    w *= inverse
    move = variance * v
    mean[0] += move[0]
    mean[1] -= move[1]
    np.multiply(variance, w, out=move)
    move *= variance
    variance -= move
    means[rows] = mean.reshape(len(rows), -1)
    variances[rows] = variance.reshape(len(rows), -1)


@cache
def _table() -> FloatArray:
    """Return chords of v(x) = φ(x)/Φ(x) between equidistant points.

    A chord is two numbers in single precision: its height at 0 and its slope. They are stored as
    one number in double precision, so that one access fetches both.
    """
    from gecjury.stats.special import erfcx

    x = np.linspace(_LOW, _HIGH, _STEPS + 1)
    v = math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))
    slope = np.diff(v) / np.diff(x)
    height = v[:-1] - slope * x[:-1]
    chords: FloatArray = np.stack([height, slope], axis=1).astype(np.float32).view(np.float64)
    return chords.ravel()


def _won(x: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Return corrections v and w of the winner from its lead beyond the margin of a draw."""
    place = x * _SCALE
    place -= _SCALE * np.float32(_LOW)
    index = place.astype(np.int32)
    chord = _table().take(index, mode="clip").view(np.float32)
    v = chord[1::2] * x
    v += chord[::2]
    x += v
    x *= v
    return v, x


def _drawn(gap: Float32Array, width: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Return corrections of a draw: v = E(X), w = 1 − Var(X) of a normal variable X within a width.

    X is within `width` of −gap. With X = u − gap the density is exp(gap·u − u²/2) up to a constant
    factor. It is integrated over u by the five-point Gauss-Legendre rule.
    """
    u = width * _NODES
    square = u * u
    fall = square * np.float32(-0.5)
    np.exp(fall, out=fall)
    fall *= _WEIGHTS
    up = gap * u
    np.exp(up, out=up)
    down = fall / up
    up *= fall
    both = up + down
    up -= down
    up *= u
    total = both[0] + both[1]
    total += _CENTRE
    v = up[0] + up[1]
    v /= total
    both *= square
    w = both[0] + both[1]
    w /= total
    w -= v * v
    np.subtract(_ONE, w, out=w)
    v -= gap
    return v, w

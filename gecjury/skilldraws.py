"""TrueSkill over many resampled corpora at once: one pass over the sentences for all draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gecjury.errors import OptionError
from gecjury.scoretable import FloatArray
from gecjury.skill import Game

__all__ = ["Round", "rate_draws", "score_rounds"]

_Single = NDArray[np.float32]

_MISSING = 9
_CHUNK = 1000  # draws whose skills are held side by side, at most

# The correction of a decided comparison is read from a table of chords, exact to 1e-6 between
# these bounds; no skills that TrueSkill gives are further apart.
_LOW, _HIGH, _STEPS = -12.0, 6.0, 8192

_SCALE = np.float32(_STEPS / (_HIGH - _LOW))
_ONE = np.float32(1.0)

# Gauss and Legendre's rule of five points on [−1, 1]: two nodes that count on either side, their
# weights, and the weight of the centre.
_NODES: _Single = np.array(
    [[[math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3]], [[math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3]]],
    dtype=np.float32,
)
_WEIGHTS: _Single = np.array(
    [[[(322 + 13 * math.sqrt(70)) / 900]], [[(322 - 13 * math.sqrt(70)) / 900]]], dtype=np.float32
)
_CENTRE = np.float32(128 / 225)


@dataclass(frozen=True, slots=True)
class Round:
    """Comparisons that can be played at once: of one sentence, no system of a metric in two.

    A row stands for a system as one metric sees it: system · metrics + metric. The first half of
    `rows` are the first systems of the comparisons, the second half their opponents.

    Attributes:
        rows: shape (2 · comparisons,).
        signs: +1 where the first is preferred, −1 where the second is, shape (comparisons, 1);
            None for draws.
    """

    rows: NDArray[np.int64]
    signs: _Single | None


def score_rounds(scores: Sequence[FloatArray]) -> list[list[Round]]:
    """Comparisons of every sentence, as `gecjury.ranking.trueskill` orders them.

    The pairs of a sentence are (0, 1), (0, 2), ..., (1, 2), .... Those with the same sum of indices
    have no system in common, and whatever comes earlier for one of their systems has a lower sum:
    played together, sum after sum, they give what they give one after the other.

    Args:
        scores: for each metric a table systems × sentences, NaN where not scored.
    """
    size, metrics = len(scores[0]), len(scores)
    first, second = np.triu_indices(size, 1)
    order = np.lexsort((first, first + second))
    first, second = first[order], second[order]
    bounds = np.flatnonzero(np.diff(first + second, prepend=-1, append=-1))
    signs = np.full((scores[0].shape[1], len(first), metrics), _MISSING, dtype=np.int8)
    for number, table in enumerate(scores):
        a, b = table[first], table[second]
        known = ~(np.isnan(a) | np.isnan(b))
        signs[..., number] = np.where(known, (a > b).astype(np.int8) - (a < b), _MISSING).T
    one = first[:, None] * metrics + np.arange(metrics)
    two = second[:, None] * metrics + np.arange(metrics)
    found = []
    for sentence in signs:
        rounds = []
        for start, stop in pairwise(bounds.tolist()):
            part, ones, twos = sentence[start:stop], one[start:stop], two[start:stop]
            for kind in (np.abs(part) == 1, part == 0):
                if kind.any():
                    sign = part[kind].astype(np.float32)[:, None]
                    rows = np.concatenate([ones[kind], twos[kind]])
                    rounds.append(Round(rows, sign if sign[0, 0] else None))
        found.append(rounds)
    return found


def rate_draws(
    rounds: Sequence[Sequence[Round]],
    counts: FloatArray,
    systems: int,
    game: Game,
    *,
    metrics: int = 1,
    workers: int = 1,
) -> FloatArray:
    """TrueSkill of every draw, as `gecjury.skill.rate` gives it for the draw's sentences in order.

    A draw takes its sentences in the order of the file, one that it holds k times k times running.
    So all draws meet the same comparisons in the same order, and differ only in how often.
    Computed in single precision: skills are exact to about 1e-5.

    Args:
        rounds: for each sentence its comparisons.
        counts: B × sentences, how often each draw holds each sentence.
        systems: S.
        game: the constants; `tau` must be 0 and a draw less likely than one half.
        metrics: M, how many metrics' comparisons `rounds` hold.
        workers: threads; the result does not depend on it.

    Returns:
        Means of the skills, M × B × S.

    Raises:
        OptionError: constants that these formulas do not hold for.
    """
    if game.tau or game.draw_probability > 0.5:
        raise OptionError(
            f"tau={game.tau}, draw_probability={game.draw_probability}: resampled TrueSkill needs "
            "tau=0 and a draw probability of at most 0.5"
        )
    times = counts.astype(np.int64)
    parts = np.array_split(times, max(workers, -(-len(times) // _CHUNK)))
    with ThreadPoolExecutor(max(1, workers)) as pool:
        done = list(pool.map(lambda part: _rate(rounds, part, systems * metrics, game), parts))
    skills = np.concatenate(done, axis=1).reshape(systems, metrics, len(times))
    return skills.transpose(1, 2, 0).astype(np.float64)


def _rate(
    rounds: Sequence[Sequence[Round]], times: NDArray[np.int64], rows: int, game: Game
) -> _Single:
    """Means of the skills of some draws, rows × draws."""
    # Skills in units of √2·β, so that the noise of a comparison is 1.
    unit = math.sqrt(2) * game.beta
    skills = np.empty((rows, 2, len(times)), dtype=np.float32)  # mean, then variance
    skills[:, 0], skills[:, 1] = game.mu / unit, (game.sigma / unit) ** 2
    margin = np.float32(game.margin / unit)
    for column, played in enumerate(rounds):
        here = times[:, column]
        for turn in range(1, int(here.max(initial=0)) + 1):
            at = np.flatnonzero(here >= turn)
            state = skills.take(at, axis=2)
            for each in played:
                _play(state, each, margin)
            skills[:, :, at] = state
    scaled: _Single = skills[:, 0] * np.float32(unit)
    return scaled


def _play(state: _Single, played: Round, margin: np.float32) -> None:
    """Update the skills of a round's systems in place."""
    both = state.take(played.rows, axis=0).reshape(2, -1, 2, state.shape[2])
    mean, variance = both[:, :, 0], both[:, :, 1]
    inverse = variance[0] + variance[1]
    inverse += _ONE
    np.sqrt(inverse, out=inverse)
    np.divide(_ONE, inverse, out=inverse)
    gap = mean[0] - mean[1]
    gap *= inverse
    width = inverse * margin
    if played.signs is None:
        v, w = _drawn(gap, width)
    else:
        gap *= played.signs
        gap -= width
        v, w = _won(gap)
        v *= played.signs
    v *= inverse
    inverse *= inverse
    w *= inverse
    move = variance * v
    mean[0] += move[0]
    mean[1] -= move[1]
    np.multiply(variance, w, out=move)
    move *= variance
    variance -= move
    state[played.rows] = both.reshape(-1, 2, state.shape[2])


@cache
def _table() -> tuple[_Single, _Single]:
    """Chords of v(x) = φ(x)/Φ(x) between equidistant points: heights at 0 and slopes."""
    from scipy.special import erfcx

    x = np.linspace(_LOW, _HIGH, _STEPS + 1)
    v = math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))
    slope = np.diff(v) / np.diff(x)
    height = v[:-1] - slope * x[:-1]
    return height.astype(np.float32), slope.astype(np.float32)


def _won(x: _Single) -> tuple[_Single, _Single]:
    """Corrections v and w of the winner, from how far it leads beyond the margin of a draw."""
    height, slope = _table()
    place = x * _SCALE
    place -= _SCALE * np.float32(_LOW)
    index = place.astype(np.int32)
    v = slope.take(index, mode="clip")
    v *= x
    v += height.take(index, mode="clip")
    x += v
    x *= v
    return v, x


def _drawn(gap: _Single, width: _Single) -> tuple[_Single, _Single]:
    """Corrections of a draw: v = E(X) and w = 1 − Var(X) of a normal variable X within a width.

    X lies within `width` of −gap. With X = u − gap the density is exp(gap·u − u²/2) but for a
    factor, which is integrated over u by Gauss and Legendre's rule of five points.
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

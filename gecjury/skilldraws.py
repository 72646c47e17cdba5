"""TrueSkill over many resampled corpora at once: one pass over the sentences for all draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gecjury.scoretable import FloatArray
from gecjury.skill import Game

__all__ = ["Match", "rate_draws", "score_matches"]

_MISSING = 9
_DENSITY = 1 / math.sqrt(2 * math.pi)
_TAIL = -30.0  # below it a float holds next to nothing of Φ
_CHUNK = 500  # draws whose skills are held side by side


@dataclass(frozen=True, slots=True)
class Match:
    """One comparison of two systems on one sentence, as several metrics see it.

    Attributes:
        first: index of a system.
        second: index of another.
        won: rows of the metrics that decide, and +1 or −1 for each, shape (rows, 1).
        signs: which of the two each of them prefers.
        drawn: rows of the metrics that tie the two.
    """

    first: int
    second: int
    won: NDArray[np.int64]
    signs: FloatArray
    drawn: NDArray[np.int64]


def score_matches(scores: Sequence[FloatArray]) -> list[list[Match]]:
    """Comparisons of every sentence, in the order of `gecjury.ranking.trueskill`.

    Args:
        scores: for each metric a table systems × sentences, NaN where not scored.
    """
    first, second = np.triu_indices(len(scores[0]), 1)
    signs = np.full((scores[0].shape[1], len(first), len(scores)), _MISSING, dtype=np.int8)
    for number, table in enumerate(scores):
        a, b = table[first], table[second]
        known = ~(np.isnan(a) | np.isnan(b))
        signs[..., number] = np.where(known, (a > b).astype(np.int8) - (a < b), _MISSING).T
    duels = list(zip(first.tolist(), second.tolist(), strict=True))
    return [
        [_match(i, j, row) for (i, j), row in zip(duels, sentence, strict=True)]
        for sentence in signs
    ]


def _match(first: int, second: int, signs: NDArray[np.int8]) -> Match:
    won = np.flatnonzero((signs == 1) | (signs == -1))
    drawn = np.flatnonzero(signs == 0)
    return Match(first, second, won, signs[won].astype(np.float64)[:, None], drawn)


def rate_draws(
    matches: Sequence[Sequence[Match]],
    counts: FloatArray,
    systems: int,
    game: Game,
    *,
    metrics: int = 1,
    workers: int = 2,
) -> FloatArray:
    """TrueSkill of every draw, as `gecjury.skill.rate` gives it for the draw's sentences in order.

    A draw takes its sentences in the order of the file, one that it holds k times k times running.
    So all draws meet the same comparisons in the same order, and differ only in how often.

    Args:
        matches: for each sentence its comparisons.
        counts: B × sentences, how often each draw holds each sentence.
        systems: S.
        game: the constants; `tau` must be 0.
        metrics: M, how many metrics' comparisons `matches` hold.
        workers: threads; the result does not depend on it.

    Returns:
        Means of the skills, M × B × S.
    """
    times = counts.astype(np.int64)
    parts = [times[start : start + _CHUNK] for start in range(0, len(times), _CHUNK)]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        done = list(pool.map(lambda part: _rate(matches, part, systems, game, metrics), parts))
    return np.concatenate(done, axis=1)


def _rate(
    matches: Sequence[Sequence[Match]],
    times: NDArray[np.int64],
    systems: int,
    game: Game,
    metrics: int,
) -> FloatArray:
    means = np.full((systems, metrics, len(times)), float(game.mu))
    variances = np.full(means.shape, game.sigma**2)
    for column, duels in enumerate(matches):
        if not duels:
            continue
        here = times[:, column]
        for turn in range(1, int(here.max(initial=0)) + 1):
            at = np.flatnonzero(here >= turn)
            mean, variance = means[:, :, at], variances[:, :, at]
            for duel in duels:
                _play(mean, variance, duel, game)
            means[:, :, at], variances[:, :, at] = mean, variance
    return means.transpose(1, 2, 0)


def _play(mean: FloatArray, variance: FloatArray, duel: Match, game: Game) -> None:
    """Update the skills of one comparison, in place; see `gecjury.skill.rate` for the formulas."""
    metrics = mean.shape[1]
    for rows, drawn in ((duel.won, False), (duel.drawn, True)):
        if not len(rows):
            continue
        whole = len(rows) == metrics
        pick = slice(None) if whole else rows
        a, b = mean[duel.first, pick], mean[duel.second, pick]
        one, two = variance[duel.first, pick], variance[duel.second, pick]
        spread = one + two
        spread += 2 * game.beta**2
        scale = np.sqrt(spread)
        gap = a - b
        gap /= scale
        width = game.margin / scale
        v, w = _drawn(gap, width) if drawn else _won(gap, width, duel.signs)
        v /= scale
        w /= spread
        w *= -1.0
        mean[duel.first, pick] = a + one * v
        mean[duel.second, pick] = b - two * v
        for place, own in ((duel.first, one), (duel.second, two)):
            kept = own * w
            kept += 1.0
            kept *= own
            variance[place, pick] = kept


def _won(gap: FloatArray, width: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corrections of a decided comparison; v bears the sign of the winner."""
    from scipy.special import ndtr

    x = gap * signs
    x -= width
    mass = ndtr(x)
    v = x * x
    v *= -0.5
    np.exp(v, out=v)
    v *= _DENSITY
    if x.min(initial=0.0) < _TAIL:
        far = mass <= 0
        mass[far] = 1.0
        v = np.where(far, -x, v / mass)
    else:
        v /= mass
    w = x
    w += v
    w *= v
    np.minimum(w, 1.0, out=w)
    v *= signs
    return v, w


def _drawn(gap: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corrections of a draw."""
    from scipy.special import ndtr

    size = np.abs(gap)
    upper, lower = width - size, -width - size
    mass = ndtr(upper) - ndtr(lower)
    high = _DENSITY * np.exp(-0.5 * upper * upper)
    low = _DENSITY * np.exp(-0.5 * lower * lower)
    empty = mass <= 0
    mass[empty] = 1.0
    v = (low - high) / mass
    w = v * v + (upper * high - lower * low) / mass
    v = np.where(empty, upper, v)
    w = np.where(empty, 1.0, np.minimum(w, 1.0))
    return np.where(gap < 0, -v, v), w

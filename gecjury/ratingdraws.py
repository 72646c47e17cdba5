"""How steady correlations with ratings are: the same, of corpora drawn anew, all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.ratings import rated_points, within_sources

__all__ = ["rating_draws", "weighted_pearsons"]


_CHUNK = 100  # draws that are laid out at a time


def rating_draws(
    benchmark: Benchmark, sentences: FloatArray, counts: FloatArray
) -> dict[str, dict[str, FloatArray]]:
    """Correlations with ratings over resampled sources.

    A source drawn twice brings all its corrections twice.

    Args:
        benchmark: its `rated` tables are read.
        sentences: a metric's scores, systems × sentences.
        counts: how often each source stands in each draw, draws × sentences.

    Returns:
        By aspect and statistic (`pearson`, `spearman`, `within`) one value a draw; NaN where a
        draw does not define it.
    """
    found = {}
    for aspect, ratings in benchmark.rated.items():
        points = rated_points(benchmark.corpus, ratings, sentences)
        weights = counts[:, points.source]
        taus, sources = within_sources(points.human, points.metric, points.scored)
        drawn = counts[:, sources]
        total = drawn.sum(axis=1)
        within = np.full(len(counts), np.nan)
        np.divide(drawn @ taus, total, out=within, where=total > 0)
        found[aspect] = {
            "pearson": weighted_pearsons(weights, points.ratings, points.scores),
            "spearman": _spearmans(weights, points.ratings, points.scores),
            "within": within,
        }
    return found


def weighted_pearsons(weights: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's r of the points (n,) under each draw's weights, draws × n; NaN where undefined."""
    varies = _varies(_held(weights, x)) & _varies(_held(weights, y))
    # Centred and scaled first: a draw's mean is near, so that little cancels.
    a, b = _standard(x), _standard(y)
    total = weights.sum(axis=1)
    sums = weights @ np.stack([a, b, a * a, b * b, a * b], axis=1)
    return _from_sums(total, sums.T, varies)


def _standard(values: FloatArray) -> FloatArray:
    """The values around their mean, at most 1 in size."""
    centred = values - values.mean() if len(values) else values
    scale = np.abs(centred).max(initial=0.0)
    scaled: FloatArray = centred / scale if scale > 0 else centred
    return scaled


def _from_sums(total: FloatArray, sums: FloatArray, varies: NDArray[np.bool_]) -> FloatArray:
    """Pearson's r from Σa, Σb, Σa², Σb², Σab of each draw."""
    one, two, square, other, product = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (square - one * one / total) * (other - two * two / total)
        r: FloatArray = (product - one * two / total) / np.sqrt(spread)
    r[~varies] = np.nan
    return np.clip(r, -1.0, 1.0)


def _held(weights: FloatArray, values: FloatArray) -> FloatArray:
    """How much weight each distinct value has, ascending: draws × values."""
    if not len(values):
        return np.zeros((len(weights), 0))
    order = np.argsort(values, kind="stable")
    starts = np.nonzero(np.diff(values[order], prepend=np.nan) != 0)[0]
    return np.add.reduceat(weights[:, order], starts, axis=1)


def _varies(held: FloatArray) -> NDArray[np.bool_]:
    """Which draws hold more than one value."""
    varies: NDArray[np.bool_] = np.count_nonzero(held, axis=1) > 1
    return varies


def _spearmans(weights: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman's ρ: Pearson's r of the ranks that the points have in each draw."""
    found = np.empty(len(weights))
    place_x = np.unique(x, return_inverse=True)[1]
    place_y = np.unique(y, return_inverse=True)[1]
    for at in range(0, len(weights), _CHUNK):
        part = weights[at : at + _CHUNK]
        held_x, held_y = _held(part, x), _held(part, y)
        total = part.sum(axis=1)
        # The mean rank of n points is (n + 1) / 2, whatever the ties.
        middle = (total[:, None] + 1) / 2
        ranks_x, ranks_y = _ranks(held_x) - middle, _ranks(held_y) - middle
        sums = [
            np.zeros(len(part)),
            np.zeros(len(part)),
            (held_x * ranks_x**2).sum(axis=1),
            (held_y * ranks_y**2).sum(axis=1),
            (part * ranks_x[:, place_x] * ranks_y[:, place_y]).sum(axis=1),
        ]
        varies = _varies(held_x) & _varies(held_y)
        found[at : at + _CHUNK] = _from_sums(total, np.array(sums), varies)
    return found


def _ranks(held: FloatArray) -> FloatArray:
    """The rank of each value, points of equal value sharing the mean of theirs."""
    ranks: FloatArray = held.cumsum(axis=1) - (held - 1) / 2
    return ranks

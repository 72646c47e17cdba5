"""Pearson, Spearman, Kendall's τ-b and pairwise accuracy, for two vectors and row by row.

The functions with plural names do the arithmetic, both for one row and for the thousands of rows of
a bootstrap or a permutation test. Those with singular names drop missing points (NaN) and pass one
row to them. A correlation that is not defined is NaN.

Weights say how often each point of a row counts: a point drawn k times in a bootstrap counts k
times. A point of weight 0 is ignored, and may be missing.

τ-b of long rows is computed by `scipy.stats.kendalltau`, which accepts one row at a time. On short
rows it is ten times slower than a comparison of every pair. Ranks are computed here, because
`scipy.stats.rankdata` has no weights and importing `scipy.stats` takes longer than ranking all
scores of a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import BoolArray, FloatArray, IntArray, NumberArray, blocks, draw_weights

_CHUNK = 100  # weighted rows that are ranked at a time; bounds memory
_LONG = 1000  # the most points of a row for which all pairs are compared


def pearson(x: NumberArray, y: NumberArray) -> float:
    """Return Pearson's product-moment correlation.

    Args:
        x: scores, shape (n,).
        y: scores of the same things, shape (n,).

    Returns:
        Between -1 and 1; NaN for fewer than 3 points, a constant vector or an infinite score.
    """
    return _of_present(pearsons, x, y, 3)


def spearman(x: NumberArray, y: NumberArray) -> float:
    """Return Spearman's rank correlation: Pearson's r of the ranks, ties sharing their mean rank.

    Args:
        x: scores, shape (n,).
        y: scores of the same things, shape (n,).

    Returns:
        Between -1 and 1; NaN for fewer than 3 points or a constant vector.
    """
    return _of_present(spearmans, x, y, 3)


def kendall(x: NumberArray, y: NumberArray) -> float:
    """Return Kendall's τ-b: (concordant - discordant) / √(untied pairs in x · untied pairs in y).

    Args:
        x: scores, shape (n,).
        y: scores of the same things, shape (n,).

    Returns:
        Between -1 and 1; NaN for fewer than 2 points or a constant vector.
    """
    return _of_present(taus, x, y, 2)


def _of_present(
    measure: Callable[[FloatArray, FloatArray], FloatArray],
    x: NumberArray,
    y: NumberArray,
    least: int,
) -> float:
    """Return a measure of the points present in both vectors; NaN if fewer than `least`."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    present = ~(np.isnan(a) | np.isnan(b))
    if np.count_nonzero(present) < least:
        return float("nan")
    return float(measure(a[present][None], b[present][None])[0])


def pearsons(x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return Pearson's r of every row.

    Args:
        x: scores, B × n, or 1 × n if all rows have the same scores.
        y: scores of the same things, of either shape.
        weights: count of each point, B × n; None for once.

    Returns:
        Shape (B,), between -1 and 1; NaN where a point that counts is missing or infinite, and
        where either side is constant.
    """
    defined = _varies(x, weights, finite=True) & _varies(y, weights, finite=True)
    # Points shared by many rows are centred only once: their mean is near that of every row.
    shared = len(x) == len(y) == 1 and bool(np.isfinite(x).all() and np.isfinite(y).all())
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = (_standard(side, None if shared else weights) for side in (x, y))
        products = a * a, b * b, a * b
        if shared and weights is not None:
            sums = weights @ np.concatenate([a, b, *products]).T
            r = pearson_of_sums(weights.sum(axis=1), *sums.T)
        else:
            # A row minus its own mean sums up to 0.
            r = _pearson_around_0(*(_totals(part, weights) for part in products))
    return np.where(defined, r, np.nan)


def _pearson_around_0(xx: FloatArray, yy: FloatArray, xy: FloatArray) -> FloatArray:
    """Return `pearson_of_sums` where both sums are 0, whatever the weight."""
    nothing = np.zeros(1)
    return pearson_of_sums(np.ones(1), nothing, nothing, xx, yy, xy)


def pearson_of_sums(
    total: FloatArray, x: FloatArray, y: FloatArray, xx: FloatArray, yy: FloatArray, xy: FloatArray
) -> FloatArray:
    """Return Pearson's r from the weight of all points and Σx, Σy, Σx², Σy², Σxy, elementwise.

    Subtract roughly the mean from both sides first: sums of values near 0 lose little precision by
    cancellation.

    Returns:
        An array of the sums' shape.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / total) * (yy - y * y / total)
        r: FloatArray = (xy - x * y / total) / np.sqrt(spread)
    return np.clip(r, -1.0, 1.0)


def spearmans(x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return Spearman's ρ of every row: Pearson's r of the ranks, ties sharing their mean rank.

    Args:
        x: scores, B × n, or 1 × n if all rows have the same scores.
        y: scores of the same things, of either shape.
        weights: count of each point, B × n; None for once.

    Returns:
        Shape (B,), between -1 and 1; NaN where a point that counts is missing and where either
        side is constant.
    """
    if weights is not None and len(weights) > _CHUNK:
        parts = []
        for start in range(0, len(weights), _CHUNK):
            rows = slice(start, start + _CHUNK)
            a, b = (side if len(side) == 1 else side[rows] for side in (x, y))
            parts.append(spearmans(a, b, weights[rows]))
        return np.concatenate(parts)
    defined = _varies(x, weights) & _varies(y, weights)
    with np.errstate(invalid="ignore"):
        # The mean of n ranks is (n + 1) / 2, whatever the ties. The differences from it are
        # multiples of one half, whose products and sums are exact.
        times = np.ones((1, x.shape[1])) if weights is None else weights
        middle = (times.sum(axis=1, keepdims=True) + 1) / 2
        a, b = _ranks(x, times) - middle, _ranks(y, times) - middle
        rho = _pearson_around_0(*(_totals(part, weights) for part in (a * a, b * b, a * b)))
    return np.where(defined, rho, np.nan)


def taus(x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return Kendall's τ-b of every row.

    Args:
        x: scores, B × n, or 1 × n if all rows have the same scores.
        y: scores of the same things, of either shape.
        weights: count of each point, B × n whole numbers; None for once.

    Returns:
        Shape (B,), between -1 and 1; NaN where a point that counts is missing and where either
        side is constant.
    """
    return _of_pairs(x, y, weights)[0]


def tau_of_pairs(balance: FloatArray, untied: FloatArray, other: FloatArray) -> FloatArray:
    """Return Kendall's τ-b from counts of pairs, elementwise; NaN if a side has only ties.

    Args:
        balance: concordant minus discordant pairs.
        untied: pairs untied on one side.
        other: pairs untied on the other side.

    Returns:
        An array of the counts' shape.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        # Divide in scipy's order, so that results of this function and of scipy are identical.
        tau: FloatArray = balance / np.sqrt(untied) / np.sqrt(other)
    return np.clip(tau, -1.0, 1.0)


def pairwise_accuracies(
    human: FloatArray, metric: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return pairwise accuracy of every row; human ties are left out, metric ties count one half.

    Args:
        human: human scores, B × n, or 1 × n if all rows have the same scores.
        metric: metric scores, of either shape.
        weights: count of each point, B × n; None for once.

    Returns:
        Shape (B,), between 0 and 1; NaN where a point that counts is missing and where either side
        is constant.
    """
    return _of_pairs(human, metric, weights)[1]


def signs(first: NumberArray, second: NumberArray) -> NDArray[np.int8]:
    """Return +1 where the first is higher, -1 where the second is, 0 where equal or missing."""
    return (first > second).astype(np.int8) - (first < second)


def _totals(values: NumberArray, weights: FloatArray | None) -> FloatArray:
    """Return the weighted sum of every row."""
    total: FloatArray = values.sum(axis=1) if weights is None else (weights * values).sum(axis=1)
    return total


def _varies(values: FloatArray, weights: FloatArray | None, *, finite: bool = False) -> BoolArray:
    """Return True for rows that vary and whose points that count are known (and, if asked, finite).

    Args:
        values: B × n or 1 × n.
        weights: count of each point, or None for once.
        finite: treat infinite points as missing.
    """
    low = high = values
    if weights is not None:
        low = np.where(weights > 0, values, np.inf)
        high = np.where(weights > 0, values, -np.inf)
    # Comparisons with NaN are False, so a row with a missing score does not count as varying.
    least, most = low.min(axis=1, initial=np.inf), high.max(axis=1, initial=-np.inf)
    varies: BoolArray = least < most
    return varies & np.isfinite(least) & np.isfinite(most) if finite else varies


def _standard(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return every row's values minus their mean, scaled to at most 1; 0 for points of weight 0.

    Scaling keeps squares of tiny or huge scores within the range of a float.
    """
    if not values.shape[1]:
        return values
    if weights is None:
        centred = values - values.mean(axis=1, keepdims=True)
    else:
        counts = weights > 0
        counted = np.where(counts, values, 0.0)
        means = (weights * counted).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
        centred = np.where(counts, counted - means, 0.0)
    scaled: FloatArray = centred / np.abs(centred).max(axis=1, keepdims=True, initial=0.0)
    return scaled


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ranks from 1 within every row, equal values sharing their mean rank.

    Args:
        values: B × n or 1 × n.
        weights: count of each point, B × n or 1 × n.
    """
    if not values.shape[1]:
        return values
    order = values.argsort(axis=1, kind="stable")
    ascending = _take(values, order)
    place = np.arange(values.shape[1])
    steps = ascending[:, 1:] != ascending[:, :-1]
    ends = np.ones((len(values), 1), dtype=np.bool_)
    # The first and the last place of the values equal to that at each place.
    first = np.maximum.accumulate(np.where(np.hstack([ends, steps]), place, 0), axis=1)
    last = np.where(np.hstack([steps, ends]), place, len(place))
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    held = _take(weights, order)
    total = held.cumsum(axis=1)
    below = _take(total - held, first)
    ranks = (below + _take(total, last) + 1) / 2
    return _take(ranks, order.argsort(axis=1, kind="stable"))


def _take(values: FloatArray, places: IntArray) -> FloatArray:
    """Return the values at the places of each row; one row of places is used for all rows."""
    if len(places) == 1:
        return values[:, places[0]]
    return np.take_along_axis(values, places, 1)


def _of_pairs(
    x: FloatArray, y: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return `taus` and `pairwise_accuracies` of every row, which count the same pairs."""
    defined = _varies(x, weights) & _varies(y, weights)
    balance, untied, other = _pair_sums(x, y, weights, defined)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracies = (balance / untied + 1) / 2
    tau = tau_of_pairs(balance, untied, other)
    return np.where(defined, tau, np.nan), np.where(defined, accuracies, np.nan)


def _pair_sums(
    x: FloatArray, y: FloatArray, weights: FloatArray | None, defined: BoolArray
) -> FloatArray:
    """Return every row's balance of pairs and its pairs untied in x and in y (`tau_of_pairs`).

    Copies of a point are tied on both sides, so they add nothing.
    """
    if x.shape[1] > _LONG:
        return _long_pair_sums(x, y, weights, defined)
    first, second = np.triu_indices(x.shape[1], 1)
    totals = np.empty((3, max(len(x), len(y), 1 if weights is None else len(weights))))
    # These are sums of whole numbers, so the number of rows in a block does not change them.
    for part in blocks(totals.shape[1], len(first)):
        left, right = (side if len(side) == 1 else side[part] for side in (x, y))
        a, b = signs(left[:, first], left[:, second]), signs(right[:, first], right[:, second])
        times = None
        if weights is not None:
            counts = weights if len(weights) == 1 else weights[part]
            times = counts[:, first] * counts[:, second]
        for total, products in zip(totals, (a * b, a * a, b * b), strict=True):
            total[part] = _totals(products, times)
    return totals


def _long_pair_sums(
    x: FloatArray, y: FloatArray, weights: FloatArray | None, defined: BoolArray
) -> FloatArray:
    """Return `_pair_sums` of the defined rows in n log n steps, NaN for the others.

    τ-b is the balance divided by the roots of the pairs untied on either side. All three are whole
    numbers below 2⁵³, so rounding recovers the balance exactly from scipy's τ.
    """
    from scipy.stats import kendalltau

    # Rows that are not defined are not sorted.
    totals = np.full((3, len(defined)), np.nan)
    left, right = (np.broadcast_to(side, (len(defined), x.shape[1])) for side in (x, y))
    for row in np.flatnonzero(defined).tolist():
        # Repeat every point as often as it counts.
        times = 1 if weights is None else weights[row].astype(np.int64)
        a, b = np.repeat(left[row], times), np.repeat(right[row], times)
        untied = _untied(a), _untied(b)
        balance = round(kendalltau(a, b).statistic * math.prod(map(math.sqrt, untied)))
        totals[:, row] = balance, *untied
    return totals


def _untied(values: FloatArray) -> int:
    """Return the number of pairs of different values."""
    _, counts = np.unique(values, return_counts=True)
    return math.comb(len(values), 2) - int((counts * (counts - 1) // 2).sum())


MEASURES: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "pearson": pearsons,
    "spearman": spearmans,
    "kendall": taus,
    "pairwise_accuracy": pairwise_accuracies,
}
"""The statistics of systems: human scores and a metric's, both B × S, in, and B values out.

A function that is added here has its figure, interval and differences in every result.
"""


def correlations(
    human: FloatArray, metric: FloatArray, systems: IntArray | None = None
) -> dict[str, FloatArray]:
    """Return every one of `MEASURES` for every draw.

    Args:
        human: B × S, or 1 × S if the scores are the same in every draw.
        metric: B × S or 1 × S as well.
        systems: B × S indices of resampled systems; None if systems are not drawn.

    Returns:
        Arrays of shape (B,) by name; NaN for draws of fewer than three different systems, for
        constant scores and for missing ones.
    """
    rows = max(len(human), len(metric), 1 if systems is None else len(systems))
    width = human.shape[1]
    x = np.broadcast_to(human, (rows, width))
    y = np.broadcast_to(metric, (rows, width))
    few = np.full(rows, width < 3)
    if systems is not None:
        x, y = np.take_along_axis(x, systems, 1), np.take_along_axis(y, systems, 1)
        few = (draw_weights(systems, width) > 0).sum(axis=1) < 3
    # Two of them count the same pairs.
    tau, accuracy = _of_pairs(x, y, None)
    counted = {"kendall": tau, "pairwise_accuracy": accuracy}
    by_name = {
        name: counted[name] if name in counted else measure(x, y)
        for name, measure in MEASURES.items()
    }
    for values in by_name.values():
        values[few] = np.nan
    return by_name

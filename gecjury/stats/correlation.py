"""How well metric scores agree with human ones: between systems, and pair by pair.

Arrays in, numbers out. A missing score (NaN) takes its point or its pair out, and pairs left out
are counted. A correlation that is not defined is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray, draw_weights
from gecjury.errors import OptionError

__all__ = [
    "correlations",
    "kendall",
    "pairwise_accuracies",
    "pairwise_accuracy",
    "pearson",
    "pearsons",
    "spearman",
    "spearmans",
    "taus",
]


def _points(x: NDArray[Any], y: NDArray[Any], least: int) -> tuple[FloatArray, FloatArray] | None:
    """The points present in both; None if too few or if either is constant."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise OptionError(f"scores of shapes {a.shape} and {b.shape}: expected two equal vectors")
    present = ~(np.isnan(a) | np.isnan(b))
    a, b = a[present], b[present]
    if len(a) < least or (a == a[0]).all() or (b == b[0]).all():
        return None
    return a, b


def _product_moment(a: FloatArray, b: FloatArray) -> float:
    """Pearson's r of two vectors that are not constant."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    # Scaled first, so that squares of tiny or huge scores stay within the range of a float.
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    r = float((a / np.linalg.norm(a)) @ (b / np.linalg.norm(b)))
    return max(-1.0, min(1.0, r))


def pearson(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Pearson's product-moment correlation.

    Args:
        x: scores, shape (n,).
        y: scores of the same things, shape (n,).

    Returns:
        Between -1 and 1; NaN for fewer than 3 points, a constant vector or an infinite score.

    Raises:
        OptionError: the shapes differ or are not one-dimensional.
    """
    points = _points(x, y, 3)
    return float("nan") if points is None else _product_moment(*points)


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[inverse]


def spearman(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, ties sharing their mean rank.

    Args:
        x: scores, shape (n,).
        y: scores of the same things, shape (n,).

    Returns:
        Between -1 and 1; NaN for fewer than 3 points or a constant vector.

    Raises:
        OptionError: the shapes differ or are not one-dimensional.
    """
    points = _points(x, y, 3)
    if points is None:
        return float("nan")
    return _product_moment(_ranks(points[0]), _ranks(points[1]))


def kendall(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Kendall's τ-b: (concordant - discordant) / √(pairs untied in x · pairs untied in y).

    Args:
        x: scores, shape (n,).
        y: scores of the same things, shape (n,).

    Returns:
        Between -1 and 1; NaN for fewer than 2 points or a constant vector.

    Raises:
        OptionError: the shapes differ or are not one-dimensional.
    """
    points = _points(x, y, 2)
    if points is None:
        return float("nan")
    a, b = points
    balance = untied_a = untied_b = 0
    for i in range(len(a) - 1):
        sign_a = (a[i + 1 :] > a[i]).astype(np.int64) - (a[i + 1 :] < a[i])
        sign_b = (b[i + 1 :] > b[i]).astype(np.int64) - (b[i + 1 :] < b[i])
        balance += int(sign_a @ sign_b)
        untied_a += int(np.count_nonzero(sign_a))
        untied_b += int(np.count_nonzero(sign_b))
    return float(balance / np.sqrt(untied_a) / np.sqrt(untied_b))


def pairwise_accuracy(human: NDArray[Any], metric: NDArray[Any]) -> float:
    """Share of pairs of systems that a metric orders as the human scores do (Kocmi et al. 2021).

    Pairs with equal human scores are left out; a pair that the metric ties counts one half.

    Args:
        human: human scores, shape (systems,).
        metric: metric scores, shape (systems,).

    Returns:
        Between 0 and 1; NaN for fewer than 3 systems or a constant vector.

    Raises:
        OptionError: the shapes differ or are not one-dimensional.
    """
    points = _points(human, metric, 3)
    if points is None:
        return float("nan")
    first, second = np.triu_indices(len(points[0]), 1)
    wanted, given = (_signs(scores[first], scores[second]) for scores in points)
    decided = wanted != 0
    return float(((wanted * given)[decided].mean() + 1) / 2)


def _signs(first: FloatArray, second: FloatArray) -> NDArray[np.int64]:
    """+1 where the first is higher, -1 where the second is, 0 where they are equal."""
    return (first > second).astype(np.int64) - (first < second)


def _undefined(values: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows that hold a missing score or nothing but equal ones."""
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~np.isfinite(values).all(axis=1) | (
        values == values[:, :1]
    ).all(axis=1)
    return found


def pearsons(x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's r of every row: B × n and B × n to B; NaN where not defined."""
    undefined = _undefined(x) | _undefined(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        a /= np.abs(a).max(axis=1, keepdims=True)
        b /= np.abs(b).max(axis=1, keepdims=True)
        r = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    r[undefined] = np.nan
    clipped: FloatArray = np.clip(r, -1.0, 1.0)
    return clipped


def _row_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1 within every row, equal values sharing the mean of theirs."""
    below = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    alike = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    ranks: FloatArray = below + (alike + 1) / 2
    return ranks


def spearmans(x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman's rank correlation of every row, ties sharing their mean rank."""
    found = pearsons(_row_ranks(x), _row_ranks(y))
    found[_undefined(x) | _undefined(y)] = np.nan
    return found


def _pair_signs(values: FloatArray) -> FloatArray:
    """Sign of the difference of every two columns: B × n to B × n(n − 1)/2."""
    first, second = np.triu_indices(values.shape[1], 1)
    signs: FloatArray = np.sign(values[:, first] - values[:, second])
    return signs


def taus(x: FloatArray, y: FloatArray) -> FloatArray:
    """Kendall's τ-b of every row."""
    undefined = _undefined(x) | _undefined(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = _pair_signs(x), _pair_signs(y)
        found = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1)) / np.sqrt((b * b).sum(axis=1))
    found[undefined] = np.nan
    return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


def pairwise_accuracies(human: FloatArray, metric: FloatArray) -> FloatArray:
    """Pairwise accuracy of every row: pairs that humans tie are left out, metric ties half."""
    undefined = _undefined(human) | _undefined(metric)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = _pair_signs(human), _pair_signs(metric)
        found = ((a * b).sum(axis=1) / (a * a).sum(axis=1) + 1) / 2
    found[undefined] = np.nan
    return np.asarray(found, dtype=np.float64)


def correlations(
    human: FloatArray, metric: FloatArray, systems: IntArray | None = None
) -> dict[str, FloatArray]:
    """All system-level correlations of every draw.

    Args:
        human: B × S, or 1 × S where the scores stay as they are.
        metric: likewise.
        systems: B × S indices of resampled systems; None keeps them.

    Returns:
        By name, shape (B,); NaN for draws of fewer than three different systems, for constant
        scores and for missing ones.
    """
    rows = max(len(human), len(metric), 1 if systems is None else len(systems))
    width = human.shape[1]
    x = np.broadcast_to(human, (rows, width))
    y = np.broadcast_to(metric, (rows, width))
    few = np.full(rows, width < 3)
    if systems is not None:
        x, y = np.take_along_axis(x, systems, 1), np.take_along_axis(y, systems, 1)
        few = (draw_weights(systems, width) > 0).sum(axis=1) < 3
    found = {
        "pearson": pearsons(x, y),
        "spearman": spearmans(x, y),
        "kendall": taus(x, y),
        "pairwise_accuracy": pairwise_accuracies(x, y),
    }
    for values in found.values():
        values[few] = np.nan
    return found

"""Kernel ridge regression with a Gaussian kernel: fitted in seconds, exact, without torch.

Not scikit-learn's, whose loss has no term for differences between corrections of one source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.runtime import Bar
from gecjury.stats.correlation import spearman

PENALTIES = (0.75, 1.5, 3.0, 6.0)
"""Ridge penalties tried."""

WIDTHS = (0.6, 1.0, 1.6)
"""Factors on the weights of the blocks that are tried."""

_CLIP = 5.0
_ROWS = 1024
_DIGITS = 5

Block = tuple[FloatArray, float]
"""N × columns, and their weight γ: the kernel is exp(−Σ γ · mean squared difference)."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted regression.

    Attributes:
        mean: of each column over the training rows.
        deviation: of each column over the training rows; columns are cut at ±5 deviations.
        factor: √(γ/columns) of each column's block.
        points: training rows, standardised and multiplied by `factor`, n × columns.
        weights: of the training rows.
        bias: mean rating.
    """

    mean: FloatArray
    deviation: FloatArray
    factor: FloatArray
    points: FloatArray
    weights: FloatArray
    bias: float

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Predicted ratings of rows, rounded to five digits: encoders' last bits vary."""
        rows = _place(inputs, self.mean, self.deviation, self.factor)
        ratings = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            ratings[start : start + _ROWS] = np.exp(-_distances(part, self.points)) @ self.weights
        return (ratings + self.bias).round(_DIGITS)

    def arrays(self) -> dict[str, FloatArray]:
        """Everything as arrays, for a file."""
        return {**vars(self), "bias": np.array([self.bias])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> KernelModel:
        """The inverse of `arrays`.

        Raises:
            KeyError: one is absent.
            ValueError: their shapes do not fit together.
        """
        parts = [np.asarray(arrays[key], dtype=np.float64) for key in _ARRAYS]
        columns, rows = len(parts[0]), len(parts[4])
        if parts[3].shape != (rows, columns) or any(len(p) != columns for p in parts[:3]):
            raise ValueError(f"points of shape {parts[3].shape} for {rows} weights")
        if not all(np.isfinite(part).all() for part in parts) or not (parts[1] > 0).all():
            raise ValueError("numbers that are none, or a column without deviation")
        mean, deviation, factor, points, weights = parts
        return cls(mean, deviation, factor, points, weights, float(arrays["bias"][0]))


_ARRAYS = ("mean", "deviation", "factor", "points", "weights")


def joined(blocks: Sequence[Block]) -> FloatArray:
    """Return the columns of all blocks side by side, as 64-bit numbers."""
    return np.concatenate([values for values, _ in blocks], axis=1).astype(np.float64)


def fit_kernel(
    blocks: Sequence[Block],
    ratings: FloatArray,
    train: IntArray,
    dev: IntArray,
    *,
    groups: IntArray | None = None,
    within: float = 0.0,
    most: int = 0,
    bar: Bar | None = None,
) -> tuple[KernelModel, dict[str, float]]:
    """Fit on the train rows; penalty and width by dev Spearman.

    The loss is Σ (y − f)² + within · Σ (ỹ − f̃)², where ỹ and f̃ are deviations from the mean of
    a row's group.

    Args:
        blocks: what is known of the rows of all parts.
        ratings: one a row.
        train: rows to learn from.
        dev: rows to choose by.
        groups: number of each row's source; needed for `within`.
        within: how much more differences between corrections of one source count.
        most: keep at most so many training rows as points, of 16-bit numbers: those that span the
            kernel best (Nyström's approximation by pivoted Cholesky); 0 keeps all.
        bar: advances by one for each of `WIDTHS`.

    Returns:
        The model, and the dev `score` with the `penalty` and `width` chosen.
    """
    inputs = joined(blocks)
    # A block weighs the same however many columns it has: γ is shared out among them.
    factor = np.concatenate(
        [np.full(values.shape[1], (weight / values.shape[1]) ** 0.5) for values, weight in blocks]
    )
    mean, deviation = inputs[train].mean(axis=0), inputs[train].std(axis=0)
    deviation[deviation == 0] = 1.0
    # Stored as 16- or 32-bit numbers: what is fitted must be what is read back.
    kind = np.float16 if most else np.float32
    points = _place(inputs[train], mean, deviation, factor).astype(kind).astype(np.float64)
    others = _place(inputs[dev], mean, deviation, factor)
    near, far = _distances(points, points), _distances(others, points)
    bias = float(ratings[train].mean())
    members = None if groups is None else groups[train]
    kept = np.arange(len(train))
    best: tuple[float, float, float, FloatArray, IntArray] | None = None
    for width in WIDTHS:
        kernel, across = np.exp(-width * near), np.exp(-width * far)
        if most and most < len(train):
            kept = _spanning(kernel, most)
        for penalty in PENALTIES:
            weights = _solve(kernel, ratings[train] - bias, penalty, members, within, kept)
            rho = spearman(ratings[dev], across[:, kept] @ weights)
            rho = -1.0 if np.isnan(rho) else rho
            if best is None or rho > best[0]:
                best = (rho, penalty, width, weights, kept)
        if bar is not None:
            bar.advance()
    assert best is not None  # both grids have entries
    score, penalty, width, weights, kept = best
    root = width**0.5
    model = KernelModel(mean, deviation, factor * root, points[kept] * root, weights, bias)
    return model, {"score": score, "penalty": penalty, "width": width}


def _spanning(kernel: FloatArray, most: int) -> IntArray:
    """Return the rows whose columns of the kernel span it best, found by pivoted Cholesky."""
    from scipy.linalg.lapack import dpstrf

    # LAPACK counts from 1, and orders the rows by what they add to those before them.
    order: IntArray = dpstrf(kernel)[1].astype(np.int64) - 1
    return order[:most]


def _solve(
    kernel: FloatArray,
    centred: FloatArray,
    penalty: float,
    groups: IntArray | None,
    within: float,
    kept: IntArray,
) -> FloatArray:
    """Return the weights of the rows that are kept.

    Of all rows: (W K + penalty · I)⁻¹ W y with W = I + within · centring. Of some, with the columns
    C of the kernel and the square K of both: (Cᵀ W C + penalty · K)⁻¹ Cᵀ W y.
    """
    from scipy.linalg import solve

    if len(kept) < len(kernel):
        columns, target = kernel[:, kept], centred
        weighed = columns
        if groups is not None and within:
            weighed = columns + within * deviations(columns, groups)
            target = centred + within * deviations(centred, groups)
        left = columns.T @ weighed + penalty * columns[kept]
        some: FloatArray = solve(left, columns.T @ target)
        return some
    if groups is None or within == 0:
        ridge = kernel + penalty * np.eye(len(kernel))
        weights: FloatArray = solve(ridge, centred, assume_a="pos", overwrite_a=True)
        return weights
    left = kernel + within * deviations(kernel, groups) + penalty * np.eye(len(kernel))
    weights = solve(left, centred + within * deviations(centred, groups), overwrite_a=True)
    return weights


def deviations(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return rows less the mean row of their group."""
    _, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), *values.shape[1:]))
    np.add.at(sums, place, values)
    means = sums / counts.reshape(-1, *[1] * (values.ndim - 1))
    deviations: FloatArray = values - means[place]
    return deviations


def _place(
    inputs: FloatArray, mean: FloatArray, deviation: FloatArray, factor: FloatArray
) -> FloatArray:
    """Rows as points between which plain squared distances count."""
    placed: FloatArray = np.clip((inputs - mean) / deviation, -_CLIP, _CLIP) * factor
    return placed


def _distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Squared distances, rows of `left` × rows of `right`."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    distances: FloatArray = np.maximum(squares - 2.0 * left @ right.T, 0.0)
    return distances

"""Kernel ridge regression with a Gaussian kernel: exact, fitted in seconds, without torch.

scikit-learn's version has no loss term for differences between corrections of one source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Bar
from gecjury.stats.correlation import spearman

PENALTIES = (0.75, 1.5, 3.0, 6.0)
"""Ridge penalties tried."""

WIDTHS = (0.6, 1.0, 1.6)
"""Factors tried on the weights of the blocks."""

TRIED = len(PENALTIES) * len(WIDTHS)
"""Number of settings tried by a fit."""

_CLIP = 5.0
_ROWS = 1024
_DIGITS = 5

Block = tuple[FloatArray, float]
"""N × columns, and the block's weight γ: the kernel is exp(−Σ γ · mean squared difference)."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted regression.

    Attributes:
        mean: mean of each column over the training rows.
        deviation: deviation of each column over the training rows; values are clipped at ±5
            deviations.
        factor: √(γ/columns) of each column's block.
        points: training rows, standardised and multiplied by `factor`, n × columns.
        weights: weights of the training rows.
        bias: mean rating.
    """

    mean: FloatArray
    deviation: FloatArray
    factor: FloatArray
    points: FloatArray
    weights: FloatArray
    bias: float

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Return predicted ratings of rows, rounded to five digits as encoders' last bits vary."""
        rows = _place(inputs, self.mean, self.deviation, self.factor)
        ratings = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            ratings[start : start + _ROWS] = np.exp(-_distances(part, self.points)) @ self.weights
        return (ratings + self.bias).round(_DIGITS)

    def arrays(self) -> dict[str, FloatArray]:
        """Return all attributes as arrays, for a file."""
        return {**vars(self), "bias": np.array([self.bias])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> KernelModel:
        """Create a model from the result of `arrays`.

        Raises:
            KeyError: an array is missing.
            ValueError: the shapes do not fit together, or values are not valid.
        """
        parts = [np.asarray(arrays[key], dtype=np.float64) for key in _ARRAYS]
        columns, rows = len(parts[0]), len(parts[4])
        if parts[3].shape != (rows, columns) or any(len(p) != columns for p in parts[:3]):
            raise ValueError(f"points of shape {parts[3].shape} for {rows} weights")
        if not all(np.isfinite(part).all() for part in parts) or not (parts[1] > 0).all():
            raise ValueError("values that are not finite, or a column without deviation")
        mean, deviation, factor, points, weights = parts
        return cls(mean, deviation, factor, points, weights, float(arrays["bias"][0]))


_ARRAYS = ("mean", "deviation", "factor", "points", "weights")


def joined(blocks: Sequence[Block]) -> FloatArray:
    """Return the columns of all blocks side by side, in 64 bits."""
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
    """Fit on the train rows; choose penalty and width by dev Spearman.

    The loss is Σ (y − f)² + within · Σ (ỹ − f̃)², where ỹ and f̃ are deviations from the mean of
    a row's group.

    Args:
        blocks: inputs for the rows of all parts.
        ratings: one per row.
        train: rows to fit on.
        dev: rows to choose the settings by.
        groups: number of each row's source; needed for `within`.
        within: extra weight of differences between corrections of one source.
        most: keep at most this many training rows as points, in 16 bits: those that span the kernel
            best (Nyström's approximation by pivoted Cholesky); 0 keeps all.
        bar: progress bar; advances `TRIED` steps, one for every penalty and width.

    Returns:
        The model, and the dev `score` with the `penalty` and `width` chosen.
    """
    inputs = joined(blocks)
    # γ is divided among a block's columns, so that its weight does not depend on their number.
    factor = np.concatenate(
        [np.full(values.shape[1], (weight / values.shape[1]) ** 0.5) for values, weight in blocks]
    )
    mean, deviation = inputs[train].mean(axis=0), inputs[train].std(axis=0)
    deviation[deviation == 0] = 1.0
    # Points are stored in 16 or 32 bits, so they must be rounded like that before the fit.
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

    # LAPACK counts from 1. Its pivots order the rows by what each adds to those before it.
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

    For all rows: (W K + penalty · I)⁻¹ W y with W = I + within · centring. For some rows, with
    their columns C of the kernel and their square K: (Cᵀ W C + penalty · K)⁻¹ Cᵀ W y.
    """
    from scipy.linalg import solve

    columns = kernel if len(kept) == len(kernel) else kernel[:, kept]
    weighed, target = columns, centred
    if groups is not None and within:
        weighed = columns + within * deviations(columns, groups)
        target = centred + within * deviations(centred, groups)
    weights: FloatArray
    if columns is kernel:
        ridge = weighed + penalty * np.eye(len(kernel))
        symmetric = weighed is kernel
        weights = solve(ridge, target, assume_a="pos" if symmetric else "gen", overwrite_a=True)
    else:
        weights = solve(columns.T @ weighed + penalty * columns[kept], columns.T @ target)
    return weights


def deviations(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return each row minus the mean row of its group."""
    _, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), *values.shape[1:]))
    np.add.at(sums, place, values)
    means = sums / counts.reshape(-1, *[1] * (values.ndim - 1))
    deviations: FloatArray = values - means[place]
    return deviations


def _place(
    inputs: FloatArray, mean: FloatArray, deviation: FloatArray, factor: FloatArray
) -> FloatArray:
    """Return standardised, clipped and scaled rows, between which squared distances are taken."""
    placed: FloatArray = np.clip((inputs - mean) / deviation, -_CLIP, _CLIP) * factor
    return placed


def _distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return squared distances, rows of `left` × rows of `right`."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    distances: FloatArray = np.maximum(squares - 2.0 * left @ right.T, 0.0)
    return distances

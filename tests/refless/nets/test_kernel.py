"""Kernel ridge regression by hand, and on made-up data."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.refless.nets.kernel import PENALTIES, WIDTHS, KernelModel, fit_kernel

ROWS = np.arange(60)


def made_up(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(count, 3))
    return values, np.sin(2 * values[:, 0]) + values[:, 1] ** 2 + 3


def test_predictions_by_hand() -> None:
    # One column, mean 1, deviation 2, factor √.5; points at −1 and 1 deviations: x = 3 is at
    # √.5, so the distances are (√.5 + √.5)² = 2 and 0: 2.5 + .3·e⁻² + .7·1 = 3.2406.
    root = 0.5**0.5
    model = KernelModel(
        np.array([1.0]), np.array([2.0]), np.array([root]), np.array([[-root], [root]]),
        np.array([0.3, 0.7]), 2.5,
    )  # fmt: skip
    assert model(np.array([[3.0]])) == pytest.approx([2.5 + 0.3 * np.exp(-2.0) + 0.7], abs=1e-5)
    # 41 is 20 deviations away and is cut at 5: (5 − 1)²·.5 = 8 and (5 + 1)²·.5 = 18.
    far = 2.5 + 0.3 * np.exp(-18.0) + 0.7 * np.exp(-8.0)
    assert model(np.array([[41.0]])) == pytest.approx([far], abs=1e-5)


def test_fit_is_kernel_ridge_regression() -> None:
    values, ratings = made_up()
    train, dev = ROWS[:40], ROWS[40:]
    model, chosen = fit_kernel([(values[:, :2], 0.4), (values[:, 2:], 0.1)], ratings, train, dev)
    assert chosen["penalty"] in PENALTIES
    assert chosen["width"] in WIDTHS
    scaled = (values - values[train].mean(axis=0)) / values[train].std(axis=0)
    gaps = (scaled[:, None] - scaled[None]) ** 2
    # The mean over each block's columns: two columns of .2 each, one of .1.
    kernel = np.exp(
        -chosen["width"] * (0.2 * gaps[..., 0] + 0.2 * gaps[..., 1] + 0.1 * gaps[..., 2])
    )
    inner = kernel[np.ix_(train, train)] + chosen["penalty"] * np.eye(40)
    centre = ratings[train].mean()
    weights = np.linalg.solve(inner, ratings[train] - centre)
    expected = centre + kernel[np.ix_(dev, train)] @ weights
    assert model(values[dev]) == pytest.approx(expected, abs=2e-5)


def test_differences_within_groups_count_more() -> None:
    values, ratings = made_up()
    train, dev = ROWS[:40], ROWS[40:]
    groups = ROWS // 3
    model, chosen = fit_kernel([(values, 1.0)], ratings, train, dev, groups=groups, within=2.0)
    # At the minimum of the loss over the weights α the gradient 2K(W(Kα − y) + penalty·α) is 0.
    kernel = model.points @ model.points.T
    square = np.diag(kernel)
    kernel = np.exp(-(square[:, None] + square - 2 * kernel))
    same = (groups[train][:, None] == groups[train]).astype(float)
    centring = np.eye(40) - same / same.sum(axis=1, keepdims=True)
    weighed = np.eye(40) + 2.0 * centring
    gap = kernel @ model.weights - (ratings[train] - model.bias)
    assert weighed @ gap + chosen["penalty"] * model.weights == pytest.approx(0, abs=1e-9)
    plain, _ = fit_kernel([(values, 1.0)], ratings, train, dev, groups=groups)
    assert plain.weights.tolist() != model.weights.tolist()


def test_a_model_is_restored_from_its_arrays() -> None:
    values, ratings = made_up()
    model, _ = fit_kernel([(values, 1.0)], ratings, ROWS[:40], ROWS[40:])
    again = KernelModel.from_arrays(model.arrays())
    assert again(values).tolist() == model(values).tolist()
    with pytest.raises(ValueError, match="points of shape"):
        KernelModel.from_arrays({**model.arrays(), "weights": np.ones(3)})
    with pytest.raises(KeyError):
        KernelModel.from_arrays({"mean": np.ones(3)})


def test_few_points_are_fitted_by_nystroems_equations() -> None:
    values, ratings = made_up()
    train, dev, groups = ROWS[:40], ROWS[40:], ROWS // 4
    model, chosen = fit_kernel(
        [(values, 0.4)], ratings, train, dev, groups=groups, within=2.0, most=12
    )
    assert model.points.shape == (12, 3)
    scaled = np.clip((values[train] - model.mean) / model.deviation, -5, 5) * model.factor
    columns = np.exp(-((scaled[:, None] - model.points[None]) ** 2).sum(axis=2))
    square = np.exp(-((model.points[:, None] - model.points[None]) ** 2).sum(axis=2))
    weigh = np.eye(40) + 2.0 * (np.eye(40) - np.kron(np.eye(10), np.full((4, 4), 0.25)))
    left = columns.T @ weigh @ columns + chosen["penalty"] * square
    target = columns.T @ weigh @ (ratings[train] - ratings[train].mean())
    # Points have 16 bits, so the equations hold to about three digits.
    assert left @ model.weights == pytest.approx(target, rel=0.02, abs=0.05)

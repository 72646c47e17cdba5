"""Density ratios of pairs: known ratios are recovered, and the order of sides does not matter."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from gecjury.core.errors import InputError
from gecjury.jury.likeness import effective_size, every_pair, likeness_weights


def test_effective_size_by_hand() -> None:
    assert effective_size(np.ones(5)) == pytest.approx(5)
    # (1 + 3)² / (1 + 9) = 1.6
    assert effective_size(np.array([1.0, 3.0])) == pytest.approx(1.6)


def test_every_pair_that_differs() -> None:
    # One member, three systems, two sentences: in the first, systems 0 and 1 are alike.
    scores = np.array([[[0.5, 0.1], [0.5, 0.2], [0.7, 0.3]]])
    left, right = every_pair(scores)
    pairs = sorted(zip(left[:, 0].tolist(), right[:, 0].tolist(), strict=True))
    assert pairs == [(0.1, 0.2), (0.1, 0.3), (0.2, 0.3), (0.5, 0.7), (0.5, 0.7)]
    with pytest.raises(InputError, match="no two corrections that differ"):
        every_pair(np.ones((1, 3, 2)))
    with pytest.raises(InputError, match="no two corrections that differ"):
        every_pair(np.ones((1, 1, 2)))


def test_at_most_ten_thousand_pairs_seeded() -> None:
    scores = np.random.default_rng(0).normal(size=(2, 8, 500))  # 28 × 500 pairs
    left, right = every_pair(scores, seed=3)
    assert left.shape == right.shape == (10_000, 2)
    assert (every_pair(scores, seed=3)[0] == left).all()
    assert not (every_pair(scores, seed=4)[0] == left).all()


def test_many_systems_are_not_held_in_memory_at_once() -> None:
    # 4,950 pairs of systems × 2,000 sentences × 3 members would take 475 MB for both sides.
    scores = np.random.default_rng(0).normal(size=(3, 100, 2000))
    tracemalloc.start()
    left, right = every_pair(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert left.shape == right.shape == (10_000, 3)
    assert peak < 100e6


def test_a_known_ratio_is_recovered() -> None:
    rng = np.random.default_rng(1)
    # Both sides around 0 or both around 1, each with deviation 1: the sum of the sides is
    # N(0, 2) or N(2, 2), their difference is the same, so the ratio is exp(s − 1), s the sum.
    known = rng.normal(0, 1, (20_000, 1)), rng.normal(0, 1, (20_000, 1))
    wanted = rng.normal(1, 1, (20_000, 1)), rng.normal(1, 1, (20_000, 1))
    weights = likeness_weights(known, wanted)
    total = (known[0] + known[1])[:, 0]
    exact = np.exp(total - 1)
    exact = np.minimum(exact, np.quantile(exact, 0.99))
    assert weights == pytest.approx(exact / exact.mean(), rel=0.15)
    assert weights.mean() == pytest.approx(1)
    # The mean of the sum moves from 0 to almost 2; clipping accounts for the rest.
    assert 1.7 < np.average(total, weights=weights) < 2.05


def test_the_order_of_the_sides_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    known, wanted = rng.normal(0, 1, (2, 300, 3)), rng.normal(0.5, 1.5, (2, 200, 3))
    usual = likeness_weights((known[0], known[1]), (wanted[0], wanted[1]))
    turned = likeness_weights((known[1], known[0]), (wanted[1], wanted[0]))
    assert turned == pytest.approx(usual, rel=1e-9)


def test_a_constant_member_does_no_harm() -> None:
    rng = np.random.default_rng(3)
    known, wanted = rng.normal(0, 1, (2, 300, 2)), rng.normal(1, 1, (2, 300, 2))
    known[:, :, 1] = wanted[:, :, 1] = 4.0
    weights = likeness_weights((known[0], known[1]), (wanted[0], wanted[1]))
    assert np.isfinite(weights).all()
    assert (weights > 0).all()

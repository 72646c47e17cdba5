"""Segment-level correlation against the test vectors that mt-metrics-eval publishes.

mt-metrics-eval is google-research/mt-metrics-eval on GitHub; the numbers are those of its own
tests `stats_test.py` and `tau_optimization_test.py` (commit 0b82d96b). Its vectors list one system
after another; missing ratings (None) are NaN here.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from gecjury.stats.grouped import (
    difference_sums,
    group_correlations,
    grouped_pairs,
    pearson_of_differences,
)
from gecjury.stats.preferences import PreferenceAgreement, preference_agreement

NAN = float("nan")
GOLD, METRIC = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 3, 7]  # CorrelationTest, two systems


def table(values: list[float], systems: int) -> np.ndarray:
    return np.array(values, dtype=np.float64).reshape(systems, -1)


def correlation(human: np.ndarray, metric: np.ndarray, *how: Any) -> float:
    """Return the mean over sources, averaged as in mt-metrics-eval."""
    return float(np.nanmean(group_correlations(human, metric, *how)))


def accuracy(human: np.ndarray, metric: np.ndarray) -> PreferenceAgreement:
    """Return acc_eq; both tables are groups × outputs."""
    pairs = grouped_pairs(human.T, metric.T)
    sides = (pairs.preference, pairs.first, pairs.second)
    return preference_agreement(*sides, ties="calibrated", groups=pairs.group)


@pytest.mark.parametrize(
    ("measure", "whole", "by_row"),
    [
        # CorrelationTest.testPearson and testKendall: over all outputs and by system, three places
        ("pearson", 0.776, 0.760), ("kendall", 0.552, 0.575),
    ],
)  # fmt: skip
def test_published_correlations(measure: str, whole: float, by_row: float) -> None:
    gold, metric = table(GOLD, 2), table(METRIC, 2)
    # A group is a column here, so all outputs are one column, and those of a system are one.
    assert round(correlation(table(GOLD, 6), table(METRIC, 6), measure), 3) == whole
    assert round(correlation(gold.T, metric.T, measure), 3) == by_row
    assert correlation(gold, metric, measure) == 1.0


def test_missing_ratings_by_item() -> None:
    # AverageCorrelationTest.testAverageByItemWithMissingEntries: items 1 and 3 are left, with two
    # points each: (1, 4) with (2, 3) gives 1, (3, 6) with (8, 6) gives -1; their mean is 0.
    gold, metric = table([1, NAN, 3, 4, 5, 6], 2), table([2, 1, 8, 3, 5, 6], 2)
    assert correlation(gold, metric) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "metric", "best"),
    [
        # testKendallWithTiesOpt; tau_optimization_test: test_zero_threshold_is_best and
        # test_nonzero_threshold_is_best
        ([1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3], 0.7),
        ([1, 2, 3, 4], [0, 2, 6, 8], 1.0),
        ([1, 1, 1, 4], [0, 2, 6, 8], 4 / 6),
    ],
)
def test_published_accuracies_with_ties(
    gold: list[float], metric: list[float], best: float
) -> None:
    assert accuracy(table(gold, 1), table(metric, 1)).accuracy == pytest.approx(best, abs=1e-9)


def thresholds(human: np.ndarray, metric: np.ndarray) -> tuple[Fraction, list[float]]:
    """Return the exact best mean accuracy over rows and all thresholds that reach it, ascending."""
    groups = []
    for h, m in zip(human, metric, strict=True):
        both = combinations(np.flatnonzero(~(np.isnan(h) | np.isnan(m))).tolist(), 2)
        pairs = [
            (round(abs(m[i] - m[j]), 6), np.sign(h[i] - h[j]) == np.sign(m[i] - m[j]), h[i] == h[j])
            for i, j in both
        ]
        groups += [pairs] if pairs else []
    accuracies: dict[float, Fraction] = {}
    for epsilon in sorted({0.0, *(gap for pairs in groups for gap, _, _ in pairs)}):
        right = [[tie if gap <= epsilon else same for gap, same, tie in p] for p in groups]
        total = sum((Fraction(sum(group), len(group)) for group in right), Fraction())
        accuracies[epsilon] = total / len(right)
    best = max(accuracies.values())
    return best, [epsilon for epsilon, value in accuracies.items() if value == best]


def test_epsilon_is_the_smallest_of_those_that_fit_best() -> None:
    # With rounded scores and groups of unequal size, several thresholds often reach the best one.
    rng = np.random.default_rng(0)
    several = 0
    for _ in range(60):
        human = rng.integers(0, 4, (rng.integers(3, 16), rng.integers(3, 7))).astype(float)
        metric = np.round(human * rng.random() + rng.normal(size=human.shape), 1)
        human[rng.random(human.shape) < 0.15] = NAN
        best, reached = thresholds(human, metric)
        found = accuracy(human, metric)
        assert found.accuracy == pytest.approx(float(best), abs=1e-12)
        assert found.epsilon == pytest.approx(reached[0])
        several += len(reached) > 1
    assert several > 10


def test_published_regression_example() -> None:
    # tau_optimization_test.test_regression_example: rows are groups, empty ones are left out.
    metric = np.array([
        [0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5,
    ])  # fmt: skip
    human = np.array([
        [1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5,
    ])  # fmt: skip
    found = accuracy(human, metric)
    assert found.accuracy == pytest.approx(0.4916666666666668, abs=1e-9)
    assert found.epsilon == 1


def test_pairwise_difference_pearson_takes_all_groups_at_once() -> None:
    # Systems × sources. The first source's differences are −1, −3, −2 in rating and −.2, −.1, .1
    # in score: products .2 + .3 − .2 = .3, squares 14 and .06. The second source's one pair has
    # −2 and −.4: .8, 4 and .16. The third has one output and no pair.
    human = np.array([[1.0, 3.0, 2.0], [2.0, 5.0, np.nan], [4.0, np.nan, np.nan]])
    metric = np.array([[0.1, 0.4, 0.5], [0.3, 0.8, 0.9], [0.2, 0.7, np.nan]])
    sums = difference_sums(human, metric)
    assert sums == pytest.approx(np.array([[0.3, 0.8, 0], [14, 4, 0], [0.06, 0.16, 0]]))
    # 1.1 / √(18 · .22); the first source twice: 1.4 / √(32 · .28).
    drawn = pearson_of_differences(sums, np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]]))
    assert drawn == pytest.approx([1.1 / 3.96**0.5, 1.4 / 8.96**0.5])
    assert pearson_of_differences(sums) == pytest.approx([1.1 / 3.96**0.5])
    # All outputs of one source: it is Pearson's r.
    one = human.reshape(-1, 1), metric.reshape(-1, 1)
    together = pearson_of_differences(difference_sums(*one))
    assert together == pytest.approx(group_correlations(*one))
    constant = np.full((3, 3), 0.1)
    assert np.isnan(pearson_of_differences(difference_sums(human, constant))).all()

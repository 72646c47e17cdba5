"""Soft pairwise accuracy: the example of its reference implementation, and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.judgments import RankedItem, expand_pairs
from gecjury.metaeval.study import judged_differences
from gecjury.stats.permutation import permutation_signs
from gecjury.stats.soft_accuracy import (
    ScoreDifferences,
    confidence,
    normal_confidence,
    soft_pairwise_accuracy,
    soft_signs,
)

NAN = float("nan")


def test_the_worked_example_of_mt_metrics_eval() -> None:
    # google-research/mt-metrics-eval, pce.py at 1b47eab4: two systems on five segments and ten
    # permutations; the permuted differences are -.6 .6 .6 -.6 1.8 -.6 3 .6 .6 -1.8, the observed
    # one 3, reached once: p = 1/10.
    scores = np.array([[0.8, 0.9, 0.7, 1.0, 0.6], [0.2, 0.3, 0.1, 0.4, 0.0]])
    signs = np.array([
        [1, 1, -1, -1, -1], [1, -1, 1, -1, 1], [1, -1, 1, 1, -1], [-1, 1, -1, -1, 1],
        [1, 1, 1, -1, 1], [-1, 1, -1, 1, -1], [1, 1, 1, 1, 1], [1, -1, 1, -1, 1],
        [1, 1, -1, -1, 1], [-1, 1, -1, -1, -1],
    ], dtype=float)  # fmt: skip
    difference = ScoreDifferences(scores).take(slice(None))
    assert (signs @ difference).ravel() == pytest.approx(
        [-0.6, 0.6, 0.6, -0.6, 1.8, -0.6, 3.0, 0.6, 0.6, -1.8], abs=1e-9
    )
    assert confidence(difference, signs, ties=1.0)[0] == pytest.approx(1 / 10, abs=1e-9)
    # Counting sums equal to the observed one as one half instead.
    assert confidence(difference, signs)[0] == pytest.approx(1 / 20, abs=1e-9)


def test_spa_by_hand() -> None:
    # Gaps .1, .4 and .1 between the two p of three pairs: 1 - .6/3 = .8. Weighted 1, 0, 2 (the
    # second pair never drawn, the third twice): 1 - .3/3 = .9.
    human, metric = np.array([0.1, 0.9, 0.5]), np.array([0.2, 0.5, 0.4])
    assert soft_pairwise_accuracy(human, metric) == pytest.approx(0.8)
    assert soft_pairwise_accuracy(human, metric, np.array([1, 0, 2])) == pytest.approx(0.9)
    assert soft_pairwise_accuracy(human, np.array([0.2, NAN, 0.4])) == pytest.approx(0.9)
    assert np.isnan(soft_pairwise_accuracy(human, np.full(3, NAN)))


def test_judged_differences_by_hand() -> None:
    # Sentence 0: one annotator prefers A to B, another B to A twice: (1 - 1 - 1)/3. Sentence 1:
    # A = C, and B and C share a text, which is a tie. Nobody compared A and C on sentence 0.
    items = (
        RankedItem("1", 0, "one", (("A",), ("B",)), (1, 2)),
        RankedItem("1", 0, "two", (("A",), ("B",)), (2, 1)),
        RankedItem("2", 0, "two", (("A",), ("B",)), (3, 1)),
        RankedItem("3", 1, "two", (("A",), ("B", "C")), (1, 1)),
    )
    found = judged_differences(expand_pairs(items, ("A", "B", "C")), 2)
    wanted = np.array([[-1 / 3, NAN, NAN], [0, 0, 0]])
    assert found.take(slice(None)) == pytest.approx(wanted, nan_ok=True)
    assert found.compared.tolist() == [0, 1, 2]


def test_sentences_without_a_score_are_ignored() -> None:
    scores = np.array([[1.0, 5.0, 2.0], [0.0, NAN, 1.0], [NAN, NAN, NAN]])
    signs, _ = permutation_signs(3)
    # Differences 1 and 1 over all four patterns: sums 2, 0, 0, -2; 2 is equalled once: 1/8.
    found = confidence(ScoreDifferences(scores).take(slice(None)), signs)
    assert found[0] == pytest.approx(1 / 8)
    assert np.isnan(found[1:]).all()


@given(st.integers(3, 5), st.integers(2, 8), st.integers(0, 10**6))
def test_the_order_of_systems_does_not_matter(systems: int, lines: int, seed: int) -> None:
    # Coarse scores, so that some permuted sums coincide.
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(3, size=(2, systems, lines)).astype(float)
    signs, _ = permutation_signs(lines)
    order = rng.permutation(systems)

    def spa(rows: np.ndarray) -> float:
        p = [
            confidence(ScoreDifferences(table[rows]).take(slice(None)), signs)
            for table in (human, metric)
        ]
        return float(soft_pairwise_accuracy(p[0], p[1]))

    assert spa(order) == pytest.approx(spa(np.arange(systems)), abs=1e-12)
    assert 0 <= spa(order) <= 1


def test_the_normal_limit_is_close_to_the_permutations() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4, 200)) + np.arange(4)[:, None] * 0.05
    difference = ScoreDifferences(scores).take(slice(None))
    sampled = confidence(difference, permutation_signs(200, 20_000)[0])
    limit = normal_confidence(difference, np.ones((1, 200)))[0]
    assert np.abs(sampled - limit).max() < 0.015


def test_number_of_permutations_is_limited_by_their_cost() -> None:
    assert len(soft_signs(391, pairs=66)) == 10_000
    assert len(soft_signs(20, pairs=1_999_000)) == 1000
    assert len(soft_signs(30, 50)) == 50
    assert len(soft_signs(4)) == 16  # all possible ones

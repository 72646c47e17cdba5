"""Soft pairwise accuracy and its test: a published example, cases by hand, and enumerations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from gecjury.benchmarks.judgments import RankedItem, expand_pairs
from gecjury.metaeval.study import judged_differences
from gecjury.stats.permutation import permutation_signs, standardise
from gecjury.stats.soft_accuracy import (
    JudgedDifferences,
    ScoreDifferences,
    confidence,
    normal_confidence,
    perm_both_spa,
    soft_pairwise_accuracy,
    soft_permutations,
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
    difference = ScoreDifferences(scores).take(np.arange(1))
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
    assert found.take(np.arange(3)) == pytest.approx(wanted, nan_ok=True)
    assert found.compared.tolist() == [0, 1, 2]


def test_sentences_without_a_score_are_ignored() -> None:
    scores = np.array([[1.0, 5.0, 2.0], [0.0, NAN, 1.0], [NAN, NAN, NAN]])
    signs, _ = permutation_signs(3)
    # Differences 1 and 1 over all four patterns: sums 2, 0, 0, -2; 2 is equalled once: 1/8.
    found = confidence(ScoreDifferences(scores).take(np.arange(3)), signs)
    assert found[0] == pytest.approx(1 / 8)
    assert np.isnan(found[1:]).all()


def test_the_normal_limit_is_close_to_the_permutations() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4, 200)) + np.arange(4)[:, None] * 0.05
    difference = ScoreDifferences(scores).take(np.arange(6))
    sampled = confidence(difference, permutation_signs(200, 20_000)[0])
    limit = normal_confidence(difference, np.ones((1, 200)))[0]
    assert np.abs(sampled - limit).max() < 0.015


def test_number_of_permutations_is_limited_by_their_cost() -> None:
    assert soft_permutations(391, pairs=66) == 10_000
    assert soft_permutations(20, pairs=1_999_000) == 1000


# ---- the test between metrics


def as_judged(table: np.ndarray) -> JudgedDifferences:
    """Return a sentences × pairs table as differences of single cells."""
    cells = table.T.ravel()
    places = np.flatnonzero(~np.isnan(cells))
    return JudgedDifferences(places, cells[places], *table.shape)


def spa(wanted: np.ndarray, table: np.ndarray) -> float:
    whole = np.ones((1, table.shape[1]))
    given = np.where(
        np.isnan(wanted), np.nan, ScoreDifferences(table).take(np.arange(wanted.shape[1]))
    )
    p = (normal_confidence(each, whole) for each in (wanted, given))
    return float(soft_pairwise_accuracy(*p)[0])


def test_one_sentence_by_hand() -> None:
    # With one sentence d/√d² is the sign of d: p is Φ(−1) for the better system, Φ(1) for the
    # worse, and a pair in the wrong order lowers the sum over three pairs by g = Φ(1) − Φ(−1).
    # Humans and the first metric say A > B > C, the second C > B > A: SPA 1 and 1 − 3g/3.
    g = float(ndtr(1.0) - ndtr(-1.0))
    wanted = np.array([[1.0, 1.0, 1.0]])
    up, down = np.array([[3.0], [2.0], [1.0]]), np.array([[1.0], [2.0], [3.0]])
    values, p = perm_both_spa(as_judged(wanted), [up, down])
    assert values == pytest.approx([1.0, 1 - g], abs=1e-12)
    # Standardised, the metrics are (u, 0, −u) and (−u, 0, u). Eight swaps: B's changes nothing.
    # Neither or both of A and C swapped: the difference is ±3g/3, and counts. Only A swapped:
    # (−u, 0, −u) and (u, 0, u). The first has p = Φ(1), 1/2, Φ(−1) for AB, AC, BC where humans
    # have Φ(−1): it is off by g, g/2 and 0; the second by 0, g/2 and g. The difference is 0. Only
    # C swapped: also 0. So 4 of 8 reach the observed difference.
    assert p[0, 1] == p[1, 0] == pytest.approx(4 / 8)


@pytest.mark.parametrize("gaps", [False, True])
def test_p_equals_an_enumeration_of_all_swaps(gaps: bool) -> None:
    rng = np.random.default_rng(3)
    wanted, one, two = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    if gaps:
        wanted[0, 1] = one[2, 1] = two[0, 0] = NAN
    x, y = standardise(one), standardise(two)
    left_out = np.isnan(x + y)
    differences = []
    for swap in product((False, True), repeat=9):
        mask = np.array(swap).reshape(3, 3)
        sides = (np.where(mask, y, x), np.where(mask, x, y))
        differences.append(
            spa(wanted, np.where(left_out, NAN, sides[0]))
            - spa(wanted, np.where(left_out, NAN, sides[1]))
        )
    nulls = np.array(differences)
    expected = (abs(nulls) >= abs(nulls[0]) - 1e-12).mean()
    values, p = perm_both_spa(as_judged(wanted), [one, two])
    assert values == pytest.approx([spa(wanted, one), spa(wanted, two)], abs=1e-12)
    assert p[0, 1] == pytest.approx(expected, abs=1e-12)
    # Sampled: within four standard errors.
    _, drawn = perm_both_spa(as_judged(wanted), [one, two], permutations=500, seed=1)
    slack = 4 * np.sqrt(expected * (1 - expected) / 500) + 1 / 501
    assert drawn[0, 1] == pytest.approx(expected, abs=slack)


def test_p_is_undefined_without_an_accuracy() -> None:
    rng = np.random.default_rng(1)
    some = [rng.random((2, 5)) for _ in range(2)]
    values, p = perm_both_spa(as_judged(np.ones((5, 1))), some)
    assert np.isnan(values).all()  # two systems
    assert np.isnan(p).all()
    three = [rng.random((3, 5)), np.full((3, 5), NAN)]
    values, p = perm_both_spa(as_judged(np.ones((5, 3))), three, permutations=20)
    assert np.isnan(values).tolist() == [False, True]
    assert np.isnan(p).all()
    nobody, _ = perm_both_spa(as_judged(np.full((5, 3), NAN)), three[:1] * 2)
    assert np.isnan(nobody).all()

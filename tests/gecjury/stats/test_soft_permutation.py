"""PERM-BOTH on soft pairwise accuracy: by hand, against an enumeration, and undefined cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from gecjury.stats.permutation import standardise
from gecjury.stats.soft_accuracy import (
    JudgedDifferences,
    ScoreDifferences,
    normal_confidence,
    perm_both_spa,
    soft_pairwise_accuracy,
)

NAN = float("nan")


def as_judged(table: np.ndarray) -> JudgedDifferences:
    """Return a sentences × pairs table as differences of single cells."""
    cells = table.T.ravel()
    places = np.flatnonzero(~np.isnan(cells))
    return JudgedDifferences(places, cells[places], *table.shape)


def spa(wanted: np.ndarray, table: np.ndarray) -> float:
    whole = np.ones((1, table.shape[1]))
    given = np.where(np.isnan(wanted), np.nan, ScoreDifferences(table).take(slice(None)))
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


def test_the_better_metric_is_detected() -> None:
    rng = np.random.default_rng(5)
    human = np.linspace(0, 0.6, 6)[:, None] + rng.normal(size=(6, 150))
    good, bad = human + 0.3 * rng.normal(size=(6, 150)), rng.normal(size=(6, 150))
    values, p = perm_both_spa(ScoreDifferences(human), [good, bad, good], permutations=1000)
    assert values[0] == values[2] > 0.95 > values[1]
    assert p[0, 1] == p[1, 0] <= 0.01
    assert p[0, 2] == 1.0  # the same metric twice
    assert np.isnan(np.diag(p)).all()


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

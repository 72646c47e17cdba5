"""The pairwise logistic model: known weights, its minimum, folds, missing features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import OptionError
from gecjury.jury.logistic import equal_weights, fit_preferences, folds_of, impute, pair_agreement


def test_one_feature_by_hand() -> None:
    # Three pairs of gap +1 and one of −1 have the probability 3/4 = σ(w): w = log 3.
    gaps = np.array([[1.0], [1.0], [1.0], [-1.0]])
    found = fit_preferences(gaps, 1e-9, np.zeros(1))
    assert found[0] == pytest.approx(np.log(3), abs=1e-4)


def test_weights_that_generated_the_preferences_are_recovered() -> None:
    rng = np.random.default_rng(5)
    wanted = np.array([2.0, 0.5, 0.0])
    differences = rng.normal(size=(40000, 3))
    win = rng.random(40000) < 1 / (1 + np.exp(-differences @ wanted))
    gaps = np.where(win[:, None], differences, -differences)
    found = fit_preferences(gaps, 1.0, np.zeros(3))
    # The standard error of a weight is about 1/√(40000 · mean p(1−p)) ≈ 0.015.
    assert found == pytest.approx(wanted, abs=0.06)
    assert found.min() >= 0


def test_the_gradient_vanishes_where_weights_are_free() -> None:
    rng = np.random.default_rng(1)
    gaps = rng.normal(0.3, 1.0, size=(300, 4))
    anchor = np.array([0.1, 0.2, -0.3, 0.0])
    found = fit_preferences(gaps, 7.0, anchor, least=None)
    slope = gaps.T @ (1 / (1 + np.exp(gaps @ found))) - 7.0 * (found - anchor)
    assert slope == pytest.approx(np.zeros(4), abs=1e-4)


def test_a_weight_is_not_negative_unless_allowed() -> None:
    gaps = np.array([[1.0, -1.0], [1.0, -0.5], [0.5, -1.0], [-0.2, 0.3]])
    assert fit_preferences(gaps, 0.1, np.zeros(2))[1] == 0.0
    assert fit_preferences(gaps, 0.1, np.zeros(2), least=None)[1] < 0.0


def test_a_strong_pull_leads_to_the_anchor_and_separable_pairs_converge() -> None:
    gaps = np.array([[1.0, 2.0], [2.0, 1.0]])  # always won: no minimum without regularisation
    anchor = np.array([0.3, 0.4])
    assert fit_preferences(gaps, 1e9, anchor) == pytest.approx(anchor, abs=1e-6)
    assert np.isfinite(fit_preferences(gaps, 1e-3, anchor)).all()
    with pytest.raises(OptionError, match="more than 0"):
        fit_preferences(gaps, 0.0, anchor)


def test_equal_weights_by_hand() -> None:
    # The feature means are the four gaps of the first test: log 3, shared by two features.
    gaps = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [-1.0, -1.0]])
    assert equal_weights(gaps) == pytest.approx([np.log(3) / 2] * 2, abs=1e-4)
    assert equal_weights(-gaps) == pytest.approx([0.0, 0.0])  # never negative for all members


def test_agreement_counts_ties_as_half() -> None:
    gaps = np.array([[1.0, 0.0], [-1.0, 0.0], [0.1, -0.1], [0.3, -0.1 - 0.2]])
    # 0.3 and 0.1 + 0.2 differ in the last bit, but are a tie.
    assert pair_agreement(gaps, np.ones(2)).tolist() == [1.0, 0.0, 0.5, 0.5]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(2, 6))
def test_a_group_is_in_one_fold_and_folds_are_even(groups: list[int], count: int) -> None:
    labels = np.array(groups)
    fold = folds_of(labels, count, seed=3)
    for label in set(groups):
        assert len(set(fold[labels == label].tolist())) == 1
    sizes = [len(set(labels[fold == f].tolist())) for f in range(count)]
    assert max(sizes) - min(sizes) <= 1
    assert (folds_of(labels, count, seed=3) == fold).all()


def test_a_missing_feature_is_estimated_from_the_others() -> None:
    # The second feature is twice the first wherever both are known: E[second | 3] = 6.
    present = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]])
    gaps = np.array([[3.0, np.nan], [np.nan, 4.0], [np.nan, np.nan], [1.0, 9.0]])
    filled = impute(gaps, present)
    # With a ridge of 0.001 on the mean square 2: 6 · 2/2.001.
    assert filled[0].tolist() == pytest.approx([3.0, 6.0 * 2 / 2.001])
    # E[first | 4] = 4 · (mean product 4)/(mean square 8 + 0.001).
    assert filled[1].tolist() == pytest.approx([16 / 8.001, 4.0])
    assert filled[2].tolist() == [0.0, 0.0]
    assert filled[3].tolist() == [1.0, 9.0]
    assert np.isnan(gaps[0, 1])  # the argument is not changed


def test_moments_use_pairs_where_both_features_are_known() -> None:
    present = np.array([[1.0, 1.0], [1.0, np.nan], [1.0, np.nan], [np.nan, np.nan]])
    # First square: mean of 3 ones = 1; product: the one pair with both = 1.
    assert impute(np.array([[2.0, np.nan]]), present)[0, 1] == pytest.approx(2 / 1.001)

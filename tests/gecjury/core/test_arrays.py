"""When two scores count as equal."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.arrays import settled


def test_scores_that_differ_by_rounding_become_equal() -> None:
    """CLEME's 25/27 in two orders of summing, ERRANT's 5/7 as 1 − 2/7, and near-zero values."""
    scores = np.array([[0.9259259259259258, 0.9259259259259259], [5 / 7, 1 - 2 / 7]])
    result = settled(scores)
    assert result[0, 0] == result[0, 1]
    assert result[1, 0] == result[1, 1]
    assert abs(result - scores).max() < 1e-15
    assert settled(np.array([0.1 + 0.2 - 0.3, 0.0])).tolist() == [0.0, 0.0]
    assert len(set(settled(np.array([-0.3, -(0.1 + 0.2)])).tolist())) == 1


def test_scores_that_differ_more_stay_different() -> None:
    # GLEU of a sentence that shares almost nothing with its reference is 1.3e-14, not 0.
    scores = np.array([0.0, 1.27e-14, 0.5, 0.5 + 1e-9, 1e9, 1e9 + 1.0])
    assert settled(scores).tolist() == scores.tolist()


def test_nan_and_infinity_are_unchanged() -> None:
    scores = np.array([[np.nan, np.inf], [-np.inf, 1.0]])
    assert np.array_equal(settled(scores), scores, equal_nan=True)
    assert settled(np.zeros((2, 0))).shape == (2, 0)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=30))
def test_settling_keeps_the_order_and_is_idempotent(scores: list[float]) -> None:
    given_scores = np.array(scores, dtype=np.float64)
    result = settled(given_scores)
    assert np.array_equal(settled(result), result)
    order = np.argsort(given_scores, kind="stable")
    assert (np.diff(result[order]) >= 0).all()
    assert np.allclose(result, given_scores, rtol=1e-9 * max(len(scores), 1), atol=2e-13)

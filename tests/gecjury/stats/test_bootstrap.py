"""Draws with replacement, and percentile intervals."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.stats.bootstrap import figure_interval, interval, make_resampled


def test_draws_have_the_size_of_the_original() -> None:
    draws = make_resampled("both", 50, 20, 5, seed=1)
    assert draws.sentences is not None
    assert draws.systems is not None
    assert draws.sentences.shape == (50, 20)
    assert (np.diff(draws.sentences, axis=1) >= 0).all()
    assert (draws.counts.sum(axis=1) == 20).all()
    assert draws.multiplicity is not None
    assert (draws.multiplicity.sum(axis=1) == 5).all()
    again = make_resampled("both", 50, 20, 5, seed=1)
    assert (again.counts == draws.counts).all()
    assert make_resampled("systems", 5, 20, 5, seed=1).counts.tolist() == [[1.0] * 20]
    assert make_resampled("sentences", 5, 20, 5, seed=1).multiplicity is None


def test_interval_by_hand() -> None:
    # 0 ... 100 at 90%: the 5th and 95th percentile; one undefined value is dropped and counted.
    values = np.append(np.arange(101.0), np.nan)
    bounds, dropped = interval(values, 0.9)
    assert bounds == pytest.approx((5.0, 95.0))
    assert dropped == 1
    bounds, dropped = interval(np.full(3, np.nan))
    assert np.isnan(bounds).all()
    assert dropped == 3


def test_a_figure_that_does_not_vary_has_no_interval() -> None:
    """One edit in five sentences: precision 1 in every draw; a difference of nothing is certain."""
    same = np.append(np.ones(60), np.nan)
    bounds, dropped = figure_interval(same)
    assert np.isnan(bounds).all()
    assert dropped == 1
    assert np.isnan(figure_interval(np.append(same, 0.0), 0.9)[0]).all()
    assert figure_interval(np.arange(101.0), 0.9) == interval(np.arange(101.0), 0.9)
    assert interval(np.zeros(5))[0] == (0.0, 0.0)


def test_bias_corrected_bounds_by_hand() -> None:
    """Draws 0 to 99, the figure above 60 of them: z₀ = Φ⁻¹(.6) = .2533.

    The 95% bounds are at Φ(2 · .2533 − 1.96) = Φ(−1.4533) = .0731 and Φ(2.4667) = .9932.
    """
    drawn = np.arange(100.0)
    low, high = interval(drawn, observed=59.5)[0]
    assert low == pytest.approx(99 * 0.07307, abs=0.01)
    assert high == pytest.approx(99 * 0.99318, abs=0.01)
    # A figure in the middle needs no correction; one beyond all draws leaves bounds within them.
    assert interval(drawn, observed=49.5)[0] == pytest.approx(interval(drawn)[0])
    assert interval(drawn, observed=200.0)[0] <= (99.0, 99.0)
    assert interval(drawn, observed=float("nan")) == interval(drawn)

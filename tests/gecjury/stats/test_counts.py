"""Ratios and F-scores at ordinary and at empty denominators."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.stats.counts import f_beta, f_of_counts, precision_recall_f, ratio


def test_ratio_gives_the_default_if_the_whole_is_zero() -> None:
    part, whole = np.array([1, 0, 0, -2]), np.array([4, 0, 5, 4])
    assert ratio(part, whole, 1.0).tolist() == [0.25, 1.0, 0.0, -0.5]
    assert ratio(part, whole, 0.0).tolist() == [0.25, 0.0, 0.0, -0.5]


@pytest.mark.parametrize(
    ("precision", "recall", "beta", "expected"),
    [
        (0.5, 0.25, 1.0, 1 / 3),  # 2 · .125 / .75
        (0.5, 0.25, 2.0, 0.625 / 2.25),  # 5 · .125 / (4 · .5 + .25)
        (0.5, 0.25, 0.5, 0.15625 / 0.375),  # 1.25 · .125 / (.25 · .5 + .25)
        (0.5, 0.25, 0.0, 0.5),  # precision alone
        (0.0, 0.0, 2.0, 0.0),
        (1.0, 0.0, 0.0, 0.0),  # 1 · 0 / (0 + 0)
        (1.0, 1.0, 3.0, 1.0),
    ],
)
def test_f_beta(precision: float, recall: float, beta: float, expected: float) -> None:
    assert f_beta(np.array([precision]), np.array([recall]), beta)[0] == pytest.approx(expected)


def test_zero_rules() -> None:
    # No FP: precision 1; no FN: recall 1; nothing right at all: F 0.
    counts = np.array([[0, 0, 0], [0, 0, 2], [0, 2, 0], [0, 1, 1], [1, 1, 3]])
    precision, recall, f = precision_recall_f(*counts.T, beta=0.5)
    assert precision.tolist() == [1, 1, 0, 0, 0.5]
    assert recall.tolist() == [1, 0, 1, 0, 0.25]
    # F0.5 of P = 1/2, R = 1/4: 1.25 · 1/8 / (0.25 · 1/2 + 1/4) = 0.15625 / 0.375.
    assert f.tolist() == pytest.approx([1, 0, 0, 0, 0.15625 / 0.375])
    # GoToScorer's rule: an empty denominator gives 0.
    precision, recall, f = precision_recall_f(*counts.T, beta=0.5, empty=0.0)
    assert precision.tolist() == [0, 0, 0, 0, 0.5]
    assert recall.tolist() == [0, 0, 0, 0, 0.25]
    assert f.tolist() == pytest.approx([0, 0, 0, 0, 0.15625 / 0.375])


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.floats(0, 10))
def test_both_ways_to_f_agree(tp: int, fp: int, fn: int, beta: float) -> None:
    counts = np.array([[tp], [fp], [fn]], dtype=float)
    f = precision_recall_f(*counts, beta=beta)[2]
    one = f_of_counts(counts[0], counts[0] + counts[1], counts[0] + counts[2], beta)
    # With β² = 0, precision is 1 if nothing is proposed, but F then depends on recall.
    if tp or beta * beta:
        assert f == pytest.approx(one)

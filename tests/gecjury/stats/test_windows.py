"""Windows of the human ranking, and tables by pairs of systems."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.stats.correlation import pearson
from gecjury.stats.grouped import window_correlations
from gecjury.stats.preferences import pair_table

NAN = float("nan")


def test_windows_by_hand() -> None:
    human = np.array([0.1, 0.4, 0.3, 0.2, NAN])
    metric = np.array([9.0, 1.0, 3.0, 2.0, 5.0])
    systems, r, rho = zip(*window_correlations(human, metric, 3), strict=True)
    # Human order: 1, 2, 3, 0. Metric in that order: 1 3 2 9; the first window is ranked 3 1 2
    # where the human has 1 2 3: ρ = 1 - 6·(4+1+1)/(3·8) = -.5; the second (3 2 9) 2 3 1: -.5.
    assert [run.tolist() for run in systems] == [[1, 2, 3], [2, 3, 0]]
    np.testing.assert_allclose(rho, [-0.5, -0.5])
    assert r[0] == pytest.approx(pearson(human[[1, 2, 3]], metric[[1, 2, 3]]))


def test_pair_table_by_hand() -> None:
    first, second = np.array([0, 0, 1, 0]), np.array([1, 1, 2, 2])
    human = np.array([1, -1, 1, 0])
    left, right = np.array([1.0, 1.0, 0.5, 1.0]), np.array([0.0, 0.0, 0.5, 0.0])
    accuracy, counts = pair_table([(first, second, human, left, right)], size=3)
    # 0-1: right, wrong. 1-2: a tie. 0-2: tied by the annotator.
    np.testing.assert_array_equal(accuracy, [[NAN, 0.5, NAN], [0.5, NAN, 0.5], [NAN, 0.5, NAN]])
    assert counts.tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    _, counts = pair_table([(first, second, human, left, right)], size=3, ties="drop")
    assert counts[1, 2] == 0

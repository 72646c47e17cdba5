"""Windows of the human ranking, and tables by pairs of systems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.judgments import expand_pairs, read_rankings
from gecjury.core.errors import OptionError
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.grouped import window_correlations
from gecjury.stats.preferences import pair_table, preference_agreement
from tests.published import BASE

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


def test_one_window_contains_all_systems_and_none_contains_more() -> None:
    human, metric = np.arange(4.0), np.array([1.0, 0.0, 2.0, 5.0])
    ((_, _, rho),) = window_correlations(human, metric, 4)
    assert rho == spearman(human, metric)
    assert not list(window_correlations(human, metric, 5))


def test_window_correlations_that_are_undefined_are_nan() -> None:
    windows = window_correlations(np.arange(4.0), np.array([1.0, 1.0, 1.0, 2.0]), 3)
    assert [bool(np.isnan(r)) for _, r, _ in windows] == [False, True]


def test_refuses_small_windows() -> None:
    with pytest.raises(OptionError, match="expected 3 or more"):
        list(window_correlations(np.arange(4.0), np.arange(4.0), 2))


@given(st.permutations(range(7)))
def test_windows_do_not_depend_on_the_order_of_systems(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    human, metric = rng.normal(size=(2, 7))
    straight = window_correlations(human, metric, 4)
    shuffled = window_correlations(human[order], metric[order], 4)
    for (run, r, _), (other, s, _) in zip(straight, shuffled, strict=True):
        assert r == pytest.approx(s)
        assert np.array(order)[other].tolist() == run.tolist()


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


def test_tables_of_seeda_add_up_to_the_whole(data_dir: Path) -> None:
    items = read_rankings(data_dir / "SEEDA/data/judgments_edit.xml", first_line=1)
    pairs = expand_pairs(items, BASE)
    scores = np.random.default_rng(0).random((12, 1312))
    sides = scores[pairs.first, pairs.sentence], scores[pairs.second, pairs.sentence]
    whole = preference_agreement(pairs.preference, *sides)
    tables = pair_table([(pairs.first, pairs.second, pairs.preference, *sides)], size=12)
    accuracy, counts = (table[np.triu_indices(12, 1)] for table in tables)
    assert counts.sum() == whole.pairs == 7708
    total = (counts[counts > 0] * accuracy[counts > 0]).sum() / counts.sum()
    assert total == pytest.approx(whole.accuracy)

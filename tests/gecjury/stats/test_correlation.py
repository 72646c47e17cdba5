"""Correlations and sentence-level agreement under each tie rule."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gecjury.benchmarks.judgments import expand_pairs, read_rankings
from gecjury.stats.choices import TieRule
from gecjury.stats.correlation import (
    correlations,
    kendall,
    pairwise_accuracies,
    pearson,
    pearsons,
    spearman,
    spearmans,
    tau_of_pairs,
    taus,
)
from gecjury.stats.preferences import preference_agreement
from tests.published import BASE

NAN = float("nan")
ROWS = (pearsons, spearmans, taus, pairwise_accuracies)


def pairwise_accuracy(human: np.ndarray, metric: np.ndarray) -> float:
    """Return the share of pairs in the same order, counted one by one; a tie by the metric is ½."""
    if len(set(human)) < 2 or len(set(metric)) < 2:
        return NAN
    pairs = [(i, j) for i in range(len(human)) for j in range(i) if human[i] != human[j]]
    right = [np.sign((human[i] - human[j]) * (metric[i] - metric[j])) for i, j in pairs]
    return sum((1 + sign) / 2 for sign in right) / len(pairs)


ONE = (pearson, spearman, kendall, pairwise_accuracy)


def test_correlations_by_hand() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 10.0])
    # Means 2.5 and 4: Σdxdy = 4.5 + .5 - 1 + 9 = 13, Σdx² = 5, Σdy² = 9 + 1 + 4 + 36 = 50.
    assert pearson(x, y) == pytest.approx(13 / np.sqrt(250))
    # Ranks 1 2 3 4 and 1 3 2 4: 1 - 6·2/(4·15).
    assert spearman(x, y) == pytest.approx(0.8)
    # Five of six pairs concordant, one discordant.
    assert kendall(x, y) == pytest.approx(4 / 6)
    assert pairwise_accuracies(x[None], y[None]) == pytest.approx(5 / 6)


def test_ties_by_hand() -> None:
    x, y = np.array([1.0, 1.0, 2.0, 3.0]), np.array([5.0, 6.0, 6.0, 7.0])
    # Pairs: 01 is tied in x, 12 in y; 02, 03, 13, 23 are concordant: 4/√(5·5).
    assert kendall(x, y) == pytest.approx(4 / 5)
    # 01 is tied by the human: left out. 12 is tied by the metric: a half. 4.5 of 5.
    assert pairwise_accuracies(x[None], y[None]) == pytest.approx(0.9)


@pytest.mark.parametrize("function", [pearson, spearman, kendall])
def test_undefined_correlations_are_nan(function: Any) -> None:
    assert np.isnan(function(np.array([]), np.array([])))
    assert np.isnan(function(np.array([1.0]), np.array([1.0])))
    assert np.isnan(function(np.array([1.0, 2.0, NAN]), np.array([1.0, NAN, 2.0])))
    assert np.isnan(function(np.ones(5), np.arange(5.0)))
    assert np.isnan(function(np.arange(5.0), np.ones(5)))
    two = function(np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    assert two == 1.0 if function is kendall else np.isnan(two)


vectors = st.integers(3, 30).flatmap(
    lambda n: st.tuples(
        *[arrays(np.float64, n, elements=st.integers(-5, 5).map(lambda k: k / 4))] * 2
    )
)


@given(vectors)
def test_equals_scipy(pair: tuple[np.ndarray, np.ndarray]) -> None:
    from scipy import stats

    x, y = pair
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


tables = st.integers(1, 6).flatmap(
    lambda rows: st.integers(3, 9).flatmap(
        lambda n: st.tuples(
            *[arrays(np.float64, (rows, n), elements=st.integers(-4, 4).map(lambda k: k / 3))] * 2,
            arrays(np.float64, (rows, n), elements=st.integers(0, 3).map(float)),
        )
    )
)


@given(tables)
def test_rows_equal_single_computation(
    drawn_tables: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, _ = drawn_tables
    for rows, one in zip(ROWS, ONE, strict=True):
        expected = [one(a, b) for a, b in zip(x, y, strict=True)]
        np.testing.assert_allclose(rows(x, y), expected, rtol=0, atol=1e-15)


@given(tables)
def test_weights_are_copies(drawn_tables: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, weights = drawn_tables
    for rows in ROWS:
        # Separate points for each row of weights, and the same points for all.
        for a, b in ((x, y), (x[:1], y[:1])):
            found = rows(a, b, weights)
            for number, times in enumerate(weights.astype(int)):
                one, two = (np.repeat(side[number % len(side)], times)[None] for side in (a, b))
                expected = rows(one, two)[0]
                assert found[number] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_long_rows_equal_every_pair(seed: int, weighted: bool) -> None:
    # Rows of more than a thousand points use scipy, which must equal counted pairs exactly.
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 30, size=(2, 2, 1001)).astype(float)
    times = rng.integers(0, 2, size=x.shape) if weighted else np.ones(x.shape, dtype=np.int64)
    for number, found in enumerate(taus(x, y, times.astype(float) if weighted else None)):
        a, b = np.repeat(x[number], times[number]), np.repeat(y[number], times[number])
        one, two = (np.sign(side[:, None] - side)[np.triu_indices(len(side), 1)] for side in (a, b))
        counts = (np.array(part.sum()) for part in (one * two, one * one, two * two))
        assert found == tau_of_pairs(*counts)


@given(st.integers(3, 7), st.integers(0, 10**6), st.booleans())
def test_many_draws_equal_single_computation(size: int, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    human, metric = rng.normal(size=(6, size)), rng.normal(size=(6, size))
    if coarse:
        human, metric = human.round(), metric.round()
    systems = rng.integers(size, size=(6, size))
    found = correlations(human, metric, systems)
    for name, measure in zip(found, ONE, strict=True):
        for row in range(6):
            expected = measure(human[row][systems[row]], metric[row][systems[row]])
            if len(set(systems[row].tolist())) < 3:
                expected = float("nan")
            assert found[name][row] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_degenerate_draws_are_undefined() -> None:
    human, metric = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[1.0, 1.0, 1.0, 2.0]])
    systems = np.array([[0, 1, 1, 0], [0, 1, 2, 2], [0, 1, 2, 3]])
    # Draws with two different systems, with a constant metric, and with all systems.
    found = correlations(human, metric, systems)["pearson"]
    assert np.isnan(found[:2]).all()
    assert found[2] == pytest.approx(pearson(human[0], metric[0]))
    assert np.isnan(correlations(human[:, :2], metric[:, :2])["pearson"]).all()


def test_pearson_is_stable_for_extreme_magnitudes() -> None:
    x = np.array([1.0, 2.0, 4.0])
    for scale in (1e-200, 1e200):
        assert pearson(x * scale, x) == pytest.approx(1.0)


# Four decided pairs and a human tie: right, right, tied (the second is better), wrong; tie.
HUMAN = np.array([1, 1, -1, 1, 0])
FIRST = np.array([0.9, 0.8, 0.5, 0.1, 0.4])
SECOND = np.array([0.1, 0.5, 0.5, 0.3, 0.3])


@pytest.mark.parametrize(
    ("ties", "accuracy", "tau"),
    [
        ("half", 2.5 / 4, 1 / 4),
        ("loss", 2 / 4, 1 / 4),
        ("drop", 2 / 3, 1 / 3),
        ("official", 3 / 4, 2 / 4),  # the second, which the annotator preferred, wins the tie
        # Gaps .8 .3 0 .2 .1: with ε = .1 the human tie is matched and no decided pair is lost: the
        # first two and the last are right, 3 of 5; ε = 0 gives 2 of 5. τ = 2 · .6 - 1.
        ("calibrated", 3 / 5, 1 / 5),
    ],
)
def test_rules_for_ties_by_hand(ties: TieRule, accuracy: float, tau: float) -> None:
    found = preference_agreement(HUMAN, FIRST, SECOND, ties=ties)
    assert found.accuracy == pytest.approx(accuracy)
    assert found.kendall == pytest.approx(tau)
    assert (found.ties, found.missing) == (ties, 0)
    if ties == "calibrated":
        assert found.epsilon == pytest.approx(0.1)
        assert (found.agree, found.disagree, found.tied, found.pairs) == (3, 2, 2, 5)
    else:
        assert np.isnan(found.epsilon)
        assert (found.agree, found.disagree, found.tied, found.pairs) == (2, 1, 1, 4)
        assert found.tied_share == 0.25


@pytest.mark.parametrize("ties", get_args(TieRule))
def test_missing_scores_are_left_out_and_counted(ties: TieRule) -> None:
    human = np.append(HUMAN, [1, -1, 0])
    first, second = np.append(FIRST, [NAN, 1.0, NAN]), np.append(SECOND, [1.0, NAN, NAN])
    whole = preference_agreement(HUMAN, FIRST, SECOND, ties=ties)
    found = preference_agreement(human, first, second, ties=ties)
    assert (found.accuracy, found.kendall, found.pairs) == (
        whole.accuracy,
        whole.kendall,
        whole.pairs,
    )
    assert found.missing == (3 if ties == "calibrated" else 2)


@pytest.mark.parametrize("ties", get_args(TieRule))
def test_nothing_to_compare_is_nan(ties: TieRule) -> None:
    for human, scores in ((np.array([], dtype=int), np.array([])), (np.array([1]), [NAN])):
        found = preference_agreement(human, np.array(scores), np.array(scores), ties=ties)
        assert np.isnan(found.accuracy)
        assert np.isnan(found.kendall)
        assert found.pairs == 0
    all_tied = preference_agreement(np.array([1]), np.array([1.0]), np.array([1.0]), ties="drop")
    assert np.isnan(all_tied.accuracy)


def test_average_over_groups() -> None:
    # Group a: right, right, tied; group b: wrong (its human tie is left out). (2.5/3 + 0)/2.
    groups = np.array(["a", "a", "a", "b", "b"])
    found = preference_agreement(HUMAN, FIRST, SECOND, groups=groups)
    assert found.accuracy == pytest.approx((2.5 / 3 + 0) / 2)
    assert found.kendall == pytest.approx((2 / 3 - 1) / 2)
    # Calibrated: ε = .1 gives (2/3 + 1/2)/2 = .583; ε = 0 gives (2/3 + 0)/2.
    found = preference_agreement(HUMAN, FIRST, SECOND, groups=groups, ties="calibrated")
    assert found.accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)


pairs = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        arrays(np.int64, n, elements=st.integers(-1, 1)),
        *[arrays(np.float64, n, elements=st.integers(0, 4).map(float))] * 2,
    )
)


def test_calibration_does_not_tell_differences_apart_that_differ_by_rounding() -> None:
    def fitted(human: list[int], first: list[float], second: list[float]) -> tuple[float, float]:
        sides = np.array(human), np.array(first), np.array(second)
        found = preference_agreement(*sides, ties="calibrated")
        return found.accuracy, found.epsilon

    # .3 − .2 and .2 − .1 are 2e-17 and more apart. People tie only one of the two pairs, so one
    # of them is wrong whatever ε is.
    assert fitted([0, 1], [0.3, 0.2], [0.2, 0.1]) == (0.5, 0.0)
    # .1 + .2 and .3 are equal, so they are a tie without any ε, and infinite scores are not.
    assert fitted([0, 1], [0.1 + 0.2, np.inf], [0.3, 0.2]) == (1.0, 0.0)
    # Neither one huge score nor a small scale merges differences: .1 and .2 of any unit.
    for unit in (1.0, 1e-9):
        human, first = [0, 1, 1], [0.1 * unit, 0.2 * unit, 1e300]
        accuracy, epsilon = fitted(human, first, [0.0, 0.0, 0.0])
        assert accuracy == 1
        assert epsilon == pytest.approx(0.1 * unit, rel=1e-9)


@given(pairs, st.sampled_from(["half", "loss", "drop", "calibrated"]))
def test_no_rule_but_the_official_one_depends_on_the_order(
    pair: tuple[np.ndarray, np.ndarray, np.ndarray], ties: TieRule
) -> None:
    human, first, second = pair
    np.testing.assert_equal(
        asdict(preference_agreement(human, first, second, ties=ties)),
        asdict(preference_agreement(-human, second, first, ties=ties)),
    )


def test_a_constant_metric_on_seeda(data_dir: Path) -> None:
    # Under the official rule a constant metric scores .548 on SEEDA-E, and .452 with the order
    # reversed: the 7,708 decided expanded pairs of the 12 Base systems in alphabetical order.
    items = read_rankings(data_dir / "SEEDA/data/judgments_edit.xml", first_line=1)
    for systems, official in ((BASE, 0.548), (BASE[::-1], 0.452)):
        judged = expand_pairs(items, systems)
        scores = np.zeros((2, len(judged)))
        found = preference_agreement(judged.preference, *scores, ties="official")
        assert found.accuracy == pytest.approx(official, abs=5e-4)
        assert (found.pairs, found.tied) == (7708, 7708)
        assert preference_agreement(judged.preference, *scores).accuracy == 0.5
        assert preference_agreement(judged.preference, *scores, ties="loss").accuracy == 0.0

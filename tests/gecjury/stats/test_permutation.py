"""Permutation tests against values enumerated by hand, Holm's procedure, and clusters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.stats

from gecjury.stats.permutation import (
    cluster_ranks,
    holm,
    holm_matrix,
    perm_both,
    perm_systems,
    permutation_signs,
    rank_ranges,
    share_at_least,
    swapped_means,
    tail_p,
    theil_sen,
    wmt_clusters,
)

NAN = float("nan")


def paired(differences: np.ndarray, signs: np.ndarray, exact: bool = False) -> np.ndarray:
    """Return p of the paired permutation test on sums of differences."""
    return share_at_least(signs @ differences, differences.sum(axis=0), exact)


def test_a_textbook_case_by_hand() -> None:
    # Differences 1, 2, 3: the sums of the 8 sign patterns are ±6, ±4, ±2, 0, 0. An absolute value
    # of at least 6 is reached twice (p = 2/8).
    signs, exact = permutation_signs(3)
    assert exact
    assert sorted((signs @ [1, 2, 3]).tolist()) == [-6, -4, -2, 0, 0, 2, 4, 6]
    differences = np.array([[1.0], [2.0], [3.0]])
    assert paired(differences, signs, exact).tolist() == [2 / 8]


def test_darwins_maize() -> None:
    # Fisher, The Design of Experiments (1935), section 21: of the 2^15 = 32,768 ways to assign
    # signs to the 15 differences in height between crossed and self-fertilised plants, 1,726 reach
    # an absolute sum of 314 or more, 5.267 per cent.
    heights = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    signs, exact = permutation_signs(15, 2**15)
    assert exact
    assert paired(np.array(heights, dtype=float)[:, None], signs, exact)[0] == pytest.approx(
        1726 / 32768
    )


def test_sampled_permutations_are_close_and_never_zero() -> None:
    heights = np.array([[49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]], dtype=float)
    signs, exact = permutation_signs(15, 10_000, seed=1)
    assert not exact
    # Four standard errors of a share of 10,000.
    slack = 4 * np.sqrt(0.0527 * 0.9473 / 10_000)
    assert paired(heights.T, signs)[0] == pytest.approx(1726 / 32768, abs=slack)
    sure = np.ones((100, 1))
    assert paired(sure, permutation_signs(100, 999)[0])[0] == 1 / 1000


def test_the_normal_tail_ends_at_the_least_p_of_all_permutations() -> None:
    # Twelve equal differences: of 2^12 swaps only two are as extreme, so p is 2/4096.
    differences = np.ones((12, 1))
    exact, _ = permutation_signs(12, 4096)
    drawn, _ = permutation_signs(12, 4095)
    for signs, all_of_them in ((exact, True), (drawn, False)):
        null, observed = swapped_means(differences, signs)
        assert tail_p(null, observed, all_of_them, 12)[0] == pytest.approx(2 / 4096)
    one = swapped_means(differences, permutation_signs(12, 1)[0])
    assert tail_p(*one, False, 12)[0] >= 0.5


def test_undefined_statistics_are_not_significant() -> None:
    # Of three defined permutations, two are at least 2 in absolute value. Without any defined one,
    # or an observed one, there is no test.
    null = np.array([[2.0, NAN, 1.0], [-3.0, NAN, 2.0], [1.0, NAN, 3.0], [NAN, NAN, 4.0]])
    observed = np.array([2.0, 1.0, NAN])
    np.testing.assert_array_equal(share_at_least(null, observed, True), [2 / 3, NAN, NAN])
    np.testing.assert_array_equal(share_at_least(null, observed, False), [3 / 4, NAN, NAN])
    assert np.isnan(tail_p(null, observed, False)).tolist() == [False, True, True]


def test_metrics_without_a_common_sentence_of_a_system_are_not_compared() -> None:
    table = np.random.default_rng(1).normal(size=(6, 40))
    one, two = table.copy(), table.copy()
    one[0, ::2] = two[0, 1::2] = NAN
    for statistic in ("pearson", "spearman", "kendall", "pairwise_accuracy"):
        options = {"statistic": statistic, "permutations": 50}
        values, p = perm_both(np.arange(6.0), [one, two], **options)
        assert not np.isnan(values).any()
        assert np.isnan(p).all()


def test_perm_both_equals_an_enumeration() -> None:
    # The vectors of mt-metrics-eval's PermutationSigDiffTest (google-research/mt-metrics-eval,
    # stats_test.py at 0b82d96b), used as the scores of eight systems. Its p is estimated from
    # random swaps; here all 2^8 are listed.
    gold = np.array([1, 2, 3, 4, 5, 5, 7, 8], dtype=float)
    one = np.array([1, 2, 3, 3, 7, 3, 5, 5], dtype=float)
    two = np.array([2, 1, 2, 6, 8, 8, 7, 6], dtype=float)
    x, y = scipy.stats.zscore(one), scipy.stats.zscore(two)
    r = scipy.stats.pearsonr

    def delta(swap: tuple[int, ...]) -> float:
        mask = np.array(swap, dtype=bool)
        return r(gold, np.where(mask, x, y))[0] - r(gold, np.where(mask, y, x))[0]

    nulls = np.array([delta(swap) for swap in product((0, 1), repeat=8)])
    observed = r(gold, two)[0] - r(gold, one)[0]
    expected = (abs(nulls) >= abs(observed) - 1e-12).mean()
    cells = [one[:, None], two[:, None]]
    values, p = perm_both(gold, cells)
    assert values == pytest.approx([r(gold, one)[0], r(gold, two)[0]], abs=1e-9)
    assert p[0, 1] == p[1, 0] == pytest.approx(expected, abs=1e-12)
    # Sampled, as in the original: within four standard errors.
    _, drawn = perm_both(gold, cells, permutations=255)
    slack = 4 * np.sqrt(expected * (1 - expected) / 255)
    assert drawn[1, 0] == pytest.approx(expected, abs=slack)


@pytest.mark.parametrize(
    ("statistic", "best", "worst"),
    [("pearson", 1, -1), ("spearman", 1, -1), ("kendall", 1, -1), ("pairwise_accuracy", 1, 0)],
)
def test_every_statistic_by_hand(statistic: str, best: float, worst: float) -> None:
    # Humans 1, 2, 3; one metric in their order, one reversed; standardised (-u, 0, u), (u, 0, -u).
    # Among the eight swaps, that of the middle system changes nothing. Neither or both of the outer
    # ones swapped: the metrics are unchanged or exchanged, the observed difference. One of them
    # swapped: (u, 0, u) and (-u, 0, -u), for both of which every statistic is in the middle (one
    # pair right, one wrong, one tied): no difference. Four of eight reach the observed one.
    human, up = np.arange(3.0), np.arange(3.0)[:, None]
    values, p = perm_both(human, [up, -up], statistic=statistic)
    assert values == pytest.approx([best, worst])
    assert p[0, 1] == p[1, 0] == pytest.approx(4 / 8)


def test_perm_systems_by_hand() -> None:
    # Humans 0, 1, 2; one metric in their order, one reversed. Relative to their Theil-Sen lines
    # the metrics are -1, 0, 1 and 1, 0, -1, in any unit. The first system is never swapped, and
    # swapping the second changes nothing. Nothing else swapped: Kendall's tau is 1 and -1, a
    # difference of 2. The third swapped: -1, 0, -1 and 1, 0, 1, both tau 0. Two of four reach 2.
    human = np.arange(3.0)
    values, p = perm_systems(human, np.stack([human, -human]), statistic="kendall")
    assert values == pytest.approx([1, -1])
    assert p[0, 1] == p[1, 0] == pytest.approx(2 / 4)


def test_perm_systems_on_r_equals_an_enumeration() -> None:
    # Eight systems whose quality both metrics reflect, one better than the other, on different
    # scales. The jackknife is computed by actually leaving out each system.
    gold = np.array([1, 2, 3, 4, 5, 5, 7, 8], dtype=float)
    one = 10 * np.array([1, 2, 3, 3, 5, 6, 7, 9], dtype=float) - 3
    two = np.array([2, 1, 5, 6, 3, 8, 7, 6], dtype=float) / 100

    def studentised(x: np.ndarray, y: np.ndarray) -> float:
        def gap(kept: np.ndarray) -> float:
            r = np.corrcoef([gold[kept], x[kept], y[kept]])[0]
            return float(np.arctanh(r[1]) - np.arctanh(r[2]))

        pseudo = [8 * gap(np.arange(8)) - 7 * gap(np.delete(np.arange(8), s)) for s in range(8)]
        return gap(np.arange(8)) / float(np.std(pseudo, ddof=1) / np.sqrt(8))

    def aligned(scores: np.ndarray, by_slope: bool) -> np.ndarray:
        slopes = [
            (scores[b] - scores[a]) / (gold[b] - gold[a])
            for a in range(8) for b in range(a) if gold[a] != gold[b]
        ]  # fmt: skip
        slope = float(np.median(slopes))
        crossing = float(np.median(scores - slope * (gold - gold.mean())))
        return (scores - crossing) / (slope if by_slope else np.std(scores))

    masks = [np.array(swap, dtype=bool) for swap in product((0, 1), repeat=8)]
    observed = studentised(one, two)
    shares = []
    for by_slope in (True, False):
        x, y = aligned(one, by_slope), aligned(two, by_slope)
        nulls = [studentised(np.where(mask, x, y), np.where(mask, y, x)) for mask in masks]
        shares.append(np.mean(np.abs(nulls) >= abs(observed) - 1e-9))
    expected = max(shares)
    assert 0.01 < min(shares) < expected < 0.99
    values, p = perm_systems(gold, np.stack([one, two]))
    assert values == pytest.approx([scipy.stats.pearsonr(gold, m)[0] for m in (one, two)])
    assert p[0, 1] == pytest.approx(expected, abs=1e-12)
    # Neither scale nor location of a metric matters, nor the order of the two.
    again = perm_systems(gold, np.stack([two - 5, 3 * one]))[1]
    assert again[0, 1] == pytest.approx(expected, abs=1e-12)


def test_perm_systems_without_a_difference() -> None:
    human = np.arange(6.0)
    flat = np.ones(6)
    some = np.random.default_rng(0).random(6)
    values, p = perm_systems(human, np.stack([some, some, flat]))
    assert p[0, 1] == 1.0  # the same metric twice
    assert np.isnan(values[2])
    assert np.isnan(p[2]).all()
    assert np.isnan(perm_systems(human[:2], np.eye(2))[1]).all()
    # A perfect metric and its reverse: z would be infinite, since its standard error is 0.
    # None of the other 31 swaps gives as large a difference.
    assert perm_systems(human, np.stack([human, -human]))[1][0, 1] == pytest.approx(1 / 32)


@pytest.mark.slow
@pytest.mark.parametrize("quality", ["normal", "outlying"])
def test_perm_systems_keeps_its_level_with_skewed_biases(quality: str) -> None:
    # Two metrics are the same quality plus exponential biases of deviation .5, 600 corpora of 12
    # systems. The standard error of a share of .05 is .009; swaps of standardised scores reject
    # .125 (normal quality) and .143 (two outlying systems).
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(600):
        human = rng.normal(size=12) + np.repeat((0, 4 * (quality == "outlying")), (10, 2))
        scores = human + 0.5 * (rng.exponential(size=(2, 12)) - 1)
        rejected += perm_systems(human, scores)[1][0, 1] <= 0.05
    assert 0.02 <= rejected / 600 <= 0.09


def test_holm_by_hand() -> None:
    # Sorted .01, .02, .03, .04: times 4, 3, 2, 1 gives .04, .06, .06, .04; made monotone: .04,
    # .06, .06, .06.
    assert holm(np.array([0.02, 0.01, 0.04, 0.03, NAN])) == pytest.approx(
        [0.06, 0.04, 0.06, 0.06, NAN], nan_ok=True
    )
    p = np.array([[NAN, 0.01, 0.02], [0.01, NAN, 0.5], [0.02, 0.5, NAN]])
    assert holm_matrix(p) == pytest.approx(
        np.array([[NAN, 0.03, 0.04], [0.03, NAN, 0.5], [0.04, 0.5, NAN]]), nan_ok=True
    )


def test_clusters_by_hand() -> None:
    # Best first: b (.9), a (.8), d (.7), c (.1). a is not worse than b; d is worse than b; c is not
    # worse than d, the only member of the cluster so far, though worse than a.
    values = np.array([0.8, 0.9, 0.1, 0.7, NAN])
    p = np.full((5, 5), 1.0)
    for i, j in ((1, 3), (0, 2)):
        p[i, j] = p[j, i] = 0.01
    assert cluster_ranks(values, p) == [1, 1, 2, 2, None]


def test_clusters_do_not_depend_on_the_order() -> None:
    """The second and the third are equal; one of them alone is significantly worse."""
    values = np.array([0.9, 0.8, 0.8, 0.7])
    p = np.ones((4, 4))
    p[0, 2] = p[2, 0] = 0.01
    assert cluster_ranks(values, p) == [1, 2, 2, 2]
    turned = [0, 2, 1, 3]
    assert cluster_ranks(values[turned], p[np.ix_(turned, turned)]) == [1, 2, 2, 2]
    # Values that differ only in the last digit are equal.
    assert cluster_ranks(np.array([0.8, 0.8 + 1e-16, 0.9]), p[np.ix_([1, 2, 0], [1, 2, 0])]) == [
        2, 2, 1,
    ]  # fmt: skip


def test_rank_ranges_and_clusters_by_hand() -> None:
    # A and B are not distinguished, both are better than C; D has no score.
    scores = np.array([0.9, 0.8, 0.5, NAN])
    p = np.full((4, 4), 1.0)
    for i, j in ((0, 2), (1, 2)):
        p[i, j] = p[j, i] = 0.001
    ranks = rank_ranges(scores, p)
    assert ranks == ((1, 2), (1, 2), (3, 3), None)
    assert wmt_clusters(scores, ranks) == (1, 1, 2, None)
    # A is better than C only: the ranges 1-2, 1-3, 2-3 overlap, so there is one cluster.
    p[1, 2] = p[2, 1] = 1.0
    ranks = rank_ranges(scores, p)
    assert ranks == ((1, 2), (1, 3), (2, 3), None)
    assert wmt_clusters(scores, ranks) == (1, 1, 1, None)


def test_theil_sen_line_equals_that_of_scipy() -> None:
    from scipy.stats import theilslopes

    # Slopes between the points (0, 0), (1, 2), (2, 3), (2, 9): 2, 1.5, 4.5, 1 and 7, none between
    # the last two; their median is 2.
    assert theil_sen(np.array([0.0, 1.0, 2.0, 2.0]), np.array([0.0, 2.0, 3.0, 9.0])) == 2.0
    rng = np.random.default_rng(3)
    for size in (2, 7, 40):
        x, y = rng.normal(size=size).round(1) + np.arange(size), rng.normal(size=size)
        assert theil_sen(x, y) == theilslopes(y, x)[0]

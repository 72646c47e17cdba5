"""Swapping the systems of two metrics, and the rejection rate of the test over tasks."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.metaeval.tasks.swaps import (
    CorrelationSwaps,
    JudgedPairs,
    PairSwaps,
    Swaps,
    judged_swaps,
    soft_swaps,
)
from gecjury.stats.permutation import tail_p
from gecjury.stats.preferences import preference_agreement
from gecjury.stats.soft_accuracy import (
    ScoreDifferences,
    normal_confidence,
    soft_pairwise_accuracy,
)

HUMAN = np.array([1.0, 2.0, 3.0, 4.0])


def correlation(one: list[float], two: list[float]) -> CorrelationSwaps:
    return CorrelationSwaps(HUMAN, np.array([one, two]), "pearson")


def test_all_systems_swapped_is_the_opposite_of_none() -> None:
    swaps = correlation([1, 3, 2, 4], [5, 1, 2, 9])
    none, every = swaps.gaps(np.array([[False] * 4, [True] * 4]))
    assert none == pytest.approx(-every)
    assert none != 0


def test_a_system_without_a_human_score_is_ignored() -> None:
    human = np.array([1.0, 2.0, np.nan, 4.0])
    scores = np.array([[1.0, 2.0, 99.0, 4.0], [4.0, 2.0, -99.0, 1.0]])
    swaps = CorrelationSwaps(human, scores, "pearson")
    # Deviations (−4, −1, 5)/3 and (5, −1, −4)/3: r = (−20 + 1 − 20)/42 = −13/14.
    assert swaps.observed() == pytest.approx(1 + 13 / 14)
    one, two = swaps.gaps(np.array([[True, False, False, False], [True, False, True, False]]))
    assert one == two


def test_sums_of_pairs_by_hand() -> None:
    """Two pairs of units; metric 1 is right in the first, metric 2 in the second, mixes partly.

    Without a swap 1/2 − 1/2 = 0. With unit 0 swapped, the pair (0, 1) has its first side from the
    other metric, (1, 2) no side: (.25 + 0)/2 − (.75 + 1)/2 = −.75.
    """
    right = np.array([[1.0, 0.0], [0.75, 0.5], [0.25, 0.5], [0.0, 1.0]])
    swaps = PairSwaps(3, np.array([0, 1]), np.array([1, 2]), right, np.ones((4, 2)))
    assert swaps.observed() == 0
    assert swaps.gaps(np.array([[True, False, False]])) == pytest.approx([-0.75])


@pytest.mark.parametrize("ties", ["half", "official", "drop", "calibrated"])
def test_unswapped_pairs_give_the_difference_of_the_accuracies(ties: str) -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(4, size=(2, 2, 60)).astype(np.float64)
    wanted = rng.integers(-1, 2, size=60)
    first, group = rng.integers(4, size=60), np.arange(60) // 6
    judged = JudgedPairs(wanted, first, (first + 1) % 5, 5, group, ties)  # type: ignore[arg-type]
    swaps = judged_swaps(judged, scores[0], scores[1])
    one, two = (preference_agreement(wanted, *s, ties=ties).accuracy for s in scores)  # type: ignore[arg-type]
    assert swaps.observed() == pytest.approx(one - two)


def test_groups_count_equally_in_acc_eq() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(2, 2, 7))
    wanted, group = rng.integers(-1, 2, size=7), np.array([0, 0, 0, 0, 0, 1, 1])
    judged = JudgedPairs(wanted, np.zeros(7, int), np.ones(7, int), 2, group, "calibrated", True)
    one, two = (
        preference_agreement(wanted, *s, ties="calibrated", groups=group).accuracy for s in scores
    )
    assert judged_swaps(judged, scores[0], scores[1]).observed() == pytest.approx(one - two)


def test_unswapped_systems_give_the_difference_of_soft_accuracies() -> None:
    rng = np.random.default_rng(5)
    human, one, two = rng.normal(size=(3, 5, 40))
    wanted = ScoreDifferences(human)

    def accuracy(scores: FloatArray) -> float:
        whole = np.ones((1, 40))
        sure = [
            normal_confidence(ScoreDifferences(table).take(np.arange(10)), whole)[0]
            for table in (human, scores)
        ]
        return float(soft_pairwise_accuracy(*sure))

    assert soft_swaps(wanted, one, two).observed() == pytest.approx(accuracy(one) - accuracy(two))


def test_soft_accuracies_of_every_swap_one_by_one() -> None:
    """Every number of the definition in turn, with a score and a judgment missing."""
    rng = np.random.default_rng(6)
    human, one, two = rng.normal(size=(3, 3, 4))
    human[1, 2] = one[2, 0] = np.nan
    systems, lines = range(3), range(4)

    def mean(values: list[float]) -> float:
        known = [value for value in values if not math.isnan(value)]
        return sum(known) / len(known)

    def scaled(table: FloatArray) -> list[list[float]]:
        of_line = [mean([table[i, n] for i in systems]) for n in lines]
        centred = [[float(table[i, n] - of_line[n]) for n in lines] for i in systems]
        middle = mean([value for row in centred for value in row])
        spread = math.sqrt(mean([(value - middle) ** 2 for row in centred for value in row]))
        return [[(value - middle) / spread for value in row] for row in centred]

    raw, own = [one.tolist(), two.tolist()], [scaled(one), scaled(two)]
    # U = 3: the means a and b of a system become (a + b)/2 ± √(3/2) (a − b)/2.
    mixed = [[[0.0] * 4 for _ in systems] for _ in own]
    for i in systems:
        a, b = mean(own[0][i]), mean(own[1][i])
        wide = math.sqrt(3 / 2) * (a - b) / 2
        for n in lines:
            mixed[0][i][n] = own[0][i][n] - a + (a + b) / 2 + wide
            mixed[1][i][n] = own[1][i][n] - b + (a + b) / 2 - wide

    def p(gaps: list[float]) -> float:
        return NormalDist().cdf(-sum(gaps) / math.sqrt(sum(gap**2 for gap in gaps)))

    def accuracy(metric: list[int]) -> float:
        parts = []
        for i, j in itertools.combinations(systems, 2):
            tables = raw if metric[i] == metric[j] else mixed
            left, right = tables[metric[i]][i], tables[metric[j]][j]
            shared = [n for n in lines if not np.isnan(one + two + human)[[i, j], n].any()]
            wanted = p([human[i, n] - human[j, n] for n in shared])
            parts.append(1 - abs(wanted - p([left[n] - right[n] for n in shared])))
        return mean(parts)

    swaps = list(itertools.product((0, 1), repeat=3))
    found = soft_swaps(ScoreDifferences(human), one, two).gaps(np.array(swaps, dtype=np.bool_))
    expected = [accuracy([*swap]) - accuracy([1 - who for who in swap]) for swap in swaps]
    assert found == pytest.approx(expected, abs=1e-12)


# ---- the level of the test over tasks, and its power compared with one benchmark

TASKS = [(12, 391), (13, 391), (7, 200), (7, 200), (7, 200), (4, 200), (5, 200), (5, 100)]
"""Systems and sentences of benchmarks like those of the field; each has two tasks."""


def rejections(
    deviations: tuple[float, float],
    shape: str,
    tasks: list[tuple[int, int]],
    corpora: int,
    *,
    by_system: bool = True,
) -> float:
    """Return how often the test over tasks rejects at .05.

    The quality of a system is normal (deviation .35); a metric adds its own bias to every system,
    a source adds its easiness, and every cell has a normal error of deviation 1.

    Args:
        deviations: of the biases of both metrics; if they are equal, every rejection is wrong.
        shape: of the first metric's biases; the second's are normal.
        tasks: systems and sentences of every benchmark.
        corpora: how many corpora are drawn.
        by_system: include the system tasks, not only the sentence tasks.
    """
    rng, wrong, permutations = np.random.default_rng(1), 0, 400
    draw = {
        "normal": lambda size: rng.normal(size=size),
        "skewed": lambda size: rng.exponential(size=size) - 1,
    }
    for _ in range(corpora):
        total = np.zeros(1 + permutations)
        for systems, lines in tasks:
            quality, ease = rng.normal(0, 0.35, systems), rng.normal(size=lines)
            human = quality[:, None] + rng.normal(size=(systems, lines))
            cells = [
                (quality + deviation * draw[kind](systems))[:, None]
                + ease
                + rng.normal(size=(systems, lines))
                for deviation, kind in zip(deviations, (shape, "normal"), strict=True)
            ]
            first, second = np.triu_indices(systems, 1)
            pair, row = np.divmod(np.arange(len(first) * lines), lines)
            a, b = first[pair], second[pair]
            wanted = np.sign(human[a, row] - human[b, row]).astype(np.int64)
            judged = JudgedPairs(wanted, a, b, systems, row, "half")
            sides = [(table[a, row], table[b, row]) for table in cells]
            means = np.stack([table.mean(axis=1) for table in cells])
            both: list[Swaps] = [judged_swaps(judged, *sides)]
            if by_system:
                both.append(CorrelationSwaps(human.mean(axis=1), means, "pearson"))
            swapped = rng.integers(2, size=(permutations, systems)).astype(np.bool_)
            for swaps in both:
                total += [swaps.observed(), *swaps.gaps(swapped)]
        wrong += bool(tail_p(total[1:, None], total[:1], exact=False)[0] <= 0.05)
    return wrong / corpora


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "by_system"), [("skewed", True), ("normal", False)])
def test_true_hypotheses_are_rejected_hardly_more_often_than_the_level(
    shape: str, by_system: bool
) -> None:
    """The bound is .06 plus two standard errors of a share of .05 in 300 corpora, 2 · .0126."""
    assert rejections((0.2, 0.2), shape, TASKS, 300, by_system=by_system) <= 0.085


@pytest.mark.slow
def test_many_tasks_find_what_one_benchmark_does_not() -> None:
    every = rejections((0.1, 0.3), "normal", TASKS, 100)
    alone = rejections((0.1, 0.3), "normal", TASKS[:1], 100)
    assert every >= 0.6
    assert every > alone + 0.2

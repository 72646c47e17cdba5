"""Computing in blocks gives the same results as at once, in memory independent of the pairs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.stats.bootstrap import make_resampled
from gecjury.stats.choices import TieRule
from gecjury.stats.permutation import perm_systems, permutation_signs
from gecjury.stats.preferences import (
    agreement_in_parts,
    drawn_sums,
    pair_table,
    preference_agreement,
)
from gecjury.stats.ranking import resampled_wins, score_wins
from gecjury.stats.soft_accuracy import (
    JudgedDifferences,
    ScoreDifferences,
    confidences,
    perm_both_spa,
    resampled_soft_accuracy,
)

NAN = float("nan")


def table(systems: int, sentences: int, seed: int, missing: float = 0.1) -> FloatArray:
    """Return scores with ties and missing values."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(6, size=(systems, sentences)).astype(float)
    scores[rng.random(scores.shape) < missing] = NAN
    return scores


def judged(systems: int, sentences: int, seed: int) -> JudgedDifferences:
    """Return a few comparisons of a few pairs."""
    pairs, rng = systems * (systems - 1) // 2, np.random.default_rng(seed)
    cell = np.unique(rng.integers(pairs * sentences, size=2 * systems))
    return JudgedDifferences(cell, rng.choice([-1.0, 0, 0.5], len(cell)), sentences, pairs)


def test_differences_can_be_taken_for_any_pairs() -> None:
    some = judged(8, 5, seed=1)
    every, places = np.arange(28), some.compared
    whole = some.take(every)
    assert (~np.isnan(whole)).sum() == len(some.cell)
    assert np.flatnonzero(~np.isnan(whole).all(axis=0)).tolist() == places.tolist()
    chosen = np.array([0, 3, 4, 20, 27])
    assert np.array_equal(some.take(chosen), whole[:, chosen], equal_nan=True)
    scores = ScoreDifferences(table(8, 5, seed=2))
    expected = scores.take(every)[:, chosen]
    assert np.array_equal(scores.take(chosen), expected, equal_nan=True)
    # Of the pairs 0-1, 0-2 and 1-2 only the first and the last share a sentence.
    sparse = ScoreDifferences(np.array([[1.0, NAN, NAN], [2.0, 1.0, NAN], [NAN, 3.0, 1.0]]))
    assert sparse.compared.tolist() == [0, 2]


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("drawn", ["both", "sentences"])
def test_soft_accuracy_in_blocks_equals_that_of_the_whole(ranked: bool, drawn: str) -> None:
    human = judged(9, 12, seed=3) if ranked else ScoreDifferences(table(9, 12, seed=3))
    given = [ScoreDifferences(table(9, 12, seed)) for seed in (4, 5)]
    signs = permutation_signs(12, 50)[0]
    for metric in (None, given[0]):
        whole = confidences(human, metric, signs)
        assert np.array_equal(whole, confidences(human, metric, signs, at_once=150), equal_nan=True)
    draws = make_resampled(drawn, 20, 12, 9, seed=0)  # type: ignore[arg-type]
    whole_draws, parts = (
        resampled_soft_accuracy(human, given, draws.counts, draws.multiplicity, at_once=size)
        for size in (10**6, 60)
    )
    assert np.stack(parts) == pytest.approx(np.stack(whole_draws), abs=1e-12, nan_ok=True)
    assert np.isfinite(whole_draws[0]).any()


def test_tests_of_swapped_systems_in_blocks_equal_those_of_the_whole() -> None:
    rng = np.random.default_rng(5)
    human, scores = rng.random(60), rng.random((3, 60))
    sizes = (6000, 10**9)
    for statistic in ("pearson", "spearman"):
        parts, whole = (
            perm_systems(human, scores, statistic=statistic, permutations=2000, at_once=size)
            for size in sizes
        )
        for one, two in zip(parts, whole, strict=True):
            assert one == pytest.approx(two, nan_ok=True)
    few, many = (
        _peak(partial(perm_systems, human, scores, permutations=2000, at_once=size))
        for size in sizes
    )
    # What remains is the signs, 2,000 × 60, their copy, and a temporary one during creation.
    assert few < 3.5 * 2000 * 60 * 8 < many


def test_expected_wins_in_blocks_equal_those_of_the_whole() -> None:
    wins = score_wins(table(9, 12, seed=4))
    counts = make_resampled("sentences", 10, 12, 9, seed=0).counts
    whole = resampled_wins(wins, 9, counts)
    assert np.array_equal(whole, resampled_wins(wins, 9, counts, at_once=200), equal_nan=True)
    assert np.isfinite(whole).all()


@pytest.mark.parametrize("drawn", ["both", "sentences", "systems"])
def test_sums_over_judged_pairs_are_exact_in_any_order(drawn: str) -> None:
    rng = np.random.default_rng(5)
    first, gap = rng.integers(8, size=(2, 300))
    second = (first + 1 + gap) % 9
    values, sentence = rng.integers(3, size=300) / 2, rng.integers(12, size=300)
    draws = make_resampled(drawn, 15, 12, 9, seed=0)  # type: ignore[arg-type]
    args = values, sentence, first, second, draws.counts, draws.multiplicity
    whole = drawn_sums(*args)
    assert whole.tolist() == drawn_sums(*args, at_once=1000).tolist()
    assert whole.tolist() == drawn_sums(*args, at_once=1).tolist()
    times = draws.multiplicity
    weight = draws.counts[-1, sentence]
    if times is not None:
        weight = weight * times[-1, first] * times[-1, second]
    assert whole[-1] == (weight * values).sum()


@pytest.mark.parametrize("ties", ["half", "official", "loss", "drop", "calibrated"])
def test_agreement_in_parts_equals_that_of_the_whole(ties: TieRule) -> None:
    rng = np.random.default_rng(8)
    human = rng.integers(-1, 2, size=60)
    first, second = rng.integers(4, size=(2, 60)).astype(float)
    first[::9] = NAN
    cuts = [slice(0, 25), slice(25, 25), slice(25, 60)]
    parts = [(human[cut], first[cut], second[cut]) for cut in cuts]
    assert str(agreement_in_parts(parts, ties=ties)) == str(
        preference_agreement(human, first, second, ties=ties)
    )
    if ties != "calibrated":
        labels = rng.integers(5, size=(2, 60))
        whole = pair_table([(*labels, human, first, second)], size=5, ties=ties)
        split = [(*labels[:, cut], *part) for cut, part in zip(cuts, parts, strict=True)]
        found = pair_table(split, size=5, ties=ties)
        assert np.array_equal(found[0], whole[0], equal_nan=True)
        assert found[1].tolist() == whole[1].tolist()


def _peak(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("what", ["draws", "figures", "test", "wins", "sums"])
def test_memory_does_not_grow_with_pairs(what: str) -> None:
    """From 60 to 240 systems the pairs grow sixteenfold; memory grows at most like the systems."""
    at_once, lines, size = 20_000, 4, 40

    def work(systems: int) -> Callable[[], object]:
        human, scores = judged(systems, lines, 1), table(systems, lines, 2)
        draws = make_resampled("both", size, lines, systems, seed=0)
        counts, times = draws.counts, draws.multiplicity
        given = [ScoreDifferences(scores)] * 3
        place = np.arange(systems - 1)
        return {
            "draws": lambda: resampled_soft_accuracy(human, given, counts, times, at_once=at_once),
            "figures": lambda: confidences(
                human, given[0], permutation_signs(lines, 200)[0], at_once=at_once
            ),
            "test": lambda: perm_both_spa(
                human, [scores, -scores], permutations=4, at_once=at_once
            ),
            "wins": lambda: resampled_wins(score_wins(scores), systems, counts, at_once=at_once),
            "sums": lambda: drawn_sums(
                np.ones(systems - 1), place % lines, place, place + 1, counts, times,
                at_once=at_once,
            ),
        }[what]  # fmt: skip

    for warm in (60, 240):
        work(warm)()
    few, many = (_peak(work(systems)) for systems in (60, 240))
    # Memory for an n × n result is allowed.
    assert many < 4.5 * few + 16 * 240**2 * 8

"""Ratings of corrections: the rankings they imply and the agreement of scores, by hand."""

from __future__ import annotations

import math
from dataclasses import astuple, replace

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.ratings import RatingAgreement, one_rater, rated_points
from gecjury.metaeval.segments import mean_rater
from gecjury.stats.counts import defined_mean

NAN = float("nan")
# B and C have the same correction of the first source, and different ones of the second.
CORPUS = Corpus(
    ("s", "t"),
    {"A": Version(("a", "a")), "B": Version(("b", "b")), "C": Version(("b", "c"))},
)
RATINGS = np.array([[4.0, 1.0], [2.0, 3.0], [2.0, 3.0]])
SCORES = np.array([[0.9, 0.2], [0.1, 0.8], [0.1, 0.5]])


def benchmark(ratings: np.ndarray, raters: np.ndarray | None = None) -> Benchmark:
    return Benchmark(
        name="b",
        corpus=CORPUS,
        rankings={},
        human={"sentence": {"mean": {}}},
        view="sentence",
        systems="all",
        system_sets={},
        references="",
        sentence_ids=(0, 1),
        citation="",
        segment_scores=ratings,
        raters={} if raters is None else {"rating": raters},
    )


def rating_agreement(
    benchmark: Benchmark, sentences: np.ndarray, system_scores: np.ndarray
) -> list[RatingAgreement]:
    return [
        rated_points(benchmark.corpus, ratings, sentences).agreement(aspect, system_scores)
        for aspect, ratings in benchmark.rated.items()
    ]


def test_agreement_by_hand() -> None:
    (found,) = rating_agreement(benchmark(RATINGS), SCORES, np.array([0.55, 0.45, 0.3]))
    # C of the first source shares B's text and rating, so five corrections count:
    # ratings 4 2 1 3 3, scores .9 .1 .2 .8 .5. Means 2.6 and .5; products of deviations
    # .56 + .24 + .48 + .12 + 0 = 1.4; squares 5.2 and .5: r = 1.4 / √2.6.
    assert (found.aspect, found.outputs, found.missing) == ("rating", 5, 0)
    assert found.pearson == pytest.approx(1.4 / math.sqrt(2.6), abs=1e-12)
    # Of ten pairs one is tied by people (3, 3) and one is discordant (2 > 1 but .1 < .2):
    # τ-b = (8 - 1) / √(9 · 10).
    assert found.kendall == pytest.approx(7 / math.sqrt(90), abs=1e-12)
    # Ranks 5 2 1 3.5 3.5 and 5 1 2 4 3: deviations 2 -1 -2 .5 .5 and 2 -2 -1 1 0;
    # (4 + 2 + 2 + .5) / √(9.5 · 10).
    assert found.spearman == pytest.approx(8.5 / math.sqrt(95), abs=1e-12)
    # First source: one pair, concordant: 1. Second: two concordant, one tied by people:
    # 2 / √(2 · 3).
    assert found.within == pytest.approx((1 + 2 / math.sqrt(6)) / 2, abs=1e-12)
    assert found.sources == 2
    # All systems have the mean rating 2.5.
    assert math.isnan(found.system_pearson)
    assert math.isnan(found.system_spearman)


def test_missing_scores_are_counted_and_left_out() -> None:
    scores = SCORES.copy()
    scores[1, 1] = NAN
    (found,) = rating_agreement(benchmark(RATINGS), scores, np.zeros(3))
    assert (found.outputs, found.missing) == (4, 1)
    ratings = RATINGS.copy()
    ratings[0, 0] = NAN
    (found,) = rating_agreement(benchmark(ratings), SCORES, np.array([1.0, 2.0, 3.0]))
    # An unrated output is not missing; the first source has one correction left and no pair.
    assert (found.outputs, found.missing, found.sources) == (4, 0, 1)
    # Means 1, 2.5, 2.5 and scores 1, 2, 3: deviations -1 .5 .5 and -1 0 1: 1.5 / √(1.5 · 2).
    assert found.system_pearson == pytest.approx(1.5 / math.sqrt(3), abs=1e-12)


def test_rankings_keep_ties_and_join_equal_texts() -> None:
    first, second = rank_ratings(RATINGS, CORPUS)
    assert (first.groups, first.ranks) == ((("A",), ("B", "C")), (1, 2))
    assert (second.groups, second.ranks) == ((("A",), ("B",), ("C",)), (2, 1, 1))
    partly = np.array([[NAN, NAN], [1.0, NAN], [0.1 + 0.2, NAN]])
    (only,) = rank_ratings(partly, CORPUS, "x")
    # Equal texts with different ratings stay separate.
    assert (only.annotator, only.groups, only.ranks) == ("x", (("B",), ("C",)), (1, 2))


def test_means_that_differ_by_rounding_are_a_tie() -> None:
    ratings = np.array([[0.1 + 0.2, 1.0], [0.3, 2.0], [0.0, 3.0]])
    first, _ = rank_ratings(ratings, CORPUS)
    assert first.ranks == (1, 1, 2)


def test_one_rater_against_the_others() -> None:
    same = np.stack([RATINGS, RATINGS, RATINGS])
    (found,) = one_rater(benchmark(RATINGS, same))
    assert (found.aspect, found.outputs) == ("rating", 5)
    assert found.pearson == found.within == pytest.approx(1.0, abs=1e-12)
    assert one_rater(benchmark(RATINGS)) == []
    assert one_rater(benchmark(RATINGS, RATINGS[None])) == []


def test_the_order_of_systems_does_not_affect_one_rater() -> None:
    # B and C share the first text; the first rater gave it 3 and 1, the second rated it once.
    # The mean of the other raters is the same for each of them.
    raters = np.array([
        [[4.0, 1.0], [3.0, 3.0], [1.0, 1.0]], [[3.0, 2.0], [2.0, 4.0], [NAN, 1.0]],
        [[4.0, 1.0], [2.0, 3.0], [2.0, 3.0]],
    ])  # fmt: skip
    made = benchmark(RATINGS, raters)
    for one, other in (
        (one_rater(made)[0], one_rater(reversed_systems(made))[0]),
        (mean_rater(made, "rating", "item"), mean_rater(reversed_systems(made), "rating", "item")),
    ):
        assert one is not None
        assert other is not None
        figures = [[v for v in astuple(each) if not isinstance(v, str)] for each in (one, other)]
        np.testing.assert_allclose(*figures, rtol=1e-12)


def reversed_systems(made: Benchmark) -> Benchmark:
    """Return the benchmark with its systems in reverse order."""
    assert made.segment_scores is not None
    systems = dict(reversed(made.corpus.systems.items()))
    return replace(
        made,
        corpus=replace(made.corpus, systems=systems),
        segment_scores=made.segment_scores[::-1],
        raters={aspect: table[:, ::-1] for aspect, table in made.raters.items()},
    )


def test_means_leave_out_what_is_absent() -> None:
    table = np.array([[1.0, NAN, NAN], [3.0, 4.0, NAN]])
    assert defined_mean(table, 0).tolist()[:2] == [2.0, 4.0]
    assert math.isnan(defined_mean(table, 0)[2])

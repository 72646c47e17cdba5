"""Ratings of corrections: the rankings that they imply, and agreement over all and by source."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.core.arrays import draw_weights
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.ratings import one_rater, rated_points
from gecjury.stats.grouped import group_correlations, grouped_pairs
from gecjury.stats.preferences import preference_agreement

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
) -> list[dict[str, float]]:
    return [
        rated_points(benchmark.corpus, ratings, sentences).agreement(system_scores)
        for ratings in benchmark.rated.values()
    ]


def test_agreement_by_hand() -> None:
    (found,) = rating_agreement(benchmark(RATINGS), SCORES, np.array([0.55, 0.45, 0.3]))
    # C of the first source shares B's text and rating, so five corrections count:
    # ratings 4 2 1 3 3, scores .9 .1 .2 .8 .5. Means 2.6 and .5; products of deviations
    # .56 + .24 + .48 + .12 + 0 = 1.4; squares 5.2 and .5: r = 1.4 / √2.6.
    assert (found["outputs"], found["missing"]) == (5, 0)
    assert found["pearson"] == pytest.approx(1.4 / math.sqrt(2.6), abs=1e-12)
    # Of ten pairs one is tied by people (3, 3) and one is discordant (2 > 1 but .1 < .2):
    # τ-b = (8 - 1) / √(9 · 10).
    assert found["kendall"] == pytest.approx(7 / math.sqrt(90), abs=1e-12)
    # Ranks 5 2 1 3.5 3.5 and 5 1 2 4 3: deviations 2 -1 -2 .5 .5 and 2 -2 -1 1 0;
    # (4 + 2 + 2 + .5) / √(9.5 · 10).
    assert found["spearman"] == pytest.approx(8.5 / math.sqrt(95), abs=1e-12)
    # First source: one pair, concordant: 1. Second: two concordant, one tied by people:
    # 2 / √(2 · 3).
    assert found["within"] == pytest.approx((1 + 2 / math.sqrt(6)) / 2, abs=1e-12)
    assert found["sources"] == 2
    # All systems have the mean rating 2.5.
    assert math.isnan(found["system_pearson"])
    assert math.isnan(found["system_spearman"])


def test_missing_scores_are_counted_and_left_out() -> None:
    scores = SCORES.copy()
    scores[1, 1] = NAN
    (found,) = rating_agreement(benchmark(RATINGS), scores, np.zeros(3))
    assert (found["outputs"], found["missing"]) == (4, 1)
    ratings = RATINGS.copy()
    ratings[0, 0] = NAN
    (found,) = rating_agreement(benchmark(ratings), SCORES, np.array([1.0, 2.0, 3.0]))
    # An unrated output is not missing; the first source has one correction left and no pair.
    assert (found["outputs"], found["missing"], found["sources"]) == (4, 0, 1)
    # Means 1, 2.5, 2.5 and scores 1, 2, 3: deviations -1 .5 .5 and -1 0 1: 1.5 / √(1.5 · 2).
    assert found["system_pearson"] == pytest.approx(1.5 / math.sqrt(3), abs=1e-12)


def test_rankings_keep_ties_and_join_equal_texts() -> None:
    first, second = rank_ratings(RATINGS, CORPUS)
    assert (first.groups, first.ranks) == ((("A",), ("B", "C")), (1, 2))
    assert (second.groups, second.ranks) == ((("A",), ("B",), ("C",)), (2, 1, 1))
    partly = np.array([[NAN, NAN], [1.0, NAN], [0.1 + 0.2, NAN]])
    (only,) = rank_ratings(partly, CORPUS, "x")
    # Equal texts with different ratings stay separate.
    assert (only.annotator, only.groups, only.ranks) == ("x", (("B",), ("C",)), (1, 2))


def test_one_rater_against_the_others() -> None:
    same = np.stack([RATINGS, RATINGS, RATINGS])
    found, _ = one_rater(benchmark(RATINGS, same))["rating"]
    assert found["outputs"] == 5
    assert found["pearson"] == found["within"] == pytest.approx(1.0, abs=1e-12)
    assert one_rater(benchmark(RATINGS)) == one_rater(benchmark(RATINGS, RATINGS[None])) == {}


def test_one_rater_at_the_segment_level() -> None:
    # A and B have different texts. Source 1: 3 > 2 and 3 > 1, right for both. Source 2: a tie and
    # 2 > 1: wrong for both, unless ε = 1 ties it: then source 1 is lost to the first rater (3, 2),
    # not to the second (3, 1).
    raters = np.array([[[3.0, 1.0], [2.0, 1.0]], [[3.0, 2.0], [1.0, 1.0]]])
    two = CORPUS.with_systems(["A", "B"])
    made = replace(benchmark(raters.mean(axis=0), raters), corpus=two)
    _, found = one_rater(made)["rating"]
    assert (found["acc_exact"], found["acc_eq"]) == (0.5, pytest.approx((0.5 + 1.0) / 2))
    assert math.isnan(found["epsilon"])


# ---- the segment level

GAPS = np.array([[0.9, 0.2], [0.1, 0.8], [0.1, 0.6]])


def test_within_sources_by_hand() -> None:
    found = rated_points(CORPUS, RATINGS, GAPS).segment_agreement()
    # First source: C has the text of B, so one pair is left, and it is right. Second: A-B and A-C
    # are right, B-C have the same rating but scores that differ by .2. With ε = 0: (1 + 2/3) / 2;
    # with ε = .2 all are right.
    assert found["acc_exact"] == pytest.approx((1 + 2 / 3) / 2)
    assert (found["acc_eq"], found["epsilon"]) == (pytest.approx(1.0), pytest.approx(0.2))
    assert (found["groups"], found["pairs"], found["missing"]) == (2, 4, 0)
    assert (found["tied_share"], found["human_tied_share"]) == (1 / 4, 1 / 4)
    # τ-b: 1, and 2 right of 2 pairs untied by people and 3 by the metric.
    assert found["kendall"] == pytest.approx((1 + 2 / math.sqrt(6)) / 2)
    # r: 1 for two points; ratings 1 3 3 with scores .2 .8 .6, times 3 as deviations -4 2 2 and
    # -1 .8 .2: (4 + 1.6 + .4) / √(24 · 1.68).
    assert found["pearson"] == pytest.approx((1 + 6 / math.sqrt(24 * 1.68)) / 2)


def test_missing_scores_at_the_segment_level() -> None:
    scores = GAPS.copy()
    scores[0, 0] = NAN
    found = rated_points(CORPUS, RATINGS, scores).segment_agreement()
    assert (found["missing"], found["pairs"]) == (1, 3)
    nothing = rated_points(CORPUS, RATINGS, np.full((3, 2), NAN)).segment_agreement()
    assert math.isnan(nothing["acc_eq"])
    assert (nothing["groups"], nothing["pairs"], nothing["missing"]) == (0, 0, 5)


def random_tables() -> tuple[Corpus, np.ndarray, np.ndarray]:
    """Return four systems with different texts on nine sources, with ties and missing values."""
    rng = np.random.default_rng(4)
    systems = {name: Version(tuple(f"{name}{row}" for row in range(9))) for name in "ABCD"}
    ratings = rng.integers(1, 5, size=(4, 9)).astype(float)
    scores = np.round(ratings + rng.normal(size=(4, 9)), 1)
    ratings[1, 2] = scores[2, 5] = NAN
    ratings[:, 7] = NAN
    return Corpus(tuple(f"source {row}" for row in range(9)), systems), ratings, scores


def test_the_segment_level_equals_that_of_the_library() -> None:
    corpus, ratings, scores = random_tables()
    found = rated_points(corpus, ratings, scores).segment_agreement()
    pairs = grouped_pairs(ratings, scores)
    sides = (pairs.preference, pairs.first, pairs.second)
    best = preference_agreement(*sides, ties="calibrated", groups=pairs.group)
    assert (found["acc_eq"], found["epsilon"]) == (best.accuracy, best.epsilon)
    for measure in ("kendall", "pearson"):
        wanted = np.nanmean(group_correlations(ratings, scores, measure))  # type: ignore[arg-type]
        assert found[measure] == pytest.approx(wanted, abs=1e-12)


def test_draws_of_sources_equal_recomputation() -> None:
    corpus, ratings, scores = random_tables()
    lines = np.random.default_rng(1).integers(9, size=(5, 9))
    counts = np.array([np.bincount(row, minlength=9) for row in lines], dtype=float)
    drawn = rated_points(corpus, ratings, scores).segment_draws(counts)
    assert set(drawn) == {"acc_eq", "acc_exact", "kendall", "pearson", "pdp"}
    for number, rows in enumerate(lines):
        again = rated_points(corpus.take(rows.tolist()), ratings[:, rows], scores[:, rows])
        for name, values in drawn.items():
            wanted = again.segment_agreement()[name]
            assert values[number] == pytest.approx(wanted, abs=1e-9, nan_ok=True)


def test_every_draw_is_the_corpus_written_out() -> None:
    rng = np.random.default_rng(3)
    systems, sentences = 4, 12
    ratings = rng.integers(1, 5, (systems, sentences)).astype(float)
    scores = rng.integers(0, 6, (systems, sentences)).astype(float)
    ratings[rng.random(ratings.shape) < 0.15] = np.nan
    scores[rng.random(scores.shape) < 0.15] = np.nan
    texts = {
        f"system {row}": Version(tuple(f"{rng.integers(3)}" for _ in range(sentences)))
        for row in range(systems)
    }
    corpus = Corpus(("s",) * sentences, texts)
    draws = rng.integers(sentences, size=(25, sentences))
    drawn = rated_points(corpus, ratings, scores).resampled(draw_weights(draws, sentences))
    for number, lines in enumerate(draws):
        points = rated_points(corpus.take(lines.tolist()), ratings[:, lines], scores[:, lines])
        wanted = points.agreement(np.zeros(systems))
        for name in ("pearson", "spearman", "within"):
            assert drawn[name][number] == pytest.approx(wanted[name], abs=1e-12, nan_ok=True)

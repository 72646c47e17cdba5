"""The segment level of benchmarks: by hand, against the library, and draw by draw."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.comparison import check
from gecjury.metaeval.segments import mean_rater, ranked_segments, rated_segments, two_annotators
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.stats.grouped import (
    GroupBy,
    accuracy_with_ties,
    group_correlations,
    grouped_pairs,
)

NAN = float("nan")
GROUPINGS: tuple[GroupBy, ...] = ("item", "system", "none")


def benchmark(texts: dict[str, tuple[str, ...]], **more: Any) -> Benchmark:
    size = len(next(iter(texts.values())))
    corpus = Corpus(
        tuple(f"source {row}" for row in range(size)),
        {name: Version(lines) for name, lines in texts.items()},
    )
    rankings = more.pop("rankings", {})
    human = {"sentence": {"mean": dict.fromkeys(texts, 0.0)}}
    return Benchmark(
        name="b",
        corpus=corpus,
        rankings=rankings,
        human=human,
        view="sentence",
        systems="all",
        system_sets={},
        references="",
        sentence_ids=tuple(range(size)),
        citation="",
        **more,
    )


# B and C have the same correction of the first source, and different ones of the second.
SHARED = benchmark({"A": ("a", "a"), "B": ("b", "b"), "C": ("b", "c")})
RATINGS = np.array([[4.0, 1.0], [2.0, 3.0], [2.0, 3.0]])
SCORES = np.array([[0.9, 0.2], [0.1, 0.8], [0.1, 0.6]])


def test_within_sources_by_hand() -> None:
    found = rated_segments(SHARED, RATINGS, SCORES, "item").agreement()
    # First source: C has the text of B, so one pair is left, and it is right. Second: A-B and A-C
    # are right, B-C have the same rating but scores that differ by .2. With ε = 0: (1 + 2/3) / 2;
    # with ε = .2 all are right.
    assert found.acc_exact == pytest.approx((1 + 2 / 3) / 2)
    assert (found.acc_eq, found.epsilon) == (pytest.approx(1.0), pytest.approx(0.2))
    assert (found.groups, found.pairs, found.missing) == (2, 4, 0)
    assert (found.tied_share, found.human_tied_share) == (1 / 4, 1 / 4)
    # τ-b: 1, and 2 right of 2 pairs untied by people and 3 by the metric.
    assert found.kendall == pytest.approx((1 + 2 / math.sqrt(6)) / 2)
    # r: 1 for two points; ratings 1 3 3 with scores .2 .8 .6, times 3 as deviations -4 2 2 and
    # -1 .8 .2: (4 + 1.6 + .4) / √(24 · 1.68).
    assert found.pearson == pytest.approx((1 + 6 / math.sqrt(24 * 1.68)) / 2)


def test_within_systems_every_output_counts() -> None:
    # Each system has two outputs, so one pair: 4 > 1 with .9 > .2, and twice 2 < 3 with .1 < .8
    # and .1 < .6. C's first output has the text of B, and still counts for C.
    found = rated_segments(SHARED, RATINGS, SCORES, "system").agreement()
    assert (found.acc_eq, found.acc_exact, found.kendall, found.pearson) == (1, 1, 1, 1)
    assert (found.groups, found.pairs) == (3, 3)


def test_over_all_by_hand() -> None:
    found = rated_segments(SHARED, RATINGS, SCORES, "none").agreement()
    # Five different corrections, ratings 4 2 1 3 3 and scores .9 .1 .2 .8 .6: of ten pairs 2-1 is
    # wrong, and 3-3 is tied only by people, with a gap of .2. ε = .2 would win it and lose 4-3
    # (.9, .8): no gain, so the smallest ε stays.
    assert (found.acc_eq, found.epsilon, found.pairs) == (pytest.approx(0.8), 0.0, 10)
    assert found.kendall == pytest.approx(7 / math.sqrt(9 * 10))
    # Means 2.6 and .52; products of deviations .532 + .252 + .512 + .112 + .032 = 1.44; squares
    # 5.2 and .508.
    assert found.pearson == pytest.approx(1.44 / math.sqrt(5.2 * 0.508))


def test_missing_scores_are_counted() -> None:
    scores = SCORES.copy()
    scores[0, 0] = NAN
    for grouping, pairs in (("item", 3), ("system", 2), ("none", 6)):
        found = rated_segments(SHARED, RATINGS, scores, grouping).agreement()  # type: ignore[arg-type]
        assert (found.missing, found.pairs) == (1, pairs)
    nothing = rated_segments(SHARED, RATINGS, np.full((3, 2), NAN), "item").agreement()
    assert math.isnan(nothing.acc_eq)
    assert (nothing.groups, nothing.pairs, nothing.missing) == (0, 0, 5)


def random_tables(seed: int = 4) -> tuple[Benchmark, np.ndarray, np.ndarray]:
    """Return four systems with different texts on nine sources, with ties and missing values."""
    rng = np.random.default_rng(seed)
    own = benchmark({name: tuple(f"{name}{row}" for row in range(9)) for name in "ABCD"})
    ratings = rng.integers(1, 5, size=(4, 9)).astype(float)
    scores = np.round(ratings + rng.normal(size=(4, 9)), 1)
    ratings[1, 2] = scores[2, 5] = NAN
    ratings[:, 7] = NAN
    return own, ratings, scores


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_agreement_equals_that_of_the_library(grouping: GroupBy) -> None:
    own, ratings, scores = random_tables()
    found = rated_segments(own, ratings, scores, grouping).agreement()
    pairs = grouped_pairs(ratings, scores, grouping)
    best = accuracy_with_ties(pairs)
    assert (found.acc_eq, found.epsilon) == (best.accuracy, best.epsilon)
    exact = accuracy_with_ties(pairs, calibrated=False)
    assert found.acc_exact == exact.accuracy
    for measure in ("kendall", "pearson"):
        wanted = np.nanmean(group_correlations(ratings, scores, grouping, measure))  # type: ignore[arg-type]
        assert getattr(found, measure) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_draws_equal_recomputation(grouping: GroupBy) -> None:
    own, ratings, scores = random_tables()
    lines = np.random.default_rng(1).integers(9, size=(5, 9))
    counts = np.array([np.bincount(row, minlength=9) for row in lines], dtype=float)
    drawn = rated_segments(own, ratings, scores, grouping).resampled(counts)
    assert set(drawn) == (
        {"acc_eq", "acc_exact", "kendall", "pearson", "pdp"} if grouping == "item" else {"pearson"}
    )
    for number, rows in enumerate(lines):
        texts = {
            name: tuple(version.lines[row] for row in rows)
            for name, version in own.corpus.systems.items()
        }
        again = rated_segments(benchmark(texts), ratings[:, rows], scores[:, rows], grouping)
        for name, values in drawn.items():
            wanted = getattr(again.agreement(), name)
            assert values[number] == pytest.approx(wanted, abs=1e-9, nan_ok=True)


RANKED = benchmark(
    {"A": ("a", "a"), "B": ("b", "b"), "C": ("b", "c"), "D": ("d", "d")},
    rankings={
        "sentence": (
            RankedItem("0", 0, "x", (("A",), ("B", "C"), ("D",)), (1, 2, 2)),
            RankedItem("1", 0, "y", (("A",), ("D",)), (2, 1)),
            RankedItem("2", 1, "x", (("A",), ("B",), ("C",)), (1, 1, 2)),
        )
    },
)
RANK_SCORES = np.array([[0.9, 0.4], [0.5, 0.7], [0.5, 0.2], [0.6, NAN]])


def scored(
    benchmark: Benchmark, sentences: FloatArray, items: FloatArray | None = None
) -> ScoreTable:
    """Return a score table of sentence scores, optionally with scores per ranking."""
    table = sentence_table("toy", benchmark.corpus.names, sentences)
    return replace(table, statistics=Statistics(sentences, items))


def test_rankings_by_hand() -> None:
    segments = ranked_segments(Study(RANKED), "sentence", scored(RANKED, RANK_SCORES))
    found = segments.agreement()
    # Item 0: A over B right (.4), A over D right (.3), B = D wrong by .1. Item 1: D over A wrong
    # (.3). Item 2: A = B wrong by .3, A over C (.2) and B over C (.5) right.
    # ε = 0: (2/3 + 0 + 2/3) / 3. ε = .1: (1 + 0 + 2/3) / 3, the best, since ε = .2 loses A over C
    # and .3 wins A = B but loses A over D.
    assert found.acc_exact == pytest.approx(4 / 9)
    assert (found.acc_eq, found.epsilon) == (pytest.approx(5 / 9), pytest.approx(0.1))
    assert (found.groups, found.pairs, found.missing) == (3, 7, 0)
    assert (found.tied_share, found.human_tied_share) == (1 / 7, 2 / 7)
    # τ-b: 2 / √(2 · 3), -1 and 2 / √(2 · 3). Ranks have no r.
    assert found.kendall == pytest.approx((4 / math.sqrt(6) - 1) / 3)
    assert math.isnan(found.pearson)
    # The first source alone: (1 + 0) / 2 with ε = .1. The second: 2/3 with ε below .2 or equal to
    # .3. The first twice and the second once: (2 · 1 + 2 · 0 + 2/3) / 5 with ε = .1.
    drawn = segments.resampled(np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 1.0]]))
    assert drawn["acc_eq"] == pytest.approx([1 / 2, 2 / 3, 8 / 15])
    assert drawn["acc_exact"] == pytest.approx([1 / 3, 2 / 3, 2 / 5])
    tau = 2 / math.sqrt(6)
    assert drawn["kendall"] == pytest.approx([(tau - 1) / 2, tau, (3 * tau - 2) / 5])
    assert np.isnan(drawn["pearson"]).all()


def test_accuracy_by_the_gap_that_an_annotator_saw() -> None:
    far = benchmark(
        {"A": ("a",), "B": ("b",), "C": ("c",), "D": ("d",)},
        rankings={
            "sentence": (RankedItem("0", 0, "x", tuple((n,) for n in "ABCD"), (1, 2, 4, 9)),)
        },
    )
    table = scored(far, np.array([[0.9], [0.5], [0.7], [0.5]]))
    accuracy, pairs = Study(far).by_rank_gap(table, "sentence")
    # Gap 1: A over B, right. 2: B over C, wrong. 3: A over C, right. 4 or more: A over D and C
    # over D right, B and D tied, which counts one half: 2.5 of 3.
    assert accuracy == pytest.approx([1, 0, 1, 2.5 / 3])
    assert pairs.tolist() == [1, 1, 1, 3]


def test_ranked_pairs_that_are_not_scored() -> None:
    scores = RANK_SCORES.copy()
    scores[3, 0] = NAN  # A-D and B-D of item 0, and A-D of item 1, which has no pair left
    found = ranked_segments(Study(RANKED), "sentence", scored(RANKED, scores)).agreement()
    assert (found.groups, found.pairs, found.missing) == (2, 4, 3)
    assert found.acc_exact == pytest.approx((1 + 2 / 3) / 2)


def test_scores_given_side_by_side_are_used() -> None:
    sample = load_benchmark("sample")
    study, groups = Study(sample), sample.corpus.groups
    assert groups is not None
    scores = np.random.default_rng(2).random((len(sample.corpus.names), len(sample.corpus)))
    items = scores[:, [group.sentence for group in groups]]
    plain = ranked_segments(study, "edit", scored(sample, scores)).agreement()
    beside = ranked_segments(
        study, "edit", scored(sample, np.zeros_like(scores), items)
    ).agreement()
    assert replace(beside, pearson=0.0) == replace(plain, pearson=0.0)
    assert plain.tied_share < 0.1


def test_people() -> None:
    # Annotators x and y share one comparison (A and D of the first source) and disagree.
    both = two_annotators(Study(RANKED), "sentence")
    assert (both.acc_exact, both.pairs) == (0.0, 1)
    assert math.isnan(both.acc_eq)
    # Two raters against each other; one pair of two is right for each, the other tied by one.
    one, two = [[3.0, 1.0], [2.0, 1.0]], [[3.0, 2.0], [1.0, 1.0]]
    rated = benchmark(
        {"A": ("a", "a"), "B": ("b", "b")},
        segment_scores=np.mean([one, two], axis=0),
        raters={"rating": np.array([one, two])},
    )
    # Source 1: 3 > 2 and 3 > 1, right for both. Source 2: a tie and 2 > 1: wrong for both, unless
    # ε = 1 ties it: then source 1 is lost to the first rater (3, 2), not to the second (3, 1).
    found = mean_rater(rated, "rating", "item")
    assert found is not None
    assert found.acc_exact == 0.5
    assert found.acc_eq == pytest.approx((0.5 + 1.0) / 2)
    assert math.isnan(found.epsilon)
    assert mean_rater(SHARED, "rating", "item") is None


def test_a_benchmark_without_single_judgments_has_no_segment_level() -> None:
    plain = benchmark({"A": ("a",), "B": ("b",)})
    with pytest.raises(OptionError, match="neither ratings nor rankings"):
        check(plain, ["changes"], Settings(grouping="item"))
    with pytest.raises(OptionError, match="no judgments of single sentences"):
        check(plain, ["changes"], Settings(statistic="spa"))

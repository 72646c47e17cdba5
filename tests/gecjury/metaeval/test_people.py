"""People compared like metrics, by hand on the toy judgments of `test_study`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark, ranked_groups
from gecjury.benchmarks.judgments import RankedItem, rank_ratings
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.people import among_people
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.metaeval.uncertainty import Draws
from gecjury.scoring.system_tests import RankedMetric
from gecjury.stats.resampling import Resampling
from tests.gecjury.metaeval.test_study import SYSTEMS, benchmark

NAN = float("nan")
RATERS = np.array(
    [
        [[3, 3, 3], [3, 2, 2], [1, 1, 1]],
        [[2, 1, NAN], [2, 3, NAN], [1, 2, NAN]],
    ]
)
SCORES = np.array([[3.0] * 3, [2.0] * 3, [1.0] * 3])


def rated() -> Benchmark:
    """Return the toy benchmark with ratings by two people instead of the rankings."""
    toy = benchmark()
    mean = np.nanmean(RATERS, axis=0)
    items = rank_ratings(mean, toy.corpus)
    scores = dict(zip(SYSTEMS, np.nanmean(mean, axis=1).tolist(), strict=True))
    return replace(
        toy,
        corpus=replace(toy.corpus, groups=ranked_groups(items, list(SYSTEMS))),
        rankings={"edit": items},
        human={"edit": {"mean": scores}},
        segment_scores=mean,
        raters={"rating": RATERS},
    )


def rows(of: Benchmark, over: str = "none", **settings: str) -> tuple[AgreementRow, ...]:
    how = Settings(
        aggregate="mean",
        resampling=Resampling(over=over, resamples=50, permutations=200),  # type: ignore[arg-type]
        **settings,  # type: ignore[arg-type]
    )
    entry = RankedMetric(sentence_table("mine", tuple(SYSTEMS), SCORES, "refless"))
    return among_people(Draws(MetaEvaluation(of, how), [entry]))


def test_rankings_by_hand() -> None:
    metric, people = rows(benchmark())
    # Both ranked A, B and C on the second sentence: they agree on A > C and B > C, not on A and B.
    assert people.values["accuracy"] == pytest.approx(2 / 3)
    # The metric has A > B > C: it agrees with all three of the first and two of the second.
    assert metric.values["accuracy"] == pytest.approx(5 / 6)
    assert metric.values["relative"] == pytest.approx(5 / 6 / (2 / 3))
    assert (metric.values["judgments"], people.values["judgments"], people.values["relative"]) == (
        6,
        6,
        1.0,
    )
    # Wins minus losses: A 3, B 1, C −4 by the first; A 0, B 2, C −2 by the second.
    assert people.values["pearson"] == pytest.approx((3 * 0 + 1 * 2 + 4 * 2) / np.sqrt(26 * 8))
    assert people.values["spearman"] == pytest.approx(0.5)
    # The metric's 3, 2, 1 with those of the second: 2/√16; of the first: 7/√52.
    assert metric.values["pearson"] == pytest.approx((2 / 4 + 7 / np.sqrt(52)) / 2)
    assert (people.values["annotators"], people.metric, people.family) == (
        2,
        "two annotators",
        "humans",
    )
    assert people.intervals == {}
    assert people.clusters["system"] is None


def test_ratings_of_single_raters_by_hand() -> None:
    of = rated()
    metric, people = rows(of)
    # A and B have the same text on the first sentence, where both raters put A and B above C. On
    # the second the first has A > B > C, the second B > C > A: they agree only on B > C. 3 of 5.
    assert people.values["accuracy"] == pytest.approx(3 / 5)
    # A > B > C agrees with all 5 judgments of the first rater and 3 of the second.
    assert metric.values["accuracy"] == pytest.approx(8 / 10)
    # Means: 3, 7/3, 1 and 1.5, 2.5, 1.5; r = (2/9) / √(56/27 · 2/3).
    assert people.values["pearson"] == pytest.approx(2 / np.sqrt(112))
    ceiling = MetaEvaluation(of).ceiling("edit")
    assert ceiling is not None
    assert (ceiling.accuracy, ceiling.decided) == (pytest.approx(3 / 5), 5)


@pytest.mark.filterwarnings("error")
def test_opposite_annotators_give_no_relative_figure() -> None:
    """They agree on no pair, so that no share of their agreement is defined."""
    groups = (("A",), ("B",), ("C",))
    items = tuple(
        RankedItem(who, 0, who, groups, ranks)
        for who, ranks in (("one", (1, 2, 3)), ("two", (3, 2, 1)))
    )
    metric, people = rows(replace(benchmark(), rankings={"edit": items}), "sentences")
    assert (metric.values["accuracy"], people.values["accuracy"]) == (0.5, 0)
    assert np.isnan([metric.values["relative"], people.values["relative"]]).all()


def test_levels_and_single_annotators() -> None:
    metric, people = rows(benchmark(), level="sentence")
    assert np.isnan(metric.values["pearson"])
    assert people.values["accuracy"] == pytest.approx(2 / 3)
    metric, people = rows(benchmark(), level="system")
    assert np.isnan(metric.values["accuracy"])
    assert people.values["spearman"] == pytest.approx(0.5)
    one = replace(benchmark(), rankings={"edit": benchmark().rankings["edit"][:2]})
    assert rows(one) == ()


@pytest.mark.parametrize("over", ["sentences", "both"])
def test_intervals_contain_the_figures_and_equal_metrics_share_a_cluster(over: str) -> None:
    for row in rows(benchmark(), over):
        for name in ("accuracy", "relative"):
            low, high = row.intervals[name]
            # A figure that is the same in all draws has no interval.
            assert np.isnan(low) or low <= row.values[name] <= high
        # Six judgments of one sentence do not distinguish anyone.
        assert row.clusters == {"system": 1, "sentence": 1}
    assert np.isnan(row.intervals["relative"]).all()

"""The comparison layer on hand-made judgments: every number computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark, ranked_groups
from gecjury.benchmarks.judgments import JudgedEntries, RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import FloatArray
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.chance import chance_scores
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation, RankedDifferences
from gecjury.metaeval.uncertainty import Draws
from gecjury.scoring.registry import load
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature
from gecjury.scoring.system_tests import RankedMetric
from gecjury.stats.choices import TieRule
from gecjury.stats.ranking import aggregate_scores
from gecjury.stats.resampling import Resampling

NAN = float("nan")
SOURCES = ("a b", "c d", "e f")
SYSTEMS = {
    "A": Version(("a b .", "c d .", "e f .")),
    "B": Version(("a b .", "c x .", "e x .")),
    "C": Version(("a b", "c d", "e f")),
}
ITEMS = (
    RankedItem("1", 0, "one", (("A", "B"), ("C",)), (1, 2)),
    RankedItem("2", 1, "one", (("A",), ("B",), ("C",)), (1, 2, 3)),
    RankedItem("1", 1, "two", (("A",), ("B",), ("C",)), (2, 1, 3)),
    RankedItem("2", 2, "two", (("A",), ("B",)), (1, 1)),
)


def benchmark() -> Benchmark:
    corpus = Corpus(SOURCES, SYSTEMS, groups=ranked_groups(ITEMS, list(SYSTEMS)))
    human = {"edit": {"trueskill": {"A": 3.0, "B": 2.0, "C": 1.0}}}
    return Benchmark(
        name="toy",
        corpus=corpus,
        rankings={"edit": ITEMS},
        human=human,
        view="edit",
        systems="all",
        system_sets={"all": tuple(SYSTEMS)},
        references="none",
        sentence_ids=(0, 1, 2),
        citation="by hand",
    )


def table(sentences: list[list[float]], items: FloatArray | None = None) -> ScoreTable:
    values = np.array(sentences)
    return ScoreTable(
        tuple(SYSTEMS),
        Signature("toy", "refbased", {}),
        Scores(values),
        Scores(values.mean(axis=1)),
        Statistics(values, items),
        dict.fromkeys(SYSTEMS, ""),
    )


def judged(study: MetaEvaluation, scores: ScoreTable) -> Mapping[str, float]:
    """Return the values of the sentence level against the only view."""
    (row,) = (row for row in study.evaluate(scores) if row.level == "sentence")
    return row.values


def test_decided_pairs_by_hand() -> None:
    # Decided pairs: item 1: A>C, B>C (A and B share a text: a tie). Item 2: A>B, A>C, B>C.
    # Annotator two, item 1: B>A, A>C, B>C. Item 2: A=B, tied. So 8 pairs.
    # The metric: sentence 0: A=B=C tied -> two ties. Sentence 1: A 3, B 2, C 1: agrees with
    # A>B, A>C, B>C, A>C, B>C and disagrees with B>A: 5 agree, 1 disagrees, 2 tied.
    scores = table([[1, 3, 1], [1, 2, 1], [1, 1, 0]])
    half = judged(MetaEvaluation(benchmark()), scores)
    assert half["pairs"] == 8
    assert half["tied"] == 2
    assert half["accuracy"] == pytest.approx((5 + 2 / 2) / 8)
    assert half["kendall"] == pytest.approx((5 - 1) / 8)
    # loss: 5/8; drop: 5/6; official: the later system, C, wins ties, so both ties are wrong.
    for ties, expected in (("loss", 5 / 8), ("drop", 5 / 6), ("official", 5 / 8)):
        study = MetaEvaluation(benchmark(), Settings(ties=ties))  # type: ignore[arg-type]
        assert judged(study, scores)["accuracy"] == pytest.approx(expected)


def test_a_missing_score_leaves_its_pairs_out() -> None:
    # Sentence 1 of B is missing: of the 8 pairs the four with B on sentence 1 drop out; A>C twice
    # on sentence 1 agree, A>C and B>C on sentence 0 are tied.
    scores = table([[1, 3, 1], [1, NAN, 1], [1, 1, 0]])
    rows = MetaEvaluation(benchmark()).evaluate(scores)
    assert [(row.level, row.missing) for row in rows] == [("system", 1), ("sentence", 1), ("", 1)]
    found = rows[1].values
    assert (found["pairs"], found["missing"], rows[2].values["missing"]) == (4, 4, 1)
    assert found["accuracy"] == pytest.approx((2 + 2 / 2) / 4)


def test_an_item_without_a_group_has_no_score() -> None:
    # The corpus lacks the group of the second item (A>B, A>C, B>C), whose three pairs must not be
    # judged by the last group's scores: 5 of the 8 decided pairs remain.
    own = benchmark()
    assert own.corpus.groups is not None
    groups = tuple(group for group in own.corpus.groups if group.id != "one.2")
    own = replace(own, corpus=replace(own.corpus, groups=groups))
    items = np.array([[3.0, 3.0, 3.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0]])
    study = MetaEvaluation(own)
    first, second = study.sides("edit", table([[0, 0, 0]] * 3, items))
    unscored = study.pairs("edit").item == 1
    assert unscored.sum() == 3
    assert np.isnan(first[unscored]).all()
    assert np.isnan(second[unscored]).all()
    assert not np.isnan([first[~unscored], second[~unscored]]).any()
    agreement = study.over_pairs(table([[0, 0, 0]] * 3, items), "edit")
    assert agreement is not None
    assert (agreement.pairs, agreement.missing) == (5, 3)


def test_system_level_by_hand() -> None:
    # Means 2, 1, 0 against human 3, 2, 1: a straight line.
    scores = table([[2, 2, 2], [1, 1, 1], [0, 0, 0]])
    result, *_ = MetaEvaluation(benchmark(), Settings(aggregate="mean")).evaluate(scores)
    assert result.scores.tolist() == [2, 1, 0]
    assert result.values["pearson"] == pytest.approx(1.0)
    assert result.values["kendall"] == pytest.approx(1.0)
    assert result.values["pairwise_accuracy"] == 1.0
    # Expected wins: A beats both on all sentences (1), B beats C only (.5), C nobody (0).
    wins = aggregate_scores("expected-wins", scores.sentences, scores.by_system.score)
    assert wins.tolist() == [1.0, 0.5, 0.0]


def test_ceiling_by_hand() -> None:
    # Both annotators judged sentence 1: A-B differ, A-C and B-C agree: 2 of 3.
    ceiling = MetaEvaluation(benchmark()).ceiling("edit")
    assert ceiling is not None
    assert ceiling.accuracy == pytest.approx(2 / 3)
    assert ceiling.decided == 3


def test_copy_source_rewards_similarity_to_the_source() -> None:
    corpus = Corpus(("a b c",), {"same": Version(("a b c",)),
                                 "two": Version(("a b x",)),
                                 "empty": Version(("",))})  # fmt: skip
    scores = chance_scores(corpus)
    # F1 of shared tokens: 3 of 3 and 3; 2 of 3 and 3; 0.
    assert scores["copy-source"].ravel() == pytest.approx([1.0, 2 * 2 / 6, 0.0])
    assert scores["constant"].tolist() == [[0.0], [0.0], [0.0]]
    drawn = [chance_scores(corpus, seed)["random"].tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_calibrated_leaves_out_pairs_with_the_same_text() -> None:
    """Every metric ties such pairs, so every metric would be right on them for free."""
    # By item 3 + 3 + 3 + 1 pairs; A and B have the same text in the first. Of the other nine the
    # annotator ties one, A and B of sentence 2, the only one where a constant is right.
    assert len(MetaEvaluation(benchmark()).pairs("edit")) == 10
    study = MetaEvaluation(benchmark(), Settings(ties="calibrated"))
    found = study.over_pairs(table([[1, 1, 1]] * 3), "edit")
    assert found is not None
    assert (found.pairs, found.accuracy) == (9, pytest.approx(1 / 9))


def test_the_ceiling_under_calibrated_counts_ties() -> None:
    """Like for metrics, all pairs that two annotators judged count, not only the decided ones."""
    tied = RankedItem("3", 0, "two", (("A",), ("C",)), (1, 1))
    changed = replace(benchmark(), rankings={"edit": (*ITEMS, tied)})
    plain = MetaEvaluation(changed, Settings(ties="half")).ceiling("edit")
    found = MetaEvaluation(changed, Settings(ties="calibrated")).ceiling("edit")
    assert plain is not None
    assert found is not None
    # Sentence 1: A, B disagree; A, C and B, C agree. Sentence 0: A > C by one, A = C by two.
    assert (plain.accuracy, plain.decided) == (pytest.approx(2 / 3), 3)
    assert (found.accuracy, found.decided) == (pytest.approx(2 / 4), 4)


def test_metrics_on_the_pairs_that_two_annotators_judged(data_dir: Path) -> None:
    """GLEU with ten references: .705 of the 2 · 519 judgments on which annotators are compared.

    Computed independently; on all decided pairs it has .766, and the annotators agree on .644.
    """
    found = load_benchmark("seeda", references="10refs", data=data_dir)
    study = MetaEvaluation(found)
    values = judged(study, load("gleu").score_corpus(found.corpus))
    assert values["pairs_there"] == 1038
    assert values["accuracy_there"] == pytest.approx(0.705, abs=5e-4)


@pytest.mark.parametrize("ties", ["half", "calibrated"])
def test_very_many_pairs_are_processed_in_batches(
    monkeypatch: pytest.MonkeyPatch, ties: TieRule
) -> None:
    rng = np.random.default_rng(0)
    tables = [table(rng.integers(3, size=(3, 3)).astype(float).tolist()) for _ in range(2)]

    def figures() -> list[object]:
        how = Resampling(over="both", resamples=30, permutations=20)
        study = MetaEvaluation(benchmark(), Settings(ties=ties, resampling=how))
        measured = Draws(study, [RankedMetric(each) for each in tables])
        (test,) = measured.significance("edit", [0, 1])[1:]
        differences = study.human_differences["edit"]
        assert differences is not None
        return [
            *(study.over_pairs(each, "edit") for each in tables),
            *measured.intervals("edit", "sentence"),
            test.values.tolist(),
            test.p.tolist(),
            measured.human("edit")[0].tolist(),
            differences.compared.tolist(),
            differences.take(np.array([0, 2])).tolist(),
            [] if ties == "calibrated" else study.pairwise(tables[0], "edit")[0],
        ]

    whole = figures()
    monkeypatch.setattr("gecjury.metaeval.study.PAIRS_AT_ONCE", 1)
    assert len(list(MetaEvaluation(benchmark()).parts("edit"))) > 3
    monkeypatch.setattr(JudgedEntries, "cells", 1)
    assert isinstance(MetaEvaluation(benchmark()).human_differences["edit"], RankedDifferences)
    assert str(figures()) == str(whole)

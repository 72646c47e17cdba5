"""Analyses over a corpus: edits counted, scores beside human ones, seconds, variants by hand."""

from __future__ import annotations

import numpy as np
import pytest

import gecjury
from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.corpus import Corpus, Version
from gecjury.errors import OptionError
from gecjury.experiments.analyses import (
    edit_density,
    human_scatter,
    scoring_cost,
    steps_to,
    try_variants,
)
from gecjury.stats.correlation import pearson
from gecjury.stats.ranking import trueskill


def test_edits_a_sentence() -> None:
    pytest.importorskip("errant")
    corpus = Corpus(
        ("He go home .", "She sleep ."),
        {
            "both": Version(("He goes home .", "She sleeps .")),
            "copy": Version(("He go home .", "She sleep .")),
            "one": Version(("He goes home .", "She sleep .")),
        },
    )
    found = edit_density(corpus)
    assert [(one.system, one.edits, one.per_sentence) for one in found.systems] == [
        ("copy", 0, 0.0), ("one", 1, 0.5), ("both", 2, 1.0),
    ]  # fmt: skip
    assert found.rows()[1] == {"system": "one", "edits": 1, "per_sentence": 0.5}


def test_scores_beside_human_ones() -> None:
    benchmark = load_benchmark("sample")
    found = human_scatter(benchmark, ["green", "changes"])
    human = benchmark.human_scores(found.kind)
    scores = trueskill(gecjury.load("green").score_corpus(benchmark.corpus).sentences).scores
    own = [point for point in found.points if point.metric == "green"]
    assert [point.human for point in own] == human.tolist()
    assert [point.score for point in own] == scores.tolist()
    assert [one.metric for one in found.correlations] == ["green", "changes"]
    assert found.correlations[0].pearson == pearson(human, scores)
    # Some of the systems keep their own human scores.
    some = benchmark.corpus.with_systems(["noisy", "careful"])
    part = human_scatter(benchmark, "green", corpus=some)
    by_name = dict(zip(benchmark.corpus.names, human.tolist(), strict=True))
    assert [point.human for point in part.points] == [by_name["noisy"], by_name["careful"]]


def test_seconds() -> None:
    pytest.importorskip("errant")
    corpus = load_benchmark("sample").corpus.with_systems(["careful", "noisy"])
    found = scoring_cost(corpus, ["green", gecjury.load("changes")])
    assert [(point.metric, point.system, point.systems) for point in found.points] == [
        ("green", "careful", 1), ("green", "noisy", 2),
        ("changes", "careful", 1), ("changes", "noisy", 2),
    ]  # fmt: skip
    assert all(point.seconds_alone > 0 and point.seconds_together > 0 for point in found.points)
    first = found.slopes[0]
    alone = [point.seconds_alone for point in found.points[:2]]
    assert first.mean_seconds_alone == pytest.approx(np.mean(alone))
    together = [point.seconds_together for point in found.points[:2]]
    assert first.seconds_per_system_together == pytest.approx(together[1] - together[0])


def test_the_best_variant() -> None:
    benchmark = load_benchmark("sample")
    count, lines = len(benchmark.corpus.names), len(benchmark.corpus)
    human = benchmark.human_scores(next(iter(benchmark.human[benchmark.view])))
    good = np.tile(human[:, None], (1, lines))
    sentences = np.stack([-good, good, good[::-1]])
    found = try_variants(benchmark, [{"step": k} for k in (1, 2, 3)], sentences)
    assert found.best["step"] == 2
    assert found.spearman[1] == pytest.approx(1)
    assert found.spearman[0] == pytest.approx(-1)
    assert len(found.rows()) == 3
    assert set(found.rows()[0]) == {"step", "pearson", "spearman"}
    assert count > 2


def test_steps() -> None:
    assert steps_to(0.1, 0.3) == [0.1, 0.2, 0.3]
    assert steps_to(0.2, 0.5) == [0.2, 0.4]
    with pytest.raises(OptionError, match="expected 0 < step <= stop"):
        steps_to(0.5, 0.2)

"""Tests between systems: exact cases, hand-computed ranks and clusters, equality with rescoring."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import gecjury.stats.trueskill
from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature
from gecjury.scoring.system_tests import (
    RankedMetric,
    aggregated,
    compare_systems,
    mixed_scores,
    resampled_system_scores,
    score_intervals,
)
from gecjury.stats.permutation import approximate_randomisation, permutation_signs
from gecjury.stats.resampling import Resampling
from gecjury.stats.trueskill import ScoreWaves, rate_resampled


@dataclass(frozen=True)
class Ratio(Scorer):
    """Sum of hits over sum of tries: a corpus score that is not a mean of sentence scores."""

    name: ClassVar[str] = "ratio"
    family: ClassVar[str] = "refbased"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        raise NotImplementedError

    def sentence_scores(self, statistics: Statistics) -> Scores:
        return Scores(statistics.values[..., 0] / statistics.values[..., 1])

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        values = statistics.values
        sums = np.einsum("bi,sik->bsk", draw_weights(draws, values.shape[1]), values)
        scores = sums[..., 0] / sums[..., 1]
        return Scores(scores if draws is not None else scores[0])


def table(values: np.ndarray) -> ScoreTable:
    statistics = Statistics(values)
    scorer = Ratio()
    names = tuple("ABCDEFGH"[: len(values)])
    return ScoreTable(
        names, Signature("ratio", "refbased", {}), scorer.sentence_scores(statistics),
        scorer.corpus_scores(statistics), statistics, dict.fromkeys(names, ""),
    )  # fmt: skip


def test_randomisation_equals_swapping_by_hand() -> None:
    rng = np.random.default_rng(1)
    values = np.stack([rng.integers(0, 5, (2, 5)), rng.integers(5, 9, (2, 5))], axis=2).astype(
        float
    )
    signs, exact = permutation_signs(5)
    null = approximate_randomisation(
        lambda which: mixed_scores(Ratio(), table(values), [(0, 1)], which, np.arange(5)), signs
    )
    assert exact
    expected = []
    for swaps in product((False, True), repeat=5):
        mask = np.array(swaps)[:, None]
        one, two = np.where(mask, values[1], values[0]), np.where(mask, values[0], values[1])
        expected.append(one[:, 0].sum() / one[:, 1].sum() - two[:, 0].sum() / two[:, 1].sum())
    assert sorted(null[:, 0].tolist()) == pytest.approx(sorted(expected), abs=1e-12)


def how(resamples: int, permutations: int = 1000) -> Resampling:
    return Resampling(over="sentences", resamples=resamples, permutations=permutations)


def test_different_systems_are_distinguished_and_equal_ones_are_not() -> None:
    rng = np.random.default_rng(3)
    tries = np.full((4, 200), 10.0)
    hits = rng.binomial(10, np.array([0.7, 0.7, 0.5, 0.3])[:, None], (4, 200)).astype(float)
    hits[1] = hits[0]
    scores = table(np.stack([hits, tries], axis=2))
    for aggregate in ("corpus", "mean", "trueskill", "expected-wins"):
        tests = compare_systems(Ratio(), scores, aggregate, how(200), 0)  # type: ignore[arg-type]
        assert tests.clusters == (1, 1, 2, 3)
        assert tests.ranks == ((1, 2), (1, 2), (3, 3), (4, 4))
        # TrueSkill treats a tie as a draw and its score depends on the order of systems; with the
        # other aggregates, equal outputs have equal scores.
        assert tests.p[0, 1] == 1.0
        assert tests.p[0, 2] == tests.p[2, 0] < 1e-6
        assert (tests.adjusted[0, 2:] >= tests.p[0, 2:]).all()
        bounds, dropped = score_intervals(Ratio(), scores, aggregate, how(200), 0)  # type: ignore[arg-type]
        assert dropped == 0
        own = aggregated(scores, aggregate).score  # type: ignore[arg-type]
        for score, (low, high) in zip(own, bounds["score"], strict=True):
            assert low <= score <= high


def test_small_p_agrees_with_many_permutations() -> None:
    # Compares the normal tail with counting, for a difference of about three standard errors.
    rng = np.random.default_rng(8)
    tries = np.full((2, 150), 10.0)
    hits = rng.binomial(10, np.array([0.5, 0.53])[:, None], (2, 150)).astype(float)
    values = np.stack([hits, tries], axis=2)
    few = compare_systems(Ratio(), table(values), "corpus", how(10), 0)
    many = compare_systems(Ratio(), table(values), "corpus", how(10, 5_000), 0)
    assert few.p[0, 1] == pytest.approx(many.p[0, 1], rel=0.5, abs=0.01)


def test_a_single_system_has_one_rank_and_one_cluster() -> None:
    tests = compare_systems(Ratio(), table(np.ones((1, 5, 2))), "corpus", how(10), 0)
    assert tests.ranks == ((1, 1),)
    assert tests.clusters == (1,)


def test_skills_of_resampled_corpora_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [RankedMetric(table(np.random.default_rng(n).random((3, 8, 2)))) for n in range(3)]
    draws = np.sort(np.random.default_rng(9).integers(8, size=(5, 8)), axis=1)
    played: list[int] = []

    def counted(waves: ScoreWaves, *arguments: object, **more: object) -> FloatArray:
        played.append(waves.ranks.shape[1])
        return rate_resampled(waves, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(gecjury.stats.trueskill, "rate_resampled", counted)
    kept = Runtime(cache=tmp_path)
    first = resampled_system_scores("trueskill", tables[:2], draws, runtime=kept)
    whole = resampled_system_scores("trueskill", tables, draws, runtime=kept)
    other = resampled_system_scores("trueskill", tables[:1], draws[::-1], runtime=kept)
    assert played == [2, 1, 1]
    assert (whole[:2] == first).all()
    assert (resampled_system_scores("trueskill", tables, draws) == whole).all()
    assert (other == first[:1, ::-1]).all()

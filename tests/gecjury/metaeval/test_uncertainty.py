"""Intervals, tests and clusters of a study, against recomputation draw by draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.own_judgments import known_items
from gecjury.metaeval.resampled import Entry, resampled_human_scores, win_rates
from gecjury.metaeval.settings import Resampling
from gecjury.metaeval.study import Study
from gecjury.metaeval.uncertainty import Uncertainty
from gecjury.stats.correlation import pearson
from gecjury.stats.permutation import SystemStatistic, holm_matrix, perm_both
from gecjury.stats.preferences import preference_agreement
from gecjury.stats.soft_accuracy import perm_both_spa

RULES = ("half", "official", "loss", "drop", "calibrated")


@pytest.fixture(scope="module")
def sample() -> Benchmark:
    return load_benchmark("sample")


def entries(benchmark: Benchmark) -> list[Entry]:
    """A metric that knows quality, with ties and gaps, and one that knows nothing."""
    rng = np.random.default_rng(7)
    shape = len(benchmark.corpus.names), len(benchmark.corpus)
    quality = benchmark.human_scores("trueskill")[:, None] + rng.normal(size=shape)
    good = quality.round()
    good[1, ::9] = np.nan
    return [Entry("good", good), Entry("noise", rng.random(shape)), Entry("flat", np.ones(shape))]


@pytest.mark.parametrize("ties", RULES)
def test_sentence_draws_equal_recomputation(sample: Benchmark, ties: str) -> None:
    study = Study(sample, ties=ties)  # type: ignore[arg-type]
    found = Uncertainty(study, entries(sample), Resampling("both", 6, 0.5))
    intervals = found.over_pairs("edit")
    pairs, draws = study.pairs("edit"), found.draws
    assert draws.multiplicity is not None
    weight = (
        draws.counts[:, pairs.sentence]
        * draws.multiplicity[:, pairs.first]
        * draws.multiplicity[:, pairs.second]
    ).astype(int)
    for entry, got in zip(found.entries, intervals, strict=True):
        first, second = study.sides("edit", entry.sentences, None)
        values = []
        for times in weight:
            rows = np.repeat(np.arange(len(pairs)), times)
            agreement = preference_agreement(
                pairs.preference[rows],
                first[rows],
                second[rows],
                ties=ties,  # type: ignore[arg-type]
            )
            values.append(agreement.accuracy)
        kept = np.array(values)[~np.isnan(values)]
        expected = np.quantile(kept, [0.25, 0.75]) if len(kept) else [np.nan, np.nan]
        assert got.bounds["accuracy"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
        assert got.dropped["accuracy"] == len(values) - len(kept)


@pytest.mark.parametrize("aggregate", ["trueskill", "expected-wins", "mean"])
@pytest.mark.parametrize("over", ["both", "sentences", "systems"])
def test_system_draws_equal_recomputation(sample: Benchmark, aggregate: str, over: str) -> None:
    study = Study(sample, aggregate)  # type: ignore[arg-type]
    found = Uncertainty(study, entries(sample)[:2], Resampling(over, 5, 0.5))  # type: ignore[arg-type]
    draws = found.draws
    human, resampled = found.human("edit")
    assert resampled == (over != "systems")
    for entry, got in zip(found.entries, found.over_systems("edit"), strict=True):
        values = []
        for row in range(5):
            lines = slice(None) if draws.sentences is None else draws.sentences[row]
            scores = study.system_scores(entry.sentences[:, lines], np.zeros(6))
            wanted = human[row if len(human) > 1 else 0]
            rows = np.arange(6) if draws.systems is None else draws.systems[row]
            values.append(pearson(wanted[rows], scores[rows]))
        expected = np.nanquantile(values, [0.25, 0.75])
        assert got.bounds["pearson"] == pytest.approx(expected, abs=1e-3)


def test_human_scores_of_the_whole_are_the_published_ones(sample: Benchmark) -> None:
    study = Study(sample)
    for kind in ("trueskill", "expected-wins"):
        again = resampled_human_scores(sample, kind, "edit", study.pairs("edit"), np.ones((1, 68)))
        assert again is not None
        assert pearson(again[0], sample.human_scores(kind)) > 0.99
    assert (
        resampled_human_scores(sample, "mean", "edit", study.pairs("edit"), np.ones((1, 68)))
        is None
    )


@pytest.mark.parametrize("over", ["both", "sentences", "systems"])
@pytest.mark.parametrize("kind", ["trueskill", "expected-wins"])
def test_a_system_that_nobody_judged_does_not_move_intervals(
    sample: Benchmark, over: str, kind: str
) -> None:
    """It is left out of the figures, and so of their intervals: they are those without it."""
    names = sample.corpus.names
    rest = [name for name in names if name != names[2]]
    rankings = {v: known_items(Path("-"), i, rest)[0] for v, i in sample.rankings.items()}
    human = {
        view: {key: {**column, names[2]: np.nan} for key, column in columns.items()}
        for view, columns in sample.human.items()
    }
    full = replace(sample, rankings=rankings, human=human)
    few = replace(full, corpus=sample.corpus.with_systems(rest))
    rows = [names.index(name) for name in rest]
    found = []
    for benchmark, kept in ((full, slice(None)), (few, rows)):
        study = Study(benchmark, "mean", human_scores=kind)  # type: ignore[arg-type]
        cut = [Entry(e.label, e.sentences[kept]) for e in entries(sample)[:2]]
        uncertainty = Uncertainty(study, cut, Resampling(over, 200))  # type: ignore[arg-type]
        found.append([*uncertainty.over_systems("edit"), *uncertainty.over_pairs("edit")])
    for with_it, without in zip(*found, strict=True):
        assert with_it.dropped == without.dropped
        for name, bounds in without.bounds.items():
            assert with_it.bounds[name] == pytest.approx(bounds, abs=1e-9)
            assert not np.isnan(bounds).any()


@pytest.mark.parametrize("over", ["sentences", "both"])
def test_intervals_hold_the_estimate(sample: Benchmark, over: str) -> None:
    study = Study(sample)
    good, noise, flat = Uncertainty(study, entries(sample), Resampling(over, 400)).over_systems(  # type: ignore[arg-type]
        "edit"
    )
    table = entries(sample)[0].sentences
    scores = study.system_scores(table, np.zeros(6))
    estimate = study.over_systems(scores, "edit", table)
    for name in ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"):
        low, high = good.bounds[name]
        assert low <= getattr(estimate, name) + 0.02
        assert getattr(estimate, name) <= high + 0.02
    assert good.bounds["pearson"][0] > noise.bounds["pearson"][0]
    assert np.isnan(flat.bounds["pearson"]).all()
    assert flat.dropped["pearson"] == 400


def test_tests_between_metrics(sample: Benchmark) -> None:
    found = Uncertainty(Study(sample), entries(sample), Resampling(permutations=500))
    system, sentence = found.significance("edit", range(3))
    assert (system.test, sentence.test) == ("perm-both", "paired-permutation")
    assert system.metrics == ("good", "noise", "flat")
    for test in (system, sentence):
        known = ~np.isnan(test.p)
        assert (test.p == test.p.T)[known].all()
        assert (test.adjusted[known] >= test.p[known]).all()
    assert system.clusters[2] is None  # constant: no correlation, so no cluster
    assert sentence.clusters == (1, 2, 2)
    # The same under any order of the metrics.
    turned = Uncertainty(Study(sample), entries(sample)[::-1], Resampling(permutations=500))
    assert turned.significance("edit", range(3))[1].clusters == (2, 2, 1)


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "pairwise_accuracy"])
def test_the_statistic_is_the_one_asked_for(sample: Benchmark, statistic: SystemStatistic) -> None:
    some = entries(sample)[:2]
    how = Resampling(permutations=200)
    found = Uncertainty(Study(sample), some, how, statistic, seed=3)
    test = found.significance("edit", range(2))[0]
    values, p = perm_both(
        sample.human_scores("trueskill"),
        [win_rates(entry.sentences) for entry in some],
        statistic=statistic,
        permutations=200,
        seed=3,
    )
    assert (test.level, test.test, test.statistic) == ("system", "perm-both", statistic)
    assert test.values == pytest.approx(values)
    assert test.p == pytest.approx(p, nan_ok=True)
    assert test.adjusted == pytest.approx(holm_matrix(p), nan_ok=True)


@pytest.mark.parametrize("aggregate", ["trueskill", "corpus"])
def test_soft_accuracy_is_tested_on_sentence_scores(sample: Benchmark, aggregate: str) -> None:
    study, some = Study(sample, aggregate), entries(sample)  # type: ignore[arg-type]
    how = Resampling(permutations=200)
    test = Uncertainty(study, some, how, "spa", seed=3).significance("edit", range(3))[0]
    wanted = study.human_differences("edit")
    assert wanted is not None
    values, p = perm_both_spa(wanted, [e.sentences for e in some], permutations=200, seed=3)
    assert (test.test, test.statistic) == ("perm-both", "spa")
    assert test.values == pytest.approx(values)
    assert test.p == pytest.approx(p, nan_ok=True)
    # Near what is printed, which takes permutations instead of their normal limit.
    printed = [study.soft_accuracy(entry.sentences, "edit") for entry in some]
    assert test.values == pytest.approx(printed, abs=0.01)
    assert test.clusters == (1, 2, 2)  # unlike r, SPA of a constant metric is defined


def test_whole_systems_are_swapped_for_corpus_scores(sample: Benchmark) -> None:
    study = Study(sample, "corpus")
    some = [
        Entry(e.label, e.sentences, None, lambda draws, e=e: np.nanmean(  # type: ignore[misc]
            e.sentences[:, draws], axis=2).T)
        for e in entries(sample)[:2]
    ]  # fmt: skip
    (test, _) = Uncertainty(study, some).significance("edit", range(2))
    assert test.test == "perm-systems"
    # Six systems: all 64 swaps are listed, so p is a multiple of 1/64.
    assert (test.p[0, 1] * 64) % 1 == pytest.approx(0.0, abs=1e-9)

"""Intervals, tests and clusters of a study, against recomputation draw by draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import FloatArray
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.settings import ClusterTest, Settings
from gecjury.metaeval.study import MetaEvaluation
from gecjury.metaeval.uncertainty import Draws
from gecjury.scoring.system_tests import RankedMetric
from gecjury.stats.bootstrap import figure_interval, interval
from gecjury.stats.choices import SystemStatistic
from gecjury.stats.correlation import pearson
from gecjury.stats.permutation import holm_matrix, perm_both, perm_systems
from gecjury.stats.preferences import preference_agreement
from gecjury.stats.ranking import win_rates
from gecjury.stats.resampling import Resampling
from gecjury.stats.soft_accuracy import perm_both_spa

RULES = ("half", "official", "loss", "drop", "calibrated")


def unseen(item: RankedItem, system: str) -> RankedItem:
    """Return the ranking as if a system had not been shown."""
    pairs = zip(item.groups, item.ranks, strict=True)
    places = [(tuple(name for name in group if name != system), rank) for group, rank in pairs]
    left = [(group, rank) for group, rank in places if group]
    return replace(item, groups=tuple(g for g, _ in left), ranks=tuple(r for _, r in left))


@pytest.fixture(scope="module")
def sample() -> Benchmark:
    return load_benchmark("sample")


def entries(benchmark: Benchmark) -> list[RankedMetric]:
    """Return a metric that follows quality, with ties and missing scores, and a random one."""
    rng = np.random.default_rng(7)
    shape = len(benchmark.corpus.names), len(benchmark.corpus)
    quality = benchmark.human_scores("trueskill")[:, None] + rng.normal(size=shape)
    good = quality.round()
    good[1, ::9] = np.nan
    return [entry("good", good), entry("noise", rng.random(shape)), entry("flat", np.ones(shape))]


def entry(name: str, sentences: FloatArray) -> RankedMetric:
    systems = [f"system {row}" for row in range(len(sentences))]
    return RankedMetric(sentence_table(name, systems, sentences))


@pytest.mark.parametrize("ties", RULES)
def test_sentence_draws_equal_recomputation(sample: Benchmark, ties: str) -> None:
    how = Resampling(over="both", resamples=6, confidence=0.5)
    study = MetaEvaluation(sample, Settings(ties=ties, resampling=how))  # type: ignore[arg-type]
    found = Draws(study, entries(sample))
    drawn = found.drawn("edit", "sentence", "both")
    intervals = found.intervals("edit", "sentence")
    pairs, draws = study.pairs("edit"), found.draws
    assert draws.multiplicity is not None
    weight = (
        draws.counts[:, pairs.sentence]
        * draws.multiplicity[:, pairs.first]
        * draws.multiplicity[:, pairs.second]
    ).astype(int)
    for number, (one, got) in enumerate(zip(found.entries, intervals, strict=True)):
        first, second = study.sides("edit", one.table)
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
        accuracy = drawn.values["accuracy"][number]
        assert accuracy == pytest.approx(values, abs=1e-9, nan_ok=True)
        whole = preference_agreement(pairs.preference, first, second, ties=ties)  # type: ignore[arg-type]
        observed = drawn.observed["accuracy"][number]
        assert observed == pytest.approx(whole.accuracy, abs=1e-9, nan_ok=True)
        assert got["accuracy"][0] == pytest.approx(
            figure_interval(accuracy, 0.5, float(observed))[0], nan_ok=True
        )
        assert got["accuracy"][1] == np.isnan(values).sum()


@pytest.mark.parametrize("aggregate", ["trueskill", "expected-wins", "mean"])
@pytest.mark.parametrize("over", ["both", "sentences", "systems"])
def test_system_draws_equal_recomputation(sample: Benchmark, aggregate: str, over: str) -> None:
    how = Resampling(over=over, resamples=5, confidence=0.5)  # type: ignore[arg-type]
    study = MetaEvaluation(sample, Settings(aggregate=aggregate, resampling=how))  # type: ignore[arg-type]
    found = Draws(study, entries(sample)[:2])
    draws = found.draws
    human, resampled = found.human("edit")
    assert resampled == (over != "systems")
    drawn = found.drawn("edit", "system", over)  # type: ignore[arg-type]
    for one, got in zip(found.entries, drawn.values["pearson"], strict=True):
        values = []
        for row in range(5):
            lines = slice(None) if draws.sentences is None else draws.sentences[row]
            scores = study.system_scores(one.table.sentences[:, lines], np.zeros(6))
            wanted = human[row if len(human) > 1 else 0]
            rows = np.arange(6) if draws.systems is None else draws.systems[row]
            values.append(pearson(wanted[rows], scores[rows]))
        assert got == pytest.approx(values, abs=2e-3, nan_ok=True)


@pytest.mark.parametrize("over", ["both", "sentences", "systems"])
@pytest.mark.parametrize("kind", ["trueskill", "expected-wins"])
def test_a_system_that_nobody_judged_does_not_change_intervals(
    sample: Benchmark, over: str, kind: str
) -> None:
    """It is left out of the figures and of their intervals, which equal those without it."""
    names = sample.corpus.names
    rest = [name for name in names if name != names[2]]
    rankings = {
        view: tuple(unseen(item, names[2]) for item in items)
        for view, items in sample.rankings.items()
    }
    human = {
        view: {key: {**column, names[2]: np.nan} for key, column in columns.items()}
        for view, columns in sample.human.items()
    }
    full = replace(sample, rankings=rankings, human=human)
    few = replace(full, corpus=sample.corpus.with_systems(rest))
    rows = [names.index(name) for name in rest]
    found = []
    for benchmark, kept in ((full, slice(None)), (few, rows)):
        how = Resampling(over=over, resamples=200)  # type: ignore[arg-type]
        settings = Settings(aggregate="mean", human_scores=kind, resampling=how)  # type: ignore[arg-type]
        some = entries(sample)[:2]
        cut = [entry(e.table.signature.metric, e.table.sentences[kept]) for e in some]
        uncertainty = Draws(MetaEvaluation(benchmark, settings), cut)
        found.append([
            *uncertainty.intervals("edit", "system"), *uncertainty.intervals("edit", "sentence")
        ])  # fmt: skip
    for with_it, without in zip(*found, strict=True):
        assert with_it.keys() == without.keys()
        for name, (bounds, dropped) in without.items():
            assert with_it[name][0] == pytest.approx(bounds, abs=1e-9, nan_ok=True)
            assert with_it[name][1] == dropped
        assert not np.isnan(next(iter(without.values()))[0]).any()


def test_tests_between_metrics(sample: Benchmark) -> None:
    study = MetaEvaluation(sample, Settings(resampling=Resampling(permutations=500)))
    found = Draws(study, entries(sample))
    system, sentence = found.significance("edit", range(3))
    assert (system.test, sentence.test) == ("perm-systems", "paired-permutation")
    # All but the first of the systems can be swapped, so there are few permutations of them.
    systems = int((~np.isnan(study.human("edit"))).sum())
    assert (system.permutations, sentence.permutations) == (2 ** (systems - 1), 500)
    assert system.metrics == ("good", "noise", "flat")
    for test in (system, sentence):
        known = ~np.isnan(test.p)
        assert (test.p == test.p.T)[known].all()
        assert (test.adjusted[known] >= test.p[known]).all()
    assert system.clusters[2] is None  # constant: no correlation, so no cluster
    assert sentence.clusters == (1, 2, 2)
    # The order of the metrics makes no difference.
    turned = Draws(study, entries(sample)[::-1])
    assert turned.significance("edit", range(3))[1].clusters == (2, 2, 1)


@pytest.mark.parametrize("swapped", ["perm-systems", "perm-both"])
@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "pairwise_accuracy"])
def test_statistic_and_test_follow_the_settings(
    sample: Benchmark, statistic: SystemStatistic, swapped: ClusterTest
) -> None:
    some = entries(sample)[:2]
    settings = Settings(
        resampling=Resampling(permutations=200), statistic=statistic, seed=3, cluster_test=swapped
    )
    found = Draws(MetaEvaluation(sample, settings), some)
    test = found.significance("edit", range(2))[0]
    human = sample.human_scores("trueskill")
    options = {"statistic": statistic, "permutations": 200, "seed": 3}
    if swapped == "perm-both":
        values, p = perm_both(human, [win_rates(one.table.sentences) for one in some], **options)
    else:
        values, p = perm_systems(human, found.plain_scores[:, 0], **options)
    assert (test.level, test.test, test.statistic) == ("system", swapped, statistic)
    assert test.values == pytest.approx(values)
    assert test.p == pytest.approx(p, nan_ok=True)
    assert test.adjusted == pytest.approx(holm_matrix(p), nan_ok=True)


@pytest.mark.parametrize("swapped", ["perm-systems", "perm-both"])
@pytest.mark.parametrize("aggregate", ["trueskill", "corpus"])
def test_soft_accuracy_is_tested_on_sentence_scores(
    sample: Benchmark, aggregate: str, swapped: ClusterTest
) -> None:
    settings = Settings(
        aggregate=aggregate,  # type: ignore[arg-type]
        resampling=Resampling(permutations=200),
        statistic="spa",
        seed=3,
        cluster_test=swapped,
    )
    study, some = MetaEvaluation(sample, settings), entries(sample)
    found = Draws(study, some)
    test = found.significance("edit", range(3))[0]
    wanted = study.human_differences["edit"]
    assert wanted is not None
    values, p = perm_both_spa(
        wanted,
        [one.table.sentences for one in some],
        permutations=200,
        seed=3,
        whole=swapped == "perm-systems",
    )
    assert (test.test, test.statistic) == (swapped, "spa")
    assert test.values == pytest.approx(values)
    assert test.p == pytest.approx(p, nan_ok=True)
    # Close to the printed value, which uses permutations instead of their normal limit.
    printed = [study.soft_accuracy(one.table.sentences, "edit") for one in some]
    assert test.values == pytest.approx(printed, abs=0.01)
    # Unlike r, SPA of a constant metric is defined.
    if swapped == "perm-both":
        assert test.clusters == (1, 2, 2)
    else:  # Six systems have 64 swaps: no p is below 2/64, nor after Holm's correction below 6/64.
        assert test.clusters == (1, 1, 1)


@pytest.mark.parametrize("over", ["both", "sentences", "systems"])
def test_differences_are_paired(sample: Benchmark, over: str) -> None:
    """A metric differs from itself by 0 in every draw; two metrics differ as their draws do."""
    good, noise, _ = entries(sample)
    how = Resampling(over=over, resamples=50, confidence=0.9)  # type: ignore[arg-type]
    found = Draws(
        MetaEvaluation(sample, Settings(aggregate="mean", resampling=how)),
        [good, entry("again", good.table.sentences), noise],
    )
    figures = {"pearson": [0.9, 0.9, 0.2]}
    same, other, _ = found.differences("edit", "system", figures)
    kinds = {"both", "sentences", "systems"} if over == "both" else {over}
    assert set(same.ci95) == set(other.ci95) == kinds
    assert (same.first, same.second, same.difference) == ("good", "again", 0.0)
    assert set(same.ci95.values()) == {(0.0, 0.0)}
    assert (other.first, other.second) == ("good", "noise")
    assert other.difference == pytest.approx(0.7)
    drawn = found.drawn("edit", "system", over)  # type: ignore[arg-type]
    gaps = drawn.values["pearson"][0] - drawn.values["pearson"][2]
    observed = drawn.observed["pearson"][0] - drawn.observed["pearson"][2]
    assert other.ci95[over] == interval(gaps, 0.9, float(observed))[0]  # type: ignore[index]


def cut(benchmark: Benchmark, systems: int, sentences: int) -> Draws:
    """Return the uncertainty of a good metric on the first systems and sentences."""
    corpus = benchmark.corpus
    names = corpus.names[:systems]
    few = Corpus(
        corpus.sources[:sentences],
        {name: Version(corpus.systems[name].lines[:sentences]) for name in names},
    )
    kept = replace(benchmark, corpus=few, rankings={}, sample=False)
    table = entries(benchmark)[0].table.sentences[:systems, 1 : sentences + 1]  # nothing missing
    settings = Settings(aggregate="mean", resampling=Resampling(resamples=50))
    return Draws(MetaEvaluation(kept, settings), [entry("good", table)])


def test_three_systems_have_no_interval(sample: Benchmark) -> None:
    """Three drawn from three are the same three, or too few for a correlation."""
    assert cut(sample, 3, 20).intervals("edit", "system")[0] == {}
    assert cut(sample, 4, 20).intervals("edit", "system")[0]["pearson"][0][0] < 1

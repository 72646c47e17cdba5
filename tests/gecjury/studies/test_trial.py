"""Trials of an option: grids, folds, hand-computed optima, reused statistics, warnings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.studies.tune.trial import (
    Preset,
    Searching,
    Sweeping,
    TuningTrial,
    curves,
    find_best,
    fold_draws,
    leak_warning,
    parse_grid,
    trial_of,
)


def test_grids_are_parsed() -> None:
    grid = parse_grid("green:unit=char,beta=0:5:0.01,n=3")
    assert (grid.metric, grid.option) == ("green:unit=char,n=3", "beta")
    assert len(grid.values) == 501
    assert grid.values[137] == 1.37  # not 1.3699999999999999
    assert grid.default == 2.0
    assert grid.scorer(0.5) == load("green:unit=char,n=3,beta=0.5")
    assert grid.scorer() == load("green:unit=char,n=3")
    whole = parse_grid("green:n=1:6:1")
    assert whole.values == (1, 2, 3, 4, 5, 6)
    assert whole.default == 4.0
    assert parse_grid("green:beta=1:3:1").values == (1.0, 2.0, 3.0)
    lambdas = parse_grid("uot-errant:encoder=embedded,lambda=0.02:1:0.02")
    assert len(lambdas.values) == 50
    assert lambdas.scorer(0.5) == load("uot-errant:encoder=embedded,lambda1=0.5,lambda2=0.5")


def test_metrics_have_the_tuning_presets_of_their_papers() -> None:
    green, uot = scorer_class("green"), scorer_class("uot-errant")
    assert Preset.of(green) == Preset("beta=0:5:0.01", "corpus", "expected-wins", 10)
    assert Preset.of(uot) == Preset("lambda=0.02:1:0.02", "trueskill", None, 1)
    assert Preset.of(uot).option == "lambda"
    assert Preset.of(scorer_class("gleu")) == Preset("", "corpus", None, 10)


@pytest.mark.parametrize(
    "text",
    ["green", "green:beta=1", "green:beta=0:5:0.1,n=1:4:1", "green:beta=0:5:0", "green:beta=5:0:1",
     "green:beta=a:b:c", "green:bta=0:5:1", "green:beta=-1:5:1", "grene:beta=0:5:1",
     "green:n=1:2:0.5", "green:unit=0:1:1"],
)  # fmt: skip
def test_invalid_grids_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_grid(text)


def test_folds_hold_out_equal_parts() -> None:
    draws = fold_draws(11, 3, seed=1)
    assert draws is not None
    assert draws.shape == (3, 8)  # 11 // 3 = 3 are held out; two sentences are in every draw
    held = [set(range(11)) - set(row.tolist()) for row in draws]
    assert [len(part) for part in held] == [3, 3, 3]
    assert len(set().union(*held)) == 9
    assert fold_draws(11, 1, seed=1) is None
    with pytest.raises(OptionError, match="are too few for"):
        fold_draws(3, 4, seed=0)


def test_the_mean_of_the_folds_optima_by_hand() -> None:
    # Three systems with human scores 1, 2, 3; the metric's scores by value and fold.
    human = np.array([1.0, 2.0, 3.0])
    good, half, bad = [1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]
    values = (0.0, 1.0, 4.0)
    parts = np.array([[good, bad], [half, half], [bad, good]])  # value × fold × system
    trial = TuningTrial(
        values, np.array([half, good, good]), parts,
        # Four pairs on sentences 0, 0, 1, 2; the first fold keeps 0 and 1, the second 1 and 2.
        np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 1.0, np.nan]]),
        np.array([0, 0, 1, 2]), human, np.array([[0, 1], [1, 2]]),
    )  # fmt: skip
    best = find_best(trial, "pearson")
    # Fold 1 prefers 0, fold 2 prefers 4: mean 2, standard deviation √8 with n − 1.
    assert best.optima == (0.0, 4.0)
    assert best.value == 2.0
    assert best.spread == pytest.approx(np.sqrt(8))
    # Accuracy: fold 1 sees 2/3, 1/2, 1/3; fold 2 sees 0, 1/2, 1 (the missing pair is left out).
    assert find_best(trial, "accuracy").optima == (0.0, 4.0)
    every = curves(trial)
    assert every["accuracy"].tolist() == pytest.approx([0.5, 0.5, 1 / 3])
    assert every["spearman"].tolist() == pytest.approx([0.5, 1.0, 1.0])
    # Without folds: the best value on all data; among equals, the largest.
    alone = TuningTrial(values, trial.whole, None, trial.right, trial.sentence, human, None)
    assert find_best(alone, "spearman").value == 4.0
    assert find_best(alone, "accuracy").value == 1.0


def test_whole_numbers_stay_whole() -> None:
    parts = np.array([[[1.0, 2.0, 3.0]] * 2, [[1.0, 2.0, 4.0]] * 2])
    parts[0, 0] = [3.0, 2.0, 1.0]
    trial = TuningTrial(
        (1, 2), parts[:, 0], parts, np.zeros((2, 0)), np.zeros(0, np.int64),
        np.array([1.0, 2.0, 3.0]), np.array([[0], [1]]),
    )  # fmt: skip
    # Fold 1 prefers 2, fold 2 prefers 1: the mean is 1.5, which is rounded (to even) to 2.
    assert find_best(trial, "pearson").value == 2.0
    with pytest.raises(OptionError, match="accuracy is not defined"):
        find_best(trial, "accuracy")


def test_metrics_with_fast_search_over_settings() -> None:
    classes = {name: scorer_class(name) for name in METRICS}
    assert [name for name, kind in classes.items() if issubclass(kind, Searching)] == ["some"]
    assert [name for name, kind in classes.items() if issubclass(kind, Sweeping)] == ["uot-errant"]


@pytest.mark.parametrize(
    "name", ["green", "errant", "sent-errant", "cleme", "cleme2", "gotoscorer"]
)
def test_score_options_do_not_change_the_statistics(name: str) -> None:
    corpus = load_benchmark("sample").corpus
    first, second = load(name), load(name, beta=3.0)
    assert getattr(first, "score_options", None) == {"beta"}
    a, b = (scorer.statistics(corpus, Runtime()).values for scorer in (first, second))
    assert np.array_equal(a, b, equal_nan=True)


def test_reused_statistics_give_the_same_scores() -> None:
    benchmark = load_benchmark("sample")
    study = Study(benchmark, Settings(aggregate="corpus"))
    grid = parse_grid("green:beta=0.5:2.5:1")
    draws = fold_draws(len(benchmark.corpus), 2, 0)
    assert draws is not None
    trial = trial_of(grid, study, "edit", draws, Runtime())
    for k, value in enumerate(grid.values):
        table = load("green", beta=value).score_corpus(benchmark.corpus)
        assert trial.whole[k].tolist() == pytest.approx(list(table.totals))
        accuracy = study.over_pairs(table, "edit")
        assert accuracy is not None
        assert curves(trial)["accuracy"][k] == pytest.approx(accuracy.accuracy)
    rows = draws[0].tolist()
    part = Corpus(
        tuple(benchmark.corpus.sources[row] for row in rows),
        {name: version.take(rows) for name, version in benchmark.corpus.systems.items()},
        tuple(version.take(rows) for version in benchmark.corpus.references),
    )
    assert trial.parts is not None
    own = load("green", beta=1.5).score_corpus(part)
    assert trial.parts[1, 0].tolist() == pytest.approx(list(own.totals))
    # n changes the statistics too, so every value is scored.
    trial = trial_of(parse_grid("green:n=1:2:1"), study, "edit", None, Runtime())
    assert trial.whole[1].tolist() == pytest.approx(
        list(load("green:n=2").score_corpus(benchmark.corpus).totals)
    )


def test_shared_sources_give_a_warning() -> None:
    first = Corpus(("A b .", "c"), {"x": Version(("A b .", "c"))})
    second = Corpus(("a  b.", "d", "e"), {"x": Version(("a", "d", "e"))})
    assert "1 of the 3 sources of two are among those of one" in leak_warning(
        first, second, ("one", "two")
    )
    assert leak_warning(first, Corpus(("z",), {"x": Version(("z",))}), ("one", "two")) == ""
    assert "tuned and tested on one" in leak_warning(first, first, ("one", "one"))


@pytest.mark.slow
def test_green_on_gjg15_as_published(data_dir: Path) -> None:
    # Koyama et al. (2024), appendix A.2, CoNLL, word GREEN against Expected Wins with β tuned by
    # ten folds: r .790 at 1.67, ρ .709 at 2.51. The folds themselves are not published.
    how = Settings(aggregate="corpus", human_scores="expected-wins")
    benchmark = load_benchmark("gjg15", references="official-um-deleted", data=data_dir)
    study = Study(benchmark, how)
    grid = parse_grid("green:beta=1.5:2.6:0.01")
    draws = fold_draws(len(study.benchmark.corpus), 10, 0)
    trial = trial_of(grid, study, "sentence", draws, Runtime())
    best = find_best(trial, "pearson")
    assert best.value == pytest.approx(1.67, abs=0.02)
    every = curves(trial)
    assert round(float(every["pearson"].max()), 3) == 0.790
    assert round(float(every["spearman"].max()), 3) == 0.709
    at = dict(zip(grid.values, every["spearman"].round(3).tolist(), strict=True))
    assert at[2.51] == 0.709

"""Trials of options: grids, folds, hand-computed optima, reused statistics, warnings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.scoring.scorer import score_options
from gecjury.studies.tune.trial import (
    MEASURES,
    JudgmentScale,
    Trial,
    best_points,
    completed,
    fold_draws,
    leak_warning,
    parse_grid,
    trial_of,
)

_, SPEARMAN, ACCURACY = range(3)


def test_one_range() -> None:
    grid = parse_grid("green:unit=char,beta=0:5:0.01,n=3")
    assert grid.base == load("green:unit=char,n=3")
    assert (grid.options, len(grid.points), grid.single) == (("beta",), 501, True)
    assert grid.points[137, 0] == 1.37  # not 1.3699999999999999
    assert grid.default == [2.0]
    assert grid.scorer(grid.points[50]) == load("green:unit=char,n=3,beta=0.5")
    whole = parse_grid("green:n=1:6:1")
    assert whole.points[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert whole.scorer(whole.points[1]) == load("green:n=2")
    assert not parse_grid("green:beta=1:3:1").whole


def test_options_that_follow_others() -> None:
    grid = parse_grid("uot-errant:encoder=embedded,lambda1=0.02:1:0.02,lambda2=lambda1")
    assert (len(grid.points), grid.single) == (50, True)
    assert grid.scorer(grid.points[24]) == load(
        "uot-errant:encoder=embedded,lambda1=0.5,lambda2=0.5"
    )
    weights = parse_grid("some:model=features,alpha=0:1:0.01,beta=0:1:0.01,gamma=rest")
    assert (weights.options, weights.single) == (("alpha", "beta", "gamma"), False)
    assert len(weights.points) == 5151
    assert weights.points.sum(axis=1) == pytest.approx(np.ones(5151))
    assert weights.default.tolist() == [0.55, 0.43, 0.02]


def test_without_a_range_the_paper_s_is_used() -> None:
    green = {"folds": "10", "aggregate": "corpus", "human-scores": "expected-wins"}
    assert completed("green") == ("green:beta=0:5:0.01", green)
    assert completed("green:n=3") == ("green:n=3,beta=0:5:0.01", green)
    assert completed("green:beta=0:1:0.5") == ("green:beta=0:1:0.5", green)
    assert completed("green:n=1:3:1") == ("green:n=1:3:1", {})
    assert completed("gleu") == ("gleu", {})
    for name in ("uot-errant", "some:model=m"):
        text, how = completed(name)
        assert how["folds"] == "1"
        assert parse_grid(text).points.size
    tuned = {name for name in METRICS if hasattr(scorer_class(name), "tuning")}
    assert tuned == {"green", "uot-errant", "some"}


@pytest.mark.parametrize(
    "text",
    ["green", "green:beta=1", "green:beta=0:5:0", "green:beta=5:0:1", "green:beta=a:b:c",
     "green:bta=0:5:1", "green:beta=-1:5:1", "grene:beta=0:5:1", "green:n=1:2:0.5",
     "green:unit=0:1:1", "green:beta=0:5:0.0001,n=1:4:1"],
)  # fmt: skip
def test_invalid_grids_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_grid(text)


def test_folds_hold_out_equal_parts() -> None:
    draws = fold_draws(11, 3, seed=1)
    assert [len(row) for row in draws] == [8] * 3  # 3 are held out; two are in every draw
    held = [set(range(11)) - set(row.tolist()) for row in draws]
    assert [len(part) for part in held] == [3, 3, 3]
    assert len(set().union(*held)) == 9
    assert fold_draws(11, 1, seed=1) == []
    with pytest.raises(OptionError, match="are too few for"):
        fold_draws(3, 4, seed=0)


def trial(whole: list[float], *drawn: list[float]) -> Trial:
    """A trial whose measures are all the same."""
    curves = np.repeat(np.array([whole, *drawn]).T[:, :, None], len(MEASURES), axis=2)
    return Trial(curves[:, 0], curves[:, 1:])


def test_optima_by_hand() -> None:
    grid = parse_grid("green:beta=0:2:1")
    # Fold 1 prefers 0, fold 2 prefers 2; among equals, the largest value is chosen.
    assert best_points(grid, trial([0, 1, 1], [3, 2, 1], [1, 2, 3]), "pearson").tolist() == [
        [0.0], [2.0],
    ]  # fmt: skip
    assert best_points(grid, trial([0, 1, 1]), "accuracy").tolist() == [[2.0]]
    with pytest.raises(OptionError, match="accuracy is not defined"):
        best_points(grid, trial([float("nan")] * 3), "accuracy")
    # Of several ranges, the values nearest to the defaults are chosen: .55, .43, .02.
    weights = parse_grid("some:model=features,alpha=0:1:0.5,beta=0:1:0.5,gamma=rest")
    assert best_points(weights, trial([0.0] * 6), "pearson").tolist() == [[0.5, 0.5, 0.0]]


@pytest.mark.parametrize(
    "name", ["green", "errant", "sent-errant", "cleme", "cleme2", "gotoscorer"]
)
def test_score_options_do_not_change_the_statistics(name: str) -> None:
    corpus = load_benchmark("sample").corpus
    first, second = load(name), load(name, beta=3.0)
    assert score_options(first) == {"beta"}
    a, b = (scorer.statistics(corpus, Runtime()).values for scorer in (first, second))
    assert np.array_equal(a, b, equal_nan=True)


def test_measures_are_those_of_compare() -> None:
    benchmark = load_benchmark("sample")
    study = MetaEvaluation(benchmark, Settings(aggregate="corpus"))
    grid = parse_grid("green:beta=0.5:2.5:1")
    draws = fold_draws(len(benchmark.corpus), 2, 0)
    tried = trial_of(grid, JudgmentScale(study, "edit", draws), Runtime())
    human = study.human("edit")
    for k, value in enumerate(grid.points[:, 0].tolist()):
        table = load("green", beta=value).score_corpus(benchmark.corpus)
        totals = list(table.totals)
        assert tried.whole[k, 0] == pytest.approx(np.corrcoef(human, totals)[0, 1])
        accuracy = study.over_pairs(table, "edit")
        assert accuracy is not None
        assert tried.whole[k, ACCURACY] == pytest.approx(accuracy.accuracy)
    rows = draws[0].tolist()
    part = Corpus(
        tuple(benchmark.corpus.sources[row] for row in rows),
        {name: version.take(rows) for name, version in benchmark.corpus.systems.items()},
        tuple(version.take(rows) for version in benchmark.corpus.references),
    )
    own = list(load("green", beta=1.5).score_corpus(part).totals)
    assert tried.drawn[1, 0, 0] == pytest.approx(np.corrcoef(human, own)[0, 1])
    # n changes the statistics too, so every value is scored.
    tried = trial_of(parse_grid("green:n=1:2:1"), JudgmentScale(study, "edit"), Runtime())
    two = list(load("green:n=2").score_corpus(benchmark.corpus).totals)
    assert tried.whole[1, 0] == pytest.approx(np.corrcoef(human, two)[0, 1])


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
    grid = parse_grid("green:beta=1.5:2.6:0.01")
    draws = fold_draws(len(benchmark.corpus), 10, 0)
    tried = trial_of(
        grid, JudgmentScale(MetaEvaluation(benchmark, how), "sentence", draws), Runtime()
    )
    best = best_points(grid, tried, "pearson")
    assert best.mean() == pytest.approx(1.67, abs=0.02)
    assert tried.whole.max(axis=0)[:ACCURACY].round(3).tolist() == [0.790, 0.709]
    (at,) = np.flatnonzero(grid.points[:, 0] == 2.51)
    assert round(float(tried.whole[at, SPEARMAN]), 3) == 0.709

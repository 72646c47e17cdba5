"""Tuning from Python: presets, figures here and elsewhere, what is refused before any reading."""

from __future__ import annotations

import pytest

import gecjury
from gecjury import TuneSettings
from gecjury.errors import OptionError
from gecjury.experiments.tune import check_tuning
from gecjury.experiments.tuning import evaluate
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.runtime import Runtime


def test_a_value_and_its_figures() -> None:
    benchmark = gecjury.load_benchmark("sample")
    found = gecjury.tune(
        "green:beta=0.5:2:0.5", benchmark, ["sample"], settings=TuneSettings(folds=1, seed=4)
    )
    assert found.grid is not None
    assert (found.grid.option, found.grid.values, found.folds) == ("beta", (0.5, 1, 1.5, 2), 1)
    assert [entry["value"] for entry in found.curve] == [0.5, 1, 1.5, 2]
    # Without folds the value is the best of the curve, of equal ones the largest.
    for one in found.found:
        best = max(found.curve, key=lambda entry: (round(entry[one.measure], 9), entry["value"]))
        assert one.values == {"value": best["value"]}
        assert one.figure == pytest.approx(best[one.measure])
    scorers = [gecjury.load("green"), gecjury.load("green:beta=0.5")]
    # As GREEN's paper did: against Expected Wins.
    study = Study(benchmark, Settings(aggregate="corpus", human_scores="expected-wins"))
    usual, _ = evaluate(scorers, study, "edit", Runtime())
    assert {one.measure: one.default for one in found.found} == usual
    assert [each.row()["figure"] for each in found.elsewhere] == [one.figure for one in found.found]
    assert "tuned and tested on sample" in found.warnings[0]
    assert found.rows()[0]["benchmark"] == "sample"


def test_a_metric_alone_is_tuned_as_its_paper_did() -> None:
    found = gecjury.tune("green", "sample")
    assert found.grid is not None
    assert len(found.grid.values) == 501
    assert (found.folds, found.study.settings.aggregate, found.human_scores) == (
        10, "corpus", "expected-wins",
    )  # fmt: skip
    # Another option of the metric is not the paper's.
    other = gecjury.tune("green:n=1:3:1", "sample", settings=TuneSettings(folds=2))
    assert other.human_scores == "trueskill"
    # What is asked for counts.
    asked = TuneSettings(aggregate="mean", human_scores="trueskill", folds=2)
    found = gecjury.tune("green:beta=1:2:1", "sample", settings=asked)
    assert (found.folds, found.study.settings.aggregate, found.human_scores) == (
        2,
        "mean",
        "trueskill",
    )


@pytest.mark.parametrize(
    ("what", "settings", "words"),
    [
        ("grene", TuneSettings(), "did you mean green"),
        ("gleu", TuneSettings(), "name an option with a range"),
        ("green:beta=1:2:1", TuneSettings(folds=0), "--folds 0: expected 1"),
        ("green:bta=1:2:1", TuneSettings(), "no option 'bta'"),
    ],
)
def test_what_cannot_be_tuned(what: str, settings: TuneSettings, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        check_tuning(what, settings)
    with pytest.raises(OptionError, match=words):
        gecjury.tune(what, "no-such-benchmark", settings=settings)


def test_records_make_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    found = gecjury.tune("green:beta=1:2:1", "sample", settings=TuneSettings(folds=2))
    assert list(pandas.DataFrame(found.rows())["measure"]) == ["pearson", "spearman", "accuracy"]
    assert list(pandas.DataFrame(found.curve)["value"]) == [1, 2]

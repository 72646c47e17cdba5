"""Tuning: presets, figures on tuning and test data, the command, invalid input."""

from __future__ import annotations

import json

import pytest

import gecjury
from gecjury import Tune
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.report.tables import to_json
from gecjury.studies.tune.trial import evaluate
from tests.shell import Shell


def test_a_value_and_its_figures() -> None:
    benchmark = gecjury.load_benchmark("sample")
    settings = Tune(test=("sample", benchmark), folds=1, seed=4)
    result = gecjury.tune(benchmark, "green:beta=0.5:2:0.5", settings)
    keys = ("option", "default", "folds")
    assert [result.facts[key] for key in keys] == ["beta", 2, 1]
    curve = result.table("curve").rows
    assert [row["value"] for row in curve] == [0.5, 1, 1.5, 2]
    # Without folds the value is the best of the curve; among equals, the largest.
    for row in result.rows():
        measure = row["measure"]
        best = max(curve, key=lambda one: (round(one[measure], 9), one["value"]))
        assert row["value"] == best["value"]
        assert row["figure"] == pytest.approx(best[measure])
    scorers = [gecjury.load("green"), gecjury.load("green:beta=0.5")]
    # Against Expected Wins, as in GREEN's paper.
    study = Study(benchmark, Settings(aggregate="corpus", human_scores="expected-wins"))
    usual, _ = evaluate(scorers, study, "edit", Runtime())
    assert {row["measure"]: row["default"] for row in result.rows()} == usual
    figures = [row["figure"] for row in result.rows()]
    assert [row["figure"] for row in result.table("elsewhere").rows] == figures * 2
    assert "tuned and tested on sample" in result.notes[0]


@pytest.mark.slow
def test_a_metric_alone_is_tuned_over_the_grid_of_its_paper() -> None:
    assert len(gecjury.tune("sample", "green").table("curve").rows) == 501


def test_a_metric_is_tuned_as_its_paper_did() -> None:
    result = gecjury.tune("sample", "green:beta=1:2:1")
    keys = ("folds", "aggregate", "human_scores")
    assert [result.facts[key] for key in keys] == [10, "corpus", "expected-wins"]
    # The paper tuned another option, so its preset does not apply.
    other = gecjury.tune("sample", "green:n=1:3:1", Tune(folds=2))
    assert other.facts["human_scores"] == "trueskill"
    # Explicit settings take precedence.
    asked = Tune(aggregate="mean", human_scores="trueskill", folds=2)
    result = gecjury.tune("sample", "green:beta=1:2:1", asked)
    assert [result.facts[key] for key in keys] == [2, "mean", "trueskill"]


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    benchmark = gecjury.load_benchmark("sample", systems="all", view="sentence")
    settings = Tune(test=(benchmark,), human_scores="trueskill", aggregate="mean", folds=3, seed=2)
    result = gecjury.tune(benchmark, "green:beta=0.5:2:0.5", settings)
    argv = ["tune", "green:beta=0.5:2:0.5", "sample", "--test", "sample", "--systems", "all"]
    argv += ["--human", "sentence", "--human-scores", "trueskill", "--aggregate", "mean"]
    argv += ["--folds", "3", "--seed", "2"]
    status, out, err = shell(*argv, "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(to_json(result.document()))
    assert "warning: tuned and tested on sample" in err
    assert "Every value" not in shell(*argv)[1]
    assert "Every value" in shell(*argv, "--curve")[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["green:beta=0:5", "sample"], ["beta", "0:5"]),
        (["gleu", "sample"], ["gleu:OPTION=START:STOP:STEP"]),
        (["grene", "sample"], ["grene", "green"]),
        (["green", "smple"], ["smple", "sample"]),
        (["green", "sample", "--test", "smple"], ["smple", "sample"]),
        (["some", "sample"], ["no model is named"]),
        (["green:beta=0:1:0.5", "sample", "--folds", "10000"], ["are too few for 10000 folds"]),
    ],
)
def test_wrong_use(shell: Shell, argv: list[str], words: list[str]) -> None:
    status, out, err = shell("tune", *argv)
    assert (status, out) == (2, "")
    for word in words:
        assert word in err


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("grene", "did you mean green"),
        ("gleu", "name an option with a range"),
        ("green:bta=1:2:1", "no option 'bta'"),
        (("green", "green:n=1:3:1"), "2 metrics; expected one"),
        (gecjury.load("green"), "as on the command line"),
    ],
)
def test_unsuitable_metrics_are_refused(what: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        gecjury.tune("sample", what)


def test_zero_folds_are_refused() -> None:
    with pytest.raises(OptionError, match="--folds 0: expected 1 or more"):
        Tune(folds=0)

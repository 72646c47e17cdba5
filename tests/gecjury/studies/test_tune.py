"""Tuning: presets, figures on tuning and test data, the command, invalid input."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gecjury
from gecjury import Tune
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation
from gecjury.report.tables import to_json
from gecjury.studies.tune.trial import MEASURES, JudgmentScale, measured
from tests.shell import Shell


def test_a_value_and_its_figures() -> None:
    benchmark = gecjury.load_benchmark("sample")
    settings = Tune(test=("sample", benchmark), seed=4)
    result = gecjury.tune(benchmark, "green:beta=0.5:2:0.5", settings)
    keys = ("options", "default", "folds", "aggregate", "human_scores")
    # As in the paper that tuned this option.
    expected = [["beta"], {"value": 2.0}, 10, "corpus", "expected-wins"]
    assert [result.facts[key] for key in keys] == expected
    study = MetaEvaluation(benchmark, Settings(aggregate="corpus", human_scores="expected-wins"))
    for row in result.rows():
        assert set(row["optima"]) <= {0.5, 1.0, 1.5, 2.0}
        assert row["value"] == pytest.approx(np.mean(row["optima"]))
        assert row["spread"] == pytest.approx(np.std(row["optima"], ddof=1))
        scorers = [gecjury.load("green"), gecjury.load("green", beta=row["value"])]
        usual, tuned = measured(scorers, JudgmentScale(study, "edit"), Runtime()).whole
        number = MEASURES.index(row["measure"])
        assert (row["default"], row["figure"]) == (usual[number], tuned[number])
    figures = [row["figure"] for row in result.rows()]
    assert [row["figure"] for row in result.table("elsewhere").rows] == figures * 2
    assert "tuned and tested on sample" in result.notes[0]


def test_the_paper_s_settings_are_for_its_option_and_can_be_overridden() -> None:
    other = gecjury.tune("sample", "green:n=1:3:1")
    assert other.facts["human_scores"] == "trueskill"
    assert {row["value"] for row in other.rows()} <= {1.0, 2.0, 3.0}
    asked = Tune(aggregate="mean", human_scores="trueskill")
    facts = gecjury.tune("sample", "green:beta=1:2:1", asked).facts
    assert (facts["aggregate"], facts["human_scores"]) == ("mean", "trueskill")


@pytest.mark.slow
def test_the_weights_of_a_some_are_searched_together() -> None:
    result = gecjury.tune("sample", "some:model=features")
    assert result.facts["default"] == {"alpha": 0.55, "beta": 0.43, "gamma": 0.02}
    for row in result.rows():
        assert row["alpha"] + row["beta"] + row["gamma"] == pytest.approx(1)
        assert row["figure"] >= row["default"]


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    benchmark = gecjury.load_benchmark("sample", systems="all", view="sentence")
    settings = Tune(
        test=(benchmark,), human="sentence", human_scores="trueskill", aggregate="mean", seed=2
    )
    result = gecjury.tune(benchmark, "green:beta=0.5:2:0.5", settings)
    argv = ["tune", "green:beta=0.5:2:0.5", "sample", "--test", "sample", "--systems", "all"]
    argv += ["--human", "sentence", "--human-scores", "trueskill", "--aggregate", "mean"]
    status, out, err = shell(*argv, "--seed", "2", "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(to_json(result.document()))
    assert "warning: tuned and tested on sample" in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["green:beta=0:5", "sample"], ["beta", "0:5"]),
        (["gleu", "sample"], ["gleu:OPTION=START:STOP:STEP"]),
        (["green", "smple"], ["smple", "sample"]),
        (["green", "sample", "--test", "smple"], ["smple", "sample"]),
        (["some:model=./nowhere", "sample"], ["no such folder"]),
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
        ("green:bta=1:2:1", "no option 'bta'"),
        (("green", "green:n=1:3:1"), "2 metrics; expected one"),
        (gecjury.load("green"), "as on the command line"),
    ],
)
def test_unsuitable_metrics_are_refused(what: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        gecjury.tune("sample", what)

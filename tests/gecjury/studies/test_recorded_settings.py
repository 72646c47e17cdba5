"""The JSON of a study lists all its settings."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from gecjury import Alarms, Resampling, Tune, corpus_of_texts, load_benchmark
from gecjury.core.settings import option, options_of, recorded
from gecjury.report.result import Result
from gecjury.report.tables import to_json
from gecjury.studies import STUDIES, study_of
from tests.shell import Shell

GOOD = ["He goes home .", "It rains ."]


@dataclass(frozen=True, kw_only=True)
class Pickier(Alarms):
    """A study with one option more.

    Attributes:
        fewest: made up.
    """

    fewest: int = option(3, "--at-least")


def test_a_new_option_is_recorded_by_itself() -> None:
    how = Resampling(over="sentences", resamples=10, permutations=10)
    texts = corpus_of_texts(GOOD, {"mine": GOOD[::-1]})
    settings = json.loads(to_json(Pickier(resampling=how)(texts).document()))["settings"]
    assert settings == {
        "show": 5,
        "resampling": {
            "resample": "sentences", "resamples": 10, "confidence": 0.95, "permutations": 10,
            "level": 0.05,
        },
        "seed": 0,
        "at_least": 3,
    }  # fmt: skip


@pytest.mark.parametrize("command", STUDIES)
def test_every_study_records_every_option(command: str) -> None:
    study = study_of(command)
    result = study().with_settings(Result(()))
    for one in options_of(study, hidden=True):
        *holders, _ = one.path.split(".")
        settings = result.settings[holders[0]] if holders else result.settings
        assert one.keyword in settings
    assert json.loads(to_json(result.document()))["settings"] == result.settings


def test_a_command_records_its_options(shell: Shell) -> None:
    words = ["compare", "sample", "-m", "changes", "--limit", "30", "--resample", "none"]
    status, out, _ = shell(*words, "--format", "json")
    settings = json.loads(out)["settings"]
    assert (status, settings["limit"], settings["resampling"]["resample"]) == (0, 30, "none")
    assert (settings["ties"], settings["level"]) == ("half", "all")


def test_keys_of_servers_are_masked_and_benchmarks_named() -> None:
    sample, address = load_benchmark("sample"), "base_url=https://me:pa55word@host/v1"
    settings = recorded(Tune(test=(sample,), prompt=(f"llm-s:{address}",)))
    assert settings["test"] == ["sample"]
    assert "pa55word" not in settings["prompt"][0]


def all_results(kind: type[Result] = Result) -> list[type[Result]]:
    return [kind, *(below for one in kind.__subclasses__() for below in all_results(one))]


def test_no_result_writes_its_document_without_settings() -> None:
    for command in STUDIES:
        study_of(command)
    assert [one for one in all_results() if "document" in vars(one)] == [Result]

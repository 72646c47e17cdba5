"""Settings of studies by keyword: the names, checks and messages of the command line."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import gecjury
from gecjury import Rank, Resampling
from gecjury.cli import main
from gecjury.core.errors import OptionError


def test_keywords_set_fields_and_nested_fields() -> None:
    keywords = gecjury.rank("sample", "green", aggregate="mean", resamples=20, permutations=20)
    how = Resampling(over="sentences", resamples=20, permutations=20)
    settings = Rank(aggregate="mean", resampling=how)
    assert keywords.rows() == gecjury.rank("sample", "green", settings).rows()
    # Keywords change the settings that are given as an object.
    assert "ci95" not in gecjury.rank("sample", "green", settings, resample="none").rows()[0]


def test_the_name_of_a_field_is_accepted_beside_that_of_its_option() -> None:
    by_option = gecjury.rank("sample", "green", resample="none").rows()
    assert gecjury.rank("sample", "green", over="none").rows() == by_option


@pytest.mark.parametrize(
    ("keyword", "typed", "message"),
    [
        ({"seed": -1}, ["--seed", "-1"], "expected 0 or more"),
        ({"seed": "x"}, ["--seed", "x"], "expected a whole number, 0 or more"),
        (
            {"aggregate": "men"},
            ["--aggregate", "men"],
            "expected one of trueskill, expected-wins, corpus, mean; did you mean mean?",
        ),
        (
            {"resamples": 0},
            ["--resamples", "0"],
            "expected 1 to 1000000",
        ),
    ],
)
def test_each_names_a_setting_as_its_users_write_it(
    keyword: dict[str, Any], typed: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OptionError) as error:
        gecjury.rank("sample", "green", **keyword)
    ((name, value),) = keyword.items()
    assert str(error.value) == f"`{name}={value!r}`: {message}"
    assert main(["rank", "sample", "-m", "green", *typed]) == 2
    assert capsys.readouterr().err == f"gecjury: --{name} {value!r}: {message}\n"


def test_a_misspelt_keyword_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(OptionError, match="setting of compare 'humen': did you mean human"):
        gecjury.compare("sample", "green", humen="both")


def test_help_shows_every_setting_with_its_values_and_default() -> None:
    signature = inspect.signature(gecjury.compare)
    assert signature.parameters["aggregate"].default == "trueskill"
    assert signature.parameters["resample"].default == "both"
    described = " ".join((gecjury.compare.__doc__ or "").split())
    assert "human: which human judgments" in described
    assert "Expected: edit, sentence, both; default: None." in described
    assert "resamples of the bootstrap. Expected: a whole number, 1 to 1000000" in described

"""Every option of every metric is explained by the docstring of the class that has it."""

from __future__ import annotations

import re

import pytest

from gecjury.core.errors import MissingExtraError
from gecjury.prompts import CRITERIA
from gecjury.refbased.green import GREEN
from gecjury.scoring.options import metric_options, short_names
from gecjury.scoring.registry import METRICS, load, scorer_class


@pytest.mark.parametrize("name", METRICS)
def test_every_option_of_every_metric_is_explained(name: str) -> None:
    try:
        scorer = load(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    options = metric_options(type(scorer))
    assert [name for name, option in options.items() if not option.meaning] == []
    assert [name for name, option in options.items() if not option.expected] == []
    assert {option.path for option in options.values()} >= scorer.settings().keys()


def test_options_of_a_metric() -> None:
    unit = metric_options(GREEN)["unit"]
    assert (unit.default, unit.expected) == ("word", "word, char, line")
    assert unit.meaning == (
        "word, char (white space at the ends of a text is left out), or line (all characters of "
        "the line, as the authors' program counts them)."
    )
    assert metric_options(GREEN)["n"].expected == "a whole number, 1 to 100 or none"
    # Options and their meanings come from base classes too, and entries may have several lines.
    assert metric_options(scorer_class("sent-errant"))["mode"].meaning.endswith(
        "belongs to the token on its right)."
    )


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["green:beta=1", "gleu"], ["green", "gleu"]),
        (["green", "green:beta=1,n=2"], ["green", "green:beta=1,n=2"]),
        # An option that all share does not distinguish them.
        (
            ["some:model=a,alpha=1", "some:model=b,alpha=1"],
            ["some:model=a", "some:model=b"],
        ),
        (["some:model=/runs/x/1", "some:model=/runs/y/2/"], ["some:model=1", "some:model=2"]),
        # The last part of the path alone would be the same.
        (["some:model=/x/1", "some:model=/y/1"], ["some:model=/x/1", "some:model=/y/1"]),
        (["llm-s:model=a,base_url=http://host:1/v1"], ["llm-s"]),
        (["llm-s:panel=a\\,b", "llm-s:panel=a\\,c"], ["llm-s:panel=a\\,b", "llm-s:panel=a\\,c"]),
        # Scores computed elsewhere are named by the user's label.
        (["scores:label=comet", "two annotators"], ["scores:label=comet", "two annotators"]),
        (["own.py:Mine:power=2"], ["own.py:Mine"]),
        (["<a href='http://host/x'>"], ["<a href='http://host/x'>"]),
    ],
)
def test_short_names_still_distinguish_metrics(labels: list[str], names: list[str]) -> None:
    assert list(short_names(labels).values()) == names


@pytest.mark.parametrize("name", ["llm-s", "llm-e"])
def test_the_meaning_of_a_criterion_lists_all_published_ones(name: str) -> None:
    criterion = metric_options(scorer_class(name))["criterion"]
    values = re.split(r", | or ", criterion.meaning.rstrip(".").partition(": ")[2])
    assert tuple(values) == CRITERIA[scorer_class(name).wording_name]  # type: ignore[attr-defined]

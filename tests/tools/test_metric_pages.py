"""The pages of the metrics have all that a reader needs, generated from the class alone."""

from __future__ import annotations

import re

import pytest

from gecjury.cli import command_parser
from gecjury.scoring.options import metric_options
from gecjury.scoring.registry import METRICS, scorer_class
from tests.shell import REPOSITORY
from tools.metric_pages import (
    agreement,
    command,
    description,
    facts,
    metric_page,
    metrics_index,
    told,
)


@pytest.mark.parametrize("name", METRICS)
def test_a_page_has_range_paper_needs_and_every_option(name: str) -> None:
    kind = scorer_class(name)
    said = dict(facts(kind))
    assert said["range and direction"], "its docstring states no range or direction"
    assert description(kind)
    assert said["paper"]
    text = metric_page(name)
    for option in metric_options(kind):
        assert re.search(rf"\| `{option}` \| \S.* \| \S.* \| \S.* \|", text), option
    for need in kind.needs:
        assert need in said["needs"]
    assert f"\n{name}|" in text.partition("## Signature")[2]


@pytest.mark.parametrize("name", METRICS)
def test_its_command_line_is_valid_and_provides_what_it_needs(name: str) -> None:
    scorer = scorer_class(name)
    words = command(scorer).split()[1:]
    args, unknown = command_parser().parse_known_args(words)
    assert not unknown
    assert (args.command, args.metrics[0].partition(":")[0]) == ("score", name)
    assert ("-r" in words) == ("references" in scorer.needs)
    assert ("--m2" in words) == ("gold" in scorer.needs)


@pytest.mark.parametrize("name", told())
def test_a_page_says_when_to_use_it_and_how_to_cite_it(name: str) -> None:
    more, text = told()[name], metric_page(name)
    assert f'<p class="formula">{more["formula"]}</p>' in text
    assert more["use"] in text
    assert more["avoid"] in text
    assert "\n@" in text.partition("## Citation")[2]
    for guide in more["guides"]:
        assert (REPOSITORY / "docs" / guide).is_file(), guide


def test_agreement_figures_are_those_measured_on_seeda() -> None:
    # From docs/measured/seeda.csv; the columns are E and S, and both with fluent systems.
    assert agreement("errant") == (
        "errant",
        {"accuracy": [".629", ".619", ".575", ".560"], "r": [".952", ".829", "−.271", "−.370"]},
    )
    found = agreement("some")
    assert found is not None
    assert found[0] == "some:model=my-some"
    assert agreement("scribendi") is None


def test_the_list_links_to_every_page() -> None:
    assert sorted(re.findall(r"\]\(([\w-]+)\.md\)", metrics_index())) == sorted(METRICS)
    assert set(told()) <= set(METRICS)

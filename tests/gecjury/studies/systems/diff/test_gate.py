"""Gates: true conditions are reported with their values; an undefined value never passes."""

from __future__ import annotations

import pytest

from gecjury.core.errors import OptionError
from gecjury.studies.systems.diff.gate import (
    check_gate,
    figure_names,
    figures_of,
    judge_gate,
    parse_gate,
)
from gecjury.studies.systems.diff.paired import Paired

NAN = float("nan")
LONG = "errant < 0 and (green < 0 or errant.p < 1)"
FIGURES = figures_of(
    {
        "errant": Paired(0.5, 0.48, (-0.04, 0.01), 0.2, 100),
        "green:beta=1": Paired(0.7, 0.8, (0.05, 0.15), 0.01, 100),
        "over-correction": Paired(NAN, NAN, (NAN, NAN), NAN, 0),
    },
    {"green": "green:beta=1"},
)


def judge(*texts: str) -> tuple[list[str], list[str]]:
    verdict = judge_gate(parse_gate(texts), FIGURES)
    assert verdict.passed == (not verdict.tripped and not verdict.missing)
    return [condition.text for condition in verdict.tripped], verdict.missing


@pytest.mark.parametrize(
    ("text", "tripped"),
    [
        ("errant < -0.005", ["errant < -0.005"]),
        ("errant < -0.05", []),
        ("errant.low < -.03", ["errant.low < -.03"]),
        ("errant.high < 0", []),
        ("errant.p < .05", []),
        ("errant.old > errant.new", ["errant.old > errant.new"]),
        ("green > 0.05 or errant < 0", ["green > 0.05", "errant < 0"]),
        ("green < 0 or errant < 0", ["errant < 0"]),
        ("green < 0 and errant < 0", []),
        (LONG, [LONG]),
        ("`green:beta=1.high` > .1", ["`green:beta=1.high` > .1"]),
        ("(errant<0)or(green<0)", ["(errant<0)"]),
        ("not errant > 0", ["not errant > 0"]),
    ],
)
def test_true_parts_of_a_condition(text: str, tripped: list[str]) -> None:
    assert judge(text) == (tripped, [])


def test_conditions_fail_separately() -> None:
    assert judge("errant < 0", "green < 0 or green.p < .05")[0] == ["errant < 0", "green.p < .05"]


@pytest.mark.parametrize(
    "text",
    [
        "over-correction > 0.01",
        "not over-correction > 0.01",
        "over-correction.p < 1 and errant > 0",
        "errant > 1 or over-correction < 0",
    ],
)
def test_undefined_figures_are_missing(text: str) -> None:
    tripped, missing = judge(text)
    assert not tripped
    assert len(missing) == 1
    assert missing[0].startswith("over-correction")


def test_the_values_of_a_condition_are_reported() -> None:
    gate = parse_gate(["errant < 0 and errant.p < green.new or over-correction > 1"])
    verdict = judge_gate(gate, FIGURES)
    (tripped,) = verdict.tripped
    values = {"errant": pytest.approx(-0.02), "errant.p": 0.2, "green.new": 0.8}
    assert verdict.values_in(tripped) == values
    assert verdict.record() == {
        "passed": False,
        "tripped": [{"condition": tripped.text, "values": values}],
        "missing": ["over-correction"],
        "values": {**values, "over-correction": pytest.approx(NAN, nan_ok=True)},
    }


KNOWN = figure_names(["errant"], {"errant": "errant"}, rates=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("errnat < 0", "no figure is called 'errnat': did you mean errant"),
        ("errant < 0 or gleu > 0", "no figure is called 'gleu'"),
        ("errant.lo < 0", "no figure is called 'errant.lo': did you mean errant.*low"),
        ("over-correction > 0", "over-correction needs references: give at least one with -r"),
        ("success.p > 0", "success.p needs references"),
    ],
)
def test_unknown_figures(text: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        check_gate(parse_gate([text]), KNOWN)


def test_names_of_figures() -> None:
    names = figure_names(["green:beta=1"], {"green": "green:beta=1"}, rates=True)
    assert {"green", "green.p", "green:beta=1.low", "success.new", "over-correction"} <= set(names)
    assert set(FIGURES) <= {*names, *KNOWN}
    check_gate(parse_gate(["green < 0 or `green:beta=1` < 0"]), names)

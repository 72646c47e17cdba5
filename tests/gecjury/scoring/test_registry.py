"""Loading metrics by name, with options as text, and the errors for wrong ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest

import gecjury
from gecjury.core.errors import MissingExtraError, OptionError, install_hint, nearest
from gecjury.refbased.gleu import GLEU, OfficialGLEU
from gecjury.refbased.green import GREEN
from gecjury.scoring.abilities import CreditsEdits, Explains
from gecjury.scoring.options import parse
from gecjury.scoring.registry import (
    METRICS,
    able,
    load,
    metric_names,
    missing_extra,
    origin,
    paper_of,
    scorer_class,
)
from tests.gecjury.scoring.test_scorer import Length


@dataclass(frozen=True)
class Toy(Length):
    """One option of every kind."""

    name: ClassVar[str] = "toy"

    flag: bool = False
    limit: int | None = 3
    kind: Literal["one", "two"] = "one"
    model: str = "base"
    any_of: int | float | str = 0

    def __post_init__(self) -> None:
        if self.model == "boom":
            raise ValueError("boom is no model")


@dataclass(frozen=True)
class Needy(Length):
    """Imports a missing package when it is created."""

    name: ClassVar[str] = "needy"

    def __post_init__(self) -> None:
        import no_such_package  # noqa: F401


@pytest.fixture
def toys(registered: Callable[..., Path]) -> None:
    registered({"toy": f"{__name__}:Toy", "needy": f"{__name__}:Needy"})


def test_names_and_options() -> None:
    assert load("green") == GREEN()
    assert gecjury.load("green:n=6,unit=char,beta=1") == GREEN(n=6, unit="char", beta=1.0)
    assert load("gleu-official", n=2) == OfficialGLEU(n=2)
    assert load("gleu:seed=3", seed=4) == GLEU(seed=4)
    assert load("green:") == GREEN()
    assert load("green:n=none") == GREEN()
    assert type(load("green", beta=2).settings()["beta"]) is float


@pytest.mark.usefixtures("toys")
def test_every_kind_of_option() -> None:
    assert load("toy:flag=TRUE,limit=none,kind=two,model=a/b-c,any-of=1.5") == Toy(
        flag=True, limit=None, kind="two", model="a/b-c", any_of=1.5
    )
    assert load("toy:any_of=x=y") == Toy(any_of="x=y")
    assert load(r"toy:model=a\,b,limit=5") == Toy(model="a,b", limit=5)
    assert load("toy", limit=None, flag=True) == Toy(limit=None, flag=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gren", "unknown metric 'gren': did you mean green"),
        ("bertscore", "unknown metric 'bertscore': known: "),
        ("green,gleu", "'green,gleu' are 2 metrics; repeat -m for each: -m green -m gleu"),
        ("green:bta=1", "green has no option 'bta': did you mean beta?"),
        ("green:zzz=1", "green has no option 'zzz': known: beta, n, unit"),
        ("green:beta", "'beta' is not `option=value`"),
        ("green:n=1,n=2", "option n is given twice"),
        ("green:beta=high", "green: beta='high': expected a number, 0 to 1e+100"),
        ("green:n=2.5", "green: n='2.5': expected a whole number, 1 to 100 or none"),
        (
            "green:unit=words",
            "green: unit='words': expected one of word, char, line; did you mean word?",
        ),
    ],
)
def test_wrong_names_options_and_values(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        load(name)


@pytest.mark.parametrize(
    "options",
    [{"beta": "x"}, {"beta": True}, {"beta": None}, {"n": 2.0}, {"n": True}, {"unit": 3}],
)
def test_wrong_values_in_python(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=r"green: \w+="):
        load("green", **options)


@pytest.mark.usefixtures("toys")
def test_wrong_values_of_every_kind() -> None:
    for text in ("toy:flag=yes", "toy:limit=", "toy:kind=three"):
        with pytest.raises(OptionError, match=r"toy: \w+='"):
            load(text)
    with pytest.raises(OptionError, match="toy: boom is no model"):
        load("toy:model=boom")


@pytest.mark.usefixtures("toys")
def test_a_missing_package_outside_our_extras_is_named_itself() -> None:
    message = "needy needs the package no_such_package, which is not installed: "
    with pytest.raises(MissingExtraError, match=message + r"pip install no_such_package"):
        load("needy")


def test_a_missing_package_names_the_extra() -> None:
    error = ModuleNotFoundError("No module named 'torch'", name="torch")
    message = str(missing_extra("some", "refless", error))
    assert message.endswith(
        f"needs the package torch, which is not installed: {install_hint('refless')}"
    )


def test_our_metrics_come_before_all_others() -> None:
    assert metric_names()[: len(METRICS)] == list(METRICS)
    assert {origin(name) for name in METRICS} == {"gecjury"}


def test_every_metric_has_a_paper_to_cite() -> None:
    assert [name for name in METRICS if not scorer_class(name).paper] == []
    assert paper_of("green") == "Koyama et al. 2024"
    assert paper_of("toy-that-nobody-has") is None


def test_what_metrics_can_do() -> None:
    assert able(CreditsEdits) == [
        "cleme", "cleme2", "errant", "gotoscorer", "m2", "pt-errant", "sent-errant", "sentm2",
        "uot-errant",
    ]  # fmt: skip
    assert able(Explains) == ["cleme", "errant", "uot-errant"]


def test_parse() -> None:
    assert parse("a") == ("a", {})
    assert parse("a:b=c:d,e=f=g") == ("a", {"b": "c:d", "e": "f=g"})
    assert parse(r"a:b=c\,d") == ("a", {"b": "c,d"})


def test_nearest() -> None:
    assert nearest("gren", ["green", "gleu"]) == "did you mean green or gleu?"
    assert nearest("Beta", ["beta", "n"]) == "did you mean beta?"
    assert nearest("x", ["b", "a"]) == "known: a, b"
    assert nearest("x", []) == "there are none"

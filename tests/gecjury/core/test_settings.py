"""Settings classes as options: declarations, creation from values, and invalid values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.settings import (
    attributes_of,
    check,
    check_needs,
    option,
    options_of,
    settings_from,
)


@dataclass(frozen=True)
class Draws:
    """How often is drawn.

    Attributes:
        over: what is drawn.
        times: how often,
            on two lines.
    """

    over: Literal["all", "some", "none"] = option("all", "--draw")
    times: int = option(10, metavar="B", least=1, most=100, hint="none of them for no draws")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search.

    Attributes:
        word: what is looked for; `all` for anything.
        share: of what there is.
        names: more words.
        draws: how often.
        loud: also tell.
        other: a word, or what gives one.
    """

    word: str
    share: float | None = option(None, above=0, below=1)
    names: tuple[str, ...] = ()
    draws: Draws = option(Draws(over="some"), offers=("over",), only={"over": ("some", "none")})
    loud: bool = False
    secret: int = option(0, hidden=True)
    other: str | Callable[[], str] = ""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Cook:
    """How a meal is cooked.

    Attributes:
        oven: bake it.
        heat: of the oven.
        steps: what is done before.
        time: of the steps, or of the pan.
        label: what it is called.
    """

    oven: bool = False
    heat: float = option(0.5, above=0, most=1, heading="fire", needs={"": ("oven",)})
    steps: tuple[str, ...] = option((), several=True)
    time: int = option(1, needs={"": ("steps cut",), "oven": ("steps mix", "grill")})
    label: str = option("", needs={"": ("printer",)})

    def __post_init__(self) -> None:
        check(self)
        check_needs(self, "heat", "time", "label")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heat": 0.7}, "`heat=` would do nothing without `oven=`"),
        ({"time": 2, "steps": ("mix",)}, "`time=` would do nothing without `steps=cut`"),
        (
            {"time": 2, "oven": True, "steps": ("cut",)},
            "`time=` would do nothing with `oven=` without `steps=mix`",
        ),
        ({"heat": 0.0, "oven": True}, "`heat=0.0`: expected more than 0 and at most 1"),
    ],
)
def test_a_field_without_effect_is_refused_with_what_it_needs(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=f"^{message}$"):
        Cook(**values)


def test_fields_whose_needs_are_met_or_have_no_option_are_accepted() -> None:
    Cook(oven=True, heat=1.0, steps=("cut", "mix"), time=2)
    # No option could meet the need of this field.
    assert Cook(label="pie").label == "pie"


def test_fields_declare_options() -> None:
    options = {declared.name: declared for declared in options_of(Search)}
    assert list(options) == [
        "word", "share", "names", "over", "loud", "other",
    ]  # fmt: skip
    assert (options["word"].required, options["word"].meaning) == (
        True, "what is looked for; all for anything.",
    )  # fmt: skip
    assert options["share"].kinds == (float, NoneType)
    assert options["share"].expected == "a number, more than 0 and less than 1 or none"
    assert (options["names"].kinds, options["names"].many) == ((str,), True)
    assert (options["over"].flags, options["over"].default) == (("--draw",), "some")
    assert options["over"].choices == ("some", "none")
    assert [options[name].kinds[0] for name in ("loud", "other")] == [bool, str]


def test_settings_are_built_from_values() -> None:
    made = settings_from(Search, {"word": "a", "names": ["b", "c", "b"], "over": "none"})
    assert made == Search(word="a", names=("b", "c"), draws=Draws(over="none"))
    assert settings_from(Search, {"word": "a", "names": None}) == Search(word="a")
    # By the flag's name too, with one value for several, and on top of other settings.
    again = settings_from(Search, {"draw": "none", "names": "b", "share": "0.5"}, Search(word="c"))
    assert again == Search(word="c", names=("b",), share=0.5, draws=Draws(over="none"))


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("share", "0.25", 0.25), ("share", "none", None), ("secret", "7", 7),
        ("loud", "True", True), ("over", "none", "none"), ("word", Path("a"), "a"),
        ("secret", np.int64(3), 3), ("share", np.float32(0.5), 0.5),
    ],
)  # fmt: skip
def test_values_are_read_from_text_and_from_python(name: str, value: object, read: object) -> None:
    (declared,) = (one for one in options_of(Search, hidden=True) if one.name == name)
    assert declared.read(value) == read
    assert type(declared.read(value)) is type(read)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"secret": "x"}, "^`secret='x'`: expected a whole number$"),
        ({"secret": True}, "`secret=True`: expected a whole number"),
        ({"secret": 2.5}, "`secret=2.5`: expected a whole number"),
        ({"secret": "9" * 20}, "`secret=9{20}`: expected at most 9223372036854775807"),
        ({"secret": "“5”"}, "a whole number; leave out the quotation marks"),
        ({"loud": 1}, "`loud=1`: expected true or false"),
        ({"names": ("a", 3)}, "`names=3`: expected text"),
        ({"shares": 0.5}, r"unknown setting of search 'shares': did you mean share or"),
    ],
)
def test_values_of_another_kind_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        settings_from(Search, {"word": "a", **values})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"share": 1.0}, "`share=1.0`: expected more than 0 and less than 1"),
        ({"share": float("nan")}, "`share=nan`: expected a finite number"),
        ({"over": "all"}, "`draw='all'`: expected one of some, none"),
        ({"over": "sme"}, "did you mean some"),
    ],
)
def test_values_out_of_bounds_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        settings_from(Search, {"word": "a", **values})


def test_bounds_of_inner_settings() -> None:
    with pytest.raises(OptionError, match=r"`times=0`: expected 1 to 100 \(none of them"):
        Draws(times=0)
    with pytest.raises(OptionError, match="`times=101`: expected 1 to 100"):
        Draws(times=101)


def test_entries_of_a_docstring() -> None:
    assert attributes_of(Draws.__doc__ or "")["times"] == "how often, on two lines."
    assert attributes_of("No section.") == {}

"""Options of settings classes, as argparse takes and gives them back."""

from __future__ import annotations

import argparse
from typing import Any, TypeVar

from gecjury.cli.numbers import decimal, whole
from gecjury.settings import Option, options_of, settings_from

T = TypeVar("T")
_KINDS: dict[type, Any] = {int: whole, float: decimal, str: str, dict: str}


def add_options(parser: argparse.ArgumentParser, settings: type) -> None:
    """Declare the options of a settings class.

    Args:
        parser: of the command.
        settings: a dataclass; see `gecjury.settings`.
    """
    for option in options_of(settings):
        parser.add_argument(*_flags(option), dest=option.name, help=_help(option), **_how(option))


def settings_of(settings: type[T], args: argparse.Namespace) -> T:
    """Return the settings that parsed options ask for.

    Raises:
        OptionError: a value that there is none of.
    """
    values = vars(args)
    for option in options_of(settings):
        if option.kind is str and option.choices and isinstance(values.get(option.name), str):
            values = {**values, option.name: _named(option)[values[option.name]]}
    return settings_from(settings, values)


def _named(option: Option) -> dict[str, str]:
    """Return the values of an option as they are typed, with dashes, and as settings have them."""
    return {choice.replace("_", "-"): choice for choice in option.choices}


def _flags(option: Option) -> tuple[str, ...]:
    return option.flags


def _how(option: Option) -> dict[str, Any]:
    """Return what `add_argument` is told besides the flags and the help."""
    if option.kind is bool:
        return {"action": "store_true"}
    default = list(option.default) if option.many and option.default else option.default
    how: dict[str, Any] = {
        "type": _KINDS[option.kind],
        "default": default,
        "required": option.required,
        "metavar": option.metavar,
    }
    if option.choices:
        how["choices"] = tuple(_named(option)) if option.kind is str else option.choices
    if option.many:
        how |= {"nargs": "+"} if option.several else {"action": "append"}
        # argparse would append to a default; settings know it themselves.
        how["default"] = None if option.several or not default else default
    return how


def _help(option: Option) -> str:
    """Return the meaning of an option with its default, as argparse formats it."""
    words = option.meaning.rstrip(".")
    shown = option.default
    if isinstance(shown, tuple):
        shown = " ".join(map(str, shown))
    if option.kind is not bool and shown not in (None, "") and "default" not in words:
        words = f"{words} (default: {shown})"
    return words.replace("%", "%%")

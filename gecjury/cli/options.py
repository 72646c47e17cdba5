"""Options of settings classes and of runs: declared for argparse, read back from its results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gecjury.cli.streams import TerminalProgress, tell
from gecjury.core.runtime import Progress, Runtime
from gecjury.core.settings import Option, options_of, refuse_unread, settings_from

T = TypeVar("T")


def add_options(
    parser: argparse._ActionsContainer,
    *settings: type,
    wanted: Callable[[Option], bool] = lambda option: True,
) -> None:
    """Declare the options of settings classes.

    Args:
        *settings: dataclasses; see `gecjury.core.settings`. Equal headings are merged in the help.
        wanted: returns True for options that the command reads.
    """
    groups: dict[str, argparse._ActionsContainer] = {}
    for one in settings:
        heading = ""
        for option in options_of(one):
            heading = option.heading or heading
            if not wanted(option):
                continue
            if heading and heading not in groups:
                groups[heading] = parser.add_argument_group(heading)
            names = option.flags if option.flags[0].startswith("-") else (option.name,)
            action = groups.get(heading, parser).add_argument(*names, **_how(option))
            action.required = option.required
            action.option = option  # type: ignore[attr-defined]  # read by `CommandParser`


def settings_of(settings: type[T], args: argparse.Namespace) -> T:
    """Return the settings that parsed options describe.

    Raises:
        OptionError: a value is not valid.
    """
    names = [option.name for option in options_of(settings)]
    return settings_from(settings, {name: getattr(args, name, None) for name in names})


def arguments_of(settings: type[T], args: argparse.Namespace) -> T:
    """Return the settings with every value as it was given, also if it was given twice."""
    values = {option.name: getattr(args, option.name) for option in options_of(settings)}
    return settings(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def refuse_useless(args: argparse.Namespace, *settings: type) -> None:
    """Refuse options that were given and would do nothing with the others.

    Args:
        *settings: settings classes that the command declares.

    Raises:
        OptionError: names the first such option and what it needs.
    """
    declared = [option for one in settings for option in options_of(one)]
    usual = {option.name: args.parser.get_default(option.name) for option in declared}
    refuse_unread(declared, vars(args), usual)


def runtime_from(args: argparse.Namespace, *, log: bool = False) -> Runtime:
    """Return the `Runtime` that the shared options describe.

    Args:
        log: whether to show progress as a line per minute if stderr is not a terminal.
    """
    names = ("device", "batch_size", "workers", "concurrency", "dry_run", "max_cost", "api_key_env")
    values: dict[str, Any] = {name: getattr(args, name) for name in (*names, "batch")}
    for name in ("data", "cache"):
        path = getattr(args, name)
        values[name] = None if path is None else Path(path)
    return Runtime(
        **values,
        use_cache=not args.no_cache,
        tell=lambda message: tell(args.parser.as_typed(message)),
        progress=Progress() if args.quiet else TerminalProgress(log=log),
    )


def _how(option: Option) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument`."""
    how: dict[str, Any] = {"help": option.meaning.rstrip(".").replace("%", "%%")}
    if not option.flags[0].startswith("-"):
        if option.many:
            how |= {"nargs": "+" if option.required or option.several else "*", "default": []}
        return how | {"metavar": option.flags[0]}
    how["dest"] = option.name
    if option.kinds == (bool,):
        return how | {"action": "store_true"}
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    how |= {"default": default, "required": option.required, "metavar": option.metavar}
    if option.choices:
        how["choices"] = [str(choice).replace("_", "-") for choice in option.choices]
    if option.several:
        how["nargs"] = "+"
    elif option.many:
        # argparse would append to a default; settings know their default themselves.
        how |= {"action": "append", "default": None if default else default}
    usual = how["default"]
    usual = " ".join(map(str, usual)) if isinstance(usual, list) else usual
    if usual not in (None, "") and "default" not in how["help"]:
        noted = f"default: {usual}".replace("%", "%%")
        how["help"] = f"{how['help']} ({noted})" if how["help"] else noted
    return how

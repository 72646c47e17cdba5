"""One page per command, built from its parser: description, usage, arguments and options."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Iterator

from gecjury.cli import GROUPS, command_parser
from gecjury.cli.parsers import CommandParser


def command_pages() -> dict[str, str]:
    """Return the page of every command, by name."""
    parsers = command_parser().actions
    return {name: command_page(parsers[name]) for group in GROUPS.values() for name in group}


def command_page(parser: CommandParser) -> str:
    """Return the Markdown of a command's page, including its actions."""
    parser.declared()
    lines = [f"# gecjury {parser.path}", "", _text(parser.description or "")]
    if parser.actions:
        lines += ["", "| action | what it does |", "|---|---|"]
        for name, action in parser.actions.items():
            anchor = f"gecjury-{action.path.replace(' ', '-')}"
            lines.append(
                f"| [`{name}`](#{anchor}) | {table_cell(_text(action.description or ''))} |"
            )
        for action in parser.actions.values():
            lines += ["", f"## gecjury {action.path}", "", _text(action.description or "")]
            lines += _arguments(action, "###")
    else:
        lines += _arguments(parser, "##")
    return "\n".join(lines) + "\n"


def commands_index() -> str:
    """Return the Markdown of the list of all commands."""
    lines = [
        "# Commands",
        "",
        "Every command, as `gecjury COMMAND --help` describes it. Results go to standard output, "
        "everything else to standard error. The exit status is 0 after success, 1 if the work is "
        "not complete, 2 for wrong use or unusable input, 3 if a condition of `diff --fail-if` "
        "is true, and 70 after a fault of the program.",
    ]
    for group, commands in GROUPS.items():
        lines += ["", f"## {group.capitalize()}", ""]
        lines += [f"- [`{name}`]({name}.md): {_text(line)}." for name, line in commands.items()]
    return "\n".join(lines) + "\n"


def _arguments(parser: CommandParser, level: str) -> Iterator[str]:
    """Yield the usage, and one table per group of arguments."""
    parser.declared()
    yield from ["", "```", " ".join(_usage(parser).split()), "```"]
    if parser.epilog:
        yield from ["", "```", parser.epilog.strip("\n"), "```"]
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        shown = [action for action in shown if not isinstance(action, argparse._HelpAction)]
        if not shown:
            continue
        title = "Arguments" if group.title == "positional arguments" else str(group.title)
        yield from ["", f"{level} {title[0].upper()}{title[1:]}", ""]
        if group.title == "positional arguments":
            yield from ["| argument | meaning |", "|---|---|"]
            for action in shown:
                yield f"| {_named(action)} | {table_cell(_meaning(parser, action))} |"
            continue
        yield from ["| option | default | meaning |", "|---|---|---|"]
        for action in shown:
            meaning, default = _without_default(_meaning(parser, action))
            yield f"| {_named(action)} | {table_cell(default)} | {table_cell(meaning)} |"


def _usage(parser: CommandParser) -> str:
    """Return the command with its required arguments; its options are in the tables."""
    wanted = [
        f"{action.option_strings[0]} {_values(action)}"
        for action in parser._actions
        if action.option_strings and action.required
    ]
    words = [_values(action) for action in parser._actions if not action.option_strings]
    return " ".join(["gecjury", parser.path, "[OPTIONS]", *wanted, *words])


def _values(action: argparse.Action) -> str:
    """Return the usage of an argument: `FILE`, `[FILE ...]`."""
    formatter = argparse.HelpFormatter("gecjury")
    default = formatter._get_default_metavar_for_optional(action)
    if not action.option_strings:
        default = formatter._get_default_metavar_for_positional(action)
    return str(formatter._format_args(action, default))


def _named(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_values(action)}`"
    value = "" if action.nargs == 0 else f" {_values(action)}"
    if action.choices is not None:
        value = " " + (action.metavar if isinstance(action.metavar, str) else "…")
    return "<br>".join(f"`{name}{value}`".replace("|", "\\|") for name in action.option_strings)


def _meaning(parser: CommandParser, action: argparse.Action) -> str:
    formatter = argparse.HelpFormatter(parser.prog)
    text = formatter._expand_help(action) if action.help else ""
    if action.choices is not None and action.option_strings:
        listed = ", ".join(f"`{choice}`" for choice in action.choices)
        return f"{_text(text)} ({listed})" if text else listed
    return _text(text)


def _without_default(text: str) -> tuple[str, str]:
    """Return a meaning without the default in it, and that default."""
    match = re.search(r"\s*\(default: ((?:[^()]|\([^()]*\))*)\)", text)
    if match is None:
        return text, ""
    return text[: match.start()] + text[match.end() :], match[1]


def _text(text: str) -> str:
    """Return help text with angle brackets and stars escaped, since they are not markup."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [
        re.sub(r"([*_\[\]])", r"\\\1", html.escape(piece, quote=False)) for piece in pieces[::2]
    ]
    return "".join(pieces)


def table_cell(text: str) -> str:
    """Return a text as the cell of a Markdown table."""
    return " ".join(text.split()).replace("|", r"\|")

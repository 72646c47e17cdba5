"""Parsers of commands with arguments declared on demand, and options that many commands share.

A command with actions (`train`, `m2`, ...) has one parser per action. An option is only in the help
of the commands that read it; the errors of other commands name these.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import itertools
import os
import re
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from gecjury.cli.options import add_options
from gecjury.cli.streams import tell
from gecjury.core.errors import GecjuryError, OptionError, nearest
from gecjury.core.settings import Option, options_of
from gecjury.core.wording import listed, visible
from gecjury.studies.inputs import Need, Shared

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

ArgparseOption: TypeAlias = Any
"""An argument of `argparse.ArgumentParser`, which declares its type."""

_IMPLIED: Mapping[Need, tuple[Need, ...]] = {
    "texts": ("language",),
    "data": ("cache",),
    "edits": ("cache",),
    "models": ("edits", "cache"),
    "judges": ("models", "edits", "cache"),
}


VERBOSE = "print all tables, columns, notes and signatures, not only the main results"
"""Help of `--verbose`."""


class CommandParser(argparse.ArgumentParser):
    """A command's parser, whose arguments are declared when it is used.

    Its errors end with a pointer to the help. It refuses options of other commands by name.
    """

    def __init__(
        self,
        path: str = "",
        declare: Declare | None = None,
        groups: Mapping[str, Mapping[str, str]] | None = None,
        **options: ArgparseOption,
    ) -> None:
        """Create a parser as in argparse.

        Args:
            path: the command and its action, such as `train some`; empty for the program.
            declare: adds the arguments when they are first needed.
            groups: commands with one line of help each, under headings of the program's help.
        """
        super().__init__(**{"allow_abbrev": False, **options})
        self.path = path
        self.actions: Mapping[str, CommandParser] = {}
        self.needs: tuple[Need, ...] = ()
        self.presets: Mapping[str, Mapping[str, object]] = {}
        self.usual: tuple[str, ...] = ()
        self._declare = declare
        self._groups = groups or {}

    def declared(self) -> CommandParser:
        """Return this parser with its arguments."""
        declare, self._declare = self._declare, None
        if declare is not None:
            declare(self)
            if not self.actions:
                self._add_shared()
                self.set_defaults(parser=self)
        return self

    def _add_shared(self) -> None:
        """Declare the shared options that the command reads; the others get their defaults."""
        readers = {"", *self.needs, *(n for need in self.needs for n in _IMPLIED.get(need, ()))}
        for shared in options_of(Shared):
            # With defaults for the rest, code that reads options need not check which the command
            # has.
            if shared.reader not in readers and not self._declares(shared):
                self.set_defaults(**{shared.name: shared.default})
        add_options(
            self, Shared, wanted=lambda one: one.reader in readers and not self._declares(one)
        )

    def _declares(self, shared: Option) -> bool:
        """Return whether a command declares its own option with the name of a shared one."""
        return shared.flags[0] in self._option_string_actions

    def parse_known_args(  # type: ignore[override]  # argparse's has overloads
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Parse like argparse, after refusing options of other commands."""
        words = list(sys.argv[1:] if args is None else args)
        self.declared()
        if self.actions:
            self._refuse_unknown(words)
        elif not {"-h", "--help"} & set(words):
            self._refuse_foreign(words)
        parsed: tuple[Namespace, list[str]] = super().parse_known_args(words, namespace)
        # Parsed again with the values of the chosen recipe as defaults.
        if self.presets and (recipe := parsed[0].recipe or self._usual_recipe(parsed[0])):
            # As defaults, a recipe's values are overridden by options on the command line.
            self.set_defaults(**self.presets[recipe], recipe=recipe)
            parsed = super().parse_known_args(words)
        self._refuse_expanded(words, *parsed)
        return parsed

    def _usual_recipe(self, parsed: Namespace) -> str:
        """Return the recipe that is used if the user neither names one nor chooses a model."""
        recipe, *choices = self.usual or ("",)
        chosen = any(getattr(parsed, name) != self.get_default(name) for name in choices)
        return "" if chosen else recipe

    def _get_value(self, action: argparse.Action, text: str) -> object:
        """Return a value; that of an option of settings is read as in Python."""
        if (option := getattr(action, "option", None)) is None:
            return super()._get_value(action, text)
        with self.errors_as_typed():
            return option.read(text)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        # Options of settings have been checked when they were read.
        if not hasattr(action, "option"):
            super()._check_value(action, value)

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        """End with status 2 if the first word is neither an option nor an action."""
        first = next((word for word in words if not word.startswith("-")), None)
        if first is None or first in self.actions:
            return
        kind = "action" if self.path else "command"
        self.error(f"unknown {kind} {first!r}: {nearest(first, self.actions)}")

    def _refuse_foreign(self, words: Sequence[str]) -> None:
        """Refuse an option of other commands, before other errors.

        Other words that begin with a dash may be values.

        Raises:
            OptionError: names the commands that read it.
        """
        for word in words:
            flag = word.partition("=")[0]
            if word == "--":
                return
            if flag in ("-r", "--reference") and "--references" in self._option_string_actions:
                continue  # a benchmark's references have another option, which `main` names
            if flag.startswith("-") and flag not in self._option_string_actions:
                readers = self.readers_of(flag)
                if readers:
                    theirs = listed([f"`{reader}`" for reader in readers])
                    raise OptionError(
                        f"{flag} is an option of {theirs}: `{self.path}` does not read it"
                    )

    def _refuse_expanded(
        self, words: Sequence[str], parsed: Namespace, unknown: Sequence[str]
    ) -> None:
        """Refuse files after the one of `-r` that look like further references.

        The shell makes `-r refs/a.txt refs/b.txt SOURCE HYP` of `-r refs/*.txt SOURCE HYP`, where a
        reference would be the source.

        Raises:
            OptionError: names the files, and how each is given.
        """
        flags = self._option_string_actions.get("-r", self._actions[0]).option_strings
        given = (getattr(parsed, a.dest, None) for a in self._actions if not a.option_strings)
        parts = (one if isinstance(one, list) else [one] for one in given if one is not None)
        plain = [*itertools.chain(*parts, unknown)]
        for at in [at for at, word in enumerate(words) if word in flags and "-r" in flags]:
            files = [*itertools.takewhile(lambda word: word[:1] != "-", words[at + 1 :])]
            for stop in range(len(files), 1, -1):
                # A source and an output are necessary besides.
                rest = plain[stop - 1 : -1] if plain[: stop - 1] == files[1:stop] else []
                named = any(Path(file).stem in ("source", "src", "original") for file in rest)
                if _alike(files[:stop]) or (
                    not any(map(_like_source, files[1:stop]))
                    and (named or (len(plain) > stop and _expanded(files[:stop])))
                ):
                    raise OptionError(
                        f"-r {files[0]}: the files after it look like further references; give "
                        f"each its own -r ({' '.join(f'-r {file}' for file in files[:stop]):.300})"
                        ", or name source and outputs first"
                    )

    def readers_of(self, flag: str) -> list[str]:
        """Return the commands that read an option; actions of this command alone if any do."""
        from gecjury.cli import command_parser

        paths = [parser.path for parser in leaves(command_parser()) if parser.reads(flag)]
        command = self.path.partition(" ")[0]
        # Another action of the same command is more likely meant than another command.
        beside = [path for path in paths if path.startswith(f"{command} ")]
        return beside or list(dict.fromkeys(path.partition(" ")[0] for path in paths))

    def reads(self, flag: str) -> bool:
        """Return True if the help lists an option."""
        action = self.declared()._option_string_actions.get(flag)
        return action is not None and action.help is not argparse.SUPPRESS

    def as_typed(self, message: str) -> str:
        """Return a message with settings as they are typed.

        `limit=5` becomes --limit 5; `limit=` and `limit=True` become --limit. A name without the
        sign of equality may be that of a metric or a column, and stays as it is; so does a setting
        that the command does not have.
        """
        options = {action.dest: action for action in self._actions if action.option_strings}
        options |= {a.option.keyword: a for a in options.values() if hasattr(a, "option")}

        def typed(setting: re.Match[str]) -> str:
            name, value = setting.groups()
            # Files with references have an option of their own, beside that of a benchmark's sets.
            if (name, value) == ("references", "FILE") and "-r" in self._option_string_actions:
                return "-r FILE"
            if (action := options.get(name)) is None:
                return setting[0]
            if value in map(str, getattr(getattr(action, "option", None), "choices", ())):
                value = value.replace("_", "-")
            return f"{action.option_strings[-1]} {'' if value == 'True' else value}".rstrip()

        return re.sub("`([a-z][a-z0-9_]*)=([^`\n]*)`", typed, message)

    @contextlib.contextmanager
    def errors_as_typed(self) -> Iterator[None]:
        """Name options in the errors of a block as they are typed."""
        try:
            yield
        except GecjuryError as error:
            error.args = (self.as_typed(str(error)),)
            raise

    def format_help(self) -> str:
        """Return argparse's help, with all arguments declared."""
        self.declared()
        if not self._groups:
            return super().format_help()
        lines = [super().format_usage(), textwrap.fill(self.description or "", 80), ""]
        for heading, commands in self._groups.items():
            lines.append(f"{heading}:")
            lines += [f"  {name:<15} {line}" for name, line in commands.items()]
            lines.append("")
        lines += ["options:", "  -h, --help      show this help message and exit"]
        lines += ["  --version       show the version and exit", "", self.epilog or ""]
        return "\n".join(lines) + "\n"

    def error(self, message: str) -> NoReturn:
        """Print the error and a pointer to the help in one line, and exit with status 2."""
        # A user who forgot the metric may not know the name of any.
        message = message.replace("-m/--metric", "-m/--metric (for example -m errant)")
        # argparse takes `--scale -5:5` for two options.
        message = re.sub(
            r"(--[\w-]+): expected one argument",
            r"\g<0> (write \1=VALUE if it begins with -)",
            message,
        )
        # The message quotes the command line, including line breaks.
        tell(f"{self.prog}: {visible(message)}; see `{self.prog} --help`")
        self.exit(2)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own method ignores failures to write the help.
        if file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


def _alike(files: Sequence[str]) -> bool:
    """Return True if names differ in their numbers only."""
    return len({re.sub("[0-9]+", "", file) for file in files}) == 1 < len(set(files))


def _like_source(file: str) -> bool:
    return bool(re.search("s(ou?)?rc|orig|input|incorrect|learner|raw", Path(file).name, re.I))


def _expanded(files: Sequence[str]) -> bool:
    """Return True if a pattern gives exactly these files."""
    start = os.path.commonprefix(files)  # noqa: RUF071  # patterns are of characters
    ends = [file[len(start) :][::-1] for file in files]
    end = os.path.commonprefix(ends)[::-1]  # noqa: RUF071
    matches = glob.glob(f"{glob.escape(start)}*{glob.escape(end)}")  # noqa: PTH207  # as in a shell
    return set(matches) == set(files)


Declare = Callable[[CommandParser], None]
"""Adds a command's arguments to its parser."""


def declares(*settings: type, needs: tuple[Need, ...] = ()) -> Declare:
    """Return a function that declares a command's arguments from settings classes.

    Args:
        *settings: dataclasses; see `gecjury.cli.options.add_options`.
        needs: which shared options it reads.
    """

    def declare(parser: CommandParser) -> None:
        parser.needs = needs
        add_options(parser, *settings)

    return declare


def add_actions(
    parser: CommandParser,
    actions: Mapping[str, tuple[str, Declare]],
    dest: str = "action",
    metavar: str = "ACTION",
) -> None:
    """Give a command actions, each with its own arguments and help.

    Args:
        actions: by name, a line of help, and a function that adds the arguments to the parser.
        dest: attribute for the action's name.
        metavar: name for an action in the help.
    """
    commands = parser.add_subparsers(dest=dest, metavar=metavar, required=True)
    parser.actions = {
        name: commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            path=f"{parser.path} {name}".strip(),
            declare=declare,
        )
        for name, (summary, declare) in actions.items()
    }


def leaves(parser: CommandParser) -> Iterator[CommandParser]:
    """Yield the parsers of commands, or of their actions, with arguments declared."""
    below = parser.declared().actions.values()
    for action in below:
        yield from leaves(action)
    if not below:
        yield parser

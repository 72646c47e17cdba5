"""Parsers of commands: what a command declares when it is wanted, and the options that many share.

A command with actions (`train`, `m2`, ...) has a parser an action. An option stands in the help of
the commands that read it and of no other; those say which commands do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from gecjury.cli.inputs import decimal, two_prices, up_to, whole
from gecjury.cli.streams import tell
from gecjury.errors import OptionError, nearest
from gecjury.report.tables import FORMATS
from gecjury.wording import listed, visible

DRY_RUNS = ("score", "rank", "diff", "pick", "power", "compare", "demo", "attack", "maege")
"""Commands that count what judges would be asked, and stop."""

# Commands that score with any metric, judges and juries among them.
_ANY_METRIC = (
    *("score", "rank", "diff", "compare", "maege", "attack", "explain"),
    *("analyse scatter", "analyse cost"),
    *("train jury", "tune", "demo"),
    *("pick", "power", "annotate"),
)
_MODELS = (
    *_ANY_METRIC,
    "serve",
    *("analyse norms", "analyse map", "analyse lambda", "analyse layers", "analyse solver"),
    *("train some", "train impara", "train detector", "train weights"),
)
_EDITS = (*_MODELS, "edits", "analyse edits", "m2 retype", "m2 reextract")
_DATA = (
    *("compare", "maege", "attack", "analyse", "train", "tune", "data list", "data fetch"),
    *("data verify", "data path"),
    *("pick", "power"),
)
_TEXTS = (
    *("score", "rank", "diff", "compare", "explain", "edits", "pick", "power", "attack", "maege"),
    *("tune", "train jury", "analyse", "annotate", "serve"),
)
_TRAINED = ("train some", "train impara", "train detector")
_CACHES = (*_EDITS, "data list", "data fetch", "data verify", "data path", "judgments")


@dataclass(frozen=True)
class _Shared:
    """An option that several commands read.

    Attributes:
        flag: as typed.
        readers: commands, or commands with an action; empty for every command.
        keywords: as `add_argument` takes them.
        group: under which help lists it.
    """

    flag: str
    readers: tuple[str, ...]
    keywords: Mapping[str, Any]
    group: str = "global options (none of them changes a score)"

    def read_by(self, path: str) -> bool:
        """Whether a command (with its action) reads it."""
        return not self.readers or path in self.readers or path.partition(" ")[0] in self.readers


_LANGUAGE = "language of the texts (by default what a benchmark tells, or English)"

_SHARED = (
    _Shared(
        "--lang",
        (*_TEXTS, *_TRAINED),
        {"metavar": "CODE", "help": "ISO code: sv, ja, uk, cs, ...; `und` is any other"},
        _LANGUAGE,
    ),
    _Shared(
        "--tokens",
        _TEXTS,
        {
            "metavar": "HOW",
            "help": "space, char, intl, ja, ja-sudachi, zh or spacy:NAME (default: the language's; "
            "English: space)",
        },
        _LANGUAGE,
    ),
    _Shared(
        "--fold",
        (*_TEXTS, *_TRAINED),
        {
            "choices": ("none", "nfc", "nfkc"),
            "help": "Unicode normalisation (default: nfc; English: none)",
        },
        _LANGUAGE,
    ),
    _Shared(
        "--tagger",
        _TEXTS,
        {
            "metavar": "NAME",
            "help": "behind edits: embedded (English alone, and its default), none (the default "
            "of other languages), or spacy:NAME",
        },
        _LANGUAGE,
    ),
    _Shared(
        "--format",
        (),
        {
            "choices": FORMATS,
            "default": "table",
            "help": "how results are printed (default: table)",
        },
    ),
    _Shared("--data", _DATA, {"metavar": "DIR", "help": "folder with benchmark data"}),
    _Shared("--device", _MODELS, {"default": "auto", "help": "auto, cpu, cuda, cuda:N or mps"}),
    _Shared(
        "--batch-size",
        _MODELS,
        {
            "type": up_to(1_000_000),
            "default": 64,
            "metavar": "N",
            "help": "texts a model reads at once",
        },
    ),
    _Shared(
        "--workers",
        _EDITS,
        {"type": up_to(1_024), "default": 1, "metavar": "N", "help": "processes"},
    ),
    _Shared(
        "--concurrency",
        _ANY_METRIC,
        {"type": up_to(10_000), "default": 32, "metavar": "N", "help": "requests at once"},
    ),
    _Shared("--cache", _CACHES, {"metavar": "DIR", "help": "cache folder (default: the user's)"}),
    _Shared("--no-cache", _EDITS, {"action": "store_true", "help": "read and write no disk cache"}),
    _Shared(
        "--dry-run",
        DRY_RUNS,
        {"action": "store_true", "help": "judges: count requests and cost, send nothing"},
    ),
    _Shared(
        "--max-cost",
        _ANY_METRIC,
        {"type": float, "metavar": "X", "help": "judges: stop before this cost"},
    ),
    _Shared("--prices", _ANY_METRIC, {"metavar": "FILE", "help": "judges: another price table"}),
    _Shared(
        "--price",
        _ANY_METRIC,
        {
            "type": two_prices,
            "metavar": "IN,OUT",
            "help": "judges: the model's price per million tokens read and written (USD)",
        },
    ),
    _Shared(
        "--batch",
        _ANY_METRIC,
        {
            "action": "store_true",
            "help": "judges: ask by batches (half the price, up to a day)",
        },
    ),
    _Shared(
        "--api-key-env",
        _ANY_METRIC,
        {
            "metavar": "VAR",
            "help": "judges: the variable with the key for servers that are not OpenAI's, which "
            "get none otherwise",
        },
    ),
    _Shared(
        "--base-url",
        _ANY_METRIC,
        {"metavar": "URL", "help": "judges that name no server, a jury's too: the server"},
    ),
    _Shared(
        "--allow-judges",
        _ANY_METRIC,
        {
            "action": "store_true",
            "help": "juries: use members that ask a server or fetch a model",
        },
    ),
    _Shared("--quiet", (), {"action": "store_true", "help": "no progress bars"}),
)


class CommandParser(argparse.ArgumentParser):
    """A command's parser: its arguments are declared once it is used.

    It says at the end of an error where help is, reads numbers within bounds, and refuses options
    of other commands by name.
    """

    def __init__(
        self, *args: Any, path: str = "", declare: Declare | None = None, **options: Any
    ) -> None:
        """As argparse's; its `int` and `float` are `whole` and `decimal`.

        Args:
            *args: argparse's.
            path: the command with its action, as typed: `train some`; empty for the program.
            declare: adds the arguments, when they are first needed.
            **options: argparse's.
        """
        super().__init__(*args, **options)
        self.register("type", int, whole)
        self.register("type", float, decimal)
        self.path = path
        self.actions: Mapping[str, CommandParser] = {}
        self.beside: Mapping[str, CommandParser] = {}
        self.presets: Mapping[str, Mapping[str, object]] = {}
        self._declare = declare

    def declared(self) -> CommandParser:
        """This parser with its arguments."""
        declare, self._declare = self._declare, None
        if declare is not None:
            declare(self)
            if not self.actions:
                self._add_shared()
                self._tell_defaults()
                self.set_defaults(parser=self)
        return self

    def _add_shared(self) -> None:
        """Declare what the command shares with others; the rest has its default."""
        groups: dict[str, Any] = {}
        for option in _SHARED:
            if option.read_by(self.path):
                if option.group not in groups:
                    groups[option.group] = self.add_argument_group(option.group)
                groups[option.group].add_argument(option.flag, **option.keywords)
            elif option.flag not in self._option_string_actions:
                flag = option.keywords.get("action") == "store_true"
                value = False if flag else option.keywords.get("default")
                self.set_defaults(**{option.flag.strip("-").replace("-", "_"): value})

    def _tell_defaults(self) -> None:
        """Say the default of every option that takes a value, where its help does not."""
        for action in self._actions:
            value = action.default
            if isinstance(value, list):
                value = " ".join(map(str, value))
            if isinstance(value, bool) or value in (None, "", argparse.SUPPRESS):
                continue
            if action.help is argparse.SUPPRESS or not action.option_strings:
                continue
            if "default" not in (action.help or ""):
                words = f"default: {value}".replace("%", "%%")
                action.help = f"{action.help} ({words})" if action.help else words

    def parse_known_args(  # type: ignore[override]  # argparse's has overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As argparse's, of a command line whose options are the command's own."""
        words = list(sys.argv[1:] if args is None else args)
        self.declared()
        if self.actions:
            words = self._action_first(words)
        elif not {"-h", "--help"} & set(words):
            self._refuse_foreign(words)
        found: tuple[Any, list[str]] = super().parse_known_args(words, namespace)
        if self.presets and found[0].recipe:
            # As defaults, a recipe's values give way to options that were typed.
            self.set_defaults(**self.presets[found[0].recipe])
            found = super().parse_known_args(words)
        return found

    def _action_first(self, words: list[str]) -> list[str]:
        """The words with the action in front, whatever options were typed before it.

        Errors:
            ends with status 2 where the first word is no action.
        """
        if self.path and words and words[0].startswith("-") and words[0] not in ("-h", "--help"):
            places = [place for place, word in enumerate(words) if word in self.actions]
            # After an option that word may be its value.
            sure = [place for place in places if not words[place - 1].startswith("-")]
            if places:
                place = (sure or places)[0]
                return [words[place], *words[:place], *words[place + 1 :]]
        first = next((word for word in words if not word.startswith("-")), None)
        if first is not None and first not in self.actions and (not self.path or first == words[0]):
            kind = "action" if self.path else "command"
            self.error(f"unknown {kind} {first!r}: {nearest(first, self.actions)}")
        return words

    def _refuse_foreign(self, words: Iterable[str]) -> None:
        """Refuse options that other commands read.

        Raises:
            OptionError: says which do.
        """
        for word in words:
            flag = word.partition("=")[0]
            if word == "--":
                return
            if not flag.startswith("-") or flag in self._option_string_actions:
                continue
            if flag == "--dry-run":
                raise OptionError(
                    f"--dry-run: `gecjury {self.path.partition(' ')[0]}` has none, and would do "
                    f"its work; {', '.join(DRY_RUNS)} count what judges would be asked"
                )
            readers = readers_of(flag, self.path) or [
                other.path for other in self.beside.values() if other.reads(flag)
            ]
            if readers:
                theirs = listed([f"`{reader}`" for reader in readers])
                raise OptionError(
                    f"{flag} is an option of {theirs}: `{self.path}` does not read it"
                )

    def reads(self, flag: str) -> bool:
        """Whether an option is among those that the help tells of."""
        found = self.declared()._option_string_actions.get(flag)
        return found is not None and found.help is not argparse.SUPPRESS

    def format_help(self) -> str:
        """As argparse's, of all that is declared."""
        self.declared()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the error and where help is, and end with status 2."""
        # The message quotes what was typed, line breaks and all.
        tell(f"{self.prog}: {visible(message)}")
        tell(f"see `{self.prog} --help`")
        self.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own takes no notice of help that could not be written.
        if file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


Declare = Callable[[CommandParser], None]
"""Adds a command's arguments to its parser."""


def add_actions(
    parser: CommandParser, dest: str, metavar: str, actions: Mapping[str, tuple[str, Declare]]
) -> None:
    """Give a command actions with arguments and help of their own.

    Args:
        parser: of the command.
        dest: attribute that holds the action's name.
        metavar: what help calls an action.
        actions: by name a line for help, and what declares its arguments.
    """
    commands = parser.add_subparsers(dest=dest, metavar=metavar, required=True)
    found = {
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
    parser.actions = found
    if parser.path:
        for each in found.values():
            each.beside = found


def leaves(parser: CommandParser) -> Iterator[CommandParser]:
    """The parsers that read options, with their arguments: of commands, or of their actions."""
    below = parser.declared().actions.values()
    for each in below:
        yield from leaves(each)
    if not below:
        yield parser


def readers_of(flag: str, path: str = "") -> list[str]:
    """The commands that read a shared option; none where it is none.

    Args:
        flag: as typed, `--device`.
        path: a command with its action; of its own command the actions are told one by one.
    """
    own = path.partition(" ")[0]
    found = [
        reader if reader.partition(" ")[0] == own else reader.partition(" ")[0]
        for option in _SHARED
        if option.flag == flag
        for reader in option.readers
    ]
    return list(dict.fromkeys(found))

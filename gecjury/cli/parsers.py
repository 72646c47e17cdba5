"""Parsers of commands: what a command declares when it is wanted, and the options that many share.

A command with actions (`train`, `m2`, ...) has a parser an action. An option stands in the help of
the commands that read it and of no other; those say which commands do.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from gecjury.cli.numbers import decimal, two_prices, up_to, whole
from gecjury.cli.streams import tell
from gecjury.errors import OptionError, nearest
from gecjury.report.tables import FORMATS
from gecjury.wording import listed, visible

if TYPE_CHECKING:
    from gecjury.studies.study import Need

_IMPLIED: Mapping[Need, tuple[Need, ...]] = {
    "texts": ("language",),
    "data": ("cache",),
    "edits": ("cache",),
    "models": ("edits", "cache"),
    "judges": ("models", "edits", "cache"),
}


@dataclass(frozen=True)
class _Shared:
    """An option that several commands read.

    Attributes:
        flag: as typed.
        need: which commands read it; None for every command.
        keywords: as `add_argument` takes them.
    """

    flag: str
    need: Need | None
    keywords: Mapping[str, Any]

    @property
    def group(self) -> str:
        """The heading of the help under which it stands."""
        if self.need in ("language", "texts"):
            return "language of the texts (by default what a benchmark tells, or English)"
        return "global options (none of them changes a score)"


def _shared(flag: str, need: Need | None, meaning: str, **keywords: Any) -> _Shared:
    return _Shared(flag, need, {"help": meaning, **keywords})


_SHARED = (
    _shared("--lang", "language", "ISO code: sv, ja, uk, cs, ...; `und` is any other",
            metavar="CODE"),
    _shared("--tokens", "texts", "space, char, intl, ja, ja-sudachi, zh or spacy:NAME (default: "
            "the language's; English: space)", metavar="HOW"),
    _shared("--fold", "language", "Unicode normalisation (default: nfc; English: none)",
            choices=("none", "nfc", "nfkc")),
    _shared("--tagger", "texts", "behind edits: embedded (English alone, and its default), none "
            "(the default of other languages), or spacy:NAME", metavar="NAME"),
    _shared("--format", None, "how results are printed (default: table)", choices=FORMATS,
            default="table"),
    _shared("--data", "data", "folder with benchmark data", metavar="DIR"),
    _shared("--device", "models", "auto, cpu, cuda, cuda:N or mps", default="auto"),
    _shared("--batch-size", "models", "texts a model reads at once", type=up_to(1_000_000),
            default=64, metavar="N"),
    _shared("--workers", "edits", "processes", type=up_to(1_024), default=1, metavar="N"),
    _shared("--concurrency", "judges", "requests at once", type=up_to(10_000), default=32,
            metavar="N"),
    _shared("--cache", "cache", "cache folder (default: the user's)", metavar="DIR"),
    _shared("--no-cache", "edits", "read and write no disk cache", action="store_true"),
    _shared("--dry-run", "plans", "judges: count requests and cost, send nothing",
            action="store_true"),
    _shared("--max-cost", "judges", "judges: stop before this cost", type=float, metavar="X"),
    _shared("--prices", "judges", "judges: another price table", metavar="FILE"),
    _shared("--price", "judges", "judges: the model's price per million tokens read and written "
            "(USD)", type=two_prices, metavar="IN,OUT"),
    _shared("--batch", "judges", "judges: ask by batches (half the price, up to a day)",
            action="store_true"),
    _shared("--api-key-env", "judges", "judges: the variable with the key for servers that are not "
            "OpenAI's, which get none otherwise", metavar="VAR"),
    _shared("--base-url", "judges", "judges that name no server, a jury's too: the server",
            metavar="URL"),
    _shared("--allow-judges", "judges", "juries: use members that ask a server or fetch a model",
            action="store_true"),
    _shared("--quiet", None, "no progress bars", action="store_true"),
)  # fmt: skip


class CommandParser(argparse.ArgumentParser):
    """A command's parser: its arguments are declared once it is used.

    It says at the end of an error where help is, reads numbers within bounds, and refuses options
    of other commands by name.
    """

    def __init__(
        self,
        *args: Any,
        path: str = "",
        declare: Declare | None = None,
        groups: Mapping[str, Mapping[str, str]] | None = None,
        **options: Any,
    ) -> None:
        """As argparse's; its `int` and `float` are `whole` and `decimal`.

        Args:
            *args: argparse's.
            path: the command with its action, as typed: `train some`; empty for the program.
            declare: adds the arguments, when they are first needed.
            groups: commands with a line each, under headings of the program's help.
            **options: argparse's.
        """
        super().__init__(*args, **{"allow_abbrev": False, **options})
        self.register("type", int, whole)
        self.register("type", float, decimal)
        self.path = path
        self.actions: Mapping[str, CommandParser] = {}
        self.needs: tuple[Need, ...] = ()
        self.above: CommandParser | None = None
        self.presets: Mapping[str, Mapping[str, object]] = {}
        self._declare = declare
        self._groups = groups or {}

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
        needs = {*self.needs, *(more for need in self.needs for more in _IMPLIED.get(need, ()))}
        for option in _SHARED:
            if option.need is None or option.need in needs:
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

    def _refuse_foreign(self, words: Sequence[str]) -> None:
        """Refuse an option that other commands read, before anything else is missed.

        Other words that begin with a dash may be values.

        Raises:
            OptionError: names the commands that read it.
        """
        for word in words:
            flag = word.partition("=")[0]
            if word == "--":
                return
            if flag in ("-r", "--reference") and "--references" in self._option_string_actions:
                continue  # a benchmark's references have another name, which `main` tells
            if flag.startswith("-") and flag not in self._option_string_actions:
                readers = self.readers_of(flag)
                if readers:
                    theirs = listed([f"`{reader}`" for reader in readers])
                    raise OptionError(
                        f"{flag} is an option of {theirs}: `{self.path}` does not read it"
                    )

    def readers_of(self, flag: str) -> list[str]:
        """Return the commands that read an option; other actions of this command alone, if any do.

        Args:
            flag: as typed, such as `--device`.
        """
        program = self
        while program.above is not None:
            program = program.above
        paths = [parser.path for parser in leaves(program) if parser.reads(flag)]
        own = self.path.partition(" ")[0]
        beside = [path for path in paths if path.startswith(f"{own} ")]
        return beside or list(dict.fromkeys(path.partition(" ")[0] for path in paths))

    def reads(self, flag: str) -> bool:
        """Return True if an option is among those that the help tells of."""
        found = self.declared()._option_string_actions.get(flag)
        return found is not None and found.help is not argparse.SUPPRESS

    def format_help(self) -> str:
        """As argparse's, of all that is declared."""
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
    for action in found.values():
        action.above = parser


def leaves(parser: CommandParser) -> Iterator[CommandParser]:
    """The parsers that read options, with their arguments: of commands, or of their actions."""
    below = parser.declared().actions.values()
    for each in below:
        yield from leaves(each)
    if not below:
        yield parser

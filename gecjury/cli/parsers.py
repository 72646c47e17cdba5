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
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from gecjury.cli.numbers import decimal, whole
from gecjury.cli.options import add_options
from gecjury.cli.streams import tell
from gecjury.errors import OptionError, nearest
from gecjury.settings import check, option, options_of
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


_TEXTS = "language of the texts (by default what a benchmark tells, or English)"
_GLOBAL = "global options (none of them changes a score)"


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Options that several commands read: those with the needs that stand as `reader`, or all.

    Attributes:
        lang: ISO code: sv, ja, uk, cs, ...; `und` is any other.
        tokens: space, char, intl, ja, ja-sudachi, jieba, zh or spacy:NAME (default: the language's;
            English: space).
        fold: Unicode normalisation (default: nfc; English: none).
        tagger: behind edits: embedded (English alone, and its default), cherrant (Chinese alone,
            and its default), none (the default of other languages), or spacy:NAME.
        format: how results are printed.
        data: folder with benchmark data.
        device: auto, cpu, cuda, cuda:N or mps.
        batch_size: texts a model reads at once.
        workers: processes.
        concurrency: requests at once.
        cache: cache folder (default: the user's).
        no_cache: read and write no disk cache.
        dry_run: judges: count requests and cost, send nothing.
        max_cost: judges: stop before this cost.
        prices: judges: another price table.
        price: judges: the model's price per million tokens read and written (USD).
        batch: judges: ask by batches (half the price, up to a day).
        api_key_env: judges: the variable with the key for servers that are not OpenAI's, which get
            none otherwise.
        base_url: judges that name no server, a jury's too: the server.
        allow_judges: juries: use members that ask a server or fetch a model.
        quiet: no progress bars.
    """

    lang: str | None = option(None, metavar="CODE", reader="language", heading=_TEXTS)
    tokens: str | None = option(None, metavar="HOW", reader="texts")
    fold: Literal["none", "nfc", "nfkc"] | None = option(None, reader="language")
    tagger: str | None = option(None, metavar="NAME", reader="texts")
    format: Literal["table", "json", "tsv", "markdown", "latex"] = option("table", heading=_GLOBAL)
    data: str | None = option(None, metavar="DIR", reader="data")
    device: str = option("auto", reader="models")
    batch_size: int = option(64, metavar="N", least=1, most=1_000_000, reader="models")
    workers: int = option(1, metavar="N", least=1, most=1_024, reader="edits")
    concurrency: int = option(32, metavar="N", least=1, most=10_000, reader="judges")
    cache: str | None = option(None, metavar="DIR", reader="cache")
    no_cache: bool = option(False, reader="edits")
    dry_run: bool = option(False, reader="plans")
    max_cost: float | None = option(None, metavar="X", reader="judges")
    prices: str | None = option(None, metavar="FILE", reader="judges")
    price: str | None = option(None, metavar="IN,OUT", reader="judges")
    batch: bool = option(False, reader="judges")
    api_key_env: str | None = option(None, metavar="VAR", reader="judges")
    base_url: str | None = option(None, metavar="URL", reader="judges")
    allow_judges: bool = option(False, reader="judges")
    quiet: bool = option(False, "-q", "--quiet")

    def __post_init__(self) -> None:
        check(self)


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
        """Declare an argument as argparse does; `int` and `float` mean `whole` and `decimal`.

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
                self.set_defaults(parser=self)
        return self

    def _add_shared(self) -> None:
        """Declare what the command shares with others; the rest has its default."""
        readers = {"", *self.needs, *(n for need in self.needs for n in _IMPLIED.get(need, ()))}
        for shared in options_of(Shared):
            # What reads options need not ask whether the command has them.
            # A command may have an option of its own by the name of one that it does not share.
            if shared.reader not in readers and shared.flags[0] not in self._option_string_actions:
                self.set_defaults(**{shared.name: shared.default})
        add_options(self, Shared, wanted=lambda shared: shared.reader in readers)

    def parse_known_args(  # type: ignore[override]  # argparse's has overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse as argparse does, a command line whose options are the command's own."""
        words = list(sys.argv[1:] if args is None else args)
        self.declared()
        if self.actions:
            words = self._action_first(words)
        elif not {"-h", "--help"} & set(words):
            self._refuse_foreign(words)
        parsed: tuple[Any, list[str]] = super().parse_known_args(words, namespace)
        # Parsed once more, now that it is known which recipe's values are the defaults.
        if self.presets and parsed[0].recipe:
            # As defaults, a recipe's values give way to options that were typed.
            self.set_defaults(**self.presets[parsed[0].recipe])
            parsed = super().parse_known_args(words)
        return parsed

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
        from gecjury.cli import command_parser

        paths = [parser.path for parser in leaves(command_parser()) if parser.reads(flag)]
        command = self.path.partition(" ")[0]
        # Another action of the same command is likelier meant than another command.
        beside = [path for path in paths if path.startswith(f"{command} ")]
        return beside or list(dict.fromkeys(path.partition(" ")[0] for path in paths))

    def reads(self, flag: str) -> bool:
        """Return True if an option is among those that the help tells of."""
        action = self.declared()._option_string_actions.get(flag)
        return action is not None and action.help is not argparse.SUPPRESS

    def format_help(self) -> str:
        """Return argparse's help, of all that is declared."""
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
        """Print the error and where help is in one line, and end with status 2."""
        # Whoever misses the metric may not know the name of any.
        message = message.replace("-m/--metric", "-m/--metric (for example -m errant)")
        # The message quotes what was typed, line breaks and all.
        tell(f"{self.prog}: {visible(message)}; see `{self.prog} --help`")
        self.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own takes no notice of help that could not be written.
        if file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)


Declare = Callable[[CommandParser], None]
"""Adds a command's arguments to its parser."""


def declares(*settings: type, needs: tuple[Need, ...] = (), epilog: str | None = None) -> Declare:
    """Return what declares the arguments of a command or action that is all settings.

    Args:
        *settings: dataclasses; see `gecjury.cli.options.add_options`.
        needs: which shared options it reads.
        epilog: ends its help.
    """

    def declare(parser: CommandParser) -> None:
        parser.needs, parser.epilog = needs, epilog
        add_options(parser, *settings)

    return declare


def add_actions(
    parser: CommandParser,
    actions: Mapping[str, tuple[str, Declare]],
    dest: str = "action",
    metavar: str = "ACTION",
) -> None:
    """Give a command actions with arguments and help of their own.

    Args:
        parser: of the command.
        actions: by name a line for help, and what adds the arguments to its parser.
        dest: attribute that holds the action's name.
        metavar: what help calls an action.
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
    """The parsers that read options, with their arguments: of commands, or of their actions."""
    below = parser.declared().actions.values()
    for action in below:
        yield from leaves(action)
    if not below:
        yield parser

"""The command line: finds the command, runs it, and turns errors into exit statuses.

Results go to stdout, everything else to stderr. Exit 0: done. 1: ran, but the work is not complete.
2: wrong use, or unusable input, data or output. 3: a condition of `diff --fail-if` is true. 70: a
fault of the program.
"""

from __future__ import annotations

import argparse
import errno
import gc
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from gecjury.cli import studies
from gecjury.cli.parsers import CommandParser, add_actions
from gecjury.cli.streams import hold_streams, print_data, reader_has_gone, set_aside, tell
from gecjury.core.errors import GecjuryError, family_of, install_hint
from gecjury.core.runtime import __version__
from gecjury.studies import ACTIONS, STUDIES
from gecjury.studies import GROUPS as STUDY_GROUPS

__all__ = ["COMMANDS", "GROUPS", "command_parser", "main"]

_OTHERS: dict[str, dict[str, str]] = {
    "score": {
        "metrics": "list every metric: name, family, what it needs, signature",
    },
    "judge": {
        "annotate": "collect your own judgments on a local web page",
        "judgments": "view, export and import stored replies of LLM judges; print prompts",
    },
    "data": {
        "data": "find, fetch and verify benchmark data",
        "check": "check input files: counts, alignment, tokenisation, identical files",
        "edits": "ERRANT edits between a source and corrections, as M2",
        "m2": "apply, check and convert edits in the M2 format",
    },
    "tools": {
        "serve": "a local web page: score pasted texts",
        "errant-compare": "compare two M2 files, with errant_compare's options and output",
        "cite": "what to cite for metrics and benchmarks, as BibTeX",
    },
}
"""Commands that are no study: modules of this package with `add_arguments(parser)` and
`run(args) -> int`, which are imported only when they are used."""

GROUPS: dict[str, dict[str, str]] = {
    group: {**STUDY_GROUPS.get(group, {}), **_OTHERS.get(group, {})}
    for group in dict.fromkeys([*STUDY_GROUPS, *_OTHERS])
}
"""All commands with one line of help each, in the groups of `gecjury --help`."""

COMMANDS: dict[str, str] = {name: line for group in GROUPS.values() for name, line in group.items()}

_START = """\
Score the output of a system:
  gecjury score source.txt mine.txt -r reference.txt -m errant

Compare metrics with human judgments:
  gecjury compare seeda -m errant -m gleu --html report.html

Train a metric on ratings of corrections:
  gecjury train some ratings.tsv -o my-metric

`gecjury demo` needs no files. `gecjury --help` lists all commands; `gecjury COMMAND --help` shows
the options of one.
"""
"""Text that is printed if no command is given."""

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)
_REFUSED = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP)
"""Errors of the system about a file's name or a folder's permissions."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Commands make many objects and few cycles: with the default, the search for them takes 4%.
    gc.set_threshold(200_000)
    hold_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that stdout's encoding lacks are escaped instead of causing a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(arguments)
    except GecjuryError as error:
        from gecjury.core.addresses import masked

        tell(f"gecjury: {masked(str(error))}")
        return error.exit_status
    except ModuleNotFoundError as error:
        # If one of our packages imported it, an extra is not installed; anything else is a fault.
        extra = _extra_of(error)
        if extra is None:
            return _unforeseen(error)
        tell(
            f"gecjury: {extra} needs the package {error.name}, which is not installed: "
            f"{install_hint(extra)}"
        )
        return 2
    except MemoryError:
        tell("gecjury: out of memory; score fewer files at once")
        return 2
    except BrokenPipeError as error:
        if not reader_has_gone():
            return _unforeseen(error)
        # The reader (head, less) has ended, so nobody would read further output.
        set_aside(sys.stdout)
        return 0
    except KeyboardInterrupt as stop:
        # The message says what is kept; commands that keep nothing have none.
        tell(f"gecjury: interrupted; {str(stop) or 'run the same command again'}")
        return 130
    except OSError as error:
        if error.filename is not None and error.errno in _REFUSED:
            # From checks of a name before it is read; errors while reading say more.
            name = f"{os.fsdecode(error.filename)!r:.60}"
            tell(f"gecjury: {name}: cannot be used ({error.strerror})")
            return 2
        place = "the output"
        if error.filename is not None and error.errno in (errno.ENOSPC, errno.EDQUOT):
            place = os.fsdecode(error.filename)
        elif error.filename is not None or error.errno not in _UNWRITABLE:
            return _unforeseen(error)
        else:
            set_aside(sys.stdout)
        tell(f"gecjury: {place} cannot be written ({error.strerror})")
        return 2
    except Exception as error:
        # torch's class, which is not imported for this; batches have an error of their own.
        if type(error).__name__ == "OutOfMemoryError":
            tell("gecjury: the GPU's memory is too small; free it, or use --device cpu")
            return 2
        return _unforeseen(error)


def _unforeseen(error: Exception) -> int:
    from gecjury.cli.guard import UNFORESEEN, tell_unforeseen

    tell(f"gecjury: {tell_unforeseen(error)}")
    return UNFORESEEN


def _extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra that installs a missing package: that of the family that imported it."""
    if (error.name or "").partition(".")[0] in ("", "gecjury"):
        return None
    frame, family = error.__traceback__, None
    while frame is not None:
        module = str(frame.tb_frame.f_globals.get("__name__"))
        family = family_of(module) or family
        frame = frame.tb_next
    return family


def _run(arguments: Sequence[str]) -> int:
    try:
        if "_ARGCOMPLETE" in os.environ:
            _complete()
        if not arguments:
            print_data(_START)
            sys.stdout.flush()
            return 0
        args, unknown = command_parser().parse_known_args(arguments)
        if unknown:
            args.parser.error(_unknown(unknown[0], args.parser))
        _check(args)
        _complete_metrics(args)
        with args.parser.errors_as_typed():
            status = int(args.run(args))
    except SystemExit as stop:
        sys.stdout.flush()
        frame = stop.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        # The parser ends a command in this way, and code of a user's metric must not.
        if frame is None or frame.tb_frame.f_globals.get("__name__") == "argparse":
            raise
        from gecjury.core.errors import InputError, failure_in

        said = failure_in(frame.tb_frame.f_code.co_filename, stop)
        raise InputError(
            f"the code of a metric ended the command ({said}); remove the exit"
        ) from None
    # Flushed here, where a missing reader can be handled, and not at Python's exit.
    sys.stdout.flush()
    return status


def _complete() -> None:
    """Answer a shell that asks argcomplete how the command line may go on, and end the program."""
    import argcomplete

    from gecjury.benchmarks.table import BENCHMARKS
    from gecjury.scoring.registry import metric_names

    names = {"METRIC": metric_names(), "benchmark": BENCHMARKS, "CORPUS": BENCHMARKS}

    def names_or_files(prefix: str, action: argparse.Action, **_: object) -> Iterable[str]:
        return names.get(str(action.metavar), ()) or argcomplete.FilesCompleter()(prefix)

    program = parser = command_parser().declared()
    # argcomplete looks at parsers before they parse, so the command's arguments are declared here.
    for word in os.environ.get("COMP_LINE", "").split():
        if word in parser.actions:
            parser = parser.actions[word].declared()
    argcomplete.autocomplete(program, default_completer=names_or_files)


def _complete_metrics(args: argparse.Namespace) -> None:
    """Apply the options that affect metrics to the named ones."""
    for name in ("metrics", "metric"):
        value = getattr(args, name, None)
        if not value or not (args.base_url or args.allow_judges):
            continue
        from gecjury.studies.inputs import with_servers

        texts = [value] if isinstance(value, str) else value
        texts = with_servers(texts, args.base_url, args.allow_judges)
        setattr(args, name, texts[0] if isinstance(value, str) else texts)


def _unknown(word: str, parser: argparse.ArgumentParser) -> str:
    """Return a message about a word that the command does not know."""
    if not word.startswith("-"):
        return f"{word!r} is one word too many (repeat an option to give several values: -m A -m B)"
    from gecjury.core.errors import nearest

    flags = [name for action in parser._actions for name in action.option_strings]
    if word in ("-r", "--reference") and "--references" in flags:
        return f"unknown option {word}: name references of a benchmark with --references"
    flag = word.partition("=")[0]
    close = nearest(flag, [name for name in flags if len(name) > 2])
    return f"unknown option {word}" + (f": {close}" if close.startswith("did") else "")


def _check(args: argparse.Namespace) -> None:
    """Refuse values that no command accepts, and options that this one would silently ignore."""
    from gecjury.core.errors import OptionError

    # An empty value is usually an unset shell variable.
    for action in args.parser._actions:
        value = getattr(args, action.dest, None)
        empty = value == "" or (isinstance(value, list) and "" in value)
        if empty and action.option_strings and value != action.default:
            raise OptionError(
                f"{action.option_strings[-1]}: its value is empty (an unset shell variable?); "
                "give a value, or omit the option"
            )
    if args.cache is not None and os.path.isfile(args.cache):  # noqa: PTH113  # pathlib is slow
        raise OptionError(f"--cache {args.cache}: is a file; expected a folder")


def command_parser() -> CommandParser:
    """Return the program's parser, with a subparser for every command."""
    parser = CommandParser(
        prog="gecjury",
        description="Score grammatical error correction with reference-based metrics, trained "
        "reference-free metrics and LLM judges, and compare them with human judgments.",
        epilog="`gecjury COMMAND --help` shows a command's options.",
        groups=GROUPS,
    )
    parser.add_argument("--version", action="version", version=f"gecjury {__version__}")
    commands = {name: (line, _declare) for name, line in COMMANDS.items()}
    add_actions(parser, commands, "command", "COMMAND")
    return parser


def _declare(parser: CommandParser) -> None:
    """Declare the arguments of a command: those of its study or studies, or of its module."""
    if parser.path in STUDIES:
        studies.declare(parser)
        return
    if actions := ACTIONS.get(parser.path):
        kinds = {name: (line, studies.declare) for name, line in actions.items()}
        add_actions(parser, kinds, metavar="KIND")
        return
    module = import_module(f"gecjury.cli.{parser.path.replace('-', '_')}")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)

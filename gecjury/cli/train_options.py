"""Options that several targets of `gecjury train` read, and what those make of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gecjury.cli.options import settings_of
from gecjury.cli.streams import tell
from gecjury.refless.training.recipe import BaseRecipe

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.cli.parsers import CommandParser
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.language import Language
    from gecjury.refless.training.worth import Worth
    from gecjury.report.result import Result, Table

R = TypeVar("R", bound=BaseRecipe)


def add_inputs(parser: CommandParser, help: str, output: str) -> None:
    """Declare what is trained on, and -o.

    Args:
        parser: of the target.
        help: what DATA may be.
        output: what -o names.
    """
    parser.add_argument("inputs", nargs="+", metavar="DATA", help=help)
    parser.add_argument("-o", "--output", metavar="PATH", help=output)


def add_check(group: argparse._ActionsContainer, *, read: bool = True) -> None:
    """Declare --check.

    Args:
        group: what it is added to.
        read: False for targets that check nothing: an empty one, which says so, is no error.
    """
    group.add_argument(
        "--check",
        nargs="*",
        default=["seeda"],
        metavar="BENCHMARK",
        help="warn if training sentences stand in these (default: seeda; none: --check)"
        if read
        else argparse.SUPPRESS,
    )


def data_folder(args: argparse.Namespace) -> DataFolder:
    """Return the folder that data is read from."""
    from gecjury.benchmarks.data_folder import open_data

    return open_data(args.data, cache=args.cache)


def refuse_unread(args: argparse.Namespace, reasons: Mapping[str, str]) -> None:
    """Refuse options that were given and would do nothing.

    Args:
        args: of the target.
        reasons: by attribute why its option is not read beside the others.

    Raises:
        OptionError: names the first such option, and why.
    """
    from gecjury.errors import OptionError

    for name, why in reasons.items():
        if getattr(args, name) != args.parser.get_default(name):
            raise OptionError(f"--{name.replace('_', '-')} would do nothing: {why}")


def recipe_of(recipe: type[R], args: argparse.Namespace) -> R:
    """Return the recipe that the options ask for.

    Args:
        recipe: its class.
        args: of the target.
    """
    if getattr(args, "detection", None) and "detection" not in args.intermediate:
        # Labelled text is learnt from in a step, which nobody has to name.
        args.intermediate = ["detection", *args.intermediate]
    return settings_of(recipe, args)


def training_language(args: argparse.Namespace, languages: Mapping[str, str | None]) -> Language:
    """Return the language of what is trained on.

    It is that of --lang, that of the sets that are known by name, or English.

    Args:
        args: with --lang and --fold.
        languages: by name of an input the code of its language; None for files.

    Raises:
        OptionError: inputs are of several languages, or of another one than --lang says.
    """
    from gecjury.corpus.language import language_of
    from gecjury.errors import OptionError

    named = {name: code for name, code in languages.items() if code is not None}
    chosen = language_of(args.lang, fold=args.fold).code if args.lang else None
    for name, code in named.items():
        if chosen is not None and code != chosen:
            raise OptionError(
                f"--lang {args.lang}: {name} is {language_of(code).name} ({code}); leave out --lang"
            )
    if len(set(named.values())) > 1:
        inputs = ", ".join(f"{name} is {language_of(code).name}" for name, code in named.items())
        raise OptionError(f"{inputs}: one model is trained on one language")
    code = chosen or next(iter(named.values()), "en")
    return language_of(code, fold=args.fold)


def told_of_reading(encoder: str, texts: Sequence[str], language: Language) -> list[str]:
    """Return warnings, also on stderr, where an encoder cannot read texts of another language.

    English texts are not looked at.
    """
    from gecjury.refless.nets.coverage import reading_notes
    from gecjury.refless.nets.regressor import load_tokenizer

    if language.code == "en":
        return []
    notes = reading_notes(load_tokenizer(encoder), texts, encoder)
    for note in notes:
        tell(f"warning: {note}")
    return notes


def tested_corpora(args: argparse.Namespace, names: Iterable[str]) -> Iterator[tuple[str, Corpus]]:
    """Yield benchmarks by name with their texts; stderr tells of those whose data is not here."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.errors import DataError

    for name in names:
        try:
            corpus = load_benchmark(name, systems="all", data=args.data, cache=args.cache).corpus
        except DataError as error:
            tell(f"leakage into {name} was not checked: {error}")
            continue
        yield name, corpus


def warn_of_leaks(args: argparse.Namespace, texts: list[str], what: str) -> list[str]:
    """Return warnings, also on stderr, of sentences that benchmarks share whose data is here."""
    from gecjury.corpus.leakage import corpus_texts, find_leaks, warning

    warnings = []
    absent = dict.fromkeys(args.check)
    for name, corpus in tested_corpora(args, args.check):
        del absent[name]
        line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
        if line:
            warnings.append(line)
            tell(f"warning: {line}")
    unchecked = [f"Leakage into {name} was not checked, for lack of its data" for name in absent]
    return warnings + unchecked


def training_result(
    args: argparse.Namespace,
    tables: Sequence[Table],
    facts: Mapping[str, Any],
    worth: Worth | None,
    model: str,
) -> Result:
    """Return the result of a training, with the table of the held-out pairs and its verdict.

    Args:
        args: of the target.
        tables: one or more.
        facts: what else JSON has.
        worth: None for folders of earlier versions, which do not have it.
        model: the note that names the model, which stands last.
    """
    from gecjury.report.result import Column, Result, Table

    notes = [model]
    if worth is not None:
        if not worth.above_changes and args.encoder == "embedded" and not args.recipe:
            notes.insert(0, "the best measured settings for the packaged encoder: --recipe small")
        notes.insert(0, worth.verdict)
    shown = list(tables)
    if worth is not None and worth.rows:
        title = f"Held-out pairs of corrections of one source, by {worth.judged}"
        columns = [Column("what"), Column("accuracy", "in the right order", interval="interval")]
        shown.append(Table(columns, [vars(row) for row in worth.rows], title))
    shown[-1] = replace(shown[-1], notes=[*shown[-1].notes, *notes])
    return Result(tuple(shown), {**facts, "worth": worth and asdict(worth)}, tuple(notes))

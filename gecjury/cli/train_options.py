"""Options that several targets of `gecjury train` read, and what those make of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gecjury.cli.numbers import MOST_SEED, up_to
from gecjury.cli.streams import tell

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.cli.parsers import CommandParser
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.language import Language
    from gecjury.refless.training.recipe import TrainSettings
    from gecjury.refless.training.worth import Worth
    from gecjury.report.result import Table


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


def add_optimisation(group: argparse._ArgumentGroup) -> None:
    """Declare encoder and optimisation, which regressors and rankers have in common."""
    from gecjury.refless.training.recipe import Recipe, TrainSettings

    usual = TrainSettings()
    group.add_argument(
        "--encoder",
        default=Recipe.encoder,
        help="hub name or folder; `embedded` is the packaged one (default: bert-base-cased)",
    )
    group.add_argument(
        "--max-length",
        type=up_to(1_000_000, least=0),
        default=usual.max_length,
        metavar="N",
        help="in word pieces",
    )
    group.add_argument(
        "--train-batch",
        type=up_to(1_000_000, least=0),
        default=usual.batch_size,
        metavar="N",
        help="examples a step",
    )
    group.add_argument(
        "--accumulation",
        type=up_to(1_000_000, least=0),
        default=usual.accumulation,
        metavar="N",
        help="batches a step",
    )
    group.add_argument("--learning-rate", type=float, default=usual.learning_rate, metavar="X")
    group.add_argument(
        "--epochs",
        type=up_to(1_000_000, least=0),
        default=usual.epochs,
        metavar="N",
        help="at most",
    )
    group.add_argument(
        "--patience",
        type=int,
        default=usual.patience,
        metavar="N",
        help="stop after N epochs without a better dev score; 0: never",
    )
    group.add_argument("--bf16", action="store_true", help="bfloat16 arithmetic")
    group.add_argument(
        "--seeds",
        type=up_to(MOST_SEED, least=0),
        nargs="+",
        default=list(Recipe.seeds),
        metavar="N",
    )
    group.add_argument(
        "--freeze-embeddings", action="store_true", help="leave word embeddings as they are"
    )
    group.add_argument(
        "--freeze-layers",
        type=up_to(10_000, least=0),
        default=usual.frozen_layers,
        metavar="N",
        help="leave the lowest N layers and the embeddings as they are: less memory and time",
    )
    group.add_argument(
        "--layer-decay",
        type=float,
        default=usual.layer_decay,
        metavar="X",
        help="each layer learns at X times the rate of the layer above it",
    )
    group.add_argument(
        "--gradient-checkpointing",
        action="store_true",
        help="compute layers again on the way back: less memory, more time, the same weights",
    )


def data_folder(args: argparse.Namespace) -> DataFolder:
    """Where data is read from."""
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


def settings_from(args: argparse.Namespace) -> TrainSettings:
    """How one model is optimised; only regressors have a choice of losses."""
    from gecjury.refless.training.recipe import TrainSettings

    return TrainSettings(
        max_length=args.max_length,
        batch_size=args.train_batch,
        accumulation=args.accumulation,
        learning_rate=args.learning_rate,
        epochs=args.epochs,
        patience=args.patience,
        seed=args.seeds[0],
        bf16=args.bf16,
        loss=getattr(args, "loss", TrainSettings.loss),
        frozen_layers=args.freeze_layers,
        layer_decay=args.layer_decay,
        recompute=args.gradient_checkpointing,
    )


def training_language(args: argparse.Namespace, told: Mapping[str, str | None]) -> Language:
    """The language of what is trained on: what --lang says, what sets known by name are, English.

    Args:
        args: with --lang and --fold.
        told: by name of an input its language; None for files.

    Raises:
        OptionError: inputs are of several languages, or of another one than --lang says.
    """
    from gecjury.corpus.language import language_of
    from gecjury.errors import OptionError

    known = {name: code for name, code in told.items() if code is not None}
    given = language_of(args.lang, fold=args.fold).code if args.lang else None
    for name, code in known.items():
        if given is not None and code != given:
            raise OptionError(
                f"--lang {args.lang}: {name} is {language_of(code).name} ({code}); leave out --lang"
            )
    if len(set(known.values())) > 1:
        each = ", ".join(f"{name} is {language_of(code).name}" for name, code in known.items())
        raise OptionError(f"{each}: one model is trained on one language")
    code = given or next(iter(known.values()), "en")
    return language_of(code, fold=args.fold)


def told_of_reading(encoder: str, texts: Sequence[str], language: Language) -> list[str]:
    """Warnings, also on stderr, where an encoder was made for other languages than English texts.

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
    """Benchmarks by name with their texts; those whose data is not here are told on stderr."""
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
    """Warn on stderr of sentences shared with benchmarks whose data is here; the warnings."""
    from gecjury.corpus.leakage import corpus_texts, find_leaks, warning

    found = []
    absent = dict.fromkeys(args.check)
    for name, corpus in tested_corpora(args, args.check):
        del absent[name]
        line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
        if line:
            found.append(line)
            tell(f"warning: {line}")
    return found + [f"Leakage into {name} was not checked, for lack of its data" for name in absent]


def with_worth(
    args: argparse.Namespace, tables: list[Table], worth: Worth | None, model: str
) -> list[Table]:
    """Return the tables, then that of the held-out pairs with its verdict.

    Args:
        args: of the target.
        tables: one or more.
        worth: None for folders of earlier versions, which do not have it.
        model: the note that names the model, which stands last.
    """
    from dataclasses import replace

    from gecjury.report.result import Column, Table

    notes = [model]
    if worth is not None:
        if not worth["above_changes"] and args.encoder == "embedded" and not args.recipe:
            notes = ["the best measured settings for the packaged encoder: --recipe small", model]
        notes = [worth["verdict"], *notes]
    if worth is None or not worth["rows"]:
        return [*tables[:-1], replace(tables[-1], notes=[*tables[-1].notes, *notes])]
    title = f"Held-out pairs of corrections of one source, by {worth['judged']}"
    columns = [Column("what"), Column("accuracy", "in the right order", interval="interval")]
    return [*tables, Table(columns, [dict(row) for row in worth["rows"]], title, notes)]

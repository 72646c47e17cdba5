"""The options of `gecjury train`, and what more than one target makes of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

from gecjury.cli.inputs import MOST_SEED, up_to
from gecjury.cli.streams import tell

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.refless.training.recipe import TrainSettings

__all__ = ["add_train_options", "data_folder", "settings_from", "warn_of_leaks"]


def add_train_options(parser: argparse.ArgumentParser) -> None:
    """Declare data, model, improvements beyond the paper, and weights."""
    _add_data(parser)
    _add_model(parser)
    _add_improvements(parser)
    _add_weights(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=COLUMN",
        help="which column is output, source, grammaticality, fluency, meaning (several raters: "
        "COL1,COL2 or several numbers in a cell) or split (train, dev, test); repeat",
    )
    group.add_argument(
        "--scale", default="1:4", metavar="LOW:HIGH", help="lowest and highest rating"
    )
    group.add_argument("--aspects", nargs="+", metavar="ASPECT", help="train only these")
    group.add_argument("--dev", metavar="FILE", help="dev ratings, instead of a drawn split")
    group.add_argument("--test", metavar="FILE", help="test ratings; needs --dev")
    group.add_argument(
        "--split-seed",
        type=up_to(MOST_SEED, least=0),
        default=0,
        help="seed of the split by source",
    )
    group.add_argument(
        "--check",
        nargs="*",
        default=["seeda"],
        metavar="BENCHMARK",
        help="warn if training sentences stand in these (default: seeda; none: --check)",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    from gecjury.refless.training.recipe import Loss, Recipe, TrainSettings

    usual = TrainSettings()

    group = parser.add_argument_group("model and optimisation")
    group.add_argument(
        "--encoder",
        default=Recipe.encoder,
        help="hub name or folder; `embedded` is the packaged one (default: bert-base-cased)",
    )
    group.add_argument(
        "--shared", action="store_true", help="one encoder with all heads instead of a model each"
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
    group.add_argument("--loss", choices=get_args(Loss), default=usual.loss)
    group.add_argument("--bf16", action="store_true", help="bfloat16 arithmetic")
    group.add_argument(
        "--seeds",
        type=up_to(MOST_SEED, least=0),
        nargs="+",
        default=list(Recipe.seeds),
        metavar="N",
    )
    group.add_argument(
        "--grid",
        action="store_true",
        help="the paper's grid: max length 128, 256; batch 8, 16; learning rate 2e-5, 3e-5, 5e-5",
    )


def _add_improvements(parser: argparse.ArgumentParser) -> None:
    from gecjury.refless.training.recipe import Intermediate, Recipe

    usual = Recipe()

    group = parser.add_argument_group("beyond the paper (see docs/training.md for what each gives)")
    group.add_argument(
        "--features", action="store_true", help="add case, spelling and edit features"
    )
    group.add_argument(
        "--kernel",
        action="store_true",
        help="kernel regression on hidden states and features instead of fine-tuning",
    )
    group.add_argument(
        "--within",
        type=float,
        default=usual.within,
        metavar="X",
        help="with --kernel: how much more differences between corrections of one source count",
    )
    group.add_argument(
        "--read-source",
        action="store_true",
        help="with --kernel: grammaticality and fluency read the source (not to compare systems)",
    )
    group.add_argument(
        "--intermediate",
        nargs="+",
        default=[],
        choices=get_args(Intermediate),
        help="steps before the regression, in order",
    )
    group.add_argument(
        "--intermediate-epochs",
        type=up_to(1_000_000, least=0),
        default=usual.intermediate_epochs,
        metavar="N",
    )
    group.add_argument(
        "--intermediate-rate", type=float, default=usual.intermediate_rate, metavar="X"
    )
    group.add_argument(
        "--parallel",
        nargs="+",
        default=["jfleg", "gmeg-dev"],
        metavar="TEXT",
        help="parallel text for detection and ranking (default: jfleg gmeg-dev)",
    )
    group.add_argument(
        "--clean", metavar="FILE", help="clean sentences, or en-ewt, to spoil for detection"
    )
    group.add_argument("--gug", action="store_true", help="GUG as extra grammaticality data")
    group.add_argument(
        "--freeze-embeddings", action="store_true", help="leave word embeddings as they are"
    )
    group.add_argument(
        "--pairs",
        type=up_to(100_000_000, least=0),
        default=4096,
        metavar="N",
        help="impara: pairs to make",
    )


def _add_weights(parser: argparse.ArgumentParser) -> None:
    from gecjury.benchmarks.table import View
    from gecjury.refless.training.recipe import WeightsFor

    group = parser.add_argument_group("weights")
    group.add_argument("--model", metavar="DIR", help="the trained SOME")
    group.add_argument("--level", choices=get_args(WeightsFor), default="sentence")
    group.add_argument("--human", choices=get_args(View))
    group.add_argument("--systems", default="base")
    group.add_argument(
        "--share", type=float, default=1.0, metavar="X", help="search on this share of judgments"
    )
    group.add_argument(
        "--seed", type=up_to(MOST_SEED, least=0), default=0, help="seed of the share drawn"
    )


def data_folder(args: argparse.Namespace) -> DataFolder:
    """Where data is read from."""
    from gecjury.benchmarks.data_folder import open_data

    return open_data(args.data, cache=args.cache)


def settings_from(args: argparse.Namespace) -> TrainSettings:
    """How one model is optimised."""
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
        loss=args.loss,
    )


def warn_of_leaks(args: argparse.Namespace, texts: list[str], what: str) -> list[str]:
    """Warn on stderr of sentences shared with benchmarks whose data is here; the warnings."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.corpus.leakage import corpus_texts, find_leaks, warning
    from gecjury.errors import DataError

    found = []
    for name in args.check:
        try:
            corpus = load_benchmark(name, systems="all", data=args.data, cache=args.cache).corpus
        except DataError as error:
            tell(f"leakage into {name} was not checked: {error}")
            continue
        line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
        if line:
            found.append(line)
            tell(f"warning: {line}")
    return found

"""`gecjury train`: each target handed to the module that reads its options and trains it."""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType

from gecjury.cli.parsers import CommandParser, add_actions

TARGETS = {
    "some": "regressors of grammaticality, fluency and meaning, or of quality, on rated sentences",
    "weights": "weights α, β, γ of a trained SOME, found on a benchmark",
    "impara": "a ranker on parallel text",
    "detector": "an encoder that tells wrong tokens, for SOME and IMPARA to start from",
    "jury": "any metrics combined by a model of human preferences (see docs/jury.md)",
}
"""Each target's module is gecjury.cli.train_TARGET, with `add_options(parser)`, `train(args)`."""

_EPILOG = """\
examples:
  gecjury train some tmu-gfm -o my-some --recipe small
  gecjury train impara jfleg gmeg-dev -o my-impara --recipe small
  gecjury train detector multiged-en -o my-detector --encoder embedded
  gecjury train weights gjg15 --model my-some --share 0.1
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
A run that was killed goes on where it stopped when the same command is given again.
`gecjury train TARGET --help` tells a target's options.
"""


def add_arguments(parser: CommandParser) -> None:
    """Declare the targets."""
    parser.epilog = _EPILOG
    add_actions(parser, "target", "TARGET", TARGETS, _declare)


def _declare(parser: CommandParser) -> None:
    target = parser.path.rpartition(" ")[2]
    parser.needs = ("data", "models", "language")
    if target == "weights":
        parser.needs = ("data", "models")
    elif target == "jury":
        parser.needs = ("data", "judges", "texts")
    _module(parser.path.rpartition(" ")[2]).add_options(parser)


def _module(target: str) -> ModuleType:
    return import_module(f"gecjury.cli.train_{target}")


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    train = _module(args.target).train
    if args.target == "jury":
        return int(train(args))
    from gecjury.scoring.registry import missing_extra

    _check_folder(args)
    try:
        return int(train(args))
    except ModuleNotFoundError as error:
        raise missing_extra("training", "refless", error) from None


def _check_folder(args: argparse.Namespace) -> None:
    """Refuse to train before it is known where the model goes."""
    from pathlib import Path

    from gecjury.errors import OptionError

    if args.target != "weights" and not args.output:
        raise OptionError(f"train {args.target}: name the folder for the model with -o DIR")
    if args.output and Path(args.output).is_file():
        raise OptionError(f"{args.output} is a file; -o names a folder for the model or scores")

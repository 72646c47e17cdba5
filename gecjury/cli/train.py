"""`gecjury train`: each target handed to the module that reads its options and trains it."""

from __future__ import annotations

import argparse
from importlib import import_module

__all__ = ["TARGETS", "add_arguments", "run"]

# Which module of gecjury.cli trains a target, with `train(args)`.
TARGETS = {
    "some": "train_some",
    "weights": "train_weights",
    "impara": "train_impara",
    "jury": "train_jury",
}
# Which targets read the options of a group; those of other groups all may.
_READERS = {
    "data": ("some", "impara"),
    "model and optimisation": ("some", "impara"),
    "beyond the paper": ("some", "impara"),
    "weights": ("weights",),
    "jury": ("jury",),
}
# Options of those groups that another target reads, or that say no to what it never does.
_SHARED = {"jury": ("human", "systems", "seed", "check"), "weights": ("check",)}

_EPILOG = """\
examples:
  gecjury train some tmu-gfm -o my-some --encoder embedded
  gecjury train some ratings.tsv -o my-some --column output=hyp --column source=src \\
      --column grammaticality=g1,g2,g3
  torchrun --nproc_per_node 4 -m gecjury train some tmu-gfm -o my-some
  gecjury train impara jfleg gmeg-dev -o my-impara --encoder embedded
  gecjury train weights gjg15 --model my-some --share 0.1
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
A run that was killed goes on where it stopped when the same command is given again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and their options."""
    from gecjury.cli.train_jury import JURY, add_jury_options
    from gecjury.cli.train_options import add_train_options

    parser.epilog = _EPILOG
    parser.add_argument(
        "target",
        choices=tuple(TARGETS),
        help="some: regressors of grammaticality, fluency, meaning on rated sentences; "
        "impara: a ranker on parallel text; weights: α, β, γ of a trained SOME on a benchmark; "
        f"jury: {JURY}",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="DATA",
        help="some: tmu-gfm, gug, a CSV, TSV or JSON-lines file, or hf:NAME[:SPLIT]; "
        "impara: jfleg, gmeg-dev, an M2 file or SOURCE,REF[,REF...]; weights: a benchmark; "
        "jury: one benchmark or several",
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="folder for the trained model; file for a jury"
    )
    add_train_options(parser)
    add_jury_options(parser)


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    _refuse_foreign_options(args)
    train = import_module(f"gecjury.cli.{TARGETS[args.target]}").train
    if args.target == "jury":
        return int(train(args))
    from gecjury.scoring.registry import missing_extra

    _check_folder(args)
    try:
        return int(train(args))
    except ModuleNotFoundError as error:
        raise missing_extra("training", "refless", error) from None


def _refuse_foreign_options(args: argparse.Namespace) -> None:
    """Refuse options that only another target reads."""
    from gecjury.errors import OptionError

    for group in args.parser._action_groups:
        title = str(group.title).partition(" (")[0]
        readers = _READERS.get(title)
        if readers is None or args.target in readers:
            continue
        for action in group._group_actions:
            shared = action.dest in _SHARED.get(args.target, ())
            if not shared and getattr(args, action.dest) != action.default:
                theirs = " and ".join(f"`train {target}`" for target in readers)
                raise OptionError(
                    f"{action.option_strings[-1]} is an option of {theirs}: `train {args.target}` "
                    "does not read it"
                )


def _check_folder(args: argparse.Namespace) -> None:
    """Refuse to train before it is known where the model goes."""
    from pathlib import Path

    from gecjury.errors import OptionError

    if args.target != "weights" and not args.output:
        raise OptionError(f"train {args.target}: name the folder for the model with -o DIR")
    if args.output and Path(args.output).is_file():
        raise OptionError(f"{args.output} is a file; -o names a folder for the model or scores")

"""`gecjury train`: juries here, metrics of a family handed to the family that trains them."""

from __future__ import annotations

import argparse
from importlib import import_module

__all__ = ["add_arguments", "run"]

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and their options."""
    from gecjury.cli.train_jury import JURY, add_jury_options
    from gecjury.scoring.registry import TRAINING

    import_module(TRAINING).add_arguments(parser, {"jury": JURY})
    add_jury_options(parser)


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    from gecjury.cli.train_jury import train
    from gecjury.scoring.registry import TRAINING

    _check(args)
    if args.target == "jury":
        return train(args)
    return int(import_module(TRAINING).run(args))


def _check(args: argparse.Namespace) -> None:
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

"""`gecjury train`: juries here, metrics of a family handed to the family that trains them."""

from __future__ import annotations

import argparse
from importlib import import_module

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and their options."""
    from gecjury.commands.trainjury import JURY, add_jury_options
    from gecjury.registry import TRAINING

    import_module(TRAINING).add_arguments(parser, {"jury": JURY})
    add_jury_options(parser)


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    from gecjury.commands.trainjury import train
    from gecjury.registry import TRAINING

    if args.target == "jury":
        return train(args)
    return int(import_module(TRAINING).run(args))

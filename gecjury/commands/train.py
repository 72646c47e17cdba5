"""`gecjury train`: handed to the family whose metrics are trained."""

from __future__ import annotations

import argparse
from importlib import import_module

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and their options."""
    from gecjury.registry import TRAINING

    import_module(TRAINING).add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    from gecjury.registry import TRAINING

    return int(import_module(TRAINING).run(args))

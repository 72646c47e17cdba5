"""`gecjury demo`: the main job on the sample that comes with the package."""

from __future__ import annotations

import argparse

from gecjury.commands.compare import add_study_options, compare

__all__ = ["add_arguments", "run"]

METRICS = ["green", "gleu", "errant", "cleme"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        help=f"metrics to try (default: {', '.join(METRICS)})",
    )
    add_study_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare metrics on the embedded sample, which shows the program and proves nothing."""
    return compare(args, "sample", args.metrics or METRICS)

"""`gecjury demo`: the main job on the sample that comes with the package."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from gecjury.cli.compare import add_study_options, compare_metrics
from gecjury.cli.inputs import add_metrics
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import tell
from gecjury.errors import install_hint

_METRICS = ["green", "gleu"]
EDIT_METRICS = ["errant", "cleme"]


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("judges", "plans")
    add_metrics(parser, f"metrics to try (default: {', '.join(_METRICS + EDIT_METRICS)})")
    add_study_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare metrics on the embedded sample, which shows the program and proves nothing."""
    return compare_metrics(args, "sample", args.metrics or _usual())


def _usual() -> list[str]:
    """Metrics that run with what is installed: those over edits need spaCy and errant."""
    if all(find_spec(package) for package in ("errant", "spacy")):
        return _METRICS + EDIT_METRICS
    tell(f"gecjury: {', '.join(EDIT_METRICS)} left out: {install_hint('edits')}")
    return _METRICS

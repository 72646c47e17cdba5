"""Arguments that `score`, `rank` and `check` share, and reading them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.corpus import Corpus
    from gecjury.scorer import Scorer

__all__ = ["add_files", "add_metrics", "load_scorers", "read_files"]


def add_files(parser: argparse.ArgumentParser) -> None:
    """Declare SOURCE, HYP..., -r and --m2."""
    parser.add_argument("source", metavar="SOURCE", help="sentences to correct: text, M2 or JSON")
    parser.add_argument(
        "hypotheses", metavar="HYP", nargs="+", help="system outputs, called by their file names"
    )
    parser.add_argument(
        "-r",
        "--reference",
        dest="references",
        metavar="REF",
        action="append",
        default=[],
        help="a reference: text, or M2 (one reference an annotator); repeat for more",
    )
    parser.add_argument("--m2", metavar="GOLD", help="gold edits in the M2 format")


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Declare -m."""
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        required=True,
        help="`name` or `name:option=value,...`; repeat for more (see `gecjury metrics`)",
    )


def load_scorers(names: list[str]) -> list[Scorer]:
    """Load every metric before any file is read, so that a typing error costs nothing."""
    from gecjury.registry import load

    return [load(name) for name in dict.fromkeys(names)]


def read_files(args: argparse.Namespace) -> Corpus:
    """Read the files that `add_files` declared."""
    from gecjury.corpus import read_corpus

    return read_corpus(args.source, args.hypotheses, args.references, args.m2)

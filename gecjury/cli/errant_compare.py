"""`gecjury errant-compare`: `errant_compare` of the errant package, with its options and output."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

from gecjury.cli.options import add_options, settings_of
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data, tell
from gecjury.compat.errant_compare import CompareOptions
from gecjury.core.settings import REQUIRED, option


@dataclass(frozen=True, kw_only=True)
class ComparedFiles:
    """The files to compare.

    Attributes:
        hyp: M2 file of a system.
        ref: M2 file of the references.
    """

    hyp: str = option(REQUIRED, "-hyp", metavar="HYP")
    ref: str = option(REQUIRED, "-ref", metavar="REF")


def add_arguments(parser: CommandParser) -> None:
    """Declare the options of errant_compare."""
    parser.usage = "%(prog)s [options] -hyp HYP -ref REF"
    add_options(parser, ComparedFiles, CompareOptions)
    # errant_compare accepts one of these flags, each without a value.
    unit = parser.add_mutually_exclusive_group()
    for flag, value, words in (
        ("-dt", "tokens", "detection of tokens"),
        ("-ds", "spans", "detection of spans"),
        ("-cs", "corrections", "correction (the default)"),
        ("-cse", "typed", "correction with its error type"),
    ):
        unit.add_argument(flag, dest="unit", action="store_const", const=value, help=words)


def run(args: argparse.Namespace) -> int:
    """Compare two files and print what `errant_compare` prints."""
    from gecjury.compat.errant_compare import compare_lines
    from gecjury.core.errors import OptionError
    from gecjury.corpus.m2 import read_m2

    if args.format != "table":
        raise OptionError(
            f"--format {args.format}: errant-compare has the output of errant_compare; for other "
            "formats use `gecjury score -m errant:compat=official`"
        )
    options = replace(settings_of(CompareOptions, args), unit=args.unit or "corrections")
    hypothesis, reference = (read_m2(path, overlaps="keep") for path in (args.hyp, args.ref))
    lines = list(compare_lines(hypothesis, reference, options))
    # It compares blocks by position; a shifted file must not go unnoticed.
    for number, (mine, gold) in enumerate(zip(hypothesis, reference, strict=True), 1):
        if mine.source.split() != gold.source.split():
            tell(
                f"gecjury: block {number} has different sources in {args.hyp} and {args.ref}: "
                "edits of different sentences are compared"
            )
            break
    print_data("".join(f"{line}\n" for line in lines))
    return 0

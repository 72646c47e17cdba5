"""`gecjury errant-compare`: `errant_compare` of the errant package, its options and its output."""

from __future__ import annotations

import argparse

from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data, tell


def add_arguments(parser: CommandParser) -> None:
    """Declare the options, which are that program's."""
    parser.usage = "%(prog)s [options] -hyp HYP -ref REF"
    parser.add_argument("-hyp", metavar="HYP", required=True, help="M2 file of a system")
    parser.add_argument("-ref", metavar="REF", required=True, help="M2 file of the references")
    parser.add_argument(
        "-b", "--beta", type=float, default=0.5, metavar="X", help="weight of recall"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show every sentence and pair of annotators"
    )
    unit = parser.add_mutually_exclusive_group()
    for flag, value, words in (
        ("-dt", "tokens", "detection of tokens"),
        ("-ds", "spans", "detection of spans"),
        ("-cs", "corrections", "correction (the default)"),
        ("-cse", "typed", "correction with its error type"),
    ):
        unit.add_argument(flag, dest="unit", action="store_const", const=value, help=words)
    parser.add_argument("-single", action="store_true", help="only edits of single tokens")
    parser.add_argument("-multi", action="store_true", help="only edits of several tokens")
    parser.add_argument(
        "-filt", nargs="+", default=[], metavar="TYPE", help="error types that do not count"
    )
    parser.add_argument(
        "-cat",
        type=int,
        choices=(1, 2, 3),
        help="scores by error type: 1 operations (R), 2 main types (NOUN), 3 all (R:NOUN)",
    )


def run(args: argparse.Namespace) -> int:
    """Compare two files and print what `errant_compare` prints."""
    from gecjury.compat.errant_compare import CompareOptions, compare_lines
    from gecjury.corpus.m2 import read_m2
    from gecjury.errors import OptionError

    if args.format != "table":
        raise OptionError(
            f"--format {args.format}: errant-compare prints as errant_compare does; other formats "
            "are those of `gecjury score -m errant:compat=official`"
        )
    options = CompareOptions(
        args.unit or "corrections",
        args.beta,
        args.verbose,
        args.single,
        args.multi,
        frozenset(args.filt),
        args.cat,
    )
    hypothesis, reference = (read_m2(path, overlaps="keep") for path in (args.hyp, args.ref))
    lines = list(compare_lines(hypothesis, reference, options))
    for number, (mine, gold) in enumerate(zip(hypothesis, reference, strict=True), 1):
        if mine.source.split() != gold.source.split():
            tell(
                f"gecjury: block {number} has other sources in {args.hyp} and {args.ref}: edits of "
                "different sentences are compared"
            )
            break
    print_data("".join(f"{line}\n" for line in lines))
    return 0

"""`gecjury cite`: what to cite for metrics and benchmarks, as BibTeX."""

from __future__ import annotations

import argparse

from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data


def add_arguments(parser: CommandParser) -> None:
    """Declare the names to cite."""
    meaning = "metrics (also with options) and benchmarks; without names: all of them"
    parser.add_argument("names", nargs="*", metavar="METRIC|BENCHMARK", help=meaning)


def run(args: argparse.Namespace) -> int:
    """Print the entries, without duplicates."""
    from gecjury.core.errors import OptionError
    from gecjury.report.citations import CITED, citations
    from gecjury.report.tables import print_json

    if args.format not in ("table", "json"):
        raise OptionError(f"--format {args.format}: entries are printed as BibTeX or as json")
    entries = citations(args.names or CITED)
    if args.format == "json":
        rows = [
            {"key": entry.key, "kind": entry.kind, "cited_for": names, **entry.fields}
            for entry, names in entries
        ]
        print_json({"entries": rows})
    else:
        blocks = [f"% {', '.join(names)}\n{entry}\n" for entry, names in entries]
        print_data("\n".join(blocks))
    return 0

"""`gecjury cite`: what to cite for metrics and benchmarks, as BibTeX."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gecjury.cli.parsers import declares
from gecjury.cli.streams import print_data
from gecjury.core.settings import option


@dataclass(frozen=True, kw_only=True)
class Cited:
    """Names to cite.

    Attributes:
        names: metrics (also with options) and benchmarks; without names: all of them.
    """

    names: tuple[str, ...] = option((), "METRIC|BENCHMARK")


add_arguments = declares(Cited)


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

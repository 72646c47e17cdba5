"""`gecjury metrics`: every metric with its family and needs; a named one with its options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.report.tables import Table

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="only these metrics, with every option: its default, its values, what it does",
    )


def run(args: argparse.Namespace) -> int:
    """List metrics; one whose package is missing is listed with the remedy."""
    from gecjury.report.tables import Column, Table, print_result
    from gecjury.scoring.registry import METRICS

    rows = [_row(name) for name in args.names or METRICS]
    keys = ["name", "family", "needs", "summary"]
    if args.format == "tsv":  # for programs, which want everything in one line
        keys += ["options", "version"]
    notes = ["`gecjury metrics NAME...` tells the options of a metric"]
    tables = [Table([Column(key) for key in keys], rows, notes=notes)]
    if args.names:
        tables = [_option_table(row) for row in rows]
    print_result(tables, rows, args.format)
    return 0


def _row(name: str) -> dict[str, Any]:
    from dataclasses import asdict

    from gecjury.errors import MissingExtraError
    from gecjury.scoring.options import options_of
    from gecjury.scoring.registry import METRICS, load, scorer_class

    try:
        found = scorer_class(name)
        scorer = load(name)
    except MissingExtraError as error:
        return {"name": name, "family": METRICS[name].split(".")[0], "needs": str(error)}
    return {
        "name": name,
        "family": found.family,
        "needs": ", ".join(sorted(found.needs)) or "nothing",
        "options": ",".join(f"{key}={value}" for key, value in scorer.settings().items()),
        "version": found.version,
        "summary": found.summary,
        "explained": [asdict(option) for option in options_of(scorer)],
    }


def _option_table(row: dict[str, Any]) -> Table:
    from gecjury.report.tables import Column, Table

    if "explained" not in row:
        return Table([Column("name"), Column("needs")], [row])
    title = f"{row['name']} ({row['family']}): {row['summary']}; needs {row['needs']}"
    shown = [
        {**option, "default": "none" if option["default"] is None else str(option["default"])}
        for option in row["explained"]
    ]
    first = shown[0] if shown else {"option": "option", "default": "value"}
    example = f"{row['name']}:{first['option']}={first['default'] or '...'}"
    notes = [f"given as -m {example}; several are separated by commas"]
    return Table(
        [Column(k) for k in ("option", "default", "expected", "meaning")], shown, title, notes
    )

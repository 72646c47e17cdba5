"""`gecjury metrics`: every metric with its family, needs and origin; a named one with options."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gecjury.cli.parsers import declares
from gecjury.cli.streams import tell
from gecjury.settings import option

if TYPE_CHECKING:
    from gecjury.report.result import Table


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What is listed.

    Attributes:
        names: only these metrics, with every option: its default, its values, what it does.
    """

    names: tuple[str, ...] = option((), "METRIC")


add_arguments = declares(Listed)


def run(args: argparse.Namespace) -> int:
    """List metrics; one whose package is missing or that is broken is listed with the reason."""
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables
    from gecjury.scoring.registry import metric_names, outside_metrics

    rows = [_row(name) for name in args.names or metric_names()]
    refused = () if args.names else outside_metrics().refused
    for line in (*refused, *(row["error"] for row in rows if "error" in row)):
        tell(f"gecjury: {line}")
    keys = ["name", "family", "needs", "from", "summary"]
    notes = ["`gecjury metrics NAME...` tells the options of a metric"]
    if args.format == "tsv":  # for programs, which want everything in one line
        keys += ["options", "version", "signature"]
    else:  # Below the table, since some are as wide as a screen.
        notes += ["signatures, to which a score adds references, data and packages:"]
        notes += [row["signature"] for row in rows if "signature" in row]
    tables = [Table([Column(key) for key in keys], rows, notes=notes)]
    if args.names:
        tables = [_option_table(row) for row in rows]
    print_tables(tables, rows, args.format)
    return 0


def _row(name: str) -> dict[str, Any]:
    from dataclasses import asdict

    from gecjury.errors import MissingExtraError, OptionError, family_of
    from gecjury.scoring.options import options_of
    from gecjury.scoring.registry import METRICS, load, origin, outside_metrics, scorer_class
    from gecjury.scoring.signature import Signature

    # A list must not end at the first metric whose package is missing.
    try:
        scorer_type = scorer_class(name)
        scorer = load(name)
    except MissingExtraError as error:
        family = family_of(METRICS[name].partition(":")[0])
        return {"name": name, "family": family, "needs": str(error), "from": origin(name)}
    except OptionError as error:
        # Unknown, unless another package has it and what it has is broken.
        if name not in outside_metrics().metrics:
            raise
        row = {"name": name, "family": None, "needs": "cannot be used", "from": origin(name)}
        return row | {"error": str(error)}
    # What has to be named by an option is a need like texts and models.
    named = [f"{what} ({option}=…)" for option, what in scorer_type.must_name.items()]
    signature = Signature(name, scorer_type.family, scorer.settings(), scorer_type.version)
    options = options_of(scorer)
    return {
        "name": name,
        "family": scorer_type.family,
        "needs": ", ".join([*sorted(scorer_type.needs), *named]) or "nothing",
        "from": origin(name),
        "options": ",".join(f"{one.option}={one.default}" for one in options),
        "version": scorer_type.version,
        "signature": signature.own,
        "summary": scorer_type.summary,
        "explained": [asdict(option) for option in options],
    }


def _option_table(row: dict[str, Any]) -> Table:
    from gecjury.report.result import Column, Table

    if "explained" not in row:
        return Table([Column("name"), Column("needs")], [row])
    title = f"{row['name']} ({row['family']}): {row['summary']}; needs {row['needs']}"
    shown = [
        {**option, "default": "none" if option["default"] is None else str(option["default"])}
        for option in row["explained"]
    ]
    if not shown:
        return Table([Column("name")], [row], title, ["it has no options"])
    first = shown[0]
    example = f"{row['name']}:{first['option']}={first['default'] or '...'}"
    notes = [f"given as -m {example}; several are separated by commas"]
    return Table(
        [Column(k) for k in ("option", "default", "expected", "meaning")], shown, title, notes
    )

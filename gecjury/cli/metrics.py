"""`gecjury metrics`: list metrics with family, needs and origin; show options of named ones."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import tell

if TYPE_CHECKING:
    from gecjury.report.result import Table
    from gecjury.scoring.scorer import Scorer


_HINT = "`gecjury metrics NAME` shows the options of a metric, `--verbose` the signatures of all"
_SIGNATURES = "signatures, to which a score adds references, data and packages:"


def add_arguments(parser: CommandParser) -> None:
    """Declare the metrics to list."""
    meaning = "only these metrics, with the default, values and meaning of every option"
    parser.add_argument("names", nargs="*", metavar="METRIC", help=meaning)
    meaning = "also show the signature of every metric"
    parser.add_argument("--verbose", action="store_true", help=meaning)


def run(args: argparse.Namespace) -> int:
    """List metrics; those that are broken or lack a package are listed with the reason."""
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables
    from gecjury.scoring.registry import metric_names, outside_metrics

    rows = [_row(name) for name in args.names or metric_names()]
    refused = () if args.names else outside_metrics().refused
    for line in (*refused, *(row["error"] for row in rows if "error" in row)):
        tell(f"gecjury: {line}")
    if args.names:
        tables = [table for row in rows for table in _option_tables(row, args.format)]
    elif args.format == "tsv":  # for programs, which need everything in one table
        keys = ("name", "family", "needs", "from", "summary", "options", "version", "signature")
        tables = [Table([Column(key) for key in keys], rows)]
    else:
        tables = [_main_table(rows)]
    if args.verbose:
        signatures = [row["signature"] for row in rows if "signature" in row]
        tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, _SIGNATURES, *signatures])
    print_tables(tables, rows, args.format)
    return 0


def _main_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a short table of the metrics, those of a family together."""
    from gecjury.core.errors import FAMILIES
    from gecjury.report.result import Column, Table

    families = list(dict.fromkeys([*FAMILIES, *(row["family"] for row in rows)]))
    grouped = sorted(rows, key=lambda row: families.index(row["family"]))
    keys = ["name", "family", "needs", "summary"]
    # The package is shown only if it is not gecjury.
    if any(row["from"] != "gecjury" for row in rows):
        keys.insert(3, "from")
    return Table([Column(key) for key in keys], grouped, notes=[_HINT])


def _row(name: str) -> dict[str, Any]:
    from gecjury.core.errors import MissingExtraError, OptionError, family_of
    from gecjury.scoring.registry import METRICS, load, origin, outside_metrics, scorer_class
    from gecjury.scoring.scorer import required_options
    from gecjury.scoring.signature import Signature

    # The list must not end at the first metric whose package is missing.
    try:
        scorer_type = scorer_class(name)
        scorer = load(name)
    except MissingExtraError as error:
        family = family_of(METRICS[name].partition(":")[0])
        return {"name": name, "family": family, "needs": str(error), "from": origin(name)}
    except OptionError as error:
        # Unknown, unless it is a broken metric of another package.
        if name not in outside_metrics().metrics:
            raise
        row = {"name": name, "family": None, "needs": "cannot be used", "from": origin(name)}
        return row | {"error": str(error)}
    # A required option counts as a need, like texts and models.
    named = [f"{what} ({option}=…)" for option, what in required_options(scorer_type).items()]
    signature = Signature(name, scorer_type.family, scorer.settings(), scorer_type.version)
    options = _explained(scorer)
    return {
        "name": name,
        "family": scorer_type.family,
        "needs": ", ".join([*sorted(scorer_type.needs), *named]) or "nothing",
        "from": origin(name),
        "options": ",".join(f"{one['option']}={_typed(one['default'])}" for one in options),
        "version": scorer_type.version,
        "signature": signature.own,
        "summary": scorer_type.summary,
        "explained": options,
    }


def _explained(scorer: Scorer) -> list[dict[str, Any]]:
    """Return the options of a metric; those that all metrics of a kind share name it."""
    from gecjury.scoring.options import metric_options

    kind = next((base for base in type(scorer).__mro__ if "shared" in vars(base)), None)
    shared = {one.name for one in fields(kind)} if kind else set()
    # Some defaults depend on others, so they are read from the metric itself.
    return [
        {
            "option": option,
            "default": getattr(scorer, declared.path),
            "expected": declared.expected,
            "meaning": declared.meaning,
            "shared": getattr(kind, "shared", "") if declared.path in shared else "",
        }
        for option, declared in metric_options(type(scorer)).items()
    ]


def _option_tables(row: Mapping[str, Any], form: str) -> list[Table]:
    """Return a metric's own options and those that it shares; for people, meanings have values."""
    from gecjury.report.result import Column, Table
    from gecjury.scoring.registry import scorer_class
    from gecjury.scoring.scorer import required_options
    from gecjury.stats.catalogue import Statistic, register

    if "explained" not in row:
        return [Table([Column("name"), Column("needs")], [row])]
    title = f"{row['name']} ({row['family']}): {row['summary']}; needs {row['needs']}"
    shown = [{**option, "default": _typed(option["default"])} for option in row["explained"]]
    if not shown:
        return [Table([Column("name")], [row], title, ["it has no options"])]
    shown.sort(key=lambda option: option["shared"] != "")
    # An example without a required option would fail.
    required = ",".join(f"{option}=..." for option in required_options(scorer_class(row["name"])))
    usual = f"{shown[0]['option']}={shown[0]['default'] or '...'}"
    notes = [f"use: -m {row['name']}:{required or usual}; separate several options by commas"]
    register(Statistic("option.meaning", "value: meaning"))
    last = [Column("meaning", value="{expected}: {meaning}".format_map, place="option")]
    if form == "tsv":
        last = [Column("expected"), Column("meaning")]
        return [Table([Column("option"), Column("default"), *last], shown, title, notes)]
    columns = [Column("option"), Column("default"), *last]
    parts = [(group, list(of)) for group, of in groupby(shown, key=lambda one: one["shared"])]
    return [Table(columns, of, group or title, [] if group else notes) for group, of in parts]


def _typed(value: object) -> str:
    """Return a default as users type it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)

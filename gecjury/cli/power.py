"""`gecjury power`: how many sentences, systems or judgments tell a difference."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gecjury.cli.inputs import (
    add_metrics,
    add_references,
    benchmark_or_files,
    dry_run,
    load_scorers,
    runtime_from,
)
from gecjury.cli.numbers import up_to
from gecjury.cli.parsers import CommandParser
from gecjury.decisions.power import (
    QUESTIONS,
    Forecast,
    Power,
    PowerSettings,
    power,
    power_of_scores,
)
from gecjury.errors import OptionError
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables
from gecjury.scoring.given_scores import GivenScores

_SCORES = (".json", ".csv", ".tsv")


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges", "plans", "data")
    usual = PowerSettings()
    parser.add_argument(
        "inputs",
        metavar="BENCHMARK|SCORES|SOURCE HYP",
        nargs="+",
        help="a benchmark; files of sentence scores (.json, .csv, .tsv); or a source file and at "
        "least two outputs",
    )
    add_metrics(
        parser,
        "whose scores are to differ (see `gecjury metrics`); of two and more, which of them "
        "agrees with people better is asked too",
    )
    add_references(parser)
    parser.add_argument(
        "--system",
        dest="two",
        action="append",
        default=[],
        metavar="NAME",
        help="one of the two systems that are compared; give two (default: the median of every "
        "two)",
    )
    parser.add_argument(
        "--what",
        action="append",
        default=[],
        choices=QUESTIONS,
        help="what is told apart: systems by scores or by judgments, metrics by accuracy or by "
        "pearson; repeat for more (default: all that can be)",
    )
    parser.add_argument(
        "-d",
        "--difference",
        dest="differences",
        type=float,
        action="append",
        default=[],
        metavar="D",
        help="the difference to be told; repeat for more (default: three usual ones)",
    )
    parser.add_argument(
        "--width",
        dest="widths",
        type=float,
        action="append",
        default=[],
        metavar="W",
        help="the width of an interval to be reached; repeat for more",
    )
    parser.add_argument(
        "--power",
        type=float,
        default=usual.power,
        metavar="P",
        help=f"the chance of telling it (default: {usual.power})",
    )
    parser.add_argument(
        "--level",
        type=float,
        default=usual.level,
        metavar="L",
        help=f"level of the two-sided test (default: {usual.level})",
    )
    parser.add_argument(
        "--try",
        dest="tried",
        action="store_true",
        help="also try it: forecasts from 50, 100 and 200 sentences beside what all give",
    )
    parser.add_argument(
        "--resamples",
        type=up_to(100_000),
        default=usual.resamples,
        metavar="B",
        help=f"at every size (default: {usual.resamples})",
    )
    parser.add_argument("--seed", type=int, default=usual.seed, help="seed of the resamples")


def run(args: argparse.Namespace) -> int:
    """Measure, forecast, print."""
    settings = PowerSettings(
        questions=tuple(dict.fromkeys(args.what)),
        differences=tuple(dict.fromkeys(args.differences)),
        widths=tuple(dict.fromkeys(args.widths)),
        power=args.power,
        level=args.level,
        systems=tuple(args.two),
        resamples=args.resamples,
        seed=args.seed,
        tried=args.tried,
    )
    if all(Path(each).suffix in _SCORES for each in args.inputs):
        found = _of_files(args, settings)
    else:
        scorers = load_scorers(args.metrics) if args.metrics else []
        corpus, benchmark = benchmark_or_files(
            args, args.inputs, args.references, args.reference_files, args.m2
        )
        runtime = runtime_from(args)
        if dry_run(scorers, corpus, runtime):
            return 0
        found = power(benchmark or corpus, metrics=scorers, settings=settings, runtime=runtime)
    print_tables(tables(found, args.inputs), document(found, args.inputs), args.format)
    return 0


def _of_files(args: argparse.Namespace, settings: PowerSettings) -> Power:
    """The same of score files, which need no texts."""
    if args.metrics or args.reference_files or args.m2 or args.references or args.systems:
        raise OptionError(
            f"{args.inputs[0]} holds scores: -m, -r, --m2, --references and --systems go with texts"
        )
    return power_of_scores([GivenScores(file=each) for each in args.inputs], settings)


def document(found: Power, inputs: list[str]) -> dict[str, Any]:
    """What JSON shows.

    Args:
        found: the result.
        inputs: what it was asked of, as the user named it.
    """
    settings = found.settings
    return {
        "inputs": inputs,
        "power": settings.power,
        "level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
        "rows": found.rows(),
        "forecasts": [vars(each) for each in found.forecasts],
        "notes": list(found.notes),
    }


def tables(found: Power, inputs: list[str]) -> list[Table]:
    """What people see: what is needed, and how forecasts fared."""
    settings = found.settings
    columns = [
        Column("question"),
        Column("label", "of"),
        Column("target"),
        Column("value", digits=4),
        Column("needed"),
        Column("range", "between"),
        Column("unit"),
        Column("at_hand", "at hand"),
        Column("error", "error there", 4),
        Column("observed", digits=4),
        Column("told", "power tried", 2),
    ]
    rows = [
        {**row, "range": "{}-{}".format(*row["between"])} | {"told": row["told"]}
        for row in found.rows()
    ]
    slopes = [need.slope for need in found.needs]
    several = max(need.pairs for need in found.needs)
    notes = [
        f"needed: to tell a difference with {settings.power:.0%} power at {settings.level:g} "
        "(two-sided), or for an interval of the width; between: 90% interval for one pair, 10th to "
        f"90th percentile of pairs for several (here up to {several})",
        "error there: standard error of the difference with what is at hand; observed: the "
        "difference at hand; power tried: share of resamples of the size needed that tell it",
        f"assumed: errors fall with the square root of the size; measured exponents "
        f"{min(slopes):.2f} to {max(slopes):.2f} (-0.50 expected)",
        *found.notes,
    ]
    title = f"How much data tells a difference ({' '.join(inputs)})"
    shown = [Table(columns, rows, title, notes)]
    if found.forecasts:
        shown.append(_forecast_table(found.forecasts))
    return shown


def _forecast_table(forecasts: tuple[Forecast, ...]) -> Table:
    columns = [
        Column("question"),
        Column("label", "of"),
        Column("start", "from"),
        Column("error", "forecast error", 4, "between"),
        Column("observed", "observed error", 4),
        Column("value", "difference", 4),
        Column("needed", "forecast needed"),
        Column("range", "between"),
        Column("needed_all", "by all"),
        Column("told", "power tried", 2),
    ]
    rows = [{**vars(each), "range": "{}-{}".format(*each.needed_between)} for each in forecasts]
    notes = [
        "forecast error: at the size of all sentences, from subsamples of so many, median [5%, "
        "95%]; observed error: by resampling all; power tried: share of resamples of all, of the "
        "forecast size, in which the difference is told"
    ]
    return Table(columns, rows, "Forecasts from few sentences", notes)

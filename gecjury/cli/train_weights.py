"""`gecjury train weights`: the weights of a trained SOME that agree best with a benchmark."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

from gecjury.cli.train_options import add_check, add_inputs, add_judged, refuse_unread

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser


def add_options(parser: CommandParser) -> None:
    """Declare the model and the judgments that are searched on."""
    from gecjury.refless.training.recipe import WeightsFor

    parser.epilog = "example:\n  gecjury train weights gjg15 --model my-some --share 0.1"
    add_inputs(parser, "a benchmark", "folder of score files to read and add to")
    parser.add_argument("--model", metavar="DIR", help="the trained SOME")
    parser.add_argument(
        "--level",
        choices=get_args(WeightsFor),
        default="sentence",
        help="Kendall τ over judged pairs, or Pearson over systems",
    )
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="X", help="search on this share of judgments"
    )
    add_judged(parser, "the share drawn")
    add_check(parser, read=False)


def train(args: argparse.Namespace) -> int:
    """Score, search, print."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.refless.training.weights import search_weights
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables
    from gecjury.scoring.registry import load
    from gecjury.scoring.score_files import score_with_files

    if len(args.inputs) > 1:
        raise OptionError("train weights takes one benchmark")
    if args.level == "system":
        why = "over systems (--level system) every judgment is searched on"
        refuse_unread(args, {"share": why, "seed": why})
    elif args.share == 1:
        refuse_unread(args, {"seed": "it draws judgments, and --share takes all"})
    benchmark = load_benchmark(
        args.inputs[0], systems=args.systems, view=args.human, data=args.data, cache=args.cache
    )
    scorer = load("some", model=args.model or "")
    table = score_with_files(scorer, benchmark.corpus, args.output, runtime_from(args))
    rows = search_weights(
        table.statistics.values, benchmark, args.level, share=args.share, seed=args.seed
    )
    columns = [Column("weights"), *[Column(k, digits=2) for k in ("alpha", "beta", "gamma")]]
    columns += [Column("searched", digits=4), Column("held_out", "held out", digits=4)]
    measure = "Kendall τ over judged pairs" if args.level == "sentence" else "Pearson over systems"
    best = rows[0]
    option = f"alpha={best['alpha']:g},beta={best['beta']:g},gamma={best['gamma']:g}"
    notes = [f"{measure}; use with -m some:model={args.model},{option}"]
    document = {"benchmark": args.inputs[0], "level": args.level, "measure": measure, "rows": rows}
    print_tables([Table(columns, rows, notes=notes)], document, args.format)
    return 0

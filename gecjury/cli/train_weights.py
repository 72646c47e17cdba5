"""`gecjury train weights`: find the weights of a trained SOME that best agree with a benchmark."""

from __future__ import annotations

import argparse

from gecjury.cli.options import settings_of
from gecjury.core.errors import OptionError
from gecjury.refless.training.weights import WeightSearch, search_weights

OPTIONS = (WeightSearch,)

EPILOG = "example:\n  gecjury train weights gjg15 --model my-some --share 0.1"


def train(args: argparse.Namespace) -> None:
    """Score, search, print."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.cli.inputs import runtime_from
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables
    from gecjury.scoring.registry import load
    from gecjury.scoring.score_files import score_with_files

    if len(args.inputs) > 1:
        raise OptionError("train weights accepts one benchmark")
    search = settings_of(WeightSearch, args)
    if search.seed and search.share == 1:
        raise OptionError("--seed would do nothing: it draws judgments, and --share uses all")
    benchmark = load_benchmark(
        args.inputs[0], systems=search.systems, view=search.human, data=args.data, cache=args.cache,
        quiet=args.quiet,
    )  # fmt: skip
    # The three aspects are scored once; every combination of weights is a sum of their columns.
    scorer = load("some", model=search.model or "")
    table = score_with_files(scorer, benchmark.corpus, args.output, runtime_from(args))
    rows = search_weights(
        table.statistics.values, benchmark, search.level, share=search.share, seed=search.seed
    )
    columns = [Column("weights"), *[Column(k, digits=2) for k in ("alpha", "beta", "gamma")]]
    columns += [Column("searched", digits=4), Column("held_out", "held out", digits=4)]
    measure = (
        "Kendall τ over judged pairs" if search.level == "sentence" else "Pearson over systems"
    )
    # The first row is best on the searched judgments; the held-out ones only evaluate it.
    best = rows[0]
    option = f"alpha={best['alpha']:g},beta={best['beta']:g},gamma={best['gamma']:g}"
    notes = [f"{measure}; use with -m some:model={search.model},{option}"]
    document = {
        "benchmark": args.inputs[0],
        "level": search.level,
        "measure": measure,
        "rows": rows,
    }
    print_tables([Table(columns, rows, notes=notes)], document, args.format)

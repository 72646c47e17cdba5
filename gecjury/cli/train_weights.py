"""`gecjury train weights`: the weights of a trained SOME that agree best with a benchmark."""

from __future__ import annotations

import argparse

__all__ = ["train"]


def train(args: argparse.Namespace) -> int:
    """Score, search, print."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.refless.training.weights import search_weights
    from gecjury.report.tables import Column, Table, print_result
    from gecjury.scoring.registry import load
    from gecjury.scoring.score_files import score_with_files

    if len(args.inputs) > 1:
        raise OptionError("train weights takes one benchmark")
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
    print_result([Table(columns, rows, notes=notes)], document, args.format)
    return 0

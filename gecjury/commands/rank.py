"""`gecjury rank`: systems in the order of their scores."""

from __future__ import annotations

import argparse
from typing import Any

from gecjury.commands.inputs import add_files, add_metrics, score_files

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_files(parser)
    add_metrics(parser)
    parser.add_argument(
        "--aggregate",
        choices=("corpus", "mean", "trueskill", "expected-wins"),
        default="corpus",
        help="what systems are ranked by (default: the metric's own corpus score)",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Score, rank, print; equal scores share a rank."""
    from gecjury.aggregate import aggregate_scores
    from gecjury.report import Column, Table, print_result

    tables = score_files(args)
    if tables is None:
        return 0
    rows: list[dict[str, Any]] = []
    missing = 0
    notes: list[str] = []
    for table in tables:
        missing += table.unanswered
        notes.append(str(table.signature))
        scores = aggregate_scores(args.aggregate, table.sentences, table.by_system.score)
        order = sorted(zip(table.systems, scores.tolist(), strict=True), key=lambda p: -p[1])
        for place, (system, score) in enumerate(order):
            level = place > 0 and score == order[place - 1][1]
            rank = rows[-1]["rank"] if level else place + 1
            rows.append(
                {
                    "rank": rank,
                    "system": system,
                    "metric": table.signature.metric,
                    "aggregate": args.aggregate,
                    "score": score,
                    "signature": str(table.signature),
                }
            )
    columns = [Column("rank"), Column("system"), Column("metric"), Column("score", digits=4)]
    title = f"Ranking by {args.aggregate} score"
    print_result([Table(columns, rows, title, notes)], {"rows": rows}, args.format)
    return 1 if missing else 0

"""`gecjury rank`: systems in the order of their scores, and how sure that order is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import add_files, add_metrics, score_files
from gecjury.cli.resampling import add_resampling, check_resampling

if TYPE_CHECKING:
    from gecjury.arrays import FloatArray
    from gecjury.experiments.system_tests import SystemTests
    from gecjury.report.tables import Column
    from gecjury.scoring.scores import ScoreTable

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
    add_resampling(parser, ("sentences", "none"))
    parser.add_argument(
        "--permutations", type=int, default=1000, metavar="K", help="of each test (default: 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of resampling and tests")
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Score, rank, test, print; equal scores share a rank."""
    from gecjury.cli.inputs import load_scorers
    from gecjury.report.tables import Table, print_result
    from gecjury.stats.ranking import aggregate_scores

    _check(args)
    tables = score_files(args)
    if tables is None:
        return 0
    rows: list[dict[str, Any]] = []
    document: dict[str, Any] = {"rows": rows, "significance": [], "uncertainty": _how(args)}
    notes: list[str] = []
    for scorer, table in zip(load_scorers(args.metrics), tables, strict=True):
        tests = None
        if args.resample != "none":
            from gecjury.experiments.system_tests import compare_systems

            tests = compare_systems(
                scorer,
                table,
                args.aggregate,
                resamples=args.resamples,
                permutations=args.permutations,
                confidence=args.confidence,
                seed=args.seed,
            )
            document["significance"].append(_significance(args, table, tests))
            notes += _tested(table, tests)
        scores = aggregate_scores(args.aggregate, table.sentences, table.by_system.score)
        rows += _rows(args, table, scores, tests)
    notes += dict.fromkeys(note for table in tables for note in table.statistics.notes)
    document["notes"] = list(notes)
    notes[:0] = _notes(args)
    notes += [str(table.signature) for table in tables]
    title = f"Ranking by {args.aggregate} score"
    columns = _columns(args.resample != "none")
    print_result([Table(columns, rows, title, notes)], document, args.format)
    return 1 if any(table.unanswered for table in tables) else 0


def _check(args: argparse.Namespace) -> None:
    from gecjury.errors import OptionError

    check_resampling(args)
    if args.permutations < 1:
        raise OptionError(f"--permutations {args.permutations}: expected 1 or more")


def _how(args: argparse.Namespace) -> dict[str, Any] | None:
    if args.resample == "none":
        return None
    return {
        "resamples": args.resamples,
        "over": args.resample,
        "seed": args.seed,
        "confidence": args.confidence,
        "permutations": args.permutations,
        "level": 0.05,
    }


def _rows(
    args: argparse.Namespace, table: ScoreTable, scores: FloatArray, tests: SystemTests | None
) -> list[dict[str, Any]]:
    """One row a system, the best first, those without a score last."""
    order = sorted(range(len(scores)), key=lambda row: (scores[row] != scores[row], -scores[row]))
    rows: list[dict[str, Any]] = []
    for place, number in enumerate(order):
        score = float(scores[number])
        level = place > 0 and score == rows[-1]["score"]
        row: dict[str, Any] = {
            "rank": rows[-1]["rank"] if level else place + 1,
            "system": table.systems[number],
            "metric": table.signature.label,
            "aggregate": args.aggregate,
            "score": score,
            "signature": str(table.signature),
        }
        if tests is not None:
            span = tests.ranks[number]
            row["ci95"] = list(tests.intervals[number])
            row["rank_range"] = None if span is None else list(span)
            row["ranks"] = (
                None if span is None else "–".join(str(end) for end in dict.fromkeys(span))
            )
            row["cluster"] = tests.clusters[number]
        rows.append(row)
    return rows


def _columns(tested: bool) -> list[Column]:
    from gecjury.report.tables import Column

    columns = [Column("rank"), Column("system"), Column("metric")]
    columns.append(Column("score", digits=4, interval="ci95"))
    return [*columns, Column("ranks"), Column("cluster")] if tested else columns


def _significance(
    args: argparse.Namespace, table: ScoreTable, tests: SystemTests
) -> dict[str, Any]:
    return {
        "metric": table.signature.label,
        "test": "approximate-randomisation",
        "statistic": args.aggregate,
        "systems": list(table.systems),
        "p": tests.p,
        "adjusted": tests.adjusted,
        "correction": "holm",
        "resamples": args.permutations,
        "clusters": list(tests.clusters),
    }


def _tested(table: ScoreTable, tests: SystemTests) -> list[str]:
    """What must be said of a metric's tests."""
    found = []
    if tests.dropped:
        found.append(
            f"{table.signature.label}: {tests.dropped} resampled scores not defined, left out"
        )
    if len(table.systems) > 1 and len({float(score) for score in tests.scores}) == 1:
        found.append(f"{table.signature.label}: all systems score alike: nothing to rank")
    return found


def _notes(args: argparse.Namespace) -> list[str]:
    if args.resample == "none":
        return []
    return [
        f"[low, high]: {args.confidence:.0%} percentile bootstrap over sentences, "
        f"{args.resamples} resamples, seed {args.seed}",
        f"ranks, cluster: what paired approximate randomisation leaves open at .05 after Holm's "
        f"correction over all pairs of systems ({args.permutations} permutations; small p from a "
        "normal curve)",
    ]

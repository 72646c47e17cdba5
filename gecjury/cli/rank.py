"""`gecjury rank`: systems in the order of their scores, and how sure that order is."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from gecjury.cli.inputs import MOST_DRAWS, add_files, add_metrics, files_to_score, up_to
from gecjury.cli.resampling import add_resampling
from gecjury.experiments.rank import Ranked, RankSettings, Resample, rank
from gecjury.experiments.system_tests import SystemTests
from gecjury.report.tables import Column, Table, print_result
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.ranking import Aggregate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    usual = RankSettings()
    add_files(parser)
    add_metrics(parser)
    parser.add_argument(
        "--aggregate",
        choices=get_args(Aggregate),
        default=usual.aggregate,
        help="what systems are ranked by (default: the metric's own corpus score)",
    )
    add_resampling(parser, get_args(Resample))
    parser.add_argument(
        "--permutations",
        type=up_to(MOST_DRAWS, least=0),
        default=usual.permutations,
        metavar="K",
        help=f"permutations of each test (default: {usual.permutations})",
    )
    parser.add_argument(
        "--seed", type=int, default=usual.seed, help="seed of the resampling and of the tests"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Score, rank, test, print; equal scores share a rank."""
    settings = RankSettings(
        aggregate=args.aggregate,
        resample=args.resample,
        resamples=args.resamples,
        confidence=args.confidence,
        permutations=args.permutations,
        seed=args.seed,
    )
    given = files_to_score(args)
    if given is None:
        return 0
    scorers, corpus, runtime = given
    found = rank(corpus, metrics=scorers, settings=settings, folder=args.output, runtime=runtime)
    print_result([table(found)], document(found), args.format)
    return 1 if found.unanswered else 0


def document(found: Ranked) -> dict[str, Any]:
    """What JSON shows."""
    return {
        "rows": found.rows(),
        "significance": [
            _significance(one.table, one.tests, found.settings)
            for one in found.metrics
            if one.tests is not None
        ],
        "uncertainty": _uncertainty(found.settings),
        "notes": list(found.notes),
    }


def _significance(table: ScoreTable, tests: SystemTests, settings: RankSettings) -> dict[str, Any]:
    return {
        "metric": table.signature.label,
        "test": "approximate-randomisation",
        "statistic": settings.aggregate,
        "systems": list(table.systems),
        "p": tests.p,
        "adjusted": tests.adjusted,
        "correction": "holm",
        "resamples": settings.permutations,
        "clusters": list(tests.clusters),
    }


def _uncertainty(settings: RankSettings) -> dict[str, Any] | None:
    if settings.resample == "none":
        return None
    return {
        "resamples": settings.resamples,
        "over": settings.resample,
        "seed": settings.seed,
        "confidence": settings.confidence,
        "permutations": settings.permutations,
        "level": settings.level,
    }


def table(found: Ranked) -> Table:
    """What people see."""
    settings = found.settings
    columns = [Column("rank"), Column("system"), Column("metric")]
    columns.append(Column("score", digits=4, interval="ci95"))
    notes = []
    if settings.resample != "none":
        columns += [Column("ranks"), Column("cluster"), Column("p_next", "p to next", digits=4)]
        level = f"{settings.level:.2f}".removeprefix("0")
        notes += [
            f"[low, high]: {settings.confidence:.0%} percentile bootstrap over sentences, "
            f"{settings.resamples} resamples, seed {settings.seed}",
            f"ranks, cluster: what paired approximate randomisation leaves open at {level} after "
            f"Holm's correction over all pairs of systems ({settings.permutations} permutations; "
            "small p from a normal curve); p to next: corrected, of the difference from the system "
            "below",
        ]
    notes += [*found.notes, *(str(one.table.signature) for one in found.metrics)]
    return Table(columns, found.rows(), f"Ranking by {settings.aggregate} score", notes)

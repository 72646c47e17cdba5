"""Options of resampling, and what it adds to the result of `compare`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.benchmarks.table import View
    from gecjury.metaeval.study import Result, Study
    from gecjury.metaeval.uncertainty import Significance, Uncertainty
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import ScoreTable

__all__ = [
    "Found",
    "add_resampling",
    "add_statistic",
    "check_resampling",
    "check_statistic",
    "weigh",
]

OVER = ("both", "sentences", "systems", "none")
STATISTICS = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "pairwise-accuracy": "pairwise accuracy",
    "spa": "SPA",
}
"""What metrics can be told apart by at system level, and how a note calls it."""


@dataclass
class Found:
    """What `weigh` adds: notes for people, entries for the JSON document."""

    notes: list[str] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)


def add_resampling(parser: argparse.ArgumentParser, over: tuple[str, ...] = OVER) -> None:
    """Declare the options of resampling."""
    parser.add_argument(
        "--resample",
        choices=over,
        default=over[0],
        help=f"what the bootstrap draws; none: no intervals, no tests (default: {over[0]})",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=1000,
        metavar="B",
        help="resamples of the bootstrap (default: 1000)",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="C",
        help="confidence of intervals (default: 0.95)",
    )


def check_resampling(args: argparse.Namespace) -> None:
    """Refuse values out of range before any work is done.

    Raises:
        OptionError: names the option.
    """
    from gecjury.errors import OptionError

    if args.resamples < 1:
        raise OptionError(f"--resamples {args.resamples}: expected 1 or more (--resample none: no)")
    if not 0 < args.confidence < 1:
        raise OptionError(f"--confidence {args.confidence}: expected a number between 0 and 1")


def add_statistic(parser: argparse.ArgumentParser) -> None:
    """Declare what the tests between metrics compare."""
    parser.add_argument(
        "--statistic",
        choices=tuple(STATISTICS),
        default="pearson",
        help="what the tests and clusters at system level compare (default: pearson)",
    )


def check_statistic(args: argparse.Namespace, study: Study, views: tuple[View, ...]) -> None:
    """Refuse a statistic that nothing would be tested by.

    Raises:
        OptionError: no tests, no system level, or no sentence judgments for SPA.
    """
    from gecjury.errors import OptionError

    wanted = f"--statistic {args.statistic}"
    if args.statistic == "pearson":
        return
    if args.resample == "none":
        raise OptionError(f"{wanted} with --resample none: nothing is tested; leave one of them")
    if args.level in ("sentence", "edit"):
        raise OptionError(
            f"{wanted} with --level {args.level}: it is for the clusters at system level; take "
            "--level system or all"
        )
    for view in views:
        if args.statistic == "spa" and study.human_differences(view) is None:
            raise OptionError(
                f"{wanted}: {study.benchmark.name} has no judgments of single sentences ({view}), "
                "which soft pairwise accuracy needs; take another statistic"
            )


def weigh(
    args: argparse.Namespace,
    study: Study,
    views: tuple[View, ...],
    scorers: list[Scorer],
    tables: list[ScoreTable],
    results: list[Result],
    chance: list[Result],
) -> tuple[list[Result], list[Result], Found]:
    """Put intervals and clusters into results, and say how they were found."""
    from gecjury.metaeval.resampled import Entry
    from gecjury.metaeval.uncertainty import Resampling, Uncertainty

    found = Found()
    if args.resample == "none":
        found.document = {"uncertainty": None, "significance": []}
        return results, chance, found
    entries = [_entry(scorer, table) for scorer, table in zip(scorers, tables, strict=True)]
    known = len(entries)
    entries += [Entry(name, scores) for name, scores in study.chance_sentences.items()]
    how = Resampling(
        args.resample,
        args.resamples,
        args.confidence,
        args.seed,
        statistic=args.statistic.replace("-", "_"),
    )
    uncertainty = Uncertainty(study, entries, how)
    tests: list[dict[str, Any]] = []
    places = {view: place for place, view in enumerate(views)}
    weighed = [*results, *chance]
    for view in views:
        system, sentence = uncertainty.over_systems(view), uncertainty.over_pairs(view)
        for number in range(len(entries)):
            at = number * len(views) + places[view]
            weighed[at] = _with_intervals(
                weighed[at], system[number].bounds, sentence[number].bounds
            )
        dropped = sum(sum(each.dropped.values()) for each in system[:known])
        if dropped:
            found.notes.append(
                f"{view}: {dropped} of {known * 5 * args.resamples} resampled statistics were not "
                "defined (constant scores, fewer than 3 different systems, a system without "
                "judgments) and left out"
            )
        if known > 1:
            for test in uncertainty.significance(view, range(known)):
                tests.append(_test(test, view))
                for number, cluster in enumerate(test.clusters):
                    at = number * len(views) + places[view]
                    weighed[at] = _with_cluster(weighed[at], test.level, cluster)
    found.document = {"uncertainty": _how(args, uncertainty, views), "significance": tests}
    found.notes[:0] = _notes(args, study, uncertainty, views, tests)
    return weighed[: len(results)], weighed[len(results) :], found


def _entry(scorer: Scorer, table: ScoreTable) -> Any:
    from gecjury.metaeval.resampled import Entry

    return Entry(
        table.signature.label,
        table.sentences,
        table.statistics.items,
        lambda draws: scorer.corpus_scores(table.statistics, draws).score,
    )


def _with_intervals(result: Result, system: Any, sentence: Any) -> Result:
    from dataclasses import replace

    return replace(result, system=replace(result.system, ci95=system), sentence_ci95=sentence)


def _with_cluster(result: Result, level: str, cluster: int | None) -> Result:
    from dataclasses import replace

    if level == "sentence":
        return replace(result, sentence_cluster=cluster)
    return replace(result, system=replace(result.system, cluster=cluster))


def _test(test: Significance, view: View) -> dict[str, Any]:
    return {
        "human": view,
        "level": test.level,
        "test": test.test,
        "statistic": test.statistic,
        "metrics": list(test.metrics),
        "values": test.values,
        "p": test.p,
        "adjusted": test.adjusted,
        "correction": "holm",
        "resamples": test.permutations,
        "clusters": list(test.clusters),
    }


def _how(
    args: argparse.Namespace, uncertainty: Uncertainty, views: tuple[View, ...]
) -> dict[str, Any]:
    return {
        "resamples": args.resamples,
        "over": args.resample,
        "seed": args.seed,
        "confidence": args.confidence,
        "aggregate_resampled": args.resample in ("both", "sentences"),
        "human_resampled": {view: uncertainty.human(view)[1] for view in views},
        "permutations": uncertainty.resampling.permutations,
        "level": uncertainty.resampling.level,
    }


def _notes(
    args: argparse.Namespace,
    study: Study,
    uncertainty: Uncertainty,
    views: tuple[View, ...],
    tests: list[dict[str, Any]],
) -> list[str]:
    drawn = {"both": "sentences and systems"}.get(args.resample, args.resample)
    notes = [
        f"[low, high]: {args.confidence:.0%} percentile bootstrap over {drawn}, "
        f"{args.resamples} resamples, seed {args.seed}"
    ]
    fixed = [view for view in views if not uncertainty.human(view)[1]]
    if fixed and args.resample in ("both", "sentences"):
        notes.append(
            f"human scores ({', '.join(fixed)}) are held fixed: nothing to compute them from"
        )
    if tests:
        cells = {
            "corpus": "whole systems' scores swapped",
            "mean": "sentence scores swapped",
        }.get(study.aggregate, "each sentence's share of systems beaten swapped")
        if args.statistic == "spa":
            cells = "sentence scores swapped"
        notes.append(
            f"cl: significance clusters, 1 is best, Holm-corrected at "
            f"{uncertainty.resampling.level}: system level by PERM-BOTH on "
            f"{STATISTICS[args.statistic]} ({cells}), sentence level by paired permutation of "
            f"sources, {uncertainty.resampling.permutations} permutations each"
        )
    return notes

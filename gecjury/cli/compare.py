"""`gecjury compare`: metrics of any family tried against a benchmark's human judgments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gecjury.cli.edit_level import add_edit_options
from gecjury.cli.inputs import add_metrics, dry_run, load_scorers
from gecjury.cli.judged import check_benchmark, rating_tables, with_caveats
from gecjury.cli.resampling import add_resampling, add_statistic
from gecjury.cli.segmenttable import add_grouping, check_grouping, segment_tables

if TYPE_CHECKING:
    from gecjury.benchmarks.table import View
    from gecjury.metaeval.study import Study

__all__ = ["add_arguments", "compare", "run"]

AGGREGATES = ("trueskill", "expected-wins", "corpus", "mean")
TIE_RULES = ("half", "official", "loss", "drop", "calibrated")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "benchmark",
        help="seeda, gjg15, gmeg-{dev,test}-{fce,wiki,yahoo}, jfleg, tmu-gfm[-test], sample, or a "
        "folder or .toml file of your own",
    )
    add_metrics(parser)
    add_study_options(parser)


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `compare` and `demo` share."""
    parser.add_argument(
        "--human",
        choices=("edit", "sentence", "both"),
        help="which human judgments (default: edit, where the benchmark has them)",
    )
    parser.add_argument("--systems", default="base", help="base, fluency, input or all")
    parser.add_argument(
        "--references",
        nargs="+",
        default=["official"],
        metavar="SET",
        help="a reference set of the benchmark, or files (default: official)",
    )
    parser.add_argument(
        "--aggregate",
        choices=AGGREGATES,
        default="trueskill",
        help="how sentence scores become system scores; corpus: the metric's own",
    )
    parser.add_argument(
        "--level",
        choices=("system", "sentence", "edit", "all"),
        default="all",
        help="what is compared; edit: single edits against annotators' verdicts (SEEDA)",
    )
    parser.add_argument(
        "--ties",
        choices=TIE_RULES,
        default="half",
        help="what becomes of pairs that the metric ties at sentence level (default: half)",
    )
    parser.add_argument(
        "--human-scores",
        choices=("trueskill", "expected-wins", "mean"),
        help="human column at system level (default: trueskill, where the benchmark has it)",
    )
    parser.add_argument(
        "--shuffles",
        type=int,
        default=0,
        metavar="K",
        help="average TrueSkill over K seeded shuffles instead of one pass in file order",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of shuffles and the random metric"
    )
    parser.add_argument(
        "--windows", action="store_true", help="also correlations over 4 and 8 adjacent systems"
    )
    parser.add_argument(
        "--pairwise", action="store_true", help="also agreement by pair of systems and of ranks"
    )
    add_grouping(parser)
    add_resampling(parser)
    add_statistic(parser)
    parser.add_argument(
        "--unknown-systems",
        choices=("refuse", "skip"),
        help="judgments of your own that name a system without output: refuse (default), or skip "
        "them and say how many",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")
    parser.add_argument("--html", metavar="FILE", help="write the comparison as one page, too")
    add_edit_options(parser)


def run(args: argparse.Namespace) -> int:
    """Load, score, compare, print."""
    return compare(args, args.benchmark, args.metrics)


def compare(args: argparse.Namespace, name: str, metrics: list[str]) -> int:
    """Compare metrics on a benchmark; shared with `demo`."""
    from gecjury.cli.edit_level import compare_edits, edit_tasks, plan_edits
    from gecjury.cli.inputs import runtime_from
    from gecjury.cli.resampling import check_resampling, check_statistic, weigh
    from gecjury.report.comparison import (
        audits,
        main_table,
        make_document,
        pairwise_tables,
        window_tables,
    )
    from gecjury.report.page.page import check_page, write_page
    from gecjury.report.tables import print_result
    from gecjury.scoring.score_files import check_writable, score_with_files

    check_resampling(args)
    _check_shuffles(args)
    scorers = load_scorers(metrics)
    study, views = _study(args, name)
    benchmark = study.benchmark
    check_benchmark(study, views, scorers, args.level)
    check_statistic(args, study, views)
    check_grouping(args, study, views)
    runtime = runtime_from(args)
    crediting = edit_tasks(scorers, benchmark, args.level, args.credit)
    scored = [] if args.level == "edit" else scorers
    if runtime.dry_run:
        dry_run(scored, benchmark.corpus, runtime, plan_edits(crediting[0], benchmark, runtime))
        return 0
    if args.output:
        check_writable(args.output)
    if args.html:
        check_page(args.html)
    tables = [score_with_files(s, benchmark.corpus, args.output, runtime) for s in scored]
    results = [result for table in tables for result in study.evaluate(table, views)]
    chance = study.chance(views)
    results, chance, found = weigh(args, study, views, scored, tables, results, chance)
    shown = [main_table(args, study, views, results, chance, found.notes)]
    document = make_document(args, study, views, results, chance) | found.document
    shown[0] = with_caveats(shown[0], study, views, tables, results, chance, document)
    edit_tables, missing = compare_edits(crediting, benchmark, runtime, document, args)
    shown = [*(shown if scored else []), *edit_tables]
    shown += rating_tables(args, study, tables, results, document)
    shown += segment_tables(args, study, views, tables, document)
    shown += audits(study, tables, results, document)
    if args.windows:
        shown += window_tables(study, results, document)
    if args.pairwise:
        shown += pairwise_tables(study, tables, views, document)
    if args.html:
        write_page(args.html, document, study, tables)
    print_result(shown, document, args.format)
    return 1 if missing or any(table.unanswered for table in tables) else 0


def _check_shuffles(args: argparse.Namespace) -> None:
    from gecjury.errors import OptionError

    if args.shuffles < 0:
        raise OptionError(f"--shuffles {args.shuffles}: expected 0 (file order) or more")
    if args.shuffles and args.aggregate != "trueskill":
        raise OptionError(
            f"--shuffles {args.shuffles} is of TrueSkill alone: the order of sentences does not "
            f"change --aggregate {args.aggregate}"
        )


def _study(args: argparse.Namespace, name: str) -> tuple[Study, tuple[View, ...]]:
    """The benchmark as it was asked for, and the views to be shown."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.metaeval.study import Study

    view = None if args.human in (None, "both") else args.human
    benchmark = load_benchmark(
        name,
        systems=args.systems,
        references=args.references,
        view=view,
        data=args.data,
        cache=args.cache,
        unknown_systems=args.unknown_systems,
    )
    views = benchmark.views if args.human == "both" else (benchmark.view,)
    study = Study(benchmark, args.aggregate, args.ties, args.human_scores, args.shuffles, args.seed)
    for each in views:
        study.human(each)
    return study, views

"""`gecjury compare`: metrics of any family tried against a benchmark's human judgments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from gecjury.cli.inputs import (
    add_metrics,
    dry_run,
    language_options,
    load_scorers,
    runtime_from,
    up_to,
)
from gecjury.cli.resampling import add_resampling, resampling_from
from gecjury.errors import OptionError
from gecjury.wording import number

if TYPE_CHECKING:
    from gecjury.metaeval.settings import Settings

_MOST_PAIRED = 200  # systems whose pairs make a table that somebody can use


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "benchmark",
        help="seeda, gjg15, gmeg-{dev,test}-{fce,wiki,yahoo}, jfleg, tmu-gfm[-test], "
        "swedish-oestling, autojqe[-test], aqua-{en,uk}, pevdata, sample, or a folder or .toml "
        "file of your own",
    )
    add_metrics(parser)
    add_study_options(parser)


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `compare` and `demo` share; the settings' types say which values there are."""
    from gecjury.benchmarks.table import UNKNOWN_SYSTEMS
    from gecjury.metaeval.settings import ClusterTest, CreditKind, Human, HumanKind, Level
    from gecjury.stats.grouped import GroupBy
    from gecjury.stats.permutation import SystemStatistic
    from gecjury.stats.preferences import TieRule
    from gecjury.stats.ranking import Aggregate

    parser.add_argument(
        "--human",
        choices=get_args(Human),
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
        choices=get_args(Aggregate),
        default="trueskill",
        help="how sentence scores become system scores; corpus: the metric's own",
    )
    parser.add_argument(
        "--level",
        choices=get_args(Level),
        default="all",
        help="what is compared; edit: single edits against annotators' verdicts (SEEDA, AQUA, "
        "PEVData)",
    )
    parser.add_argument(
        "--ties",
        choices=get_args(TieRule),
        default="half",
        help="what becomes of pairs that the metric ties at sentence level (default: half)",
    )
    parser.add_argument(
        "--human-scores",
        choices=get_args(HumanKind),
        help="human column at system level (default: trueskill, where the benchmark has it)",
    )
    parser.add_argument(
        "--shuffles",
        type=up_to(10_000, least=0),
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
    parser.add_argument(
        "--grouping",
        choices=get_args(GroupBy),
        help="segment level (acc_eq with its ε, τ-b, r): compare the corrections of one source, "
        "of one system, or all (default: item where corrections were rated, otherwise left out; "
        "rankings allow item alone)",
    )
    add_resampling(parser)
    parser.add_argument(
        "--statistic",
        choices=tuple(name.replace("_", "-") for name in get_args(SystemStatistic)),
        default="pearson",
        help="what the tests and clusters at system level compare (default: pearson)",
    )
    parser.add_argument(
        "--cluster-test",
        choices=get_args(ClusterTest),
        default="perm-systems",
        help="what the tests and clusters at system level swap between two metrics: whole systems "
        "(default; holds for other systems as well), or single cells (perm-both, PERM-BOTH; holds "
        "for other sentences by these systems)",
    )
    parser.add_argument(
        "--unknown-systems",
        choices=UNKNOWN_SYSTEMS,
        help="judgments of your own that name a system without output: refuse (default), or skip "
        "them and say how many",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")
    parser.add_argument("--html", metavar="FILE", help="write the comparison as one page, too")
    parser.add_argument(
        "--credit",
        nargs="+",
        choices=get_args(CreditKind),
        metavar="KIND",
        help="how metrics credit single edits: counts (a metric's own, under the reference it "
        "takes), any or share (of the references), leave-one-out, add-one or shapley (change of "
        "the sentence score); default: counts, and leave-one-out for metrics without",
    )


def run(args: argparse.Namespace) -> int:
    """Load, score, compare, print."""
    return compare_metrics(args, args.benchmark, args.metrics)


def compare_metrics(args: argparse.Namespace, name: str, metrics: Sequence[str]) -> int:
    """Compare metrics on a benchmark; shared with `demo`."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.metaeval.comparison import Trial
    from gecjury.metaeval.effort import effort, told
    from gecjury.report.comparison import document, tables
    from gecjury.report.tables import print_result

    settings = _settings(args)
    # Metrics first: a typing error costs nothing then.
    scorers = load_scorers(list(metrics))
    benchmark = load_benchmark(
        name,
        systems=args.systems,
        references=args.references,
        view=None if args.human == "both" else args.human,
        data=args.data,
        cache=args.cache,
        unknown_systems=args.unknown_systems,
        **language_options(args),
    )
    systems = len(benchmark.corpus.names)
    if settings.pairwise and systems > _MOST_PAIRED:
        raise OptionError(
            f"--pairwise: {number(systems)} systems would make tables of {number(systems)} × "
            f"{number(systems)} for every metric; expected at most {_MOST_PAIRED}: compare fewer "
            "by --systems, or leave it out"
        )
    runtime = runtime_from(args)
    # What is refused leaves no folder behind.
    trial = Trial.of(benchmark, scorers, settings, runtime)
    if runtime.dry_run:
        dry_run([], benchmark.corpus, runtime, trial.plans())
        return 0
    if text := told(effort(benchmark, len(scorers), settings)):
        print(f"gecjury: {text}", file=sys.stderr, flush=True)
    if args.html:
        from gecjury.report.page.page import check_page

        check_page(args.html)
    found = trial.compare(args.output)
    if args.html:
        from gecjury.report.page.page import write_page

        write_page(args.html, found)
    print_result(tables(found), document(found), args.format)
    return 1 if found.incomplete else 0


def _settings(args: argparse.Namespace) -> Settings:
    """The comparison that the options ask for."""
    from gecjury.metaeval.settings import Settings

    return Settings(
        human=args.human,
        aggregate=args.aggregate,
        level=args.level,
        ties=args.ties,
        human_scores=args.human_scores,
        shuffles=args.shuffles,
        seed=args.seed,
        windows=args.windows,
        pairwise=args.pairwise,
        grouping=args.grouping,
        resampling=resampling_from(args),
        statistic=args.statistic.replace("-", "_"),
        cluster_test=args.cluster_test,
        credit=None if args.credit is None else tuple(args.credit),
    )

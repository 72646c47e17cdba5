"""`gecjury tune`: an option's best value on one benchmark, and what it does on others."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, get_args

from gecjury.addresses import masked
from gecjury.benchmarks.table import View
from gecjury.cli.inputs import named_benchmark, runtime_from
from gecjury.cli.numbers import up_to
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import tell
from gecjury.experiments.tune import Tuned, TuneSettings, check_tuning, tune
from gecjury.experiments.tuning import MEASURES, Tunable, shown
from gecjury.metaeval.study import HUMAN_KINDS
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables
from gecjury.scoring.options import parse
from gecjury.scoring.registry import scorer_class
from gecjury.stats.ranking import Aggregate

_EPILOG = """\
what to tune:
  green:beta=0:5:0.01      any numeric option of any metric, start:stop:step
  green                    β as its paper did: 0 to 5 by 0.01, ten folds, corpus scores
  uot-errant               λ1 = λ2 as its paper did: 0.02 to 1 by 0.02, encoded once
  some:model=DIR           α, β and γ, all hundredths
"""


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges", "data")
    parser.epilog = _EPILOG
    parser.add_argument("what", metavar="WHAT", help="METRIC:OPTION=START:STOP:STEP; see below")
    parser.add_argument("benchmark", metavar="BENCHMARK", help="where the value is found")
    parser.add_argument(
        "--test",
        nargs="+",
        default=[],
        metavar="BENCHMARK",
        help="where it is tried beside the default",
    )
    parser.add_argument("--human", choices=get_args(View), help="which judgments")
    parser.add_argument("--human-scores", choices=HUMAN_KINDS, help="human column")
    parser.add_argument(
        "--systems", default="base", help="system set of every benchmark (default: base)"
    )
    parser.add_argument("--references", nargs="+", default=["official"], metavar="SET")
    parser.add_argument(
        "--aggregate",
        choices=get_args(Aggregate),
        help="system scores of the metric (default: corpus; uot-errant: trueskill; some: mean)",
    )
    parser.add_argument(
        "--folds",
        type=up_to(100_000, least=0),
        metavar="N",
        help="mean of the optima on all but one fold of sentences (default: 10; uot-errant: 1)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the folds")
    parser.add_argument("--curve", action="store_true", help="also the figures of every value")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of score files")


def run(args: argparse.Namespace) -> int:
    """Load, try, find, test, print."""
    settings = TuneSettings(
        human_scores=args.human_scores,
        aggregate=args.aggregate,
        folds=args.folds,
        seed=args.seed,
    )
    check_tuning(args.what, settings)
    benchmark, *tests = (
        named_benchmark(args, name, references=args.references, view=args.human)
        for name in (args.benchmark, *args.test)
    )
    runtime = runtime_from(args)
    found = tune(
        args.what, benchmark, tests, settings=settings, folder=args.output, runtime=runtime
    )
    for warning in found.warnings:
        tell(f"warning: {warning}")
    print_tables(tables(found, args.benchmark, args.curve), document(found), args.format)
    return 0


def document(found: Tuned) -> dict[str, Any]:
    """What JSON shows."""
    benchmark = found.study.benchmark
    result = {
        "what": masked(found.what),
        "benchmark": benchmark.name,
        "systems": list(benchmark.corpus.names),
        "references": benchmark.references,
        "human": benchmark.view,
        "human_scores": found.human_scores,
        "aggregate": found.study.settings.aggregate,
        "seed": found.seed,
        "fingerprint": benchmark.fingerprint,
        "found": [each.row() for each in found.found],
        "elsewhere": [each.row() for each in found.elsewhere],
        "warnings": list(found.warnings),
    }
    if found.grid is None:
        return result
    about = {"option": found.grid.option, "default": found.grid.default, "folds": found.folds}
    return result | about | {"curve": list(found.curve)}


def tables(found: Tuned, benchmark: str, curve: bool) -> list[Table]:
    """What people see.

    Args:
        found: the result.
        benchmark: where the value was found, as the user named it.
        curve: whether every value is shown as well.
    """
    rows = [each.row() for each in found.found]
    if found.grid is None:
        keys = list(found.found[0].values)
        metric = scorer_class(parse(found.what)[0])
        tuning = getattr(metric, "tuning", Tunable.tuning)
        searched, steps = tuning.get("searched", "options"), tuning.get("steps")
        title = f"{metric.__name__}'s {searched} on {benchmark}"
        notes = [
            f"{searched}{f' in {steps}' if steps else ''}; accuracy over decided pairs, "
            "ties count half"
        ]
    else:
        keys = ["value"]
        title = f"{masked(found.what)} on {benchmark}"
        notes = [
            f"{found.grid.option} tried from {shown(found.grid.values)}, default "
            f"{found.grid.default:g}; {_how(found)}",
            f"system scores by {found.study.settings.aggregate}, human {found.human_scores}; "
            "accuracy over decided pairs, ties count half",
        ]
    columns = [Column("measure"), *(Column(key, digits=2) for key in keys)]
    columns += [Column("spread", "s.d. over folds")] if found.grid is not None else []
    columns += [Column("figure", "with it"), Column("default", "with the default")]
    result = [Table(columns, rows, title, notes), *_elsewhere(found, keys)]
    if curve and found.grid is not None:
        columns = [Column("value", found.grid.option), *(Column(m) for m in MEASURES)]
        result.append(Table(columns, found.curve, "Every value, on all sentences"))
    return result


def _how(found: Tuned) -> str:
    if found.folds is None or found.folds < 2:
        return "the optimum on all sentences"
    return f"mean of the optima without each of {found.folds} folds of sentences, seed {found.seed}"


def _elsewhere(found: Tuned, keys: Sequence[str]) -> list[Table]:
    if not found.elsewhere:
        return []
    columns = [Column("benchmark"), Column("human"), Column("measure")]
    columns += [Column(key, digits=2) for key in keys]
    columns += [Column("figure", "with it"), Column("default", "with the default")]
    rows = [each.row() for each in found.elsewhere]
    return [Table(columns, rows, "Elsewhere", found.warnings)]

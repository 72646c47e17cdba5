"""`gecjury tune`: an option's best value on one benchmark, and what it does on others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.experiments.tuning import Found, Grid, Trial
    from gecjury.metaeval.study import Study
    from gecjury.report.tables import Table
    from gecjury.runtime import Runtime
    from gecjury.scoring.scorer import Scorer

__all__ = ["add_arguments", "run"]

_EPILOG = """\
what to tune:
  green:beta=0:5:0.01      any numeric option of any metric, start:stop:step
  green                    β as its paper did: 0 to 5 by 0.01, ten folds, corpus scores
  uot-errant               λ1 = λ2 as its paper did: 0.02 to 1 by 0.02, encoded once
  some:model=DIR           α, β and γ, all hundredths
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
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
    parser.add_argument("--human", choices=("edit", "sentence"), help="which judgments")
    parser.add_argument(
        "--human-scores", choices=("trueskill", "expected-wins", "mean"), help="human column"
    )
    parser.add_argument("--systems", default="base", help="of every benchmark (default: base)")
    parser.add_argument("--references", nargs="+", default=["official"], metavar="SET")
    parser.add_argument(
        "--aggregate",
        choices=("corpus", "trueskill", "expected-wins", "mean"),
        help="system scores of the metric (default: corpus; uot-errant: trueskill; some: mean)",
    )
    parser.add_argument(
        "--folds",
        type=int,
        metavar="N",
        help="mean of the optima on all but one fold of sentences (default: 10; uot-errant: 1)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    parser.add_argument("--curve", action="store_true", help="also the figures of every value")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of score files")


def run(args: argparse.Namespace) -> int:
    """Load, try, find, test, print."""
    from dataclasses import replace
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.report.tables import print_result
    from gecjury.scoring.options import parse
    from gecjury.scoring.registry import scorer_class
    from gecjury.scoring.score_files import check_writable

    name, options = parse(args.what)
    if scorer_class(name).fixed:
        raise OptionError(f"{name}: holds scores of given texts: it has no option to be tuned")
    runtime = runtime_from(args)
    if args.output:
        check_writable(args.output)
        runtime = replace(runtime, scores=Path(args.output))
    ranged = any(value.count(":") == 2 for value in options.values())
    weights = name == "some" and not ranged
    if weights:
        args.aggregate = args.aggregate or "mean"
    tune = _tune_weights if weights else _tune_grid
    shown, document = tune(args, runtime)
    for warning in document["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    print_result(shown, document, args.format)
    return 0


def _study(args: argparse.Namespace, name: str) -> Study:
    """A benchmark to tune or test on; its first human column where the one named is not there."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.metaeval.study import Study

    found: Benchmark = load_benchmark(
        name,
        systems=args.systems,
        references=args.references,
        view=args.human,
        data=args.data,
        cache=args.cache,
    )
    kinds = found.human[found.view]
    kind = args.human_scores if args.human_scores in kinds else None
    return Study(found, args.aggregate or "corpus", human_scores=kind, seed=args.seed)


def _grid(args: argparse.Namespace) -> Grid:
    """What is tried; fills in how its paper did it where the command line is silent."""
    from gecjury.errors import OptionError
    from gecjury.experiments.tuning import PRESETS, parse_grid
    from gecjury.scoring.options import parse

    name, options = parse(args.what)
    what = args.what
    if not any(value.count(":") == 2 for value in options.values()):
        if name not in PRESETS:
            raise OptionError(
                f"tune {args.what}: name an option with a range, e.g. {name}:OPTION=START:STOP:STEP"
            )
        what += ("," if options else ":") + PRESETS[name]["range"]
    grid = parse_grid(what)
    preset = PRESETS.get(name, {})
    if preset.get("range", "=").partition("=")[0] != grid.option:
        preset = {}
    args.aggregate = args.aggregate or preset.get("aggregate", "corpus")
    args.human_scores = args.human_scores or preset.get("human_scores")
    args.folds = preset.get("folds", 10) if args.folds is None else args.folds
    if args.folds < 1:
        raise OptionError(f"--folds {args.folds}: expected 1 (all sentences) or more")
    return grid


def _tune_grid(args: argparse.Namespace, runtime: Runtime) -> tuple[list[Table], dict[str, Any]]:
    from gecjury.errors import OptionError
    from gecjury.experiments.tuning import MEASURES, curves, find_best, fold_draws, shown, trial_of
    from gecjury.report.tables import Column, Table

    grid = _grid(args)
    study = _study(args, args.benchmark)
    if study.few(study.benchmark.view):
        raise OptionError(
            f"{study.benchmark.name} ({study.benchmark.systems}) has fewer than three systems with "
            "human scores: nothing to correlate with; choose another set with --systems"
        )
    grid.scorer().check(study.benchmark.corpus)
    tests = [_study(args, name) for name in args.test]
    draws = fold_draws(len(study.benchmark.corpus), args.folds, args.seed)
    trial = trial_of(
        grid, study, study.benchmark.view, draws, runtime, sentences=_swept(grid, study, runtime)
    )
    every = curves(trial)
    found = [find_best(trial, m) for m in MEASURES if every[m].size and every[m].any()]
    tuned = [_Tuned(f.measure, {"value": f.value}, grid.scorer(_given(trial, f))) for f in found]
    extra = [{"spread": f.spread, "optima": list(f.optima)} for f in found]
    figures = _rows(tuned, grid.scorer(), study, runtime)
    rows = [row | more for row, more in zip(figures, extra, strict=True)]
    warnings, elsewhere = _elsewhere(study, tests, tuned, grid.scorer(), runtime)
    notes = [
        f"{grid.option} tried from {shown(grid.values)}, default {grid.default:g}; "
        + (f"mean of the optima without each of {args.folds} folds of sentences, seed {args.seed}"
           if draws is not None else "the optimum on all sentences"),
        f"system scores by {study.aggregate}, human {study.human_kind(study.benchmark.view)}; "
        "accuracy over decided pairs, ties count half",
    ]  # fmt: skip
    tables = [
        Table(_columns("value"), rows, f"{args.what} on {args.benchmark}", notes),
        *_elsewhere_tables(elsewhere, ["value"], warnings),
    ]
    curve = [
        {"value": value, **{m: every[m][k] for m in MEASURES if every[m].size}}
        for k, value in enumerate(trial.values)
    ]
    if args.curve:
        keys = [Column("value", grid.option), *(Column(m) for m in MEASURES)]
        tables.append(Table(keys, curve, "Every value, on all sentences"))
    document = _document(args, study, rows, elsewhere, warnings)
    document |= {"option": grid.option, "default": grid.default, "folds": args.folds}
    return tables, document | {"curve": curve}


def _given(trial: Trial, found: Found) -> float:
    """The value found, as the option takes it: whole where only whole numbers were tried."""
    return int(found.value) if isinstance(trial.values[0], int) else found.value


def _swept(grid: Grid, study: Study, runtime: Runtime) -> Any:
    """Sentence scores of all values at once, where the metric has a way to get them."""
    from gecjury.scoring.registry import search_of

    scorer = grid.scorer()
    if scorer.name == "uot-errant" and grid.option == "lambda":
        return search_of(scorer.name)(scorer, study.benchmark.corpus, grid.values, runtime)
    return None


def _tune_weights(args: argparse.Namespace, runtime: Runtime) -> tuple[list[Table], dict[str, Any]]:
    """SOME's three weights, by the search that `train weights` does."""
    from gecjury.report.tables import Table
    from gecjury.scoring.registry import load, search_of
    from gecjury.scoring.score_files import score_with_files

    study = _study(args, args.benchmark)
    tests = [_study(args, name) for name in args.test]
    usual = load(args.what)
    values = score_with_files(usual, study.benchmark.corpus, args.output, runtime).statistics.values
    keys = ("alpha", "beta", "gamma")
    tuned = []
    for measure, level in (("accuracy", "sentence"), ("pearson", "system")):
        best = search_of("some")(values, study.benchmark, level)[0]
        weights = {key: best[key] for key in keys}
        tuned.append(_Tuned(measure, weights, load(args.what, **weights)))
    rows = _rows(tuned, usual, study, runtime)
    warnings, elsewhere = _elsewhere(study, tests, tuned, usual, runtime)
    notes = ["weights in hundredths; accuracy over decided pairs, ties count half"]
    tables = [
        Table(_columns(*keys), rows, f"SOME's weights on {args.benchmark}", notes),
        *_elsewhere_tables(elsewhere, list(keys), warnings),
    ]
    return tables, _document(args, study, rows, elsewhere, warnings)


class _Tuned(NamedTuple):
    """A setting that was found: the measure it is best by, its values, the metric with them."""

    measure: str
    values: dict[str, Any]
    scorer: Scorer


def _rows(
    tuned: Sequence[_Tuned], usual: Scorer, study: Study, runtime: Runtime
) -> list[dict[str, Any]]:
    """What the settings found give on a benchmark, each by its measure, beside the default."""
    from gecjury.experiments.tuning import evaluate

    scorers = [usual, *(found.scorer for found in tuned)]
    default, *figures = evaluate(scorers, study, study.benchmark.view, runtime)
    return [
        {"measure": found.measure, **found.values, "figure": own[found.measure],
         "default": default[found.measure]}
        for found, own in zip(tuned, figures, strict=True)
    ]  # fmt: skip


def _elsewhere(
    study: Study, tests: list[Study], tuned: Sequence[_Tuned], usual: Scorer, runtime: Runtime
) -> tuple[list[str], list[dict[str, Any]]]:
    """What the values found do on other benchmarks, beside the default."""
    from gecjury.experiments.tuning import leak_warning

    warnings, rows = [], []
    for test in tests:
        usual.check(test.benchmark.corpus)
        names = study.benchmark.name, test.benchmark.name
        warning = leak_warning(study.benchmark.corpus, test.benchmark.corpus, names)
        warnings += [warning] if warning else []
        where = {"benchmark": names[1], "human": test.benchmark.view}
        rows += [where | row for row in _rows(tuned, usual, test, runtime)]
    return warnings, rows


def _columns(*keys: str) -> list[Any]:
    from gecjury.report.tables import Column

    columns = [Column("measure"), *(Column(key, digits=2) for key in keys)]
    columns += [Column("spread", "s.d. over folds")] if keys == ("value",) else []
    return [*columns, Column("figure", "with it"), Column("default", "with the default")]


def _elsewhere_tables(
    rows: list[dict[str, Any]], keys: list[str], warnings: list[str]
) -> list[Table]:
    from gecjury.report.tables import Column, Table

    if not rows:
        return []
    columns = [Column("benchmark"), Column("human"), Column("measure")]
    columns += [Column(key, digits=2) for key in keys]
    columns += [Column("figure", "with it"), Column("default", "with the default")]
    return [Table(columns, rows, "Elsewhere", warnings)]


def _document(
    args: argparse.Namespace,
    study: Study,
    rows: list[dict[str, Any]],
    elsewhere: list[dict[str, Any]],
    warnings: list[str],
) -> dict[str, Any]:
    benchmark = study.benchmark
    return {
        "what": args.what,
        "benchmark": benchmark.name,
        "systems": list(benchmark.corpus.names),
        "references": benchmark.references,
        "human": benchmark.view,
        "human_scores": study.human_kind(benchmark.view),
        "aggregate": study.aggregate,
        "seed": args.seed,
        "fingerprint": benchmark.fingerprint,
        "found": rows,
        "elsewhere": elsewhere,
        "warnings": warnings,
    }

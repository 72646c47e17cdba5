"""The one path of every study: options in, a study run, its tables printed."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from gecjury.cli.inputs import (
    add_files,
    add_metrics,
    add_outputs,
    add_references,
    add_selection,
    benchmark_or_files,
    check_page,
    language_from,
    named_benchmark,
    print_plans,
    read_files,
    read_two_outputs,
    runtime_from,
    tell_two_golds,
)
from gecjury.cli.options import add_options, settings_of
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import reader_has_gone, set_aside, tell

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.corpus.corpus import Corpus
    from gecjury.report.result import Result
    from gecjury.studies.study import Study

STUDIES = {
    "compare": "gecjury.studies.compare:Compare",
    "demo": "gecjury.studies.compare:Demo",
    "rank": "gecjury.studies.rank:Rank",
    "diff": "gecjury.studies.diff:Diff",
    "maege": "gecjury.studies.maege.study:Maege",
    "tune": "gecjury.studies.tune.study:Tune",
}
"""The class of each study's settings, by command."""


def study_of(command: str) -> type[Study]:
    """Import the class of a study.

    Args:
        command: one of `STUDIES`.
    """
    module, _, name = STUDIES[command].partition(":")
    study: type[Study] = getattr(import_module(module), name)
    return study


def declare(parser: CommandParser) -> None:
    """Declare what a study takes, its metrics and its options.

    Args:
        parser: of the command.
    """
    study = study_of(parser.path)
    parser.needs = study.needs
    parser.epilog = study.epilog
    if study.takes in ("benchmark", "either", "m2"):
        parser.needs += ("data",)
    if study.metric:
        parser.add_argument("metrics", metavar="METRIC", nargs=1, help=study.metric)
    if study.takes == "files":
        add_files(parser)
    elif study.takes == "two outputs":
        add_outputs(parser)
    elif study.takes == "benchmark":
        parser.add_argument("inputs", metavar="benchmark", nargs=1, help=study.data)
    elif study.takes in ("either", "m2"):
        parser.add_argument("inputs", metavar=study.data_name, nargs="+", help=study.data)
    if study.takes == "either":
        add_references(parser, study.use_of_references)
    if not study.metric:
        add_metrics(parser, study.metrics)
    add_options(parser, study)
    if study.takes in ("benchmark", "sample"):
        add_selection(parser)
    if study.keeps:
        parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")
    if study.page:
        parser.add_argument("--html", metavar="FILE", help="write the result as one page, too")


def run(args: argparse.Namespace) -> int:
    """Run the study that the options ask for, and print its result."""
    from gecjury.studies.study import Work

    study = settings_of(study_of(args.command), args)
    if not args.metrics and (usual := study.usual_metrics())[0]:
        args.metrics = usual[0]
        if usual[1]:
            tell(usual[1])
    work = Work.of(
        study,
        lambda: _data(args, study),
        args.metrics,
        runtime_from(args),
        getattr(args, "output", None),
        getattr(args, "inputs", ()),
    )
    if study.takes == "benchmark":
        work = replace(work, further=lambda name: _benchmark(args, study, name))
    study.check(work)
    if study.takes in ("files", "two outputs"):
        tell_two_golds(args, work.scorers, work.corpus)
    if work.runtime.dry_run:
        print_plans(study.plans(work))
        return 0
    if getattr(args, "html", None):
        check_page(args.html)
    if not args.quiet and (warning := study.warning(work)):
        tell(warning)
    result = study.run(work)
    if getattr(args, "html", None):
        from gecjury.textfiles import write_text

        write_text(args.html, study.html(result))
    return shown(result, args.format)


def shown(result: Result, form: str) -> int:
    """Print a result and what it says of itself; return the exit status."""
    from gecjury.report.result import print_result

    try:
        print_result(result, form)
        sys.stdout.flush()
    except BrokenPipeError:
        # Where the reader has gone a command ends with 0, and a gate would have passed.
        if not result.status or not reader_has_gone():
            raise
        set_aside(sys.stdout)
    for line in result.said:
        tell(line)
    return result.status


def _data(args: argparse.Namespace, study: Study) -> Corpus | Benchmark:
    if study.takes == "files":
        return read_files(args)
    if study.takes == "two outputs":
        return read_two_outputs(args)
    if study.takes in ("benchmark", "sample"):
        return _benchmark(args, study, args.inputs[0] if study.takes == "benchmark" else "sample")
    if study.takes == "m2":
        named = args.lang or args.tokens or args.fold or args.tagger
        language = language_from(args) if named else None
        return study.read(args.inputs, runtime_from(args), language)
    corpus, benchmark = benchmark_or_files(
        args, args.inputs, args.references, args.reference_files, args.m2
    )
    return benchmark or corpus


def _benchmark(args: argparse.Namespace, study: Study, name: str) -> Benchmark:
    return named_benchmark(
        args,
        name,
        references=args.references,
        view=study.view,
        unknown_systems=args.unknown_systems,
    )

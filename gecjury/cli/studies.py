"""The common path of all studies: read options, run the study, print its tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gecjury.cli.inputs import (
    DatasetOptions,
    Outputs,
    Selection,
    Sentence,
    TwoOutputs,
    add_metrics,
    add_references,
    benchmark_or_files,
    check_page,
    language_from,
    may_be_dataset,
    named_benchmark,
    print_plans,
    read_files,
    read_sentence,
    read_two_outputs,
    runtime_from,
    tell_two_golds,
)
from gecjury.cli.options import add_options, settings_of
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data, reader_has_gone, set_aside, tell
from gecjury.core.errors import OptionError

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus
    from gecjury.report.result import Result
    from gecjury.studies.study import Read, Study

STUDIES = {
    "score": "gecjury.studies.systems.score:Score",
    "rank": "gecjury.studies.systems.rank:Rank",
    "diff": "gecjury.studies.systems.diff:Diff",
    "alarms": "gecjury.studies.systems.alarms:Alarms",
    "explain": "gecjury.studies.explain:Explain",
    "compare": "gecjury.studies.compare:Compare",
    "demo": "gecjury.studies.compare:Demo",
    "analyse norms": "gecjury.studies.analyses:Norms",
    "analyse map": "gecjury.studies.analyses:Map",
    "analyse edits": "gecjury.studies.analyses:Edits",
    "analyse scatter": "gecjury.studies.analyses:Scatter",
    "analyse lambda": "gecjury.studies.analyses:Lambda",
    "pick": "gecjury.studies.pick:Pick",
    "power": "gecjury.studies.power:Power",
    "attack": "gecjury.studies.attack:Attack",
    "estimate": "gecjury.studies.estimate:Estimate",
    "maege": "gecjury.studies.maege.study:Maege",
    "tune": "gecjury.studies.tune.study:Tune",
}
"""The settings class of each study, by command, or by command and action."""

_FILES: Mapping[str, tuple[type, Callable[[argparse.Namespace], Corpus]]] = {
    "files": (Outputs, read_files),
    "files or dataset": (Outputs, partial(read_files, on_disk=True)),
    "two outputs": (TwoOutputs, read_two_outputs),
    "sentence": (Sentence, read_sentence),
}
"""Arguments of studies of files, and the function that reads them."""


_FORMATS = {".json": "json", ".tsv": "tsv", ".md": "markdown", ".tex": "latex"}
"""The usual format of results by file suffix."""


def study_of(command: str) -> type[Study]:
    """Import the class of a study."""
    module, _, name = STUDIES[command].partition(":")
    study: type[Study] = getattr(import_module(module), name)
    return study


def actions_of(command: str) -> dict[str, str]:
    """Return the actions of a command that are studies, with one line of help each."""
    paths = [path for path in STUDIES if path.startswith(f"{command} ")]
    return {path.partition(" ")[2]: _summary(study_of(path)) for path in paths}


def _summary(study: type[Study]) -> str:
    """Return the first line of a study's help, without capital and full stop, for its action."""
    line = (study.__doc__ or "").partition("\n")[0].rstrip(".")
    return line[0].lower() + line[1:] if line[1:2].islower() else line


def declare(parser: CommandParser) -> None:
    """Declare a study's inputs, metrics and options."""
    study = study_of(parser.path)
    datasets = study.takes == "files or dataset"
    parser.needs = study.needs
    parser.epilog = study.epilog
    # Commands that accept only files never look for benchmark data, and have no --data.
    if study.takes in ("benchmark", "benchmarks", "either", "m2"):
        parser.needs += ("data",)
    if study.what:
        parser.add_argument("metrics", metavar="METRIC", nargs=1, help=study.what)
    if study.takes in _FILES:
        add_options(parser, _FILES[study.takes][0])
    elif study.takes == "benchmark":
        parser.add_argument("inputs", metavar="benchmark", nargs=1, help=study.data)
    elif study.takes == "benchmarks":
        parser.add_argument("inputs", metavar="benchmark", nargs="+", help=study.data)
    elif study.takes in ("either", "m2"):
        parser.add_argument("inputs", metavar=study.data_name, nargs="+", help=study.data)
    if study.takes == "either":
        add_references(parser, study.use_of_references)
    if study.metrics is None:
        parser.set_defaults(metrics=())
    elif not study.what:
        add_metrics(parser, study.metrics)
    # The study's own options come before the selection of data and the output options.
    add_options(parser, study)
    if study.takes in ("benchmark", "benchmarks"):
        add_options(parser, Selection)
    elif study.takes == "sample":
        parser.set_defaults(systems=None, references=None)
    if study.keeps:
        more = "; for a dataset, the folder of its rows' scores" if datasets else ""
        kept = f"keep one score file per metric{more}"
        parser.add_argument("-o", "--output", metavar="DIR", help=kept)
    if study.page:
        parser.add_argument(
            "--html", metavar="FILE", help="also write the result as a single HTML page"
        )
    more = "print all columns, notes and signatures, not only the main results"
    parser.add_argument("--verbose", action="store_true", help=more)
    if study.draws:
        kinds = "draw it: .png, .pdf or .svg"
        parser.add_argument(study.draws, dest="figure", metavar="FILE", help=kinds)
    if datasets:
        about = "rows of files of any size (docs/guides/scale.md)"
        add_options(parser.add_argument_group("datasets", about), DatasetOptions)
        by_name = {action.dest: action for action in parser._actions}
        rows = "; or a dataset: Parquet, JSON lines, a folder or glob of them, hf:NAME[:SPLIT]"
        by_name["source"].help = f"{by_name['source'].help}{rows}"
        # A dataset may be the only input; for text files, the reader reports missing outputs.
        by_name["hypotheses"].required = False
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the study that the options describe, and print its result."""
    from gecjury.studies.study import Work

    study = settings_of(study_of(args.parser.path), args)
    if study.keeps:
        _check_folder(args.output, study)
    if study.takes == "files or dataset" and may_be_dataset(args):
        from gecjury.cli.datasets import run_dataset, wants_dataset

        if wants_dataset(args):
            return run_dataset(args)
    # A figure that cannot be drawn must be reported before hours of scoring.
    figure = getattr(args, "figure", None)
    if figure:
        from gecjury.report.figures import check_figure

        check_figure(figure)
    if not args.metrics and (usual := study.usual_metrics())[0]:
        args.metrics = usual[0]
        if usual[1]:
            tell(usual[1])
    # Data is read by a function, so that a wrong metric is reported before any file is opened.
    work = Work.of(
        study,
        lambda: _data(args, study),
        args.metrics,
        runtime_from(args),
        args.output if study.keeps else None,
        getattr(args, "inputs", ()),
    )
    if study.takes == "benchmark":
        work = replace(work, further=lambda name: named_benchmark(args, name, study.view))
    # All checks are made before a model or a service is used.
    study.check(work)
    if study.takes in ("files", "files or dataset", "two outputs"):
        tell_two_golds(args, work.scorers, work.corpus)
    # A dry run ends here, since the next steps write files or send requests.
    if work.runtime.dry_run:
        print_plans(study.plans(work))
        return 0
    page = getattr(args, "html", None) or study.usual_page
    if page:
        check_page(page)
    if not args.quiet and (warning := study.warning(work)):
        tell(warning)
    # The checks are done; the following steps cost time and money.
    result = study.run(work)
    if page:
        from gecjury.core.textfiles import write_text

        write_text(page, study.html(result), follow=True)
    if figure:
        if result.draw is None:
            raise OptionError(f"{study.draws} {figure}: there is nothing to draw in this result")
        result.draw(figure)
    if page:
        # The page comes last, where users look.
        tell(f"page: {Path(page).absolute()}")
    return shown(result, args.format, args.verbose)


def _check_folder(output: str | None, study: Study) -> None:
    """Refuse an output folder that is named like a file of results, before it is created.

    Raises:
        OptionError: says how the file is written.
    """
    kind = Path(output or "").suffix.lower()
    if output is None or Path(output).is_dir() or kind not in (".html", ".htm", *_FORMATS):
        return
    remedy = f"for {kind} use --format {_FORMATS[kind]} > {output}" if kind in _FORMATS else ""
    if not remedy:
        remedy = "for a page use --html" if study.page else "this command writes no page"
    raise OptionError(f"-o {output}: -o is a folder; {remedy}")


def shown(result: Result, form: str, verbose: bool = False) -> int:
    """Print a result with its messages, and return the exit status."""
    from gecjury.report.result import print_result

    try:
        if result.text is None or form == "json":
            print_result(result, form, verbose)
        else:
            print_data(result.text)
        sys.stdout.flush()
    except BrokenPipeError:
        # If the reader of stdout has gone, a command exits with 0, and a gate would have passed.
        if not result.status or not reader_has_gone():
            raise
        set_aside(sys.stdout)
    for line in result.said:
        tell(line)
    return result.status


def _data(args: argparse.Namespace, study: Study) -> Read:
    if study.takes in _FILES:
        return _FILES[study.takes][1](args)
    if study.takes == "benchmarks" and len(args.inputs) > 1:
        return tuple(named_benchmark(args, name, study.view) for name in args.inputs)
    if study.takes in ("benchmark", "benchmarks", "sample"):
        name = "sample" if study.takes == "sample" else args.inputs[0]
        return named_benchmark(args, name, study.view)
    if study.takes == "m2":
        named = args.lang or args.tokens or args.fold
        language = language_from(args) if named else None
        return study.read(args.inputs, runtime_from(args), language)
    return benchmark_or_files(args)

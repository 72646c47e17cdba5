"""The common path of all studies: read options, run the study, print its tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gecjury.cli.options import add_options, arguments_of, refuse_useless, runtime_from, settings_of
from gecjury.cli.parsers import VERBOSE, CommandParser
from gecjury.cli.streams import print_data, reader_has_gone, set_aside, tell
from gecjury.core.errors import OptionError, OutputError
from gecjury.studies import study_of
from gecjury.studies.inputs import Arguments, Shared, named_benchmark

if TYPE_CHECKING:
    from gecjury.report.result import Result
    from gecjury.scoring.scores import Plan
    from gecjury.studies.study import Study

_FORMATS = {".json": "json", ".tsv": "tsv", ".md": "markdown", ".tex": "latex"}
"""The usual format of results by file suffix."""


def declare(parser: CommandParser) -> None:
    """Declare a study's inputs, metrics and options."""
    study = study_of(parser.path)
    inputs = study.inputs
    # Commands that accept only files never look for benchmark data, and have no --data.
    parser.needs = (*study.needs, "data") if inputs.metavar else study.needs
    parser.epilog = study.epilog
    parser.presets, parser.usual = study.presets, study.usual
    if inputs.metric:
        parser.add_argument("metrics", metavar="METRIC", nargs=1, help=inputs.metric)
    if inputs.metavar:
        parser.add_argument(
            "inputs", metavar=inputs.metavar, nargs=inputs.count, help=inputs.meaning
        )
    if inputs.options:
        add_options(parser, inputs.options)
    if study.metrics is None or inputs.described:
        parser.set_defaults(metrics=())
    elif not inputs.metric:
        # A study without a meaning of its own requires the option.
        meaning = "`name` or `name:option=value,...`; repeat for more (see `gecjury metrics`)"
        parser.add_argument(
            "-m",
            "--metric",
            dest="metrics",
            metavar="METRIC",
            action="append",
            required=not study.metrics,
            default=[],
            help=study.metrics or meaning,
        )
    if not inputs.described:
        add_options(parser, study)
    if where := study.keeps:
        parser.add_argument(
            "-o", "--output", metavar=where.metavar, required=where.required, help=where.meaning
        )
    if study.page:
        parser.add_argument(
            "--html", metavar="FILE", help="also write the result as a single HTML page"
        )
    parser.add_argument("--verbose", action="store_true", help=VERBOSE)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the study that the options describe, and print its result."""
    from gecjury.studies.study import Work

    kind, typed = study_of(args.parser.path), args.parser.as_typed
    # Errors in options are reported before any file is read.
    if not kind.inputs.described:
        refuse_useless(args, kind)
    study = settings_of(kind, args)
    given = _arguments(args, kind)
    if study.keeps and study.keeps.metavar == "DIR" and given.output is not None:
        _check_folder(given.output, study)
    study, given = study.asked(given)
    metrics, said = (given.metrics, "") if given.metrics else study.usual_metrics()
    if said:
        tell(said)
    runtime = runtime_from(args, log=study.logs)
    # Data is read by a function, so that a wrong metric is reported before any file is opened.
    work = Work.of(
        study,
        lambda: study.inputs.read(given, study, runtime),
        metrics,
        runtime,
        given.output,
        given.names,
    )
    work = replace(work, further=lambda name: named_benchmark(given, name, study.view))
    # All checks are made before a model or a service is used.
    study.check(work)
    if note := study.inputs.note(given, work.data, work.scorers):
        runtime.tell(note)
    # A dry run ends here, since the next steps write files or send requests.
    if runtime.dry_run:
        if (rehearsal := study.rehearse(work)) is not None:
            return shown(study.with_settings(rehearsal).worded(typed), args.format)
        _print_plans(study.plans(work), args.format)
        return 0
    page = given.page or (study.page if isinstance(study.page, str) else "")
    if given.page:
        _check_page(given.page)
    if not args.quiet and (warning := study.warning(work)):
        runtime.tell(warning)
    # The checks are done; the following steps cost time and money.
    try:
        result = study.with_settings(study.run(work)).worded(typed)
    except KeyboardInterrupt as stop:
        # A training says itself what it keeps.
        raise stop if stop.args else KeyboardInterrupt(study.kept(work)) from None
    # A page has everything.
    more = "" if page else "--verbose, or --html page.html" if study.page else "--verbose"
    try:
        return shown(result, args.format, args.verbose, more)
    finally:
        # The page comes last, where users look; without it there are still the tables.
        if page:
            _write_page(page, study.html(result), required=bool(given.page))


def _arguments(args: argparse.Namespace, kind: type[Study]) -> Arguments:
    """Return what the command line names besides the settings of a study."""
    options = kind.inputs.options
    return Arguments(
        names=tuple(getattr(args, "inputs", ())),
        options=options and arguments_of(options, args),
        metrics=tuple(args.metrics),
        shared=arguments_of(Shared, args),
        output=args.output if kind.keeps else None,
        page=getattr(args, "html", None),
    )


def _write_page(page: str, text: str, *, required: bool) -> None:
    """Write a page and say where it is; one that nobody named may be missing.

    Raises:
        OutputError: a required page cannot be written.
    """
    from gecjury.core.durable import write_text

    try:
        write_text(page, text, follow=True)
    except OutputError as error:
        if required:
            raise
        tell(f"gecjury: no page: {error}; name another one with --html")
    else:
        tell(f"page: {Path(page).absolute()}")


def _check_folder(output: str, study: Study) -> None:
    """Refuse an output folder that is named like a file of results, before it is created.

    Raises:
        OptionError: says how the file is written.
    """
    kind = Path(output).suffix.lower()
    if Path(output).is_dir() or kind not in (".html", ".htm", *_FORMATS):
        return
    remedy = f"for {kind} use --format {_FORMATS[kind]} > {output}" if kind in _FORMATS else ""
    if not remedy:
        remedy = "for a page use --html" if study.page else "this command writes no page"
    raise OptionError(f"-o {output}: -o is a folder; {remedy}")


def shown(result: Result, form: str, verbose: bool = False, more: str = "") -> int:
    """Print a result with its messages, and return the exit status.

    Args:
        more: how to get what people do not see without `verbose`.
    """
    from gecjury.report.result import print_result

    try:
        # A result without any text, such as that of a second process, prints nothing.
        paper = result.paper is not None and form in ("latex", "markdown")
        if result.text is None or paper or (form == "json" and result.text):
            print_result(result, form, verbose, more)
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


def _check_page(path: str) -> None:
    """Check that a page can be written before any work is done; keep an existing file.

    Raises:
        OutputError: it is a folder, or its folder cannot be created or written to.
    """
    from gecjury.core.durable import check_place

    with suppress(OSError):  # writing it later reports the reason
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    check_place(path)


def _print_plans(plans: Sequence[Plan], form: str) -> None:
    """Print the requests that would be sent to paid services: a sentence, or JSON."""
    from gecjury.report.tables import print_json
    from gecjury.scoring.scores import Plan

    total = Plan.total(plans)
    if form == "json":
        metrics = [{**plan.details, **plan.record()} for plan in plans]
        print_json({**total.record(), "metrics": metrics})
    else:
        text = total.in_words() if plans else "no requests, since no metric asks a service"
        print_data(f"This run would send {text}; nothing was sent.\n")

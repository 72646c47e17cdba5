"""`gecjury check`: the input doctor."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gecjury.cli.options import refuse_useless
from gecjury.cli.parsers import VERBOSE, CommandParser, declares
from gecjury.core.settings import option
from gecjury.studies.inputs import Outputs

if TYPE_CHECKING:
    from gecjury.corpus.doctor import Finding


@dataclass(frozen=True, kw_only=True)
class Checked(Outputs):
    """Files to check, and where repaired copies go.

    Attributes:
        fix: write repaired copies of outputs and references whose lines do not fit the source to
            this folder, with a report of every change; no existing file is replaced.
        fill: with --fix, put the unchanged source where a line is missing.
    """

    fix: str | None = option(None, metavar="FOLDER")
    fill: bool = option(False, needs={"": ("fix",)})


def add_arguments(parser: CommandParser) -> None:
    """Declare the files and `--verbose`."""
    declares(Checked)(parser)
    parser.add_argument("--verbose", action="store_true", help=VERBOSE)


def run(args: argparse.Namespace) -> int:
    """Report on all files; exit 2 if any finding makes scoring impossible."""
    from gecjury.core.errors import OptionError
    from gecjury.corpus.doctor import examine

    if args.split:
        raise OptionError("--split is for commands that score; check looks at files as they are")
    files = (args.source, args.hypotheses, args.references, args.m2)
    refuse_useless(args, Checked)
    reports, findings = examine(*files, args.source_text, fix=args.fix, fill=args.fill)
    records = [report.record() for report in reports]
    columns = ("role", "name", "lines", "tokens", "empty", "unchanged")
    return print_findings(records, columns, findings, args)


def print_findings(
    files: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    findings: Sequence[Finding],
    args: argparse.Namespace,
) -> int:
    """Print the findings about files; return 2 if any is an error, 0 otherwise.

    People see the files only if there are no findings, or with `--verbose`.

    Args:
        files: one record per file.
        columns: keys of these records that tables show.
        args: the format, and whether everything is printed.
    """
    from gecjury.report.result import Column, Result, Table, print_result

    # Readable formats omit a table without columns; JSON has an empty list for it.
    shown = [Column(key) for key in ("level", "file", "message")] if findings else []
    typed = args.parser.as_typed
    rows = [{**asdict(one), "message": typed(one.message)} for one in findings]
    levels = Counter(finding.level for finding in findings)
    size = len(files)
    counts = [f"{number} {level}{'s' * (number != 1)}" for level, number in levels.items()]
    result = Result(
        (
            Table(shown, rows, "Findings", name="findings"),
            Table([Column(key) for key in columns], files, "Files", name="files"),
        ),
        verdict=(f"{', '.join(counts) or 'nothing found'} in {size} file{'s' * (size != 1)}.",),
    )
    print_result(result, args.format, args.verbose, "--verbose")
    return 2 if any(finding.level == "error" for finding in findings) else 0

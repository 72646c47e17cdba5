"""`gecjury check`: the input doctor."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gecjury.cli.options import refuse_useless
from gecjury.cli.parsers import declares
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


add_arguments = declares(Checked)


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
    return print_findings(records, columns, findings, args.format)


def print_findings(
    files: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    findings: Sequence[Finding],
    form: str,
) -> int:
    """Print the findings about files; return 2 if any is an error, 0 otherwise.

    Args:
        files: one record per file.
        columns: keys of these records that tables show.
        form: one of `gecjury.report.tables.FORMATS`.
    """
    from gecjury.report.result import Column, Result, Table, print_result

    # Readable formats omit a table without columns; JSON has an empty list for it.
    shown = [Column(key) for key in ("level", "file", "message")] if findings else []
    tables = (
        Table([Column(key) for key in columns], files, "Files", name="files"),
        Table(shown, [asdict(finding) for finding in findings], "Findings", name="findings"),
    )
    print_result(Result(tables), form)
    return 2 if any(finding.level == "error" for finding in findings) else 0

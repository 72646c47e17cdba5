"""`gecjury check`: the input doctor."""

from __future__ import annotations

import argparse

from gecjury.cli.inputs import add_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_files(parser)


def run(args: argparse.Namespace) -> int:
    """Report on all files; exit 2 if any finding makes scoring impossible."""
    from gecjury.corpus.doctor import examine
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables

    reports, findings = examine(args.source, args.hypotheses, args.references, args.m2)
    files = [
        {
            "role": report.role,
            "name": report.name,
            "file": report.path,
            "lines": len(report.lines),
            "tokens": report.tokens,
            "empty": report.empty,
            "unchanged": report.unchanged,
        }
        for report in reports
    ]
    found = [{"level": f.level, "file": f.path, "message": f.message} for f in findings]
    columns = [Column(key) for key in ("role", "name", "lines", "tokens", "empty", "unchanged")]
    tables = [Table(columns, files, title="Files")]
    if found:
        shown = [Column(key) for key in ("level", "file", "message")]
        tables.append(Table(shown, found, title="Findings"))
    print_tables(tables, {"files": files, "findings": found}, args.format)
    return 2 if any(finding.level == "error" for finding in findings) else 0

"""`gecjury score`: corpus and sentence scores of any hypotheses with any metrics."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gecjury.commands.inputs import (
    add_files,
    add_metrics,
    audit_tables,
    dry_run,
    load_scorers,
    read_files,
)

if TYPE_CHECKING:
    from gecjury.scoretable import ScoreTable

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_files(parser)
    add_metrics(parser)
    parser.add_argument("--sentences", action="store_true", help="print every sentence's score")
    parser.add_argument("-o", "--output", metavar="DIR", help="write one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Score, print, and write score files if asked."""
    from gecjury.cli import runtime_from
    from gecjury.report import Column, Table, print_result
    from gecjury.scorefiles import check_writable, score_with_files

    scorers = load_scorers(args.metrics)
    corpus = read_files(args)
    for scorer in scorers:
        scorer.check(corpus)
    runtime = runtime_from(args)
    if dry_run(scorers, corpus, runtime):
        return 0
    if args.output:
        check_writable(args.output)
    tables = [score_with_files(scorer, corpus, args.output, runtime) for scorer in scorers]
    rows = [row for table in tables for row in _rows(table, args.sentences)]
    columns = [Column(key, digits=4) for key in ("system", "metric", "score")]
    columns += [
        Column(key, digits=4) for key in ("precision", "recall") if any(key in r for r in rows)
    ]
    notes = [str(table.signature) for table in tables]
    notes += [note for table in tables for note in table.statistics.notes]
    shown = [Table(columns, rows, notes=notes)]
    if args.sentences:
        shown.append(_sentence_table(tables))
    shown += audit_tables(tables)
    document: dict[str, Any] = {
        "rows": [{**row, "signature": str(row["signature"])} for row in rows]
    }
    audits = {
        str(table.signature): table.statistics.details["audit"]["members"]
        for table in tables
        if "audit" in table.statistics.details
    }
    if audits:
        document["audits"] = audits
    print_result(shown, document, args.format)
    return 1 if any(table.unanswered for table in tables) else 0


def _rows(table: ScoreTable, sentences: bool) -> list[dict[str, Any]]:
    rows = []
    for index, system in enumerate(table.systems):
        row: dict[str, Any] = {
            "system": system,
            "metric": table.signature.metric,
            "family": table.signature.family,
            "signature": table.signature,
            "score": table.by_system.score[index],
        }
        if table.by_system.precision is not None and table.by_system.recall is not None:
            row["precision"] = table.by_system.precision[index]
            row["recall"] = table.by_system.recall[index]
        if sentences:
            row["sentences"] = table.by_sentence.score[index]
        rows.append(row)
    return rows


def _sentence_table(tables: list[ScoreTable]) -> Any:
    from gecjury.report import Column, Table

    columns = [Column("line"), Column("metric")]
    columns += [Column(system, digits=4) for system in tables[0].systems]
    rows = [
        {
            "line": line + 1,
            "metric": table.signature.metric,
            **dict(zip(table.systems, table.sentences[:, line], strict=True)),
        }
        for table in tables
        for line in range(table.sentences.shape[1])
    ]
    return Table(columns, rows, title="Sentence scores")

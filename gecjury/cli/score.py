"""`gecjury score`: corpus and sentence scores of any hypotheses with any metrics."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import add_files, add_metrics, score_files
from gecjury.report.tables import audit_tables

if TYPE_CHECKING:
    from gecjury.scoring.scores import ScoreTable

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_files(parser)
    add_metrics(parser)
    parser.add_argument("--sentences", action="store_true", help="print every sentence's score")
    parser.add_argument(
        "--by-type",
        type=int,
        choices=(1, 2, 3),
        help="also counts by error type: 1 operation (M, R, U), 2 category, 3 both",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="write one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Score, print, and write score files if asked."""
    from gecjury.report.tables import Column, Table, print_result

    tables = score_files(args)
    if tables is None:
        return 0
    rows = [row for table in tables for row in _rows(table, args.sentences)]
    columns = [Column(key, digits=4) for key in ("system", "metric", "score")]
    columns += [
        Column(key, digits=4) for key in ("precision", "recall") if any(key in r for r in rows)
    ]
    told = list(dict.fromkeys(note for table in tables for note in table.statistics.notes))
    shown = [Table(columns, rows, notes=[*(str(table.signature) for table in tables), *told])]
    if args.sentences:
        shown.append(_sentence_table(tables))
    if args.by_type:
        shown.append(_type_table(tables, args.by_type, rows))
    shown += audit_tables(tables)
    document: dict[str, Any] = {
        "rows": [{**row, "signature": str(row["signature"])} for row in rows],
        "notes": told,
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
            "metric": table.signature.label,
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
    from gecjury.report.tables import Column, Table

    columns = [Column("line"), Column("metric")]
    # A system may be called `line` or `metric`: its column is then told apart from those.
    keys = {n: f"system {n}" if n in ("line", "metric") else n for n in tables[0].systems}
    columns += [Column(key, digits=4) for key in keys.values()]
    rows = [
        {
            "line": line + 1,
            "metric": table.signature.label,
            **{
                keys[name]: score
                for name, score in zip(table.systems, table.sentences[:, line], strict=True)
            },
        }
        for table in tables
        for line in range(table.sentences.shape[1])
    ]
    return Table(columns, rows, title="Sentence scores")


def _type_table(tables: list[ScoreTable], level: int, rows: list[dict[str, Any]]) -> Any:
    """Counts by error type, for metrics that tell them; also put into the rows for JSON."""
    from gecjury.errors import OptionError
    from gecjury.report.tables import Column, Table

    shown: list[dict[str, Any]] = []
    for table in tables:
        for system, counts in table.statistics.details.get("by_type", {}).items():
            merged: dict[str, list[float]] = {}
            for kind, values in counts.items():
                operation, _, category = kind.partition(":")
                key = {1: operation, 2: category or kind, 3: kind}[level]
                old = merged.setdefault(key, [0.0, 0.0, 0.0])
                merged[key] = [a + b for a, b in zip(old, values, strict=True)]
            entries = [_type_row(*item) for item in sorted(merged.items())]
            shown += [{"system": system, "metric": table.signature.label, **e} for e in entries]
            for row in rows:
                if (row["system"], str(row["signature"])) == (system, str(table.signature)):
                    row["by_type"] = {entry.pop("type"): entry for entry in map(dict, entries)}
    if not shown:
        raise OptionError("--by-type: none of the metrics named counts error types; errant does")
    keys = ("system", "metric", "type", "tp", "fp", "fn", "precision", "recall", "f0.5")
    return Table([Column(key) for key in keys], shown, title="By error type")


def _type_row(kind: str, counts: list[float]) -> dict[str, Any]:
    """One error type's counts, and what they make by ERRANT's rule."""
    import numpy as np

    from gecjury.refbased.counts import precision_recall_f

    tp, fp, fn = (int(value) if float(value).is_integer() else value for value in counts)
    precision, recall, score = map(float, precision_recall_f(*np.array([tp, fp, fn]), beta=0.5))
    return {
        "type": kind,
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "precision": precision,
        "recall": recall,
        "f0.5": score,
    }

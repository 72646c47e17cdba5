"""`gecjury score`: scores of any hypotheses with any metrics, of text files or of datasets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, get_args

from gecjury.cli.datasets import add_dataset_options, run_dataset, wants_dataset
from gecjury.cli.inputs import add_files, add_metrics, files_to_score
from gecjury.cli.numbers import up_to
from gecjury.cli.parsers import CommandParser
from gecjury.experiments.score import (
    CostlySentence,
    Scored,
    TypeLevel,
    costly_sentences,
    score,
)
from gecjury.report.result import Column, Table
from gecjury.report.tables import audit_tables, print_tables

_ON_PAGE = 20  # sentences of each system that cost most


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges", "plans")
    add_files(parser, datasets=True)
    add_metrics(parser)
    parser.add_argument("--sentences", action="store_true", help="print every sentence's score")
    parser.add_argument(
        "--by-type",
        type=int,
        choices=get_args(TypeLevel),
        help="also counts by error type: 1 operation (M, R, U), 2 category, 3 both",
    )
    parser.add_argument(
        "--worst", type=up_to(10_000), metavar="N", help="the N sentences that cost most, by system"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page: totals, types, sentences")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="write one score file a metric; of a dataset the folder of its rows' scores",
    )
    add_dataset_options(parser)


def run(args: argparse.Namespace) -> int:
    """Score, print, and write score files if asked."""
    if wants_dataset(args):
        return run_dataset(args)
    given = files_to_score(args)
    if given is None:
        return 0
    scorers, corpus, runtime = given
    found = score(corpus, metrics=scorers, folder=args.output, runtime=runtime)
    rows = found.rows(sentences=args.sentences, by_type=args.by_type)
    shown = tables(found, rows, sentences=args.sentences, by_type=args.by_type)
    printed = document(found, rows)
    if args.worst or args.html:
        worst = costly_sentences(found, scorers, corpus, args.worst or _ON_PAGE)
        if args.html:
            from gecjury.report.page.scores import scores_html
            from gecjury.textfiles import write_text

            write_text(args.html, scores_html(found, worst, corpus.language.code))
        if args.worst:
            shown.append(worst_table(worst))
            printed["worst"] = [vars(each) for each in worst]
    print_tables(shown, printed, args.format)
    return 1 if found.unanswered else 0


def document(found: Scored, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What JSON shows.

    Args:
        found: the scores.
        rows: its records, with what was asked for.
    """
    result: dict[str, Any] = {"rows": list(rows), "notes": list(found.notes)}
    return result | ({"audits": found.audits} if found.audits else {})


def tables(
    found: Scored, rows: Sequence[dict[str, Any]], *, sentences: bool, by_type: TypeLevel | None
) -> list[Table]:
    """What people see: corpus scores, and whatever else was asked for."""
    columns = [Column(key, digits=4) for key in ("system", "metric", "score")]
    columns += [
        Column(key, digits=4) for key in ("precision", "recall") if any(key in r for r in rows)
    ]
    notes = [*(str(table.signature) for table in found.tables), *found.notes]
    shown = [Table(columns, rows, notes=notes)]
    if sentences:
        shown.append(_sentence_table(found))
    if by_type:
        shown.append(_type_table(found, by_type))
    return shown + audit_tables(list(found.tables))


def _sentence_table(found: Scored) -> Table:
    columns = [Column("line"), Column("metric")]
    # A system may be called `line` or `metric`: its column is then told apart from those.
    systems = found.tables[0].systems
    keys = {n: f"system {n}" if n in ("line", "metric") else n for n in systems}
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
        for table in found.tables
        for line in range(table.sentences.shape[1])
    ]
    return Table(columns, rows, title="Sentence scores")


def worst_table(worst: Sequence[CostlySentence]) -> Table:
    """The sentences that cost most, for people."""
    columns = [Column(key) for key in ("system", "metric", "line")]
    columns += [Column("score", digits=4), Column("cost", digits=5), Column("marked", "correction")]
    notes = [
        "cost: by how much the corpus score is higher without the sentence; edits as [old→new]"
    ]
    return Table(columns, [vars(each) for each in worst], "Sentences that cost most", notes)


def _type_table(found: Scored, level: TypeLevel) -> Table:
    rows = [
        {"system": counts.system, "metric": counts.metric, **counts.row()}
        for counts in found.by_type(level)
    ]
    keys = ("system", "metric", "type", "tp", "fp", "fn", "precision", "recall", "f0.5")
    return Table([Column(key) for key in keys], rows, title="By error type")

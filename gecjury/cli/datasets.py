"""`gecjury score` of a dataset: rows of Parquet, JSON lines or the hub, scored into a folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gecjury.cli.inputs import language_from, runtime_from
from gecjury.cli.numbers import up_to
from gecjury.cli.streams import tell
from gecjury.errors import OptionError
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables

if TYPE_CHECKING:
    from gecjury.datasets.run import DatasetScores

_FOR_DATASETS = ("column", "keep", "output_format", "strict", "shard_rows", "address", "num_gpus")


def add_dataset_options(parser: argparse.ArgumentParser) -> None:
    """Declare what only datasets know; see docs/scale.md."""
    group = parser.add_argument_group("datasets", "rows of files of any size (docs/scale.md)")
    group.add_argument(
        "--column",
        metavar="ROLE=NAME",
        action="append",
        default=[],
        help="which column holds what: id, source, hypothesis (repeat for several), references",
    )
    group.add_argument(
        "--keep", metavar="CONDITION", help="write rows that fulfil it, e.g. 'green >= .8'"
    )
    group.add_argument(
        "--output-format", choices=("parquet", "jsonl"), help="of the scores (default: parquet)"
    )
    group.add_argument("--strict", action="store_true", help="stop at the first bad row")
    group.add_argument(
        "--shard-rows",
        type=up_to(100_000_000),
        metavar="N",
        help="rows that are finished together (default: a thousandth, 10,000 to 200,000)",
    )
    group.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="who runs the workers"
    )
    group.add_argument(
        "--address", metavar="ADDRESS", help="of a Ray cluster: auto, ray://..., local"
    )
    group.add_argument("--num-gpus", type=float, metavar="N", help="GPUs of each worker, with Ray")


def wants_dataset(args: argparse.Namespace) -> bool:
    """Whether the names are those of a dataset, and not of text files.

    Files of JSON lines may be texts as well: they are a dataset where one stands alone, where
    options of datasets are given, or where the last one has both sources and hypotheses.

    Raises:
        OptionError: options of the one kind with the other.
    """
    from gecjury.datasets.files import is_dataset, may_be_dataset

    names = [args.source, *args.hypotheses]
    given = [name for name in _FOR_DATASETS if getattr(args, name)]
    given += ["engine"] if args.engine != "local" else []
    may = all(map(may_be_dataset, names))
    sure = may and any(map(is_dataset, names))
    if sure or (may and (given or len(names) == 1 or _has_both(names[-1]))):
        _refuse_text_options(args)
        return True
    if given:
        option = given[0].replace("_", "-")
        raise OptionError(
            f"--{option} is for datasets (Parquet, JSON lines, hf:NAME), and {args.source} is a "
            "text file"
        )
    return False


def _has_both(name: str) -> bool:
    """Whether the first line of a file of JSON lines has a source and a hypothesis."""
    from gecjury.datasets.files import open_lines
    from gecjury.errors import GecjuryError

    if not Path(name).is_file():
        return False
    try:
        with open_lines(name) as lines:
            value = json.loads(lines.readline(1_000_000))
    except (GecjuryError, OSError, EOFError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and {"source", "hypothesis"} <= value.keys()


def _refuse_text_options(args: argparse.Namespace) -> None:
    flags = {"references": "-r", "m2": "--m2", "sentences": "--sentences", "by_type": "--by-type",
             "worst": "--worst", "html": "--html"}  # fmt: skip
    for name, flag in flags.items():
        if getattr(args, name):
            hint = {
                "references": ": references are a column, --column references=NAME",
                "sentences": ": the scores of rows go to the folder of -o",
            }.get(name, "")
            raise OptionError(f"{flag} is for text files, and {args.source} is a dataset{hint}")
    if not args.output:
        raise OptionError(f"{args.source} is a dataset: name the folder of its scores with -o DIR")
    if args.engine != "ray" and (args.address or args.num_gpus):
        raise OptionError("--address and --num-gpus are for --engine ray")


def run_dataset(args: argparse.Namespace) -> int:
    """Score a dataset into its folder, and print what `score` prints."""
    from dataclasses import asdict, replace

    from gecjury.cli.progress import RowProgress
    from gecjury.datasets.run import score_dataset
    from gecjury.experiments.inputs import scorers_of

    scorers = scorers_of(args.metrics)
    runtime = runtime_from(args)
    if not args.quiet:
        runtime = replace(runtime, progress=RowProgress())
    found = score_dataset(
        [args.source, *args.hypotheses],
        args.output,
        metrics=scorers,
        columns=args.column,
        keep=args.keep or "",
        output_format=args.output_format or "parquet",
        strict=args.strict,
        shard_rows=args.shard_rows,
        engine=args.engine,
        address=args.address or "auto",
        num_gpus=args.num_gpus or 0.0,
        language=language_from(args),
        runtime=runtime,
        tell=None if args.quiet else tell,
    )
    print_tables(_tables(found), asdict(found.results), args.format)
    if found.done and not args.quiet:
        rate = found.done / max(found.seconds, 1e-9)
        tell(f"{found.done} rows in {found.seconds:.1f} s, {rate:,.0f} rows/s")
    return 1 if found.unanswered else 0


def _tables(found: DatasetScores) -> list[Table]:
    rows, results = found.rows(), found.results
    columns = [Column("system")] if any(row["system"] for row in rows) else []
    columns += [Column("metric"), Column("score", digits=4)]
    columns += [Column(k, digits=4) for k in ("precision", "recall") if any(k in r for r in rows)]
    notes = list(dict.fromkeys(row["signature"] for row in rows))
    notes.append(f"{results.read} rows, {results.bad} of them bad")
    shown = [Table(columns, rows, notes=[*notes, *results.notes])]
    if results.nulls:
        missing = [
            {"column": column, "reason": reason, "rows": count}
            for column, reasons in results.nulls.items()
            for reason, count in reasons.items()
        ]
        keys = ("column", "reason", "rows")
        shown.append(Table([Column(key) for key in keys], missing, "Scores that are missing"))
    if results.kept is not None:
        about = f"{results.kept} of {results.read} rows are kept"
        heads = [Column("condition"), Column("removed"), Column("failed", "not fulfilled")]
        shown.append(
            Table(heads, [vars(part) for part in results.conditions], "Kept rows", [about])
        )
    return shown

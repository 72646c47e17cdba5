"""`gecjury score` of a dataset: rows of Parquet, JSON lines or the hub, scored into a folder."""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import DatasetOptions, runtime_from
from gecjury.cli.options import settings_of
from gecjury.cli.streams import tell
from gecjury.core.errors import OptionError
from gecjury.core.settings import options_of
from gecjury.report.result import Column, Result, Table, print_result

if TYPE_CHECKING:
    from gecjury.datasets.run import DatasetScores


def wants_dataset(args: argparse.Namespace) -> bool:
    """Return whether names that may be those of a dataset are not those of text files.

    Files of JSON lines may also be texts: they are a dataset if there is only one, if options of
    datasets are given, or if the last one has both sources and hypotheses.

    Raises:
        OptionError: options of one kind are given with inputs of the other.
    """
    from gecjury.datasets.files import is_dataset, may_be_dataset

    names = [args.source, *args.hypotheses]
    typed = _typed(args)
    # A name that can only be a dataset decides for all names; otherwise the options decide.
    possible = all(map(may_be_dataset, names))
    certain = possible and any(map(is_dataset, names))
    if certain or (possible and (typed or len(names) == 1 or _has_both(names[-1]))):
        _refuse_text_options(args)
        return True
    if typed:
        flag = next(one.flags[-1] for one in options_of(DatasetOptions) if one.name in typed)
        raise OptionError(
            f"{flag} is for datasets (Parquet, JSON lines, hf:NAME), but {args.source} is a text "
            "file"
        )
    return False


def _typed(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of datasets that differ from their defaults, by name."""
    options, usual = settings_of(DatasetOptions, args), DatasetOptions()
    return {n: value for n, value in vars(options).items() if value != getattr(usual, n)}


def _has_both(name: str) -> bool:
    """Return whether the first line of a file of JSON lines has a source and a hypothesis."""
    try:
        with gzip.open(name) if name.lower().endswith(".gz") else Path(name).open("rb") as lines:
            value = json.loads(lines.readline(1_000_000))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        return False
    return isinstance(value, dict) and {"source", "hypothesis"} <= value.keys()


def _refuse_text_options(args: argparse.Namespace) -> None:
    hints = {
        "-r": ": name the column of the references with --column references=NAME",
        "--sentences": ": the scores of rows are written to the folder of -o",
    }
    for name in ("references", "m2", "sentences", "by_type", "worst", "html"):
        if getattr(args, name):
            flag = "-r" if name == "references" else f"--{name.replace('_', '-')}"
            hint = hints.get(flag, "")
            raise OptionError(f"{flag} is for text files, but {args.source} is a dataset{hint}")
    if not args.output:
        raise OptionError(f"{args.source} is a dataset: name the folder of its scores with -o DIR")


def run_dataset(args: argparse.Namespace) -> int:
    """Score a dataset into its folder, and print what `score` prints."""
    from gecjury.corpus.languages.language import language_of
    from gecjury.datasets.run import score_dataset
    from gecjury.scoring.registry import load_all

    scorers, runtime = load_all(args.metrics), runtime_from(args, log=True)
    scores = score_dataset(
        [args.source, *args.hypotheses],
        args.output,
        metrics=scorers,
        # Rows are read in parts, which have to be read alike: nothing is decided by their texts.
        language=language_of(args.lang or "en", args.tokens, args.fold),
        runtime=runtime,
        tell=None if args.quiet else tell,
        **_typed(args),
    )
    result = Result(tuple(_tables(scores)), asdict(scores.results), scores.results.notes)
    print_result(result, args.format, args.verbose)
    if scores.done and not args.quiet:
        rate = scores.done / max(scores.seconds, 1e-9)
        tell(f"{scores.done} rows in {scores.seconds:.1f} s, {rate:,.0f} rows/s")
    return int(scores.unanswered > 0)


def _tables(scores: DatasetScores) -> list[Table]:
    rows, results = scores.rows(), scores.results
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
        shown.append(Table([Column(key) for key in keys], missing, "Missing scores"))
    if results.kept is not None:
        about = f"{results.kept} of {results.read} rows are kept"
        heads = [Column("condition"), Column("removed"), Column("failed", "not fulfilled")]
        shown.append(
            Table(heads, [vars(part) for part in results.conditions], "Kept rows", [about])
        )
    return shown

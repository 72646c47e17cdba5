"""`gecjury score` of a dataset: rows of Parquet, JSON lines or the hub, scored into a folder."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gecjury.cli.inputs import runtime_from
from gecjury.cli.options import add_options, settings_of
from gecjury.cli.streams import tell
from gecjury.core.errors import OptionError
from gecjury.core.settings import check, option, options_of
from gecjury.report.result import Column, Result, Table, print_result

if TYPE_CHECKING:
    from gecjury.datasets.run import DatasetScores


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Options that apply only to datasets.

    Attributes:
        columns: the columns of the data: id, source, hypothesis (repeat for several), references.
        keep: write the rows that satisfy a condition, e.g. 'green >= .8'.
        output_format: format of the scores (default: parquet).
        strict: stop at the first bad row.
        shard_rows: rows per shard (default: a thousandth of all, but 10,000 to 200,000).
        engine: engine that runs the workers.
        address: address of a Ray cluster: local (default), auto, HOST:PORT, ray://...
        num_gpus: GPUs per worker, with Ray.
    """

    columns: tuple[str, ...] = option((), "--column", metavar="ROLE=NAME")
    keep: str | None = option(None, metavar="CONDITION")
    output_format: Literal["parquet", "jsonl"] | None = None
    strict: bool = False
    shard_rows: int | None = option(None, metavar="N", least=1, most=100_000_000)
    engine: Literal["local", "ray"] = "local"
    address: str | None = option(None, metavar="ADDRESS")
    num_gpus: float | None = option(None, metavar="N")

    def __post_init__(self) -> None:
        check(self)


def add_dataset_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that apply only to datasets; see docs/guides/scale.md."""
    about = "rows of files of any size (docs/guides/scale.md)"
    group = parser.add_argument_group("datasets", about)
    add_options(group, DatasetOptions)


def wants_dataset(args: argparse.Namespace) -> bool:
    """Return whether the names are those of a dataset, and not of text files.

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
    from gecjury.core.errors import GecjuryError
    from gecjury.datasets.files import open_lines

    if not Path(name).is_file():
        return False
    try:
        with open_lines(name) as lines:
            value = json.loads(lines.readline(1_000_000))
    except (GecjuryError, OSError, EOFError, ValueError, RecursionError):
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
    if args.engine != "ray" and (args.address or args.num_gpus):
        raise OptionError("--address and --num-gpus are for --engine ray")


def run_dataset(args: argparse.Namespace) -> int:
    """Score a dataset into its folder, and print what `score` prints."""
    from gecjury.corpus.language import language_of
    from gecjury.datasets.run import score_dataset
    from gecjury.scoring.registry import load_all

    scorers, runtime = load_all(args.metrics), runtime_from(args, log=True)
    scores = score_dataset(
        [args.source, *args.hypotheses],
        args.output,
        metrics=scorers,
        # Rows are read in parts, which have to be read alike: nothing is decided by their texts.
        language=language_of(args.lang or "en", args.tokens, args.fold, args.tagger),
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

"""Arguments that `score`, `rank` and `check` share, and reading them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.corpus.corpus import Corpus
    from gecjury.report.tables import Table
    from gecjury.runtime import Runtime
    from gecjury.scoring.scorer import Plan, Scorer
    from gecjury.scoring.scores import ScoreTable

__all__ = [
    "add_files",
    "add_metrics",
    "audit_tables",
    "benchmark_or_files",
    "dry_run",
    "load_scorers",
    "read_files",
    "score_files",
]


def add_files(parser: argparse.ArgumentParser) -> None:
    """Declare SOURCE, HYP..., -r and --m2."""
    parser.add_argument("source", metavar="SOURCE", help="sentences to correct: text, M2 or JSON")
    parser.add_argument(
        "hypotheses", metavar="HYP", nargs="+", help="system outputs, called by their file names"
    )
    parser.add_argument(
        "-r",
        "--reference",
        dest="references",
        metavar="REF",
        action="append",
        default=[],
        help="a reference: text, or M2 (one reference an annotator); repeat for more. NAME=REF "
        "adds it to a set that members of a jury may name",
    )
    parser.add_argument("--m2", metavar="GOLD", help="gold edits in the M2 format")


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Declare -m."""
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        required=True,
        help="`name` or `name:option=value,...`; repeat for more (see `gecjury metrics`)",
    )


def load_scorers(names: list[str]) -> list[Scorer]:
    """Load every metric before any file is read, so that a typing error costs nothing."""
    from gecjury.scoring.registry import load

    return [load(name) for name in dict.fromkeys(names)]


def read_files(args: argparse.Namespace) -> Corpus:
    """Read the files that `add_files` declared."""
    from gecjury.corpus.reading import read_corpus

    return read_corpus(args.source, args.hypotheses, args.references, args.m2)


def benchmark_or_files(
    args: argparse.Namespace,
    inputs: Sequence[str],
    sets: Sequence[str] | None,
    files: Sequence[str],
    gold: str | None = None,
) -> tuple[Corpus, Benchmark | None]:
    """The corpus of a benchmark (one input), or of a source file and system outputs.

    Args:
        args: `systems` (None where not given), `data` and `cache` are read.
        inputs: what was named.
        sets: reference sets of a benchmark, None where not given.
        files: reference files.
        gold: gold edits, with files.

    Raises:
        OptionError: a file alone, or options of the one kind with the other.
    """
    from pathlib import Path

    from gecjury.benchmarks.load import load_benchmark
    from gecjury.corpus.reading import read_corpus
    from gecjury.errors import OptionError

    source, *outputs = inputs
    if outputs:
        if args.systems or sets:
            raise OptionError(
                "--systems and --references are of a benchmark; with files take -r REF, and name "
                "the outputs that are wanted"
            )
        return read_corpus(source, outputs, files, gold), None
    if Path(source).is_file() and Path(source).suffix != ".toml":
        raise OptionError(
            f"{source} stands alone: give a source file and at least one system output, or a "
            "benchmark: its name, its folder or a .toml file"
        )
    if files or gold:
        raise OptionError(
            f"-r and --m2 go with files; for the references of {source} take --references SET|FILE"
        )
    benchmark = load_benchmark(
        source,
        systems=args.systems or "base",
        references=sets or "official",
        data=args.data,
        cache=args.cache,
    )
    return benchmark.corpus, benchmark


def dry_run(
    scorers: list[Scorer], corpus: Corpus, runtime: Runtime, more: Sequence[Plan] = ()
) -> bool:
    """Under --dry-run, print what the scorers would ask and its cost, and say so.

    Args:
        scorers: whose plans are summed.
        corpus: what they would score.
        runtime: says whether this is a dry run.
        more: plans of further work.

    Returns:
        True where the command is done with that.
    """
    if not runtime.dry_run:
        return False
    from gecjury.report.tables import to_json

    plans = [plan for scorer in scorers if (plan := scorer.plan(corpus, runtime)) is not None]
    plans += more
    amounts = [plan.cost["amount"] for plan in plans]
    known = [float(amount) for amount in amounts if amount is not None]
    first = plans[0].cost if plans else {}
    document = {
        "requests": sum(plan.requests for plan in plans),
        "tokens": {key: sum(plan.tokens[key] for plan in plans) for key in ("input", "output")},
        "cost": {**first, "amount": sum(known) if len(known) == len(amounts) else None},
        "metrics": [
            {
                **plan.details,
                "requests": plan.requests,
                "tokens": dict(plan.tokens),
                "cost": dict(plan.cost),
            }
            for plan in plans
        ],
    }
    print(to_json(document))
    return True


def audit_tables(tables: list[ScoreTable]) -> list[Table]:
    """Tables of the audits that scorers left with their scores."""
    from gecjury.report.tables import Column, Table

    found = []
    for table in tables:
        audit = table.statistics.details.get("audit")
        if audit is not None:
            columns = [Column(key) for key in ("model", "what", "value")]
            found.append(Table(columns, audit["rows"], f"Audit of {table.signature.label}"))
    return found


def score_files(args: argparse.Namespace) -> list[ScoreTable] | None:
    """Score the files named with every metric named; None after a dry run.

    Whatever can be refused (a metric, a file, the output folder) is refused before any scoring.
    """
    from gecjury.cli import runtime_from
    from gecjury.scoring.score_files import check_writable, score_with_files

    scorers = load_scorers(args.metrics)
    corpus = read_files(args)
    for scorer in scorers:
        scorer.check(corpus)
    runtime = runtime_from(args)
    if dry_run(scorers, corpus, runtime):
        return None
    if args.output:
        check_writable(args.output)
    return [score_with_files(scorer, corpus, args.output, runtime) for scorer in scorers]

"""`gecjury analyse`: the analyses of the UOT-ERRANT paper over any corpus, as table and figure."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import benchmark_or_files

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.corpus.corpus import Corpus
    from gecjury.report.tables import Table

__all__ = ["KINDS", "add_arguments", "run"]

# Where each analysis lives: a function (args, corpus, benchmark or None, runtime) →
# (tables, document), which draws its figure if args.figure is given.
KINDS: dict[str, str] = {
    "norms": "mean norm of edit vectors by error type",
    "map": "edit vectors in the plane, coloured by error type",
    "edits": "edits a sentence by system",
    "scatter": "human scores against a metric's, by system",
    "cost": "seconds against edits a sentence and against the number of systems",
    "lambda": "UOT-ERRANT's λ tried in steps, without encoding again",
    "layers": "UOT-ERRANT with each layer and pooling of the encoder, all from one pass",
    "solver": "our optimum against POT's plan",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    kinds = "\n".join(f"  {name:8} {text}" for name, text in KINDS.items())
    parser.epilog = f"kinds:\n{kinds}"
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "corpus", nargs="+", metavar="CORPUS", help="a benchmark's name, or SOURCE and HYP..."
    )
    parser.add_argument(
        "-r",
        "--reference",
        dest="references",
        action="append",
        default=[],
        metavar="REF",
        help="with files: a reference, text or M2; repeat for more",
    )
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        action="append",
        default=[],
        metavar="METRIC",
        help="default: uot-errant; scatter and cost take several",
    )
    parser.add_argument("--systems", help="of a benchmark (default: base)")
    parser.add_argument(
        "--references",
        "--set",
        dest="sets",
        nargs="+",
        metavar="SET",
        help="of a benchmark: a reference set, or files (default: official)",
    )
    parser.add_argument("--only", metavar="SYSTEM", action="append", help="only these systems")
    parser.add_argument(
        "--min-count",
        type=int,
        default=50,
        metavar="N",
        help="norms, map: rarer types are left out",
    )
    parser.add_argument("--method", choices=("pca", "tsne"), default="pca", help="map: how")
    parser.add_argument("--seed", type=int, default=0, help="map: of t-SNE")
    parser.add_argument("--step", type=float, default=0.02, help="lambda: step (default: 0.02)")
    parser.add_argument("--stop", type=float, default=1.0, help="lambda: end (default: 1.0)")
    parser.add_argument("--figure", metavar="FILE", help="draw it: .png, .pdf or .svg")


def run(args: argparse.Namespace) -> int:
    """Load the corpus, analyse, print, draw."""
    from importlib import import_module

    from gecjury.cli.inputs import runtime_from
    from gecjury.report.figures import check_figure
    from gecjury.report.tables import print_result

    if args.figure:
        check_figure(args.figure)
    corpus, benchmark = _corpus(args)
    analysis = getattr(
        import_module("gecjury.experiments.analyses"), args.kind.replace("lambda", "penalties")
    )
    tables: list[Table]
    document: dict[str, Any]
    tables, document = analysis(args, corpus, benchmark, runtime_from(args))
    print_result(tables, document, args.format)
    return 0


def _corpus(args: argparse.Namespace) -> tuple[Corpus, Benchmark | None]:
    from gecjury.errors import OptionError, nearest

    corpus, benchmark = benchmark_or_files(args, args.corpus, args.sets, args.references)
    if args.only:
        unknown = [name for name in args.only if name not in corpus.systems]
        if unknown:
            raise OptionError(
                f"--only {unknown[0]}: no such system; {nearest(unknown[0], corpus.systems)}"
            )
        corpus = corpus.with_systems(args.only)
    return corpus, benchmark

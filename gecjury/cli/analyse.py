"""`gecjury analyse`: the analyses of the UOT-ERRANT paper over any corpus, as table and figure."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import gecjury.report.figures as draw
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.cli.inputs import add_metrics, add_reference, benchmark_or_files, runtime_from
from gecjury.cli.numbers import MOST_SEED, up_to
from gecjury.cli.parsers import CommandParser, add_actions
from gecjury.corpus.corpus import Corpus
from gecjury.errors import OptionError, nearest
from gecjury.experiments.analyses import (
    ComparedVariants,
    edit_density,
    human_scatter,
    scoring_cost,
    steps_to,
    try_variants,
)
from gecjury.models.encoder import Pooling
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load

if TYPE_CHECKING:
    from gecjury.refbased.uot_errant.metric import UOTERRANT

Shown = tuple[list[Table], dict[str, Any]]
"""Tables for people, and what the JSON document holds besides the analysis' name."""


def add_arguments(parser: CommandParser) -> None:
    """Declare the kinds."""
    kinds = {name: (kind.summary, _declare) for name, kind in ANALYSES.items()}
    add_actions(parser, "kind", "KIND", kinds)


def _declare(parser: CommandParser) -> None:
    """What the kind of this parser takes."""
    kind = parser.path.rpartition(" ")[2]
    parser.needs = ("texts", "data", "judges" if kind in ("scatter", "cost") else "models")
    if kind == "edits":
        parser.needs = ("texts", "data", "edits")
    judged = kind in ("scatter", "lambda", "layers")  # which compare with human scores
    parser.add_argument(
        "corpus",
        nargs="+",
        metavar="CORPUS",
        help="a benchmark's name" if judged else "a benchmark's name, or SOURCE and HYP...",
    )
    with_files = "with files: a reference, text or M2; repeat for more"
    add_reference(parser, argparse.SUPPRESS if judged else with_files)
    several = kind in ("scatter", "cost")
    if kind != "edits":
        add_metrics(parser, f"default: uot-errant{'; repeat for more' if several else ''}")
    parser.add_argument("--systems", help="with a benchmark: its system set (default: base)")
    parser.add_argument(
        "--references",
        "--set",
        dest="sets",
        nargs="+",
        metavar="SET",
        help="with a benchmark: a reference set, or files (default: official)",
    )
    parser.add_argument("--only", metavar="SYSTEM", action="append", help="only these systems")
    if kind in ("norms", "map"):
        parser.add_argument(
            "--min-count", type=int, default=50, metavar="N", help="rarer types are left out"
        )
    if kind == "map":
        from gecjury.refbased.uot_errant.analyses import Layout

        parser.add_argument("--method", choices=get_args(Layout), default="pca", help="how")
        parser.add_argument(
            "--seed", type=up_to(MOST_SEED, least=0), default=0, help="seed of t-SNE"
        )
    if kind == "lambda":
        parser.add_argument("--step", type=float, default=0.02, help="from one to the next")
        parser.add_argument("--stop", type=float, default=1.0, help="the last")
    parser.add_argument("--figure", metavar="FILE", help="draw it: .png, .pdf or .svg")


def run(args: argparse.Namespace) -> int:
    """Load the corpus, analyse, print, draw."""
    if args.figure:
        draw.check_figure(args.figure)
    corpus, benchmark = _corpus(args)
    shown, document = ANALYSES[args.kind].show(
        AnalysisTask(args, corpus, benchmark, runtime_from(args))
    )
    about = {"analysis": args.kind, "corpus": args.corpus}
    print_tables(shown, about | document, args.format)
    return 0


def _corpus(args: argparse.Namespace) -> tuple[Corpus, Benchmark | None]:
    corpus, benchmark = benchmark_or_files(args, args.corpus, args.sets, args.references)
    if args.only:
        unknown = [name for name in args.only if name not in corpus.systems]
        if unknown:
            raise OptionError(
                f"--only {unknown[0]}: no such system; {nearest(unknown[0], corpus.systems)}"
            )
        corpus = corpus.with_systems(args.only)
    return corpus, benchmark


@dataclass(frozen=True)
class AnalysisTask:
    """What an analysis is made of: the options, the corpus and where it comes from."""

    args: argparse.Namespace
    corpus: Corpus
    benchmark: Benchmark | None
    runtime: Runtime

    @property
    def metrics(self) -> list[str]:
        """The metrics named."""
        return self.args.metrics or ["uot-errant"]

    @property
    def figure(self) -> str | None:
        """Where the figure goes; None for none."""
        path: str | None = self.args.figure
        return path

    def judged(self) -> Benchmark:
        """The benchmark.

        Raises:
            OptionError: files were named.
        """
        if self.benchmark is None:
            raise OptionError(
                f"analyse {self.args.kind} compares with human scores: name a benchmark (seeda, "
                "gjg15, gmeg-…, sample) instead of files"
            )
        return self.benchmark

    def uot(self) -> UOTERRANT:
        """The metric whose edit vectors are looked at.

        Raises:
            OptionError: another metric was named.
        """
        from gecjury.refbased.uot_errant.metric import UOTERRANT

        scorer = load(self.metrics[0])
        if not isinstance(scorer, UOTERRANT):
            raise OptionError(
                f"analyse {self.args.kind} looks at edit vectors: -m uot-errant[:options], not "
                f"{scorer.name}"
            )
        return scorer


def _norms(task: AnalysisTask) -> Shown:
    from gecjury.refbased.uot_errant.analyses import edit_table, type_norms

    scorer, least = task.uot(), task.args.min_count
    table = edit_table(scorer, task.corpus, task.runtime)
    rows = [asdict(each) for each in type_norms(table, least)]
    if task.figure:
        draw.bars(
            [row["type"] for row in rows],
            [row["mean"] for row in rows],
            task.figure,
            "L2 norm of edit vectors (mean and standard deviation)",
            [row["stdev"] for row in rows],
        )
    count = len(table.edits)
    note = f"{count} edits of {len(task.corpus.systems)} systems; types with {least} or more"
    columns = [Column("type"), Column("edits"), Column("mean"), Column("stdev")]
    return [Table(columns, rows, "Norms of edit vectors", [note])], {"rows": rows, "edits": count}


def _map(task: AnalysisTask) -> Shown:
    import numpy as np

    from gecjury.refbased.uot_errant.analyses import edit_map, edit_table

    args = task.args
    table = edit_table(task.uot(), task.corpus, task.runtime)
    points = edit_map(table, args.min_count, args.method, args.seed)
    rows = [
        {
            "system": point.system,
            "line": point.line + 1,
            "edit": f"{point.edit.start} {point.edit.end} {point.edit.correction}",
            "type": point.type,
            "x": point.x,
            "y": point.y,
        }
        for point in points
    ]
    if task.figure:
        groups = {
            kind: np.array([(p.x, p.y) for p in points if p.type == kind])
            for kind in sorted({point.type for point in points})
        }
        draw.points(groups, task.figure, (f"{args.method} 1", f"{args.method} 2"))
    columns = [Column(key) for key in ("system", "line", "edit", "type", "x", "y")]
    return [Table(columns, rows, f"Edit vectors by {args.method}")], {"rows": rows}


def _edits(task: AnalysisTask) -> Shown:
    found = edit_density(task.corpus, task.runtime)
    rows = found.rows()
    if task.figure:
        names = [each.system for each in found.systems]
        heights = [each.per_sentence for each in found.systems]
        draw.bars(names, heights, task.figure, "edits a sentence")
    columns = [Column("system"), Column("edits"), Column("per_sentence", "edits a sentence")]
    return [Table(columns, rows, "Edits a sentence")], {"rows": rows}


def _scatter(task: AnalysisTask) -> Shown:
    import numpy as np

    scatter = human_scatter(task.judged(), task.metrics, corpus=task.corpus, runtime=task.runtime)
    rows, summary = scatter.rows(), [asdict(each) for each in scatter.correlations]
    if task.figure:
        groups = {
            one.metric: np.array(
                [(p.human, p.score) for p in scatter.points if p.metric == one.metric]
            )
            for one in scatter.correlations
        }
        names = dict.fromkeys(groups, task.corpus.names)
        draw.points(groups, task.figure, (f"human ({scatter.kind})", "metric (TrueSkill)"), names)
    columns = [Column("metric"), Column("system"), Column("human"), Column("score")]
    short = [Column("metric"), Column("pearson", "r"), Column("spearman", "ρ")]
    tables = [
        Table(columns, rows, f"Human {scatter.kind} and metric TrueSkill"),
        Table(short, summary),
    ]
    return tables, {"rows": rows, "correlations": summary}


def _cost(task: AnalysisTask) -> Shown:
    cost = scoring_cost(task.corpus, task.metrics, task.runtime)
    rows, slopes = cost.rows(), [asdict(each) for each in cost.slopes]
    if task.figure:
        curves = {}
        for one in cost.slopes:
            own_points = [point for point in cost.points if point.metric == one.metric]
            own_points.sort(key=lambda point: point.edits_per_sentence)
            x = [point.edits_per_sentence for point in own_points]
            curves[one.metric] = (x, [point.seconds_alone for point in own_points])
        draw.lines(curves, task.figure, ("edits a sentence", "seconds a system by itself"))
    tables = [
        Table([Column(key) for key in rows[0]], rows, "Seconds"),
        Table([Column(key) for key in slopes[0]], slopes),
    ]
    return tables, {"rows": rows, "slopes": slopes}


def _lambda(task: AnalysisTask) -> Shown:
    from gecjury.refbased.uot_errant.metric import sentence_scores_by_lambda

    benchmark, scorer = task.judged(), task.uot()
    values = steps_to(task.args.step, task.args.stop)
    sentences = sentence_scores_by_lambda(scorer, task.corpus, values, task.runtime)
    settings = [{"lambda": value} for value in values]
    variants = try_variants(benchmark, settings, sentences, corpus=task.corpus)
    if task.figure:
        curves = {"pearson": (values, variants.pearson), "spearman": (values, variants.spearman)}
        draw.lines(curves, task.figure, ("λ1 = λ2", f"correlation with human {variants.kind}"))
    columns = [Column("lambda", "λ1 = λ2", 2), Column("pearson", "r"), Column("spearman", "ρ")]
    return _variants(task, variants, columns, f"λ = {variants.best['lambda']:g}")


def _layers(task: AnalysisTask) -> Shown:
    from gecjury.refbased.uot_errant.analyses import sentence_scores_by_layer

    benchmark, scorer = task.judged(), task.uot()
    poolings: tuple[Pooling, ...] = ("mean", "cls")
    scores = sentence_scores_by_layer(scorer, task.corpus, poolings, task.runtime)
    settings = [
        {"pooling": pooling, "layer": layer}
        for pooling in poolings
        for layer in range(1, scores.shape[1] + 1)
    ]
    flat = scores.reshape(-1, *scores.shape[2:])
    variants = try_variants(benchmark, settings, flat, corpus=task.corpus)
    if task.figure:
        curves = {}
        for pooling in poolings:
            of_pooling = [row for row in variants.rows() if row["pooling"] == pooling]
            for key in ("pearson", "spearman"):
                curve = [row["layer"] for row in of_pooling], [row[key] for row in of_pooling]
                curves[f"{pooling} {key}"] = curve
        draw.lines(curves, task.figure, ("layer", f"correlation with human {variants.kind}"))
    columns = [Column("pooling"), Column("layer"), Column("pearson", "r"), Column("spearman", "ρ")]
    best = variants.best
    return _variants(task, variants, columns, f"layer {best['layer']}, {best['pooling']}")


def _variants(
    task: AnalysisTask, found: ComparedVariants, columns: list[Column], best: str
) -> Shown:
    note = f"best: {best} (r {found.best['pearson']:.3f}, ρ {found.best['spearman']:.3f})"
    title = f"{task.args.corpus[0]}: UOT-ERRANT by TrueSkill against human {found.kind}"
    rows = found.rows()
    return [Table(columns, rows, title, [note])], {"rows": rows, "best": found.best}


def _solver(task: AnalysisTask) -> Shown:
    import numpy as np

    from gecjury.refbased.uot_errant.analyses import compare_with_pot

    report, differences = compare_with_pot(task.uot(), task.corpus, task.runtime)
    row = asdict(report)
    if task.figure:
        far = np.sort(np.abs(differences[np.isfinite(differences)]))[::-1]
        curve = (list(range(1, len(far) + 1)), far.tolist())
        draw.lines({"problems": curve}, task.figure, ("problems", "difference of mass moved"))
    columns = [Column(key, digits=9) for key in row]
    return [Table(columns, [row], "POT against the optimum")], {"rows": [row]}


@dataclass(frozen=True)
class Analysis:
    """One analysis: what it is, and the function that makes and draws it."""

    summary: str
    show: Callable[[AnalysisTask], Shown]


ANALYSES: dict[str, Analysis] = {
    "norms": Analysis("mean norm of edit vectors by error type", _norms),
    "map": Analysis("edit vectors in the plane, coloured by error type", _map),
    "edits": Analysis("edits a sentence by system", _edits),
    "scatter": Analysis("human scores against a metric's, by system", _scatter),
    "cost": Analysis("seconds against edits a sentence and against the number of systems", _cost),
    "lambda": Analysis("UOT-ERRANT's λ tried in steps, without encoding again", _lambda),
    "layers": Analysis(
        "UOT-ERRANT with each layer and pooling of the encoder, all from one pass", _layers
    ),
    "solver": Analysis("our optimum against POT's plan", _solver),
}
"""Every analysis, as typed."""

"""The analyses behind `gecjury analyse`: each gives tables, a document, and a figure if asked."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, counted_edits
from gecjury.errors import InputError, OptionError
from gecjury.report import figures
from gecjury.report.tables import Column, Table
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.plane import layout
from gecjury.stats.ranking import aggregate_scores

__all__ = ["cost", "edits", "layers", "map", "norms", "penalties", "scatter", "solver"]

Found = tuple[list[Table], dict[str, Any]]


class _VectorTable(Protocol):
    """Every edit of some systems with its vector; see `uot_errant.analyses.EditTable`."""

    @property
    def systems(self) -> tuple[str, ...]: ...
    @property
    def lines(self) -> tuple[int, ...]: ...
    @property
    def edits(self) -> tuple[Edit, ...]: ...
    @property
    def vectors(self) -> FloatArray: ...
    @property
    def types(self) -> tuple[str, ...]: ...
    @property
    def norms(self) -> FloatArray: ...


@runtime_checkable
class _EditVectors(Protocol):
    """A metric that makes vectors of edits and transports them, as UOT-ERRANT does."""

    def edit_table(self, corpus: Corpus, runtime: Runtime) -> _VectorTable: ...
    def sweep(
        self, option: str, values: Sequence[float], corpus: Corpus, runtime: Runtime
    ) -> FloatArray | None: ...
    def sentence_scores_by_layer(
        self, corpus: Corpus, poolings: Sequence[str], runtime: Runtime
    ) -> FloatArray: ...
    def compare_with_pot(self, corpus: Corpus, runtime: Runtime) -> tuple[Any, FloatArray]: ...


def _vectors(args: Namespace) -> _EditVectors:
    """The metric whose edit vectors are looked at.

    Raises:
        OptionError: the one named makes none.
    """
    scorer = load((args.metrics or ["uot-errant"])[0])
    if not isinstance(scorer, _EditVectors):
        raise OptionError(
            f"analyse {args.kind} looks at edit vectors: -m uot-errant[:options], not {scorer.name}"
        )
    return cast(_EditVectors, scorer)


def _document(args: Namespace, rows: list[dict[str, Any]], **others: Any) -> dict[str, Any]:
    return {"analysis": args.kind, "corpus": args.corpus, "rows": rows, **others}


def _common(types: tuple[str, ...], least: int) -> list[str]:
    """Types that occur often enough, by name.

    Raises:
        InputError: none does.
    """
    counts = Counter(types)
    common = sorted(kind for kind, count in counts.items() if count >= least)
    if not common:
        raise InputError(
            f"no error type occurs {least} times among {len(types)} edits; lower --min-count"
        )
    return common


def norms(args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime) -> Found:
    """Mean and standard deviation of edit vectors' norms by type (Goto et al. 2026, table 3)."""
    del benchmark
    scorer = _vectors(args)
    table = scorer.edit_table(corpus, runtime)
    types, sizes = np.array(table.types), table.norms
    rows = []
    for kind in _common(table.types, args.min_count):
        some = sizes[types == kind]
        rows.append({"type": kind, "edits": len(some), "mean": some.mean(), "stdev": some.std()})
    rows.sort(key=lambda row: row["mean"])
    if args.figure:
        figures.bars(
            [row["type"] for row in rows],
            [row["mean"] for row in rows],
            args.figure,
            "L2 norm of edit vectors (mean and standard deviation)",
            [row["stdev"] for row in rows],
        )
    columns = [Column("type"), Column("edits"), Column("mean"), Column("stdev")]
    note = (
        f"{len(sizes)} edits of {len(corpus.systems)} systems; types with {args.min_count} or more"
    )
    return [Table(columns, rows, "Norms of edit vectors", [note])], _document(
        args, rows, edits=len(sizes)
    )


def map(args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime) -> Found:
    """Edit vectors in the plane by PCA or t-SNE, coloured by type (figure 5)."""
    del benchmark
    scorer = _vectors(args)
    table = scorer.edit_table(corpus, runtime)
    common = _common(table.types, args.min_count)
    kept = [place for place, kind in enumerate(table.types) if kind in common]
    positions = layout(table.vectors[kept], args.method, args.seed)
    kinds = np.array([table.types[place] for place in kept])
    rows = [
        {
            "system": table.systems[place],
            "line": table.lines[place] + 1,
            "edit": f"{table.edits[place].start} {table.edits[place].end} "
            f"{table.edits[place].correction}",
            "type": kind,
            "x": float(x),
            "y": float(y),
        }
        for place, kind, (x, y) in zip(kept, kinds, positions, strict=True)
    ]
    if args.figure:
        groups = {kind: positions[kinds == kind] for kind in common}
        figures.points(groups, args.figure, (f"{args.method} 1", f"{args.method} 2"))
    columns = [Column(key) for key in ("system", "line", "edit", "type", "x", "y")]
    return [Table(columns, rows, f"Edit vectors by {args.method}")], _document(args, rows)


def edits(args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime) -> Found:
    """Edits a sentence by system, fewest first (figure 2)."""
    del benchmark
    rows: list[dict[str, Any]] = [
        {"system": name, "edits": count, "per_sentence": count / len(corpus)}
        for name, count in _edit_counts(corpus, runtime).items()
    ]
    rows.sort(key=lambda row: row["per_sentence"])
    if args.figure:
        names = [row["system"] for row in rows]
        figures.bars(names, [row["per_sentence"] for row in rows], args.figure, "edits a sentence")
    columns = [Column("system"), Column("edits"), Column("per_sentence", "edits a sentence")]
    return [Table(columns, rows, "Edits a sentence")], _document(args, rows)


def _edit_counts(corpus: Corpus, runtime: Runtime) -> dict[str, int]:
    from gecjury.extraction.extract import corpus_edits

    found = corpus_edits(replace(corpus, references=()), "embedded", "spacy2", runtime)
    return {
        name: sum(len(counted_edits(line)) for line in lines)
        for name, lines in found.systems.items()
    }


def _need_benchmark(args: Namespace, benchmark: Benchmark | None) -> Benchmark:
    if benchmark is None:
        raise OptionError(
            f"analyse {args.kind} compares with human scores: name a benchmark (seeda, gjg15, "
            "gmeg-…, sample) instead of files"
        )
    return benchmark


def scatter(
    args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime
) -> Found:
    """Human against metric scores by system, with the line of best fit's correlation (figure 3)."""
    found = _need_benchmark(args, benchmark)
    kind, target = _human(found, corpus)
    rows, summary, groups = [], [], {}
    for name in args.metrics or ["uot-errant"]:
        table = load(name).score_corpus(corpus, runtime)
        scores = aggregate_scores("trueskill", table.sentences, table.by_system.score)
        label = table.signature.label
        rows += [
            {"metric": label, "system": system, "human": x, "score": y}
            for system, x, y in zip(corpus.names, target.tolist(), scores.tolist(), strict=True)
        ]
        summary.append(
            {
                "metric": label,
                "pearson": pearson(target, scores),
                "spearman": spearman(target, scores),
            }
        )
        groups[label] = np.column_stack([target, scores])
    if args.figure:
        names = dict.fromkeys(groups, corpus.names)
        figures.points(groups, args.figure, (f"human ({kind})", "metric (TrueSkill)"), names)
    columns = [Column("metric"), Column("system"), Column("human"), Column("score")]
    short = [Column("metric"), Column("pearson", "r"), Column("spearman", "ρ")]
    tables = [Table(columns, rows, f"Human {kind} and metric TrueSkill"), Table(short, summary)]
    return tables, _document(args, rows, correlations=summary)


def cost(args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime) -> Found:
    """Seconds a system by itself against its edits (figure 7), and of the first k systems at once.

    Nothing is read from or kept in a cache between the timings; loading models is not timed.
    """
    del benchmark
    counts = _edit_counts(corpus, runtime)
    bare = replace(runtime, use_cache=False)
    rows, curves, slopes = [], {}, []
    for name in args.metrics or ["uot-errant"]:
        scorer = load(name)
        scorer.score_corpus(replace(corpus.with_systems(corpus.names[:1])), bare)
        alone: list[float] = []
        together: list[float] = []
        for index, system in enumerate(corpus.names):
            for kind, names in (("alone", [system]), ("together", corpus.names[: index + 1])):
                _forget()
                start = time.perf_counter()
                scorer.score_corpus(corpus.with_systems(names), bare)
                (alone if kind == "alone" else together).append(time.perf_counter() - start)
        density = [counts[system] / len(corpus) for system in corpus.names]
        rows += [
            {
                "metric": name,
                "system": system,
                "edits_per_sentence": x,
                "seconds_alone": y,
                "systems": index + 1,
                "seconds_together": z,
            }
            for index, (system, x, y, z) in enumerate(
                zip(corpus.names, density, alone, together, strict=True)
            )
        ]
        slopes.append(
            {
                "metric": name,
                "seconds_per_edit_a_sentence": _slope(density, alone),
                "seconds_per_system_together": _slope(list(range(len(together))), together),
                "mean_seconds_alone": float(np.mean(alone)),
            }
        )
        order = np.argsort(density)
        curves[name] = ([density[i] for i in order], [alone[i] for i in order])
    if args.figure:
        figures.lines(curves, args.figure, ("edits a sentence", "seconds a system by itself"))
    columns = [Column(key) for key in rows[0]]
    tables = [Table(columns, rows, "Seconds"), Table([Column(k) for k in slopes[0]], slopes)]
    return tables, _document(args, rows, slopes=slopes)


def _slope(x: list[float], y: list[float]) -> float:
    if len(x) < 2 or min(x) == max(x):
        return float("nan")
    return float(np.polyfit(x, y, 1)[0])


def _forget() -> None:
    """Drop vectors that encoders remember from earlier timings."""
    from gecjury.models.encoder import forget

    forget()


def penalties(
    args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime
) -> Found:
    """Correlation with humans for λ = λ1 = λ2 in steps; best Pearson, then Spearman, first."""
    found = _need_benchmark(args, benchmark)
    scorer = _vectors(args)
    if not 0 < args.step <= args.stop:
        raise OptionError(f"--step {args.step} --stop {args.stop}: expected 0 < step <= stop")
    values = [round(args.step * k, 10) for k in range(1, int(args.stop / args.step + 1e-9) + 1)]
    kind, target = _human(found, corpus)
    tables = scorer.sweep("lambda", values, corpus, runtime)
    if tables is None:
        raise OptionError(f"analyse {args.kind}: the metric named has no λ; -m uot-errant has")
    rows = [
        {"lambda": value, **_correlations(target, sentences)}
        for value, sentences in zip(values, tables, strict=True)
    ]
    best = max(rows, key=_rank)
    if args.figure:
        figures.lines(
            {key: (values, [row[key] for row in rows]) for key in ("pearson", "spearman")},
            args.figure,
            ("λ1 = λ2", f"correlation with human {kind}"),
        )
    columns = [Column("lambda", "λ1 = λ2", 2), Column("pearson", "r"), Column("spearman", "ρ")]
    note = f"best: λ = {best['lambda']:g} (r {best['pearson']:.3f}, ρ {best['spearman']:.3f})"
    title = f"{args.corpus[0]}: UOT-ERRANT by TrueSkill against human {kind}"
    return [Table(columns, rows, title, [note])], _document(args, rows, best=best)


def layers(args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime) -> Found:
    """Correlation with humans for each layer and pooling of the encoder, from one pass."""
    found = _need_benchmark(args, benchmark)
    scorer = _vectors(args)
    kind, target = _human(found, corpus)
    poolings = ("mean", "cls")
    scores = scorer.sentence_scores_by_layer(corpus, poolings, runtime)
    rows: list[dict[str, Any]] = [
        {"pooling": pooling, "layer": layer, **_correlations(target, sentences)}
        for pooling, tables in zip(poolings, scores, strict=True)
        for layer, sentences in enumerate(tables, 1)
    ]
    best = max(rows, key=_rank)
    if args.figure:
        drawn = {}
        for pooling in poolings:
            some = [row for row in rows if row["pooling"] == pooling]
            for key in ("pearson", "spearman"):
                curve = [row["layer"] for row in some], [row[key] for row in some]
                drawn[f"{pooling} {key}"] = curve
        figures.lines(drawn, args.figure, ("layer", f"correlation with human {kind}"))
    columns = [Column("pooling"), Column("layer"), Column("pearson", "r"), Column("spearman", "ρ")]
    note = (
        f"best: layer {best['layer']}, {best['pooling']} "
        f"(r {best['pearson']:.3f}, ρ {best['spearman']:.3f})"
    )
    title = f"{args.corpus[0]}: UOT-ERRANT by TrueSkill against human {kind}"
    return [Table(columns, rows, title, [note])], _document(args, rows, best=best)


def _human(benchmark: Benchmark, corpus: Corpus) -> tuple[str, Any]:
    """The benchmark's first human column, and its scores of the corpus' systems."""
    kind = next(iter(benchmark.human[benchmark.view]))
    human = dict(zip(benchmark.corpus.names, benchmark.human_scores(kind), strict=True))
    return kind, np.array([human[name] for name in corpus.names])


def _correlations(target: Any, sentences: Any) -> dict[str, float]:
    scores = aggregate_scores("trueskill", sentences, np.full(len(target), np.nan))
    return {"pearson": pearson(target, scores), "spearman": spearman(target, scores)}


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    """Best Pearson first, then best Spearman, as the paper chooses (section 4.1)."""
    return round(row["pearson"], 3), row["spearman"]


def solver(args: Namespace, corpus: Corpus, benchmark: Benchmark | None, runtime: Runtime) -> Found:
    """How many problems POT leaves unsolved, and how far its transported mass is from ours."""
    del benchmark
    from dataclasses import asdict

    report, differences = _vectors(args).compare_with_pot(corpus, runtime)
    row = asdict(report)
    if args.figure:
        far = np.sort(np.abs(differences[np.isfinite(differences)]))[::-1]
        curve = (list(range(1, len(far) + 1)), far.tolist())
        figures.lines({"problems": curve}, args.figure, ("problems", "difference of mass moved"))
    columns = [Column(key, digits=9) for key in row]
    return [Table(columns, [row], "POT against the optimum")], _document(args, [row])

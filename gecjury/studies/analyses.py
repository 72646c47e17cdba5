"""Analyses of any corpus as table and figure (`gecjury analyse`): edits, human scores, vectors.

They repeat tables and figures of Goto et al. 2026, the paper of UOT-ERRANT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gecjury.core.errors import InputError, MissingExtraError, OptionError, install_hint, nearest
from gecjury.core.settings import option
from gecjury.corpus.edits import counted_edits
from gecjury.report.result import Column, Result, Table
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.figure import Figure, figures_about, figures_by, records
from gecjury.studies.inputs import FilesOrBenchmark, Inputs, Need
from gecjury.studies.study import Study, Work

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.core.arrays import FloatArray
    from gecjury.corpus.corpus import Corpus

Projection = Literal["pca", "tsne"]
"""A method of laying out vectors in the plane."""

register(Statistic("per_sentence", "edits a sentence"), Statistic("lambda", "λ1 = λ2", digits=2))

_COLUMNS = (Column("pearson"), Column("spearman"))


@dataclass(frozen=True, kw_only=True)
class Analysis(Study):
    """One analysis of a corpus.

    Attributes:
        only: analyse only these systems.
    """

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark's name, or SOURCE and HYP...", "CORPUS"
    )
    needs: ClassVar[tuple[Need, ...]] = ("texts", "models")
    metrics: ClassVar[str | None] = "default: uot-errant"
    draws: ClassVar[bool] = True
    kind: ClassVar[str]
    """The name of the analysis on the command line."""
    only: tuple[str, ...] = option((), metavar="SYSTEM")

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return the metric of edit vectors; none for an analysis without a metric."""
        return () if cls.metrics is None else ("uot-errant",), ""

    def check(self, work: Work) -> None:
        """Refuse unknown systems.

        The metrics' own check is left out, since some metrics are analysed without references.
        """
        for name in self.only:
            if name not in work.corpus.systems:
                hint = nearest(name, work.corpus.systems)
                raise OptionError(f"--only {name}: no such system; {hint}")

    def corpus(self, work: Work) -> Corpus:
        """Return the texts with the systems that are analysed."""
        return work.corpus.with_systems(self.only) if self.only else work.corpus

    def result(
        self,
        work: Work,
        tables: Sequence[Table],
        figures: Sequence[Figure],
        draw: Callable[[str], None],
        **facts: Any,
    ) -> Result:
        """Return the result with the facts that every analysis reports."""
        about = {"analysis": self.kind, "corpus": list(work.inputs)}
        return Result(tuple(tables), {**about, **facts}, draw=draw, numbers=tuple(figures))


@dataclass(frozen=True, kw_only=True)
class JudgedAnalysis(Analysis):
    """An analysis that compares with human scores."""

    inputs: ClassVar[Inputs] = FilesOrBenchmark("a benchmark's name", "CORPUS")

    def check(self, work: Work) -> None:
        """Refuse files, which have no human scores."""
        super().check(work)
        self.judged(work)

    def judged(self, work: Work) -> Benchmark:
        """Return the benchmark.

        Raises:
            OptionError: files were named.
        """
        if work.benchmark is None:
            raise OptionError(
                f"analyse {self.kind} compares with human scores: name a benchmark (seeda, gjg15, "
                "gmeg-…, sample) instead of files"
            )
        return work.benchmark

    def human(self, work: Work) -> tuple[str, FloatArray]:
        """Return the name of the benchmark's usual human scores, and the systems' scores."""
        benchmark = self.judged(work)
        kind = benchmark.usual_kind
        rows = [benchmark.corpus.names.index(name) for name in self.corpus(work).names]
        return kind, benchmark.human_scores(kind)[rows]


@dataclass(frozen=True, kw_only=True)
class EditsPerSentence(Analysis):
    """Edits per sentence, by system."""

    kind: ClassVar[str] = "edits"
    needs: ClassVar[tuple[Need, ...]] = ("texts", "edits")
    metrics: ClassVar[str | None] = None

    def run(self, work: Work) -> Result:
        """Count every system's edits, as ERRANT extracts them (Goto et al. 2026, figure 2).

        Table `rows` begins with the system that has the fewest.
        """
        from gecjury.extraction.extract import corpus_edits
        from gecjury.report.figures import bars

        corpus = self.corpus(work)
        # References are left out: their edits would be extracted for nothing.
        texts = replace(corpus, references=())
        edits = corpus_edits(texts, "embedded", work.runtime)
        counts = {
            name: sum(len(counted_edits(line)) for line in lines)
            for name, lines in edits.systems.items()
        }
        counts = dict(sorted(counts.items(), key=lambda pair: pair[1]))
        means = {name: count / len(corpus) for name, count in counts.items()}
        values = {name: {"edits": counts[name], "per_sentence": means[name]} for name in counts}
        figures = figures_by("system", values, n=len(corpus))
        columns = [Column("system"), Column("edits"), Column("per_sentence")]
        return self.result(
            work,
            [Table(columns, records(figures), "Edits a sentence", name="rows")],
            figures,
            partial(bars, list(means), list(means.values()), label="edits a sentence"),
        )


@dataclass(frozen=True, kw_only=True)
class Scatter(JudgedAnalysis):
    """Human scores against a metric's, by system."""

    kind: ClassVar[str] = "scatter"
    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges")
    metrics: ClassVar[str | None] = "default: uot-errant; repeat for more"

    def run(self, work: Work) -> Result:
        """Compare the systems' TrueSkill scores with human scores (Goto et al. 2026, figure 3).

        Table `rows` has one record per metric and system, `correlations` one per metric.
        """
        import numpy as np

        from gecjury.report.figures import points
        from gecjury.scoring.options import short_names
        from gecjury.stats.correlation import pearson, spearman
        from gecjury.stats.ranking import aggregate_scores

        corpus = self.corpus(work)
        kind, target = self.human(work)
        figures, correlations, groups = list[Figure](), list[Figure](), {}
        for scorer in work.scorers:
            table = scorer.score_corpus(corpus, work.runtime).settled()
            scores = aggregate_scores("trueskill", table.sentences, table.by_system.score)
            label = table.signature.label
            # The figure shows each metric as a separate cloud of points.
            groups[label] = np.column_stack([target, scores])
            pairs = zip(corpus.names, groups[label].tolist(), strict=True)
            of_systems = {system: {"human": human, "score": own} for system, (human, own) in pairs}
            figures += figures_by("system", of_systems, level="score", metric=label)
            values = {"pearson": pearson(target, scores), "spearman": spearman(target, scores)}
            correlations += figures_about(values, level="system", metric=label)
        names = short_names(groups)
        named = {names[label]: cloud for label, cloud in groups.items()}
        columns = [Column(key) for key in ("metric", "system", "human", "score")]
        short = [Column("metric"), *_COLUMNS]
        labels = (f"human ({kind})", "metric (TrueSkill)")
        return self.result(
            work,
            [
                Table(columns, records(figures), f"Human {kind} and metric TrueSkill", name="rows"),
                Table(short, records(correlations), name="correlations"),
            ],
            [*figures, *correlations],
            partial(points, named, labels=labels, names=dict.fromkeys(named, corpus.names)),
        )


def _metric(analysis: Analysis, work: Work) -> Any:
    """Return the metric whose edit vectors are analysed.

    Raises:
        OptionError: another metric was named.
    """
    if not hasattr(work.scorer, "vectors_of"):
        raise OptionError(
            f"analyse {analysis.kind} needs edit vectors: expected -m uot-errant[:options], not "
            f"{work.scorer.name}"
        )
    return work.scorer


@dataclass(frozen=True, kw_only=True)
class Norms(Analysis):
    """Mean norm of edit vectors by error type.

    Attributes:
        min_count: leave out error types with fewer than N edits.
    """

    kind: ClassVar[str] = "norms"
    min_count: int = option(50, metavar="N")

    def run(self, work: Work) -> Result:
        """Measure the edit vectors (the paper's table 3), the smallest mean first."""
        from gecjury.report.figures import bars

        corpus = self.corpus(work)
        edits, vectors = _metric(self, work).vectors_of(corpus, work.runtime)
        norms = type_norms([short_type(edit.type) for _, _, edit in edits], vectors, self.min_count)
        figures = figures_by("part", norms, level="norms")
        rows = records(figures, names={"part": "type"})
        columns = [Column("type"), Column("edits"), Column("mean"), Column("stdev")]
        note = f"{len(edits)} edits of {len(corpus.systems)} systems; types with "
        note += f"{self.min_count} or more"
        return self.result(
            work,
            [Table(columns, rows, "Norms of edit vectors", [note], "rows")],
            figures,
            partial(
                bars,
                list(norms),
                [of_type["mean"] for of_type in norms.values()],
                label="L2 norm of edit vectors (mean and standard deviation)",
                errors=[of_type["stdev"] for of_type in norms.values()],
            ),
            edits=len(edits),
        )


def type_norms(
    types: Sequence[str], vectors: FloatArray, least: int
) -> dict[str, dict[str, float]]:
    """Return the norms of edits by error type, the smallest mean first.

    Of each type: the number of its `edits`, `mean` and standard deviation, `stdev`.

    Args:
        types: types of the edits.
        vectors: edits × d.
        least: types that occur less often are left out.

    Raises:
        InputError: no type occurs that often.
    """
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1)
    lengths = {kind: norms[np.array(types) == kind] for kind in _common(types, least)}
    norms = {
        kind: {"edits": len(own), "mean": float(own.mean()), "stdev": float(own.std())}
        for kind, own in lengths.items()
    }
    return dict(sorted(norms.items(), key=lambda item: item[1]["mean"]))


def short_type(kind: str) -> str:
    """Return an ERRANT type without its operation: `VERB:TENSE` for `R:VERB:TENSE`."""
    return kind[2:] if kind[:2] in ("M:", "R:", "U:") else kind


def _common(types: Sequence[str], least: int) -> list[str]:
    """Return the types that occur often enough, sorted by name."""
    counts = Counter(types)
    common = sorted(kind for kind, count in counts.items() if count >= least)
    if not common:
        raise InputError(
            f"no error type occurs {least} times among {len(types)} edits; lower --min-count"
        )
    return common


@dataclass(frozen=True, kw_only=True)
class Map(Norms):
    """Edit vectors in the plane, coloured by error type.

    Attributes:
        method: how vectors are laid out.
        seed: seed of t-SNE.
    """

    kind: ClassVar[str] = "map"
    method: Projection = "pca"
    seed: int = option(0, least=0, most=2**32 - 1)

    def run(self, work: Work) -> Result:
        """Lay out the edit vectors of common types (the paper's figure 5)."""
        from gecjury.report.figures import points

        edits, vectors = _metric(self, work).vectors_of(self.corpus(work), work.runtime)
        types = [short_type(edit.type) for _, _, edit in edits]
        common = _common(types, self.min_count)
        kept = [place for place, kind in enumerate(types) if kind in common]
        positions = layout(vectors[kept], self.method, self.seed)
        rows = []
        for place, (x, y) in zip(kept, positions.tolist(), strict=True):
            system, line, edit = edits[place]
            text = f"{edit.start} {edit.end} {edit.correction}"
            about = {"system": system, "line": line + 1, "edit": text, "type": types[place]}
            rows.append({**about, "x": x, "y": y})
        groups = {kind: positions[[types[place] == kind for place in kept]] for kind in common}
        columns = [Column(key) for key in rows[0]]
        return self.result(
            work,
            [Table(columns, rows, f"Edit vectors by {self.method}", name="rows")],
            (),  # Positions are no numbers about something.
            partial(points, groups, labels=(f"{self.method} 1", f"{self.method} 2")),
        )


def layout(vectors: FloatArray, method: Projection, seed: int) -> FloatArray:
    """Return positions in the plane, n × 2, by `pca` (exact, without a seed) or `tsne`.

    Raises:
        MissingExtraError: t-SNE without scikit-learn.
        OptionError: too few vectors.
    """
    import numpy as np

    if len(vectors) < 3:
        raise OptionError(f"{len(vectors)} edits are too few for a map; expected 3 or more")
    centred = vectors - vectors.mean(axis=0)
    if method == "pca":
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        # The signs of axes are arbitrary; here the largest coordinate is positive.
        signs = np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])
        positions: FloatArray = centred @ (axes[:2] * signs[:, None]).T
        return positions
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError(
            f"t-SNE needs scikit-learn, which is not installed: {install_hint('report')}, or "
            "use --method pca"
        ) from None
    tsne = TSNE(
        n_components=2,
        init="pca",
        perplexity=min(30.0, (len(vectors) - 1) / 3),
        random_state=seed,
    )
    placed: FloatArray = np.asarray(tsne.fit_transform(vectors), dtype=np.float64)
    return placed


@dataclass(frozen=True, kw_only=True)
class Lambda(JudgedAnalysis):
    """UOT-ERRANT's λ tried in steps, without encoding again.

    Attributes:
        step: distance from one value to the next, and the first value.
        stop: upper bound of the values.
    """

    kind: ClassVar[str] = "lambda"
    step: float = 0.02
    stop: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.values  # refuses invalid steps before anything is scored

    def run(self, work: Work) -> Result:
        """Correlate the scores of every λ = λ1 = λ2, by TrueSkill, with human scores."""
        import numpy as np

        from gecjury.report.figures import lines
        from gecjury.stats.correlation import pearson, spearman
        from gecjury.stats.ranking import aggregate_scores

        values, corpus = self.values, self.corpus(work)
        kind, target = self.human(work)
        settings = [{"lambda1": value, "lambda2": value} for value in values]
        swept = _metric(self, work).sweep(settings, corpus, work.runtime)
        # TrueSkill uses sentence scores only, so no corpus score is needed.
        nothing = np.full(len(target), np.nan)
        scores = [
            aggregate_scores("trueskill", sentences, nothing)
            for sentences in work.runtime.track(swept, "trying λ", len(values))
        ]
        r, rho = ([correlate(target, one) for one in scores] for correlate in (pearson, spearman))
        best = best_variant(r, rho)
        measures = {
            f"λ1 = λ2 = {value:g}": {"lambda": value, "pearson": one, "spearman": other}
            for value, one, other in zip(values, r, rho, strict=True)
        }
        about = {"level": "system", "metric": work.scorer.name, "human": kind}
        figures = figures_by("part", measures, **about)
        rows = records(figures, names={"part": "", "metric": "", "human": ""})
        note = f"best: λ = {values[best]:g} (r {r[best]:.3f}, ρ {rho[best]:.3f})"
        title = f"{work.name}: UOT-ERRANT by TrueSkill against human {kind}"
        return self.result(
            work,
            [Table([Column("lambda"), *_COLUMNS], rows, title, [note], "rows")],
            figures,
            partial(
                lines,
                {"pearson": (values, r), "spearman": (values, rho)},
                labels=("λ1 = λ2", f"correlation with human {kind}"),
            ),
            best=rows[best],
        )

    @property
    def values(self) -> list[float]:
        """The values step, 2 · step, ..., up to stop.

        Raises:
            OptionError: there are no values.
        """
        if not 0 < self.step <= self.stop:
            raise OptionError(f"--step {self.step} --stop {self.stop}: expected 0 < step <= stop")
        count = int(self.stop / self.step + 1e-9)
        return [round(self.step * k, 10) for k in range(1, count + 1)]


def best_variant(r: Sequence[float], rho: Sequence[float]) -> int:
    """Return which variant has the best Pearson; among equals (to three digits), best Spearman.

    The paper chooses in the same way (Goto et al. 2026, section 4.1).
    """
    return max(range(len(r)), key=lambda number: (round(r[number], 3), rho[number]))

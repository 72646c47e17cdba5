"""Analyses of any corpus as table and figure: edits, human scores, seconds (`gecjury analyse`).

Analyses of edit vectors are in `gecjury.studies.edit_vectors`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError, nearest
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import counted_edits
from gecjury.extraction.extract import corpus_edits
from gecjury.models.encoder import forget
from gecjury.report.figures import bars, lines, points
from gecjury.report.result import Column, Result, Table
from gecjury.scoring.options import short_names
from gecjury.scoring.scorer import Scorer
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.ranking import aggregate_scores
from gecjury.studies.study import Need, Study, Takes, Work


@dataclass(frozen=True, kw_only=True)
class Analysis(Study):
    """One analysis of a corpus.

    Attributes:
        only: analyse only these systems.
    """

    takes: ClassVar[Takes] = "either"
    needs: ClassVar[tuple[Need, ...]] = ("texts", "models")
    data: ClassVar[str] = "a benchmark's name, or SOURCE and HYP..."
    data_name: ClassVar[str] = "CORPUS"
    metrics: ClassVar[str | None] = "default: uot-errant"
    draws: ClassVar[str] = "--figure"
    only: tuple[str, ...] = option((), metavar="SYSTEM")

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return the metric of edit vectors; none for an analysis without a metric."""
        return () if cls.metrics is None else ("uot-errant",), ""

    @property
    def kind(self) -> str:
        """The name of the analysis on the command line."""
        return type(self).__name__.lower()

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
        self, work: Work, tables: Sequence[Table], draw: Callable[[str], None], **facts: Any
    ) -> Result:
        """Return the result with the facts that every analysis reports."""
        about = {"analysis": self.kind, "corpus": list(work.inputs)}
        return Result(tuple(tables), {**about, **facts}, draw=draw)


@dataclass(frozen=True, kw_only=True)
class JudgedAnalysis(Analysis):
    """An analysis that compares with human scores."""

    data: ClassVar[str] = "a benchmark's name"

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
        """Return the name of the benchmark's first human scores, and the systems' scores."""
        benchmark = self.judged(work)
        # The first column is the one that the benchmark's authors use.
        kind = next(iter(benchmark.human[benchmark.view]))
        rows = [benchmark.corpus.names.index(name) for name in self.corpus(work).names]
        return kind, benchmark.human_scores(kind)[rows]


@dataclass(frozen=True, kw_only=True)
class Edits(Analysis):
    """Edits per sentence, by system."""

    needs: ClassVar[tuple[Need, ...]] = ("texts", "edits")
    metrics: ClassVar[str | None] = None

    def run(self, work: Work) -> Result:
        """Count every system's edits, as ERRANT extracts them (Goto et al. 2026, figure 2).

        Table `rows` begins with the system that has the fewest.
        """
        corpus = self.corpus(work)
        counts = _edit_counts(corpus, work.runtime)
        rows: list[dict[str, Any]] = [
            {"system": name, "edits": count, "per_sentence": count / len(corpus)}
            for name, count in sorted(counts.items(), key=lambda pair: pair[1])
        ]
        columns = [Column("system"), Column("edits"), Column("per_sentence", "edits a sentence")]
        names, heights = [row["system"] for row in rows], [row["per_sentence"] for row in rows]
        return self.result(
            work,
            [Table(columns, rows, "Edits a sentence", name="rows")],
            partial(bars, names, heights, label="edits a sentence"),
        )


def _edit_counts(corpus: Corpus, runtime: Runtime) -> dict[str, int]:
    # References are left out: their edits would be extracted for nothing.
    edits = corpus_edits(replace(corpus, references=()), "embedded", runtime)
    return {
        name: sum(len(counted_edits(line)) for line in lines)
        for name, lines in edits.systems.items()
    }


@dataclass(frozen=True, kw_only=True)
class Scatter(JudgedAnalysis):
    """Human scores against a metric's, by system."""

    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges")
    metrics: ClassVar[str | None] = "default: uot-errant; repeat for more"

    def run(self, work: Work) -> Result:
        """Compare the systems' TrueSkill scores with human scores (Goto et al. 2026, figure 3).

        Table `rows` has one record per metric and system, `correlations` one per metric.
        """
        corpus = self.corpus(work)
        kind, target = self.human(work)
        rows, correlations, groups = list[dict[str, Any]](), [], {}
        for scorer in work.scorers:
            table = scorer.score_corpus(corpus, work.runtime).settled()
            scores = aggregate_scores("trueskill", table.sentences, table.by_system.score)
            label = table.signature.label
            # The figure shows each metric as a separate cloud of points.
            groups[label] = np.column_stack([target, scores])
            rows += [
                {"metric": label, "system": system, "human": human, "score": score}
                for system, (human, score) in zip(corpus.names, groups[label].tolist(), strict=True)
            ]
            r, rho = pearson(target, scores), spearman(target, scores)
            correlations.append({"metric": label, "pearson": r, "spearman": rho})
        names = short_names(groups)
        named = {names[label]: cloud for label, cloud in groups.items()}
        columns = [Column(key) for key in ("metric", "system", "human", "score")]
        short = [Column("metric"), Column("pearson", "r"), Column("spearman", "ρ")]
        labels = (f"human ({kind})", "metric (TrueSkill)")
        return self.result(
            work,
            [
                Table(columns, rows, f"Human {kind} and metric TrueSkill", name="rows"),
                Table(short, correlations, name="correlations"),
            ],
            partial(points, named, labels=labels, names=dict.fromkeys(named, corpus.names)),
        )


@dataclass(frozen=True, kw_only=True)
class Cost(Analysis):
    """Seconds against edits per sentence and against the number of systems."""

    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges")
    metrics: ClassVar[str | None] = "default: uot-errant; repeat for more"

    def run(self, work: Work) -> Result:
        """Time each system alone, and the first k systems together (the paper's figure 7).

        No cache is used between the timings, and loading models is not timed. Table `rows` has one
        record per metric and system; `slopes` has one per metric, with least-squares slopes (NaN
        for fewer than two systems) and a mean.
        """
        corpus, bare = self.corpus(work), replace(work.runtime, use_cache=False)
        counts = _edit_counts(corpus, work.runtime)
        density = [counts[system] / len(corpus) for system in corpus.names]
        typed = {scorer: text for text, scorer in work.typed.items()}
        rows, slopes = list[dict[str, Any]](), list[dict[str, Any]]()
        curves = {}
        for scorer in work.scorers:
            name = typed.get(scorer, scorer.name)
            # Models are loaded before the clock starts.
            scorer.score_corpus(corpus.with_systems(corpus.names[:1]), bare)
            alone: list[float] = []
            together: list[float] = []
            for index, system in enumerate(corpus.names):
                alone.append(_seconds(scorer, corpus, [system], bare))
                together.append(_seconds(scorer, corpus, corpus.names[: index + 1], bare))
            rows += [
                {
                    "metric": name,
                    "system": system,
                    "edits_per_sentence": density[index],
                    "seconds_alone": alone[index],
                    "systems": index + 1,
                    "seconds_together": together[index],
                }
                for index, system in enumerate(corpus.names)
            ]
            slopes.append(
                {
                    "metric": name,
                    "seconds_per_edit_a_sentence": _slope(density, alone),
                    "seconds_per_system_together": _slope(range(len(together)), together),
                    "mean_seconds_alone": float(np.mean(alone)),
                }
            )
            # A line is drawn from the system with the fewest edits to the one with the most.
            x, y = zip(*sorted(zip(density, alone, strict=True)), strict=True)
            curves[name] = (x, y)
        return self.result(
            work,
            [
                Table([Column(key) for key in rows[0]], rows, "Seconds", name="rows"),
                Table([Column(key) for key in slopes[0]], slopes, name="slopes"),
            ],
            partial(lines, curves, labels=("edits per sentence", "seconds per system alone")),
        )


def _seconds(scorer: Scorer, corpus: Corpus, systems: Sequence[str], runtime: Runtime) -> float:
    # Encoders keep vectors in memory, which would make later timings too short.
    forget()
    start = time.perf_counter()
    scorer.score_corpus(corpus.with_systems(systems), runtime)
    return time.perf_counter() - start


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    if len(x) < 2 or min(x) == max(x):
        return float("nan")
    return float(np.polyfit(x, y, 1)[0])

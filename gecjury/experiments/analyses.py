"""Analyses of metrics over a corpus: edits, human scores, seconds, variants of one metric.

The figures of `gecjury analyse`; the analyses of edit vectors live with the metric that makes them,
in `gecjury.refbased.uot_errant.analyses`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import counted_edits
from gecjury.errors import OptionError
from gecjury.experiments.inputs import Metrics, scorers_of
from gecjury.experiments.result import ExperimentResult
from gecjury.extraction.extract import corpus_edits
from gecjury.models.encoder import forget
from gecjury.runtime import Runtime
from gecjury.scoring.registry import Metric
from gecjury.scoring.scorer import Scorer
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.ranking import aggregate_scores


@dataclass(frozen=True)
class SystemEdits:
    """How much a system changes: its edits, and edits a sentence."""

    system: str
    edits: int
    per_sentence: float


@dataclass(frozen=True, repr=False)
class EditDensity(ExperimentResult):
    """Edits a sentence by system (Goto et al. 2026, figure 2), fewest first."""

    systems: tuple[SystemEdits, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One record a system."""
        return [asdict(each) for each in self.systems]


def edit_density(corpus: Corpus, runtime: Runtime | None = None) -> EditDensity:
    """Count every system's edits, as ERRANT extracts them.

    Args:
        corpus: sources and hypotheses.
        runtime: workers and cache of the extraction.
    """
    counts = _edit_counts(corpus, runtime or Runtime())
    found = [SystemEdits(name, count, count / len(corpus)) for name, count in counts.items()]
    return EditDensity(tuple(sorted(found, key=lambda each: each.per_sentence)))


def _edit_counts(corpus: Corpus, runtime: Runtime) -> dict[str, int]:
    found = corpus_edits(replace(corpus, references=()), "embedded", "spacy2", runtime)
    return {
        name: sum(len(counted_edits(line)) for line in lines)
        for name, lines in found.systems.items()
    }


@dataclass(frozen=True)
class ScatterPoint:
    """A system's human score and a metric's."""

    metric: str
    system: str
    human: float
    score: float


@dataclass(frozen=True)
class MetricCorrelation:
    """How a metric's scores of the systems go with the human ones."""

    metric: str
    pearson: float
    spearman: float


@dataclass(frozen=True, repr=False)
class Scatter(ExperimentResult):
    """Human against metric scores by system (Goto et al. 2026, figure 3).

    Attributes:
        kind: the human scores, e.g. `trueskill`.
        points: by metric, one a system.
        correlations: one a metric.
    """

    kind: str
    points: tuple[ScatterPoint, ...]
    correlations: tuple[MetricCorrelation, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One record a metric and system."""
        return [asdict(each) for each in self.points]


def human_scatter(
    benchmark: Benchmark,
    metrics: Metrics,
    *,
    corpus: Corpus | None = None,
    runtime: Runtime | None = None,
) -> Scatter:
    """Metrics' scores of the systems, by TrueSkill, beside the benchmark's human ones.

    Args:
        benchmark: with human scores.
        metrics: names, with options as on the command line, or scorers.
        corpus: the benchmark's corpus with some of its systems; by default all.
        runtime: device, workers and the like.
    """
    corpus = corpus or benchmark.corpus
    kind, target = _human(benchmark, corpus)
    points, correlations = [], []
    for scorer in scorers_of(metrics):
        table = scorer.score_corpus(corpus, runtime).settled()
        scores = aggregate_scores("trueskill", table.sentences, table.by_system.score)
        label = table.signature.label
        points += [
            ScatterPoint(label, system, x, y)
            for system, x, y in zip(corpus.names, target.tolist(), scores.tolist(), strict=True)
        ]
        correlations.append(
            MetricCorrelation(label, pearson(target, scores), spearman(target, scores))
        )
    return Scatter(kind, tuple(points), tuple(correlations))


@dataclass(frozen=True)
class CostPoint:
    """What scoring a system takes.

    Attributes:
        metric: whose scoring.
        system: the system.
        edits_per_sentence: how much it changes.
        seconds_alone: to score it by itself.
        systems: how many are scored together with it, those before it and itself.
        seconds_together: to score these.
    """

    metric: str
    system: str
    edits_per_sentence: float
    seconds_alone: float
    systems: int
    seconds_together: float


@dataclass(frozen=True)
class CostSlopes:
    """A metric's seconds in short: least-squares slopes (NaN for fewer than two), and a mean."""

    metric: str
    seconds_per_edit_a_sentence: float
    seconds_per_system_together: float
    mean_seconds_alone: float


@dataclass(frozen=True, repr=False)
class ScoringCost(ExperimentResult):
    """Seconds against edits (Goto et al. 2026, figure 7) and against the number of systems.

    Attributes:
        points: by metric, one a system.
        slopes: one a metric.
    """

    points: tuple[CostPoint, ...]
    slopes: tuple[CostSlopes, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One record a metric and system."""
        return [asdict(each) for each in self.points]


def scoring_cost(corpus: Corpus, metrics: Metrics, runtime: Runtime | None = None) -> ScoringCost:
    """Seconds for each system by itself, and for the first k systems at once.

    Nothing is read from or kept in a cache between the timings; loading models is not timed.

    Args:
        corpus: what is scored.
        metrics: names, with options as on the command line, or scorers.
        runtime: device, workers and the like; its caches are left alone.
    """
    runtime = runtime or Runtime()
    counts = _edit_counts(corpus, runtime)
    density = [counts[system] / len(corpus) for system in corpus.names]
    bare = replace(runtime, use_cache=False)
    one_alone = isinstance(metrics, str) or not isinstance(metrics, Sequence)
    given: list[Metric] = [metrics] if one_alone else list(dict.fromkeys(metrics))  # type: ignore[arg-type, list-item]  # told apart
    points, slopes = [], []
    for one, scorer in zip(given, scorers_of(given), strict=True):
        name = one if isinstance(one, str) else scorer.name
        # Models are loaded before the clock runs.
        scorer.score_corpus(corpus.with_systems(corpus.names[:1]), bare)
        alone: list[float] = []
        together: list[float] = []
        for index, system in enumerate(corpus.names):
            alone.append(_seconds(scorer, corpus, [system], bare))
            together.append(_seconds(scorer, corpus, corpus.names[: index + 1], bare))
        points += [
            CostPoint(name, system, x, y, index + 1, z)
            for index, (system, x, y, z) in enumerate(
                zip(corpus.names, density, alone, together, strict=True)
            )
        ]
        slopes.append(
            CostSlopes(
                name,
                _slope(density, alone),
                _slope(list(range(len(together))), together),
                float(np.mean(alone)),
            )
        )
    return ScoringCost(tuple(points), tuple(slopes))


def _seconds(scorer: Scorer, corpus: Corpus, systems: Sequence[str], runtime: Runtime) -> float:
    # Encoders remember vectors, which would make the later timings cheap.
    forget()
    start = time.perf_counter()
    scorer.score_corpus(corpus.with_systems(systems), runtime)
    return time.perf_counter() - start


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    if len(x) < 2 or min(x) == max(x):
        return float("nan")
    return float(np.polyfit(x, y, 1)[0])


@dataclass(frozen=True, repr=False)
class ComparedVariants(ExperimentResult):
    """Variants of one metric against human scores, by TrueSkill.

    Attributes:
        kind: the human scores, e.g. `trueskill`.
        settings: what tells the variants apart, one record each.
        pearson: correlation over systems, one a variant.
        spearman: the same by ranks.
    """

    kind: str
    settings: tuple[Mapping[str, Any], ...]
    pearson: tuple[float, ...]
    spearman: tuple[float, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One record a variant."""
        return [
            {**setting, "pearson": r, "spearman": rho}
            for setting, r, rho in zip(self.settings, self.pearson, self.spearman, strict=True)
        ]

    @property
    def best(self) -> dict[str, Any]:
        """The record with the best Pearson, of equal ones (to three digits) the best Spearman.

        So the paper chooses (Goto et al. 2026, section 4.1).
        """
        return max(self.rows(), key=lambda row: (round(row["pearson"], 3), row["spearman"]))


def try_variants(
    benchmark: Benchmark,
    settings: Sequence[Mapping[str, Any]],
    sentences: FloatArray | Sequence[FloatArray],
    *,
    corpus: Corpus | None = None,
) -> ComparedVariants:
    """Correlate sentence scores of several variants of a metric with human scores.

    Args:
        benchmark: with human scores.
        settings: V records that tell the variants apart.
        sentences: V × systems × sentences.
        corpus: the benchmark's corpus with some of its systems; by default all.
    """
    kind, target = _human(benchmark, corpus or benchmark.corpus)
    nothing = np.full(len(target), np.nan)
    scores = [aggregate_scores("trueskill", each, nothing) for each in sentences]
    return ComparedVariants(
        kind,
        tuple(settings),
        tuple(pearson(target, each) for each in scores),
        tuple(spearman(target, each) for each in scores),
    )


def steps_to(step: float, stop: float) -> list[float]:
    """The values step, 2 · step, ..., up to stop.

    Raises:
        OptionError: there is none.
    """
    if not 0 < step <= stop:
        raise OptionError(f"--step {step} --stop {stop}: expected 0 < step <= stop")
    return [round(step * k, 10) for k in range(1, int(stop / step + 1e-9) + 1)]


def _human(benchmark: Benchmark, corpus: Corpus) -> tuple[str, FloatArray]:
    """The benchmark's first human column, and its scores of the corpus' systems."""
    kind = next(iter(benchmark.human[benchmark.view]))
    human = dict(zip(benchmark.corpus.names, benchmark.human_scores(kind), strict=True))
    return kind, np.array([human[name] for name in corpus.names])

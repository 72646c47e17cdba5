"""Systems in the order of their scores, and how sure that order is; the numbers of `gecjury rank`.

Everything comes from one scoring; `gecjury.experiments.system_tests` says how sure it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Literal

from gecjury.arrays import FloatArray, settled
from gecjury.corpus.m2 import M2Sentence
from gecjury.errors import OptionError
from gecjury.experiments.inputs import Metrics, Texts, scorers_of
from gecjury.experiments.result import ExperimentResult
from gecjury.experiments.score import score
from gecjury.experiments.system_tests import SystemTests, compare_systems
from gecjury.runtime import Runtime
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.ranking import Aggregate, aggregate_scores
from gecjury.stats.resampling import check_resamples

Resample = Literal["sentences", "none"]
"""What the bootstrap draws; `none`: no intervals, no tests."""


@dataclass(frozen=True, kw_only=True)
class RankSettings:
    """What `rank` can be told.

    Attributes:
        aggregate: what systems are ranked by; `corpus` is the metric's own corpus score.
        resample: what the bootstrap draws; `none`: no intervals, no tests.
        resamples: size of the bootstrap, from 1.
        confidence: of the intervals, between 0 and 1.
        permutations: of each test between two systems, from 1.
        level: of significance, for rank ranges and clusters.
        seed: of bootstrap and tests.

    Raises:
        OptionError: a value out of range.
    """

    aggregate: Aggregate = "corpus"
    resample: Resample = "sentences"
    resamples: int = 1000
    confidence: float = 0.95
    permutations: int = 1000
    level: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise OptionError(
                f"--resamples {self.resamples}: expected 1 or more (--resample none: no)"
            )
        check_resamples(self.resamples)
        if not 0 < self.confidence < 1:
            raise OptionError(f"--confidence {self.confidence}: expected a number between 0 and 1")
        if self.permutations < 1:
            raise OptionError(f"--permutations {self.permutations}: expected 1 or more")


@dataclass(frozen=True, eq=False)
class MetricRanking:
    """What one metric makes of the systems.

    Attributes:
        table: its scores.
        scores: what the systems are ranked by, shape (S,).
        tests: intervals, tests, rank ranges and clusters; None where nothing was resampled.
    """

    table: ScoreTable
    scores: FloatArray
    tests: SystemTests | None

    @property
    def order(self) -> list[int]:
        """The systems by number, the best first, those without a score last."""
        scores = self.scores.tolist()
        return sorted(range(len(scores)), key=lambda row: (isnan(scores[row]), -scores[row]))

    @property
    def all_alike(self) -> bool:
        """Whether several systems were tested that all score the same."""
        if self.tests is None or len(self.table.systems) < 2:
            return False
        return len({float(score) for score in self.tests.scores}) == 1


@dataclass(frozen=True, repr=False, eq=False)
class Ranked(ExperimentResult):
    """Systems ranked by several metrics.

    Attributes:
        metrics: one a metric, in the order in which they were named.
        settings: how they were ranked.
    """

    metrics: tuple[MetricRanking, ...]
    settings: RankSettings

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of the tests, and what the metrics have to say."""
        found = []
        for one in self.metrics:
            label = one.table.signature.label
            if one.tests is not None and one.tests.dropped:
                found.append(f"{label}: {one.tests.dropped} resampled scores not defined, left out")
            if one.all_alike:
                found.append(f"{label}: all systems score alike: nothing to rank")
        told = (note for one in self.metrics for note in one.table.statistics.notes)
        return (*found, *dict.fromkeys(told))

    @property
    def unanswered(self) -> int:
        """How many scores were wanted and not had."""
        return sum(one.table.unanswered for one in self.metrics)

    def rows(self) -> list[dict[str, Any]]:
        """One record a metric and system, by metric, the best system first.

        Equal scores share a rank. With tests there are `ci95` (bounds of the score),
        `rank_range` (best and worst rank that the tests leave open; None without a score),
        `ranks` (the same as text), `cluster` and `p_next` (corrected p of the difference from the
        next system; None for the last).
        """
        return [row for one in self.metrics for row in _rows(one, self.settings.aggregate)]


def _rows(one: MetricRanking, aggregate: Aggregate) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    table, tests = one.table, one.tests
    for place, number in enumerate(one.order):
        score = float(one.scores[number])
        level = place > 0 and score == rows[-1]["score"]
        row: dict[str, Any] = {
            "rank": rows[-1]["rank"] if level else place + 1,
            "system": table.systems[number],
            "metric": table.signature.label,
            "aggregate": aggregate,
            "score": score,
            "signature": str(table.signature),
        }
        if tests is not None:
            span = tests.ranks[number]
            row["ci95"] = list(tests.intervals[number])
            row["rank_range"] = None if span is None else list(span)
            row["ranks"] = (
                None if span is None else "–".join(str(end) for end in dict.fromkeys(span))
            )
            row["cluster"] = tests.clusters[number]
            below = one.order[place + 1 :][:1]
            row["p_next"] = float(tests.adjusted[number, below[0]]) if below else None
        rows.append(row)
    return rows


def rank(
    texts: Texts,
    hypotheses: Mapping[str, Sequence[str]] | None = None,
    references: Sequence[Sequence[str]] = (),
    *,
    metrics: Metrics,
    settings: RankSettings | None = None,
    gold: Sequence[M2Sentence] | None = None,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
) -> Ranked:
    """Rank systems by several metrics and test the differences between them.

    Args:
        texts: N tokenised sources; or a corpus, a benchmark or a benchmark's name, which bring
            their own hypotheses and references.
        hypotheses: system name → N sentences.
        references: R lists of N sentences; one list of strings counts as one reference.
        metrics: names, with options as on the command line, or scorers.
        settings: aggregation, bootstrap and tests.
        gold: N M2 blocks, for metrics that match gold edits.
        folder: where score files are read and kept; by default nowhere.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric, option or benchmark.
        InputError: texts that do not belong together, or that lack what a metric needs.
        OutputError: the folder cannot be written.
    """
    settings = settings or RankSettings()
    scorers = scorers_of(metrics)
    scored = score(
        texts,
        hypotheses,
        references,
        metrics=scorers,
        gold=gold,
        folder=folder,
        runtime=runtime,
    )
    found = []
    for scorer, given in zip(scorers, scored.tables, strict=True):
        table = given.settled()
        tests = None
        if settings.resample != "none":
            check_resamples(settings.resamples, table.sentences.shape[1])
            tests = compare_systems(
                scorer,
                table,
                settings.aggregate,
                resamples=settings.resamples,
                permutations=settings.permutations,
                confidence=settings.confidence,
                level=settings.level,
                seed=settings.seed,
            )
        scores = settled(
            aggregate_scores(settings.aggregate, table.sentences, table.by_system.score)
        )
        found.append(MetricRanking(table, scores, tests))
    return Ranked(tuple(found), settings)

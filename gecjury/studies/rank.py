"""Systems in the order of their scores, and how sure that order is: `gecjury rank`.

Everything comes from one scoring; `gecjury.studies.system_tests` says how sure it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any, ClassVar

from gecjury.arrays import FloatArray, settled
from gecjury.report.result import Column, Result, Table
from gecjury.scoring.scores import ScoreTable
from gecjury.settings import option
from gecjury.stats.ranking import Aggregate, aggregate_scores
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.study import Study, Work, function_of
from gecjury.studies.system_tests import SystemTests, compare_systems

_OFFERED = ("over", "resamples", "confidence", "permutations")


@dataclass(frozen=True, kw_only=True)
class Rank(Study):
    """Systems in the order of their scores, and how sure that order is.

    Attributes:
        aggregate: what systems are ranked by; `corpus` is the metric's own corpus score.
        resampling: the bootstrap over sentences, and the paired tests between systems.
        seed: seed of the resampling and of the tests.
    """

    keeps: ClassVar[bool] = True
    aggregate: Aggregate = "corpus"
    resampling: Resampling = option(
        Resampling(over="sentences", permutations=1000),
        offers=_OFFERED,
        only={"over": ("sentences", "none")},
    )
    seed: int = option(0, least=0)

    def run(self, work: Work) -> Result:
        """Score the systems, rank them by each metric and test their differences.

        The records of table `rows` are one a metric and system, the best system first; equal
        scores share a rank. With tests they have `ci95` (bounds of the score), `rank_range` (best
        and worst rank that the tests leave open; None without a score), `ranks` (the same as
        text), `cluster`, and `p_next` (corrected p of the difference from the next system; None
        for the last). Table `significance` has all p-values.
        """
        how = self.resampling
        tables = work.scores()
        rows: list[dict[str, Any]] = []
        significance: list[dict[str, Any]] = []
        notes: list[str] = []
        for scorer, table in zip(work.scorers, (one.settled() for one in tables), strict=True):
            tests = None
            if how.over != "none":
                # Only here is known how many sentences each resample holds.
                check_resamples(how.resamples, table.sentences.shape[1])
                tests = compare_systems(scorer, table, self.aggregate, how, self.seed)
                significance.append(self._significance(table, tests))
                notes += _test_notes(table, tests)
            # Settled: systems that differ by rounding alone share a rank.
            scores = aggregate_scores(self.aggregate, table.sentences, table.by_system.score)
            rows += self._ranked(table, settled(scores), tests)
        notes += dict.fromkeys(note for one in tables for note in one.statistics.notes)
        signatures = [str(one.signature) for one in tables]
        return Result(
            (
                Table(
                    self._columns(),
                    rows,
                    f"Ranking by {self.aggregate} score",
                    [*self._how(), *notes, *signatures],
                    "rows",
                ),
                Table((), significance, name="significance"),
            ),
            {"uncertainty": self._uncertainty()},
            tuple(notes),
            int(any(one.unanswered for one in tables)),
        )

    def _ranked(
        self, table: ScoreTable, scores: FloatArray, tests: SystemTests | None
    ) -> Iterator[dict[str, Any]]:
        values = scores.tolist()
        # Systems without a score come last.
        order = sorted(range(len(values)), key=lambda row: (isnan(values[row]), -values[row]))
        rank, last = 0, None
        for place, number in enumerate(order, 1):
            if values[number] != last:
                rank, last = place, values[number]
            row: dict[str, Any] = {
                "rank": rank,
                "system": table.systems[number],
                "metric": table.signature.label,
                "aggregate": self.aggregate,
                "score": values[number],
                "signature": str(table.signature),
            }
            if tests is not None:
                span = tests.ranks[number]
                row["ci95"] = list(tests.intervals[number])
                row["rank_range"] = None if span is None else list(span)
                # A range of one rank is shown as that rank.
                ends = dict.fromkeys(span or ())
                row["ranks"] = "–".join(map(str, ends)) if span else None
                row["cluster"] = tests.clusters[number]
                below = order[place : place + 1]
                row["p_next"] = float(tests.adjusted[number, below[0]]) if below else None
            yield row

    def _columns(self) -> list[Column]:
        columns = [Column("rank"), Column("system"), Column("metric")]
        columns.append(Column("score", digits=4, interval="ci95"))
        if self.resampling.over != "none":
            columns += [Column("ranks"), Column("cluster"), Column("p_next", "p to next", digits=4)]
        return columns

    def _how(self) -> list[str]:
        """Return notes on how intervals, ranks and clusters were made."""
        how = self.resampling
        if how.over == "none":
            return []
        level = f"{how.level:.2f}".removeprefix("0")
        return [
            f"[low, high]: {how.confidence:.0%} percentile bootstrap over sentences, "
            f"{how.resamples} resamples, seed {self.seed}",
            f"ranks, cluster: what paired approximate randomisation leaves open at {level} after "
            f"Holm's correction over all pairs of systems ({how.permutations} permutations; "
            "small p from a normal curve); p to next: corrected, of the difference from the system "
            "below",
        ]

    def _significance(self, table: ScoreTable, tests: SystemTests) -> dict[str, Any]:
        return {
            "metric": table.signature.label,
            "test": "approximate-randomisation",
            "statistic": self.aggregate,
            "systems": list(table.systems),
            "p": tests.p,
            "adjusted": tests.adjusted,
            "correction": "holm",
            "resamples": self.resampling.permutations,
            "clusters": list(tests.clusters),
        }

    def _uncertainty(self) -> dict[str, Any] | None:
        how = self.resampling
        keys = ("resamples", "over", "seed", "confidence", "permutations", "level")
        values = {**vars(how), "seed": self.seed}
        return None if how.over == "none" else {key: values[key] for key in keys}


def _test_notes(table: ScoreTable, tests: SystemTests) -> Iterator[str]:
    label = table.signature.label
    if tests.dropped:
        yield f"{label}: {tests.dropped} resampled scores not defined, left out"
    if len(table.systems) > 1 and len(set(tests.scores.tolist())) == 1:
        yield f"{label}: all systems score alike: nothing to rank"


rank = function_of(Rank)

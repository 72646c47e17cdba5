"""Rank systems by their scores, and show how certain the ranking is: `gecjury rank`.

Systems are scored once; `gecjury.scoring.system_tests` computes intervals and tests from that.

Example:
    >>> from gecjury import rank
    >>> [row["system"] for row in rank("sample", ["green"]).rows()]
    ['careful', 'cautious', 'hasty', 'fluent', 'spelling', 'noisy']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, ClassVar

from gecjury.core.arrays import FloatArray, settled
from gecjury.core.settings import option
from gecjury.core.wording import listed, number
from gecjury.report.result import Column, Reader, Record, Result, Table
from gecjury.report.tables import crossed
from gecjury.report.words import certainty
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.scoring.system_tests import SystemTests, compare_systems
from gecjury.stats.ranking import Aggregate, aggregate_scores
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.study import Study, Work, function_of

_OFFERED = ("over", "resamples", "confidence", "permutations")


@dataclass(frozen=True, kw_only=True)
class Rank(Study):
    """Systems ranked by their scores, and how certain the ranking is.

    Attributes:
        aggregate: the score that systems are ranked by; `corpus` is the metric's own corpus score.
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

        Table `rows` has one record per metric and system, the best system first; equal scores
        share a rank. With tests, records also have `ci95` (bounds of the score), `rank_range` (the
        best and worst rank that are consistent with the tests; None without a score), `ranks` (the
        same as text), `cluster`, and `p_next` (corrected p of the difference from the next system;
        None for the last). Table `significance` has all p-values.
        """
        return self.of(work.scorers, work.scores())

    def of(self, scorers: Sequence[Scorer], tables: Sequence[ScoreTable]) -> Result:
        """Rank systems that have been scored; see `run`."""
        how = self.resampling
        rows: list[dict[str, Any]] = []
        significance: list[dict[str, Any]] = []
        notes: list[str] = []
        verdict: list[str] = []
        for scorer, table in zip(scorers, (table.settled() for table in tables), strict=True):
            tests = None
            if how.over != "none":
                # The number of sentences in a resample is known only here.
                check_resamples(how.resamples, table.sentences.shape[1])
                tests = compare_systems(scorer, table, self.aggregate, how, self.seed)
                significance.append(self._significance(table, tests))
                notes += _test_notes(table, tests)
            # Scores are settled, so that systems that differ only by rounding share a rank.
            scores = aggregate_scores(self.aggregate, table.sentences, table.by_system.score)
            ranked = list(self._ranked(table, settled(scores), tests))
            verdict += self._verdict(table, ranked, tests)
            rows += ranked
        notes += dict.fromkeys(note for one in tables for note in one.statistics.notes)
        signatures = [str(one.signature) for one in tables]
        title = f"Ranking by {self.aggregate} score"
        ranking = Table(self._columns(), rows, title, [*self._how(), *notes, *signatures], "rows")
        brief = replace(ranking, notes=[*self._legend(), *notes])
        # Papers show one column per metric, without ranks and clusters.
        scores_alone = replace(ranking, notes=[*self._how()[:1], *notes, *signatures])
        instead: dict[Reader, Table] = {"brief": brief, "latex": crossed(scores_alone, "score")}
        return Result(
            (replace(ranking, instead=instead), Table((), significance, name="significance")),
            {"uncertainty": self._uncertainty()},
            tuple(notes),
            int(any(one.unanswered for one in tables)),
            verdict=tuple(verdict),
        )

    def _verdict(
        self, table: ScoreTable, ranked: Sequence[Record], tests: SystemTests | None
    ) -> Iterator[str]:
        """Yield a sentence on who leads by a metric, by how much, and how certain that is."""
        label = table.signature.label
        leaders = [row["system"] for row in ranked if row["rank"] == 1]
        if len(ranked) < 2 or len(leaders) == len(ranked) or isnan(ranked[0]["score"]):
            return
        top, others = ranked[0], ranked[len(leaders) :]
        score = number(top["score"], 4)
        if tests is not None:
            low, high = (number(bound, 4) for bound in top["ci95"])
            score += f" ({self.resampling.confidence:.0%}: {low} to {high})"
        if len(leaders) > 1:
            yield f"{label}: {listed(leaders)} share the lead: {score}."
            return
        first = table.systems.index(top["system"])
        p_values = {
            row["system"]: None
            if tests is None
            else float(tests.adjusted[first, table.systems.index(row["system"])])
            for row in others
            if not isnan(row["score"])
        }
        if not p_values:
            return
        gap = number(top["score"] - others[0]["score"], 4)
        yield (
            f"{label}: {top['system']} leads: {score}, {gap} ahead of {others[0]['system']}, "
            f"{certainty(p_values, 'approximate randomisation', self.resampling.level)}."
        )

    def _ranked(
        self, table: ScoreTable, scores: FloatArray, tests: SystemTests | None
    ) -> Iterator[dict[str, Any]]:
        values = scores.tolist()
        # Systems without a score come last.
        order = sorted(range(len(values)), key=lambda row: (isnan(values[row]), -values[row]))
        rank, last = 0, None
        for place, index in enumerate(order, 1):
            if values[index] != last:
                rank, last = place, values[index]
            row: dict[str, Any] = {
                "rank": rank,
                "system": table.systems[index],
                "metric": table.signature.label,
                "aggregate": self.aggregate,
                "score": values[index],
                "signature": str(table.signature),
            }
            if tests is not None:
                row["ci95"] = list(tests.intervals[index])
                row |= standing(tests.ranks, tests.clusters, tests.adjusted, order, place - 1)
            yield row

    def _columns(self) -> list[Column]:
        columns = [Column("rank"), Column("system"), Column("metric")]
        columns.append(Column("score", digits=4, interval="ci95"))
        if self.resampling.over != "none":
            columns += CERTAINTY
        return columns

    def _how(self) -> list[str]:
        """Return notes on how intervals, ranks and clusters were computed."""
        how = self.resampling
        if how.over == "none":
            return []
        return [
            f"[low, high]: {how.confidence:.0%} percentile bootstrap over sentences, "
            f"{how.resamples} resamples, seed {self.seed}",
            about_tests(how),
        ]

    def _legend(self) -> list[str]:
        """Return a line that explains intervals, ranks and clusters."""
        how = self.resampling
        if how.over == "none":
            return []
        return [
            f"[low, high]: {how.confidence:.0%} bootstrap over sentences; ranks, cluster: "
            f"consistent with tests at {how.level:g}; p to next: of the difference from the system "
            "below"
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


def standing(
    ranks: Sequence[tuple[int, int] | None],
    clusters: Sequence[int | None],
    adjusted: FloatArray,
    order: Sequence[int],
    place: int,
) -> dict[str, Any]:
    """Return how certain the place of a system is: `rank_range`, `ranks`, `cluster` and `p_next`.

    Args:
        ranks: best and worst rank of each system that are consistent with the tests.
        clusters: of each system.
        adjusted: corrected p of every two systems.
        order: the systems, best first.
        place: place in the order, from 0.
    """
    index, below = order[place], order[place + 1 : place + 2]
    span = ranks[index]
    return {
        "rank_range": None if span is None else list(span),
        # A range of one rank is shown as that rank.
        "ranks": "–".join(map(str, dict.fromkeys(span))) if span else None,
        "cluster": clusters[index],
        "p_next": float(adjusted[index, below[0]]) if below else None,
    }


def about_tests(how: Resampling) -> str:
    """Return a note on how the columns of `CERTAINTY` were computed."""
    return (
        f"ranks, cluster: consistent with paired approximate randomisation at {how.level:g} after "
        f"Holm's correction over all pairs of systems ({how.permutations} permutations; small p "
        "from a normal curve); p to next: corrected p of the difference from the system below"
    )


CERTAINTY = (
    Column("ranks"),
    Column("cluster"),
    Column("p_next"),
)
"""Columns of `standing`."""


def _test_notes(table: ScoreTable, tests: SystemTests) -> Iterator[str]:
    label = table.signature.label
    if tests.dropped:
        yield f"{label}: {tests.dropped} resampled scores are not defined and are left out"
    if len(table.systems) > 1 and len(set(tests.scores.tolist())) == 1:
        yield f"{label}: all systems have the same score: nothing to rank"


rank = function_of(Rank)

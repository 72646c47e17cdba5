"""Rank systems by their scores, and show how certain the ranking is: `gecjury rank`.

Systems are scored once; `gecjury.studies.systems.ranking` computes intervals and tests from that.

Example:
    >>> from gecjury import rank
    >>> [row["system"] for row in rank("sample", ["green"], resamples=200).rows()]
    ['careful', 'cautious', 'hasty', 'fluent', 'spelling', 'noisy']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from gecjury.core.settings import option
from gecjury.report.result import Column, Record, Result, Table
from gecjury.report.table import OTHERS
from gecjury.stats.choices import Aggregate
from gecjury.stats.resampling import Resampling
from gecjury.studies.inputs import Files, Inputs
from gecjury.studies.study import SCORES, Output, Work, function_of
from gecjury.studies.systems.page import Systems, SystemsStudy, opening_of

if TYPE_CHECKING:
    from gecjury.scoring.scores import ScoreTable
    from gecjury.studies.systems.ranking import Ranking

_OFFERED = ("over", "resamples", "confidence", "permutations")


@dataclass(frozen=True, kw_only=True)
class Rank(SystemsStudy):
    """Systems ranked by their scores, and how certain the ranking is.

    Attributes:
        aggregate: the score that systems are ranked by; `corpus` is the metric's own corpus score.
        resampling: the bootstrap over sentences, and the paired tests between systems.
        seed: seed of the resampling and of the tests.
    """

    inputs: ClassVar[Inputs] = Files()
    keeps: ClassVar[Output | None] = SCORES
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
        share a rank. Records have `score`, and `precision` and `recall` if the metric has them.
        With tests, they also have `ci95` (bounds of the score; `precision_ci95` and `recall_ci95`
        in the same way), `rank_range` (the best and worst rank that are consistent with the tests;
        None without a score), `ranks` (the same as text), `cluster`, and `p_next` (corrected p of
        the difference from the next system; None for the last). Table `significance` has all
        p-values.
        """
        from gecjury.studies.systems.ranking import missing_notes, rank_scores

        how, scored = self.resampling, work.scores()
        rankings = tuple(
            rank_scores(scorer, table.settled(), how, self.seed, self.aggregate)
            for scorer, table in zip(work.scorers, scored, strict=True)
        )
        rows = [
            {"rank": system.rank, "aggregate": self.aggregate, **one.row(system)}
            for one in rankings
            for system in one.systems
        ]
        notes = [*missing_notes(scored), *(note for one in rankings for note in one.notes())]
        notes += dict.fromkeys(note for table in scored for note in table.statistics.notes)
        main = Table(
            self._columns(rows, scored),
            rows,
            f"Ranking by {self.aggregate} score",
            [*notes, *(one.signature for one in rankings)],
            "rows",
            crossed=("score",),
        )
        tests = [self._tests(one) for one in rankings if one.tests]
        return Systems(
            (main, Table((), tests, name="significance")),
            notes=tuple(notes),
            status=int(any(one.unanswered for one in scored)),
            language=work.corpus.language.code,
            title=f"Ranking of {', '.join(work.corpus.names)}",
            verdict=opening_of(rankings),
            kicker="ranking",
            rankings=rankings,
            work=work,
            scored=scored,
        )

    def _columns(self, rows: Sequence[Record], scored: Sequence[ScoreTable]) -> list[Column]:
        from gecjury.studies.systems.ranking import certainty, score_column

        how, legend, notes = self.resampling, "", tuple[str, ...]()
        if how.over != "none":
            legend = f"[low, high]: {how.confidence:.0%} bootstrap over sentences"
            notes = (
                f"[low, high]: {how.confidence:.0%} percentile bootstrap over sentences, "
                f"{how.resamples} resamples, seed {self.seed}",
            )
        score = Column("score", interval="ci95", legend=legend)
        if self.aggregate == "corpus":
            score = score_column(scored, legend)
        parts = [
            Column(key, interval=f"{key}_ci95", hidden=("brief",))
            for key in ("precision", "recall")
            if any(key in row for row in rows)
        ]
        names = [Column("rank"), Column("system"), Column("metric")]
        certain = certainty(how) if how.over != "none" else []
        # Three intervals would not fit a screen.
        bare = [replace(part, interval="", hidden=OTHERS) for part in parts]
        return [*names, replace(score, notes=notes), *bare, *certain, *parts]

    def _tests(self, one: Ranking) -> Record:
        from gecjury.studies.systems.ranking import TEST

        assert one.tests is not None
        return {
            "metric": one.metric,
            "test": TEST.replace(" ", "-"),
            "statistic": self.aggregate,
            "correction": "holm",
            "resamples": self.resampling.permutations,
            "clusters": list(one.tests.clusters),
            **one.significance(),
        }


rank = function_of(Rank)

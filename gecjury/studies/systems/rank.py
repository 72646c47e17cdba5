"""Rank systems by their scores, and show how certain the ranking is: `gecjury rank`.

Systems are scored once; `gecjury.studies.systems.ranking` computes intervals and tests from that.

Example:
    >>> from gecjury import rank
    >>> [row["system"] for row in rank("sample", ["green"], resamples=200).rows()]
    ['careful', 'cautious', 'hasty', 'fluent', 'spelling', 'noisy']
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from gecjury.core.settings import option
from gecjury.report.result import Column, Reader, Result, Table
from gecjury.report.tables import crossed
from gecjury.stats.choices import Aggregate
from gecjury.stats.resampling import Resampling
from gecjury.studies.inputs import Files, Inputs
from gecjury.studies.study import SCORES, Output, Work, function_of
from gecjury.studies.systems.page import Systems, SystemsStudy, opening_of

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
    page: ClassVar[bool | str] = True
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
        from gecjury.studies.systems.ranking import (
            CERTAINTY,
            TEST,
            about_tests,
            missing_notes,
            rank_scores,
            score_column,
        )

        how, scored = self.resampling, work.scores()
        rankings = [
            rank_scores(scorer, table.settled(), how, self.seed, self.aggregate)
            for scorer, table in zip(work.scorers, scored, strict=True)
        ]
        rows = [
            {"rank": system.rank, "aggregate": self.aggregate, **one.row(system)}
            for one in rankings
            for system in one.systems
        ]
        significance = [
            {
                "metric": one.metric,
                "test": TEST.replace(" ", "-"),
                "statistic": self.aggregate,
                "correction": "holm",
                "resamples": how.permutations,
                "clusters": list(one.tests.clusters),
                **one.significance(),
            }
            for one in rankings
            if one.tests
        ]
        notes = [*missing_notes(scored), *(note for one in rankings for note in one.notes())]
        notes += dict.fromkeys(note for table in scored for note in table.statistics.notes)
        signatures = [one.signature for one in rankings]
        certain = CERTAINTY if how.over != "none" else ()
        about = list[str]()
        if certain:
            drawn = f"{how.resamples} resamples, seed {self.seed}"
            about += [
                f"[low, high]: {how.confidence:.0%} percentile bootstrap over sentences, {drawn}",
                about_tests(how),
            ]
        parts = [
            Column(key, interval=f"{key}_ci95")
            for key in ("precision", "recall")
            if any(key in row for row in rows)
        ]
        names = [Column("rank"), Column("system"), Column("metric")]
        scores, about_score = Column("score", interval="ci95"), list[str]()
        if self.aggregate == "corpus":
            scores, about_score = score_column(scored)
        columns = [*names, scores, *certain, *parts]
        title = f"Ranking by {self.aggregate} score"
        table = Table(columns, rows, title, [*about, *notes, *signatures], "rows")
        # Three intervals and the clusters would not fit a screen.
        bare = [replace(column, interval="") for column in parts]
        if certain:
            about_score += [
                f"[low, high]: {how.confidence:.0%} bootstrap over sentences",
                f"ranks: consistent with tests at {how.level:g}",
                "p to next: of the difference from the system below",
            ]
        brief = replace(
            table,
            columns=[*names, scores, *bare, *(c for c in certain if c.key != "cluster")],
            notes=notes,
            legend="; ".join(about_score),
        )
        # Papers show one column per metric, without ranks and clusters.
        alone = replace(table, notes=[*about[:1], *notes, *signatures])
        instead: dict[Reader, Table] = {"brief": brief, "latex": crossed(alone, "score")}
        return Systems(
            (
                replace(table, instead=instead),
                Table((), significance, name="significance"),
            ),
            notes=tuple(notes),
            status=int(any(one.unanswered for one in scored)),
            language=work.corpus.language.code,
            title=f"Ranking of {', '.join(work.corpus.names)}",
            verdict=opening_of(rankings),
            kicker="ranking",
            rankings=tuple(rankings),
            work=work,
            scored=scored,
        )


rank = function_of(Rank)

"""Settings of a comparison; only their types define which values are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gecjury.benchmarks.table import View
from gecjury.core.errors import OptionError
from gecjury.core.settings import check, option
from gecjury.stats.choices import Aggregate, SystemStatistic, TieRule
from gecjury.stats.resampling import Resampling

Human = Literal["edit", "sentence", "both"]
"""Human judgments by the view they were given in."""
HumanKind = Literal["trueskill", "expected-wins", "mean"]
"""Human scores of systems; if a benchmark has several, the first is the default."""
Level = Literal["system", "sentence", "edit", "all"]
"""Levels of a comparison; at the level of edits `all` leaves out metrics that would cost much."""
ClusterTest = Literal["perm-systems", "perm-both"]
"""Units that a test swaps between two metrics: whole systems, so that the result holds for other
systems as well, or single cells, so that it holds for other sentences by these systems."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a comparison of metrics with people.

    Attributes:
        human: which human judgments; by default the view that the benchmark was loaded with (edit,
            where it has it).
        aggregate: how sentence scores become system scores; corpus: the metric's own.
        level: what is compared; edit: single edits against annotators' verdicts (SEEDA, AQUA,
            PEVData).
        ties: how pairs that the metric ties count at sentence level.
        human_scores: human column at system level (default: the first that the benchmark has).
        seed: seed of the random metric, the resampling, the tests and the limit.
        windows: also report correlations over 4 and 8 adjacent systems.
        audit: also report the biases of metrics that are not judges; those of judges are always
            reported.
        resampling: settings of intervals and tests; without it only single edits have intervals.
        statistic: what the tests and clusters at system level compare.
        cluster_test: what the tests and clusters at system level swap between two metrics: whole
            systems (holds for other systems as well), or single cells (perm-both, PERM-BOTH; holds
            for other sentences by these systems).
        limit: compare on N of the judged sentences, drawn with the seed; on all of them if there
            are no more.

    Raises:
        OptionError: a value does not exist, or two values exclude each other.
    """

    human: Human | None = None
    aggregate: Aggregate = "trueskill"
    level: Level = "all"
    ties: TieRule = "half"
    human_scores: HumanKind | None = None
    seed: int = option(0, least=0)
    windows: bool = False
    audit: bool = False
    resampling: Resampling = option(Resampling(), offers=("over", "resamples"))
    statistic: SystemStatistic = "pearson"
    cluster_test: ClusterTest = "perm-systems"
    limit: int | None = option(None, metavar="N", least=1)

    def __post_init__(self) -> None:
        """Refuse, before any file is read, settings that cannot work with any benchmark."""
        check(self)
        cluster_test = f"`cluster_test={self.cluster_test}`"
        asked = [f"`statistic={self.statistic}`"] if self.statistic != "pearson" else []
        asked += [cluster_test] if self.cluster_test != "perm-systems" else []
        if asked and (self.resampling.over == "none" or self.level in ("sentence", "edit")):
            raise OptionError(
                f"{asked[0]}: nothing is tested at system level with `resample=none`, "
                "`level=sentence` or `level=edit`; leave one of them out"
            )
        if cluster_test in asked and self.aggregate == "corpus" and self.statistic != "spa":
            raise OptionError(
                f"{cluster_test} with `aggregate=corpus`: a corpus score does not consist of cells "
                "of single sentences; use `cluster_test=perm-systems`"
            )

    def views(self, chosen: View, known: Sequence[View]) -> tuple[View, ...]:
        """Return the views that metrics are compared with.

        Args:
            chosen: the view that the benchmark was loaded with.
            known: all views of the benchmark.
        """
        if self.human == "both":
            return tuple(known)
        if self.human is None:
            return (chosen,)
        return (self.human,)

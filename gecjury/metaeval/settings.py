"""Settings of a comparison; only their types define which values are allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from gecjury.benchmarks.table import View
from gecjury.core.errors import OptionError
from gecjury.core.settings import check, option
from gecjury.stats.grouped import GroupBy
from gecjury.stats.permutation import SystemStatistic
from gecjury.stats.preferences import TieRule
from gecjury.stats.ranking import Aggregate
from gecjury.stats.resampling import MOST_RESAMPLES, Resampling

Human = Literal["edit", "sentence", "both"]
"""Human judgments by the view they were given in."""
HumanKind = Literal["trueskill", "expected-wins", "mean"]
"""Human scores of systems; if a benchmark has several, the first is the default."""
Level = Literal["system", "sentence", "edit", "all"]
"""Levels of a comparison; at the level of edits `all` leaves out metrics that would cost much."""
ClusterTest = Literal["perm-systems", "perm-both"]
"""Units that a test swaps between two metrics: whole systems, so that the result holds for other
systems as well, or single cells, so that it holds for other sentences by these systems."""
Preset = Literal["wmt", "seeda"]
"""Sets of statistics used in publications; see `PRESETS`."""
PRESETS: Mapping[Preset, Mapping[str, str]] = {
    "wmt": {"statistic": "spa", "grouping": "item"},
    "seeda": {"ties": "official"},
}
"""The settings of each preset that differ from the defaults.

wmt: soft pairwise accuracy and acc_eq, as the metrics tasks of WMT (Freitag et al. 2024); seeda:
Pearson's r, and the accuracy with the tie rule of SEEDA's script (Kobayashi et al. 2024)."""
CreditKind = Literal["counts", "any", "share", "leave-one-out", "add-one", "shapley"]
"""How metrics credit single edits; see `gecjury.metaeval.edits.credit`."""


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
        shuffles: average TrueSkill over K seeded shuffles instead of one pass in file order.
        opponents: number of other systems that each system plays on each sentence in TrueSkill,
            drawn with the seed (default: all others, but beyond 5 million games only as many as
            give 2 million).
        seed: seed of shuffles, the random metric, the resampling, the tests and the limit.
        windows: also report correlations over 4 and 8 adjacent systems.
        pairwise: also report agreement by pair of systems and of ranks.
        grouping: segment level (acc_eq with its ε, τ-b, r): compare the corrections of one source,
            of one system, or all (default: item if corrections were rated, otherwise left out;
            rankings allow only item).
        resampling: settings of intervals and tests; without it only single edits have intervals.
        statistic: what the tests and clusters at system level compare.
        cluster_test: what the tests and clusters at system level swap between two metrics: whole
            systems (holds for other systems as well), or single cells (perm-both, PERM-BOTH; holds
            for other sentences by these systems).
        credit: how metrics credit single edits: counts (a metric's own, under the reference it
            uses), any or share (of the references), leave-one-out, add-one or shapley (change of
            the sentence score); default: counts, and leave-one-out for metrics without counts.
        audit: also report biases of every metric (otherwise only of judges): how much more often
            than people it prefers the correction with more edits, and the longer one.
        own_systems: systems built from a judge's own model family, to measure its bias towards
            them (default: those that the package knows by the model's name).
        chosen_by: a system that was chosen or trained with a metric; a caution then says so.
        drift_from: also report how scores changed since an earlier run, whose score files (-o) are
            in DIR; nothing is scored for it.
        sentinels: also compare metrics that should fail: regressions that see only the source, the
            correction, its edits or its length, and learn from the judgments of other sources; a
            caution names the metrics that are not above them.
        good: also report decisions to keep good corrections: those with a rating of at least R
            (labels of whole corrections need no bound).
        limit: compare on N of the judged sentences, drawn with the seed; on all of them if there
            are no more.
        preset: statistics used in publications: wmt (SPA and acc_eq) or seeda (r, and the accuracy
            with official ties).

    Raises:
        OptionError: a value does not exist, or two values exclude each other.
    """

    human: Human | None = None
    aggregate: Aggregate = "trueskill"
    level: Level = "all"
    ties: TieRule = "half"
    human_scores: HumanKind | None = None
    shuffles: int = option(
        0, metavar="K", least=0, most=MOST_RESAMPLES, hint="0 is one pass in file order"
    )
    opponents: int | None = option(None, metavar="K", least=1)
    seed: int = option(0, least=0)
    windows: bool = False
    pairwise: bool = False
    grouping: GroupBy | None = None
    resampling: Resampling = option(Resampling(), offers=("over", "resamples", "confidence"))
    statistic: SystemStatistic = "pearson"
    cluster_test: ClusterTest = "perm-systems"
    credit: tuple[CreditKind, ...] | None = option(None, metavar="KIND", several=True)
    audit: bool = False
    own_systems: tuple[str, ...] = option((), metavar="SYSTEM", several=True)
    chosen_by: tuple[str, ...] = option((), metavar="SYSTEM=METRIC", several=True)
    drift_from: str | None = option(None, metavar="DIR")
    sentinels: bool = False
    good: float | None = option(None, metavar="R")
    limit: int | None = option(None, metavar="N", least=1)
    preset: Preset | None = None

    def __post_init__(self) -> None:
        """Refuse, before any file is read, settings that cannot work with any benchmark."""
        check(self)
        self._take_preset()
        if self.shuffles and self.aggregate != "trueskill":
            raise OptionError(
                f"--shuffles {self.shuffles} applies only to TrueSkill: the order of sentences "
                f"does not change --aggregate {self.aggregate}"
            )
        if self.opponents and self.aggregate != "trueskill":
            raise OptionError(
                f"--opponents {self.opponents} applies only to TrueSkill: --aggregate "
                f"{self.aggregate} plays no games; leave one of them out"
            )
        self._check_tests()
        if self.grouping is not None and self.level in ("system", "edit"):
            raise OptionError(
                f"--grouping {self.grouping} with --level {self.level}: it applies only to the "
                "segment level; use --level sentence or all"
            )
        asked = ["--audit"] if self.audit else []
        asked += [] if self.drift_from is None else [f"--drift-from {self.drift_from}"]
        if asked and self.level in ("system", "edit"):
            raise OptionError(
                f"{asked[0]} with --level {self.level}: it is measured on judged pairs of "
                "corrections; use --level sentence or all"
            )
        if self.sentinels and self.level == "edit":
            raise OptionError(
                "--sentinels with --level edit: sentinels score whole corrections; use another "
                "level"
            )
        if self.good is not None and self.level in ("system", "edit"):
            raise OptionError(
                f"--good {self.good:g} with --level {self.level}: it applies only to whole "
                "corrections; use --level sentence or all"
            )
        for choice, (system, metric) in zip(self.chosen_by, self.choices, strict=True):
            if not system or not metric:
                raise OptionError(
                    f"--chosen-by {choice!r:.60}: expected SYSTEM=METRIC, e.g. T5=errant"
                )
        if self.credit and self.level not in ("edit", "all"):
            raise OptionError(f"--credit is for --level edit or all, not {self.level}")

    def _take_preset(self) -> None:
        """Set the settings of the preset to its values.

        Raises:
            OptionError: one of them has been set to another value.
        """
        usual = {one.name: one.default for one in fields(self)}
        for name, value in PRESETS[self.preset].items() if self.preset else ():
            if getattr(self, name) not in (value, usual[name]):
                raise OptionError(
                    f"--{name} {getattr(self, name)} with --preset {self.preset}, which uses "
                    f"{value}; leave one of them out"
                )
            # Groups apply to the segment level, and the tests' statistic to the system level.
            absent = {"grouping": ("system", "edit"), "statistic": ("sentence", "edit")}
            if self.level not in absent.get(name, ()):
                object.__setattr__(self, name, value)

    def _check_tests(self) -> None:
        """Refuse settings of the tests at system level if there is no such test."""
        cluster_test = f"--cluster-test {self.cluster_test}"
        chosen = self.statistic != "pearson" and self.preset is None
        asked = [self.statistic_option] if chosen else []
        asked += [cluster_test] if self.cluster_test != "perm-systems" else []
        if asked and (self.resampling.over == "none" or self.level in ("sentence", "edit")):
            raise OptionError(
                f"{asked[0]}: nothing is tested at system level with --resample none, --level "
                "sentence or --level edit; leave one of them out"
            )
        if cluster_test in asked and self.aggregate == "corpus" and self.statistic != "spa":
            raise OptionError(
                f"{cluster_test} with --aggregate corpus: a corpus score does not consist of cells "
                "of single sentences; use --cluster-test perm-systems"
            )

    @property
    def statistic_option(self) -> str:
        """The statistic as it is written on the command line, for messages."""
        return f"--statistic {self.statistic.replace('_', '-')}"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The systems of `chosen_by`, each with the name of its metric."""
        pairs = (one.rpartition("=") for one in self.chosen_by)
        return [(system, metric) for system, _, metric in pairs]

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

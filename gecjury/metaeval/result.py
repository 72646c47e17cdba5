"""The result of a comparison: everything that its tables, its JSON document and its page show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gecjury.benchmarks.annotators import AnnotatorAgreement, Kappa
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.metaeval.audit import Audit
from gecjury.metaeval.cautions import Caution
from gecjury.metaeval.edits.comparison import EditComparison
from gecjury.metaeval.edits.measures import EDIT_STATISTICS
from gecjury.metaeval.people import PEOPLE
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.metaeval.uncertainty import Difference, DrawnLevel, DrawnStatistics, Significance
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import MEASURES
from gecjury.stats.figure import Figure, records
from gecjury.stats.preferences import SENTENCE_STATISTICS

SYSTEM_STATISTICS = (*MEASURES, "spa")
"""Statistics of the system level."""

LEVELS: Mapping[str, Sequence[str]] = {
    "system": SYSTEM_STATISTICS,
    "sentence": (*SENTENCE_STATISTICS, "tied_share"),
    "edit": EDIT_STATISTICS,
    "rating": ("pearson", "spearman", "kendall", "within", "system_pearson", "system_spearman"),
    "segment": ("acc_eq", "acc_exact", "kendall", "pearson", "pdp", "epsilon"),
    "label": ("auc",),
    "annotators": (*MEASURES, "accuracy", "relative"),
}
"""Statistics by level, in the order in which tables show them."""


@dataclass(frozen=True)
class Annotators:
    """Agreement of people with each other in one view, as a yardstick for metrics.

    Attributes:
        agreement: the agreement of two annotators on the pairs of the systems compared, to be
            compared with the sentence-level accuracy.
        between: κ of two annotators on the corrections as they were ranked, for all systems.
        within: κ of an annotator with their own repeated judgments.
        alpha: Krippendorff's ordinal α of the ranks of corrections that several annotators ranked
            together with the same others, for all systems; NaN if there are none.
    """

    agreement: AnnotatorAgreement
    between: Kappa
    within: Kappa
    alpha: float


@dataclass(frozen=True)
class Uncertainty:
    """Settings and results of the intervals and tests.

    Attributes:
        human_resampled: by view, whether human scores were computed again in every draw; otherwise
            they are fixed.
        dropped: by view, how many resampled statistics of the metrics at system level were not
            defined and were left out.
        drawn: number of resampled statistics.
        tests: by view, the tests between the metrics at system and at sentence level; none for a
            single metric.
        differences: differences between the metrics, with paired intervals; none for a single
            metric.
        draws: statistics of the metrics and of chance on every draw, by level and view.
    """

    human_resampled: Mapping[View, bool]
    dropped: Mapping[View, int]
    drawn: int
    tests: Mapping[View, tuple[Significance, ...]]
    differences: tuple[Difference, ...] = ()
    draws: Mapping[tuple[DrawnLevel, View], DrawnStatistics] = field(
        default_factory=dict, repr=False
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """Metrics of any family against a benchmark's human judgments.

    Attributes:
        study: the benchmark, and how metrics were compared on it.
        settings: the settings of the comparison.
        views: the human judgments that metrics were compared with.
        tables: scores, one table per metric; none at level `edit`.
        agreements: one row per level, kind of judgments and metric, chance baseline or people.
        annotators: by view, how far people agree; views without rankings are absent.
        uncertainty: intervals and tests; None without resampling.
        edits: single edits against verdicts; None if they were not compared.
        audits: the audits of the metrics that audit themselves.
        cautions: cautions for the reader.
    """

    study: MetaEvaluation
    settings: Settings
    views: tuple[View, ...]
    tables: tuple[ScoreTable, ...]
    agreements: tuple[AgreementRow, ...]
    annotators: Mapping[View, Annotators]
    uncertainty: Uncertainty | None
    edits: EditComparison | None
    audits: tuple[Audit, ...]
    cautions: tuple[Caution, ...]

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark that the metrics were compared on."""
        return self.study.benchmark

    @property
    def human(self) -> str:
        """The human judgments that metrics were compared with: `edit`, `sentence` or `both`."""
        return self.settings.human or self.benchmark.view

    @property
    def human_kinds(self) -> dict[View, str]:
        """The human column used at system level, such as `trueskill`, by view."""
        return {view: self.study.human_kind(view) for view in self.views}

    @property
    def incomplete(self) -> bool:
        """True if scores or credits are missing."""
        missing = any(row.missing for row in self.at("edit"))
        return missing or any(table.unanswered for table in self.tables)

    @property
    def title(self) -> str:
        """The benchmark and the part of it that was used, in one line."""
        benchmark = self.benchmark
        sentences = f"{len(benchmark.corpus)} sentences"
        if benchmark.drawn_from is not None:
            sentences = f"{len(benchmark.corpus)} of {benchmark.drawn_from} sentences"
        name = "SAMPLE, NOT EVIDENCE:" if benchmark.sample else f"{benchmark.name},"
        if benchmark.places:
            return (
                f"{benchmark.name}, corrections of {sentences}, "
                f"references {benchmark.references or 'none'}"
            )
        return (
            f"{name} {len(self.study.compared)} systems "
            f"({benchmark.systems}), {sentences}, "
            f"references {benchmark.references or 'none'}"
        )

    def at(self, level: str) -> list[AgreementRow]:
        """Return the agreement at a level: metrics in their order, then chance, then people."""
        return [row for row in self.agreements if row.level == level]

    def figures(self) -> list[Figure]:
        """Return every number of the comparison: `pandas.DataFrame(comparison.figures())`.

        By level: metrics, then chance, then people. Figures without a level are about the scores of
        a metric. Of single edits and of pairs at sentence level, those with the suffix `_there` are
        on what several annotators judged.
        """
        level, all_levels = self.settings.level, {"system", "sentence", ""}
        shown = all_levels if level == "all" else {level, ""} if level != "edit" else set()
        rows = (row for row in self.agreements if row.level in shown or row.level not in all_levels)
        figures = [figure for row in rows for figure in row.figures()]
        for view, people in self.annotators.items() if "sentence" in shown else ():
            values = {"accuracy": people.agreement.accuracy, "pairs": people.agreement.decided}
            figures += AgreementRow("sentence", PEOPLE, "humans", view, values).figures()
        return figures

    def rows(self) -> list[dict[str, Any]]:
        """Return the main table as plain records: each metric and view, then chance, then people.

        `pandas.DataFrame(comparison.rows())` accepts them as they are. They are the `records` of
        the figures at system and sentence level; figures of levels that were not compared have no
        key, and undefined figures are NaN. If there are intervals, the key `pearson_ci95` follows
        `pearson`, and the same holds for the other figures. At level `edit` the records are those
        of single edits.
        """
        levels = ("system", "sentence", "") if self.tables else ("edit",)
        return records((f for f in self.figures() if f.level in levels), row_key)

    def __repr__(self) -> str:
        """Return one line that says what was compared; `print` shows the figures."""
        metrics = ", ".join(table.signature.label for table in self.tables)
        return f"<Comparison on {self.benchmark.name} ({', '.join(self.views)}): {metrics}>"


def row_key(figure: Figure) -> str:
    """Return the key of a figure in records that contain both levels and the counts of scores."""
    both = figure.statistic in (*SYSTEM_STATISTICS, "missing")
    return (
        f"sentence_{figure.statistic}" if figure.level == "sentence" and both else figure.statistic
    )

"""The result of a comparison: everything that its tables, its JSON document and its page show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gecjury.benchmarks.annotators import AnnotatorAgreement, Kappa
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.metaeval.audit import Audit, Bias
from gecjury.metaeval.cautions import Caution
from gecjury.metaeval.edits.comparison import EditComparison
from gecjury.metaeval.edits.corrections import LabelComparison
from gecjury.metaeval.edits.measures import EDIT_STATISTICS
from gecjury.metaeval.people import PEOPLE
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation, SystemAgreement
from gecjury.metaeval.uncertainty import Difference, DrawnLevel, DrawnStatistics, Significance
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval
from gecjury.stats.correlation import MEASURES
from gecjury.stats.figure import Figure

SYSTEM_STATISTICS = (*MEASURES, "spa")
"""Statistics of the system level."""
SENTENCE_STATISTICS = ("accuracy", "kendall")
"""Statistics of the sentence level, as attributes of `PreferenceAgreement`."""

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

_SIZES = {
    "edit": ("cases",),
    "rating": ("outputs",),
    "segment": ("pairs",),
    "label": ("good", "bad"),
}
"""The counts of the items that figures are based on."""


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


@dataclass(frozen=True)
class WindowAgreement:
    """Correlations over one run of systems that are neighbours in the human ranking.

    Attributes:
        metric: label of the metric.
        human: view of the human scores.
        size: number of systems in the window.
        start: rank of its best system, 1 is best.
        systems: names of the systems, best first.
        pearson: Pearson's r; NaN if not defined.
        spearman: Spearman's ρ; NaN if not defined.
    """

    metric: str
    human: View
    size: int
    start: int
    systems: tuple[str, ...]
    pearson: float
    spearman: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """Metrics of any family against a benchmark's human judgments.

    Attributes:
        study: the benchmark, and how metrics were compared on it.
        settings: the settings of the comparison.
        views: the human judgments that metrics were compared with.
        tables: scores, one table per metric; none at level `edit`.
        results: one result per metric and view.
        chance: results of the chance baselines.
        annotators: by view, how far people agree; views without rankings are absent.
        people: metrics, chance and people against single annotators, by view.
        uncertainty: intervals and tests; None without resampling.
        edits: single edits against verdicts; None if they were not compared.
        ratings: single corrections against their ratings; none without ratings.
        segments: the corrections of one source against their ratings; none without ratings.
        labels: single corrections against the labels they were given; None without labels.
        windows: correlations over adjacent systems, if asked for.
        audits: the audits of the metrics that audit themselves.
        biases: preferences of judges that people do not share.
        cautions: cautions for the reader.
    """

    study: MetaEvaluation
    settings: Settings
    views: tuple[View, ...]
    tables: tuple[ScoreTable, ...]
    results: tuple[SystemAgreement, ...]
    chance: tuple[SystemAgreement, ...]
    annotators: Mapping[View, Annotators]
    people: tuple[AgreementRow, ...]
    uncertainty: Uncertainty | None
    edits: EditComparison | None
    ratings: tuple[AgreementRow, ...]
    segments: tuple[AgreementRow, ...]
    labels: LabelComparison | None
    windows: tuple[WindowAgreement, ...]
    audits: tuple[Audit, ...]
    biases: tuple[Bias, ...]
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
        missing = self.edits.missing if self.edits else 0
        return bool(missing) or any(table.unanswered for table in self.tables)

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

    def figures(self) -> list[Figure]:
        """Return every number of the comparison: `pandas.DataFrame(comparison.figures())`."""
        return list(_comparison_figures(self))

    def rows(self) -> list[dict[str, Any]]:
        """Return the main table as plain records: each metric and view, then chance, then people.

        `pandas.DataFrame(comparison.rows())` accepts them as they are. Figures of levels that were
        not compared have no key; undefined figures are NaN, and a cluster without a test is None.
        If there are intervals, the keys `pearson_low` and `pearson_high` follow `pearson`, and the
        same holds for the other figures. At level `edit` the records are those of single edits.
        """
        if not self.tables and self.edits is not None:
            return edit_rows(self.edits)
        records = [self._row(result) for result in (*self.results, *self.chance)]
        for view, people in self.annotators.items():
            record: dict[str, Any] = {"metric": PEOPLE, "family": "humans"}
            record |= {"human": view, "signature": ""}
            if self.settings.level != "system":
                record |= {"accuracy": people.agreement.accuracy, "pairs": people.agreement.decided}
            records.append(record)
        return records

    def _row(self, result: SystemAgreement) -> dict[str, Any]:
        record: dict[str, Any] = {
            "metric": result.label,
            "family": result.family,
            "human": result.view,
            "signature": result.signature,
        }
        if self.settings.level in ("system", "all"):
            for name in SYSTEM_STATISTICS:
                record[name] = float(result.system[name])
                record |= _ends(name, result.system_ci95.get(name))
            record["system_cluster"] = result.system_cluster
        if self.settings.level in ("sentence", "all") and result.sentence is not None:
            for name in SENTENCE_STATISTICS:
                key = sentence_key(name)
                record[key] = float(getattr(result.sentence, name))
                record |= _ends(key, result.sentence_ci95.get(name))
            record["sentence_cluster"] = result.sentence_cluster
            record["tied"] = 100 * float(result.sentence.tied_share)
            record["pairs"] = int(result.sentence.pairs)
        return {**record, "missing": int(result.missing), "seconds": float(result.seconds)}

    def __repr__(self) -> str:
        """Return one line that says what was compared; `print` shows the figures."""
        metrics = ", ".join(dict.fromkeys(result.label for result in self.results))
        return f"<Comparison on {self.benchmark.name} ({', '.join(self.views)}): {metrics}>"


def edit_rows(edits: EditComparison) -> list[dict[str, Any]]:
    """Return single edits as plain records: metrics, then chance, then people.

    `auc_there` is a metric's AUC on the edits that more than one annotator judged.
    """
    records = []
    for row in edits.rows:
        record: dict[str, Any] = {"metric": row.label, "family": row.family, "credit": row.credit}
        for name in EDIT_STATISTICS:
            record[name] = float(row.values[name])
            record |= _ends(name, row.intervals.get(name))
        record |= {name: row.values[name] for name in ("cases", "valid", "missing")}
        record["auc_there"] = row.beside_ceiling.get("auc", row.values["auc"])
        records.append({**record, "seconds": float(row.seconds)})
    return records


def _comparison_figures(comparison: Comparison) -> Iterator[Figure]:
    """Yield the figures of a comparison: by level, for metrics, then chance, then people."""
    for result in (*comparison.results, *comparison.chance):
        about: dict[str, Any] = {
            "human": result.view,
            "metric": result.label,
            "family": result.family,
        }
        about |= {"missing": result.missing if result.family != "chance" else 0}
        if comparison.settings.level in ("system", "all"):
            about |= {"cluster": result.system_cluster}
            yield from _figures("system", result.system, result.system_ci95, about)
        if comparison.settings.level in ("sentence", "all") and result.sentence is not None:
            about |= {"cluster": result.sentence_cluster, "n": result.sentence.pairs}
            values = {name: getattr(result.sentence, name) for name in LEVELS["sentence"]}
            yield from _figures("sentence", values, result.sentence_ci95, about)
    if comparison.settings.level != "system":
        for view, people in comparison.annotators.items():
            agreement = people.agreement
            yield Figure(
                level="sentence", human=view, metric=PEOPLE, family="humans",
                statistic="accuracy", value=agreement.accuracy, n=agreement.decided,
            )  # fmt: skip
    levels: dict[str, Sequence[AgreementRow]] = {
        "edit": comparison.edits.rows if comparison.edits else (),
        "rating": comparison.ratings,
        "segment": comparison.segments,
        "label": comparison.labels.rows if comparison.labels else (),
    }
    for level, rows in levels.items():
        for row in rows:
            n = sum(int(row.values[name]) for name in _SIZES[level])
            about = {"human": row.human, "metric": row.name, "family": row.family}
            about |= {"n": n, "missing": row.values["missing"]}
            yield from _figures(level, row.values, row.intervals, about)
    for row in comparison.people:
        about = {"human": row.human, "metric": row.label, "family": row.family}
        for of, names, counted in (
            ("system", MEASURES, "annotators"),
            ("sentence", ("accuracy", "relative"), "judgments"),
        ):
            values = {name: row.values[name] for name in names}
            about |= {"cluster": row.clusters[of], "n": row.values[counted]}
            if row.values[counted]:
                yield from _figures("annotators", values, row.intervals, about)


def _figures(
    level: str,
    values: Mapping[str, float],
    intervals: Mapping[str, Interval],
    about: Mapping[str, Any],
) -> Iterator[Figure]:
    for name in (name for name in LEVELS[level] if name in values):
        low, high = map(float, intervals.get(name, (math.nan, math.nan)))
        value = float(values[name])
        yield Figure(level=level, statistic=name, value=value, low=low, high=high, **about)


def sentence_key(statistic: str) -> str:
    """Return the key of a sentence-level statistic in flat records that contain both levels."""
    return f"sentence_{statistic}" if statistic in SYSTEM_STATISTICS else statistic


def _ends(name: str, bounds: Interval | None) -> dict[str, float]:
    """Return the two ends of an interval as entries of a record."""
    if bounds is None:
        return {}
    return {f"{name}_low": float(bounds[0]), f"{name}_high": float(bounds[1])}

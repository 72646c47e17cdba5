"""A comparison of metrics with people, as a value: everything that any way of showing it shows.

    found = compare("sample", ["green", "gleu:n=3"], Settings(human="both"))
    found.rows()        plain records of the main table
    print(found)        the main table

`check` refuses, before any scoring, what cannot be compared; `plans` counts what judges would be
asked. Nothing here prints or reads options.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gecjury.arrays import FloatArray
from gecjury.benchmarks.annotators import AnnotatorAgreement, Kappa, annotator_kappa
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.table import View
from gecjury.errors import InputError, OptionError
from gecjury.metaeval.cautions import (
    Caution,
    cautions,
    check_scored,
    check_study,
    need_message,
)
from gecjury.metaeval.edits.comparison import (
    EditComparison,
    EditTasks,
    compare_edits,
    edit_tasks,
    plan_edits,
)
from gecjury.metaeval.ratings import RatingAgreement, one_rater, rating_agreement, resampled_ratings
from gecjury.metaeval.resampled import Entry
from gecjury.metaeval.segments import (
    SegmentAgreement,
    Segments,
    mean_rater,
    ranked_segments,
    rated_segments,
    two_annotators,
)
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Result, Study
from gecjury.metaeval.uncertainty import Significance, Uncertainty
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Plan, Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval, interval, make_resampled
from gecjury.stats.grouped import GroupBy
from gecjury.stats.preferences import PairTable

__all__ = [
    "HEADINGS",
    "Annotators",
    "Audit",
    "Comparison",
    "IntervalsAndTests",
    "Metric",
    "PairwiseAgreement",
    "Rated",
    "SegmentLevel",
    "Segmented",
    "WindowAgreement",
    "check",
    "compare",
    "plans",
]

_SIZES = (4, 8)  # of windows, in systems
# Statistics at system level that have intervals, for the share of draws that define none.
_STATISTICS = 5

HEADINGS: Mapping[str, str] = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ sys",
    "pairwise_accuracy": "pair acc",
    "spa": "SPA",
    "system_cluster": "cl sys",
    "accuracy": "sent acc",
    "sentence_kendall": "τ sent",
    "sentence_cluster": "cl sent",
    "tied": "tied %",
    "seconds": "s",
    "average_precision": "AP valid",
    "average_precision_invalid": "AP invalid",
    "kappa": "κ",
}
"""How the figures of the main table, and of that of single edits, are headed."""


@dataclass(frozen=True)
class Annotators:
    """How far people agree with each other in one view: what a metric can be asked for.

    Attributes:
        agreement: of two annotators on the pairs of the systems compared, the ceiling of
            sentence-level accuracy.
        between: κ of two annotators on the corrections as they were ranked, of all systems.
        within: κ of an annotator with himself, on what he judged more than once.
    """

    agreement: AnnotatorAgreement
    between: Kappa
    within: Kappa


@dataclass(frozen=True)
class IntervalsAndTests:
    """How the intervals and tests were made.

    Attributes:
        human_resampled: by view, whether human scores were computed anew in every draw; otherwise
            they are held fixed.
        dropped: by view, how many resampled statistics of the metrics' system level were not
            defined and left out.
        drawn: of how many.
        tests: by view the tests between the metrics, at system and at sentence level; none for a
            single metric.
    """

    human_resampled: Mapping[View, bool]
    dropped: Mapping[View, int]
    drawn: int
    tests: Mapping[View, tuple[Significance, ...]]


@dataclass(frozen=True)
class Rated:
    """One metric (or single raters) against the ratings of corrections by one aspect.

    Attributes:
        label: metric with its settings, or `one rater`.
        family: where it belongs; `chance`, or `humans` for raters.
        agreement: the figures.
        intervals: by figure; empty without resampled sentences.
    """

    label: str
    family: str
    agreement: RatingAgreement
    intervals: Mapping[str, Interval]


@dataclass(frozen=True)
class Segmented:
    """One metric (or people) at the segment level.

    Attributes:
        label: metric with its settings, `one rater` or `two annotators`.
        family: where it belongs; `chance`, `humans` or `ceiling`.
        human: the aspect rated, or the view of the rankings.
        agreement: the figures.
        intervals: by figure; empty without resampled sentences.
    """

    label: str
    family: str
    human: str
    agreement: SegmentAgreement
    intervals: Mapping[str, Interval]


@dataclass(frozen=True)
class SegmentLevel:
    """The segment level of a comparison.

    Attributes:
        grouping: which corrections are compared.
        humans: what people gave.
        rows: metrics, then chance, then people.
    """

    grouping: GroupBy
    humans: Literal["ratings", "rankings"]
    rows: tuple[Segmented, ...]


@dataclass(frozen=True)
class WindowAgreement:
    """Correlations over one run of systems that are neighbours in the human ranking.

    Attributes:
        label: the metric.
        view: the human scores.
        size: systems in the window.
        start: rank of its best system, 1 is best.
        systems: their names, best first.
        pearson: NaN where not defined.
        spearman: NaN where not defined.
    """

    label: str
    view: View
    size: int
    start: int
    systems: tuple[str, ...]
    pearson: float
    spearman: float


@dataclass(frozen=True)
class PairwiseAgreement:
    """Sentence-level agreement of one metric by pair of systems, or of their human ranks.

    Attributes:
        metric: registered name.
        label: with the settings that differ from the defaults.
        view: the judgments.
        by: what the rows and columns are.
        names: of rows and columns.
        table: the figures.
    """

    metric: str
    label: str
    view: View
    by: Literal["system", "human-rank"]
    names: tuple[str, ...]
    table: PairTable


@dataclass(frozen=True)
class Audit:
    """What a scorer found out about itself, with its agreement with people beside it.

    Attributes:
        label: the metric.
        signature: one line.
        members: what the scorer left, one a member.
        rows: the same as cells: `model`, `what`, `value`.
        humans: by view the metric's accuracy and that of two annotators (NaN where not known).
    """

    label: str
    signature: str
    members: Sequence[Any]
    rows: Sequence[Mapping[str, Any]]
    humans: Mapping[View, tuple[float, float]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """Metrics of any family against a benchmark's human judgments.

    Attributes:
        study: the benchmark, and how it was compared with.
        settings: what was asked for.
        views: the human judgments compared with.
        tables: scores, one table a metric; none at level `edit`.
        results: a metric and view each.
        chance: the same of metrics that know nothing.
        annotators: by view, how far people agree; without views that nobody ranked in.
        uncertainty: how intervals and tests were made; None without resampling.
        edits: single edits against verdicts; None where they were not compared.
        ratings: single corrections against their ratings; none without ratings.
        segments: the segment level; None where it was not asked for.
        windows: correlations over adjacent systems, where asked for.
        pairwise: agreement by pair of systems, where asked for.
        audits: of the metrics that audit themselves.
        cautions: what a reader must know.
    """

    study: Study
    settings: Settings
    views: tuple[View, ...]
    tables: tuple[ScoreTable, ...]
    results: tuple[Result, ...]
    chance: tuple[Result, ...]
    annotators: Mapping[View, Annotators]
    uncertainty: IntervalsAndTests | None
    edits: EditComparison | None
    ratings: tuple[Rated, ...]
    segments: SegmentLevel | None
    windows: tuple[WindowAgreement, ...]
    pairwise: tuple[PairwiseAgreement, ...]
    audits: tuple[Audit, ...]
    cautions: tuple[Caution, ...]

    @property
    def benchmark(self) -> Benchmark:
        """What the metrics were compared on."""
        return self.study.benchmark

    @property
    def human(self) -> str:
        """Which human judgments were asked for: `edit`, `sentence` or `both`."""
        return self.settings.human or self.benchmark.view

    @property
    def human_kinds(self) -> dict[View, str]:
        """By view the human column of the system level, such as `trueskill`."""
        return {view: self.study.human_kind(view) for view in self.views}

    @property
    def incomplete(self) -> bool:
        """Whether scores or credits were wanted and could not be had."""
        missing = self.edits.missing if self.edits else 0
        return bool(missing) or any(table.unanswered for table in self.tables)

    @property
    def title(self) -> str:
        """The benchmark and what was taken of it, in one line."""
        benchmark = self.benchmark
        warning = "SAMPLE, NOT EVIDENCE: " if benchmark.sample else ""
        return (
            f"{warning}{benchmark.name}, {len(benchmark.corpus.names)} systems "
            f"({benchmark.systems}), {len(benchmark.corpus)} sentences, "
            f"references {benchmark.references}"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The main table as plain records: each metric and view, then chance, then people.

        `pandas.DataFrame(comparison.rows())` takes them as they are. Figures of the levels that
        were not compared have no key; what is not defined is NaN, a cluster without test None.
        Where there are intervals, `pearson_low` and `pearson_high` stand beside `pearson`, and so
        for the others. At level `edit` the records are those of single edits.
        """
        if not self.tables and self.edits is not None:
            return self._edit_rows(self.edits)
        records = [self._row(result) for result in (*self.results, *self.chance)]
        for view, people in self.annotators.items():
            record: dict[str, Any] = {"metric": "two annotators", "family": "ceiling"}
            record |= {"human": view, "signature": ""}
            if self.settings.level != "system":
                record |= {"accuracy": people.agreement.accuracy, "pairs": people.agreement.decided}
            records.append(record)
        return records

    def _row(self, result: Result) -> dict[str, Any]:
        record: dict[str, Any] = {
            "metric": result.label,
            "family": result.family,
            "human": result.view,
            "signature": result.signature,
        }
        if self.settings.level in ("system", "all"):
            for name in ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"):
                record[name] = float(getattr(result.system, name))
                record |= _ends(name, result.system.ci95.get(name))
            record["system_cluster"] = result.system.cluster
        if self.settings.level in ("sentence", "all") and result.sentence is not None:
            record["accuracy"] = float(result.sentence.accuracy)
            record |= _ends("accuracy", result.sentence_ci95.get("accuracy"))
            record["sentence_kendall"] = float(result.sentence.kendall)
            record |= _ends("sentence_kendall", result.sentence_ci95.get("kendall"))
            record["sentence_cluster"] = result.sentence_cluster
            record["tied"] = 100 * float(result.sentence.tied_share)
            record["pairs"] = int(result.sentence.pairs)
        return {**record, "missing": int(result.missing), "seconds": float(result.seconds)}

    def _edit_rows(self, edits: EditComparison) -> list[dict[str, Any]]:
        entries: list[tuple[str, str, str, Any, float]] = [
            (r.label, r.family, r.credit, r.agreement, r.seconds) for r in edits.results
        ]
        entries += [(name, "chance", "", e.agreement, 0.0) for name, e in edits.chance.items()]
        ceiling = edits.ceiling.agreement
        entries.append(("one annotator by another", "ceiling", "", ceiling, 0.0))
        records = []
        for label, family, credit, agreement, seconds in entries:
            record: dict[str, Any] = {"metric": label, "family": family, "credit": credit}
            for name in ("auc", "average_precision", "average_precision_invalid", "accuracy",
                         "balanced", "kappa"):  # fmt: skip
                record[name] = float(getattr(agreement, name))
                record |= _ends(name, agreement.ci95.get(name))
            counts = {name: getattr(agreement, name) for name in ("cases", "valid", "missing")}
            records.append({**record, **counts, "seconds": float(seconds)})
        return records

    def __str__(self) -> str:
        """The main table as aligned text."""
        heads, cells = self._cells()
        wide = [max(len(line[at]) for line in (heads, *cells)) for at in range(len(heads))]
        lines = [self.title]
        for line in (heads, *cells):
            # Names to the left, figures to the right.
            named = [cell.ljust(size) for cell, size in zip(line[:3], wide[:3], strict=True)]
            figures = [cell.rjust(size) for cell, size in zip(line[3:], wide[3:], strict=True)]
            lines.append("  ".join([*named, *figures]).rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        """What was compared; `print` shows the figures."""
        metrics = ", ".join(dict.fromkeys(result.label for result in self.results))
        return f"<Comparison on {self.benchmark.name} ({', '.join(self.views)}): {metrics}>"

    def _repr_html_(self) -> str:
        """The main table for a notebook."""
        heads, cells = self._cells()

        def line(tag: str, items: Sequence[str]) -> str:
            return "".join(f"<{tag}>{html.escape(item)}</{tag}>" for item in items)

        body = "".join(f"<tr>{line('td', row)}</tr>" for row in cells)
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead><tr>{line('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Headings, and every row of the main table as people read it."""
        records = self.rows()
        hidden = {"signature"} | {
            f"{key}_{end}" for record in records for key in record for end in ("low", "high")
        }
        keys = [k for k in dict.fromkeys(k for r in records for k in r) if k not in hidden]
        cells = [[_cell(record, key) for key in keys] for record in records]
        return [HEADINGS.get(key, key) for key in keys], cells


def _ends(name: str, bounds: Interval | None) -> dict[str, float]:
    """The two ends of an interval as entries of a record."""
    if bounds is None:
        return {}
    return {f"{name}_low": float(bounds[0]), f"{name}_high": float(bounds[1])}


def _cell(record: Mapping[str, Any], key: str) -> str:
    """One figure, with its interval where it has one: `0.912 [0.84, 0.96]`."""
    value = record.get(key)
    if value is None or value != value:
        return "–"
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.{1 if key in ('tied', 'seconds') else 3}f}"
    low, high = record.get(f"{key}_low"), record.get(f"{key}_high")
    return text if low is None or low != low else f"{text} [{low:.2f}, {high:.2f}]"


Metric = Scorer | ScoreTable | str
"""What can be compared: a scorer, its name with options, or scores that were made before."""


def check(
    benchmark: Benchmark | str, scorers: Sequence[Metric], settings: Settings | None = None
) -> None:
    """Refuse, before any scoring, what cannot be compared.

    Args:
        benchmark: as for `compare`.
        scorers: as for `compare`.
        settings: as for `compare`.

    Raises:
        OptionError: a setting that the benchmark or a metric does not allow.
        InputError: a metric needs what the benchmark lacks, or nothing of a level can be computed.
        DataError: data are missing.
    """
    _Trial.prepare(benchmark, scorers, settings or Settings(), Runtime())


def plans(
    benchmark: Benchmark | str,
    scorers: Sequence[Metric],
    settings: Settings | None = None,
    *,
    runtime: Runtime | None = None,
) -> list[Plan]:
    """What `compare` would ask of paid services, without asking; refuses what it would refuse."""
    runtime = runtime or Runtime()
    trial = _Trial.prepare(benchmark, scorers, settings or Settings(), runtime)
    corpus = trial.study.benchmark.corpus
    paid = [metric for metric in trial.scored if isinstance(metric, Scorer)]
    found = [plan for metric in paid if (plan := metric.plan(corpus, runtime)) is not None]
    return found + plan_edits(trial.edits, trial.study.benchmark, runtime)


def compare(
    benchmark: Benchmark | str,
    scorers: Sequence[Metric],
    settings: Settings | None = None,
    *,
    runtime: Runtime | None = None,
    score_files: str | Path | None = None,
) -> Comparison:
    """Score a benchmark's systems and hold the scores against people's judgments.

    Args:
        benchmark: a benchmark, or the name of one, which is loaded with the usual systems and
            references.
        scorers: metrics as scorers, by name (`green:n=3`), or as score tables of the benchmark's
            systems, which take part in all but the edit level.
        settings: what is compared, and how; None for the usual.
        runtime: device, workers and the like; nothing in it changes a score.
        score_files: a folder; scores that its files hold are read, the others added.

    Raises:
        OptionError: a setting that the benchmark or a metric does not allow.
        InputError: a metric needs what the benchmark lacks, nothing of a level can be computed, or
            a score file is damaged.
        DataError: data are missing.
        OutputError: a score file cannot be written.
    """
    settings, runtime = settings or Settings(), runtime or Runtime()
    if runtime.dry_run:
        raise OptionError("a dry run scores nothing: take gecjury.metaeval.comparison.plans")
    trial = _Trial.prepare(benchmark, scorers, settings, runtime)
    if score_files is not None:
        check_writable(score_files)
    study, views = trial.study, trial.views
    corpus = study.benchmark.corpus
    tables = tuple(
        metric
        if isinstance(metric, ScoreTable)
        else score_with_files(metric, corpus, score_files, runtime)
        for metric in trial.scored
    )
    plain = [result for table in tables for result in study.evaluate(table, views)]
    results, chance, uncertainty = _weigh(trial, tables, plain, study.chance(views))
    check_scored(results)
    edits = compare_edits(trial.edits, study.benchmark, runtime, settings, score_files)
    annotators = _annotators(study, views)
    return Comparison(
        study=study,
        settings=settings,
        views=views,
        tables=tables,
        results=results,
        chance=chance,
        annotators=annotators,
        uncertainty=uncertainty,
        edits=edits,
        ratings=_ratings(trial, tables, results, chance),
        segments=_segments(trial, tables),
        windows=tuple(_windows(study, results)) if settings.windows else (),
        pairwise=tuple(_pairwise(study, tables, views)) if settings.pairwise else (),
        audits=tuple(_audits(tables, results, annotators)),
        cautions=cautions(
            study,
            views,
            results,
            chance,
            settings,
            tested=uncertainty is not None and any(uncertainty.tests.values()),
            noted=[note for table in tables for note in table.statistics.notes],
        ),
    )


@dataclass(frozen=True)
class _Trial:
    """What is compared, found possible as far as that shows before any scoring.

    Attributes:
        study: benchmark and settings.
        settings: what was asked for.
        views: the human judgments.
        scored: metrics of the levels above edits; none where single edits alone are compared.
        edits: what is tried at the edit level.
    """

    study: Study
    settings: Settings
    views: tuple[View, ...]
    scored: tuple[Scorer | ScoreTable, ...]
    edits: EditTasks

    @classmethod
    def prepare(
        cls,
        benchmark: Benchmark | str,
        scorers: Sequence[Metric],
        settings: Settings,
        runtime: Runtime,
    ) -> _Trial:
        """Load what was named, and refuse what cannot be."""
        scored = list(_loaded([scorers] if isinstance(scorers, str) else scorers))
        if not scored:
            raise OptionError("no metric to compare: name one or more, such as green")
        if isinstance(benchmark, str):
            view = None if settings.human == "both" else settings.human
            benchmark = load_benchmark(benchmark, view=view, cache=runtime.cache)
        study = Study(
            benchmark,
            settings.aggregate,
            settings.ties,
            settings.human_scores,
            settings.shuffles,
            settings.seed,
        )
        views = settings.views(benchmark.view, benchmark.views)
        for view in views:
            study.human(view)
        check_study(study, views, settings.level)
        for metric in scored:
            _check_metric(metric, benchmark, settings)
        _check_statistic(study, views, settings)
        _check_grouping(study, views, settings)
        alive = [metric for metric in scored if isinstance(metric, Scorer)]
        edits = edit_tasks(alive, benchmark, settings)
        return cls(study, settings, views, () if settings.level == "edit" else tuple(scored), edits)


def _loaded(given: Sequence[Metric]) -> Iterator[Scorer | ScoreTable]:
    """Metrics by name loaded, each name once."""
    names: set[str] = set()
    for metric in given:
        if not isinstance(metric, str):
            yield metric
        elif metric not in names:
            names.add(metric)
            yield load(metric)


def _check_metric(metric: Scorer | ScoreTable, benchmark: Benchmark, settings: Settings) -> None:
    """Refuse a metric that needs what the benchmark lacks, or scores without their scorer."""
    if isinstance(metric, Scorer):
        message = need_message(metric.needs, metric.name, benchmark)
        if message:
            raise InputError(message)
        metric.check(benchmark.corpus)
        return
    label = metric.signature.label
    if settings.level == "edit":
        raise OptionError(
            f"{label}: finished scores have no credits of single edits; give a scorer"
        )
    if settings.aggregate == "corpus" and settings.resampling.over != "none":
        raise OptionError(
            f"{label}: corpus scores of resampled sentences need the scorer, and finished scores "
            'have none; give the scorer, or take Resampling(over="none") or another aggregate'
        )


def _check_statistic(study: Study, views: Sequence[View], settings: Settings) -> None:
    """Refuse soft pairwise accuracy without judgments of single sentences."""
    for view in views:
        if settings.statistic == "spa" and study.human_differences(view) is None:
            raise OptionError(
                f"{settings.statistic_option}: {study.benchmark.name} has no judgments of single "
                f"sentences ({view}), which soft pairwise accuracy needs; take another statistic"
            )


def _check_grouping(study: Study, views: Sequence[View], settings: Settings) -> None:
    """Refuse a grouping that the benchmark does not allow."""
    benchmark = study.benchmark
    if settings.grouping is None or benchmark.rated:
        return
    if not any(benchmark.rankings.get(view) for view in views):
        raise OptionError(
            f"--grouping {settings.grouping}: {benchmark.name} has neither ratings nor rankings of "
            "single corrections; leave the option out"
        )
    if settings.grouping != "item":
        raise OptionError(
            f"--grouping {settings.grouping}: {benchmark.name} has rankings and no ratings, and "
            "ranks given in different rankings cannot be compared; take --grouping item, which "
            "compares within each ranking"
        )


def _weigh(
    trial: _Trial, tables: Sequence[ScoreTable], results: list[Result], chance: list[Result]
) -> tuple[tuple[Result, ...], tuple[Result, ...], IntervalsAndTests | None]:
    """Put intervals and clusters into results, and say how they were found."""
    settings, views, study = trial.settings, trial.views, trial.study
    if settings.resampling.over == "none":
        return tuple(results), tuple(chance), None
    entries = [_entry(*each) for each in zip(trial.scored, tables, strict=True)]
    known = len(entries)
    entries += [Entry(name, scores) for name, scores in study.chance_sentences.items()]
    measured = Uncertainty(study, entries, settings.resampling, settings.statistic, settings.seed)
    tests: dict[View, tuple[Significance, ...]] = {}
    dropped: dict[View, int] = {}
    # Results stand metric by metric, and for each metric view by view.
    weighed = [*results, *chance]
    for place, view in enumerate(views):
        system, sentence = measured.over_systems(view), measured.over_pairs(view)
        for number in range(len(entries)):
            at = number * len(views) + place
            weighed[at] = replace(
                weighed[at],
                system=replace(weighed[at].system, ci95=system[number].bounds),
                sentence_ci95=sentence[number].bounds,
            )
        dropped[view] = sum(sum(each.dropped.values()) for each in system[:known])
        tests[view] = ()
        if known > 1:
            tests[view] = tuple(measured.significance(view, range(known)))
        for test in tests[view]:
            for number, cluster in enumerate(test.clusters):
                at = number * len(views) + place
                weighed[at] = _with_cluster(weighed[at], test.level, cluster)
    uncertainty = IntervalsAndTests(
        human_resampled={view: measured.human(view)[1] for view in views},
        dropped=dropped,
        drawn=known * _STATISTICS * settings.resampling.resamples,
        tests=tests,
    )
    return tuple(weighed[: len(results)]), tuple(weighed[len(results) :]), uncertainty


def _entry(metric: Scorer | ScoreTable, table: ScoreTable) -> Entry:
    label, statistics = table.signature.label, table.statistics
    if isinstance(metric, ScoreTable):
        return Entry(label, table.sentences, statistics.items)
    return Entry(
        label,
        table.sentences,
        statistics.items,
        lambda draws: metric.corpus_scores(statistics, draws).score,
    )


def _with_cluster(result: Result, level: str, cluster: int | None) -> Result:
    if level == "sentence":
        return replace(result, sentence_cluster=cluster)
    return replace(result, system=replace(result.system, cluster=cluster))


def _annotators(study: Study, views: Sequence[View]) -> dict[View, Annotators]:
    found: dict[View, Annotators] = {}
    for view in views:
        agreement = study.ceiling(view)
        if agreement is not None:
            items = study.benchmark.rankings[view]
            within = annotator_kappa(items, within=True)
            found[view] = Annotators(agreement, annotator_kappa(items), within)
    return found


def _counts(trial: _Trial) -> FloatArray | None:
    """How often each source stands in each draw; None where sources are not drawn."""
    settings = trial.settings
    how = settings.resampling
    if not how.draws_sentences:
        return None
    size = len(trial.study.benchmark.corpus)
    return make_resampled("sentences", how.resamples, size, 1, settings.seed).counts


def _ratings(
    trial: _Trial,
    tables: Sequence[ScoreTable],
    results: Sequence[Result],
    chance: Sequence[Result],
) -> tuple[Rated, ...]:
    """How scores of single corrections follow their ratings, by metric and aspect."""
    benchmark, study = trial.study.benchmark, trial.study
    if not benchmark.rated or not tables:
        return ()
    means = {result.signature: result.scores for result in (*results, *chance)}
    entries = [
        (t.signature.label, t.signature.family, t.sentences, means[str(t.signature)])
        for t in tables
    ]
    entries += [
        (name, "chance", sentences, means[name])
        for name, sentences in study.chance_sentences.items()
        if name != "constant"  # Nothing of it is defined.
    ]
    counts = _counts(trial)
    rows = []
    for label, family, sentences, scores in entries:
        drawn = {} if counts is None else resampled_ratings(benchmark, sentences, counts)
        for found in rating_agreement(benchmark, sentences, scores):
            statistics = drawn.get(found.aspect, {})
            rows.append(Rated(label, family, found, _bounds(trial, statistics)))
    rows += [Rated("one rater", "humans", found, {}) for found in one_rater(benchmark)]
    return tuple(rows)


def _bounds(trial: _Trial, drawn: Mapping[str, FloatArray]) -> dict[str, Interval]:
    share = trial.settings.resampling.confidence
    return {name: interval(values, share)[0] for name, values in drawn.items()}


def _segments(trial: _Trial, tables: Sequence[ScoreTable]) -> SegmentLevel | None:
    """A row for each metric and aspect (or view), then chance, then people."""
    study, settings, benchmark = trial.study, trial.settings, trial.study.benchmark
    grouping: GroupBy | None = settings.grouping or ("item" if benchmark.rated else None)
    if grouping is None or settings.level in ("system", "edit") or not tables:
        return None
    counts = _counts(trial)
    entries: list[tuple[str, str, FloatArray, FloatArray | None]] = [
        (t.signature.label, t.signature.family, t.sentences, t.statistics.items) for t in tables
    ]
    entries += [(name, "chance", scores, None) for name, scores in study.chance_sentences.items()]
    ranked = [view for view in trial.views if benchmark.rankings.get(view)]
    rows = []

    def add(label: str, family: str, human: str, found: Segments) -> None:
        drawn = {} if counts is None else found.resampled(counts)
        rows.append(Segmented(label, family, human, found.agreement(), _bounds(trial, drawn)))

    for label, family, sentences, items in entries:
        if benchmark.rated:
            for aspect, ratings in benchmark.rated.items():
                segments = rated_segments(benchmark, ratings, sentences, grouping)
                add(label, family, aspect, segments)
            continue
        for view in ranked:
            add(label, family, view, ranked_segments(study, view, sentences, items))
    if benchmark.rated:
        for aspect in benchmark.rated:
            rater = mean_rater(benchmark, aspect, grouping)
            if rater is not None:
                rows.append(Segmented("one rater", "humans", aspect, rater, {}))
        return SegmentLevel(grouping, "ratings", tuple(rows))
    for view in ranked:
        both = two_annotators(study, view)
        if both.pairs:
            rows.append(Segmented("two annotators", "ceiling", view, both, {}))
    return SegmentLevel(grouping, "rankings", tuple(rows))


def _windows(study: Study, results: Sequence[Result]) -> Iterator[WindowAgreement]:
    names = study.benchmark.corpus.names
    for result in results:
        for size in _SIZES:
            found = study.windows(result.scores, result.view, size)
            for start, systems, r, rho in zip(
                found.starts, found.systems, found.pearson, found.spearman, strict=True
            ):
                yield WindowAgreement(
                    result.label,
                    result.view,
                    size,
                    int(start),
                    tuple(names[index] for index in systems),
                    float(r),
                    float(rho),
                )


def _pairwise(
    study: Study, tables: Sequence[ScoreTable], views: Sequence[View]
) -> Iterator[PairwiseAgreement]:
    kinds: tuple[Literal["system", "human-rank"], ...] = ("system", "human-rank")
    for table in tables:
        for view in (view for view in views if study.benchmark.rankings.get(view)):
            for by in kinds:
                found = study.pairwise(table, view, by)
                names = tuple(str(rank + 1) for rank in range(len(found.accuracy)))
                if by == "system":
                    names = study.benchmark.corpus.names
                signature = table.signature
                yield PairwiseAgreement(signature.metric, signature.label, view, by, names, found)


def _audits(
    tables: Sequence[ScoreTable],
    results: Sequence[Result],
    annotators: Mapping[View, Annotators],
) -> Iterator[Audit]:
    """Audits of the scorers that leave one, with their agreement with humans beside it."""
    for table in tables:
        left = table.statistics.details.get("audit")
        if left is None:
            continue
        humans: dict[View, tuple[float, float]] = {}
        for result in results:
            if result.signature != str(table.signature) or result.sentence is None:
                continue
            people = annotators.get(result.view)
            best = float("nan") if people is None else people.agreement.accuracy
            humans[result.view] = result.sentence.accuracy, best
        signature = table.signature
        yield Audit(signature.label, str(signature), left["members"], left["rows"], humans)

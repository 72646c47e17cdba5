"""A comparison of metrics with people, as a value: everything that any way of showing it shows.

    found = compare("sample", ["green", "gleu:n=3"], Settings(human="both"))
    found.rows()        plain records of the main table
    print(found)        the main table

`check` refuses, before any scoring, what cannot be compared; `plans` counts what judges would be
asked. Nothing here prints or reads options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.benchmarks.annotators import annotator_kappa
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.table import View
from gecjury.errors import InputError, OptionError
from gecjury.metaeval.cautions import cautions, check_scored, check_study, need_message
from gecjury.metaeval.edits.comparison import (
    EditResult,
    EditTasks,
    compare_edits,
    edit_tasks,
    plan_edits,
)
from gecjury.metaeval.edits.corrections import (
    LabelComparison,
    Labelled,
    ScoreKind,
    kinds_of_scores,
    label_agreements,
    source_scores,
)
from gecjury.metaeval.ratings import one_rater, rating_agreement, resampled_ratings
from gecjury.metaeval.resampled import Entry
from gecjury.metaeval.result import (
    Annotators,
    Audit,
    Comparison,
    IntervalsAndTests,
    PairwiseAgreement,
    Rated,
    Segmented,
    SegmentLevel,
    WindowAgreement,
)
from gecjury.metaeval.segments import (
    Segments,
    mean_rater,
    ranked_segments,
    rated_segments,
    two_annotators,
)
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Result, Study
from gecjury.metaeval.uncertainty import (
    LEAST_SENTENCES,
    Difference,
    Drawn,
    Significance,
    Uncertainty,
    drawn_differences,
)
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan, ScoreTable
from gecjury.stats.bootstrap import Interval, interval, sentence_counts
from gecjury.stats.grouped import GroupBy
from gecjury.stats.resampling import Over, check_resamples

_SIZES = (4, 8)  # of windows, in systems
# Statistics at system level that have intervals, for the share of draws that define none.
_STATISTICS = 5


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
    settings = trial.settings
    # Scoring may take hours: what can be refused is refused before it begins.
    if score_files is not None:
        check_writable(score_files)
    study, views = trial.study, trial.views
    corpus = study.benchmark.corpus
    tables = tuple(
        (
            metric
            if isinstance(metric, ScoreTable)
            else score_with_files(metric, corpus, score_files, runtime)
        ).settled()
        for metric in trial.scored
    )
    # Intervals and tests need all metrics at once, so results are first made without them.
    plain = [result for table in tables for result in study.evaluate(table, views)]
    results, chance, uncertainty = _weigh(trial, tables, plain, study.chance(views))
    check_scored(results)
    edits = compare_edits(trial.edits, study.benchmark, runtime, settings, score_files)
    ratings, segments = _ratings(trial, tables, results, chance), _segments(trial, tables)
    labels = _labels(trial, tables, runtime)
    if uncertainty is not None:
        more = _differences(trial, "ratings", ratings)
        more += _differences(trial, "segment", segments.rows if segments else ())
        more += _differences(trial, "edit", edits.results if edits else ())
        told = labels.rows if labels else ()
        more += _differences(trial, "labels", [row for row in told if row.score == "score"])
        uncertainty = replace(uncertainty, differences=(*uncertainty.differences, *more))
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
        ratings=ratings,
        segments=segments,
        labels=labels,
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
            labels=labels,
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
        if benchmark.edits_alone:
            settings = _of_edits_alone(settings, benchmark)
        check_study(study, views, settings.level)
        wanted = settings
        if benchmark.places:
            settings = _without_systems(settings, benchmark)
        if settings.resampling.over != "none":
            corpus = benchmark.corpus
            check_resamples(settings.resampling.resamples, len(corpus) + len(corpus.names))
        for metric in scored:
            _check_metric(metric, benchmark, settings)
        _check_statistic(study, views, settings)
        _check_grouping(study, views, settings)
        alive = [metric for metric in scored if isinstance(metric, Scorer)]
        edits = edit_tasks(alive, benchmark, wanted)
        return cls(study, settings, views, () if settings.level == "edit" else tuple(scored), edits)


def _without_systems(settings: Settings, benchmark: Benchmark) -> Settings:
    """The settings for a benchmark that names no systems: what is of systems is left out.

    Raises:
        OptionError: something was asked for that only systems have.
    """
    how = settings.resampling
    for asked, option in (
        (settings.windows, "--windows"),
        (settings.pairwise, "--pairwise"),
        (settings.grouping == "system", "--grouping system"),
        (settings.statistic != "pearson", settings.statistic_option),
        (settings.cluster_test != "perm-systems", f"--cluster-test {settings.cluster_test}"),
        (how.over == "systems", "--resample systems"),
    ):
        if asked:
            raise OptionError(
                f"{option}: {benchmark.name} names no systems that could be compared; leave it out"
            )
    over: Over = "sentences" if how.over == "both" else how.over
    return replace(
        settings,
        # Single edits are compared as they were asked for: this is of the levels above.
        level="sentence" if settings.level == "all" else settings.level,
        resampling=replace(how, over=over),
    )


def _of_edits_alone(settings: Settings, benchmark: Benchmark) -> Settings:
    """Return the settings for a benchmark of which people judged nothing but single edits.

    Raises:
        OptionError: something was asked for that whole corrections alone have.
    """
    for asked, option in (
        (settings.level not in ("all", "edit"), f"--level {settings.level}"),
        (settings.windows, "--windows"),
        (settings.pairwise, "--pairwise"),
    ):
        if asked:
            raise OptionError(
                f"{option}: of {benchmark.name} people judged single edits alone; take --level "
                "edit, and leave out what is for whole corrections"
            )
    return replace(settings, level="edit")


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
    measured = Uncertainty(
        study,
        entries,
        settings.resampling,
        settings.statistic,
        settings.seed,
        settings.cluster_test,
    )
    differences: list[Difference] = []
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
            here = [results[number * len(views) + place] for number in range(known)]
            for level, figures in _figures(here, settings).items():
                differences += measured.differences(view, level, figures)
        for test in tests[view]:
            for number, cluster in enumerate(test.clusters):
                at = number * len(views) + place
                weighed[at] = _with_cluster(weighed[at], test.level, cluster)
    uncertainty = IntervalsAndTests(
        human_resampled={view: measured.human(view)[1] for view in views},
        dropped=dropped,
        drawn=known * _STATISTICS * settings.resampling.resamples,
        tests=tests,
        differences=tuple(differences),
    )
    return tuple(weighed[: len(results)]), tuple(weighed[len(results) :]), uncertainty


def _figures(results: Sequence[Result], settings: Settings) -> dict[str, dict[str, list[float]]]:
    """By level and statistic the figures of one view's results, of the levels compared."""
    found = {}
    if settings.level in ("system", "all"):
        names = ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa")
        found["system"] = {name: [getattr(r.system, name) for r in results] for name in names}
    sentences = [result.sentence for result in results if result.sentence is not None]
    if settings.level in ("sentence", "all") and len(sentences) == len(results):
        found["sentence"] = {
            name: [getattr(s, name) for s in sentences] for name in ("accuracy", "kendall")
        }
    return found


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
            items, directed = study.benchmark.rankings[view], study.benchmark.directed_kappa
            between = annotator_kappa(items, directed=directed)
            within = annotator_kappa(items, within=True, directed=directed)
            found[view] = Annotators(agreement, between, within)
    return found


def _counts(trial: _Trial) -> FloatArray | None:
    """How often each source stands in each draw; None where sources are not drawn."""
    settings = trial.settings
    how = settings.resampling
    if not how.draws_sentences:
        return None
    size = len(trial.study.benchmark.corpus)
    return sentence_counts(size, how.resamples, settings.seed)


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
        for agreement in rating_agreement(benchmark, sentences, scores):
            statistics = drawn.get(agreement.aspect, {})
            figures = {name: float(getattr(agreement, name)) for name in statistics}
            bounds = _bounds(trial, statistics, figures)
            rows.append(Rated(label, family, agreement, bounds, statistics))
    rows += [Rated("one rater", "humans", agreement, {}) for agreement in one_rater(benchmark)]
    return tuple(rows)


def _bounds(
    trial: _Trial, drawn: Mapping[str, FloatArray], figures: Mapping[str, float]
) -> dict[str, Interval]:
    if len(trial.study.benchmark.corpus) < LEAST_SENTENCES:
        return {}
    share = trial.settings.resampling.confidence
    return {name: interval(values, share, figures[name])[0] for name, values in drawn.items()}


def _differences(
    trial: _Trial, level: str, rows: Sequence[Rated | Segmented | EditResult | Labelled]
) -> list[Difference]:
    """Between the metrics of a level whose statistics were drawn over sentences alone."""
    found: list[Difference] = []
    groups: dict[tuple[str, str], list[Rated | Segmented | EditResult | Labelled]] = {}
    for row in rows:
        if row.drawn and row.family not in ("chance", "humans"):
            # Where credits are missing, other edits are drawn: no pairs.
            of = f"{row.agreement.cases}" if isinstance(row, EditResult) else ""
            groups.setdefault((row.human, of), []).append(row)
    for (human, _), members in groups.items():
        names = [name for name in members[0].drawn if all(name in row.drawn for row in members)]
        values = {name: np.stack([row.drawn[name] for row in members]) for name in names}
        figures = {name: [float(getattr(row.agreement, name)) for row in members] for name in names}
        observed = {name: np.array(figures[name]) for name in names}
        found += drawn_differences(
            {"sentences": Drawn(values, observed)},
            level,
            human,
            [
                f"{row.label} ({row.credit})" if isinstance(row, EditResult) else row.label
                for row in members
            ],
            figures,
            trial.settings.resampling.confidence,
        )
    return found


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
        agreement = found.agreement()
        figures = {name: float(getattr(agreement, name)) for name in drawn}
        bounds = _bounds(trial, drawn, figures)
        rows.append(Segmented(label, family, human, agreement, bounds, drawn))

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
            rows.append(Segmented("two annotators", "humans", view, both, {}))
    return SegmentLevel(grouping, "rankings", tuple(rows))


def _labels(
    trial: _Trial, tables: Sequence[ScoreTable], runtime: Runtime
) -> LabelComparison | None:
    """How scores tell good corrections from bad ones, by metric and class; None without labels."""
    benchmark, study = trial.study.benchmark, trial.study
    labels = benchmark.labels
    if labels is None or not tables or trial.settings.level == "system":
        return None
    counts = _counts(trial)
    entries: list[tuple[str, str, ScoreKind, FloatArray]] = []
    for metric, table in zip(trial.scored, tables, strict=True):
        about = table.signature
        alone = source_scores(metric, benchmark, runtime) if isinstance(metric, Scorer) else None
        entries += [
            (about.label, about.family, kind, scores)
            for kind, scores in kinds_of_scores(table.sentences, alone)
        ]
    entries += [
        (name, "chance", "score", scores)
        for name, scores in study.chance_sentences.items()
        if name != "constant"  # Always one half.
    ]
    rows = []
    for label, family, kind, scores in entries:
        for name, agreement, drawn in label_agreements(labels, scores, counts):
            draws = {} if drawn is None else {"auc": drawn}
            bounds = _bounds(trial, draws, {"auc": agreement.auc})
            rows.append(Labelled(label, family, kind, name, agreement, bounds, draws))
    return LabelComparison(labels, tuple(rows))


def _windows(study: Study, results: Sequence[Result]) -> Iterator[WindowAgreement]:
    names = study.benchmark.corpus.names
    for result in results:
        for size in _SIZES:
            windows = study.windows(result.scores, result.view, size)
            for start, systems, r, rho in zip(
                windows.starts, windows.systems, windows.pearson, windows.spearman, strict=True
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

"""Comparison of metrics with people, as one value that every format and the page show.

    comparison = compare("sample", ["green", "gleu:n=3"], Settings(human="both"))
    comparison.rows()        plain records of the main table
    print(comparison)        the main table

`checked` refuses, before any scoring, comparisons that cannot be made; `plans` counts the requests
that judges would get. This module does not print or read options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np

from gecjury.benchmarks.annotators import annotator_kappa, ranks_alpha
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.table import View
from gecjury.core.errors import GecjuryError, InputError, OptionError
from gecjury.core.runtime import Bar, Runtime
from gecjury.core.wording import READING
from gecjury.metaeval.audit import judges_audits, measure_biases
from gecjury.metaeval.cautions import cautions, check_scored, check_study, need_message
from gecjury.metaeval.chance import in_levels, levels_of, sentence_table
from gecjury.metaeval.edits.comparison import (
    compare_edits,
    edit_metrics,
    plan_edits,
)
from gecjury.metaeval.edits.corrections import compare_labels
from gecjury.metaeval.people import among_people
from gecjury.metaeval.ratings import rated_rows
from gecjury.metaeval.result import (
    SYSTEM_STATISTICS,
    Annotators,
    Comparison,
    Uncertainty,
)
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.metaeval.uncertainty import (
    DRAWN_LEVELS,
    Difference,
    DrawnStatistics,
    Draws,
    Significance,
    drawn_differences,
)
from gecjury.scoring import registry
from gecjury.scoring.abilities import plan_of
from gecjury.scoring.options import short_names
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer, scores_of_all
from gecjury.scoring.scores import Plan, ScoreTable
from gecjury.scoring.system_tests import RankedMetric
from gecjury.stats.bootstrap import limited_rows
from gecjury.stats.grouped import window_correlations
from gecjury.stats.preferences import SENTENCE_STATISTICS
from gecjury.stats.resampling import Over, check_resamples

_SIZES = (4, 8)  # of windows, in systems
_LEVELS = {"rating": "ratings", "segment": "segment", "edit": "edit", "label": "labels"}
"""Levels whose statistics are drawn over sentences, with the names that differences have."""

MetricOrScores = registry.Metric | ScoreTable
"""A metric to compare: a scorer, its name with options, or finished scores."""


def compare(
    benchmark: Benchmark | str,
    scorers: Sequence[MetricOrScores],
    settings: Settings | None = None,
    *,
    runtime: Runtime | None = None,
    score_files: str | Path | None = None,
) -> Comparison:
    """Score a benchmark's systems and compare the scores with people's judgments.

    Args:
        benchmark: a benchmark, or the name of one, which is loaded with the default systems and
            references.
        scorers: metrics as scorers, by name (`green:n=3`), or as score tables of the benchmark's
            systems, which are compared at all levels except the edit level. Recorded judges of the
            benchmark are added; with them no metric has to be named.
        settings: settings of the comparison; None for the defaults.
        runtime: device, workers and the like; nothing in it changes a score.
        score_files: a folder; scores in its files are read, and the others are added.

    Raises:
        OptionError: the benchmark or a metric does not allow a setting.
        InputError: a metric needs what the benchmark lacks, nothing of a level can be computed, or
            a score file is damaged.
        DataError: data are missing.
        OutputError: a score file cannot be written.
    """
    if runtime is not None and runtime.dry_run:
        raise OptionError("a dry run scores nothing: use `plans(checked(...))`")
    return compared(checked(benchmark, scorers, settings, runtime), score_files)


def checked(
    benchmark: Benchmark | str,
    scorers: Sequence[MetricOrScores],
    settings: Settings | None = None,
    runtime: Runtime | None = None,
    *,
    absent: dict[Scorer, str] | None = None,
) -> MetaEvaluation:
    """Load the benchmark and the metrics, and make every check that needs no scores.

    Args:
        benchmark: as for `compare`.
        scorers: as for `compare`.
        settings: as for `compare`.
        runtime: as for `compare`.
        absent: receives the metrics that lack what they need, each with the reason; without it an
            error is raised instead.

    Raises:
        OptionError: the benchmark or a metric does not allow a setting.
        InputError: a metric needs what the benchmark lacks, or nothing of a level can be computed.
        DataError: data are missing.
    """
    settings, runtime = settings or Settings(), runtime or Runtime()
    metrics = list(_loaded([scorers] if isinstance(scorers, str) else scorers))
    if isinstance(benchmark, str):
        view = None if settings.human == "both" else settings.human
        benchmark = load_benchmark(benchmark, view=view, cache=runtime.cache)
    if not metrics and not benchmark.recorded:
        raise OptionError("no metric to compare: name one or more, such as green")
    if settings.limit is not None:
        benchmark = _drawn(benchmark, settings)
    # The settings are narrowed to what the benchmark has before all later checks: if people judged
    # only single edits there is no other level, and if no systems are named they cannot be drawn.
    # The edit level uses the settings as they were given.
    if benchmark.edits_alone:
        settings = _of_edits_alone(settings, benchmark)
    asked = settings
    study = MetaEvaluation(benchmark, asked, runtime=runtime)
    check_study(study)
    if benchmark.places:
        settings = _without_systems(settings, benchmark)
        study = replace(study, settings=settings)
    if settings.resampling.over != "none":
        points = len(benchmark.corpus) + len(benchmark.corpus.names)
        check_resamples(settings.resampling.resamples, points)
    for metric in tuple(metrics):
        try:
            _check_metric(metric, study)
        except InputError as error:
            if absent is None or not isinstance(metric, Scorer):
                raise
            absent[metric] = str(error)
            metrics.remove(metric)
    _check_statistic(study)
    scorers_left = [metric for metric in metrics if isinstance(metric, Scorer)]
    of_edits, untried = edit_metrics(scorers_left, benchmark, asked)
    kept = () if settings.level == "edit" else (*metrics, *_recorded(benchmark))
    return replace(study, metrics=kept, edit_metrics=of_edits, untried=untried)


def plans(study: MetaEvaluation) -> list[Plan]:
    """Return the requests that `compared` would send to paid services, without sending them."""
    corpus, runtime = study.benchmark.corpus, study.runtime
    made = [
        plan_of(metric, corpus, runtime) for metric in study.metrics if isinstance(metric, Scorer)
    ]
    return [plan for plan in made if plan is not None] + plan_edits(study)


def compared(
    study: MetaEvaluation,
    score_files: str | Path | None = None,
    *,
    failed: dict[Scorer, str] | None = None,
) -> Comparison:
    """Score the systems and compare the scores with people's judgments.

    Args:
        study: the result of `checked`.
        score_files: a folder; scores in its files are read, and the others are added.
        failed: receives the metrics that could not score, each with the error, instead of an
            exception; if all metrics fail, an exception is raised.

    Raises:
        InputError: nothing was both judged and scored, or a score file is damaged.
        OutputError: a score file cannot be written.
    """
    # Scoring may take hours, so every possible check is done before it begins.
    if score_files is not None:
        check_writable(score_files)
    made = _tables(study, score_files, failed)
    # Settle the scores, so that rounding differences do not count as preferences.
    tables = tuple(table.settled() for table in made)
    if failed:
        study = replace(
            study,
            metrics=tuple(metric for metric in study.metrics if metric not in failed),
            edit_metrics=tuple(metric for metric in study.edit_metrics if metric not in failed),
        )
    return _compared(study, tables, score_files)


def _compared(
    study: MetaEvaluation, tables: tuple[ScoreTable, ...], score_files: str | Path | None
) -> Comparison:
    """Compare finished scores of the study's metrics with people's judgments."""
    views, runtime, settings = study.views, study.runtime, study.settings
    # Intervals and tests need all metrics at once, so results are first built without them.
    tracked = runtime.track(tables, "agreement with people", len(tables))
    plain = [result for table in tracked for result in study.evaluate(table)]
    if rounded := _rounded(tables, plain):
        study = replace(study, rounded=rounded)
    entries = [
        RankedMetric(table, metric if isinstance(metric, Scorer) else None)
        for metric, table in zip(study.metrics, tables, strict=True)
    ]
    # Chance baselines have intervals as well, but are not tested.
    draws = Draws(study, [*entries, *map(RankedMetric, study.chance_tables)])
    weighed, uncertainty = _weigh(draws, [*plain, *study.chance()])
    results, chance = weighed[: len(plain)], weighed[len(plain) :]
    check_scored(results)
    # Single edits are scored last: they may take as long as all the other levels.
    edits = compare_edits(study, score_files)
    systems = [row for row in weighed if row.level == "system"]
    # Scores of systems are the same in all views.
    scores = [row.scores for row in systems[:: len(views)]]
    single = [
        *rated_rows(study, tables, scores),
        *(edits.rows if edits else ()),
        *compare_labels(study, tables),
    ]
    if uncertainty is not None:
        more = [gap for level in _LEVELS for gap in _differences(study, level, single)]
        uncertainty = replace(uncertainty, differences=(*uncertainty.differences, *more))
    annotators = _annotators(study)
    ceilings = {str(view): people.agreement.accuracy for view, people in annotators.items()}
    return Comparison(
        study=study,
        settings=settings,
        views=views,
        tables=tables,
        agreements=(
            *weighed,
            *single,
            *(among_people(draws) if tables else ()),
            *(_windows(study, systems[: len(tables) * len(views)]) if settings.windows else ()),
            *measure_biases(study, tables),
        ),
        annotators=annotators,
        uncertainty=uncertainty,
        edits=edits,
        audits=tuple(judges_audits(study, tables, results, ceilings)),
        cautions=cautions(
            study,
            results,
            chance,
            tested=uncertainty is not None and any(uncertainty.tests.values()),
            # How texts were read stands among the notes on the benchmark.
            noted=[
                note
                for table in tables
                for note in table.statistics.notes
                if not note.startswith(READING)
            ],
        ),
    )


def _tables(
    study: MetaEvaluation, score_files: str | Path | None, failed: dict[Scorer, str] | None
) -> list[ScoreTable]:
    """Return the metrics' scores; the arguments are those of `compared`."""
    tables = []
    for metric in study.metrics:
        if isinstance(metric, ScoreTable):
            tables.append(metric)
            continue
        try:
            tables.append(
                score_with_files(metric, study.benchmark.corpus, score_files, study.runtime)
            )
        except GecjuryError as error:
            if failed is None or len(failed) + 1 == len(study.metrics):
                raise
            failed[metric] = str(error)
    return tables


def _recorded(benchmark: Benchmark) -> Iterator[ScoreTable]:
    """Yield the scores of the language models whose grades come with the benchmark."""
    for judge in benchmark.recorded:
        table = sentence_table(judge.name, benchmark.corpus.names, judge.grades, "judges")
        notes = (f"{judge.name}: recorded, cannot be asked again",)
        yield replace(
            table,
            # What is missing was never requested, so nothing is unanswered.
            statistics=replace(table.statistics, details={"unanswered": 0}, notes=notes),
            signature=replace(table.signature, data={"benchmark": benchmark.fingerprint}),
            by_aspect=judge.by_aspect,
        )


def _rounded(tables: Sequence[ScoreTable], rows: Sequence[AgreementRow]) -> tuple[ScoreTable, ...]:
    """Return the best metric, rounded to the levels of every judge that gives only few levels.

    This makes the judge's ties comparable.
    """
    judges = {table.signature.label: levels_of(table) for table in tables}
    accuracies = {
        row.metric: row.accuracy
        for row in reversed(rows)
        if row.level == "sentence" and judges[row.metric] is None
    }
    best = max(accuracies, key=lambda label: np.nan_to_num(accuracies[label]), default=None)
    table = next((table for table in tables if table.signature.label == best), None)
    if best is None or table is None:
        return ()
    names = short_names(judges)
    return tuple(
        sentence_table(
            f"{names[best]} ({names[judge]} levels)",
            table.systems,
            in_levels(table.sentences, levels),
        )
        for judge, levels in judges.items()
        if levels is not None
    )


def _drawn(benchmark: Benchmark, settings: Settings) -> Benchmark:
    """Return the benchmark with as many of its judged sentences as the settings allow."""
    views, limit = settings.views(benchmark.view, benchmark.views), settings.limit
    rows = benchmark.judged_rows(views, edits=settings.level == "edit")
    if limit is None or limit >= len(rows):
        return benchmark
    note = (
        f"`limit=`: {limit} of {len(rows)} judged sentences, drawn with seed {settings.seed}, the "
        "same for every metric"
    )
    if benchmark.judged_whole and not benchmark.places and settings.level != "edit":
        note += "; human scores of systems are computed from their judgments"
    part = benchmark.take(limited_rows(rows, limit, settings.seed))
    return replace(part, drawn_from=len(rows), notes=(*benchmark.notes, note))


def _without_systems(settings: Settings, benchmark: Benchmark) -> Settings:
    """Return the settings for a benchmark that names no systems, without parts that need systems.

    Raises:
        OptionError: a setting needs systems.
    """
    how = settings.resampling
    _refuse(
        (
            (settings.windows, "`windows=True`"),
            (settings.statistic != "pearson", f"`statistic={settings.statistic}`"),
            (settings.cluster_test != "perm-systems", f"`cluster_test={settings.cluster_test}`"),
            (how.over == "systems", "`resample=systems`"),
        ),
        f"{benchmark.name} names no systems that could be compared; leave the option out",
    )
    over: Over = "sentences" if how.over == "both" else how.over
    return replace(
        settings,
        # This applies only to the levels above edits, which are compared as they were asked for.
        level="sentence" if settings.level == "all" else settings.level,
        resampling=replace(how, over=over),
    )


def _of_edits_alone(settings: Settings, benchmark: Benchmark) -> Settings:
    """Return the settings for a benchmark in which people judged only single edits.

    Raises:
        OptionError: a setting needs judgments of whole corrections.
    """
    _refuse(
        (
            (settings.level not in ("all", "edit"), f"`level={settings.level}`"),
            (settings.windows, "`windows=True`"),
            (settings.audit, "`audit=True`"),
        ),
        f"in {benchmark.name} people judged only single edits; use `level=edit`, and leave out "
        "options for whole corrections",
    )
    return replace(settings, level="edit")


def _refuse(options: Iterable[tuple[bool, str]], why: str) -> None:
    """Refuse the first option that was chosen; each is given with whether it was chosen."""
    for chosen, option in options:
        if chosen:
            raise OptionError(f"{option}: {why}")


def _loaded(metrics: Sequence[MetricOrScores]) -> Iterator[Scorer | ScoreTable]:
    """Yield the loaded metrics, each name once."""
    names: set[str] = set()
    for metric in metrics:
        if isinstance(metric, ScoreTable):
            yield metric
        elif not isinstance(metric, str) or metric not in names:
            names.update([metric] if isinstance(metric, str) else [])
            yield registry.load(metric)


def _check_metric(metric: Scorer | ScoreTable, study: MetaEvaluation) -> None:
    """Refuse a metric that needs what the benchmark lacks, or scores without their scorer."""
    finished = not isinstance(metric, Scorer) or metric.fixed
    if finished and study.benchmark.drawn_from is not None:
        raise scores_of_all(metric.name if isinstance(metric, Scorer) else metric.signature.label)
    if isinstance(metric, Scorer):
        message = need_message(metric.needs, metric.name, study.benchmark)
        if message:
            raise InputError(message)
        metric.check(study.benchmark.corpus)
        return
    label, settings = metric.signature.label, study.settings
    if settings.level == "edit":
        raise OptionError(
            f"{label}: finished scores have no credits of single edits; pass a scorer"
        )
    if settings.aggregate == "corpus" and settings.resampling.over != "none":
        raise OptionError(
            f"{label}: corpus scores of resampled sentences need the scorer, and finished scores "
            'have none; pass the scorer, or use Resampling(over="none") or another aggregate'
        )


def _check_statistic(study: MetaEvaluation) -> None:
    """Refuse soft pairwise accuracy without judgments of single sentences."""
    settings = study.settings
    for view in study.views:
        if settings.statistic == "spa" and study.human_differences[view] is None:
            raise OptionError(
                f"`statistic={settings.statistic}`: {study.benchmark.name} has no judgments of "
                f"single sentences ({view}), which soft pairwise accuracy needs; use another "
                "statistic"
            )


def _weigh(draws: Draws, rows: list[AgreementRow]) -> tuple[list[AgreementRow], Uncertainty | None]:
    """Return the rows of metrics, then chance, with intervals and clusters, and their details."""
    study = draws.study
    if study.settings.resampling.over == "none":
        return rows, None
    # The steps of a view are the intervals of each level, the tests, and the differences.
    total = len(study.views) * (len(DRAWN_LEVELS) + 2)
    with study.runtime.progress.task("intervals and tests", total) as bar:
        return _resampled(draws, rows, bar)


def _resampled(
    draws: Draws, rows: list[AgreementRow], bar: Bar
) -> tuple[list[AgreementRow], Uncertainty]:
    study = draws.study
    views, settings, count = study.views, study.settings, len(study.metrics)
    differences: list[Difference] = []
    tests: dict[View, tuple[Significance, ...]] = {}
    dropped: dict[View, int] = {}
    for view in views:
        places: dict[str, list[int]] = {
            level: [n for n, row in enumerate(rows) if (row.level, row.human) == (level, view)]
            for level in DRAWN_LEVELS
        }
        for level in DRAWN_LEVELS:
            intervals = draws.intervals(view, level)
            for place, of_metric in zip(places[level], intervals, strict=False):
                bounds = {name: ends for name, (ends, _) in of_metric.items()}
                rows[place] = replace(rows[place], intervals=bounds)
            if level == "system":
                of_metrics = [one for of_metric in intervals[:count] for one in of_metric.values()]
                dropped[view] = sum(undefined for _, undefined in of_metrics)
            bar.advance()
        tests[view] = tuple(draws.significance(view, range(count))) if count > 1 else ()
        bar.advance()
        for level, names in zip(
            DRAWN_LEVELS, (SYSTEM_STATISTICS, SENTENCE_STATISTICS), strict=True
        ):
            compared = [rows[place] for place in places[level][:count]]
            if len(compared) > 1 and settings.level in (level, "all"):
                figures = {name: [row.values[name] for row in compared] for name in names}
                differences += draws.differences(view, level, figures)
        bar.advance()
        for test in tests[view]:
            for place, cluster in zip(places[test.level], test.clusters, strict=False):
                rows[place] = replace(rows[place], clusters={test.level: cluster})
    uncertainty = Uncertainty(
        human_resampled={view: draws.human(view)[1] for view in views},
        dropped=dropped,
        drawn=count * len(SYSTEM_STATISTICS) * settings.resampling.resamples,
        tests=tests,
        differences=tuple(differences),
        draws={
            (level, view): drawn
            for view in views
            for level in DRAWN_LEVELS
            if (drawn := draws.usual_draws(view, level)) is not None
        },
    )
    return rows, uncertainty


def _annotators(study: MetaEvaluation) -> dict[View, Annotators]:
    annotators: dict[View, Annotators] = {}
    for view in study.views:
        agreement = study.ceiling(view)
        if agreement is not None:
            items, directed = study.rankings_by_people(view), study.benchmark.directed_kappa
            between = annotator_kappa(items, directed=directed)
            within = annotator_kappa(items, within=True, directed=directed)
            annotators[view] = Annotators(agreement, between, within, ranks_alpha(items))
    return annotators


def _differences(
    study: MetaEvaluation, level: str, rows: Sequence[AgreementRow]
) -> Iterator[Difference]:
    """Yield differences of a level whose statistics were drawn only over sentences."""
    groups: dict[tuple[str, float], list[AgreementRow]] = {}
    for row in rows:
        if row.level == level and row.drawn and row.family not in ("chance", "humans"):
            # If credits are missing, other edits are drawn, and the draws are not paired.
            groups.setdefault((row.human, row.values.get("cases", 0)), []).append(row)
    for (human, _), members in groups.items():
        # A statistic that is not defined on a benchmark is missing from some rows.
        names = [name for name in members[0].drawn if all(name in row.drawn for row in members)]
        values = {name: np.stack([row.drawn[name] for row in members]) for name in names}
        figures = {name: [float(row.values[name]) for row in members] for name in names}
        observed = {name: np.array(figures[name]) for name in names}
        yield from drawn_differences(
            {"sentences": DrawnStatistics(values, observed)},
            _LEVELS[level],
            human,
            [row.name for row in members],
            figures,
            study.settings.resampling.confidence,
        )


def _windows(study: MetaEvaluation, rows: Sequence[AgreementRow]) -> Iterator[AgreementRow]:
    """Yield correlations over runs of systems that are neighbours in the human ranking.

    Of the values, `size` is the number of systems, and `start` the rank of the best, 1 is best.
    """
    names = study.benchmark.corpus.names
    for row, size in product(rows, _SIZES):
        windows = window_correlations(study.human(cast(View, row.human)), row.scores, size)
        for start, (run, r, rho) in enumerate(windows, 1):
            values = {"size": size, "start": start, "pearson": r, "spearman": rho}
            systems = tuple(names[index] for index in run)
            yield AgreementRow("window", row.metric, row.family, row.human, values, systems=systems)

"""Comparison of metrics over several benchmarks: a table of metric × task, averages and tests.

A task is a benchmark, a kind of human judgments and a level. Each benchmark is compared
separately. This module combines the comparisons as in the metrics tasks of WMT (Freitag et al.
2024): by a weighted average over tasks, and a paired permutation test over all tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.errors import GecjuryError, InputError, OptionError, known_name
from gecjury.core.runtime import Runtime
from gecjury.metaeval.comparison import checked, compared, plans
from gecjury.metaeval.ratings import rated_points
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.metaeval.tasks.swaps import (
    LEAST_UNITS,
    CorrelationSwaps,
    JudgedPairs,
    Swaps,
    judged_swaps,
    soft_swaps,
)
from gecjury.metaeval.uncertainty import DrawnLevel
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan
from gecjury.stats.bootstrap import Interval, interval, sentence_draws
from gecjury.stats.correlation import signs
from gecjury.stats.figure import Figure
from gecjury.stats.permutation import cluster_ranks, holm, symmetric, tail_p

_LEAST = 3  # systems, for a correlation
_SHARED = 0.1  # least share of the smaller benchmark's sources for two to be in one group
_PERMUTATIONS = 10_000  # `tail_p` continues beyond them with a normal curve

CellState = Literal["scored", "not applicable", "missing"]


@dataclass(frozen=True)
class ComparedTask:
    """A benchmark, a kind of human judgments and a level, with the statistic compared there.

    Attributes:
        benchmark: the benchmark's name.
        human: the view of the judgments.
        level: `system` or `sentence`.
        statistic: `pearson`, `spa`, ... or `accuracy` and `acc_eq`.
        views: number of views of the benchmark that are compared.
        group: number of the group of benchmarks that share sources or systems.
        weight: the task's share of the average; the weights sum to 1.
    """

    benchmark: str
    human: View
    level: str
    statistic: str
    views: int = 1
    group: int = 0
    weight: float = 0.0

    @property
    def name(self) -> str:
        """The task as weights name it: `gjg15:system`, `seeda:edit:system`."""
        view = [self.human] if self.views > 1 else []
        return ":".join([self.benchmark, *view, self.level])


@dataclass(frozen=True)
class TaskCell:
    """A metric in a task.

    Attributes:
        value: the statistic; NaN if there is none.
        ci95: its interval; None without resampling.
        state: `missing` if the metric failed or its statistic is not defined.
        reason: why there is no value.
    """

    value: float = math.nan
    ci95: Interval | None = None
    state: CellState = "scored"
    reason: str = ""


@dataclass(frozen=True)
class PairTest:
    """Two metrics compared over the tasks that both have.

    Attributes:
        first: label of a metric.
        second: label of another.
        tasks: number of tasks.
        difference: the first's average minus the second's.
        ci95: its paired interval.
        p: two-sided p; NaN if nothing could be tested.
        adjusted: p after Holm's correction over all pairs.
    """

    first: str
    second: str
    tasks: int
    difference: float
    ci95: Interval | None
    p: float
    adjusted: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TaskComparison:
    """Metrics of any family against people over several benchmarks.

    Attributes:
        settings: settings of the comparison.
        tasks: the tasks; their weights sum to 1.
        cells: for each metric, in the order of the averages, one cell per task.
        averages: one per metric, in the order in which they were named: the weighted average over
            the tasks in which it has a value, whose number is `n`; NaN without any.
        shared: one per metric: the average over the tasks that every metric with a value has, with
            the significance cluster over these tasks.
        tests: one for every pair of metrics; none without resampling.
        comparisons: comparisons by the benchmark's name; without benchmarks that failed entirely.
        groups: names of the benchmarks of each group.
    """

    settings: Settings
    tasks: tuple[ComparedTask, ...]
    cells: tuple[tuple[TaskCell, ...], ...]
    averages: tuple[Figure, ...]
    shared: tuple[Figure, ...]
    tests: tuple[PairTest, ...]
    comparisons: Mapping[str, Comparison]
    groups: tuple[tuple[str, ...], ...]

    @property
    def incomplete(self) -> bool:
        """True if a metric failed in a task, or scores are missing."""
        failed = any(cell.state == "missing" for row in self.cells for cell in row)
        return failed or any(one.incomplete for one in self.comparisons.values())

    def figures(self) -> list[Figure]:
        """Return the averages, and the figure of every metric in every task in which it has one."""
        figures = [*self.averages, *self.shared]
        for average, cells in zip(self.averages, self.cells, strict=True):
            for task, cell in zip(self.tasks, cells, strict=True):
                if cell.state == "scored":
                    value = {task.statistic: cell.value}
                    bounds = {task.statistic: cell.ci95} if cell.ci95 else {}
                    about = task.level, average.metric, average.family, task.human
                    row = replace(AgreementRow(*about, value), intervals=bounds)
                    figures += (replace(figure, task=task.name) for figure in row.figures())
        return figures

    def __repr__(self) -> str:
        """Return one line that says what was compared."""
        return f"<TaskComparison of {len(self.averages)} metrics over {len(self.tasks)} tasks>"


@dataclass(frozen=True)
class TaskStudy:
    """Studies of several benchmarks that passed every check that needs no scores.

    Attributes:
        scorers: the metrics.
        studies: what is compared, by the benchmark's name.
        left_out: by the benchmark's name the metrics that lack what they need, with the reason.
        tasks: the tasks.
        groups: names of the benchmarks of each group.
        settings: settings of the comparison.
    """

    scorers: tuple[Scorer, ...]
    studies: Mapping[str, MetaEvaluation]
    left_out: Mapping[str, Mapping[Scorer, TaskCell]]
    tasks: tuple[ComparedTask, ...]
    groups: tuple[tuple[str, ...], ...]
    settings: Settings = field(default_factory=Settings)

    @classmethod
    def of(
        cls,
        benchmarks: Sequence[Benchmark],
        scorers: Sequence[Scorer],
        settings: Settings,
        runtime: Runtime,
        weights: Mapping[str, float] | None = None,
    ) -> TaskStudy:
        """Check, before any scoring, that everything can be compared.

        Args:
            benchmarks: two or more.
            runtime: device, workers and the like; spending counts over all benchmarks.
            weights: a number by task, or by benchmark for all of its tasks together; tasks that are
                not named have weight 0. None for equal weights.

        Raises:
            OptionError: two benchmarks have the same data, or the weights name an unknown task or
                do not sum to 1.
            InputError: a benchmark has no judgments of whole corrections, or no metric can be
                computed on it.
        """
        _refuse_same(benchmarks)
        studies: dict[str, MetaEvaluation] = {}
        left_out: dict[str, dict[Scorer, TaskCell]] = {}
        tasks: list[ComparedTask] = []
        for benchmark in benchmarks:
            name, absent = benchmark.name, dict[Scorer, str]()
            study = _checked(benchmark, scorers, settings, runtime, absent)
            of_benchmark = list(_tasks(study))
            if not of_benchmark:
                raise InputError(
                    f"{name}: no task at level {settings.level}: it has neither three systems with "
                    "human scores nor judged pairs of corrections; leave it out"
                )
            studies[name], left_out[name] = study, _cells("not applicable", absent)
            tasks += of_benchmark
        # The studies' benchmarks have only the sentences that --limit has drawn.
        drawn = [study.benchmark for study in studies.values()]
        keys = {benchmark.name: _source_keys(benchmark) for benchmark in drawn}
        groups = _groups(drawn, keys)
        number = {name: place for place, names in enumerate(groups) for name in names}
        tasks = [replace(task, group=number[task.benchmark]) for task in tasks]
        for name, shared in _shared_draws(groups, keys, settings).items():
            studies[name] = replace(studies[name], sentence_draws=shared)
        return cls(tuple(scorers), studies, left_out, _weighted(tasks, weights), groups, settings)

    def plans(self) -> list[Plan]:
        """Return the requests that `compare` would send to paid services, without sending them."""
        return [plan for study in self.studies.values() for plan in plans(study)]

    def compare(self, score_files: str | Path | None = None) -> TaskComparison:
        """Compare on every benchmark, and combine the comparisons.

        Args:
            score_files: a folder with a folder of score files for each benchmark.

        Raises:
            GecjuryError: every benchmark failed.
        """
        comparisons: dict[str, Comparison] = {}
        left_out: dict[str, dict[Scorer, TaskCell]] = {}
        for name, study in self.studies.items():
            failed: dict[Scorer, str] = {}
            folder = None if score_files is None else Path(score_files) / name
            try:
                comparisons[name] = compared(study, folder, failed=failed)
            except GecjuryError as error:
                # The other benchmarks continue; if all fail, the last error is raised.
                if not comparisons and len(left_out) + 1 == len(self.studies):
                    raise
                failed |= {s: str(error) for s in self.scorers if s not in failed}
            left_out[name] = {**_cells("missing", failed), **self.left_out[name]}
        return _Together(self, comparisons, left_out).result()


def _cells(state: CellState, reasons: Mapping[Scorer, str]) -> dict[Scorer, TaskCell]:
    return {scorer: TaskCell(state=state, reason=reason) for scorer, reason in reasons.items()}


def _refuse_same(benchmarks: Sequence[Benchmark]) -> None:
    """Refuse two benchmarks with the same name or the same texts."""
    texts: dict[object, str] = {}
    for benchmark in benchmarks:
        corpus, name = benchmark.corpus, benchmark.name
        if name in texts.values():
            raise OptionError(f"{name}: two benchmarks have this name; name each benchmark once")
        key = corpus.source_print, frozenset(corpus.system_prints.values())
        if key in texts:
            raise OptionError(
                f"{texts[key]} and {name} have the same sources and outputs; two tasks with the "
                "same data would count it twice: leave one of them out"
            )
        texts[key] = name


def _checked(
    benchmark: Benchmark,
    scorers: Sequence[Scorer],
    settings: Settings,
    runtime: Runtime,
    absent: dict[Scorer, str],
) -> MetaEvaluation:
    """Return the study of one benchmark among several; see `checked` for `absent`."""
    if benchmark.edits_alone or settings.level == "edit":
        raise InputError(
            f"{benchmark.name}: several benchmarks are compared at the levels of systems and "
            "sentences, not of single edits; compare single edits on one benchmark only"
        )
    if benchmark.places:
        # Without systems there is no test at system level.
        settings = replace(settings, statistic="pearson", cluster_test="perm-systems")
    # Recorded judges have scores in one task only, so they have no average over several.
    study = checked(replace(benchmark, recorded=()), scorers, settings, runtime, absent=absent)
    if not study.metrics:
        reason = next(iter(absent.values()))
        raise InputError(f"{benchmark.name}: no metric can be computed; {reason}")
    return study


_SourceKey = tuple[str, int]
"""A source without white space, and how often it occurred before."""


def _groups(
    benchmarks: Sequence[Benchmark], keys: Mapping[str, Sequence[_SourceKey]]
) -> tuple[tuple[str, ...], ...]:
    """Return groups of benchmarks that share sources or systems.

    Args:
        keys: the keys of each benchmark's sources.
    """
    systems = {one.name: (one.places, frozenset(one.corpus.names)) for one in benchmarks}

    def share(one: str, other: str) -> bool:
        if systems[one] == systems[other] and not systems[one][0]:
            return True
        least = _SHARED * min(len(keys[one]), len(keys[other]))
        return len(set(keys[one]) & set(keys[other])) >= least

    groups: list[set[str]] = []
    for name in keys:
        near = [group for group in groups if any(share(name, other) for other in group)]
        groups = [group for group in groups if group not in near] + [{name}.union(*near)]
    return tuple(tuple(name for name in keys if name in group) for group in groups)


def _shared_draws(
    groups: Sequence[Sequence[str]], keys: Mapping[str, Sequence[_SourceKey]], settings: Settings
) -> dict[str, IntArray]:
    """Return draws of the sources that benchmarks of a group share.

    Sources that are in the same benchmarks of a group are drawn together, so that a draw contains
    a source equally often for each of them.
    """
    draws: dict[str, IntArray] = {}
    for group in groups if settings.resampling.draws_sentences else ():
        held = {name: set(keys[name]) for name in group}
        if sum(map(len, held.values())) == len(set().union(*held.values())):
            continue  # they share no source, so each draws its own
        # The seed of a part is the place of its first source among all sources of the group.
        order = {key: place for place, key in enumerate(sorted(set().union(*held.values())))}
        for name in group:
            rows: dict[tuple[str, ...], list[int]] = {}
            for row, key in sorted(enumerate(keys[name]), key=lambda pair: order[pair[1]]):
                rows.setdefault(tuple(n for n in group if key in held[n]), []).append(row)
            parts = []
            for places in rows.values():
                rng = np.random.default_rng([settings.seed, 11, order[keys[name][places[0]]]])
                drawn = sentence_draws(len(places), settings.resampling.resamples, rng)
                parts.append(np.array(places)[drawn])
            draws[name] = np.sort(np.concatenate(parts, axis=1), axis=1)
    return draws


def _source_keys(benchmark: Benchmark) -> list[_SourceKey]:
    """Return each source without white space, and how often it occurred before."""
    seen: dict[str, int] = {}
    keys = []
    for source in benchmark.corpus.sources:
        text = "".join(source.split())
        keys.append((text, seen.get(text, 0)))
        seen[text] = seen.get(text, 0) + 1
    return keys


def _tasks(study: MetaEvaluation) -> Iterator[ComparedTask]:
    """Yield the tasks of a benchmark."""
    views, settings, benchmark = study.views, study.settings, study.benchmark
    for view in views:
        task = ComparedTask(benchmark.name, view, "system", settings.statistic, len(views))
        scored = np.count_nonzero(~np.isnan(study.human(view)))
        if settings.level != "sentence" and not benchmark.places and scored >= _LEAST:
            yield task
        ranked = benchmark.rankings.get(view)
        if settings.level != "system" and (ranked or benchmark.rated):
            yield replace(task, level="sentence", statistic="accuracy" if ranked else "acc_eq")


def _weighted(
    tasks: Sequence[ComparedTask], weights: Mapping[str, float] | None
) -> tuple[ComparedTask, ...]:
    """Return the tasks with weights that sum to 1.

    Raises:
        OptionError: a weight is not between 0 and 1 or names an unknown task, or the weights do
            not sum to 1.
    """
    if not weights:
        return tuple(replace(task, weight=1 / len(tasks)) for task in tasks)
    names = list(dict.fromkeys(name for task in tasks for name in (task.benchmark, task.name)))
    total, shares = 0.0, dict.fromkeys([task.name for task in tasks], 0.0)
    for name, weight in weights.items():
        known_name("task of the weights", name, names)
        if not 0 <= weight <= 1:
            raise OptionError(f"weight of {name}: {weight!r:.60}; expected a number from 0 to 1")
        members = [task for task in tasks if name in (task.name, task.benchmark)]
        for task in members:
            shares[task.name] += weight / len(members)
        total += weight
    if abs(total - 1) > 1e-6:
        raise OptionError(f"the weights of the tasks sum to {total:g}; expected 1")
    return tuple(replace(task, weight=shares[task.name]) for task in tasks)


@dataclass(frozen=True)
class _Together:
    """Finished comparisons, to be combined.

    Attributes:
        study: what was compared.
        comparisons: comparisons by the benchmark's name.
        left_out: by the benchmark's name the metrics that lack what they need or failed.
    """

    study: TaskStudy
    comparisons: Mapping[str, Comparison]
    left_out: Mapping[str, Mapping[Scorer, TaskCell]]

    def result(self) -> TaskComparison:
        """Return tables, averages and tests."""
        study, scorers = self.study, self.study.scorers
        cells = tuple(tuple(self._cell(scorer, task) for task in study.tasks) for scorer in scorers)
        values = np.array([[cell.value for cell in row] for row in cells])
        weights = np.array([task.weight for task in study.tasks])
        labels = [self._label(scorer) for scorer in scorers]
        draws = self._draws()
        # All metrics can be ranked only by tasks in which every metric has a value.
        scored = ~np.isnan(values)
        common = scored[scored.any(axis=1)].all(axis=0)
        tests, clusters = self._tests(values, weights, common, draws, [name for name, _ in labels])

        def mean(statistic: str, row: int, chosen: BoolArray, cluster: int | None) -> Figure:
            shares = _shares(weights, chosen)
            bounds = None if draws is None else self._bounds(draws[:, row], shares)
            low, high = bounds or (math.nan, math.nan)
            return Figure(
                metric=labels[row][0],
                family=labels[row][1],
                statistic=statistic,
                value=_mean(values[row], weights, chosen),
                low=low,
                high=high,
                cluster=cluster,
                n=int(chosen.sum()),
            )

        places = range(len(scorers))
        return TaskComparison(
            settings=study.settings,
            tasks=study.tasks,
            cells=cells,
            averages=tuple(mean("average", row, scored[row], None) for row in places),
            shared=tuple(mean("shared", row, common, clusters[row]) for row in places),
            tests=tests,
            comparisons=self.comparisons,
            groups=study.groups,
        )

    def _bounds(self, draws: FloatArray, shares: FloatArray) -> Interval | None:
        """Return the interval of a weighted mean over tasks.

        Args:
            draws: tasks × (1 + B): the figure computed as in the draws, and its value on every
                draw.
            shares: weights of the tasks; all NaN for no interval.
        """
        if np.isnan(shares).any():
            return None
        total, tasks = np.zeros(draws.shape[1]), self.study.tasks
        for group in {task.group for task in tasks}:
            rows = [k for k, task in enumerate(tasks) if task.group == group and shares[k] > 0]
            part = shares[rows] @ draws[rows]
            # Draws in which a task of the group is not defined are replaced by other draws.
            defined = part[1:][~np.isnan(part[1:])]
            if rows and not len(defined):
                return None
            total[0] += part[0]
            total[1:] += np.resize(defined, len(total) - 1) if rows else 0.0
        how = self.study.settings.resampling
        return interval(total[1:], how.confidence, float(total[0]))[0]

    def _place(self, scorer: Scorer, benchmark: str) -> int | None:
        """Return the place of a metric among those compared on a benchmark; None if absent."""
        left_out = self.left_out[benchmark]
        if scorer in left_out:
            return None
        return [other for other in self.study.scorers if other not in left_out].index(scorer)

    def _label(self, scorer: Scorer) -> tuple[str, str]:
        """Return label and family of a metric."""
        for name, comparison in self.comparisons.items():
            place = self._place(scorer, name)
            if place is not None:
                about = comparison.tables[place].signature
                return about.label, about.family
        return scorer.name, scorer.family

    def _cell(self, scorer: Scorer, task: ComparedTask) -> TaskCell:
        place = self._place(scorer, task.benchmark)
        if place is None:
            return self.left_out[task.benchmark][scorer]
        row, statistic = _rows(self.comparisons[task.benchmark], task)[place], task.statistic
        if math.isnan(row.values[statistic]):
            return TaskCell(state="missing", reason=f"{statistic} is not defined for its scores")
        return TaskCell(float(row.values[statistic]), row.intervals.get(statistic))

    def _draws(self) -> FloatArray | None:
        """Return every statistic, computed as in the draws, and on every draw.

        None without draws. Draws of one group have the same sources and systems. Draws of two
        groups must be independent, so their order is changed: with equal sizes and seeds they would
        have drawn the same places.

        Returns:
            Tasks × metrics × (1 + B).
        """
        how, tasks, scorers = self.study.settings.resampling, self.study.tasks, self.study.scorers
        if how.over == "none":
            return None
        drawn = np.full((len(tasks), len(scorers), 1 + how.resamples), np.nan)
        for column, task in enumerate(tasks):
            rng = np.random.default_rng([self.study.settings.seed, 12, task.group])
            order = rng.permutation(how.resamples)
            for row, scorer in enumerate(scorers):
                place = self._place(scorer, task.benchmark)
                values = None if place is None else self._drawn(task, place)
                if values is not None:
                    # A statistic that no draw changes has one value for all draws.
                    by_draw = np.broadcast_to(values[1], how.resamples)
                    drawn[column, row] = [values[0], *by_draw[order]]
        return drawn

    def _drawn(self, task: ComparedTask, place: int) -> tuple[float, FloatArray] | None:
        """Return a metric's statistic and its values on every draw; None without draws."""
        comparison = self.comparisons[task.benchmark]
        name = task.statistic
        if name == "acc_eq":
            row = _rows(comparison, task)[place]
            return (row.values[name], row.drawn[name]) if row.drawn else None
        level: DrawnLevel = "system" if task.level == "system" else "sentence"
        draws = comparison.uncertainty.draws if comparison.uncertainty else {}
        if (of_level := draws.get((level, task.human))) is None:
            return None
        return float(of_level.observed[name][place]), of_level.values[name][place]

    def _tests(
        self,
        values: FloatArray,
        weights: FloatArray,
        common: BoolArray,
        draws: FloatArray | None,
        labels: Sequence[str],
    ) -> tuple[tuple[PairTest, ...], list[int | None]]:
        """Return tests of every pair, and the clusters over the tasks that all metrics have."""
        count = len(values)
        duels = list(combinations(range(count), 2))
        if draws is None or not duels:
            return (), [None] * count
        p, ranked = np.full((2, len(duels)), np.nan)
        shared = [~np.isnan(values[i] + values[j]) for i, j in duels]
        for place, (i, j) in enumerate(duels):
            nulls = self._nulls(i, j)
            p[place] = _p(nulls, _shares(weights, shared[place]))
            ranked[place] = _p(nulls, _shares(weights, common & shared[place]))
        level = self.study.settings.resampling.level
        means = np.array([_mean(row, weights, common) for row in values])
        clusters = cluster_ranks(means, symmetric(count, duels, holm(ranked)), level)
        tests = tuple(
            PairTest(
                labels[i],
                labels[j],
                int(both.sum()),
                _mean(values[i], weights, both) - _mean(values[j], weights, both),
                self._bounds(draws[:, i] - draws[:, j], _shares(weights, both)),
                float(raw),
                float(adjusted),
            )
            for (i, j), both, raw, adjusted in zip(duels, shared, p, holm(p), strict=True)
        )
        return tests, clusters

    def _nulls(self, one: int, two: int) -> FloatArray:
        """Return observed and permuted differences, tasks × (1 + K); NaN where not tested."""
        study = self.study
        gaps = np.full((len(study.tasks), 1 + _PERMUTATIONS), np.nan)
        flips: dict[tuple[int, str], BoolArray] = {}
        for row, task in enumerate(study.tasks):
            units = self._units(task)
            first, second = (
                self._place(study.scorers[side], task.benchmark) for side in (one, two)
            )
            if first is None or second is None:
                continue
            swaps = self._swaps(task, first, second)
            # A unit of a group is swapped in all tasks of the group at once.
            missing = [unit for unit in units if (task.group, unit) not in flips]
            rng = np.random.default_rng([study.settings.seed, 13, task.group, len(flips)])
            drawn = rng.integers(2, size=(_PERMUTATIONS, len(missing))).astype(np.bool_)
            flips |= {(task.group, unit): drawn[:, k] for k, unit in enumerate(missing)}
            swapped = np.stack([flips[task.group, unit] for unit in units], axis=1)
            gaps[row] = [swaps.observed(), *swaps.gaps(swapped)]
        return gaps

    def _by_source(self, task: ComparedTask) -> bool:
        """Return True if sources are swapped because there are too few systems."""
        benchmark = self.comparisons[task.benchmark].benchmark
        few = benchmark.places or len(benchmark.corpus.names) < LEAST_UNITS
        return few and task.level == "sentence"

    def _units(self, task: ComparedTask) -> list[str]:
        """Return the names of the units that are swapped: systems or sources."""
        benchmark = self.comparisons[task.benchmark].benchmark
        if not self._by_source(task):
            return list(benchmark.corpus.names)
        return [f"{text} {times}" for text, times in _source_keys(benchmark)]

    def _swaps(self, task: ComparedTask, one: int, two: int) -> Swaps:
        """Return a task with two of the metrics that were compared on its benchmark."""
        comparison = self.comparisons[task.benchmark]
        study, tables = comparison.study, comparison.tables
        if task.statistic == "spa":
            wanted = study.human_differences[task.human]
            assert wanted is not None  # otherwise `checked` has refused the statistic
            return soft_swaps(wanted, tables[one].sentences, tables[two].sentences)
        if task.level == "system":
            rows = _rows(comparison, task)
            scores = np.stack([rows[one].scores, rows[two].scores])
            return CorrelationSwaps(study.human(task.human), scores, task.statistic)
        if task.name not in self._judged_tasks:
            self._judged_tasks[task.name] = self._judged(task)
        judged, sides = self._judged_tasks[task.name]
        return judged_swaps(judged, sides[one], sides[two])

    @cached_property
    def _judged_tasks(self) -> dict[str, _JudgedTask]:
        return {}

    def _judged(self, task: ComparedTask) -> _JudgedTask:
        """Return the judged pairs of a task, and every metric's scores of both sides."""
        comparison = self.comparisons[task.benchmark]
        study, tables = comparison.study, comparison.tables
        benchmark, names = study.benchmark, study.benchmark.corpus.names
        by_group = task.statistic == "acc_eq"
        if by_group:
            # If several systems made a correction, the first counts, as at the segment level.
            ratings = benchmark.rated[benchmark.overall]
            points = rated_points(benchmark.corpus, ratings, np.zeros(ratings.shape))
            human = points.rated
            first, second = np.triu_indices(len(names), 1)
            pair, group = np.nonzero(~np.isnan(human[first] + human[second]))
            first, second = first[pair], second[pair]
            preference = signs(human[first, group], human[second, group]).astype(np.int64)
            at = (first, group), (second, group)
            sides = [(t.sentences[at[0]], t.sentences[at[1]]) for t in tables]
            source = group
        else:
            pairs = study.pairs(task.human)
            preference, first, second = pairs.preference, pairs.first, pairs.second
            source, group = pairs.sentence, pairs.item
            sides = [study.sides(task.human, table, pairs) for table in tables]
        units, size = (first, second), len(names)
        if self._by_source(task):
            units, size = (source, source), len(benchmark.corpus)
        ties = "calibrated" if by_group else study.settings.ties
        return JudgedPairs(preference, *units, size, group, ties, by_group), sides


_JudgedTask = tuple[JudgedPairs, list[tuple[FloatArray, FloatArray]]]


def _rows(comparison: Comparison, task: ComparedTask) -> list[AgreementRow]:
    """Return the rows of a task, metrics first, in their order."""
    level, human = task.level, str(task.human)
    if task.statistic == "acc_eq":
        level, human = "segment", comparison.benchmark.overall
    return [row for row in comparison.at(level) if row.human == human]


def _shares(weights: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return the weights of the chosen tasks, scaled to sum to 1; NaN if they are all 0."""
    held = np.where(chosen, weights, 0.0)
    total = float(held.sum())
    return held / total if total > 0 else np.full(len(weights), np.nan)


def _mean(values: FloatArray, weights: FloatArray, chosen: BoolArray) -> float:
    """Return the weighted mean over the chosen tasks; NaN without any."""
    return float(np.where(chosen, values, 0.0) @ _shares(weights, chosen))


def _p(gaps: FloatArray, shares: FloatArray) -> float:
    """Return two-sided p of a weighted mean of differences.

    Args:
        gaps: observed and permuted differences, tasks × (1 + K).
        shares: weights of the tasks, 0 for those that are not used.
    """
    if np.isnan(shares).any():
        return math.nan
    total = shares[shares > 0] @ gaps[shares > 0]
    return float(tail_p(total[1:, None], total[:1], exact=False)[0])

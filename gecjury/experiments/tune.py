"""An option's best value on one benchmark, and what it does on others; `gecjury tune`.

`gecjury.experiments.tuning` tries values on one benchmark; here is what is asked for by name, how
a metric's paper did it, and the trial on other benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from gecjury.arrays import FloatArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.errors import OptionError
from gecjury.experiments.inputs import benchmark_of
from gecjury.experiments.result import ExperimentResult
from gecjury.experiments.tuning import (
    MEASURES,
    Grid,
    Optimum,
    Preset,
    Searching,
    Sweeping,
    Tunable,
    TuningTrial,
    curves,
    evaluate,
    find_best,
    fold_draws,
    leak_warning,
    parse_grid,
    trial_of,
)
from gecjury.metaeval.settings import HumanKind, Settings
from gecjury.metaeval.study import Study
from gecjury.runtime import Runtime
from gecjury.scoring.options import parse
from gecjury.scoring.registry import load, scorer_class
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.stats.ranking import Aggregate


@dataclass(frozen=True, kw_only=True)
class TuneSettings:
    """What `tune` can be told; None stands for how the metric's paper did it.

    Attributes:
        human_scores: the human column; a benchmark without it takes its first.
        aggregate: how sentence scores become system scores; by default `corpus`, uot-errant
            `trueskill`, some `mean`.
        folds: the value is the mean of the optima on all but one fold of sentences; 1 for the
            optimum on all of them. By default 10, uot-errant 1.
        seed: of the folds.
    """

    human_scores: str | None = None
    aggregate: Aggregate | None = None
    folds: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class TunedValue:
    """The value found by one measure.

    Attributes:
        measure: one of `MEASURES`.
        values: by option what was found: `value`, or SOME's three weights.
        figure: the measure with it.
        default: the measure with the default.
        spread: standard deviation of the folds' optima; NaN without folds, None for weights.
        optima: the best value on the other sentences, for each fold; None for weights.
    """

    measure: str
    values: Mapping[str, float]
    figure: float
    default: float
    spread: float | None = None
    optima: tuple[float, ...] | None = None

    def row(self) -> dict[str, Any]:
        """The value as a record."""
        row = {
            "measure": self.measure,
            **self.values,
            "figure": self.figure,
            "default": self.default,
        }
        if self.optima is not None:
            row |= {"spread": self.spread, "optima": list(self.optima)}
        return row


@dataclass(frozen=True)
class TunedElsewhere:
    """What a value found on one benchmark does on another.

    Attributes:
        benchmark: the other's name.
        human: which of its judgments.
        found: the value, with its figures there.
    """

    benchmark: str
    human: str
    found: TunedValue

    def row(self) -> dict[str, Any]:
        """The figures as a record."""
        return {"benchmark": self.benchmark, "human": self.human, **self.found.row()}


@dataclass(frozen=True, repr=False, eq=False)
class Tuned(ExperimentResult):
    """The values found on one benchmark, tried on others.

    Attributes:
        what: what was tuned, as it was asked for.
        study: the benchmark, with the aggregation and the human scores in use.
        seed: of the folds.
        found: one a measure.
        elsewhere: one a benchmark and measure.
        warnings: where the benchmarks share sources.
        grid: the option and the values tried; None for SOME's weights.
        folds: how many; None for SOME's weights.
        curve: every value tried with its measures on all sentences; empty for SOME's weights.
    """

    what: str
    study: Study
    seed: int
    found: tuple[TunedValue, ...]
    elsewhere: tuple[TunedElsewhere, ...]
    warnings: tuple[str, ...]
    grid: Grid | None = None
    folds: int | None = None
    curve: tuple[Mapping[str, float], ...] = ()

    @property
    def human_scores(self) -> str:
        """The human column in use."""
        return self.study.human_kind(self.study.benchmark.view)

    def rows(self) -> list[dict[str, Any]]:
        """One record a measure: where it was tuned first, then elsewhere."""
        benchmark = self.study.benchmark
        about = {"benchmark": benchmark.name, "human": benchmark.view}
        return [
            *(about | each.row() for each in self.found),
            *(each.row() for each in self.elsewhere),
        ]


def check_tuning(what: str, settings: TuneSettings | None = None) -> None:
    """Refuse what cannot be tuned before a benchmark is read.

    Args:
        what: see `tune`.
        settings: see `tune`.

    Raises:
        OptionError: an unknown metric or option, no range where one is needed, or folds below 1.
    """
    name, options = parse(what)
    if scorer_class(name).fixed:
        raise OptionError(f"{name}: holds scores of given texts: it has no option to be tuned")
    if not _by_search(name, options):
        _grid(what, settings or TuneSettings())


def tune(
    what: str,
    benchmark: Benchmark | str,
    tests: Sequence[Benchmark | str] = (),
    *,
    settings: TuneSettings | None = None,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
) -> Tuned:
    """Find an option's best value on one benchmark and try it on others.

    Args:
        what: `METRIC:OPTION=START:STOP:STEP`; or a metric alone whose paper tuned it: `green` (β),
            `uot-errant` (λ) or `some` with its model (α, β and γ).
        benchmark: where the value is found, loaded or by name.
        tests: where it is tried beside the default.
        settings: aggregation, human scores and folds.
        folder: where score files are read and kept; by default nowhere.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric, option or benchmark, no range where one is needed, more
            folds than sentences, or a benchmark of fewer than three systems.
        InputError: a benchmark lacks what the metric needs.
        OutputError: the folder cannot be written.
    """
    settings = settings or TuneSettings()
    check_tuning(what, settings)
    runtime = runtime or Runtime()
    if folder:
        check_writable(folder)
        runtime = replace(runtime, scores=Path(folder))
    search = _tune_searched if _by_search(*parse(what)) else _tune_grid
    return search(
        what, benchmark_of(benchmark), [benchmark_of(t) for t in tests], settings, runtime
    )


def _has_range(options: Mapping[str, str]) -> bool:
    return any(value.count(":") == 2 for value in options.values())


def _by_search(name: str, options: Mapping[str, str]) -> bool:
    """Whether a metric's own search is wanted, which needs no range."""
    return issubclass(scorer_class(name), Searching) and not _has_range(options)


def _grid(what: str, settings: TuneSettings) -> tuple[Grid, int, TuneSettings]:
    """What is tried, how many folds, and the settings filled in as the metric's paper did it."""
    name, options = parse(what)
    preset = Preset.of(scorer_class(name))
    if not _has_range(options):
        if not preset.range:
            raise OptionError(
                f"tune {what}: name an option with a range, e.g. {name}:OPTION=START:STOP:STEP"
            )
        what += ("," if options else ":") + preset.range
    grid = parse_grid(what)
    if preset.option != grid.option:
        # The paper tuned another option.
        preset = Preset()
    folds = preset.folds if settings.folds is None else settings.folds
    if folds < 1:
        raise OptionError(f"--folds {folds}: expected 1 (all sentences) or more")
    filled = replace(
        settings,
        aggregate=settings.aggregate or cast(Aggregate, preset.aggregate),
        human_scores=settings.human_scores or preset.human_scores,
    )
    return grid, folds, filled


def _study(benchmark: Benchmark, settings: TuneSettings) -> Study:
    """A benchmark to tune or test on; its first human column where the one named is not there."""
    kinds = benchmark.human[benchmark.view]
    kind = cast(HumanKind, settings.human_scores) if settings.human_scores in kinds else None
    aggregate = settings.aggregate or "corpus"
    return Study(benchmark, Settings(aggregate=aggregate, human_scores=kind, seed=settings.seed))


def _tune_grid(
    what: str,
    benchmark: Benchmark,
    others: Sequence[Benchmark],
    settings: TuneSettings,
    runtime: Runtime,
) -> Tuned:
    grid, folds, settings = _grid(what, settings)
    study = _study(benchmark, settings)
    if study.few(benchmark.view):
        raise OptionError(
            f"{benchmark.name} ({benchmark.systems}) has fewer than three systems with "
            "human scores: nothing to correlate with; choose another set with --systems"
        )
    grid.scorer().check(benchmark.corpus)
    tests = [_study(other, settings) for other in others]
    draws = fold_draws(len(benchmark.corpus), folds, settings.seed)
    trial = trial_of(
        grid, study, benchmark.view, draws, runtime, sentences=_swept(grid, study, runtime)
    )
    every = curves(trial)
    # A benchmark of ratings has no judged pairs, hence no accuracy.
    found = [find_best(trial, m) for m in MEASURES if every[m].size and every[m].any()]
    options = [_Option(f.measure, {"value": f.value}, grid.scorer(_given(trial, f))) for f in found]
    figures = _figures(options, grid.scorer(), study, runtime)
    warnings, elsewhere = _elsewhere(study, tests, options, grid.scorer(), runtime)
    return Tuned(
        what,
        study,
        settings.seed,
        tuple(
            replace(figure, spread=f.spread, optima=tuple(f.optima))
            for figure, f in zip(figures, found, strict=True)
        ),
        elsewhere,
        warnings,
        grid,
        folds,
        tuple(
            {"value": value, **{m: float(every[m][k]) for m in MEASURES if every[m].size}}
            for k, value in enumerate(trial.values)
        ),
    )


def _given(trial: TuningTrial, found: Optimum) -> float:
    """The value found, as the option takes it: whole where only whole numbers were tried."""
    return int(found.value) if isinstance(trial.values[0], int) else found.value


def _swept(grid: Grid, study: Study, runtime: Runtime) -> FloatArray | None:
    """Sentence scores of all values at once, where the metric has a way to get them."""
    scorer = grid.scorer()
    if not isinstance(scorer, Sweeping):
        return None
    return scorer.sweep(grid.option, grid.values, study.benchmark.corpus, runtime)


def _tune_searched(
    what: str,
    benchmark: Benchmark,
    others: Sequence[Benchmark],
    settings: TuneSettings,
    runtime: Runtime,
) -> Tuned:
    """What a metric's own search finds, which needs no range."""
    name, _ = parse(what)
    tuning = getattr(scorer_class(name), "tuning", Tunable.tuning)
    usually = cast("Aggregate | None", tuning.get("aggregate"))
    settings = replace(settings, aggregate=settings.aggregate or usually)
    study = _study(benchmark, settings)
    tests = [_study(other, settings) for other in others]
    usual = load(what)
    statistics = score_with_files(usual, benchmark.corpus, runtime.scores, runtime).statistics
    options = []
    for measure in ("accuracy", "pearson"):
        best = cast(Searching, usual).search(statistics, benchmark, measure)
        options.append(_Option(measure, best, load(what, **best)))
    found = _figures(options, usual, study, runtime)
    warnings, elsewhere = _elsewhere(study, tests, options, usual, runtime)
    return Tuned(what, study, settings.seed, tuple(found), elsewhere, warnings)


class _Option(NamedTuple):
    """A setting that was found: the measure it is best by, its values, the metric with them."""

    measure: str
    values: dict[str, Any]
    scorer: Scorer


def _figures(
    options: Sequence[_Option], usual: Scorer, study: Study, runtime: Runtime
) -> list[TunedValue]:
    """What the settings found give on a benchmark, each by its measure, beside the default."""
    scorers = [usual, *(option.scorer for option in options)]
    default, *figures = evaluate(scorers, study, study.benchmark.view, runtime)
    return [
        TunedValue(o.measure, o.values, figure[o.measure], default[o.measure])
        for o, figure in zip(options, figures, strict=True)
    ]


def _elsewhere(
    study: Study,
    tests: Sequence[Study],
    options: Sequence[_Option],
    usual: Scorer,
    runtime: Runtime,
) -> tuple[tuple[str, ...], tuple[TunedElsewhere, ...]]:
    """Warnings, and what the values found do on other benchmarks, beside the default."""
    warnings, found = [], []
    for test in tests:
        usual.check(test.benchmark.corpus)
        names = study.benchmark.name, test.benchmark.name
        warning = leak_warning(study.benchmark.corpus, test.benchmark.corpus, names)
        warnings += [warning] if warning else []
        found += [
            TunedElsewhere(names[1], test.benchmark.view, figure)
            for figure in _figures(options, usual, test, runtime)
        ]
    return tuple(warnings), tuple(found)

"""An option's best value, or the best of several candidates: `gecjury tune`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, cast

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.addresses import masked
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import check_needs, option
from gecjury.corpus.corpus import Corpus
from gecjury.metaeval import study as metaeval
from gecjury.metaeval.settings import HumanKind, Settings
from gecjury.report.result import Column, Result, Table
from gecjury.scoring.options import parse
from gecjury.scoring.registry import Metric, load, scorer_class
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.stats.bootstrap import group_counts, interval
from gecjury.stats.ranking import Aggregate
from gecjury.stats.resampling import Resampling
from gecjury.studies.study import Need, Study, Takes, Work, function_of
from gecjury.studies.tune.candidates import (
    Agreements,
    agreements,
    candidate_metrics,
    choose,
    rows_of,
    verdict,
)
from gecjury.studies.tune.trial import (
    MEASURES,
    Grid,
    Preset,
    Searching,
    Sweeping,
    curves,
    evaluate,
    find_best,
    fold_draws,
    leak_warning,
    parse_grid,
    shown,
    trial_of,
    tuning_of,
)

# For options that do nothing with candidates, which are compared on judged pairs only.
_NOT_CHOOSING: Mapping[str, tuple[str, ...]] = {"prompt": ()}


@dataclass(frozen=True)
class _Optimum:
    """A setting of the metric that is best by a measure.

    Attributes:
        measure: one of `MEASURES`.
        values: by option: `value`, or the weights that the metric's search found.
        scorer: the metric with this setting.
        more: further entries of its record on the benchmark where it was found.
    """

    measure: str
    values: Mapping[str, Any]
    scorer: Scorer
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Tune(Study):
    """An option's best value on one benchmark, and its effect on others.

    Attributes:
        test: benchmarks on which the value is compared with the default.
        human: which judgments.
        human_scores: human column; on a benchmark without it, its first column is used.
        aggregate: system scores of the metric (default: corpus; uot-errant: trueskill; some:
            mean).
        folds: average the optima on all but one of N folds of sentences (default: 10; uot-errant:
            1).
        seed: seed of the folds.
        curve: also show the figures of every value.
        prompt: choose among candidates by accuracy on judged pairs: options added to the metric's
            (criterion=fluency), whole metrics, or a file with one per line.
        allow_judges: allow what candidates of a file need your consent for.
    """

    takes: ClassVar[Takes] = "benchmark"
    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges", "plans")
    what: ClassVar[str] = "with a range of values, METRIC:OPTION=START:STOP:STEP; see below"
    data: ClassVar[str] = "benchmark on which the value is found"
    keeps: ClassVar[bool] = True
    epilog: ClassVar[str] = """\
what to tune:
  green:beta=0:5:0.01      any numeric option of any metric, start:stop:step
  green                    β as in its paper: 0 to 5 by 0.01, ten folds, corpus scores
  uot-errant               λ1 = λ2 as in its paper: 0.02 to 1 by 0.02, encoded once
  some:model=DIR           α, β and γ, all hundredths
  llm-s:model=M --prompt criterion=fluency prompt=mine.txt
                           the best wording for a judge, tested on held-out folds
"""
    test: tuple[str | Benchmark, ...] = option((), metavar="BENCHMARK", several=True)
    human: View | None = None
    human_scores: HumanKind | None = option(None, needs=_NOT_CHOOSING)
    aggregate: Aggregate | None = option(None, needs=_NOT_CHOOSING)
    folds: int | None = option(None, metavar="N", least=1, most=100_000, hint="1: all sentences")
    seed: int = option(0, least=0)
    curve: bool = option(False, needs=_NOT_CHOOSING)
    prompt: tuple[str, ...] = option((), metavar="CANDIDATE", several=True)
    allow_judges: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_needs(self, "human_scores", "aggregate", "curve")

    @property
    def view(self) -> View | None:
        """The judgments that benchmarks are loaded with."""
        return self.human

    def load(self, metric: Metric) -> Scorer:
        """Return the metric with the default of the option that is tuned.

        Raises:
            OptionError: an unknown metric or option, or a missing range.
        """
        if not isinstance(metric, str):
            raise OptionError("name what to tune as on the command line: green:beta=0:5:0.01")
        name, _ = parse(metric)
        if scorer_class(name).fixed:
            raise OptionError(f"{name}: has scores of given texts, and so no option to tune")
        if self.prompt:
            return self._candidates(metric)[0]
        grid = _grid(metric)
        return load(metric) if grid is None else grid.scorer()

    def check(self, work: Work) -> None:
        """Refuse several metrics, plain texts, and a benchmark with too few systems."""
        if len(work.typed) != 1:
            raise OptionError(f"{len(work.typed)} metrics; expected one to tune")
        benchmark = work.benchmark
        if benchmark is None:
            raise OptionError("tuning needs human judgments: name a benchmark")
        if self.prompt:
            for scorer, corpus in self.to_score(work):
                scorer.check(corpus)
            return
        searches = _grid(*work.typed) is None
        if not searches and self._judged(benchmark).few(benchmark.view):
            raise OptionError(
                f"{benchmark.name} ({benchmark.systems}) has fewer than three systems with "
                "human scores: nothing to correlate with; choose another set with --systems"
            )
        super().check(work)

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield the metric with every value, or every candidate, and the texts that it scores."""
        (what,) = work.typed
        scorers: Sequence[Scorer] = work.scorers
        if self.prompt:
            scorers = self._candidates(what, work.runtime.api_key_env)
        elif (grid := _grid(what)) is not None:
            scorers = [grid.scorer(value) for value in grid.values]
        for scorer in scorers:
            yield scorer, scorer.read(work.corpus)

    def run(self, work: Work) -> Result:
        """Find the value and try it on other benchmarks.

        Table `found` has one record per measure: the value, and the measure with it and with the
        default. `elsewhere` has the same for each other benchmark, and `curve` every value that was
        tried. With candidates (`prompt`), `candidates` has one record for each, `held_out` what
        choosing among them was worth, and `elsewhere` the chosen one and the metric as named.
        """
        ((what, usual),) = work.typed.items()
        benchmark = cast(Benchmark, work.benchmark)
        others = [
            cast(Benchmark, work.further(one) if isinstance(one, str) else one) for one in self.test
        ]
        runtime = work.runtime
        if work.folder:
            check_writable(work.folder)
            runtime = replace(runtime, scores=Path(work.folder))
        if self.prompt:
            return self._chosen(what, benchmark, others, runtime, work.name or benchmark.name)
        grid = _grid(what)
        # Settings that are not given follow the metric's paper, so that its figures are reproduced.
        how = self._filled(what, grid)
        study = how._judged(benchmark)
        curve: list[dict[str, float]] = []
        if grid is None:
            optima = _searched(what, usual, study, runtime)
        else:
            optima, curve = how._swept(grid, study, runtime)
        rows = [
            {**row, **optimum.more}
            for row, optimum in zip(_figures(optima, usual, study, runtime), optima, strict=True)
        ]
        # A value should be tested on sources that it was not tuned on.
        warnings, elsewhere = [], []
        for other in others:
            usual.check(other.corpus)
            names = benchmark.name, other.name
            if warning := leak_warning(benchmark.corpus, other.corpus, names):
                warnings.append(warning)
            place = {"benchmark": other.name, "human": other.view}
            figures = _figures(optima, usual, how._judged(other), runtime)
            elsewhere += [place | row for row in figures]
        columns = [Column("measure"), *(Column(key, digits=2) for key in optima[0].values)]
        spread = [] if grid is None else [Column("spread", "s.d. over folds")]
        compared = [Column("figure", "with it"), Column("default", "with the default")]
        there = [Column("benchmark"), Column("human"), *columns, *compared] if elsewhere else []
        title, notes = how._about(what, grid, study, work.name or benchmark.name)
        tables = [
            Table([*columns, *spread, *compared], rows, title, notes, "found"),
            Table(there, elsewhere, "Elsewhere", warnings, "elsewhere"),
        ]
        facts: dict[str, Any] = {
            "what": masked(what),
            "benchmark": benchmark.name,
            "systems": list(benchmark.corpus.names),
            "references": benchmark.references,
            "human": benchmark.view,
            "human_scores": study.human_kind(benchmark.view),
            "aggregate": how.aggregate,
            "seed": how.seed,
            "fingerprint": benchmark.fingerprint,
            "warnings": warnings,
        }
        if grid is not None:
            facts |= {"option": grid.option, "default": grid.default, "folds": how.folds}
            measures = [Column("value", grid.option), *(Column(m) for m in MEASURES)]
            title = "Every value, on all sentences"
            tables.append(Table(measures if self.curve else (), curve, title, name="curve"))
        said = tuple(f"warning: {warning}" for warning in warnings)
        return Result(tuple(tables), facts, tuple(warnings), said=said)

    def _candidates(self, what: str, key: str | None = None) -> list[Scorer]:
        """Return the metric as named and the candidates, without duplicates.

        Args:
            what: the metric.
            key: the variable with the key for servers that are not OpenAI's.

        Raises:
            OptionError: a candidate is not a metric or needs consent, or there is none except the
                metric itself.
        """
        names = candidate_metrics(what, self.prompt, allowed=self.allow_judges, key=key)
        scorers = dict.fromkeys(map(load, names))
        if len(scorers) < 2:
            raise OptionError(
                f"--prompt: no candidate differs from {masked(what)}; expected at least one, e.g. "
                "criterion=fluency"
            )
        return list(scorers)

    def _chosen(
        self,
        what: str,
        benchmark: Benchmark,
        others: Sequence[Benchmark],
        runtime: Runtime,
        name: str,
    ) -> Result:
        """Choose among the candidates, and try the best on other benchmarks."""
        scorers = self._candidates(what)
        folds = 10 if self.folds is None else self.folds
        study = metaeval.Study(benchmark, Settings(seed=self.seed))
        tables = [
            score_with_files(scorer, benchmark.corpus, runtime.scores, runtime)
            for scorer in scorers
        ]
        agreed = agreements(study, tables, benchmark.view)
        choice = choose(agreed, folds, self.seed)
        labels = [table.signature.label for table in tables]
        warnings, elsewhere, unanswered = [], [], any(table.unanswered for table in tables)
        for other in others:
            if warning := leak_warning(
                benchmark.corpus, other.corpus, (benchmark.name, other.name)
            ):
                warnings.append(warning)
            pair = [scorers[0], scorers[choice.best]]
            for scorer in pair:
                scorer.check(other.corpus)
            there = [score_with_files(s, other.corpus, runtime.scores, runtime) for s in pair]
            unanswered |= any(table.unanswered for table in there)
            study = metaeval.Study(other, Settings(seed=self.seed))
            elsewhere.append(_tested(agreements(study, there, other.view), other, self.seed))
        held_out = {
            "candidates": len(scorers),
            "folds": folds,
            "best": labels[choice.best],
            "figure": float(choice.accuracies[choice.best]),
            "held_out": choice.held_out,
            "inflation": choice.inflation,
            "default": float(choice.accuracies[0]),
            "gain": choice.gain,
            "gain_ci95": list(choice.gain_interval),
        }
        notes = [
            f"accuracy over {agreed.pairs.sum():.0f} decided pairs of {len(agreed.pairs)} sources; "
            "ties and pairs without a score count half",
            f"difference from the metric as named, {labels[0]}; 95% intervals from the same "
            "resampled sources",
            f"chosen: for how many of {folds} folds (seed {self.seed}) it was best on all others",
        ]
        columns = [
            Column("metric"),
            Column("accuracy", interval="accuracy_ci95"),
            Column("difference", interval="difference_ci95"),
            Column("chosen"),
            Column("missing"),
        ]
        summary = [Column("figure", "its own accuracy"), Column("held_out", "held out")]
        summary += [Column("inflation"), Column("default", "as named")]
        summary += [Column("gain", interval="gain_ci95")]
        tested = [Column("benchmark"), Column("human"), Column("figure", "with it")]
        tested += [Column("default", "as named"), Column("difference", interval="difference_ci95")]
        tables_shown = (
            Table(columns, rows_of(choice, labels, agreed.missing), f"Candidates on {name}", notes,
                  "candidates"),
            Table(summary, [held_out], "Choosing among them", name="held_out"),
            Table(tested if elsewhere else [], elsewhere, "Elsewhere", warnings, "elsewhere"),
        )  # fmt: skip
        facts = {
            "what": masked(what),
            "benchmark": benchmark.name,
            "systems": list(benchmark.corpus.names),
            "human": benchmark.view,
            "folds": folds,
            "seed": self.seed,
            "fingerprint": benchmark.fingerprint,
            "signatures": [str(table.signature) for table in tables],
            "warnings": warnings,
        }
        said = tuple(f"warning: {warning}" for warning in warnings)
        answer = verdict(choice, labels, folds)
        return Result(
            tables_shown, facts, tuple(warnings), int(unanswered), said=said, verdict=answer
        )

    def _filled(self, what: str, grid: Grid | None) -> Tune:
        """Return the settings, with gaps filled as in the metric's paper."""
        preset = Preset.of(scorer_class(parse(what)[0]))
        if grid is not None and preset.option != grid.option:
            preset = Preset()  # the paper tuned another option
        return replace(
            self,
            aggregate=self.aggregate or cast(Aggregate, preset.aggregate),
            human_scores=self.human_scores or cast("HumanKind | None", preset.human_scores),
            folds=preset.folds if self.folds is None else self.folds,
        )

    def _judged(self, benchmark: Benchmark) -> metaeval.Study:
        """Return a benchmark with the human column and the aggregation that are used on it."""
        # Another benchmark may lack the column that the value was found on.
        kinds = benchmark.human[benchmark.view]
        kind = self.human_scores if self.human_scores in kinds else None
        aggregate = self.aggregate or "corpus"
        settings = Settings(aggregate=aggregate, human_scores=kind, seed=self.seed)
        return metaeval.Study(benchmark, settings)

    def _swept(
        self, grid: Grid, study: metaeval.Study, runtime: Runtime
    ) -> tuple[list[_Optimum], list[dict[str, float]]]:
        """Return the best value of a grid by each measure, and all measures of every value."""
        benchmark, scorer = study.benchmark, grid.scorer()
        draws = fold_draws(len(benchmark.corpus), self.folds or 1, self.seed)
        sentences = None
        if isinstance(scorer, Sweeping):
            sentences = scorer.sweep(grid.option, grid.values, benchmark.corpus, runtime)
        trial = trial_of(grid, study, benchmark.view, draws, runtime, sentences=sentences)
        every = curves(trial)
        optima = []
        # A benchmark with ratings only has no judged pairs, hence no accuracy.
        for measure in (m for m in MEASURES if every[m].size and every[m].any()):
            best = find_best(trial, measure)
            # The option gets a whole number if only whole numbers were tried.
            value = int(best.value) if isinstance(trial.values[0], int) else best.value
            more = {"spread": best.spread, "optima": list(best.optima)}
            optima.append(_Optimum(measure, {"value": best.value}, grid.scorer(value), more))
        curve = [
            {"value": value, **{m: float(every[m][k]) for m in MEASURES if every[m].size}}
            for k, value in enumerate(trial.values)
        ]
        return optima, curve

    def _about(
        self, what: str, grid: Grid | None, study: metaeval.Study, name: str
    ) -> tuple[str, list[str]]:
        """Return the title of the main table, and notes on how its values were found."""
        ties = "accuracy over decided pairs, ties count half"
        if grid is None:
            metric = scorer_class(parse(what)[0])
            tuning = tuning_of(metric)
            searched, steps = tuning.get("searched", "options"), tuning.get("steps")
            title = f"{metric.__name__}'s {searched} on {name}"
            return title, [f"{searched}{f' in {steps}' if steps else ''}; {ties}"]
        how = "the optimum on all sentences"
        if self.folds is not None and self.folds > 1:
            how = f"mean of the optima without each of {self.folds} folds of sentences, "
            how += f"seed {self.seed}"
        human = study.human_kind(study.benchmark.view)
        return f"{masked(what)} on {name}", [
            f"{grid.option} tried from {shown(grid.values)}, default {grid.default:g}; {how}",
            f"system scores by {self.aggregate}, human {human}; {ties}",
        ]


def _grid(what: str) -> Grid | None:
    """Return the values to try; None for a metric that searches its settings without a range.

    Raises:
        OptionError: an unknown metric or option, or a missing range.
    """
    name, options = parse(what)
    metric = scorer_class(name)
    # Without a range, a metric uses its own search or the range of its paper.
    if not any(value.count(":") == 2 for value in options.values()):
        if issubclass(metric, Searching):
            return None
        preset = Preset.of(metric).range
        if not preset:
            raise OptionError(
                f"tune {what}: name an option with a range, e.g. {name}:OPTION=START:STOP:STEP"
            )
        what += ("," if options else ":") + preset
    return parse_grid(what)


def _tested(agreed: Agreements, benchmark: Benchmark, seed: int) -> dict[str, Any]:
    """Return a record of the default's and the chosen metric's accuracy on a benchmark."""
    default, figure = agreed.accuracies()
    how = Resampling()
    drawn = agreed.accuracies(group_counts(len(agreed.pairs), how.resamples, seed)).T
    difference = float(figure - default)
    return {
        "benchmark": benchmark.name,
        "human": benchmark.view,
        "figure": float(figure),
        "default": float(default),
        "difference": difference,
        "difference_ci95": list(interval(drawn[1] - drawn[0], how.confidence, difference)[0]),
    }


def _searched(what: str, usual: Scorer, study: metaeval.Study, runtime: Runtime) -> list[_Optimum]:
    """Return the settings that a metric's own search finds."""
    benchmark = study.benchmark
    statistics = score_with_files(usual, benchmark.corpus, runtime.scores, runtime).statistics
    optima = []
    for measure in ("accuracy", "pearson"):
        best = cast(Searching, usual).search(statistics, benchmark, measure)
        optima.append(_Optimum(measure, best, load(what, **best)))
    return optima


def _figures(
    optima: Sequence[_Optimum], usual: Scorer, study: metaeval.Study, runtime: Runtime
) -> Iterator[dict[str, Any]]:
    """Yield the figures of the settings found on a benchmark, each by its measure."""
    scorers = [usual, *(optimum.scorer for optimum in optima)]
    default, *figures = evaluate(scorers, study, study.benchmark.view, runtime)
    for optimum, figure in zip(optima, figures, strict=True):
        measure = optimum.measure
        row = {"measure": measure, **optimum.values}
        yield row | {"figure": figure[measure], "default": default[measure]}


tune = function_of(Tune)

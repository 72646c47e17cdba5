"""Try the values of a metric's option on a benchmark, and find the best.

The value is found with folds of sentences: it is the mean, over folds, of the best value on all
other sentences. Koyama et al. (2024) found GREEN's β in this way, with ten folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.leakage import normalise
from gecjury.metaeval.study import Study
from gecjury.scoring.options import parse
from gecjury.scoring.registry import load, scorer_class
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Statistics
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.counts import ratio
from gecjury.stats.ranking import aggregate_scores

MEASURES = ("pearson", "spearman", "accuracy")
"""The first two are computed over systems, accuracy over judged pairs (ties of the metric count one
half)."""

_DIGITS = 9


class Tunable(Protocol):
    """The members with which a metric describes its tuning; each is optional.

    - `tuning`: defaults of `gecjury tune` for the metric, as in its paper: an option with its range
      (`{"beta": "0:5:0.01"}`), and the command's own `folds`, `aggregate` and `human-scores`. A
      metric with `search` may say what is searched (`searched`, `steps`).
    - `score_options`: settings that are only used to compute scores from statistics, so that other
      values of them need no new pass over the corpus.
    - `shared_options`: names that set several settings at once.
    """

    tuning: ClassVar[Mapping[str, str]] = {}
    score_options: ClassVar[frozenset[str]] = frozenset()
    shared_options: ClassVar[Mapping[str, tuple[str, ...]]] = {}


@runtime_checkable
class Searching(Protocol):
    """A metric that searches its settings itself, and needs no range of values."""

    def search(
        self, statistics: Statistics, benchmark: Benchmark, measure: str
    ) -> dict[str, float]:
        """Return the settings that agree best with people.

        Args:
            statistics: statistics of the benchmark's corpus.
            benchmark: the benchmark with the judgments.
            measure: `accuracy` over judged pairs, or `pearson` over systems.
        """


@runtime_checkable
class Sweeping(Protocol):
    """A metric that scores many values of an option at once."""

    def sweep(
        self, option: str, values: Sequence[float], corpus: Corpus, runtime: Runtime
    ) -> FloatArray | None:
        """Return sentence scores, values × systems × sentences; None if the option cannot do it."""


@dataclass(frozen=True)
class Preset:
    """The range and settings of a metric's paper, for a metric that is named without a range.

    Attributes:
        range: option and values, as on the command line (`beta=0:5:0.01`); empty if the metric has
            none.
        aggregate: how system scores are computed.
        human_scores: which human column; None for the benchmark's own.
        folds: number of folds of sentences.
    """

    range: str = ""
    aggregate: str = "corpus"
    human_scores: str | None = None
    folds: int = 10

    @classmethod
    def of(cls, metric: type[Scorer]) -> Preset:
        """Return the preset in a metric's `tuning`."""
        tuning = tuning_of(metric)
        return cls(
            next((f"{key}={value}" for key, value in tuning.items() if value.count(":") == 2), ""),
            tuning.get("aggregate", cls.aggregate),
            tuning.get("human-scores"),
            int(tuning.get("folds", cls.folds)),
        )

    @property
    def option(self) -> str:
        """The option of the range."""
        return self.range.partition("=")[0]


@dataclass(frozen=True)
class Grid:
    """One option of a metric and the values to try.

    Attributes:
        metric: the metric with its other options, as on the command line.
        option: the option's name.
        values: the values to try, in ascending order.
        options: the options that get the value; several if `option` sets several.
    """

    metric: str
    option: str
    values: tuple[float, ...]
    options: tuple[str, ...]

    def scorer(self, value: float | None = None) -> Scorer:
        """Return the metric with a value of the option; by default with the option's default."""
        if value is None:
            return load(self.metric)
        return load(self.metric, **dict.fromkeys(self.options, value))

    @property
    def default(self) -> float:
        """The option's default."""
        return float(str(self.scorer().settings()[self.options[0]]))


def parse_grid(text: str) -> Grid:
    """Read `metric:option=start:stop:step`, other options given as usual.

    Raises:
        OptionError: no option or several have a range, or the range is malformed.
    """
    name, options = parse(text)
    # An address with a port has two colons as well.
    ranges = {
        k: value for k, value in options.items() if value.count(":") == 2 and "/" not in value
    }
    if len(ranges) != 1:
        raise OptionError(
            f"{text!r}: {len(ranges)} options have a range; tune one, e.g. green:beta=0:5:0.01 "
            "(start:stop:step)"
        )
    ((option, written),) = ranges.items()
    try:
        start, stop, step = map(float, written.split(":"))
        count = int(np.floor((stop - start) / step + 1e-9)) + 1
    except (ValueError, ZeroDivisionError, OverflowError):
        count = 0
    if not 2 <= count <= 100_000 or not step > 0:
        raise OptionError(
            f"{text!r}: {written!r} is not a range; expected start:stop:step with start < stop and "
            "step > 0"
        )
    rest = ",".join(
        f"{key}={value}".replace(",", "\\,") for key, value in options.items() if key != option
    )
    metric = f"{name}:{rest}" if rest else name
    shared = getattr(scorer_class(name), "shared_options", Tunable.shared_options)
    # An option may set several fields, as λ sets λ1 and λ2.
    fields = shared.get(option, (option.replace("-", "_"),))
    # Rounded, so that three steps of 0.1 are tried and shown as 0.3.
    values = tuple(round(start + step * k, 10) for k in range(count))
    # Values of a whole-number option stay whole numbers: n=2, not n=2.0.
    if not isinstance(load(metric).settings().get(fields[0]), float):
        whole = tuple(int(value) for value in values)
        values = whole if whole == values else values
    grid = Grid(metric, option, values, fields)
    for value in (values[0], values[-1]):
        grid.scorer(value)  # A value that the metric refuses is refused before anything is scored.
    return grid


@dataclass(frozen=True)
class TuningTrial:
    """A metric's scores on a benchmark for every value tried.

    Attributes:
        values: the values.
        whole: value × systems, system scores from all sentences.
        parts: value × folds × systems, from all sentences except a fold; None without folds.
        right: value × pairs, 1 if the metric prefers the same side as people, 0.5 for a tie, NaN
            if a score is missing; empty if people decided no pairs.
        sentence: the sentence of each pair.
        human: human scores of the systems.
        draws: folds × sentences kept; None without folds.
    """

    values: tuple[float, ...]
    whole: FloatArray
    parts: FloatArray | None
    right: FloatArray
    sentence: IntArray
    human: FloatArray
    draws: IntArray | None


@dataclass(frozen=True)
class Optimum:
    """The value that is best by a measure.

    Attributes:
        value: mean of the optima over folds, or the optimum without folds; rounded if only whole
            numbers were tried.
        optima: the best value on the other sentences, for each fold.
        spread: standard deviation of the optima; NaN without folds.
    """

    value: float
    optima: tuple[float, ...] = ()
    spread: float = float("nan")


def fold_draws(sentences: int, folds: int, seed: int) -> IntArray | None:
    """Return for each fold the sentences outside it; None for one fold, which is all sentences.

    Folds are drawn at random and have one size, sentences // folds; the few remaining sentences are
    in every draw.

    Raises:
        OptionError: more folds than sentences.
    """
    if folds < 2:
        return None
    size = sentences // folds
    if not size:
        raise OptionError(f"{sentences} sentences are too few for {folds} folds")
    order = np.random.default_rng(seed).permutation(sentences)
    held = order[: size * folds].reshape(folds, size)
    return np.array([np.setdiff1d(order, fold) for fold in held])


def trial_of(
    grid: Grid,
    study: Study,
    view: View,
    draws: IntArray | None,
    runtime: Runtime,
    *,
    sentences: FloatArray | None = None,
) -> TuningTrial:
    """Score a benchmark for every value of a grid.

    If the option is only used to compute scores from statistics, the corpus is read once.

    Args:
        grid: metric and values.
        study: benchmark, aggregation and human scores.
        view: which human judgments.
        draws: from `fold_draws`.
        runtime: device, workers, folder of score files.
        sentences: sentence scores, value × systems × sentences, if they are already known.
    """
    corpus, how = study.benchmark.corpus, study.settings
    if sentences is not None and how.aggregate == "corpus":
        raise OptionError("a metric that is tuned by sentence scores alone has no corpus score")
    scored, parts = [], []
    statistics: Statistics | None = None
    values = runtime.track(grid.values, f"trying {grid.option}", len(grid.values))
    for number, value in enumerate(values):
        # Corpus scores matter for one aggregate only, and not all scorers have them.
        totals, drawn = np.full(len(corpus.systems), np.nan), None
        if sentences is not None:
            scores = settled(sentences[number])
        else:
            scorer = grid.scorer(value)
            # Statistics that do not depend on the option are computed once for all values.
            if statistics is None or not set(grid.options) <= _score_options(scorer):
                statistics = score_with_files(scorer, corpus, runtime.scores, runtime).statistics
            scores = settled(scorer.sentence_scores(statistics).score)
            totals = scorer.corpus_scores(statistics).score
            if draws is not None and how.aggregate == "corpus":
                drawn = scorer.corpus_scores(statistics, draws).score
        scored.append((scores, totals))
        parts.append(
            [
                aggregate_scores(
                    how.aggregate,
                    scores[:, rows],
                    totals if drawn is None else drawn[fold],
                    seed=how.seed,
                )
                for fold, rows in enumerate(() if draws is None else draws)
            ]
        )
    return replace(
        _of_scores(scored, study, view),
        values=grid.values,
        parts=None if draws is None else np.array(parts),
        draws=draws,
    )


def _of_scores(
    scored: Sequence[tuple[FloatArray, FloatArray]], study: Study, view: View
) -> TuningTrial:
    """Return a trial without folds, from sentence scores and corpus scores of each value."""
    pairs = study.pairs(view).decided if study.benchmark.rankings.get(view) else None
    right = [np.zeros(0)] * len(scored)
    if pairs is not None:
        gaps = (s[pairs.first, pairs.sentence] - s[pairs.second, pairs.sentence] for s, _ in scored)
        right = [(np.sign(gap) * pairs.preference + 1) / 2 for gap in gaps]
    return TuningTrial(
        values=(),
        whole=np.array([study.system_scores(*scores) for scores in scored]),
        parts=None,
        right=np.array(right),
        sentence=np.zeros(0, np.int64) if pairs is None else pairs.sentence,
        human=study.human(view),
        draws=None,
    )


def find_best(trial: TuningTrial, measure: str) -> Optimum:
    """Return the value with the best measure; the largest among equals.

    Rank correlations have plateaus: GREEN has its best ρ on GJG15 from β 2.21 to 2.51, and the
    paper gives 2.51.

    Raises:
        OptionError: the measure is not defined for any value.
    """
    if trial.draws is None or trial.parts is None:
        curve = _curve(trial, measure, trial.whole, None)
        return Optimum(float(trial.values[_argmax(curve, measure)]))
    optima = []
    for fold, rows in enumerate(trial.draws):
        curve = _curve(trial, measure, trial.parts[:, fold], rows)
        optima.append(float(trial.values[_argmax(curve, measure)]))
    mean = float(np.mean(optima))
    if all(isinstance(value, int) for value in trial.values):
        mean = float(round(mean))
    return Optimum(mean, tuple(optima), float(np.std(optima, ddof=1)))


def _argmax(curve: FloatArray, measure: str) -> int:
    if np.isnan(curve).all():
        raise OptionError(
            f"{measure} is not defined for any of the values tried: the scores of the systems, or "
            "the human ones, are all equal"
        )
    level = curve.round(_DIGITS)
    return int(np.flatnonzero(level == np.nanmax(level))[-1])


def _curve(
    trial: TuningTrial, measure: str, scores: FloatArray, rows: IntArray | None
) -> FloatArray:
    """Return the measure for each value.

    Args:
        trial: the scores.
        measure: one of `MEASURES`.
        scores: value × systems.
        rows: the sentences that are used; None for all.
    """
    if measure == "accuracy":
        used = trial.right if rows is None else trial.right[:, np.isin(trial.sentence, rows)]
        scored = ~np.isnan(used)
        return ratio(np.where(scored, used, 0.0).sum(axis=1), scored.sum(axis=1), np.nan)
    correlate = pearson if measure == "pearson" else spearman
    return np.array([correlate(trial.human, row) for row in scores])


def curves(trial: TuningTrial) -> dict[str, FloatArray]:
    """Return every measure on all sentences, each of shape (values of the grid,)."""
    return {measure: _curve(trial, measure, trial.whole, None) for measure in MEASURES}


def evaluate(
    scorers: Sequence[Scorer], study: Study, view: View, runtime: Runtime
) -> list[dict[str, float]]:
    """Return all measures of some settings of one metric on a benchmark.

    Settings that differ only in how scores are computed from statistics share one pass over the
    corpus.
    """
    corpus = study.benchmark.corpus
    first = score_with_files(scorers[0], corpus, runtime.scores, runtime)
    scored = []
    for scorer in scorers:
        old, new = scorers[0].settings(), scorer.settings()
        if {key for key in new if new[key] != old[key]} <= _score_options(scorer):
            table = scorer.table(corpus, first.statistics, runtime, 0.0)
        else:
            table = score_with_files(scorer, corpus, runtime.scores, runtime)
        scored.append((settled(table.sentences), table.by_system.score))
    figures = curves(_of_scores(scored, study, view))
    return [{name: float(curve[k]) for name, curve in figures.items()} for k in range(len(scored))]


def leak_warning(tuned: Corpus, tested: Corpus, names: tuple[str, str]) -> str:
    """Return a warning if a value is tested on sources that it was tuned on; otherwise empty."""
    if names[0] == names[1]:
        return f"tuned and tested on {names[0]}: its figures are not evidence for the value found"
    # All corpora share empty lines, which are not a leak.
    there = {normalise(text) for text in tuned.sources} - {""}
    shared = sum(normalise(text) in there for text in tested.sources)
    if not shared:
        return ""
    return (
        f"{shared} of the {len(tested)} sources of {names[1]} are among those of {names[0]}, "
        "where the value was tuned: its figures are not independent evidence"
    )


def shown(values: Sequence[float]) -> str:
    """Return a grid in short form: `0 to 5 by 0.01`."""
    return f"{values[0]:g} to {values[-1]:g} by {values[1] - values[0]:.10g}"


def tuning_of(metric: type[Scorer]) -> Mapping[str, str]:
    """Return a metric's defaults for tuning; see `Tunable`."""
    tuning: Mapping[str, str] = getattr(metric, "tuning", Tunable.tuning)
    return tuning


def _score_options(scorer: Scorer) -> frozenset[str]:
    """Return the settings that can change without a new pass over the corpus."""
    options: frozenset[str] = getattr(scorer, "score_options", Tunable.score_options)
    return options

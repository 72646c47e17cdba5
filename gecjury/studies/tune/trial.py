"""Try the values of a metric's options on a benchmark, and find the best.

The value is found with folds of sentences: it is the mean, over folds, of the best value on all
other sentences. Koyama et al. (2024) found GREEN's β in this way, with ten folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.leakage import normalise
from gecjury.metaeval.study import MetaEvaluation
from gecjury.scoring.abilities import Sweeps
from gecjury.scoring.options import parse, typed_metric
from gecjury.scoring.registry import load, scorer_class
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import Scorer, score_options
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.figure import Figure, figures_about
from gecjury.stats.ranking import aggregate_scores

register(
    Statistic("spread", "s.d. over folds"),
    Statistic("swept.figure", "with it", better="higher"),
    Statistic("swept.default", "with the default", better="higher"),
)

MEASURES = ("pearson", "spearman", "accuracy")
"""The first two are computed over systems, accuracy over judged pairs (ties of the metric count one
half)."""

_REST = "rest"
_MOST_VALUES = 100_000
_DIGITS = 9


@dataclass(frozen=True)
class Grid:
    """The options of a metric that are searched, and the values to try.

    Attributes:
        base: the metric with its other options.
        options: names of the options searched.
        points: values tried, points × options; in ascending order if only one option has a range.
        ranges: the options with their ranges, as on the command line.
    """

    base: Scorer
    options: tuple[str, ...]
    points: FloatArray
    ranges: Mapping[str, str]

    @property
    def single(self) -> bool:
        """True if one range decides all values."""
        return len(self.ranges) == 1

    @cached_property
    def whole(self) -> bool:
        """True if the option takes whole numbers: n=2, not n=2.0."""
        usual = self.base.settings().get(self.options[0])
        return not isinstance(usual, float) and bool(np.all(self.points == self.points.round()))

    def values(self, point: FloatArray) -> dict[str, float]:
        """Return the values by option of a point, shape (options,)."""
        values = (int(value) if self.whole else value for value in point.tolist())
        return dict(zip(self.options, values, strict=True))

    def scorer(self, point: FloatArray) -> Scorer:
        """Return the metric with the values of a point."""
        return load(self.base, **self.values(point))

    @property
    def default(self) -> FloatArray:
        """Values of the options in the metric as named, shape (options,)."""
        settings = self.base.settings()
        return np.array([float(str(settings[option])) for option in self.options])

    def record(self, point: FloatArray) -> dict[str, float]:
        """Return the values by option; those of a single range once, as `value`."""
        if self.single:
            return {"value": float(point[0])}
        return dict(zip(self.options, point.tolist(), strict=True))


def parse_grid(text: str) -> Grid:
    """Read what is searched, with other options as usual.

    An option is searched if its value is a range, START:STOP:STEP; the name of another option,
    whose value it gets; or `rest`, which is what the others leave of 1.

    Raises:
        OptionError: no option has a range, a range is malformed, or the metric refuses a value.
    """
    name, options = parse(text)
    # An address with a port has two colons as well.
    ranges = {k: v for k, v in options.items() if v.count(":") == 2 and "/" not in v}
    follows = {k: v for k, v in options.items() if v in ranges or (v == _REST and ranges)}
    if not ranges:
        raise OptionError(
            f"tune {text}: name an option with a range, e.g. {name}:OPTION=START:STOP:STEP"
        )
    kept = {k: v for k, v in options.items() if k not in ranges and k not in follows}
    axes = [_values(text, written) for written in ranges.values()]
    if np.prod([len(axis) for axis in axes]) > _MOST_VALUES:
        raise OptionError(f"{text!r}: more than {_MOST_VALUES} values; choose larger steps")
    table = np.array(list(itertools.product(*axes)))
    columns = dict(zip(ranges, table.T, strict=True))
    # Rounded, so that three steps of 0.1 are tried and shown as 0.3.
    left = (1 - table.sum(axis=1)).round(10)
    columns |= {k: left if v == _REST else columns[v] for k, v in follows.items()}
    points = np.column_stack(list(columns.values()))
    if _REST in follows.values():
        points = points[left >= 0]
    fields = tuple(key.replace("-", "_") for key in columns)
    metric = typed_metric(name, kept)
    grid = Grid(load(metric), fields, points, ranges)
    for point in (points[0], points[-1]):
        # What the metric refuses, an option or its values, is refused before anything is scored.
        load(metric, **grid.values(point))
    return grid


def _values(text: str, written: str) -> list[float]:
    """Return the values of a range."""
    try:
        start, stop, step = map(float, written.split(":"))
        count = int(np.floor((stop - start) / step + 1e-9)) + 1
    except (ValueError, ZeroDivisionError, OverflowError):
        count = 0
    if not 2 <= count <= _MOST_VALUES or not step > 0:
        raise OptionError(
            f"{text!r}: {written!r} is not a range; expected start:stop:step with start < stop and "
            "step > 0"
        )
    return [round(start + step * k, 10) for k in range(count)]


def completed(text: str) -> tuple[str, Mapping[str, str]]:
    """Return what is searched, and the settings of the metric's paper.

    Without a range, it is what the metric's paper searched; if another option is searched, the
    paper's settings do not apply.

    Raises:
        OptionError: an unknown metric or option.
    """
    name, options = parse(text)
    paper = dict(getattr(scorer_class(name), "tuning", {}))
    names = [name for name in ("folds", "aggregate", "human-scores") if name in paper]
    how: Mapping[str, str] = {name: paper.pop(name) for name in names}
    if not any(value.count(":") == 2 and "/" not in value for value in options.values()):
        searched = ",".join(f"{key}={value}" for key, value in paper.items())
        return text + ((("," if options else ":") + searched) if searched else ""), how
    return text, how if paper and set(paper) <= set(options) else {}


def fold_draws(sentences: int, folds: int, seed: int) -> list[IntArray]:
    """Return for each fold the sentences outside it; none for one fold, which is all sentences.

    Folds are drawn at random and have one size, sentences // folds; the few remaining sentences are
    in every draw.

    Raises:
        OptionError: more folds than sentences.
    """
    if folds < 2:
        return []
    size = sentences // folds
    if not size:
        raise OptionError(f"{sentences} sentences are too few for {folds} folds")
    order = np.random.default_rng(seed).permutation(sentences)
    held = order[: size * folds].reshape(folds, size)
    return [np.setdiff1d(order, fold) for fold in held]


class Trial(NamedTuple):
    """The `MEASURES` of a metric's setting, or of several, which are then the first axis.

    Attributes:
        whole: on all sentences.
        drawn: on each draw, draws × measures; none without folds.
    """

    whole: FloatArray
    drawn: FloatArray


class JudgmentScale:
    """A benchmark's human judgments, with which the scores of a metric are compared."""

    def __init__(self, study: MetaEvaluation, view: View, draws: Sequence[IntArray] = ()) -> None:
        """Read the judgments.

        Args:
            study: benchmark, aggregation and human scores.
            draws: sentences that are used, in addition to all of them.
        """
        self.study = study
        self.draws = draws
        self._human = study.human(view)
        self._pairs = study.pairs(view).decided if study.benchmark.rankings.get(view) else None
        self._kept = [] if self._pairs is None else [
            np.isin(self._pairs.sentence, rows) for rows in draws
        ]  # fmt: skip

    def measures(
        self, sentences: FloatArray, totals: FloatArray, drawn: FloatArray | None = None
    ) -> Trial:
        """Return `MEASURES` of one setting on all sentences and on each draw.

        Args:
            sentences: systems × sentences.
            totals: corpus scores, shape (systems,).
            drawn: corpus scores of the draws, draws × systems; None if they are not needed.
        """
        right = np.zeros(0)
        if self._pairs is not None:
            pairs = self._pairs
            gap = sentences[pairs.first, pairs.sentence] - sentences[pairs.second, pairs.sentence]
            # 1 if the metric prefers the same side as people, 0.5 for a tie, NaN without a score.
            right = (np.sign(gap) * pairs.preference + 1) / 2
        whole = self._row(self.study.system_scores(sentences, totals), right)
        rows = np.empty((len(self.draws), len(MEASURES)))
        how = self.study.settings
        for number, part in enumerate(self.draws):
            of_draw = totals if drawn is None else drawn[number]
            scores = aggregate_scores(how.aggregate, sentences[:, part], of_draw, seed=how.seed)
            kept = right[self._kept[number]] if right.size else right
            rows[number] = self._row(scores, kept)
        return Trial(np.array(whole), rows)

    def _row(self, scores: FloatArray, right: FloatArray) -> list[float]:
        scored = right[~np.isnan(right)]
        accuracy = float(scored.mean()) if scored.size else float("nan")
        return [pearson(self._human, scores), spearman(self._human, scores), accuracy]


def trial_of(grid: Grid, judged: JudgmentScale, runtime: Runtime) -> Trial:
    """Return the measures of a benchmark's scores for every value of a grid.

    Args:
        grid: metric and values.
        judged: the benchmark with its judgments, and the draws.
    """
    label = f"trying {', '.join(grid.ranges)}"
    base, aggregate = grid.base, judged.study.settings.aggregate
    if aggregate != "corpus" and runtime.scores is None and isinstance(base, Sweeps):
        # Only sentence scores are needed, and no scores are to be kept.
        values = [grid.values(point) for point in grid.points]
        swept = base.sweep(values, judged.study.benchmark.corpus, runtime)
        if swept is not None:
            none = np.full(len(judged.study.benchmark.corpus.names), np.nan)
            tracked = runtime.track(swept, label, len(values))
            return _together(judged.measures(settled(scores), none) for scores in tracked)
    return measured([grid.scorer(point) for point in grid.points], judged, runtime, label)


def measured(
    scorers: Sequence[Scorer], judged: JudgmentScale, runtime: Runtime, label: str = ""
) -> Trial:
    """Return the measures of some settings of one metric.

    Settings that differ only in how scores are computed from statistics share one pass over the
    corpus.

    Args:
        label: label of the progress bar.
    """
    corpus = judged.study.benchmark.corpus
    first = score_with_files(scorers[0], corpus, runtime.scores, runtime).statistics
    usual, rows = scorers[0].settings(), []
    for scorer in runtime.track(scorers, label, len(scorers)) if label else scorers:
        changed = {key for key, value in scorer.settings().items() if value != usual[key]}
        statistics = first
        if not changed <= score_options(scorer):
            statistics = score_with_files(scorer, corpus, runtime.scores, runtime).statistics
        drawn = None
        if judged.draws and judged.study.settings.aggregate == "corpus":
            drawn = scorer.corpus_scores(statistics, np.array(judged.draws)).score
        scores = settled(scorer.sentence_scores(statistics).score)
        rows.append(judged.measures(scores, scorer.corpus_scores(statistics).score, drawn))
    return _together(rows)


def _together(trials: Iterable[Trial]) -> Trial:
    whole, drawn = zip(*trials, strict=True)
    return Trial(np.array(whole), np.array(drawn))


@dataclass(frozen=True)
class Optimum:
    """The best values by a measure.

    Attributes:
        measure: one of `MEASURES`.
        values: by option; see `Grid.record`.
        scorer: the metric with these values.
        spread: their standard deviation over the draws; NaN if there is one draw or none.
        optima: of a single range, the best value on each draw.
    """

    measure: str
    values: Mapping[str, float]
    scorer: Scorer
    spread: float
    optima: Sequence[float]


def optima_of(grid: Grid, trial: Trial) -> list[Optimum]:
    """Return the mean over draws of the best values by each measure.

    Raises:
        OptionError: a correlation is not defined for any value.
    """
    optima = []
    for measure, curve in zip(MEASURES, trial.whole.T, strict=True):
        # A benchmark with ratings only has no judged pairs, hence no accuracy.
        if measure == "accuracy" and np.isnan(curve).all():
            continue
        best = best_points(grid, trial, measure)
        point = best.mean(axis=0)
        point = point.round() if grid.whole else point
        single = best[:, 0] if grid.single else best[:0, 0]
        spread = float(np.std(single, ddof=1)) if len(single) > 1 else float("nan")
        values, scorer = grid.record(point), grid.scorer(point)
        optima.append(Optimum(measure, values, scorer, spread, single.tolist()))
    return optima


def best_points(grid: Grid, trial: Trial, measure: str) -> FloatArray:
    """Return the values that are best by a measure: on each draw, or on all sentences without any.

    Of equally good values of one range, the largest is chosen: GREEN has its best ρ on GJG15 from
    β 2.21 to 2.51, and the paper gives 2.51. Of several ranges, those nearest to the defaults are
    chosen.

    Returns:
        Draws × options, or 1 × options.

    Raises:
        OptionError: the measure is not defined for any value.
    """
    curves = trial.drawn if trial.drawn.shape[1] else trial.whole[:, None]
    best = []
    for curve in curves[:, :, MEASURES.index(measure)].T:
        if np.isnan(curve).all():
            raise OptionError(
                f"{measure} is not defined for any of the values tried: the scores of the systems, "
                "or the human ones, are all equal"
            )
        level = curve.round(_DIGITS)
        equal = np.flatnonzero(level == np.nanmax(level))
        distance = np.abs(grid.points[equal] - grid.default).sum(axis=1)
        best.append(equal[-1] if grid.single else equal[distance.argmin()])
    return grid.points[best]


def tried(
    grid: Grid,
    optima: Sequence[Optimum],
    study: MetaEvaluation,
    runtime: Runtime,
    *,
    metric: str,
    spread: bool = False,
) -> list[Figure]:
    """Return the values found by each measure, with its figures with them and with the default.

    Args:
        metric: what was tuned.
        spread: whether to return also how much the values vary over the draws.
    """
    about = {"metric": metric, "task": study.benchmark.name, "human": study.benchmark.view}
    scorers = [grid.base, *(one.scorer for one in optima)]
    usual, *measures = measured(scorers, JudgmentScale(study, study.benchmark.view), runtime).whole
    figures: list[Figure] = []
    for one, row in zip(optima, measures, strict=True):
        number = MEASURES.index(one.measure)
        values = {**one.values, "figure": float(row[number]), "default": float(usual[number])}
        values |= {"spread": one.spread} if spread else {}
        figures += figures_about(values, level="tune", part=one.measure, **about)
    return figures


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

"""How much data tells a difference: standard errors at several sizes, and what follows from them.

Whatever is a smooth function of N independent sentences (or systems) has a standard error of
c / √n. c is measured twice: by leaving out one part after the other (the jackknife, of which every
part's influence is kept), and by resampling at several sizes with a fit of the standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from gecjury.arrays import FloatArray, IntArray, blocks, draw_weights
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgmentPairs, expand_pairs
from gecjury.corpus.corpus import Corpus
from gecjury.errors import InputError, OptionError, nearest
from gecjury.experiments.inputs import Metrics, scorers_of
from gecjury.experiments.result import ExperimentResult
from gecjury.runtime import Runtime
from gecjury.scoring.given_scores import GivenScores
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.preferences import pair_outcomes

Question = Literal["scores", "judgments", "accuracy", "pearson"]
"""What is to be told apart: two systems by a metric's scores, or by people's judgments; two
metrics by the accuracy of their sentence scores, or by their correlation over systems."""
QUESTIONS: tuple[Question, ...] = get_args(Question)

_GROUPS = 1_000  # parts that are left out one by one
_FROM = (50, 100, 200)  # sizes from which forecasts are tried
_TRIES = 60  # subsamples of each of them
_SHARES = (0.25, 0.5, 1.0, 2.0)  # of the data at hand, at which standard errors are taken
_FEWEST = 5  # systems or sentences from which something can be said
_USUAL: dict[Question, tuple[float, ...]] = {
    "scores": (0.01, 0.02, 0.05),
    "judgments": (0.02, 0.05, 0.1),
    "accuracy": (0.01, 0.02, 0.05),
    "pearson": (0.02, 0.05, 0.1),
}

Drawn = Callable[[IntArray], FloatArray]
"""Statistics of resampled data: B × n indices to B × P, one column a pair that is compared."""


@dataclass(frozen=True, kw_only=True)
class PowerSettings:
    """What is asked.

    Attributes:
        questions: see `Question`; by default all that the data can answer.
        differences: to be told; by default three a question.
        widths: of intervals, to be reached; by default none.
        power: chance with which a difference is told, between 0 and 1.
        level: of the two-sided test, and of intervals 1 less it.
        systems: the two systems that are compared; by default every two, whose median is told.
        resamples: at every size, from 20.
        seed: of the resamples.
        tried: whether forecasts from 50, 100 and 200 sentences are tried.

    Raises:
        OptionError: a value out of range.
    """

    questions: Sequence[Question] = ()
    differences: Sequence[float] = ()
    widths: Sequence[float] = ()
    power: float = 0.8
    level: float = 0.05
    systems: Sequence[str] = ()
    resamples: int = 300
    seed: int = 0
    tried: bool = False

    def __post_init__(self) -> None:
        for question in self.questions:
            if question not in QUESTIONS:
                raise OptionError(f"--what {question}: {nearest(question, QUESTIONS)}")
        for name, values in (("difference", self.differences), ("width", self.widths)):
            for value in values:
                if not 0 < value < math.inf:
                    raise OptionError(f"--{name} {value}: expected a number above 0")
        for name, share in (("power", self.power), ("level", self.level)):
            if not 0 < share < 1:
                raise OptionError(f"--{name} {share}: expected a number between 0 and 1")
        if self.power <= self.level:
            raise OptionError(f"--power {self.power}: expected more than --level {self.level}")
        if not 20 <= self.resamples <= 100_000:
            raise OptionError(f"--resamples {self.resamples}: expected 20 to 100000")
        if len(self.systems) not in (0, 2):
            raise OptionError(f"--system: {len(self.systems)} named; expected two, or none for all")
        if len(set(self.systems)) < len(self.systems):
            raise OptionError(f"--system {self.systems[0]}: named twice; expected two systems")


@dataclass(frozen=True)
class Quantity:
    """A difference whose standard error falls with the data.

    Attributes:
        question: what it tells apart.
        label: the metric, the two metrics, or the view of the judgments.
        unit: what is counted: sentences, judged pairs or systems.
        size: how many of the resampled parts (sentences or systems) there are.
        rate: units in a part, one a pair: judged pairs in a sentence; otherwise 1.
        pairs: what is compared, one a column.
        observed: the differences themselves, one a pair; NaN where there is none.
        drawn: differences of resampled data.
    """

    question: Question
    label: str
    unit: str
    size: int
    rate: FloatArray
    pairs: tuple[str, ...]
    observed: FloatArray
    drawn: Drawn = field(repr=False)

    def without_each(self, rows: IntArray | None = None) -> FloatArray:
        """Jackknife pseudo-values, groups × pairs; their mean estimates the difference.

        Args:
            rows: the parts that there are; by default all.
        """
        every = np.arange(self.size) if rows is None else rows
        groups = np.array_split(np.arange(len(every)), min(len(every), _GROUPS))
        # Draws are of one length: where groups differ by one, one more part is left out.
        most = len(groups[0])
        rest = np.stack([np.delete(every, group)[: len(every) - most] for group in groups])
        left = self._in_blocks(rest)
        whole = self.drawn(every[None])[0]
        found: FloatArray = len(groups) * whole - (len(groups) - 1) * left
        return found

    def deviations(self, rows: IntArray | None = None) -> FloatArray:
        """The c of every pair by the jackknife: the standard error times √n, n in parts."""
        values = self.without_each(rows)
        count = self.size if rows is None else len(rows)
        return np.asarray(_spread(values) * math.sqrt(count / len(values)))

    def errors(self, size: int, resamples: int, rng: np.random.Generator) -> FloatArray:
        """Standard errors of every pair by resampling so many parts."""
        return _spread(self.sample(size, resamples, rng))

    def sample(self, size: int, resamples: int, rng: np.random.Generator) -> FloatArray:
        """The differences of resampled data: resamples × pairs."""
        return self._in_blocks(rng.integers(self.size, size=(resamples, size)))

    def _in_blocks(self, draws: IntArray) -> FloatArray:
        return np.concatenate([self.drawn(draws[part]) for part in blocks(*draws.shape)])


def _spread(values: FloatArray) -> FloatArray:
    """Standard deviation of every column; NaN where fewer than two values are known."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    safe = np.where(count > 1, count, np.nan)
    mean = np.where(known, values, 0).sum(axis=0) / safe
    squares = np.where(known, (values - mean) ** 2, 0).sum(axis=0)
    found: FloatArray = np.sqrt(squares / (safe - 1))
    return found


@dataclass(frozen=True)
class Need:
    """What it takes to tell one difference, or to reach one width.

    Attributes:
        question: what is told apart.
        label: by what.
        pairs: how many pairs of systems (or metrics) the figures are medians of.
        target: `difference` or `width`; `value`: how large.
        unit: what is counted.
        at_hand: units there are (of a pair, where they differ between pairs).
        observed: the difference at hand, without sign; the median over pairs.
        deviation: c by the fit, in units: the standard error is c / √n.
        analytic: c by the jackknife.
        error: the standard error at hand.
        needed: units, rounded up.
        between: an interval of `needed`: 90% by resampling the influences of one pair, or from the
            10th to the 90th percentile of pairs.
        told: share of resamples of that size in which the test tells a difference so large (the
            power that was asked for, if the forecast holds); None where so much cannot be drawn.
        slope: exponent by which the standard error falls with the size; −0.5 is assumed.
    """

    question: Question
    label: str
    pairs: int
    target: Literal["difference", "width"]
    value: float
    unit: str
    at_hand: int
    observed: float
    deviation: float
    analytic: float
    error: float
    needed: int
    between: tuple[int, int]
    told: float | None
    slope: float


@dataclass(frozen=True)
class Forecast:
    """A forecast from few sentences beside what all of them give.

    Attributes:
        question: what is told apart.
        label: by what.
        start: parts (sentences or systems) that the forecast is made from.
        size: parts that it is made for: all.
        unit: what the parts are.
        error: the forecast standard error at `size`, the median over subsamples and pairs.
        between: 5th and 95th percentile over subsamples.
        observed: the standard error that resampling all gives.
        value: the difference to be told.
        needed: the forecast number of parts for it, the median.
        needed_between: 5th and 95th percentile.
        needed_all: what all give.
        told: share of resamples of `needed` parts in which the difference is told.
    """

    question: Question
    label: str
    start: int
    size: int
    unit: str
    error: float
    between: tuple[float, float]
    observed: float
    value: float
    needed: int
    needed_between: tuple[int, int]
    needed_all: int
    told: float | None


@dataclass(frozen=True, repr=False, eq=False)
class Power(ExperimentResult):
    """How much data it takes.

    Attributes:
        needs: one a question, label and target.
        forecasts: tries of it; empty where none were asked for.
        settings: what was asked.
        notes: remarks for the user.
    """

    needs: tuple[Need, ...]
    forecasts: tuple[Forecast, ...]
    settings: PowerSettings
    notes: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One record a target; see `Need`."""
        return [dict(vars(each)) for each in self.needs]


def needed(deviation: float, difference: float, power: float = 0.8, level: float = 0.05) -> int:
    """Units that tell a difference with so much power: ((z₁₋ₗ/₂ + z_p) c / d)².

    Args:
        deviation: c, the standard error times √n.
        difference: d, in the units of c.
        power: chance of telling it.
        level: of the two-sided test.
    """
    from scipy.special import ndtri

    z = float(ndtri(1 - level / 2) + ndtri(power))
    return _whole((z * deviation / difference) ** 2)


def needed_for_width(deviation: float, width: float, level: float = 0.05) -> int:
    """Units that give an interval of so much width: (2 z₁₋ₗ/₂ c / w)²."""
    from scipy.special import ndtri

    return _whole((2 * float(ndtri(1 - level / 2)) * deviation / width) ** 2)


def _whole(value: float) -> int:
    # Rounding of the last digit is no unit more.
    return max(1, math.ceil(value * (1 - 1e-12))) if math.isfinite(value) else 0


def quantities(
    corpus: Corpus,
    scorers: Sequence[Scorer],
    benchmark: Benchmark | None,
    settings: PowerSettings,
    runtime: Runtime | None = None,
) -> tuple[list[Quantity], list[str]]:
    """Everything that can be asked of the data, and why something cannot.

    Args:
        corpus: sentences and systems.
        scorers: the metrics.
        benchmark: with people's judgments, where there are any.
        settings: what is asked.
        runtime: device, workers and the like.

    Raises:
        InputError: fewer than two systems, or the corpus lacks what a metric needs.
        OptionError: an unknown system, or a question that the data cannot answer.
    """
    if len(corpus.systems) < 2:
        raise InputError(f"{len(corpus.systems)} system: a difference needs two")
    for name in settings.systems:
        if name not in corpus.systems:
            raise OptionError(f"--system {name}: {nearest(name, corpus.names)}")
    asked = settings.questions or QUESTIONS
    found: list[Quantity] = []
    notes: list[str] = []
    tables = [(one, one.score_corpus(corpus, runtime)) for one in scorers]
    for _, table in tables:
        notes += table.statistics.notes
    pairs = None
    if benchmark is not None and benchmark.rankings.get(benchmark.view):
        items = benchmark.rankings[benchmark.view]
        pairs = expand_pairs(items, corpus.names, "unexpanded")
    for question in asked:
        why = _impossible(question, tables, benchmark, pairs)
        if why and question in settings.questions:
            raise OptionError(f"--what {question}: {why}")
        if why:
            continue
        if question == "scores":
            found += [_of_scores(one, table, settings) for one, table in tables]
        elif question == "judgments" and pairs is not None and benchmark is not None:
            found.append(_of_judgments(benchmark, pairs, settings))
        elif question == "accuracy" and pairs is not None:
            found += [_of_accuracy(one[1], two[1], pairs) for one, two in combinations(tables, 2)]
        elif question == "pearson" and benchmark is not None:
            for first, second in combinations(tables, 2):
                found += _of_pearson(first, second, benchmark)
    if not found:
        raise OptionError(
            "nothing can be told of these data: give a metric with -m, or a benchmark with "
            "people's judgments"
        )
    return found, notes


def _impossible(
    question: Question,
    tables: Sequence[tuple[Scorer, ScoreTable]],
    benchmark: Benchmark | None,
    pairs: JudgmentPairs | None,
) -> str:
    """Why a question cannot be answered; empty where it can."""
    if question != "judgments" and len(tables) < (1 if question == "scores" else 2):
        return "expected a metric with -m" if question == "scores" else "expected two metrics"
    if question in ("judgments", "accuracy") and (pairs is None or not len(pairs)):
        return "expected a benchmark whose corrections people ranked"
    if question == "pearson":
        if benchmark is None or not benchmark.human.get(benchmark.view):
            return "expected a benchmark with people's scores of systems"
        if len(benchmark.corpus.systems) < _FEWEST:
            return f"expected at least {_FEWEST} systems"
    return ""


def _couples(names: Sequence[str], settings: PowerSettings) -> list[tuple[int, int]]:
    """The two systems named, or every two."""
    if settings.systems:
        first, second = (names.index(name) for name in settings.systems)
        return [(first, second)]
    return list(combinations(range(len(names)), 2))


def _of_scores(scorer: Scorer, table: ScoreTable, settings: PowerSettings) -> Quantity:
    """Corpus scores of two systems."""
    couples = _couples(table.systems, settings)
    one, two = (np.array(side) for side in zip(*couples, strict=True))
    statistics, totals = table.statistics, table.by_system.score

    def drawn(draws: IntArray) -> FloatArray:
        scores = scorer.corpus_scores(statistics, draws).score
        found: FloatArray = scores[:, one] - scores[:, two]
        return found

    return Quantity(
        "scores",
        table.signature.label,
        "sentences",
        table.sentences.shape[1],
        np.ones(len(couples)),
        tuple(f"{table.systems[a]} - {table.systems[b]}" for a, b in couples),
        totals[one] - totals[two],
        drawn,
    )


def _of_sums(sums: FloatArray, counts: FloatArray) -> Drawn:
    """Ratios of sums over sentences: both are sentences × pairs."""

    def drawn(draws: IntArray) -> FloatArray:
        weights = draw_weights(draws, len(sums))
        below = weights @ counts
        found: FloatArray = (weights @ sums) / np.where(below > 0, below, np.nan)
        return found

    return drawn


def _of_judgments(benchmark: Benchmark, pairs: JudgmentPairs, settings: PowerSettings) -> Quantity:
    """Shares of judged pairs that a system wins, a tie being half, less one half."""
    couples = _couples(pairs.systems, settings)
    place = {couple: column for column, couple in enumerate(couples)}
    rows = np.unique(pairs.sentence)
    line = np.searchsorted(rows, pairs.sentence)
    sums, counts = np.zeros((2, len(rows), len(couples)))
    for row, first, second, won in zip(
        line, pairs.first, pairs.second, pairs.preference, strict=True
    ):
        column = place.get((first, second), place.get((second, first)))
        if column is not None:
            swapped = (first, second) not in place
            sums[row, column] += (-won if swapped else won) / 2
            counts[row, column] += 1
    total = counts.sum(axis=0)
    if not total.any():
        raise InputError("nobody compared these two systems: name others with --system")
    kept = total > 0
    sums, counts, total = sums[:, kept], counts[:, kept], total[kept]
    return Quantity(
        "judgments",
        f"people's {benchmark.view} view",
        "judged pairs",
        len(rows),
        total / len(rows),
        tuple(
            f"{pairs.systems[a]} - {pairs.systems[b]}"
            for (a, b), keep in zip(couples, kept, strict=True)
            if keep
        ),
        sums.sum(axis=0) / total,
        _of_sums(sums, counts),
    )


def _of_accuracy(one: ScoreTable, two: ScoreTable, pairs: JudgmentPairs) -> Quantity:
    """The difference of two metrics' accuracies over judged pairs."""
    decided = pairs.decided
    sides = []
    for table in (one.settled(), two.settled()):
        first, second = (
            table.sentences[side, decided.sentence] for side in (decided.first, decided.second)
        )
        outcomes = pair_outcomes(decided.preference, first, second)
        right = np.full(len(decided), np.nan)
        right[outcomes.kept] = outcomes.right
        sides.append(right)
    apart = sides[0] - sides[1]
    known = ~np.isnan(apart)
    rows, line = np.unique(decided.sentence[known], return_inverse=True)
    sums = np.bincount(line, apart[known], minlength=len(rows))[:, None].astype(np.float64)
    counts = np.bincount(line, minlength=len(rows))[:, None].astype(np.float64)
    label = f"{one.signature.label} - {two.signature.label}"
    return Quantity(
        "accuracy", label, "sentences", len(rows), np.ones(1), (label,),
        sums.sum(axis=0) / counts.sum(axis=0), _of_sums(sums, counts),
    )  # fmt: skip


def _of_pearson(
    first: tuple[Scorer, ScoreTable], second: tuple[Scorer, ScoreTable], benchmark: Benchmark
) -> Iterator[Quantity]:
    """The difference of two metrics' correlations with people, over sentences and over systems."""
    kinds = benchmark.human[benchmark.view]
    kind = next(iter(kinds))
    human = benchmark.human_scores(kind)
    totals = [table.by_system.score for _, table in (first, second)]
    label = f"{first[1].signature.label} - {second[1].signature.label}"
    observed = np.array([_pearson(totals[0], human) - _pearson(totals[1], human)])

    def sentences(draws: IntArray) -> FloatArray:
        one, two = (
            _pearson(scorer.corpus_scores(table.statistics, draws).score, human)
            for scorer, table in (first, second)
        )
        found: FloatArray = (one - two)[:, None]
        return found

    def systems(draws: IntArray) -> FloatArray:
        one, two = (_pearson(scores[draws], human[draws]) for scores in totals)
        found: FloatArray = (one - two)[:, None]
        return found

    build = partial(Quantity, "pearson", rate=np.ones(1), pairs=(label,), observed=observed)
    label = f"{label} ({kind})"
    yield build(label, "sentences", first[1].sentences.shape[1], drawn=sentences)
    yield build(label, "systems", len(human), drawn=systems)


def _pearson(scores: FloatArray, human: FloatArray) -> FloatArray:
    """Pearson's r over the last axis; NaN where one side does not vary."""
    one = scores - scores.mean(axis=-1, keepdims=True)
    two = human - human.mean(axis=-1, keepdims=True)
    below = np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1))
    found: FloatArray = (one * two).sum(axis=-1) / np.where(below > 1e-12, below, np.nan)
    return found


@dataclass(frozen=True)
class _Fit:
    """Standard errors at several sizes: c of every pair, and how the errors fall."""

    deviation: FloatArray
    slope: float


def _fit(quantity: Quantity, settings: PowerSettings) -> _Fit:
    """The c of every pair from errors at several sizes, and the slope of their logarithms."""
    sizes = sorted({max(_FEWEST, round(share * quantity.size)) for share in _SHARES})
    rng = np.random.default_rng([settings.seed, 1])
    errors = np.stack([quantity.errors(size, settings.resamples, rng) for size in sizes])
    roots = np.sqrt(np.array(sizes, dtype=np.float64))
    products = errors * roots[:, None]
    # Few systems drawn are often the same ones, and their correlations wild: the larger draws
    # count, as many systems as there are and more.
    used = products if quantity.unit != "systems" else products[roots >= math.sqrt(quantity.size)]
    deviation = np.exp(np.log(np.where(used > 0, used, np.nan)).mean(axis=0))
    middle = np.nanmedian(errors, axis=1) if np.isfinite(errors).any(axis=1).all() else roots * 0
    slope = math.nan
    if (middle > 0).all() and len(sizes) > 1:
        slope = float(np.polyfit(np.log(sizes), np.log(middle), 1)[0])
    return _Fit(deviation, slope)


def _needs(quantity: Quantity, settings: PowerSettings) -> Iterator[Need]:
    """Every target of one quantity."""
    fit = _fit(quantity, settings)
    influences = quantity.without_each()
    scale = math.sqrt(quantity.size / len(influences))
    analytic = _spread(influences) * scale
    # In units: a sentence holds several judged pairs.
    roots = np.sqrt(quantity.rate)
    one = len(quantity.pairs) == 1
    rng = np.random.default_rng([settings.seed, 2])
    ratio = 1.0 + np.zeros(1)
    if one:
        rows = rng.integers(len(influences), size=(2000, len(influences)))
        spread = _spread(influences[rows, 0].T)
        ratio = np.quantile(spread / _spread(influences)[0], [0.05, 0.95])
    differences = settings.differences or (() if settings.widths else _USUAL[quantity.question])
    targets: list[tuple[Literal["difference", "width"], float]] = [
        *(("difference", value) for value in differences),
        *(("width", value) for value in settings.widths),
    ]
    for target, value in targets:

        def count(c: float, target: str = target, value: float = value) -> int:
            if target == "width":
                return needed_for_width(c, value, settings.level)
            return needed(c, value, settings.power, settings.level)

        each = fit.deviation * roots
        middle = float(np.nanmedian(each)) if np.isfinite(each).any() else math.nan
        low, high = (middle * ratio if one else np.nanquantile(each, [0.1, 0.9])).tolist()
        told = None
        if target == "difference":
            told = _told(quantity, fit.deviation, value, count, roots, settings)
        at_hand = float(np.median(quantity.size * quantity.rate))
        yield Need(
            quantity.question,
            quantity.label,
            len(quantity.pairs),
            target,
            value,
            quantity.unit,
            round(at_hand),
            float(np.nanmedian(np.abs(quantity.observed))),
            middle,
            float(np.nanmedian(analytic * roots)),
            middle / math.sqrt(at_hand),
            count(middle),
            (count(low), count(high)),
            told,
            fit.slope,
        )


_MOST_DRAWN = 20_000_000  # indices of one check


def _told(
    quantity: Quantity,
    deviation: FloatArray,
    value: float,
    count: Callable[[float], int],
    roots: FloatArray,
    settings: PowerSettings,
) -> float | None:
    """Share of resamples of the size needed in which a difference so large is told.

    The pair in the middle is resampled; its own difference is taken off and the one asked for put
    in its place, and a resample tells it where it is z standard errors from 0.
    """
    from scipy.special import ndtri

    c = deviation * roots
    if not np.isfinite(c).any():
        return None
    pair = int(np.nanargmin(np.abs(c - np.nanmedian(c))))
    parts = round(count(float(c[pair])) / float(quantity.rate[pair]))
    if parts < _FEWEST or parts * settings.resamples > _MOST_DRAWN:
        return None
    rng = np.random.default_rng([settings.seed, 3])
    drawn = quantity.sample(parts, settings.resamples, rng)[:, pair]
    drawn = drawn[~np.isnan(drawn)] - quantity.observed[pair] + value
    limit = float(ndtri(1 - settings.level / 2)) * deviation[pair] / math.sqrt(parts)
    return float((np.abs(drawn) > limit).mean()) if len(drawn) else None


def _forecasts(quantity: Quantity, settings: PowerSettings) -> Iterator[Forecast]:
    """Forecasts from subsamples beside what all give."""
    rng = np.random.default_rng([settings.seed, 4])
    value = (settings.differences or _USUAL[quantity.question])[0]
    all_c = _fit(quantity, settings).deviation
    observed = quantity.errors(quantity.size, 4 * settings.resamples, rng)
    all_needed = needed(float(np.nanmedian(all_c)), value, settings.power, settings.level)
    for start in _FROM:
        if start >= quantity.size:
            continue
        found = []
        for _ in range(_TRIES):
            rows = np.sort(rng.choice(quantity.size, start, replace=False))
            found.append(np.nanmedian(quantity.deviations(rows)))
        c = np.array(found)
        low, middle, high = np.nanquantile(c, [0.05, 0.5, 0.95]).tolist()
        root = math.sqrt(quantity.size)
        counts = [needed(x, value, settings.power, settings.level) for x in (low, middle, high)]

        def fixed(_: float, size: int = counts[1]) -> int:
            return size

        plain = np.ones(len(quantity.pairs))
        alike = Quantity(
            quantity.question, quantity.label, quantity.unit, quantity.size, plain,
            quantity.pairs, quantity.observed, quantity.drawn,
        )  # fmt: skip
        yield Forecast(
            quantity.question,
            quantity.label,
            start,
            quantity.size,
            "systems" if quantity.unit == "systems" else "sentences",
            middle / root,
            (low / root, high / root),
            float(np.nanmedian(observed)),
            value,
            counts[1],
            (counts[0], counts[2]),
            all_needed,
            _told(alike, all_c, value, fixed, plain, settings),
        )


def _answered(found: Sequence[Quantity], settings: PowerSettings, notes: Sequence[str]) -> Power:
    small = [each for each in found if each.size < _FEWEST]
    if small:
        raise InputError(
            f"{small[0].size} {'systems' if small[0].unit == 'systems' else 'sentences'}: a "
            f"standard error needs at least {_FEWEST}"
        )
    flat = [each for each in found if not np.nanmax(_fit_quick(each)) > 0]
    if flat:
        raise InputError(
            f"{flat[0].label}: the systems do not differ in any sentence, so that no number of "
            "them tells a difference"
        )
    needs = tuple(need for quantity in found for need in _needs(quantity, settings))
    forecasts: tuple[Forecast, ...] = ()
    if settings.tried:
        forecasts = tuple(each for one in found for each in _forecasts(one, settings))
    return Power(needs, forecasts, settings, tuple(dict.fromkeys(notes)))


def _fit_quick(quantity: Quantity) -> FloatArray:
    """Whether a quantity varies at all, from few resamples."""
    spread = quantity.errors(quantity.size, 30, np.random.default_rng(0))
    return np.where(np.isnan(spread), 0.0, spread)


def power(
    texts: Corpus | Benchmark,
    *,
    metrics: Metrics = (),
    settings: PowerSettings | None = None,
    runtime: Runtime | None = None,
) -> Power:
    """How many sentences, systems or judgments tell a difference.

    Args:
        texts: a corpus, or a benchmark, whose judgments are asked about too.
        metrics: names with options, or scorers.
        settings: what is asked.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric or system, or a question that the data cannot answer.
        InputError: too little to say anything, or nothing differs.
    """
    settings = settings or PowerSettings()
    given = isinstance(metrics, str | Scorer) or bool(metrics)
    scorers = scorers_of(metrics) if given else []
    benchmark = None if isinstance(texts, Corpus) else texts
    corpus = texts if isinstance(texts, Corpus) else texts.corpus
    found, notes = quantities(corpus, scorers, benchmark, settings, runtime)
    return _answered(found, settings, notes)


def power_of_scores(given: Sequence[GivenScores], settings: PowerSettings | None = None) -> Power:
    """The same for means of sentence scores that were made elsewhere.

    Args:
        given: one a file, each with at least two systems.
        settings: what is asked; of scores alone only `scores` can be answered.

    Raises:
        InputError: fewer than two systems.
        OptionError: an unknown system, or another question.
    """
    settings = settings or PowerSettings()
    for question in settings.questions:
        if question != "scores":
            raise OptionError(f"--what {question}: expected a benchmark with people's judgments")
    return _answered([_of_given(one, settings) for one in given], settings, ())


def _of_given(scorer: GivenScores, settings: PowerSettings) -> Quantity:
    held = scorer.held
    rows = {name: texts[0] for name, texts in held.rows.items()}
    if len(rows) < 2:
        raise InputError(f"{held.where}: scores of {len(rows)} system; a difference needs two")
    names = tuple(rows)
    for name in settings.systems:
        if name not in rows:
            raise OptionError(f"--system {name}: {nearest(name, names)}")
    lines = max(row.lines for row in rows.values())
    table = np.stack([row.scores(lines) for row in rows.values()])
    couples = _couples(names, settings)
    apart = np.stack([table[a] - table[b] for a, b in couples], axis=1)
    known = ~np.isnan(apart)
    sums, counts = np.where(known, apart, 0.0), known.astype(np.float64)
    total = counts.sum(axis=0)
    label = f"{scorer.name}:{scorer.label or scorer.file}"
    return Quantity(
        "scores",
        label,
        "sentences",
        lines,
        np.ones(len(couples)),
        tuple(f"{names[a]} - {names[b]}" for a, b in couples),
        sums.sum(axis=0) / np.where(total > 0, total, np.nan),
        _of_sums(sums, counts),
    )

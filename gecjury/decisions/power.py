"""How much data tells a difference between systems or metrics: four questions to the data at hand.

`gecjury.stats.sizes` has the statistics behind the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from gecjury.arrays import FloatArray, IntArray, draw_weights
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
from gecjury.stats.correlation import pearsons
from gecjury.stats.counts import ratio
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.sizes import (
    FEWEST,
    Quantity,
    jackknife_deviation,
    middle_pair,
    needed,
    needed_for_width,
    share_told,
    spread,
)

Question = Literal["scores", "judgments", "accuracy", "pearson"]
"""What is to be told apart: two systems by a metric's scores, or by people's judgments; two
metrics by the accuracy of their sentence scores, or by their correlation over systems."""
QUESTIONS: tuple[Question, ...] = get_args(Question)

_FROM = (50, 100, 200)  # sizes from which forecasts are tried
_TRIES = 60  # subsamples of each of them
_USUAL: dict[Question, tuple[float, ...]] = {
    "scores": (0.01, 0.02, 0.05),
    "judgments": (0.02, 0.05, 0.1),
    "accuracy": (0.01, 0.02, 0.05),
    "pearson": (0.02, 0.05, 0.1),
}


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
class Asked:
    """A quantity, and the question that it answers.

    Attributes:
        question: what is told apart.
        label: the metric, the two metrics, or the view of the judgments.
        unit: what is counted: sentences, judged pairs or systems.
        quantity: the differences.
        rate: units in a part of the quantity, one a pair: judged pairs in a sentence, otherwise 1.
    """

    question: Question
    label: str
    unit: str
    quantity: Quantity
    rate: FloatArray | float = 1.0

    @property
    def parts(self) -> str:
        """What is resampled: systems or sentences."""
        return "systems" if self.unit == "systems" else "sentences"


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


def quantities(
    corpus: Corpus,
    scorers: Sequence[Scorer],
    benchmark: Benchmark | None,
    settings: PowerSettings,
    runtime: Runtime | None = None,
) -> tuple[list[Asked], list[str]]:
    """Return everything that can be asked of the data, and notes for the user.

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
    answerable: list[Asked] = []
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
            answerable += [_of_scores(one, table, settings) for one, table in tables]
        elif question == "judgments" and pairs is not None and benchmark is not None:
            answerable.append(_of_judgments(benchmark, pairs, settings))
        elif question == "accuracy" and pairs is not None:
            answerable += [
                _of_accuracy(one[1], two[1], pairs) for one, two in combinations(tables, 2)
            ]
        elif question == "pearson" and benchmark is not None:
            for first, second in combinations(tables, 2):
                answerable += _of_pearson(first, second, benchmark)
    if not answerable:
        raise OptionError(
            "nothing can be told of these data: give a metric with -m, or a benchmark with "
            "people's judgments"
        )
    return answerable, notes


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
        if len(benchmark.corpus.systems) < FEWEST:
            return f"expected at least {FEWEST} systems"
    return ""


def _couples(names: Sequence[str], settings: PowerSettings) -> list[tuple[int, int]]:
    """The two systems named, or every two."""
    if settings.systems:
        first, second = (names.index(name) for name in settings.systems)
        return [(first, second)]
    return list(combinations(range(len(names)), 2))


def _of_scores(scorer: Scorer, table: ScoreTable, settings: PowerSettings) -> Asked:
    """Return the corpus scores of two systems, or of every two."""
    one, two = np.array(_couples(table.systems, settings)).T
    totals = table.by_system.score

    def drawn(draws: IntArray) -> FloatArray:
        scores = scorer.corpus_scores(table.statistics, draws).score
        return np.asarray(scores[:, one] - scores[:, two])

    size = table.sentences.shape[1]
    quantity = Quantity(size=size, observed=totals[one] - totals[two], drawn=drawn)
    return Asked("scores", table.signature.label, "sentences", quantity)


def _of_sums(sums: FloatArray, counts: FloatArray) -> Quantity:
    """Return ratios of sums over sentences; sums and counts are sentences × pairs."""

    def drawn(draws: IntArray) -> FloatArray:
        weights = draw_weights(draws, len(sums))
        return ratio(weights @ sums, weights @ counts, np.nan)

    observed = ratio(sums.sum(axis=0), counts.sum(axis=0), np.nan)
    return Quantity(size=len(sums), observed=observed, drawn=drawn)


def _of_judgments(benchmark: Benchmark, pairs: JudgmentPairs, settings: PowerSettings) -> Asked:
    """Return shares of judged pairs that a system wins, a tie being half, less one half."""
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
    return Asked(
        "judgments",
        f"people's {benchmark.view} view",
        "judged pairs",
        _of_sums(sums[:, kept], counts[:, kept]),
        total[kept] / len(rows),
    )


def _of_accuracy(one: ScoreTable, two: ScoreTable, pairs: JudgmentPairs) -> Asked:
    """Return the difference of two metrics' accuracies over judged pairs."""
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
    sums, counts = (
        np.bincount(line, values, minlength=len(rows))[:, None].astype(np.float64)
        for values in (apart[known], None)
    )
    label = f"{one.signature.label} - {two.signature.label}"
    return Asked("accuracy", label, "sentences", _of_sums(sums, counts))


def _of_pearson(
    first: tuple[Scorer, ScoreTable], second: tuple[Scorer, ScoreTable], benchmark: Benchmark
) -> Iterator[Asked]:
    """Yield the difference of two metrics' correlations, over sentences and over systems."""
    kind = next(iter(benchmark.human[benchmark.view]))
    human = benchmark.human_scores(kind)[None]
    totals = [table.by_system.score[None] for _, table in (first, second)]
    observed = pearsons(totals[0], human) - pearsons(totals[1], human)

    def sentences(draws: IntArray) -> FloatArray:
        one, two = (
            pearsons(scorer.corpus_scores(table.statistics, draws).score, human)
            for scorer, table in (first, second)
        )
        return np.asarray(one - two)[:, None]

    def systems(draws: IntArray) -> FloatArray:
        one, two = (pearsons(scores[0, draws], human[0, draws]) for scores in totals)
        return np.asarray(one - two)[:, None]

    label = f"{first[1].signature.label} - {second[1].signature.label} ({kind})"
    size = first[1].sentences.shape[1]
    drawn = Quantity(size=size, observed=observed, drawn=sentences)
    yield Asked("pearson", label, "sentences", drawn)
    # Few systems drawn are often the same ones, and their correlations wild: the larger draws
    # count, as many systems as there are and more.
    drawn = Quantity(size=human.shape[1], observed=observed, drawn=systems, from_size=1.0)
    yield Asked("pearson", label, "systems", drawn)


def _needs(asked: Asked, settings: PowerSettings) -> Iterator[Need]:
    """Yield what every target of one question takes."""
    quantity = asked.quantity
    deviation, slope = quantity.fit(settings.resamples, np.random.default_rng([settings.seed, 1]))
    influences = quantity.influences()
    analytic = jackknife_deviation(influences, quantity.size)
    # In units: a sentence holds several judged pairs.
    c = deviation * np.sqrt(asked.rate)
    middle = float(np.nanmedian(c)) if np.isfinite(c).any() else math.nan
    at_hand = float(np.median(quantity.size * np.asarray(asked.rate)))
    # Of one pair the influences are resampled; of several, the pairs show how c varies.
    if len(quantity.observed) == 1:
        rng = np.random.default_rng([settings.seed, 2])
        rows = rng.integers(len(influences), size=(2000, len(influences)))
        ratios = spread(influences[rows, 0].T) / spread(influences)[0]
        low, high = (middle * np.quantile(ratios, [0.05, 0.95])).tolist()
    else:
        low, high = np.nanquantile(c, [0.1, 0.9]).tolist()
    differences = settings.differences or (() if settings.widths else _USUAL[asked.question])
    targets: list[tuple[Literal["difference", "width"], float]] = [
        *(("difference", value) for value in differences),
        *(("width", value) for value in settings.widths),
    ]
    for target, value in targets:

        def count(c: float, target: str = target, value: float = value) -> int:
            if target == "width":
                return needed_for_width(c, value, settings.level)
            return needed(c, value, settings.power, settings.level)

        told, pair = None, middle_pair(c)
        if target == "difference" and pair is not None:
            parts = count(float(c[pair])) / float(np.broadcast_to(asked.rate, c.shape)[pair])
            told = _told(quantity, pair, round(parts), deviation, value, settings)
        yield Need(
            asked.question,
            asked.label,
            len(quantity.observed),
            target,
            value,
            asked.unit,
            round(at_hand),
            float(np.nanmedian(np.abs(quantity.observed))),
            middle,
            float(np.nanmedian(analytic * np.sqrt(asked.rate))),
            middle / math.sqrt(at_hand),
            count(middle),
            (count(low), count(high)),
            told,
            slope,
        )


def _told(
    quantity: Quantity,
    pair: int,
    parts: int,
    deviation: FloatArray,
    value: float,
    settings: PowerSettings,
) -> float | None:
    return share_told(
        quantity,
        pair,
        parts,
        deviation=float(deviation[pair]),
        value=value,
        level=settings.level,
        resamples=settings.resamples,
        rng=np.random.default_rng([settings.seed, 3]),
    )


def _forecasts(asked: Asked, settings: PowerSettings) -> Iterator[Forecast]:
    """Yield forecasts from subsamples beside what all give."""
    quantity = asked.quantity
    rng = np.random.default_rng([settings.seed, 4])
    value = (settings.differences or _USUAL[asked.question])[0]
    all_c, _ = quantity.fit(settings.resamples, np.random.default_rng([settings.seed, 1]))
    observed = quantity.errors(quantity.size, 4 * settings.resamples, rng)
    all_needed = needed(float(np.nanmedian(all_c)), value, settings.power, settings.level)
    pair = middle_pair(all_c)
    for start in _FROM:
        if start >= quantity.size:
            continue
        tries = []
        for _ in range(_TRIES):
            rows = np.sort(rng.choice(quantity.size, start, replace=False))
            tries.append(np.nanmedian(jackknife_deviation(quantity.influences(rows), start)))
        low, middle, high = np.nanquantile(np.array(tries), [0.05, 0.5, 0.95]).tolist()
        root = math.sqrt(quantity.size)
        counts = [needed(x, value, settings.power, settings.level) for x in (low, middle, high)]
        yield Forecast(
            asked.question,
            asked.label,
            start,
            quantity.size,
            asked.parts,
            middle / root,
            (low / root, high / root),
            float(np.nanmedian(observed)),
            value,
            counts[1],
            (counts[0], counts[2]),
            all_needed,
            None if pair is None else _told(quantity, pair, counts[1], all_c, value, settings),
        )


def _answered(questions: Sequence[Asked], settings: PowerSettings, notes: Sequence[str]) -> Power:
    for asked in questions:
        if asked.quantity.size < FEWEST:
            raise InputError(
                f"{asked.quantity.size} {asked.parts}: a standard error needs at least {FEWEST}"
            )
    for asked in questions:
        # A few resamples show whether anything varies at all.
        errors = asked.quantity.errors(asked.quantity.size, 30, np.random.default_rng(0))
        if not (errors > 0).any():
            raise InputError(
                f"{asked.label}: the systems do not differ in any sentence, so that no number of "
                "them tells a difference"
            )
    needs = tuple(need for asked in questions for need in _needs(asked, settings))
    forecasts: tuple[Forecast, ...] = ()
    if settings.tried:
        forecasts = tuple(each for asked in questions for each in _forecasts(asked, settings))
    return Power(needs, forecasts, settings, tuple(dict.fromkeys(notes)))


def power(
    texts: Corpus | Benchmark,
    *,
    metrics: Metrics = (),
    settings: PowerSettings | None = None,
    runtime: Runtime | None = None,
) -> Power:
    """Return how many sentences, systems or judgments tell a difference.

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
    questions, notes = quantities(corpus, scorers, benchmark, settings, runtime)
    return _answered(questions, settings, notes)


def power_of_scores(given: Sequence[GivenScores], settings: PowerSettings | None = None) -> Power:
    """Return how many sentences tell a difference of scores that were made elsewhere.

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


def _of_given(scorer: GivenScores, settings: PowerSettings) -> Asked:
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
    apart = np.stack([table[a] - table[b] for a, b in _couples(names, settings)], axis=1)
    known = ~np.isnan(apart)
    quantity = _of_sums(np.where(known, apart, 0.0), known.astype(np.float64))
    label = f"{scorer.name}:{scorer.label or scorer.file}"
    return Asked("scores", label, "sentences", quantity)

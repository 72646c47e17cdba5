"""How much data detects a difference, by the questions about differences that data can answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgmentPairs, expand_pairs
from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.core.errors import InputError, OptionError
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.choices import PowerSubject
from gecjury.stats.correlation import pearsons
from gecjury.stats.counts import ratio
from gecjury.stats.figure import Figure, figures_about, records
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.resampling import Resampling
from gecjury.stats.sizes import FEWEST, Quantity, needed, spread

register(
    Statistic("power.value", "difference", digits=4),
    Statistic("power.label", "of"),
    Statistic("at_hand", "at hand", digits=0),
    Statistic("power.error", "error there", digits=4),
    Statistic("observed", digits=4),
)

_DIFFERENCES: dict[PowerSubject, tuple[float, ...]] = {
    "scores": (0.01, 0.02, 0.05),
    "judgments": (0.02, 0.05, 0.1),
    "accuracy": (0.01, 0.02, 0.05),
    "pearson": (0.02, 0.05, 0.1),
}


@dataclass(frozen=True)
class DataNeeded:
    """How much data detects a difference.

    Attributes:
        label: the metric, the two metrics, or the view of the judgments.
        unit: what is counted: sentences, judged pairs or systems.
        pairs: number of pairs of systems or metrics; the figures are medians over them.
        slope: the exponent by which the error falls, which is assumed to be −0.5.
        figures: how much is `needed` to detect the difference `value`, with an interval: 90% by
            resampling the influences of one pair, or from the 10th to the 90th percentile of
            pairs; how much is `at_hand`, the difference there without sign (`observed`) and its
            standard `error`; and the `deviation`, c of error = c / √n.
    """

    question: PowerSubject
    label: str
    unit: str
    pairs: int
    slope: float
    figures: tuple[Figure, ...]

    def row(self) -> dict[str, object]:
        """Return its record for tables and JSON."""
        about = {"question": self.question, "label": self.label, "unit": self.unit}
        names = {"needed_ci95": "between", "metric": "", "part": ""}
        (numbers,) = records(self.figures, names=names)
        return {**about, **numbers}


@dataclass(frozen=True)
class PowerQuestion:
    """A quantity, and the question that it answers.

    Attributes:
        label: the metric, the two metrics, or the view of the judgments.
        unit: what is counted: sentences, judged pairs or systems.
        rate: units per part of the quantity, one value per pair: judged pairs per sentence,
            otherwise 1.
    """

    question: PowerSubject
    label: str
    unit: str
    quantity: Quantity
    rate: FloatArray | float = 1.0


def needs_of(
    asked: PowerQuestion, power: float, how: Resampling, seed: int
) -> Iterator[DataNeeded]:
    """Yield how much data detects every difference of one question.

    Args:
        how: the resamples at every size, and the level of the two-sided test.
    """
    quantity = asked.quantity
    pairs = len(quantity.observed)
    deviation, slope = quantity.fit(how.resamples, np.random.default_rng([seed, 1]))
    # Converted to units: a sentence may have several judged pairs.
    c = deviation * np.sqrt(asked.rate)
    middle = float(np.nanmedian(c)) if np.isfinite(c).any() else math.nan
    at_hand = float(np.median(quantity.size * np.asarray(asked.rate)))
    # For one pair the influences are resampled; several pairs show how c varies.
    if pairs == 1:
        influences = quantity.influences()
        rng = np.random.default_rng([seed, 2])
        rows = rng.integers(len(influences), size=(2000, len(influences)))
        ratios = spread(influences[rows, 0].T) / spread(influences)[0]
        low, high = (middle * np.quantile(ratios, [0.05, 0.95])).tolist()
    else:
        low, high = np.nanquantile(c, [0.1, 0.9]).tolist()
    for value in _DIFFERENCES[asked.question]:
        fewest, count, most = (needed(one, value, power, how.level) for one in (low, middle, high))
        values = {
            "pairs": pairs,
            "value": value,
            "at_hand": round(at_hand),
            "observed": float(np.nanmedian(np.abs(quantity.observed))),
            "deviation": middle,
            "error": middle / math.sqrt(at_hand),
            "needed": count,
            "slope": slope,
        }
        about = {"metric": asked.label, "part": f"{asked.question}: {value:g}, {asked.unit}"}
        figures = figures_about(values, {"needed": (fewest, most)}, level="power", **about)
        yield DataNeeded(asked.question, asked.label, asked.unit, pairs, slope, tuple(figures))


def check_varies(asked: PowerQuestion) -> None:
    """Refuse data that are too few to resample, or that never differ.

    Raises:
        InputError: there are too few data, or no differences.
    """
    size, parts = asked.quantity.size, "systems" if asked.unit == "systems" else "sentences"
    if size < FEWEST:
        raise InputError(f"{size} {parts}: a standard error needs at least {FEWEST}")
    # A few resamples show whether anything varies at all.
    if not (asked.quantity.errors(size, 30, np.random.default_rng(0)) > 0).any():
        raise InputError(
            f"{asked.label}: the systems do not differ in any sentence, so no number of sentences "
            "detects a difference"
        )


def answerable(
    tables: Sequence[tuple[Scorer, ScoreTable]],
    benchmark: Benchmark | None,
    questions: Sequence[PowerSubject],
    pair: Sequence[str],
) -> list[PowerQuestion]:
    """Return the questions that the data can answer.

    Args:
        benchmark: the benchmark with people's judgments, if there is one.
        questions: the questions that must be answered; empty for all that can be answered.
        pair: the two systems that are compared; empty for every two.

    Raises:
        OptionError: the data cannot answer a question.
        InputError: nobody compared the two systems.
    """
    asked: list[PowerQuestion] = []
    pairs = None
    if benchmark is not None and (items := benchmark.rankings.get(benchmark.view)):
        # Corrections that several systems share are judged once.
        pairs = expand_pairs(items, benchmark.corpus.names, "unexpanded")
    metrics = list(combinations(tables, 2))
    for question in questions or get_args(PowerSubject):
        why = _impossible(question, tables, benchmark, pairs)
        if why and questions:
            raise OptionError(f"`what={question}`: {why}")
        if why:
            continue
        if question == "scores":
            asked += [_of_scores(scorer, table, pair) for scorer, table in tables]
        elif question == "judgments" and pairs is not None and benchmark is not None:
            asked.append(_of_judgments(benchmark, pairs, pair))
        elif question == "accuracy" and pairs is not None:
            asked += [_of_accuracy(one, two, pairs) for (_, one), (_, two) in metrics]
        elif question == "pearson" and benchmark is not None:
            asked += [one for two in metrics for one in _of_pearson(*two, benchmark)]
    return asked


def _impossible(
    question: PowerSubject,
    tables: Sequence[tuple[Scorer, ScoreTable]],
    benchmark: Benchmark | None,
    pairs: JudgmentPairs | None,
) -> str:
    """Return why a question cannot be answered; empty where it can."""
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


def _couples(names: Sequence[str], pair: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of the two named systems, or of every two systems."""
    if pair:
        first, second = (names.index(name) for name in pair)
        return [(first, second)]
    return list(combinations(range(len(names)), 2))


def _of_scores(scorer: Scorer, table: ScoreTable, pair: Sequence[str]) -> PowerQuestion:
    """Return the corpus scores of two systems, or of every two."""
    one, two = np.array(_couples(table.systems, pair)).T
    totals = table.by_system.score

    def drawn(draws: IntArray) -> FloatArray:
        scores = scorer.corpus_scores(table.statistics, draws).score
        return np.asarray(scores[:, one] - scores[:, two])

    size = table.sentences.shape[1]
    quantity = Quantity(size=size, observed=totals[one] - totals[two], drawn=drawn)
    return PowerQuestion("scores", table.signature.label, "sentences", quantity)


def _of_sums(sums: FloatArray, counts: FloatArray) -> Quantity:
    """Return ratios of sums over sentences; sums and counts are sentences × pairs."""

    def drawn(draws: IntArray) -> FloatArray:
        weights = draw_weights(draws, len(sums))
        return ratio(weights @ sums, weights @ counts, np.nan)

    observed = ratio(sums.sum(axis=0), counts.sum(axis=0), np.nan)
    return Quantity(size=len(sums), observed=observed, drawn=drawn)


def _of_judgments(benchmark: Benchmark, pairs: JudgmentPairs, pair: Sequence[str]) -> PowerQuestion:
    """Return the share of judged pairs that a system wins (a tie counts half), minus one half."""
    couples = _couples(pairs.systems, pair)
    # People may have seen the two systems in either order; the sign follows the couple's order.
    column = np.full((2, len(pairs.systems), len(pairs.systems)), -1)
    for number, (one, other) in enumerate(couples):
        column[0, one, other] = column[1, other, one] = number
    # Only judged sentences can be drawn: the others say nothing about any pair.
    rows, line = np.unique(pairs.sentence, return_inverse=True)
    sums, counts = np.zeros((2, len(rows), len(couples)))
    for sign, of_order in zip((1, -1), column, strict=True):
        place = of_order[pairs.first, pairs.second]
        kept = place >= 0
        at = line[kept], place[kept]
        np.add.at(sums, at, sign * pairs.preference[kept] / 2)
        np.add.at(counts, at, 1)
    total = counts.sum(axis=0)
    if not total.any():
        raise InputError("nobody compared these two systems: name others with `system=`")
    compared = total > 0
    return PowerQuestion(
        "judgments",
        f"people's {benchmark.view} view",
        "judged pairs",
        _of_sums(sums[:, compared], counts[:, compared]),
        total[compared] / len(rows),
    )


def _of_accuracy(one: ScoreTable, two: ScoreTable, pairs: JudgmentPairs) -> PowerQuestion:
    """Return the difference of two metrics' accuracies over judged pairs."""
    decided = pairs.decided
    sides = []
    for table in (one.settled(), two.settled()):
        first, second = (
            table.sentences[side, decided.sentence] for side in (decided.first, decided.second)
        )
        outcomes = pair_outcomes(decided.preference, first, second)
        # A pair that a metric did not score stays NaN: the difference needs both metrics.
        right = np.full(len(decided), np.nan)
        right[outcomes.kept] = outcomes.right
        sides.append(right)
    apart = sides[0] - sides[1]
    scored = ~np.isnan(apart)
    rows, line = np.unique(decided.sentence[scored], return_inverse=True)
    sums, counts = (
        np.bincount(line, values, minlength=len(rows))[:, None].astype(np.float64)
        for values in (apart[scored], None)
    )
    label = f"{one.signature.label} - {two.signature.label}"
    return PowerQuestion("accuracy", label, "sentences", _of_sums(sums, counts))


def _of_pearson(
    first: tuple[Scorer, ScoreTable], second: tuple[Scorer, ScoreTable], benchmark: Benchmark
) -> Iterator[PowerQuestion]:
    """Yield the difference of two metrics' correlations, over sentences and over systems."""
    kind = benchmark.usual_kind
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
    yield PowerQuestion("pearson", label, "sentences", drawn)
    # Small draws of systems often repeat the same ones, and their correlations vary wildly. Only
    # draws of at least as many systems as there are count.
    drawn = Quantity(size=human.shape[1], observed=observed, drawn=systems, from_size=1.0)
    yield PowerQuestion("pearson", label, "systems", drawn)

"""How many sentences, systems or judgments are needed to detect a difference: `gecjury power`.

The data at hand show how differences vary; `gecjury.stats.sizes` has the statistics behind the
answers.

Example:
    >>> from gecjury import power
    >>> row = power("sample", ["green"]).rows()[0]
    >>> row["value"], row["unit"], row["needed"]
    (0.01, 'sentences', 1753)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal, get_args

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgmentPairs, expand_pairs
from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.settings import option
from gecjury.report.result import Column, Result, Table
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import pearsons
from gecjury.stats.counts import ratio
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.resampling import Resampling
from gecjury.stats.sizes import FEWEST, Quantity, needed, spread
from gecjury.studies.inputs import FilesOrBenchmark, Inputs
from gecjury.studies.study import Study, Work, function_of

Question = Literal["scores", "judgments", "accuracy", "pearson"]
"""Kinds of differences to detect: two systems by a metric's scores, or by people's judgments; two
metrics by the accuracy of their sentence scores, or by their correlation over systems."""

_DIFFERENCES: dict[Question, tuple[float, ...]] = {
    "scores": (0.01, 0.02, 0.05),
    "judgments": (0.02, 0.05, 0.1),
    "accuracy": (0.01, 0.02, 0.05),
    "pearson": (0.02, 0.05, 0.1),
}


@dataclass(frozen=True, kw_only=True)
class Power(Study):
    """How many sentences, systems or judgments are needed to detect a difference.

    Attributes:
        pair: one of the two systems that are compared; give two (default: the median over all
            pairs).
        questions: what is compared: systems by scores or by judgments, metrics by accuracy or by
            pearson; repeat for more (default: all that the data allow).
        power: the probability of detecting the difference.
        resampling: the resamples at every size, and the level of the two-sided test.
        seed: seed of the resamples.
    """

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark, or a source file and at least two outputs"
    )
    metrics: ClassVar[str] = (
        "metric whose scores are compared (see `gecjury metrics`); two or more are also compared "
        "by their agreement with people"
    )
    pair: tuple[str, ...] = option((), "--system", metavar="NAME")
    questions: tuple[Question, ...] = option((), "--what")
    power: float = option(0.8, metavar="P", above=0, below=1)
    resampling: Resampling = option(
        Resampling(over="sentences", resamples=300), offers=("level", "resamples")
    )
    seed: int = option(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        level, resamples = self.resampling.level, self.resampling.resamples
        if self.power <= level:
            raise OptionError(f"--power {self.power}: expected more than --level {level}")
        if not 20 <= resamples <= 100_000:
            raise OptionError(f"--resamples {resamples}: expected 20 to 100000")
        if len(self.pair) not in (0, 2) or len(set(self.pair)) < len(self.pair):
            named = ", ".join(self.pair)
            raise OptionError(f"--system: {named} named; expected two systems, or none for all")

    def check(self, work: Work) -> None:
        """Refuse data without two systems, or without those that are named."""
        corpus = work.corpus
        if len(corpus.systems) < 2:
            raise InputError(f"{len(corpus.systems)} system: a difference needs two")
        for name in self.pair:
            if name not in corpus.systems:
                raise OptionError(f"--system {name}: {nearest(name, corpus.names)}")
        super().check(work)

    def run(self, work: Work) -> Result:
        """Measure how differences vary, and compute how much data detects them.

        Table `rows` has one record per question, metric and difference; see `Need`.

        Raises:
            OptionError: the data cannot answer a question, or answer none at all.
            InputError: there are too few data, or nothing differs.
        """
        tables = list(zip(work.scorers, work.scores(), strict=True))
        remarks = (note for _, table in tables for note in table.statistics.notes)
        notes = tuple(dict.fromkeys(remarks))
        asked = _answerable(tables, work.benchmark, self.questions, self.pair)
        if not asked:
            raise OptionError(
                "these data answer no question: give a metric with -m, or a benchmark with "
                "people's judgments"
            )
        for one in asked:
            _check_varies(one)
        needs = [need for one in asked for need in self._needs(one)]
        facts = {
            "inputs": work.inputs,
            "power": self.power,
            "level": self.resampling.level,
            "resamples": self.resampling.resamples,
            "seed": self.seed,
        }
        meaning, errors, assumed = self._how(needs)
        title = f"How much data a difference needs{work.named}"
        full = Table(
            (*_COLUMNS, *_ERRORS),
            [asdict(need) for need in needs],
            title,
            [*notes, errors, assumed],
            "rows",
            legend=meaning,
        )
        brief = replace(full, columns=_COLUMNS, notes=[*notes, assumed])
        return Result((replace(full, instead={"brief": brief}),), facts, notes)

    def _needs(self, asked: Asked) -> Iterator[Need]:
        """Yield how much data detects every difference of one question."""
        quantity = asked.quantity
        rng = np.random.default_rng([self.seed, 1])
        deviation, slope = quantity.fit(self.resampling.resamples, rng)
        # Converted to units: a sentence may have several judged pairs.
        c = deviation * np.sqrt(asked.rate)
        middle = float(np.nanmedian(c)) if np.isfinite(c).any() else math.nan
        at_hand = float(np.median(quantity.size * np.asarray(asked.rate)))
        # For one pair the influences are resampled; several pairs show how c varies.
        if len(quantity.observed) == 1:
            influences = quantity.influences()
            rng = np.random.default_rng([self.seed, 2])
            rows = rng.integers(len(influences), size=(2000, len(influences)))
            ratios = spread(influences[rows, 0].T) / spread(influences)[0]
            low, high = (middle * np.quantile(ratios, [0.05, 0.95])).tolist()
        else:
            low, high = np.nanquantile(c, [0.1, 0.9]).tolist()
        for value in _DIFFERENCES[asked.question]:
            fewest, count, most = (
                needed(one, value, self.power, self.resampling.level) for one in (low, middle, high)
            )
            yield Need(
                question=asked.question,
                label=asked.label,
                pairs=len(quantity.observed),
                value=value,
                unit=asked.unit,
                at_hand=round(at_hand),
                observed=float(np.nanmedian(np.abs(quantity.observed))),
                deviation=middle,
                error=middle / math.sqrt(at_hand),
                needed=count,
                between=(fewest, most),
                slope=slope,
            )

    def _how(self, needs: Sequence[Need]) -> tuple[str, str, str]:
        """Return what the figures are: data needed, errors, and what is assumed."""
        slopes = [need.slope for need in needs]
        return (
            f"needed: to detect a difference with {self.power:.0%} power at "
            f"{self.resampling.level:g} (two-sided); between: 90% interval for one pair, 10th to "
            f"90th percentile of pairs for several (here up to {max(n.pairs for n in needs)})",
            "error there: standard error of the difference with what is at hand; observed: the "
            "difference at hand",
            f"assumed: errors fall with the square root of the size; measured exponents "
            f"{min(slopes):.2f} to {max(slopes):.2f} (-0.50 expected)",
        )


_COLUMNS = (
    *map(Column, ("question", "label")),
    Column("value", place="power"),
    *map(Column, ("needed", "between", "unit", "at_hand")),
)
_ERRORS = (Column("error", place="power"), Column("observed"))


@dataclass(frozen=True)
class Need:
    """How much data detects a difference.

    Attributes:
        pairs: number of pairs of systems or metrics; the figures are medians over them.
        value: the difference to detect.
        unit: what is counted: sentences, judged pairs or systems.
        observed: the difference at hand, without sign.
        deviation: c of error = c / √n.
        error: standard error of the difference at hand.
        between: 90% by resampling the influences of one pair, or from the 10th to the 90th
            percentile of pairs.
        slope: the exponent by which the error falls, which is assumed to be −0.5.
    """

    question: Question
    label: str
    pairs: int
    value: float
    unit: str
    at_hand: int
    observed: float
    deviation: float
    error: float
    needed: int
    between: tuple[int, int]
    slope: float


@dataclass(frozen=True)
class Asked:
    """A quantity, and the question that it answers.

    Attributes:
        label: the metric, the two metrics, or the view of the judgments.
        unit: what is counted: sentences, judged pairs or systems.
        rate: units per part of the quantity, one value per pair: judged pairs per sentence,
            otherwise 1.
    """

    question: Question
    label: str
    unit: str
    quantity: Quantity
    rate: FloatArray | float = 1.0


def _check_varies(asked: Asked) -> None:
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


def _answerable(
    tables: Sequence[tuple[Scorer, ScoreTable]],
    benchmark: Benchmark | None,
    questions: Sequence[Question],
    pair: Sequence[str],
) -> list[Asked]:
    """Return the questions that the data can answer.

    Args:
        benchmark: the benchmark with people's judgments, if there is one.
        questions: the questions that must be answered; empty for all that can be answered.
        pair: the two systems that are compared; empty for every two.

    Raises:
        OptionError: the data cannot answer a question.
        InputError: nobody compared the two systems.
    """
    asked: list[Asked] = []
    pairs = None
    if benchmark is not None and (items := benchmark.rankings.get(benchmark.view)):
        # Corrections that several systems share are judged once.
        pairs = expand_pairs(items, benchmark.corpus.names, "unexpanded")
    metrics = list(combinations(tables, 2))
    for question in questions or get_args(Question):
        why = _impossible(question, tables, benchmark, pairs)
        if why and questions:
            raise OptionError(f"--what {question}: {why}")
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
    question: Question,
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


def _of_scores(scorer: Scorer, table: ScoreTable, pair: Sequence[str]) -> Asked:
    """Return the corpus scores of two systems, or of every two."""
    one, two = np.array(_couples(table.systems, pair)).T
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


def _of_judgments(benchmark: Benchmark, pairs: JudgmentPairs, pair: Sequence[str]) -> Asked:
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
        raise InputError("nobody compared these two systems: name others with --system")
    compared = total > 0
    return Asked(
        "judgments",
        f"people's {benchmark.view} view",
        "judged pairs",
        _of_sums(sums[:, compared], counts[:, compared]),
        total[compared] / len(rows),
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
    # Small draws of systems often repeat the same ones, and their correlations vary wildly. Only
    # draws of at least as many systems as there are count.
    drawn = Quantity(size=human.shape[1], observed=observed, drawn=systems, from_size=1.0)
    yield Asked("pearson", label, "systems", drawn)


power = function_of(Power)

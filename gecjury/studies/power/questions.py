"""Questions about data: differences of systems or metrics, and how they are resampled.

`gecjury.stats.sizes` has the statistics behind the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgmentPairs, expand_pairs
from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.scoring.given_scores import GivenScores
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import pearsons
from gecjury.stats.counts import ratio
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.sizes import FEWEST, Quantity

Question = Literal["scores", "judgments", "accuracy", "pearson"]
"""Kinds of differences to detect: two systems by a metric's scores, or by people's judgments; two
metrics by the accuracy of their sentence scores, or by their correlation over systems."""


@dataclass(frozen=True)
class Asked:
    """A quantity, and the question that it answers.

    Attributes:
        question: the kind of difference.
        label: the metric, the two metrics, or the view of the judgments.
        unit: what is counted: sentences, judged pairs or systems.
        quantity: the differences.
        rate: units per part of the quantity, one value per pair: judged pairs per sentence,
            otherwise 1.
    """

    question: Question
    label: str
    unit: str
    quantity: Quantity
    rate: FloatArray | float = 1.0

    @property
    def parts(self) -> str:
        """The resampled units: systems or sentences."""
        return "systems" if self.unit == "systems" else "sentences"


def answerable(
    tables: Sequence[tuple[Scorer, ScoreTable]],
    benchmark: Benchmark | None,
    questions: Sequence[Question],
    pair: Sequence[str],
) -> list[Asked]:
    """Return the questions that the data can answer.

    Args:
        tables: scores, with the metrics that computed them.
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
    place = {couple: column for column, couple in enumerate(couples)}
    # Only judged sentences can be drawn: the others say nothing about any pair.
    rows = np.unique(pairs.sentence)
    line = np.searchsorted(rows, pairs.sentence)
    sums, counts = np.zeros((2, len(rows), len(couples)))
    for row, first, second, won in zip(
        line, pairs.first, pairs.second, pairs.preference, strict=True
    ):
        # People may have seen the two systems in either order; the sign follows the couple's order.
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


def of_scores_alone(scorer: GivenScores, pair: Sequence[str]) -> Asked:
    """Return the mean differences of two systems, or of every two, in scores computed elsewhere.

    Args:
        scorer: the scores.
        pair: the two systems that are compared; empty for every two.

    Raises:
        InputError: fewer than two systems.
        OptionError: an unknown system.
    """
    held = scorer.held
    rows = {name: texts[0] for name, texts in held.rows.items()}
    if len(rows) < 2:
        raise InputError(f"{held.where}: scores of {len(rows)} system; a difference needs two")
    names = tuple(rows)
    for name in pair:
        if name not in rows:
            raise OptionError(f"--system {name}: {nearest(name, names)}")
    # Files of scores may have different lengths; missing scores are left out.
    lines = max(row.lines for row in rows.values())
    table = np.stack([row.scores(lines) for row in rows.values()])
    apart = np.stack([table[a] - table[b] for a, b in _couples(names, pair)], axis=1)
    scored = ~np.isnan(apart)
    quantity = _of_sums(np.where(scored, apart, 0.0), scored.astype(np.float64))
    label = f"{scorer.name}:{scorer.label or scorer.file}"
    return Asked("scores", label, "sentences", quantity)

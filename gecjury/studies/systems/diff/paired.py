"""Differences of two systems on the same sentences: of scores, of counts by type, of rates.

Row 0 of every array is the OLD system, row 1 the NEW one; a difference is NEW minus OLD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray, blocks, draw_weights
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.scoring.system_tests import SystemTests, pair_tests, tested_cells
from gecjury.stats.bootstrap import Interval, interval, sentence_draws
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.choices import TypeLevel
from gecjury.stats.counts import precision_recall_f, ratio
from gecjury.stats.figure import Figure, figures_about, values_of
from gecjury.stats.permutation import permutation_signs, swapped_means, tail_p
from gecjury.stats.resampling import Resampling
from gecjury.studies.systems.parts import merged_type
from gecjury.studies.systems.ranking import Ranking, rank_scores

RATES: Mapping[str, str] = {
    "over-correction": "of the sentences that every reference leaves unchanged, the share that the "
    "system changes (lower is better)",
    "under-correction": "of the sentences that every reference changes, the share that the system "
    "leaves unchanged (lower is better)",
    "success": "of the sentences that every reference changes, the share that the system corrects "
    "exactly as one of them does",
}
"""Rates by name, with their meaning."""

register(
    Statistic("over-correction", digits=4, better="lower", range=(0, 1)),
    Statistic("under-correction", digits=4, better="lower", range=(0, 1)),
    Statistic("success", digits=4, better="higher", range=(0, 1)),
)


@dataclass(frozen=True)
class Paired:
    """One figure of both systems and its difference.

    Attributes:
        old: of the OLD system; NaN where it is not defined.
        new: of the NEW system.
        interval: percentile bootstrap bounds of the difference.
        p: two-sided p of the difference, by swapping the outputs of sentences.
        sentences: number of sentences that it is computed from.
        dropped: number of resamples in which it is not defined.
    """

    old: float
    new: float
    interval: Interval
    p: float
    sentences: int
    dropped: int = 0

    @property
    def difference(self) -> float:
        """NEW minus OLD."""
        return self.new - self.old

    def figures(
        self, metric: str, old: str, new: str, *, rate: bool = False, part: str = ""
    ) -> Iterator[Figure]:
        """Yield the difference and its p, after the values of a rate.

        Args:
            metric: label of the metric, or name of the rate.
            old: name of the OLD system.
            new: name of the NEW system.
            rate: whether it is a rate; the values of a metric are figures of its ranking.
            part: the error type, if it is the figure of one.
        """
        about = partial(figures_about, level="score", metric=metric, part=part, n=self.sentences)
        if rate:
            yield from about({metric: self.old}, system=old)
            yield from about({metric: self.new}, system=new)
        values = {"difference": self.difference, "p": self.p}
        yield from about(values, {"difference": self.interval}, system=f"{new} − {old}")

    def row(self) -> dict[str, object]:
        """Return the figure as a plain record."""
        values = values_of(self, "old", "new", "difference", "p", "sentences")
        return {**values, "ci95": list(self.interval)}


def metric_difference(scorer: Scorer, table: ScoreTable, how: Resampling, seed: int) -> Paired:
    """Return the difference of two corpus scores; of means, on the sentences that both have."""
    cells = tested_cells(scorer, table, "corpus")
    if cells is not None and table.missing:
        shared = np.asarray(~np.isnan(cells).any(axis=0))
        return mean_difference(shared, cells, how, seed)
    lines = table.sentences.shape[1]
    # Both systems use the same resampled sentences, which makes the interval paired.
    draws = sentence_draws(lines, how.resamples, seed)
    drawn = scorer.corpus_scores(table.statistics, draws).score
    bounds, dropped = interval(drawn[:, 1] - drawn[:, 0], how.confidence)
    old, new = table.by_system.score.tolist()
    p = pair_tests(scorer, table, "corpus", how.permutations, seed)[0, 1]
    return Paired(old, new, bounds, float(p), lines, dropped)


def ranking_of(scorer: Scorer, table: ScoreTable, one: Paired, how: Resampling) -> Ranking:
    """Return the two systems by a metric, the better one first."""
    old, new = table.systems
    p = np.array([[np.nan, one.p], [one.p, np.nan]])
    return rank_scores(
        scorer,
        table,
        replace(how, over="none"),
        tests=SystemTests.of(np.array([one.old, one.new]), p, how.level),
        paired={(new, old): one.interval},
    )


Outcomes = Mapping[str, tuple[BoolArray, BoolArray]]
"""By rate, the sentences that it is a share of, shape (N,), and those that count towards the rate
of each system, shape (2, N)."""


def outcomes_of(corpus: Corpus) -> Outcomes:
    """Return which sentences two systems change, leave and correct; empty without references.

    Sentences are compared token by token; other spacing is not a change.

    Args:
        corpus: a corpus of two systems.
    """
    if not corpus.references:
        return {}
    sources = [text.split() for text in corpus.sources]
    systems = [[line.split() for line in version.lines] for version in corpus.systems.values()]
    references = [[line.split() for line in version.lines] for version in corpus.references]
    rows = range(len(sources))
    kept = np.array([[lines[row] == sources[row] for row in rows] for lines in references])
    left = np.array([[lines[row] == sources[row] for row in rows] for lines in systems])
    same = np.array(
        [
            [any(lines[row] == wanted[row] for wanted in references) for row in rows]
            for lines in systems
        ]
    )
    # Rates use the sentences on which references agree: all change the sentence, or none does.
    # An empty line is no sentence that could be left alone.
    wanted: BoolArray = np.asarray(~kept.any(axis=0))
    unwanted: BoolArray = kept.all(axis=0) & np.array([bool(words) for words in sources])
    return {
        "over-correction": (unwanted, ~left),
        "under-correction": (wanted, left),
        "success": (wanted, same),
    }


def mean_difference(
    asked: BoolArray, values: BoolArray | FloatArray, how: Resampling, seed: int
) -> Paired:
    """Return the difference of two means or rates; NaN without sentences.

    Args:
        asked: the sentences that the mean is taken over, shape (N,).
        values: the value of each sentence for each system, shape (2, N).
    """
    hits = np.where(asked, values, 0.0)
    count = int(asked.sum())
    nan = float("nan")
    if not count:
        return Paired(nan, nan, (nan, nan), nan, 0)
    weights = asked.astype(np.float64)
    drawn = np.empty(how.resamples)
    for part, counts in _counts(sentence_draws(len(asked), how.resamples, seed)):
        drawn[part] = ratio(counts @ (hits[1] - hits[0]), counts @ weights, np.nan)
    bounds, dropped = interval(drawn, how.confidence)
    counted = hits[:, asked]
    change = counted[1] - counted[0]
    # Only sentences that the rate is a share of can be swapped.
    signs, exact = permutation_signs(count, how.permutations, seed)
    swapped = int(np.count_nonzero(change))
    p = float(tail_p(*swapped_means(change[:, None], signs), exact, swapped)[0])
    old, new = counted.mean(axis=1).tolist()
    return Paired(old, new, bounds, p, count, dropped)


def type_counts(table: ScoreTable, level: TypeLevel) -> tuple[tuple[str, ...], FloatArray] | None:
    """Return a metric's counts by error type; None if it does not count types.

    The references are those that the corpus score used.

    Args:
        table: scores of two systems, just computed and not read from a file.
        level: 1 operation (M, R, U), 2 category, 3 both.

    Returns:
        T error types, and 2 × N × T × 3 counts: TP, FP and FN, whole numbers or weights.
    """
    count = table.statistics.sentence_types
    if count is None:
        return None
    lines = table.sentences.shape[1]
    cells = [[count(system, row) for row in range(lines)] for system in (0, 1)]
    # Types that the level does not distinguish share a column.
    names = {kind: merged_type(kind, level) for rows in cells for cell in rows for kind, _ in cell}
    kinds = tuple(sorted(set(names.values())))
    place = {kind: kinds.index(name) for kind, name in names.items()}
    counts = np.zeros((2, lines, len(kinds), 3))
    for system, rows in enumerate(cells):
        for row, cell in enumerate(rows):
            for (kind, part), amount in cell.items():
                counts[system, row, place[kind], part] += amount
    return kinds, counts


def type_differences(counts: FloatArray, how: Resampling, seed: int) -> list[Paired]:
    """Return the differences of F0.5 by error type.

    Args:
        counts: counts of two systems; see `type_counts`.
    """
    _, lines, size, _ = counts.shape
    flat = counts.reshape(2, lines, size * 3)
    totals = flat.sum(axis=1)
    drawn = np.empty((how.resamples, size))
    for part, weights in _counts(sentence_draws(lines, how.resamples, seed)):
        drawn[part] = _f(weights @ flat[1]) - _f(weights @ flat[0])
    signs, exact = permutation_signs(lines, how.permutations, seed)
    change, middle = (flat[1] - flat[0]) / 2, totals.sum(axis=0) / 2
    moved = np.concatenate([signs[part] @ change for part in blocks(len(signs), size * 3 + lines)])
    # Halves of whole numbers are exact; with weights, rounding may leave a trace instead of zero.
    null = _f(np.round(middle + moved, 12)) - _f(np.round(middle - moved, 12))
    old, new = _f(totals[:1])[0], _f(totals[1:])[0]
    swapped = change.reshape(lines, size, 3).any(axis=2).sum(axis=0)
    p = tail_p(null, new - old, exact, swapped)
    seen = (counts.sum(axis=(0, 3)) > 0).sum(axis=0)
    rows = []
    for number in range(size):
        bounds, dropped = interval(drawn[:, number], how.confidence)
        one = (float(old[number]), float(new[number]), bounds, float(p[number]))
        rows.append(Paired(*one, int(seen[number]), dropped))
    return rows


def _f(counts: FloatArray) -> FloatArray:
    """Return F0.5 of rows of sums, draws × (T · 3) → draws × T."""
    parts = np.moveaxis(counts.reshape(len(counts), -1, 3), -1, 0)
    return precision_recall_f(*parts, beta=0.5)[2]


def _counts(draws: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield how often each sentence occurs in each draw, a block of draws at a time."""
    width = draws.shape[1]
    for part in blocks(len(draws), width):
        yield part, draw_weights(draws[part], width)

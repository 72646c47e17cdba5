"""Human scores of systems on resampled corpora."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.stats.counts import ratio
from gecjury.stats.wins import Wins, resampled_wins

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.judgments import JudgedEntries, JudgmentPairs
    from gecjury.benchmarks.table import View


def judged_wins(pairs: JudgmentPairs, sentences: int) -> Wins:
    """Return wins by judgment.

    Args:
        pairs: judgments; ties are ignored.
        sentences: number of sentences of the corpus.
    """
    decided = pairs.decided
    first = decided.preference > 0
    winner = np.where(first, decided.first, decided.second)
    loser = np.where(first, decided.second, decided.first)

    def take(rows: slice, lost: bool) -> FloatArray:
        system, other = (loser, winner) if lost else (winner, loser)
        chosen = (system >= rows.start) & (system < rows.stop)
        wins = np.zeros((sentences, rows.stop - rows.start, len(pairs.systems)))
        at = decided.sentence[chosen], system[chosen] - rows.start, other[chosen]
        np.add.at(wins, at, 1)
        return wins

    return take


def resampled_human_scores(
    benchmark: Benchmark,
    kind: str,
    view: View,
    pairs: JudgmentPairs | JudgedEntries | None,
    counts: FloatArray,
) -> FloatArray | None:
    """Return human scores of systems on every resampled corpus, from judgments of its sentences.

    Published scores are computed from all sentences. For a resampled corpus Expected Wins and mean
    ratings are computed again. For TrueSkill its limit is used: with β = σN/40 for N judgments
    (WMT's convention) performances vary so much that every win moves the two means by the same
    step, and wins minus losses remain. On SEEDA and GJG15 this correlates with
    `gecjury.benchmarks.human_scores.human_trueskill` at .9999 and with the published columns at
    .997 or more.

    Args:
        benchmark: the benchmark with its judgments.
        kind: `trueskill`, `expected-wins` or `mean`.
        view: the view of the judgments.
        pairs: expanded judgments of the view, if any.
        counts: B × sentences.

    Returns:
        B × S, for TrueSkill up to a factor; NaN for a system that no judgment of the draw compares;
        None if there is no data to compute them from.
    """
    sentences = counts.shape[1]
    if kind == "mean" and benchmark.segment_scores is not None:
        rated = ~np.isnan(benchmark.segment_scores)
        sums = counts @ np.where(rated, benchmark.segment_scores, 0.0).T
        return ratio(sums, counts @ rated.T.astype(np.float64), np.nan)
    if pairs is None or not len(pairs):
        return None
    size = len(pairs.systems)
    if kind == "expected-wins":
        from gecjury.benchmarks.judgments import JudgmentPairs

        whole = pairs if isinstance(pairs, JudgmentPairs) else pairs.whole()
        return resampled_wins(judged_wins(whole, sentences), size, counts)
    if kind != "trueskill":
        return None
    # Sums by sentence are computed once; a draw is then one row of a matrix product.
    net, met = np.zeros((2, sentences, size))
    for part in pairs.parts():
        for side, sign in ((part.first, 1), (part.second, -1)):
            np.add.at(net, (part.sentence, side), sign * part.preference)
            np.add.at(met, (part.sentence, side), 1)
    return np.where(counts @ met > 0, counts @ net, np.nan)

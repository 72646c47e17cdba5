"""System scores of resampled corpora: those of metrics under every aggregate, and human ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gecjury.arrays import BLOCK, FloatArray, IntArray, blocks, draw_weights
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, ScoreTable
from gecjury.stats.counts import ratio
from gecjury.stats.ranking import Aggregate
from gecjury.stats.trueskill import Game, meetings, rate_resampled, score_waves

# `rank` resamples without a benchmark, so these are not imported at run time.
if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.judgments import JudgedEntries, JudgmentPairs
    from gecjury.benchmarks.table import View


@dataclass(frozen=True)
class Entry:
    """A metric's scores, and the scorer that computes corpus scores of resampled sentences.

    Attributes:
        table: the scores.
        scorer: None for metrics whose corpus score is the mean of their sentence scores.
    """

    table: ScoreTable
    scorer: Scorer | None = None

    def corpus_scores(self, draws: IntArray) -> FloatArray | None:
        """Return the metric's own corpus scores for B × N sentence indices; None without scorer."""
        if self.scorer is None:
            return None
        return self.scorer.corpus_scores(self.table.statistics, draws).score


def resampled_system_scores(
    aggregate: Aggregate,
    entries: Sequence[Entry],
    draws: IntArray,
    workers: int | None = None,
    *,
    opponents: int | None = None,
    seed: int = 0,
) -> FloatArray:
    """Return system scores of every metric on every resampled corpus; nothing is scored again.

    Args:
        aggregate: rule by which sentence scores become system scores.
        entries: M metrics.
        draws: B × N sentence indices, rows ascending.
        workers: threads for TrueSkill, by default one for each processor.
        opponents: as for `gecjury.stats.ranking.aggregate_scores`.
        seed: seed of the opponents.

    Returns:
        M × B × S.
    """
    counts = draw_weights(draws, draws.shape[1])
    if aggregate == "trueskill":
        tables = [entry.table.sentences for entry in entries]
        size, lines = tables[0].shape
        rounds = None if opponents is None else meetings(size, lines, opponents, seed)
        return _skills(tables, counts, rounds, workers)
    scores = []
    for entry in entries:
        sentences = entry.table.sentences
        if aggregate == "expected-wins":
            scores.append(resampled_wins(score_wins(sentences), len(sentences), counts))
            continue
        # Finished scores, and metrics whose corpus score is a mean, have no scorer.
        drawn = entry.corpus_scores(draws) if aggregate == "corpus" else None
        scores.append(Scores(sentences).mean(draws).score if drawn is None else drawn)
    return np.stack(scores)


def _skills(
    tables: Sequence[FloatArray],
    counts: FloatArray,
    rounds: IntArray | None,
    workers: int | None,
) -> FloatArray:
    """Return TrueSkill of every draw; if a metric never prefers a system, no skill moves."""
    game = Game()
    skills = np.full((len(tables), len(counts), len(tables[0])), game.mu)
    # TrueSkill is played only for metrics with different scores on some sentence.
    moved = [
        number
        for number, table in enumerate(tables)
        if (np.fmax.reduce(table, axis=0) > np.fmin.reduce(table, axis=0)).any()
    ]
    if moved:
        skills[moved] = rate_resampled(
            score_waves([tables[number] for number in moved], rounds),
            counts,
            len(tables[0]),
            game,
            metrics=len(moved),
            workers=workers or os.cpu_count() or 1,
        )
    return skills


Wins = Callable[[slice, bool], FloatArray]
"""Counts, sentences × rows × systems, of wins of some systems over all; of losses to all if True.

They are computed for some systems at a time, since two thousand systems on a thousand sentences
would need 32 GB."""


def score_wins(scores: FloatArray) -> Wins:
    """Return wins by score.

    Args:
        scores: systems × sentences, NaN where not scored.
    """

    def take(rows: slice, lost: bool) -> FloatArray:
        score, other = scores.T[:, rows, None], scores.T[:, None, :]
        return np.asarray(other > score if lost else score > other, dtype=np.float64)

    return take


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


def resampled_wins(
    wins: Wins, size: int, counts: FloatArray, *, at_once: int = BLOCK
) -> FloatArray:
    """Return Expected Wins of every draw, B × S.

    Args:
        wins: the result of `score_wins` or `judged_wins`.
        size: S, number of systems.
        counts: B × sentences.
        at_once: array elements in memory at once.
    """
    rates = np.empty((len(counts), size))
    for rows in blocks(size, size * max(counts.shape), at_once):
        # These are sums of whole numbers, which are exact in any order.
        won, lost = (
            (counts @ wins(rows, side).reshape(counts.shape[1], -1)).reshape(len(counts), -1, size)
            for side in (False, True)
        )
        decided = won + lost
        share = ratio(won, decided, 0.0).sum(axis=2)
        rates[:, rows] = ratio(share, (decided > 0).sum(axis=2), np.nan)
    return rates


def win_rates(scores: FloatArray) -> FloatArray:
    """Return the share of the other systems that each beats on each sentence, ties one half.

    The mean of a row orders systems much as TrueSkill and Expected Wins do. Unlike them it is a
    mean of cells, which a permutation test can swap.

    Args:
        scores: systems × sentences, NaN where not scored.

    Returns:
        The same shape, 0 to 1; NaN where a system has no score or no opponent.
    """
    scored = ~np.isnan(scores)
    total = np.zeros(scores.shape)
    for row in scores:
        total += np.where(np.isnan(row), 0.0, ((scores > row) - 1.0 * (scores < row) + 1) / 2)
    opponents = scored.sum(axis=0) - 1
    rates: FloatArray = (total - 0.5) / np.where(opponents > 0, opponents, np.nan)
    return np.where(scored, rates, np.nan)


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

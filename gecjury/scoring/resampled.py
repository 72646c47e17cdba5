"""System scores of metrics on resampled corpora, under every aggregate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, ScoreTable
from gecjury.stats.ranking import Aggregate, resampled_wins, score_wins
from gecjury.stats.trueskill import Game, meetings, rate_resampled, score_waves


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

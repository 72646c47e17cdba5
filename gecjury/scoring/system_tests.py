"""Scores of systems on resampled sentences, and the certainty of a ranking that follows from them.

The certainty is an interval, paired tests, a range of ranks and a cluster.

Everything is computed from the statistics of one scoring; nothing is scored again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, blocks, draw_weights
from gecjury.core.kept import kept_rows
from gecjury.core.runtime import Runtime
from gecjury.scoring.abilities import ChoosesReferences
from gecjury.scoring.scorer import MeanScorer, Scorer
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.stats.bootstrap import Interval, figure_interval, sentence_draws
from gecjury.stats.choices import Aggregate
from gecjury.stats.counts import defined_mean
from gecjury.stats.permutation import (
    approximate_randomisation,
    holm_matrix,
    p_of_order,
    permutation_signs,
    rank_ranges,
    swapped_means,
    symmetric,
    tail_p,
    wmt_clusters,
)
from gecjury.stats.ranking import aggregate_scores, resampled_wins, score_wins, win_rates
from gecjury.stats.resampling import Resampling

_TOGETHER = 15  # groups of systems whose statistics are in memory at once
_ALONE = 32  # corpora without one sentence that are scored at once
_WEIGHTS = 20_000_000  # weights of sentences in outputs that are in memory at once (160 MB)
_SKILLS = 1  # to be raised when `rate_resampled` computes other skills
_NO_CACHE = Runtime(use_cache=False)


@dataclass(frozen=True)
class RankedMetric:
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
    entries: Sequence[RankedMetric],
    draws: IntArray,
    systems: IntArray | slice = slice(None),
    *,
    opponents: int | None = None,
    seed: int = 0,
    runtime: Runtime = _NO_CACHE,
) -> FloatArray:
    """Return system scores of every metric on every resampled corpus; nothing is scored again.

    Args:
        aggregate: rule by which sentence scores become system scores.
        entries: M metrics.
        draws: B × N sentence indices, rows ascending.
        systems: the S systems that are compared; all by default.
        opponents: as for `gecjury.stats.ranking.aggregate_scores`.
        seed: seed of the opponents.
        runtime: the cache of TrueSkill's skills.

    Returns:
        M × B × S.
    """
    counts = draw_weights(draws, draws.shape[1])
    if aggregate == "trueskill":
        from gecjury.stats.trueskill import meetings

        tables = [entry.table.sentences[systems] for entry in entries]
        size, lines = tables[0].shape
        rounds = None if opponents is None else meetings(size, lines, opponents, seed)
        return _skills(tables, counts, rounds, runtime)
    scores = []
    for entry in entries:
        sentences = entry.table.sentences[systems]
        if aggregate == "expected-wins":
            scores.append(resampled_wins(score_wins(sentences), len(sentences), counts))
            continue
        # Finished scores, and metrics whose corpus score is a mean, have no scorer.
        drawn = entry.corpus_scores(draws) if aggregate == "corpus" else None
        drawn = Scores(sentences).mean(draws).score if drawn is None else drawn[:, systems]
        scores.append(drawn)
    return np.stack(scores)


def _skills(
    tables: Sequence[FloatArray],
    counts: FloatArray,
    rounds: IntArray | None,
    runtime: Runtime,
) -> FloatArray:
    """Return TrueSkill of every draw, NaN for systems that the draw has no score of."""
    from gecjury.stats.trueskill import Game, ScoreWaves, rate_resampled

    game = Game()
    skills = np.full((len(tables), len(counts), len(tables[0])), game.mu)
    # TrueSkill is played only for metrics with different scores on some sentence, and once for two
    # whose scores are opposite, as those of two baselines are: so are their skills.
    moved: list[int] = []
    opposite: dict[int, int] = {}
    for number, table in enumerate(tables):
        if (np.fmax.reduce(table, axis=0) > np.fmin.reduce(table, axis=0)).any():
            reverse = (one for one in moved if np.array_equal(tables[one], -table, equal_nan=True))
            if (one := next(reverse, None)) is None:
                moved.append(number)
            else:
                opposite[number] = one
    drawn = hashlib.sha256(counts.tobytes() + (b"" if rounds is None else rounds.tobytes()))
    about = f"{_SKILLS} {np.__version__} {game} {skills.shape[1:]} {drawn.hexdigest()}".encode()
    keys = [hashlib.sha256(about + tables[number].tobytes()).digest()[:16] for number in moved]

    def play(places: list[int]) -> FloatArray:
        waves = ScoreWaves([tables[moved[place]] for place in places], rounds)
        played = rate_resampled(waves, counts, game, workers=os.cpu_count() or 1)
        return played.reshape(len(places), -1)

    rows = kept_rows(keys, skills[0].size, None, play, runtime)
    skills[moved] = rows.reshape(len(moved), *skills.shape[1:])
    for number, one in opposite.items():
        skills[number] = 2 * game.mu - skills[one]
    for number, table in enumerate(tables):
        # A system without a score in a draw plays with nobody there.
        skills[number][counts @ ~np.isnan(table).T == 0] = np.nan
    return skills


@dataclass(frozen=True)
class SystemTests:
    """Tests between S systems, and what they say about each system's rank.

    Attributes:
        p: two-sided p of the difference of every two systems, S × S, NaN on the diagonal.
        adjusted: the same after Holm's correction.
        ranks: best and worst rank of each system that are consistent with the tests.
        clusters: 1 for the best; None for a system without a score.
    """

    p: FloatArray
    adjusted: FloatArray
    ranks: tuple[tuple[int, int] | None, ...]
    clusters: tuple[int | None, ...]

    @classmethod
    def of(
        cls, scores: FloatArray, p: FloatArray, level: float, tested: FloatArray | None = None
    ) -> SystemTests:
        """Return what p-values say about the ranks of systems.

        Args:
            scores: of each system, higher is better.
            p: two-sided p of every two systems.
            level: of rank ranges and clusters.
            tested: the differences tested, row minus column; by default those of the scores.
        """
        adjusted = holm_matrix(p)
        shown = scores[:, None] - scores
        ranks = rank_ranges(scores, p_of_order(adjusted, shown, tested), level)
        return cls(p, adjusted, ranks, wmt_clusters(scores, ranks))


def compare_systems(
    scorer: Scorer,
    table: ScoreTable,
    aggregate: Aggregate,
    how: Resampling,
    seed: int,
) -> SystemTests:
    """Return tests between the systems of a table.

    Args:
        scorer: the metric that scored the table.
        table: scores and statistics of S systems.
        aggregate: the score that systems are ranked by. Approximate randomisation tests the corpus
            statistic itself for corpus scores, the sentence scores for means, and each sentence's
            share of systems beaten for TrueSkill and Expected Wins.
        how: the permutations, and the level of rank ranges and clusters.
        seed: seed of the permutations.
    """
    scores = aggregate_scores(aggregate, table.sentences, table.by_system.score)
    cells = tested_cells(scorer, table, aggregate)
    if cells is None:
        p = pair_tests(scorer, table, aggregate, how.permutations, seed)
        return SystemTests.of(scores, p, how.level)
    p = mean_pair_tests(cells, how.permutations, seed)
    tested = np.array([defined_mean(row - cells, 1) for row in cells])
    return SystemTests.of(scores, p, how.level, tested)


def aggregated(table: ScoreTable, aggregate: Aggregate) -> Scores:
    """Return the systems' scores by an aggregate.

    Corpus scores and means have precision and recall if the metric has them.
    """
    if aggregate == "corpus":
        return table.by_system
    scores = aggregate_scores(aggregate, table.sentences, table.by_system.score)
    return (
        replace(table.by_sentence.mean(), score=scores) if aggregate == "mean" else Scores(scores)
    )


def measures(scores: Scores) -> dict[str, FloatArray]:
    """Return the score and, if the metric has them, precision and recall, by key."""
    named = {"score": scores.score, "precision": scores.precision, "recall": scores.recall}
    return {key: values for key, values in named.items() if values is not None}


def score_intervals(
    scorer: Scorer, table: ScoreTable, aggregate: Aggregate, how: Resampling, seed: int
) -> tuple[Mapping[str, list[Interval]], int]:
    """Return bootstrap intervals of the systems' scores over resampled sentences.

    Args:
        scorer: the metric that scored the table.
        table: scores and statistics of S systems.
        aggregate: the score that systems are ranked by.
        how: the bootstrap over sentences.
        seed: seed of the resamples.

    Returns:
        Intervals of each system's score, and of its precision and recall where `aggregated` has
        them; and the number of resampled scores that were not defined.
    """
    draws = sentence_draws(table.sentences.shape[1], how.resamples, seed)
    if aggregate == "corpus":
        drawn = scorer.corpus_scores(table.statistics, draws)
    elif aggregate == "mean":
        drawn = table.by_sentence.mean(draws)
    else:
        (scores,) = resampled_system_scores(aggregate, [RankedMetric(table, scorer)], draws)
        if aggregate == "trueskill":
            # Only differences of skills are meaningful: the order of the first comparisons, while
            # all skills are uncertain, shifts all skills together.
            centre = defined_mean(aggregated(table, aggregate).score, 0)
            scores = scores - defined_mean(scores, 1)[:, None] + centre
        drawn = Scores(scores)
    bounds, dropped = {}, 0
    for key, values in measures(drawn).items():
        intervals = [figure_interval(column, how.confidence) for column in values.T]
        bounds[key] = [one for one, _ in intervals]
        dropped += sum(count for _, count in intervals) if key == "score" else 0
    return bounds, dropped


def are_means(scorer: Scorer, table: ScoreTable) -> bool:
    """Return True if corpus scores are means of sentence scores; given totals may be others."""
    means = table.by_sentence.mean().score
    same = np.array_equal(table.by_system.score, means, equal_nan=True)
    return same or isinstance(scorer, MeanScorer)


def pair_tests(
    scorer: Scorer, table: ScoreTable, aggregate: Aggregate, permutations: int, seed: int
) -> FloatArray:
    """Return two-sided p of the difference of every two systems, S × S, NaN on the diagonal.

    Args:
        scorer: the metric that scored the table.
        table: scores and statistics of S systems.
        aggregate: see `compare_systems`.
        permutations: number of permutations of each test.
    """
    if (cells := tested_cells(scorer, table, aggregate)) is not None:
        return mean_pair_tests(cells, permutations, seed)
    size, lines = table.sentences.shape
    pairs = _pairs(size)
    if not pairs:
        return np.full((size, size), np.nan)
    signs, exact = permutation_signs(lines, permutations, seed)
    # The corpus statistic is not a mean over sentences, so both outputs are scored as a whole.
    null = approximate_randomisation(
        lambda which: mixed_scores(scorer, table, pairs, which, np.arange(lines)), signs
    )
    first, second = zip(*pairs, strict=True)
    observed = table.by_system.score[list(first)] - table.by_system.score[list(second)]
    counts = np.nan_to_num(table.statistics.values).reshape(size, lines, -1)
    swapped = np.array([(counts[i] != counts[j]).any(axis=1).sum() for i, j in pairs])
    return symmetric(size, pairs, tail_p(null, observed, exact, swapped))


def tested_cells(scorer: Scorer, table: ScoreTable, aggregate: Aggregate) -> FloatArray | None:
    """Return the values whose means are tested, systems × sentences; None for corpus scores."""
    if aggregate in ("trueskill", "expected-wins"):
        return win_rates(table.sentences)
    return table.sentences if aggregate == "mean" or are_means(scorer, table) else None


def mean_pair_tests(cells: FloatArray, permutations: int, seed: int) -> FloatArray:
    """Return two-sided p of the difference of every two systems' means, NaN on the diagonal.

    Args:
        cells: values of sentences, S × N; NaN is left out.
        permutations: number of permutations of each test.

    Returns:
        Shape S × S.
    """
    size, lines = cells.shape
    pairs = _pairs(size)
    if not pairs:
        return np.full((size, size), np.nan)
    signs, exact = permutation_signs(lines, permutations, seed)
    first, second = map(list, zip(*pairs, strict=True))
    differences = (cells[first] - cells[second]).T
    null, observed = swapped_means(differences, signs)
    swapped = np.count_nonzero(np.nan_to_num(differences), axis=0)
    return symmetric(size, pairs, tail_p(null, observed, exact, swapped))


def _pairs(size: int) -> list[tuple[int, int]]:
    return list(combinations(range(size), 2))


def scores_without(scorer: Scorer, table: ScoreTable, lines: Sequence[int]) -> FloatArray:
    """Return the corpus scores without each of the given lines, lines × systems.

    Args:
        scorer: the metric that scored the table.
        table: scores and statistics of at least two sentences.
        lines: indices of sentences.
    """
    every = np.arange(table.sentences.shape[1])
    scores = [np.zeros((0, len(table.systems)))]
    for part in blocks(len(lines), 1, _ALONE):
        draws = np.array([np.delete(every, line) for line in lines[part]])
        scores.append(scorer.corpus_scores(table.statistics, draws).score)
    return np.concatenate(scores)


def mixed_scores(
    scorer: Scorer,
    table: ScoreTable,
    groups: Sequence[Sequence[int]],
    which: IntArray,
    draws: IntArray,
) -> FloatArray:
    """Return corpus scores of outputs that take each sentence from one of several systems.

    The statistics of a group's systems are concatenated to one system with G · N sentences, and
    each output is a resampled corpus of it. If the metric averages over choices of references, all
    outputs use the same choices.

    Args:
        scorer: the metric that scored the table.
        table: scores and statistics of all systems.
        groups: for each group of outputs, the rows of the G systems that they are taken from.
        which: B × M, the index within the group of the system that a sentence is taken from.
        draws: B × M sentence indices, or shape (M,) if all outputs have the same.

    Returns:
        B × groups. An output that is taken from a single system has that system's score.
    """
    size, lines = len(groups[0]), table.statistics.values.shape[1]
    # A sentence of the second system is `lines` places after that of the first.
    picked = which * lines + draws
    statistics = table.statistics
    choices = [statistics.values]
    if isinstance(scorer, ChoosesReferences):
        choices = [choice.values for choice in scorer.by_choice(statistics)]
    few = np.mean([scorer.corpus_scores(Statistics(values)).score for values in choices], axis=0)
    totals = np.empty((len(picked), len(groups)))
    for start in range(0, len(groups), _TOGETHER):
        columns = slice(start, start + _TOGETHER)
        joined = np.stack(
            [np.concatenate(values[list(rows)]) for rows in groups[columns] for values in choices]
        )
        for part in blocks(len(picked), size * lines, _WEIGHTS):
            scores = scorer.corpus_scores(Statistics(joined), picked[part]).score
            totals[part, columns] = scores.reshape(len(scores), -1, len(choices)).mean(axis=2)
    # The mean over a few choices of references differs a little from the score, which is the mean
    # over many. Outputs are corrected by the differences of their systems, in proportion to the
    # number of sentences from each.
    missed = (table.by_system.score - few)[np.array(groups)]
    for place in range(size):
        totals += (which == place).mean(axis=1)[:, None] * missed[:, place]
    return totals

"""How sure a ranking of systems is: intervals, paired tests, rank ranges and clusters.

Everything comes from the statistics that one scoring left: nothing is scored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.arrays import FloatArray, IntArray, blocks
from gecjury.errors import OptionError
from gecjury.metaeval.resampled import Entry, resampled_system_scores, win_rates
from gecjury.scoring.scorer import MeanScorer, Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.stats.bootstrap import Interval, interval, make_resampled
from gecjury.stats.permutation import holm_matrix, permutation_signs, share_at_least
from gecjury.stats.ranking import Aggregate, aggregate_scores

_TAIL = 10
"""Permutations beyond the observed difference below which p is read from a normal curve."""

_TOGETHER = 15  # groups of systems whose statistics are held at once
_WEIGHTS = 20_000_000  # weights of sentences in outputs that are held at once (160 MB)


@dataclass(frozen=True)
class SystemTests:
    """A ranking and how sure it is.

    Attributes:
        scores: of each system, shape (S,).
        intervals: of each score.
        p: two-sided p of the difference of every two systems, S × S, NaN on the diagonal.
        adjusted: the same after Holm's correction.
        ranks: best and worst rank of each system that the tests leave open.
        clusters: 1 for the best; None for a system without score.
        dropped: resampled scores that were not defined.
    """

    scores: FloatArray
    intervals: tuple[Interval, ...]
    p: FloatArray
    adjusted: FloatArray
    ranks: tuple[tuple[int, int] | None, ...]
    clusters: tuple[int | None, ...]
    dropped: int


def compare_systems(
    scorer: Scorer,
    table: ScoreTable,
    aggregate: Aggregate,
    *,
    resamples: int = 1000,
    permutations: int = 1000,
    confidence: float = 0.95,
    level: float = 0.05,
    seed: int = 0,
    workers: int = 1,
) -> SystemTests:
    """Intervals, tests and clusters of the systems of a table.

    Args:
        scorer: what made the table.
        table: scores and statistics of S systems.
        aggregate: what the systems are ranked by. Corpus scores are tested by approximate
            randomisation of the corpus statistic itself, means by that of the sentence scores,
            TrueSkill and Expected Wins by that of each sentence's share of systems beaten.
        resamples: of the bootstrap over sentences.
        permutations: of each test.
        confidence: of the intervals.
        level: of significance, for rank ranges and clusters.
        seed: of both.
        workers: threads for TrueSkill.
    """
    size, lines = table.sentences.shape
    entry = Entry(
        table.signature.label,
        table.sentences,
        None,
        lambda draws: scorer.corpus_scores(table.statistics, draws).score,
    )
    scores = aggregate_scores(aggregate, table.sentences, table.by_system.score)
    draws = make_resampled("sentences", resamples, lines, size, seed)
    lists = draws.sentences if draws.sentences is not None else np.arange(lines)[None]
    drawn = resampled_system_scores(aggregate, [entry], lists, draws.counts, workers)[0]
    if aggregate == "trueskill":
        # Only differences of skills mean anything: which comparisons come first, while all are
        # uncertain, moves all of them together.
        drawn = drawn - drawn.mean(axis=1, keepdims=True) + scores.mean()
    found = [interval(drawn[:, row], confidence) for row in range(size)]
    p = pair_tests(scorer, table, aggregate, permutations, seed)
    adjusted = holm_matrix(p)
    ranks = rank_ranges(scores, adjusted, level)
    return SystemTests(
        scores,
        tuple(bounds for bounds, _ in found),
        p,
        adjusted,
        ranks,
        wmt_clusters(scores, ranks),
        sum(count for _, count in found),
    )


def pair_tests(
    scorer: Scorer, table: ScoreTable, aggregate: Aggregate, permutations: int, seed: int
) -> FloatArray:
    """Two-sided p of the difference of every two systems, S × S, NaN on the diagonal.

    Args:
        scorer: what made the table.
        table: scores and statistics of S systems.
        aggregate: see `compare_systems`.
        permutations: of each test.
        seed: of the permutations.
    """
    size, lines = table.sentences.shape
    p = np.full((size, size), np.nan)
    signs, exact = permutation_signs(lines, permutations, seed)
    first, second = np.triu_indices(size, 1)
    if not len(first):
        return p
    if aggregate == "corpus" and not isinstance(scorer, MeanScorer):
        null, observed = approximate_randomisation(
            scorer, table, list(zip(first.tolist(), second.tolist(), strict=True)), signs
        )
    else:
        cells = table.sentences
        if aggregate in ("trueskill", "expected-wins"):
            cells = win_rates(cells)
        difference = (cells[first] - cells[second]).T
        known = ~np.isnan(difference)
        total = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
        difference = np.where(known, difference, 0.0)
        null, observed = signs @ difference / total, difference.sum(axis=0) / total
    p[first, second] = p[second, first] = tail_p(null, observed, exact)
    return p


def tail_p(null: FloatArray, observed: FloatArray, exact: bool) -> FloatArray:
    """P values, small ones from a normal curve fitted to the permuted differences.

    With K permutations no counted p is below 1/(K + 1), and Holm's correction multiplies the least
    of 105 tests (15 systems) by 105. Differences of corpus scores under random swaps are sums of
    many small parts, so beyond the last permutations their tail is taken to be normal.

    Args:
        null: K × tests.
        observed: shape (tests,); NaN was not tested.
        exact: whether `null` holds every permutation.
    """
    from scipy.special import ndtr

    with np.errstate(invalid="ignore"):
        counted = share_at_least(null, observed, exact)
        spread = np.sqrt(np.mean(null**2, axis=0))
        smooth = 2 * ndtr(-np.abs(observed) / np.where(spread > 0, spread, np.inf))
    rare = (counted * (len(null) + 1) <= _TAIL) & (spread > 0) & (not exact)
    found = np.where(rare, np.minimum(counted, smooth), counted)
    return np.where(np.isnan(observed), np.nan, found)


def approximate_randomisation(
    scorer: Scorer, table: ScoreTable, pairs: Sequence[tuple[int, int]], signs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Differences of corpus scores when the outputs of sentences are swapped between two systems.

    Args:
        scorer: computes corpus scores of draws.
        table: scores and statistics of all systems.
        pairs: rows of the systems to compare.
        signs: K × N; −1 swaps a sentence.

    Returns:
        Permuted differences, K × pairs, and those of the table, shape (pairs,).

    Raises:
        OptionError: the statistics hold another number of sentences than the signs.
    """
    lines = table.statistics.values.shape[1]
    if signs.shape[1] != lines:
        raise OptionError(f"signs of {signs.shape[1]} sentences for a corpus of {lines}")
    swapped = signs < 0
    which = np.concatenate([swapped, ~swapped]).astype(np.int64)
    draws = np.broadcast_to(np.arange(lines), which.shape)
    scores = mixed_scores(scorer, table, pairs, which, draws)
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    observed = table.by_system.score[first] - table.by_system.score[second]
    return scores[: len(signs)] - scores[len(signs) :], observed


def mixed_scores(
    scorer: Scorer,
    table: ScoreTable,
    groups: Sequence[Sequence[int]],
    which: IntArray,
    draws: IntArray,
) -> FloatArray:
    """Corpus scores of outputs that take each sentence from one of several systems.

    Statistics of the systems of a group are laid end to end as one system with G · N sentences, of
    which each output is a resampled corpus. Where the metric averages over choices of references,
    all outputs meet the same choices.

    Args:
        scorer: computes corpus scores of draws.
        table: scores and statistics of all systems.
        groups: rows of the G systems that a group of outputs is made of.
        which: B × M, the place in the group of the system that a sentence is taken from.
        draws: B × M sentence indices.

    Returns:
        B × groups. An output that has the whole corpus from one system has that system's score.
    """
    size, lines = len(groups[0]), table.statistics.values.shape[1]
    picked = which * lines + draws
    choices = [choice.values for choice in scorer.by_choice(table.statistics)]
    few = np.mean([scorer.corpus_scores(Statistics(values)).score for values in choices], axis=0)
    found = np.empty((len(picked), len(groups)))
    for start in range(0, len(groups), _TOGETHER):
        columns = slice(start, start + _TOGETHER)
        joined = np.stack(
            [np.concatenate(values[list(rows)]) for rows in groups[columns] for values in choices]
        )
        for part in blocks(len(picked), size * lines, _WEIGHTS):
            scores = scorer.corpus_scores(Statistics(joined), picked[part]).score
            found[part, columns] = scores.reshape(len(scores), -1, len(choices)).mean(axis=2)
    # The mean over a few choices of references misses the score, which is the mean over many, by a
    # little. An output takes over what its systems miss, in proportion to its sentences of each.
    missed = (table.by_system.score - few)[np.array(groups)]
    for place in range(size):
        found += (which == place).mean(axis=1)[:, None] * missed[:, place]
    return found


def rank_ranges(
    scores: FloatArray, p: FloatArray, level: float = 0.05
) -> tuple[tuple[int, int] | None, ...]:
    """Ranks that the tests leave open, as the translation tasks of WMT print them.

    The best is one more than the systems that are significantly better, the worst the number of
    systems less those that are significantly worse.

    Args:
        scores: of each system, higher is better; NaN has no rank.
        p: symmetric matrix of (adjusted) p values.
        level: of significance.
    """
    known = ~np.isnan(scores)
    significant = np.nan_to_num(p, nan=1.0) <= level
    found: list[tuple[int, int] | None] = []
    for row, score in enumerate(scores):
        if not known[row]:
            found.append(None)
            continue
        better = int(np.count_nonzero(significant[row] & known & (scores > score)))
        worse = int(np.count_nonzero(significant[row] & known & (scores < score)))
        found.append((better + 1, int(known.sum()) - worse))
    return tuple(found)


def wmt_clusters(
    scores: FloatArray, ranks: Sequence[tuple[int, int] | None]
) -> tuple[int | None, ...]:
    """Clusters of systems: a border where every rank range above ends before all below begin.

    So every system of a cluster is significantly better than every one of the clusters below.

    Args:
        scores: of each system.
        ranks: see `rank_ranges`.
    """
    order = [
        row for row in np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable").tolist()
        if ranks[row] is not None
    ]  # fmt: skip
    found: list[int | None] = [None] * len(scores)
    cluster, reach = 0, 0
    for place, row in enumerate(order):
        low = min(span[0] for span in (ranks[other] for other in order[place:]) if span)
        if place == 0 or low > reach:
            cluster += 1
        span = ranks[row]
        reach = max(reach, span[1] if span else 0)
        found[row] = cluster
    return tuple(found)

"""Differences of two metrics' statistics when systems are swapped between the metrics.

Under the null hypothesis the errors of two metrics on a system are exchangeable, so a permutation
swaps whole systems, in all tasks of a group at once. Correlations are computed from the swapped
system scores. For an accuracy, the two sides of a pair may then come from different metrics. So
that their scores can be compared, both metrics are measured in standard deviations from the mean of
each sentence.

The location and, for correlations, the unit of a metric are estimated from the same few systems, so
the errors of U systems look smaller than they are. Differences of the two metrics are scaled by
√(U/(U − 1)), or √(U/(U − 2)), to restore the level; `tests/gecjury/metaeval/tasks` measures it.
With sentence tasks alone, the test still rejects slightly too often at .05 (.06).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, IntArray, blocks
from gecjury.stats.choices import TieRule
from gecjury.stats.correlation import MEASURES
from gecjury.stats.counts import defined_mean, ratio
from gecjury.stats.permutation import standardise
from gecjury.stats.preferences import outcomes_by_pair, pair_outcomes
from gecjury.stats.soft_accuracy import Differences, normal_confidence

LEAST_UNITS = 4
"""The fewest systems for a test that swaps systems; with fewer, sources are swapped."""


@dataclass(frozen=True)
class CorrelationSwaps:
    """A correlation of system scores with human ones.

    Attributes:
        human: shape (S,), NaN for systems that nobody judged.
        scores: system scores of both metrics, 2 × S, NaN where not scored.
        statistic: one of `gecjury.stats.correlation.MEASURES`.
    """

    human: FloatArray
    scores: FloatArray
    statistic: str

    def gaps(self, swapped: BoolArray) -> FloatArray:
        """Return the differences after swaps, shape (K,); `swapped` is K × systems."""
        one, two = self._standard
        count = one.size
        half = (one - two) / 2 * math.sqrt(count / max(count - 2, 1))
        turned = np.where(swapped[:, self._judged], -half, half)
        middle = np.broadcast_to((one + two) / 2, turned.shape)
        return self._difference(middle + turned, middle - turned)

    def observed(self) -> float:
        """Return the difference of the correlations."""
        one, two = self._standard
        return float(self._difference(one[None], two[None])[0])

    @property
    def _judged(self) -> BoolArray:
        return np.asarray(~np.isnan(self.human + self.scores.sum(axis=0)))

    @property
    def _standard(self) -> tuple[FloatArray, FloatArray]:
        one, two = (standardise(row[self._judged]) for row in self.scores)
        return one, two

    def _difference(self, one: FloatArray, two: FloatArray) -> FloatArray:
        human = np.broadcast_to(self.human[self._judged], one.shape)
        measure = MEASURES[self.statistic]
        # A permutation that leaves a metric constant shows no difference.
        return np.nan_to_num(measure(human, one) - measure(human, two))


@dataclass(frozen=True)
class PairSwaps:
    """An accuracy: a ratio of sums over judged pairs, by the two units and the two metrics.

    Attributes:
        units: number of units.
        first: unit of the first side, shape (cells,).
        second: unit of the second side.
        right: sums of agreement, 4 × cells: with both sides scored by the first metric, with the
            second side by the second metric, with the first side by it, with both sides by it.
        used: sums of weights, of the same shape.
    """

    units: int
    first: IntArray
    second: IntArray
    right: FloatArray
    used: FloatArray

    def observed(self) -> float:
        """Return the difference of the accuracies."""
        return float(self.gaps(np.zeros((1, self.units), dtype=np.bool_))[0])

    def gaps(self, swapped: BoolArray) -> FloatArray:
        """Return the differences after swaps, shape (K,); `swapped` is K × units."""
        cells, parts = np.arange(len(self.first)), []
        for rows in blocks(len(swapped), max(len(cells), 1), BLOCK):
            metric = 2 * swapped[rows][:, self.first] + swapped[rows][:, self.second]
            one, two = (
                ratio(self.right[who, cells].sum(axis=1), self.used[who, cells].sum(axis=1), np.nan)
                for who in (metric, 3 - metric)
            )
            parts.append(np.nan_to_num(one - two))
        return np.concatenate(parts)


Swaps = CorrelationSwaps | PairSwaps
"""Two metrics in one task, with the units that can be swapped between them."""


@dataclass(frozen=True)
class JudgedPairs:
    """Judged pairs of corrections.

    Attributes:
        preference: +1 if people preferred the first, −1 if the second, 0 if neither.
        first: unit of the first side: its system, or its source where sources are swapped.
        second: unit of the second side.
        units: number of units.
        group: the sentence or ranking of each pair.
        ties: the tie rule of the metrics.
        by_group: True if groups have equal weight, as in acc_eq; otherwise pairs have.
    """

    preference: IntArray
    first: IntArray
    second: IntArray
    units: int
    group: IntArray
    ties: TieRule
    by_group: bool = False


def judged_swaps(
    judged: JudgedPairs, one: Sequence[FloatArray], two: Sequence[FloatArray]
) -> PairSwaps:
    """Return an accuracy of two metrics under swaps, over the pairs that both scored.

    Args:
        judged: the pairs.
        one: a metric's scores of the first and of the second sides, each of shape (pairs,).
        two: the other metric's scores.
    """
    kept = ~np.isnan(np.sum([*one, *two], axis=0))
    wanted, group, size = judged.preference[kept], judged.group[kept], judged.units
    units = np.stack([judged.first[kept], judged.second[kept]])
    raw = [[side[kept] for side in metric] for metric in (one, two)]
    scaled = [_from_group_means(sides, group) for sides in raw]
    # Pairs within one metric keep its own scores and ties: these are the observed outcomes.
    cross = _apart(scaled, units, size)
    weight = np.ones(len(wanted))
    if judged.by_group:
        _, place, sizes = np.unique(group, return_inverse=True, return_counts=True)
        weight = 1 / sizes[place]
    cell, at = np.unique(units[0] * size + units[1], return_inverse=True)
    right, used = np.zeros((2, 4, len(cell)))
    combinations = [raw[0], (cross[0][0], cross[1][1]), (cross[1][0], cross[0][1]), raw[1]]
    for row, (first, second) in enumerate(combinations):
        outcomes = pair_outcomes(
            wanted, first, second, ties=judged.ties, groups=group if judged.by_group else None
        )
        agreement, _, counted = outcomes_by_pair(outcomes)
        right[row] = np.bincount(at, agreement * weight, minlength=len(cell))
        used[row] = np.bincount(at, counted * weight, minlength=len(cell))
    return PairSwaps(size, cell // size, cell % size, right, used)


def soft_swaps(wanted: Differences, one: FloatArray, two: FloatArray) -> PairSwaps:
    """Return soft pairwise accuracy of two metrics under swaps of systems.

    SPA is the mean of 1 − |p_h − p_m| over the pairs of systems (i, j). Both p are one-sided and
    paired, p = Φ(−Σd/√Σd²) over the sentences that people judged for the pair and both metrics
    scored: d is people's preference for i in p_h, and x_i − y_j in p_m, where x are the scores by
    the metric that i has after the swap, and y those by the metric that j has.

    If both have the same metric, x and y are its own scores. Otherwise, each metric is centred on
    the mean of every sentence and measured in its own standard deviations. Then both are moved
    apart by system, so that the means a_i and b_i of the two metrics keep their middle and differ
    by w(a_i − b_i), w = √(U/(U − 1)), because centring on the same systems made them too alike.

    Args:
        wanted: human differences.
        one: a metric's scores, systems × sentences; `two` likewise.
    """
    size, places = len(one), wanted.compared
    # The systems i and j of every compared pair, each of shape (pairs,).
    first, second = (side[places] for side in np.triu_indices(size, 1))
    scored = ~np.isnan(one + two)
    # People's d, sentences × pairs; NaN where it does not count, here and in the metrics' d.
    judged = np.where(scored[first].T & scored[second].T, wanted.take(places), np.nan)

    def p_of(differences: FloatArray) -> FloatArray:
        """Return p of every pair: the normal limit, with every sentence counted once."""
        return np.asarray(normal_confidence(differences, np.ones((1, len(judged))))[0])

    scaled = [standardise(table - defined_mean(table, 0)) for table in (one, two)]
    # a_i and b_i, systems × 1; each metric moves by half of what the difference gains.
    means = [np.nan_to_num(defined_mean(table, 1))[:, None] for table in scaled]
    more = (means[0] - means[1]) * (_widened(size) - 1) / 2
    apart = scaled[0] + more, scaled[1] - more
    # In the order of `PairSwaps.right`: the metrics of (i, j) are 11, 12, 21, 22.
    sides = (one, one), apart, apart[::-1], (two, two)
    metrics = [p_of(np.where(np.isnan(judged), np.nan, (x[first] - y[second]).T)) for x, y in sides]
    distance = np.abs(p_of(judged) - np.stack(metrics))
    used = (~np.isnan(distance)).astype(np.float64)
    return PairSwaps(size, first, second, np.where(used > 0, 1 - distance, 0.0), used)


def _widened(units: int) -> float:
    """Return the factor by which differences of U units' means exceed the observed ones."""
    return math.sqrt(units / max(units - 1, 1))


def _from_group_means(sides: Sequence[FloatArray], group: IntArray) -> list[FloatArray]:
    """Return scores minus the mean of their group, in standard deviations."""
    if not len(group):
        return [*sides]
    scores, at = np.concatenate(sides), np.concatenate([group, group])
    means = ratio(np.bincount(at, scores), np.bincount(at), 0.0)
    first, second = standardise((scores - means[at]).reshape(2, -1))
    return [first, second]


def _apart(
    scaled: Sequence[Sequence[FloatArray]], units: IntArray, size: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Return both metrics' scores with larger differences of their units' means."""
    at = units.ravel()
    count = np.bincount(at, minlength=size)
    one, two = (
        ratio(np.bincount(at, np.concatenate(sides), minlength=size), count, 0.0)
        for sides in scaled
    )
    more = (one - two) * (_widened(int(np.count_nonzero(count))) - 1) / 2
    return [
        (sides[0] + sign * more[units[0]], sides[1] + sign * more[units[1]])
        for sides, sign in zip(scaled, (1, -1), strict=True)
    ]

"""Agreement within groups: outputs of one source, and systems of adjacent human ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import OptionError
from gecjury.stats.correlation import (
    pearson,
    pearson_of_sums,
    pearsons,
    signs,
    spearman,
    spearmans,
    taus,
)

_MEASURES = {"pearson": pearsons, "spearman": spearmans, "kendall": taus}


def group_correlations(
    human: FloatArray,
    metric: FloatArray,
    measure: Literal["pearson", "spearman", "kendall"] = "pearson",
) -> FloatArray:
    """Return the correlation of the outputs of each source; mt-metrics-eval reports their mean.

    Args:
        human: ratings, systems × sentences, NaN where there is none.
        metric: scores, of the same shape.
        measure: Pearson's r, Spearman's ρ or Kendall's τ-b. Two points have a correlation here
            (of 1 or −1), as in mt-metrics-eval.

    Returns:
        One number per sentence, between −1 and 1; NaN where not defined.
    """
    present = ~(np.isnan(human) | np.isnan(metric))
    return _MEASURES[measure](human.T, metric.T, present.T.astype(np.float64))


def difference_sums(human: FloatArray, metric: FloatArray) -> FloatArray:
    """Return the sums of each source from which `pearson_of_differences` is computed.

    Over all pairs of n outputs the products of differences, (h − h′)·(m − m′), sum up to n times
    the sum of the products of deviations from the source's mean.

    Args:
        human: ratings, systems × sentences, NaN where there is none.
        metric: scores, of the same shape.

    Returns:
        Sums over the pairs' differences of h·m, h² and m², 3 × sentences; 0 without a pair.
    """
    h, m = human.T, metric.T
    both = ~(np.isnan(h) | np.isnan(m))
    size = both.sum(axis=1, keepdims=True)
    deviations = []
    for values in (h, m):
        # Subtract the source's minimum, so that equal values differ from their mean by exactly 0.
        lowest = np.where(both, values, np.inf).min(axis=1, keepdims=True, initial=np.inf)
        raised = np.where(both, values - np.where(np.isfinite(lowest), lowest, 0.0), 0.0)
        means = raised.sum(axis=1, keepdims=True) / np.maximum(size, 1)
        deviations.append(np.where(both, raised - means, 0.0))
    x, y = deviations
    sums: FloatArray = size[:, 0] * np.stack([x * y, x * x, y * y]).sum(axis=2)
    return sums


def pearson_of_differences(sums: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return Pairwise Difference Pearson (PDP; DiIanni and Deutsch 2025).

    This is Pearson's r of the differences of ratings and of scores, over all pairs of outputs of a
    group and over all groups together. A large difference counts more than a small one. Each pair
    is used in both directions, so that the order of the systems does not matter.

    Args:
        sums: the result of `difference_sums`, 3 × groups.
        weights: count of each group in each draw, draws × groups; None if each counts once.

    Returns:
        Between −1 and 1, higher is better, shape (draws,) or (1,); NaN where all pairs are tied on
        either side.
    """
    total = sums.sum(axis=1)[:, None] if weights is None else sums @ weights.T
    # The differences sum up to 0, whatever the number of pairs.
    nothing = np.zeros(1)
    r = pearson_of_sums(np.ones(1), nothing, nothing, total[1], total[2], total[0])
    return np.where((total[1] > 0) & (total[2] > 0), r, np.nan)


@dataclass(frozen=True, slots=True)
class GroupedPairs:
    """Pairs of outputs of the same source, as parallel arrays.

    Attributes:
        preference: +1 if humans found the first better, −1 if the second, 0 if neither.
        first: metric score of the first output.
        second: metric score of the second.
        group: number of the source.
    """

    preference: IntArray
    first: FloatArray
    second: FloatArray
    group: IntArray


def grouped_pairs(human: FloatArray, metric: FloatArray) -> GroupedPairs:
    """Return all pairs of rated and scored outputs of every source.

    Args:
        human: ratings, systems × sentences, NaN where there is none.
        metric: scores, of the same shape.
    """
    parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
    for human_row, metric_row in zip(human.T, metric.T, strict=True):
        places = np.flatnonzero(~(np.isnan(human_row) | np.isnan(metric_row)))
        first, second = (places[side] for side in np.triu_indices(len(places), 1))
        sign = signs(human_row[first], human_row[second]).astype(np.int64)
        parts.append((sign, metric_row[first], metric_row[second]))
    sign = np.concatenate([part[0] for part in parts])
    left, right = (np.concatenate([part[side] for part in parts]) for side in (1, 2))
    labels = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    return GroupedPairs(sign, left, right, labels)


def window_correlations(
    human: FloatArray, metric: FloatArray, size: int
) -> Iterator[tuple[IntArray, float, float]]:
    """Yield Pearson's r and Spearman's ρ over every run of systems adjacent in the human ranking.

    Args:
        human: human scores, shape (systems,); a system without one is left out.
        metric: metric scores, shape (systems,).
        size: systems in a window, at least 3.

    Yields:
        The systems of a window, best first, and both correlations, NaN where not defined. Windows
        go from the best systems to the worst; there are none if there are too few systems.

    Raises:
        OptionError: the size is below 3.
    """
    if size < 3:
        raise OptionError(f"window size {size}: expected 3 or more for a defined correlation")
    order = np.argsort(-human, kind="stable")
    order = order[~np.isnan(human[order])]
    for start in range(len(order) - size + 1):
        run = order[start : start + size]
        yield run, pearson(human[run], metric[run]), spearman(human[run], metric[run])

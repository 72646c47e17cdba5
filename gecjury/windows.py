"""Where in the human ranking a metric agrees: windows of neighbours, and pairs of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray
from gecjury.correlation import TieRule, pearson, preference_agreement, spearman
from gecjury.errors import OptionError

__all__ = ["PairTable", "Windows", "human_ranks", "pair_table", "window_correlations"]


@dataclass(frozen=True, slots=True)
class Windows:
    """Correlations over runs of systems that are neighbours in the human ranking.

    Attributes:
        size: systems in a window.
        starts: rank of each window's best system, 1 is best; shape (windows,).
        systems: indices of each window's systems, best first; shape (windows, size).
        pearson: shape (windows,); NaN where not defined.
        spearman: shape (windows,); NaN where not defined.
    """

    size: int
    starts: IntArray
    systems: IntArray
    pearson: FloatArray
    spearman: FloatArray


def _order(human: FloatArray) -> IntArray:
    """Indices of the systems with a human score, best first, equals in the order given."""
    order = np.argsort(-human, kind="stable")
    return np.asarray(order[~np.isnan(human[order])], dtype=np.int64)


def human_ranks(human: NDArray[Any]) -> IntArray:
    """Rank of each system in the human ranking.

    Args:
        human: human scores, shape (systems,), higher is better.

    Returns:
        Ranks from 0, best first, equals in the order given; -1 without a human score.
    """
    scores = np.asarray(human, dtype=np.float64)
    ranks = np.full(len(scores), -1, dtype=np.int64)
    order = _order(scores)
    ranks[order] = np.arange(len(order))
    return ranks


def window_correlations(human: NDArray[Any], metric: NDArray[Any], size: int) -> Windows:
    """Correlations over every run of `size` systems adjacent in the human ranking.

    Args:
        human: human scores, shape (systems,); a system without one is left out.
        metric: metric scores, shape (systems,).
        size: systems in a window, at least 3.

    Returns:
        One entry a window, from the best systems to the worst; none if there are too few systems.

    Raises:
        OptionError: a size below 3, or shapes that differ.
    """
    scores, others = np.asarray(human, dtype=np.float64), np.asarray(metric, dtype=np.float64)
    if scores.ndim != 1 or scores.shape != others.shape:
        raise OptionError(
            f"scores of shapes {scores.shape} and {others.shape}: expected two equal vectors"
        )
    if size < 3:
        raise OptionError(f"window size {size}: expected 3 or more, or no correlation is defined")
    order = _order(scores)
    count = max(len(order) - size + 1, 0)
    systems = np.array([order[i : i + size] for i in range(count)], dtype=np.int64)
    systems = systems.reshape(count, size)
    return Windows(
        size,
        np.arange(1, count + 1),
        systems,
        np.array([pearson(scores[run], others[run]) for run in systems], dtype=np.float64),
        np.array([spearman(scores[run], others[run]) for run in systems], dtype=np.float64),
    )


@dataclass(frozen=True, slots=True)
class PairTable:
    """Agreement with human preferences, broken down by two labels of a pair.

    Attributes:
        accuracy: shape (size, size), symmetric; NaN in cells without pairs.
        counts: pairs in each cell, those with missing scores left out; symmetric.
        ties: the rule for ties of the metric.
    """

    accuracy: FloatArray
    counts: IntArray
    ties: TieRule


def pair_table(
    rows: NDArray[Any],
    columns: NDArray[Any],
    human: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    *,
    size: int,
    ties: TieRule = "half",
) -> PairTable:
    """Accuracy and count of pairs by two labels, e.g. by system or by rank in the human ranking.

    By system the labels are `pairs.first` and `pairs.second`; by human rank, with
    `ranks = human_ranks(scores)`, they are `ranks[pairs.first]` and `ranks[pairs.second]`; by the
    ranks that the annotator gave, `pairs.first_rank - 1` and `pairs.second_rank - 1`.

    Args:
        rows: label of the first of each pair, 0 to size - 1; a negative one leaves the pair out.
        columns: label of the second.
        human: +1, -1 or 0, as for `preference_agreement`.
        first: metric score of the first.
        second: metric score of the second.
        size: number of labels.
        ties: rule for ties of the metric; `calibrated` would fit every cell and is refused.

    Returns:
        The two tables; which side of a pair bore which label makes no difference to the cell.

    Raises:
        OptionError: `calibrated`, an unknown rule, a label out of range or unequal lengths.
    """
    if ties == "calibrated":
        raise OptionError("pairwise analysis with ties='calibrated': choose half, loss, drop, ...")
    one, two = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
    wanted = np.asarray(human, dtype=np.int64)
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len({one.shape, two.shape, wanted.shape, a.shape, b.shape}) > 1:
        raise OptionError("pairs of different lengths: expected one label, preference and score")
    if len(one) and max(one.max(), two.max()) >= size:
        raise OptionError(f"label {max(one.max(), two.max())}: expected less than {size}")
    accuracy = np.full((size, size), np.nan)
    counts = np.zeros((size, size), dtype=np.int64)
    cell = np.where((one < 0) | (two < 0), -1, np.minimum(one, two) * size + np.maximum(one, two))
    for code in np.unique(cell[cell >= 0]):
        here = cell == code
        found = preference_agreement(wanted[here], a[here], b[here], ties=ties)
        i, j = divmod(int(code), size)
        accuracy[i, j] = accuracy[j, i] = found.accuracy
        counts[i, j] = counts[j, i] = found.pairs - (found.tied if ties == "drop" else 0)
    return PairTable(accuracy, counts, ties)

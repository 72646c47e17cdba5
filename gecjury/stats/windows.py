"""Where in the human ranking a metric agrees: windows of neighbours, and pairs of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray
from gecjury.errors import OptionError
from gecjury.stats.correlation import pearson, spearman


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

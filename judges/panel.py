"""Several models as one scorer: the mean, the median or the majority of their scores."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

__all__ = ["combine"]


def combine(scores: Sequence[float], how: Literal["mean", "median", "majority"]) -> float:
    """One score of several members' scores of one correction.

    Args:
        scores: one a member; NaN where a member has none.
        how: `majority` takes the most frequent score, and the median of several equally
            frequent ones.

    Returns:
        NaN unless more than half of the members have a score: fewer do not speak for a panel.
    """
    known = [score for score in scores if not np.isnan(score)]
    if 2 * len(known) <= len(scores):
        return float("nan")
    if how == "mean":
        return statistics.fmean(known)
    if how == "median":
        return float(statistics.median(known))
    counts = Counter(known)
    most = max(counts.values())
    return float(statistics.median(score for score, count in counts.items() if count == most))

"""Segment-level correlation with ratings: over all outputs, within sources, or within systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray
from gecjury.errors import OptionError
from gecjury.stats.correlation import kendall, pearson, spearman
from gecjury.stats.preferences import PreferenceAgreement, preference_agreement

__all__ = [
    "GroupBy",
    "GroupedPairs",
    "accuracy_with_ties",
    "group_correlations",
    "grouped_accuracy",
    "grouped_correlation",
    "grouped_pairs",
]

GroupBy = Literal["item", "system", "none"]
"""`none` takes all outputs together, `item` those of one source, `system` those of one system;
the groups' values are averaged, and groups without a defined value are left out."""

_MEASURES = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def _groups(
    human: FloatArray, metric: FloatArray, group_by: GroupBy
) -> Iterator[tuple[FloatArray, FloatArray]]:
    if group_by not in get_args(GroupBy):
        raise OptionError(f"group_by={group_by!r}: expected {', '.join(get_args(GroupBy))}")
    if human.shape != metric.shape or human.ndim != 2:
        raise OptionError(
            f"scores of shapes {human.shape} and {metric.shape}: expected two tables systems × "
            "sentences"
        )
    known = ~(np.isnan(human) | np.isnan(metric))
    if group_by == "none":
        yield human[known], metric[known]
        return
    tables = (known, human, metric) if group_by == "system" else (known.T, human.T, metric.T)
    for some, wanted, given in zip(*tables, strict=True):
        yield wanted[some], given[some]


def group_correlations(
    human: FloatArray,
    metric: FloatArray,
    group_by: GroupBy = "none",
    measure: Literal["pearson", "spearman", "kendall"] = "pearson",
) -> FloatArray:
    """Correlation of each group, NaN where not defined; see `grouped_correlation`."""
    if measure not in _MEASURES:
        raise OptionError(f"measure={measure!r}: expected {', '.join(_MEASURES)}")
    values = []
    for wanted, given in _groups(human, metric, group_by):
        function = kendall if len(wanted) == 2 else _MEASURES[measure]
        values.append(function(wanted, given))
    return np.array(values, dtype=np.float64)


def grouped_correlation(
    human: FloatArray,
    metric: FloatArray,
    group_by: GroupBy = "none",
    measure: Literal["pearson", "spearman", "kendall"] = "pearson",
) -> float:
    """Mean correlation over groups of outputs, as mt-metrics-eval averages it.

    Args:
        human: ratings, systems × sentences, NaN where there is none.
        metric: scores, likewise.
        group_by: see `GroupBy`.
        measure: Pearson's r, Spearman's ρ or Kendall's τ-b. Two points make a correlation here
            (of 1 or −1), as they do there.

    Returns:
        Between −1 and 1; NaN where no group defines it.

    Raises:
        OptionError: an unknown grouping or measure, or shapes that do not fit.
    """
    values = group_correlations(human, metric, group_by, measure)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


@dataclass(frozen=True, slots=True)
class GroupedPairs:
    """Pairs of outputs that one group holds, as parallel arrays.

    Attributes:
        preference: +1 where humans found the first better, −1 the second, 0 neither.
        first: metric score of the first output.
        second: metric score of the second.
        group: number of the group.
    """

    preference: NDArray[np.int64]
    first: FloatArray
    second: FloatArray
    group: NDArray[np.int64]


def grouped_pairs(human: FloatArray, metric: FloatArray, group_by: GroupBy) -> GroupedPairs:
    """Every two outputs of every group that are rated and scored.

    Args:
        human: ratings, systems × sentences, NaN where there is none.
        metric: scores, likewise.
        group_by: see `GroupBy`; groups are numbered as systems or sentences are.

    Raises:
        OptionError: an unknown grouping, or shapes that do not fit.
    """
    parts: list[tuple[NDArray[np.int64], FloatArray, FloatArray]] = []
    for wanted, given in _groups(human, metric, group_by):
        first, second = np.triu_indices(len(wanted), 1)
        sign = np.sign(wanted[first] - wanted[second]).astype(np.int64)
        parts.append((sign, given[first], given[second]))
    sign = np.concatenate([part[0] for part in parts])
    one, two = (np.concatenate([part[side] for part in parts]) for side in (1, 2))
    labels = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    return GroupedPairs(sign, one, two, labels)


def accuracy_with_ties(pairs: GroupedPairs, *, calibrated: bool = True) -> PreferenceAgreement:
    """Pairwise accuracy with ties (acc_eq), the mean over groups; see `grouped_accuracy`."""
    sign, one, two = pairs.preference, pairs.first, pairs.second
    if calibrated:
        return preference_agreement(sign, one, two, ties="calibrated", groups=pairs.group)
    # Whether a pair is judged alike, tie or not, is itself put as a preference to be met.
    right = np.where(np.isnan(one) | np.isnan(two), np.nan, np.sign(one - two) == sign)
    return preference_agreement(
        np.ones(len(right), dtype=np.int64), right, 1 - right, ties="loss", groups=pairs.group
    )


def grouped_accuracy(
    human: FloatArray, metric: FloatArray, group_by: GroupBy = "item", *, calibrated: bool = True
) -> PreferenceAgreement:
    """Pairwise accuracy with ties (acc_eq) over pairs of outputs of a group.

    Args:
        human: ratings, systems × sentences, NaN where there is none.
        metric: scores, likewise.
        group_by: see `GroupBy`; with `none` there are (systems · sentences)² / 2 pairs.
        calibrated: choose the threshold of ties; otherwise only equal scores are a tie.

    Returns:
        `accuracy` is the mean over the groups, `epsilon` the threshold.

    Raises:
        OptionError: an unknown grouping, or shapes that do not fit.
    """
    return accuracy_with_ties(grouped_pairs(human, metric, group_by), calibrated=calibrated)

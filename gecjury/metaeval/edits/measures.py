"""Agreement of credits with verdicts on edits: AUC, average precision, accuracy.

Intervals come from resampled sources with all their edits, because edits of one source are alike,
and the same edit occurs in several corrections of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray, blocks
from gecjury.metaeval.study import AgreementRow
from gecjury.scoring.abilities import EditCase
from gecjury.stats.bootstrap import figure_interval, group_counts
from gecjury.stats.counts import ratio

CONFIDENCE = 0.95
# Resamples computed at once; this bounds the memory.
_AT_ONCE = 100


EDIT_STATISTICS = (
    "auc", "average_precision", "average_precision_invalid", "accuracy", "balanced", "kappa",
)  # fmt: skip
"""Statistics of single edits, in the order in which tables show them."""


def ranking_measures(pos: FloatArray, neg: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return AUC and average precision of valid and of invalid edits, from weights by score.

    Args:
        pos: ... × K weights of valid edits at K distinct scores, lowest first.
        neg: weights of invalid edits, of the same shape.

    Returns:
        Three arrays of shape ...; NaN where valid or invalid edits are absent.
    """
    below_pos, below_neg = np.cumsum(pos, axis=-1), np.cumsum(neg, axis=-1)
    all_pos, all_neg = below_pos[..., -1:], below_neg[..., -1:]
    auc = ratio((pos * (below_neg - neg / 2)).sum(axis=-1), (all_pos * all_neg)[..., 0], np.nan)
    above_pos, above_neg = all_pos - below_pos + pos, all_neg - below_neg + neg
    # Tied edits are ranked together: their precision is that of the last of them.
    precise = ratio(above_pos, above_pos + above_neg, 0.0)
    valid = ratio((pos * precise).sum(axis=-1), all_pos[..., 0], np.nan)
    precise = ratio(below_neg, below_pos + below_neg, 0.0)
    invalid = ratio((neg * precise).sum(axis=-1), all_neg[..., 0], np.nan)
    # With one class only the ranking cannot be measured, whatever the precision.
    nan = np.where((all_pos * all_neg)[..., 0] > 0, 0.0, np.nan)
    return auc + nan, valid + nan, invalid + nan


def weighted_ranking(
    score: FloatArray, truth: BoolArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `ranking_measures` of N items, at least one, under each row of weights.

    Args:
        score: score of each item, lowest first.
        truth: True for valid items.
        weights: B × N.
    """
    starts = np.flatnonzero(np.diff(score, prepend=np.nan) != 0)
    pos = np.add.reduceat(weights * truth, starts, axis=1)
    neg = np.add.reduceat(weights * ~truth, starts, axis=1)
    return ranking_measures(pos, neg)


def source_halves(cases: Sequence[EditCase], seed: int) -> tuple[IntArray, BoolArray, int]:
    """Split the sources of edits into two halves.

    Returns:
        The source of each case as a number from 0, and whether it is in the first half, both of
        shape (cases,), and the number of sources. If that is odd, the first half is larger.
    """
    numbers: dict[str, int] = {}
    source = np.array([numbers.setdefault(c.source, len(numbers)) for c in cases], dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(numbers))
    first = np.isin(source, order[: (len(numbers) + 1) // 2])
    return source, first, len(numbers)


@dataclass(frozen=True)
class _EditSample:
    """The edits compared, sorted by score.

    Attributes:
        score: N scores, lowest first.
        truth: True for each edit that annotators accepted.
        source: number of each edit's source.
        half: 0 or 1; all 0 if nothing is held out.
    """

    score: FloatArray
    truth: BoolArray
    source: IntArray
    half: IntArray

    def take(self, chosen: BoolArray) -> _EditSample:
        return _EditSample(
            self.score[chosen], self.truth[chosen], self.source[chosen], self.half[chosen]
        )


def edit_agreement(
    cases: Sequence[EditCase],
    scores: FloatArray,
    *,
    metric: str = "",
    family: str = "",
    threshold: float | None = 0.5,
    resamples: int = 0,
    seed: int = 0,
) -> AgreementRow:
    """Compare scores with verdicts on valid and invalid edits.

    The `values` are `auc`, the probability that a valid edit scores above an invalid one, ties one
    half; `average_precision`, the mean precision of valid edits, highest scores first (ties
    together); `average_precision_invalid`, that of invalid edits, lowest scores first; `accuracy`,
    the share of edits on the right side of the threshold; `balanced`, the mean of the accuracies
    over valid and over invalid edits; `kappa`, Cohen's κ of the classification as valid or invalid;
    and the numbers of edits compared (`cases`), of those that the annotators accepted (`valid`), of
    those without a score (`missing`) and of those on which annotators are evenly split (`split`).
    The last two are left out. The intervals keep the thresholds, and all scores have the same draws
    of sources.

    Args:
        cases: N judged edits.
        scores: shape (N,), higher for valid edits, NaN where there is none.
        metric: whose scores they are.
        family: the family of the row.
        threshold: scores above it count as valid, a score equal to it as half right. If None, the
            threshold that is best on one half of the sources (chosen separately for `accuracy`,
            `balanced` and `kappa`) is applied to the other half, both ways, and the two results are
            averaged.
        resamples: number of resamples of the sources, for intervals.
        seed: the seed of the split into halves and of the resamples.
    """
    votes = np.array([case.valid for case in cases])
    source, first, sources = source_halves(cases, seed)
    split = votes == 0.5
    missing = np.isnan(scores) & ~split
    used = np.flatnonzero(~split & ~missing)
    # The edits are sorted once; a resample only changes their weights.
    used = used[np.argsort(scores[used], kind="stable")]
    sample = _EditSample(
        scores[used].astype(np.float64),
        votes[used] > 0.5,
        source[used],
        np.where(first[used], 0, 1) if threshold is None else np.zeros(len(used), dtype=np.int64),
    )
    said, thresholds = _said(sample, threshold)
    ones = np.ones((1, len(used)))
    measured = {k: float(v[0]) for k, v in _measures(sample, said, ones).items()}
    # Resamples have a separate random stream, independent of the split into halves.
    draws = group_counts(sources, resamples, [seed, 1])
    drawn = _drawn(sample, said, draws)
    unscored = int(missing.sum())
    counts = {"cases": len(used), "valid": int(sample.truth.sum())}
    counts |= {"missing": unscored, "split": int(split.sum())}
    bounds = {name: figure_interval(drawn[name], CONFIDENCE, measured[name])[0] for name in drawn}
    row = AgreementRow("edit", metric, family, "edit", measured | counts, missing=unscored)
    return replace(row, intervals=bounds, drawn=drawn, thresholds=thresholds)


def _said(
    sample: _EditSample, threshold: float | None
) -> tuple[dict[str, FloatArray], dict[str, tuple[float, ...]]]:
    """Return the classification of each edit (1 valid, ½ undecided), and the thresholds."""
    names = EDIT_STATISTICS[-3:]
    if threshold is not None:
        at = np.where(sample.score == threshold, 0.5, sample.score > threshold).astype(np.float64)
        return dict.fromkeys(names, at), dict.fromkeys(names, (threshold,))
    said, thresholds = {}, {}
    for name in names:
        cuts = [_best_cut(sample.take(sample.half == other), name) for other in (1, 0)]
        thresholds[name] = tuple(cuts)
        at = np.array(cuts)[sample.half]
        said[name] = np.where(np.isnan(at), np.nan, sample.score > at)
    return said, thresholds


def _best_cut(sample: _EditSample, name: str) -> float:
    """Return the threshold with the best value of a measure, the lowest if several are equal.

    Candidates are half-way between neighbouring scores, below all and above all. NaN if the edits
    do not define the measure.
    """
    if not len(sample.score) or (name != "accuracy" and sample.truth.all() == sample.truth.any()):
        return float("nan")
    ends = np.flatnonzero(np.diff(sample.score, append=np.nan) != 0)
    pos, neg = sample.truth.sum(), (~sample.truth).sum()
    right_pos = pos - np.concatenate([[0], np.cumsum(sample.truth)[ends]])
    right_neg = np.concatenate([[0], np.cumsum(~sample.truth)[ends]])
    if name == "balanced":
        value = right_pos / pos + right_neg / neg
    else:
        value = (right_pos + right_neg) / (pos + neg)
    if name == "kappa":
        value = _chance_corrected(value, (right_pos + neg - right_neg) / (pos + neg), pos, neg)
    # Rounding makes the choice among equal thresholds independent of the order of sums.
    best = int(np.argmax(np.round(value, 12)))
    if best == 0:
        return float("-inf")
    if best == len(ends):
        return float("inf")
    low, high = float(sample.score[ends[best - 1]]), float(sample.score[ends[best - 1] + 1])
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def _measures(
    sample: _EditSample, said: Mapping[str, FloatArray], weights: FloatArray
) -> dict[str, FloatArray]:
    """Return every measure under B weightings of the edits."""
    if not len(sample.score):
        return dict.fromkeys(EDIT_STATISTICS, np.full(len(weights), np.nan))
    halves = [sample.half == half for half in np.unique(sample.half)]
    of_accuracy, of_balanced, of_kappa = (
        np.where(sample.truth, values, 1 - values) for values in said.values()
    )
    *_, called_valid = said.values()  # by the thresholds of κ
    accuracy = [_mean(of_accuracy, weights, chosen) for chosen in halves]
    balanced = [
        _mean(of_balanced, weights, chosen & side)
        for chosen in halves
        for side in (sample.truth, ~sample.truth)
    ]
    kappa = [
        _chance_corrected(
            _mean(of_kappa, weights, chosen),
            _mean(called_valid, weights, chosen),
            weights[:, chosen & sample.truth].sum(axis=1),
            weights[:, chosen & ~sample.truth].sum(axis=1),
        )
        for chosen in halves
    ]
    means = (np.mean(values, axis=0) for values in (accuracy, balanced, kappa))
    ranked = weighted_ranking(sample.score, sample.truth, weights)
    return dict(zip(EDIT_STATISTICS, (*ranked, *means), strict=True))


def _chance_corrected(
    agreed: FloatArray, said: FloatArray, pos: FloatArray, neg: FloatArray
) -> FloatArray:
    """Return Cohen's κ from the shares of agreement and of edits called valid, and both weights."""
    share = ratio(pos, pos + neg, np.nan)
    chance = said * share + (1 - said) * (1 - share)
    return ratio(agreed - chance, np.maximum(1 - chance, 0.0), np.nan)


def _mean(right: FloatArray, weights: FloatArray, chosen: BoolArray) -> FloatArray:
    chosen_weights = weights[:, chosen]
    return ratio(chosen_weights @ right[chosen], chosen_weights.sum(axis=1), np.nan)


def _weightings(sample: _EditSample, draws: FloatArray) -> Iterator[FloatArray]:
    for rows in blocks(len(draws), 1, _AT_ONCE):
        yield draws[rows][:, sample.source]


def _drawn(
    sample: _EditSample, said: Mapping[str, FloatArray], draws: FloatArray
) -> dict[str, FloatArray]:
    """Return the measures on every draw; empty without draws."""
    if not len(draws):
        return {}
    parts = [_measures(sample, said, weights) for weights in _weightings(sample, draws)]
    return {name: np.concatenate([p[name] for p in parts]) for name in EDIT_STATISTICS}

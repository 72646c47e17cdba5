"""Agreement of a metric's scores with people's preferences between pairs of corrections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, IntArray, NumberArray, blocks, settled
from gecjury.stats.choices import TieRule
from gecjury.stats.correlation import signs
from gecjury.stats.counts import ratio

SENTENCE_STATISTICS = ("accuracy", "kendall")
"""Statistics of the sentence level, as attributes of `PreferenceAgreement`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceAgreement:
    """Agreement of a metric with an annotator's preferences.

    Attributes:
        accuracy: between 0 and 1; NaN without pairs.
        kendall: Kendall's τ over pairs, between -1 and 1; NaN without pairs.
        agree: pairs with the annotator's preference; under `calibrated` also a tie of both.
        disagree: pairs with the opposite preference; under `calibrated` every other pair.
        tied: pairs that the metric ties; under `calibrated` those within `epsilon`, each of which
            is among `agree` or `disagree` too.
        pairs: pairs that the rule considers, before any are dropped; without missing ones and,
            except under `calibrated`, without those that the annotator tied.
        missing: pairs left out because a score is missing.
        ties: the rule.
        epsilon: under `calibrated` the largest difference that still counts as a tie, else NaN.
    """

    accuracy: float
    kendall: float
    agree: int
    disagree: int
    tied: int
    pairs: int
    missing: int
    ties: TieRule
    epsilon: float = float("nan")

    @property
    def tied_share(self) -> float:
        """Return the share of pairs that the metric ties; NaN without pairs."""
        return self.tied / self.pairs if self.pairs else float("nan")


def _weights(groups: NumberArray | None, kept: BoolArray) -> FloatArray:
    """Return weights that turn a sum over kept pairs into their mean, or the mean over groups."""
    count = int(np.count_nonzero(kept))
    if groups is None or count == 0:
        return np.full(count, 1 / max(count, 1))
    _, inverse, sizes = np.unique(groups[kept], return_inverse=True, return_counts=True)
    return 1 / (sizes[inverse] * len(sizes))


def _mean_over_groups(values: FloatArray, groups: NumberArray, kept: BoolArray) -> float:
    """Return the mean over groups of the mean of their kept values; NaN without any."""
    return float(_weights(groups, kept) @ values[kept]) if kept.any() else float("nan")


def _calibrate(human: IntArray, sign: IntArray, gap: FloatArray, weights: FloatArray) -> float:
    """Return the smallest threshold of ties that gives the highest accuracy.

    Gaps up to the threshold are ties. Accuracies within 1e-12 of each other count as equal: sums of
    weights in another order may differ by less, and rounding must not choose among thresholds that
    fit equally well.
    """
    order = np.argsort(gap, kind="stable")
    gap = gap[order]
    as_tie = (weights * (human == 0))[order].cumsum()
    as_decided = (weights * (human == sign))[order]
    accuracy = as_tie + as_decided.sum() - as_decided.cumsum()
    last = np.append(gap[1:] != gap[:-1], True)
    # Gaps are not negative, so ε = 0 is the smallest threshold: it ties only equal scores.
    candidates = np.concatenate(([0.0], gap[last]))
    exact = float(as_decided.sum()) if gap[0] > 0 else -1.0
    values = np.concatenate(([exact], accuracy[last]))
    best = values >= values.max() - 1e-12
    return float(candidates[best.argmax()])


def preference_agreement(
    human: NumberArray,
    first: NumberArray,
    second: NumberArray,
    *,
    ties: TieRule = "half",
    groups: NumberArray | None = None,
) -> PreferenceAgreement:
    """Return a metric's agreement with human preferences between two corrections.

    Rules for a pair that the metric ties:

    * `half` (default): half an agreement, half a disagreement; does not depend on any order.
    * `official`: the metric is taken to prefer the second, as in SEEDA's released script, where
      the second is the system that comes later in the fixed order. τ = 2 · accuracy - 1.
    * `loss`: wrong in the accuracy, and counted only in the denominator of τ.
    * `drop`: left out of both.
    * `calibrated`: acc_eq of Deutsch, Foster and Freitag (2023). A human tie is an outcome like the
      two others, and scores at most ε apart are a tie of the metric. ε is chosen among 0 and the
      differences of scores to maximise the accuracy; if several reach the maximum, the smallest is
      used. τ = 2 · accuracy - 1 is their τ_eq.

    Under all rules except `calibrated`, pairs that the annotator tied are left out.

    Args:
        human: +1 where the annotator preferred the first, -1 the second, 0 for a tie; (pairs,).
        first: metric score of the first correction of each pair, higher is better; (pairs,).
        second: metric score of the second correction; (pairs,).
        groups: label of each pair's group, e.g. its item; the accuracy (and τ) is then the mean
            over the groups that have pairs left. By default all pairs count equally.

    Returns:
        Accuracy, τ and counts.
    """
    outcomes = pair_outcomes(human, first, second, ties=ties, groups=groups)
    agreement = _summed([outcomes], ties)
    if groups is None:
        return agreement
    # Counts are over all pairs; only the two means give groups equal weight.
    labels = np.asarray(groups)[outcomes.kept]
    return replace(
        agreement,
        accuracy=_mean_over_groups(outcomes.right, labels, outcomes.used),
        kendall=_mean_over_groups(outcomes.balance, labels, outcomes.used),
    )


def _summed(parts: Iterable[PairOutcomes], ties: TieRule) -> PreferenceAgreement:
    """Return the agreement over all pairs of the parts; sums of halves are exact in any order."""
    right = balance = 0.0
    used = agree = tied = pairs = missing = 0
    epsilon = float("nan")
    for outcomes in parts:
        right += float(outcomes.right[outcomes.used].sum())
        balance += float(outcomes.balance[outcomes.used].sum())
        used += int(np.count_nonzero(outcomes.used))
        agree += int(np.count_nonzero(outcomes.sign == outcomes.wanted))
        tied += int(np.count_nonzero(outcomes.sign == 0))
        pairs += len(outcomes.wanted)
        missing += outcomes.missing
        epsilon = outcomes.epsilon
    return PreferenceAgreement(
        accuracy=right / used if used else float("nan"),
        kendall=balance / used if used else float("nan"),
        agree=agree,
        # Under `calibrated` a tie is right or wrong; under the other rules it is neither.
        disagree=pairs - agree - (0 if ties == "calibrated" else tied),
        tied=tied,
        pairs=pairs,
        missing=missing,
        ties=ties,
        epsilon=epsilon,
    )


def agreement_in_parts(
    parts: Iterable[tuple[NumberArray, NumberArray, NumberArray]], *, ties: TieRule = "half"
) -> PreferenceAgreement:
    """Return `preference_agreement` of pairs given in parts, with one part in memory at a time.

    The terms are multiples of one half, so the sums are exact however the pairs are split. Under
    `calibrated` all pairs are in memory, since ε is chosen on all of them.

    Args:
        parts: preferences, scores of the first and scores of the second corrections; at least one.
    """
    if ties == "calibrated":
        human, first, second = (np.concatenate(side) for side in zip(*parts, strict=True))
        return preference_agreement(human, first, second, ties=ties)
    return _summed((pair_outcomes(*part, ties=ties) for part in parts), ties)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOutcomes:
    """Outcomes of every pair under a tie rule; the accuracy is the mean of `right` over `used`.

    Attributes:
        kept: pairs that the rule considers and that have both scores, shape (all pairs,).
        wanted: the annotator's preference. This and the following arrays are of the kept pairs.
        sign: the metric's preference, 0 for a tie (under `calibrated` for all within `epsilon`).
        raw_sign: the metric's preference, 0 only where the scores are equal.
        gap: absolute difference of the metric's scores; exactly 0 where they are equal, and under
            `calibrated` `settled`.
        right: share of agreement, 0 to 1.
        balance: contribution to τ, −1 to 1.
        used: False for pairs that `drop` leaves out.
        missing: pairs that the rule considers and that lack a score.
        epsilon: under `calibrated` the largest difference that counts as a tie, else NaN.
    """

    kept: BoolArray
    wanted: IntArray
    sign: IntArray
    raw_sign: IntArray
    gap: FloatArray
    right: FloatArray
    balance: FloatArray
    used: BoolArray
    missing: int
    epsilon: float


def _credited(wanted: IntArray, sign: IntArray, ties: TieRule) -> tuple[FloatArray, FloatArray]:
    """Return what each pair counts in the accuracy, and what it counts in the numerator of τ."""
    tied, agree = sign == 0, sign == wanted
    right = agree.astype(np.float64)
    balance = np.where(agree, 1.0, np.where(tied & (ties != "calibrated"), 0.0, -1.0))
    if ties == "official":
        right = np.where(tied, wanted < 0, right).astype(np.float64)
        balance = 2 * right - 1
    elif ties == "half":
        right = (balance + 1) / 2
    return right, balance


def pair_outcomes(
    human: NumberArray,
    first: NumberArray,
    second: NumberArray,
    *,
    ties: TieRule = "half",
    groups: NumberArray | None = None,
) -> PairOutcomes:
    """Return the outcome of each pair; arguments and rules are those of `preference_agreement`."""
    wanted = np.asarray(human, dtype=np.int64)
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    # Only `calibrated` counts pairs that the annotator tied; the other rules drop them first.
    considered = (wanted != 0) | (ties == "calibrated")
    kept = considered & ~(np.isnan(a) | np.isnan(b))
    missing = int(np.count_nonzero(considered)) - int(np.count_nonzero(kept))
    wanted, a, b = wanted[kept], a[kept], b[kept]
    raw_sign = signs(a, b).astype(np.int64)
    with np.errstate(invalid="ignore"):
        gap = np.where(raw_sign == 0, 0.0, np.abs(a - b))
    sign, epsilon = raw_sign, float("nan")
    if ties == "calibrated" and len(gap):
        labels = None if groups is None else np.asarray(groups)[kept]
        # .3 − .2 and .2 − .1 differ by rounding, and a threshold between them means nothing.
        gap = settled(np.append(0.0, gap))[1:]
        epsilon = _calibrate(wanted, sign, gap, _weights(labels, np.full(len(gap), True)))
        sign = np.where(gap <= epsilon, 0, raw_sign)
    right, balance = _credited(wanted, sign, ties)
    return PairOutcomes(
        kept=kept,
        wanted=wanted,
        sign=sign,
        raw_sign=raw_sign,
        gap=gap,
        right=right,
        balance=balance,
        used=sign != 0 if ties == "drop" else np.full(len(wanted), True),
        missing=missing,
        epsilon=epsilon,
    )


def pair_table(
    parts: Iterable[tuple[NumberArray, ...]], *, size: int, ties: TieRule = "half"
) -> tuple[FloatArray, IntArray]:
    """Return accuracy and count of pairs by pair of systems.

    Args:
        parts: several pairs each: first system, second system, then preference and both scores as
            for `preference_agreement`.
        size: number of systems.
        ties: rule for ties of the metric; not `calibrated`, which would fit ε in every cell.

    Returns:
        Accuracy, NaN in cells without pairs, and number of pairs with both scores, each of shape
        (size, size) and symmetric: it does not matter which system comes first.
    """
    sums = np.zeros((2, size * size))
    for rows, columns, human, first, second in parts:
        outcomes = pair_outcomes(human, first, second, ties=ties)
        cells = np.minimum(rows, columns) * size + np.maximum(rows, columns)
        cells = cells[outcomes.kept][outcomes.used]
        sums[0] += np.bincount(cells, outcomes.right[outcomes.used], minlength=size * size)
        sums[1] += np.bincount(cells, minlength=size * size)
    # Only cells on and above the diagonal were filled.
    right, used = (np.maximum(table, table.T) for table in sums.reshape(2, size, size))
    return ratio(right, used, np.nan), used.astype(np.int64)


def drawn_sums(
    values: FloatArray,
    sentence: IntArray,
    first: IntArray,
    second: IntArray,
    counts: FloatArray,
    times: FloatArray | None,
    *,
    at_once: int = BLOCK,
) -> FloatArray:
    """Return sums over judged pairs, each as often as a draw has its sentence and its two systems.

    Args:
        values: the values of the pairs, multiples of one half, whose sums are exact in any order.
        sentence: the sentence of each pair.
        first: the first system of each pair.
        second: the second system of each pair.
        counts: B × N, how often each draw contains each sentence, or one row for all draws.
        times: B × S, how often each draw contains each system; None for once.
        at_once: array elements in memory at once.

    Returns:
        Shape (B,), or (1,) if neither sentences nor systems were drawn.
    """
    lines = counts.shape[1]
    if times is None:
        return np.asarray(counts @ np.bincount(sentence, values, minlength=lines))
    draws, size = times.shape
    # With few systems all pairs of a sentence fit in a table, and all draws in a matrix product.
    if max(lines, draws) * size * size <= at_once:
        # One row per sentence, one column per pair of systems, whichever of the two comes first.
        cell = (sentence * size + first) * size + second
        cells = np.bincount(cell, values, minlength=lines * size * size).reshape(lines, size, -1)
        left, right = np.triu_indices(size)
        table = cells[:, left, right] + cells[:, right, left] * (left != right)
        return np.asarray((counts @ table * (times[:, left] * times[:, right])).sum(axis=1))
    counts, total = np.broadcast_to(counts, (draws, lines)), np.zeros(draws)
    # With many systems tables pay off only for sentences on which most of the pairs were judged.
    if len(values) * draws > at_once:
        rest, dense = dense_sums(values, sentence, first, second, counts, times)
        total += dense
        sentence, first, second = (column[rest] for column in (sentence, first, second))
        values = values[rest]
    for part in blocks(len(values), draws, at_once):
        weights = counts[:, sentence[part]]
        weights *= times[:, first[part]]
        weights *= times[:, second[part]]
        total += weights @ values[part]
    return total


def dense_sums(
    values: FloatArray,
    sentence: IntArray,
    first: IntArray,
    second: IntArray,
    counts: FloatArray,
    times: FloatArray,
) -> tuple[BoolArray, FloatArray]:
    """Return `drawn_sums` of sentences on which most systems were compared, by matrix products.

    Returns:
        A mask of the pairs that are not yet summed, and the sums of every draw.
    """
    rest, total = np.ones(len(values), dtype=np.bool_), np.zeros(len(times))
    size = times.shape[1]
    for line in np.flatnonzero(np.bincount(sentence) > size):
        judged = np.flatnonzero(sentence == line)
        low, high = first[judged].min(), first[judged].max() + 1
        if (high - low) * size > 4 * len(judged):
            continue
        cell = (first[judged] - low) * size + second[judged]
        table = np.bincount(cell, values[judged], minlength=(high - low) * size)
        drawn = times[:, low:high] @ table.reshape(-1, size)
        drawn *= times
        total += counts[:, line] * drawn.sum(axis=1)
        rest[judged] = False
    return rest, total


def outcomes_by_pair(outcomes: PairOutcomes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return agreement, balance and use of every judged pair; 0 for pairs that are not used."""
    parts = []
    for values in (outcomes.right, outcomes.balance, np.ones(len(outcomes.right))):
        full = np.zeros(len(outcomes.kept))
        full[outcomes.kept] = values * outcomes.used
        parts.append(full)
    return parts[0], parts[1], parts[2]


def calibrated_sums(outcomes: PairOutcomes, weights: FloatArray) -> FloatArray:
    """Return the highest weighted sum of agreements that any threshold gives, for every draw.

    Args:
        outcomes: the outcomes under the rule `calibrated`.
        weights: the weights of the kept pairs, draws × pairs.
    """
    order = np.argsort(outcomes.gap, kind="stable")
    gap = outcomes.gap[order]
    decided = outcomes.raw_sign[order] == outcomes.wanted[order]
    tie = outcomes.wanted[order] == 0
    last = np.append(gap[1:] != gap[:-1], True) if len(gap) else np.zeros(0, dtype=bool)
    drawn = weights[:, order]
    total = drawn @ decided.astype(np.float64)
    drawn *= tie.astype(np.float64) - decided
    gains = np.cumsum(drawn, axis=1, out=drawn)[:, last]
    best = gains.max(axis=1, initial=-np.inf)
    if len(gap) and gap[0] > 0:
        best = np.maximum(best, 0.0)
    return np.asarray(total + np.where(np.isfinite(best), best, 0.0))


def sums_by_sentence(
    one: PairOutcomes, two: PairOutcomes, sentence: IntArray, lines: int
) -> tuple[FloatArray, FloatArray]:
    """Return agreements and used pairs by sentence, (2, lines), over pairs that both score."""
    scored = one.kept & two.kept
    won, used = np.zeros((2, lines)), np.zeros((2, lines))
    for row, outcomes in enumerate((one, two)):
        right, _, use = outcomes_by_pair(outcomes)
        won[row] = np.bincount(sentence[scored], right[scored], minlength=lines)
        used[row] = np.bincount(sentence[scored], use[scored], minlength=lines)
    return won, used


def swapped_accuracies(won: FloatArray, used: FloatArray, signs: FloatArray) -> FloatArray:
    """Return differences of two accuracies when the sentences with sign −1 are swapped.

    Args:
        won: agreements, 2 × sentences × duels.
        used: pairs used, of the same shape.
        signs: K × sentences.

    Returns:
        K × duels; NaN where a metric has no pairs.
    """
    # One product for both, since reading the signs takes most of the time.
    both = np.concatenate([won, used], axis=2)
    middle, swing = both.sum(axis=(0, 1)) / 2, signs @ (both[0] - both[1]) / 2
    right, pairs = np.split(np.stack([middle + swing, middle - swing]), 2, axis=2)
    one, two = ratio(right, pairs, np.nan)
    return np.asarray(one - two)

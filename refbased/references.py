"""Rules by which a reference is chosen for a sentence, by itself or in the run of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray, IntArray
from gecjury.stats.counts import precision_recall_f

__all__ = ["FirstBest", "RatioRule", "best_f", "choose_best", "choose_running", "sum_draws"]

FirstBest = Callable[[FloatArray, FloatArray], Sequence[FloatArray]]
"""From running sums and a sentence's own counts (both ... × references × K) to keys, compared one
after another, higher is better."""


@dataclass(frozen=True)
class RatioRule:
    """A rule whose first key is an F-score, known to be one count against a weighted sum of all.

    F = top · counts₀ / (weights · counts), and 1 where nothing at all is counted. Later keys order
    references as the sentence's own counts alone do.

    Attributes:
        keys: the rule itself.
        top: what the first count is multiplied with, 0 or more.
        weights: of the K counts, each 0 or more.
        digits: decimal places to which the first key is rounded; None compares it as it is.
    """

    keys: FirstBest
    top: float
    weights: tuple[float, ...]
    digits: int | None = None

    def __call__(self, sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        """The keys, highest first."""
        return self.keys(sums, own)


def best_f(beta: float, digits: int | None = None) -> RatioRule:
    """ERRANT's rule: best running F, then more TP, fewer FP, fewer FN in the sentence.

    Args:
        beta: weight of recall.
        digits: decimal places to which F is rounded before it is compared, as the official
            scorer does with 4; None compares F as it is (to 12 digits, below which it is noise).
    """
    places = 12 if digits is None else digits
    square = beta * beta

    def keys(sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        score = precision_recall_f(*np.moveaxis(sums, -1, 0), beta=beta)[2]
        return (np.round(score, places), own[..., 0], -own[..., 1], -own[..., 2])

    return RatioRule(keys, 1 + square, (1 + square, 1.0, square), places)


def choose_best(keys: Sequence[FloatArray], usable: NDArray[np.bool_]) -> IntArray:
    """Index along the last axis of the best by the first key, ties by the next, then the first.

    Args:
        keys: arrays of one shape, higher is better.
        usable: which entries may be chosen; where none may, the result is 0.
    """
    mask = usable.copy()
    for key in keys:
        bounded = np.where(mask, key, -np.inf)
        # The axis is short: column by column numpy is many times as fast as along it.
        highest = reduce(np.maximum, (bounded[..., k] for k in range(bounded.shape[-1])))
        mask &= bounded == highest[..., None]
    best: IntArray = np.asarray(mask).argmax(axis=-1)
    return best


_CELLS = 32_000  # (corpus, system) pairs handled side by side: what they need stays in the cache
_NOISE = 1e-13  # two ways of computing one F-score of sums are never that far apart
_GRAIN = 64  # sums and products of multiples of 1/64 are exact

_Ahead = Callable[[int, int], NDArray[np.bool_]]


@dataclass(frozen=True)
class _Choices:
    """What is settled beforehand and what is open, of N sentences × S systems.

    Attributes:
        rule: what chooses.
        ratio: the same, where its F-scores can be compared by the short formula.
        settled: N × (S · K), counts where there is no choice, 0 elsewhere.
        chosen: N × S, the reference where there is no choice; −1 where there is none.
        place: N × S, where an open choice stands among A; −1 where there is none.
        own: A × R × K, counts of the references that an open choice is between.
        usable: A × R.
        tops: R × A, what each reference adds to the numerator of F.
        bottoms: R × A, what it adds to the denominator; infinite for those not usable.
    """

    rule: FirstBest
    ratio: RatioRule | None
    settled: FloatArray
    chosen: IntArray
    place: NDArray[np.int32]
    own: FloatArray
    usable: NDArray[np.bool_]
    tops: FloatArray
    bottoms: FloatArray


def sum_draws(values: FloatArray, rule: FirstBest, draws: IntArray) -> FloatArray:
    """Sums of counts of every draw, each sentence's reference taken by the running rule.

    Args:
        values: S × N × R × K; NaN where a reference is absent from a sentence.
        rule: the keys to choose by.
        draws: B × M sentence indices in order.

    Returns:
        B × S × K.
    """
    systems, _, _, kinds = values.shape
    choices = _prepare(values, rule, draws.shape[1])
    found = np.zeros((len(draws), systems, kinds))
    size = max(1, _CELLS // systems)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, len(draws), size):
            _replay(choices, draws[start : start + size], found[start : start + size])
    return found


def _prepare(values: FloatArray, rule: FirstBest, length: int) -> _Choices:
    """Settle what can be settled of corpora of so many sentences."""
    cells = values.swapaxes(0, 1)
    sentences, systems, references, kinds = cells.shape
    own = np.nan_to_num(cells).reshape(-1, references, kinds)
    usable = ~np.isnan(cells[..., 0]).reshape(-1, references)
    ratio = rule if isinstance(rule, RatioRule) and bool((own >= 0).all()) else None
    usable &= ~_beaten(own, usable, rule, None if ratio is None else _ahead(own, ratio, length))
    left = usable.sum(axis=1)
    first = usable.argmax(axis=1)
    only = np.take_along_axis(own, first[:, None, None], axis=1)[:, 0]
    settled = np.where((left == 1)[:, None], only, 0.0)
    chosen = np.where(left > 0, first, -1).reshape(sentences, systems)
    at = np.flatnonzero(left > 1)
    place = np.full((sentences, systems), -1, dtype=np.int32)
    place.ravel()[at] = np.arange(len(at))
    own, usable = own[at], usable[at]
    tops = bottoms = np.empty((references, 0))
    if ratio is not None:
        tops = (ratio.top * own[..., 0]).T.copy()
        bottoms = np.where(usable, own @ np.array(ratio.weights), np.inf).T.copy()
    settled = settled.reshape(sentences, systems * kinds)
    return _Choices(rule, ratio, settled, chosen, place, own, usable, tops, bottoms)


def _beaten(
    own: FloatArray, usable: NDArray[np.bool_], rule: FirstBest, ahead: _Ahead | None
) -> NDArray[np.bool_]:
    """References that another one beats whatever was counted before.

    Equal counts give equal keys, and the first is taken. A reference that is ahead of another has
    no lower first key; then the later keys must prefer it, too.
    """
    later = [] if ahead is None else rule(own, own)[1:]
    found = np.zeros_like(usable)
    for one, two in permutations(range(own.shape[1]), 2):
        wins = (own[:, one] == own[:, two]).all(axis=-1) & (one < two)
        if ahead is not None:
            wins |= ahead(one, two) & _preferred(later, one, two)
        found[:, two] |= wins & usable[:, one]
    return found


def _preferred(keys: Sequence[FloatArray], one: int, two: int) -> NDArray[np.bool_]:
    """Where some keys, compared one after another, prefer one reference to another."""
    found = np.full(len(keys[0]), one < two)
    for key in reversed(keys):
        found = (key[:, one] > key[:, two]) | ((key[:, one] == key[:, two]) & found)
    return found


def _ahead(own: FloatArray, rule: RatioRule, length: int) -> _Ahead | None:
    """Where one reference's F is surely above another's, or both are 0 or both 1.

    F is t/(t + r), t what the numerator sums and r what else the denominator does. With sums T and
    R so far, F of (t₁, r₁) exceeds that of (t₂, r₂) by the quotient of T(r₂ − r₁) + R(t₁ − t₂) +
    t₁r₂ − t₂r₁ and the product of both denominators. If t₁ ≥ t₂ and r₁ ≤ r₂, this numerator is at
    least (T + t₂)(r₂ − r₁) and at least (R + r₂)(t₁ − t₂). T + t₂ is 0, where F is 0 or beats one
    that is, or no less than the least t above 0; R + r₂ is 0, where both F are 1, or no less than
    the least r above 0. So a difference of t or r that is large enough shows in F in spite of
    rounding, in a corpus of `length` sentences that all have the largest counts.

    Args:
        own: cells × R × K.
        rule: gives F.
        length: sentences.
    """
    weights = np.array(rule.weights)
    whole = np.array([rule.top, *rule.weights]) * _GRAIN
    exact = bool((whole == np.rint(whole)).all() and (own == np.rint(own)).all())
    weights[0] -= rule.top
    top, rest = rule.top * own[..., 0], own @ weights
    if (rest < 0).any() or not (exact or (rule.digits is not None and (weights >= 0).all())):
        return None  # an F of 1 might not come out as 1
    shown = 2 * _NOISE * (length * (top + rest).max(initial=0.0)) ** 2
    least_gain = shown / rest.min(initial=np.inf, where=rest > 0)
    least_loss = shown / top.min(initial=np.inf, where=top > 0)

    def ahead(one: int, two: int) -> NDArray[np.bool_]:
        gain, loss = top[:, one] - top[:, two], rest[:, two] - rest[:, one]
        found = (gain >= 0) & (loss >= 0) & ((gain > least_gain) | (loss > least_loss))
        return np.asarray(found)

    return ahead


def _replay(choices: _Choices, order: IntArray, totals: FloatArray) -> None:
    """Add up some draws, sentence after sentence, in `totals` (draws × S × K).

    A single draw's choices are kept in `choices.chosen`.
    """
    by_draw, by_cell = totals.reshape(len(order), -1), totals.reshape(-1, totals.shape[2])
    for at in np.ascontiguousarray(order.T):
        by_draw += choices.settled.take(at, axis=0)
        place = choices.place.take(at, axis=0).ravel()
        cells = np.flatnonzero(place >= 0)
        if len(cells):
            place, before = place[cells], by_cell[cells]
            picked = _choose(choices, before, place)
            by_cell[cells] = before + choices.own[place, picked]
            if len(order) == 1:
                choices.chosen[at[0], cells] = picked


def _choose(choices: _Choices, before: FloatArray, place: NDArray[np.int32]) -> IntArray:
    """The reference of each open choice, from the sums before it."""
    rule = choices.ratio
    if rule is None:
        return _choose_by_rule(choices, before, place)
    top, bottom = rule.top * before[:, 0], before @ np.array(rule.weights)
    best = second = np.full(len(place), -np.inf)
    chosen = np.zeros(len(place), dtype=np.int64)
    for number, (tops, bottoms) in enumerate(zip(choices.tops, choices.bottoms, strict=True)):
        score = (top + tops.take(place)) / (bottom + bottoms.take(place))
        chosen[score > best] = number
        second = np.maximum(second, np.minimum(best, score))
        best = np.maximum(best, score)
    clear = _NOISE if rule.digits is None else 2 * 10.0**-rule.digits
    close = np.flatnonzero(~(best - second > clear))  # NaN, where nothing is counted, is close
    if len(close):
        chosen[close] = _choose_by_rule(choices, before[close], place[close])
    return chosen


def _choose_by_rule(choices: _Choices, before: FloatArray, place: NDArray[np.int32]) -> IntArray:
    own = choices.own[place]
    return choose_best(choices.rule(before[:, None] + own, own), choices.usable[place])


def choose_running(
    counts: NDArray[Any], rule: FirstBest, draws: IntArray | None = None
) -> tuple[FloatArray, IntArray]:
    """Sum counts over sentences, taking each sentence's reference by the running rule.

    Args:
        counts: S × N × R × K; NaN where a reference is absent from a sentence.
        rule: the keys to choose by.
        draws: B × M sentence indices, resampled corpora in order; None for the corpus itself.

    Returns:
        Summed counts, S × K or B × S × K with draws; and the references chosen, S × N, or an
        empty array with draws. A sentence without any reference adds nothing (chosen: −1).
    """
    values = np.asarray(counts, dtype=np.float64)
    if draws is not None:
        return sum_draws(values, rule, draws), np.empty((0, 0), dtype=np.int64)
    systems, sentences, _, kinds = values.shape
    choices = _prepare(values, rule, sentences)
    totals = np.zeros((1, systems, kinds))
    with np.errstate(divide="ignore", invalid="ignore"):
        _replay(choices, np.arange(sentences)[None], totals)
    return totals[0], choices.chosen.T.astype(np.int64)

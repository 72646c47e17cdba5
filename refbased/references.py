"""Rules that choose a sentence's reference, for the sentence alone or by running scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray, IntArray, blocks
from gecjury.refbased.ranges import MOST, NOISE, Quotients, find_ranges, surely_alike, surely_best
from gecjury.stats.counts import precision_recall_f

FirstBest = Callable[[FloatArray, FloatArray], Sequence[FloatArray]]
"""Takes running sums and a sentence's own counts (both ... × references × K) and returns keys,
which are compared one after another, higher is better."""


_Weights = tuple[float, ...]


@dataclass(frozen=True)
class QuotientRule:
    """A rule whose first key is a sum of quotients of weighted sums; see also `f_rule`.

    Later keys order references as the sentence's own counts alone do.

    Attributes:
        keys: the rule itself.
        tops: weights of the K counts in each numerator.
        bottoms: weights of the K counts in each denominator, each 0 or more.
        digits: decimal places to which the first key is rounded; None does not round it.
        constant: term added to the quotients, in which 0/0 counts as 0; no count may then be
            negative. None: the key is one quotient, an F-score, which is 1 where nothing is
            counted.
        above: if counts may be negative, weights of sums that must be above 0 for the first key
            to have this form; the first count is never negative.
    """

    keys: FirstBest
    tops: tuple[_Weights, ...]
    bottoms: tuple[_Weights, ...]
    digits: int | None = None
    constant: float | None = None
    above: tuple[_Weights, ...] = ()

    def __call__(self, sums: FloatArray, counts: FloatArray) -> Sequence[FloatArray]:
        """Return the keys, highest first."""
        return self.keys(sums, counts)


def f_rule(
    keys: FirstBest,
    beta: float,
    weights: _Weights,
    digits: int | None = None,
    above: tuple[_Weights, ...] = (),
) -> QuotientRule:
    """Return a rule whose first key is F = (1 + β²) · counts₀ / (weights · counts)."""
    top = (1 + beta * beta, *[0.0] * (len(weights) - 1))
    return QuotientRule(keys, (top,), (weights,), digits, None, above)


def best_f(beta: float, digits: int | None = None) -> QuotientRule:
    """Return ERRANT's rule: best running F, then more TP, fewer FP, fewer FN in the sentence.

    Args:
        beta: weight of recall.
        digits: decimal places to which F is rounded before it is compared, as the official
            scorer does with 4; None rounds to 12 digits only, beyond which F is noise.
    """
    places = 12 if digits is None else digits
    square = beta * beta

    def keys(sums: FloatArray, counts: FloatArray) -> Sequence[FloatArray]:
        score = precision_recall_f(*np.moveaxis(sums, -1, 0), beta=beta)[2]
        return (np.round(score, places), counts[..., 0], -counts[..., 1], -counts[..., 2])

    return f_rule(keys, beta, (1 + square, 1.0, square), places)


def choose_best(keys: Sequence[FloatArray], usable: NDArray[np.bool_]) -> IntArray:
    """Return the index of the best entry along the last axis, by the keys in turn, then the first.

    Args:
        keys: arrays of one shape, higher is better.
        usable: entries that may be chosen; if there are none, the result is 0.
    """
    mask = usable.copy()
    for key in keys:
        bounded = np.where(mask, key, -np.inf)
        # The axis is short: numpy is many times as fast column by column as along it.
        highest = reduce(np.maximum, (bounded[..., k] for k in range(bounded.shape[-1])))
        mask &= bounded == highest[..., None]
    best: IntArray = np.asarray(mask).argmax(axis=-1)
    return best


_CELLS = 32_000  # (corpus, system) pairs handled at once: their data stays in the cache
_NOTHING = 1e-300  # added to denominators, so that 0/0 becomes 0
_GRAIN = 64  # sums and products of multiples of 1/64 are exact
_STRETCH = (8, 64)  # sentences for which ranges are found together, at the beginning and later
_AT_ONCE = 1 << 15  # sentences of a single corpus prepared together
_SETTLING = 100  # number of corpora from which ranges are worth finding

_Ahead = Callable[[int, int], NDArray[np.bool_]]


@dataclass(frozen=True)
class _Choices:
    """Settled and open choices of N sentences × S systems.

    Attributes:
        rule: the rule to choose by.
        score: the short formula; None if there is none.
        settled: N × (S · K), counts of settled choices, 0 elsewhere.
        chosen: N × S, the first reference that may be chosen; −1 if there is none.
        place: N × S, index of each open choice among A; −1 where the choice is not open.
        counts: A × R × K, counts of the references in each open choice.
        usable: A × R, True for references that may be chosen.
        tops: Q × R × A, amount that each reference adds to the numerators; −∞ if not usable.
        bottoms: Q × R × A, amount that it adds to the denominators.
        by_later: shape (A,), the reference that the later keys choose.
        reach: 2 × (3Q + F) × N × S, the least and the greatest amount that a sentence adds to the
            numerators, the denominators and the sums that must be above 0, and the least and the
            greatest quotient of what it adds to numerator and denominator.
        ranging: True if ranges of sums are worth finding.
    """

    rule: FirstBest
    score: Quotients | None
    settled: FloatArray
    chosen: IntArray
    place: NDArray[np.int32]
    counts: FloatArray
    usable: NDArray[np.bool_]
    tops: FloatArray
    bottoms: FloatArray
    by_later: IntArray
    reach: FloatArray
    ranging: bool


def _prepare(
    values: FloatArray, rule: FirstBest, length: int, before: FloatArray | None = None
) -> _Choices:
    """Settle the choices that are the same in all corpora of `length` sentences.

    Args:
        values: S × N × R × K.
        rule: the rule to choose by.
        length: number of sentences of a corpus.
        before: sums to which the sentences are added; None if there are none.
    """
    cells = values.swapaxes(0, 1)
    sentences, systems, references, kinds = cells.shape
    counts = np.nan_to_num(cells).reshape(-1, references, kinds)
    usable = ~np.isnan(cells[..., 0]).reshape(-1, references)
    signed = bool((counts < 0).any()) or (before is not None and bool((before < 0).any()))
    score = None
    if isinstance(rule, QuotientRule) and (rule.above or not signed):
        above = np.array(rule.above if signed else ()).reshape(-1, kinds)
        least = (counts @ above.T).min(axis=(0, 1), initial=0.0)
        score = Quotients(
            np.array(rule.tops),
            np.array(rule.bottoms),
            rule.constant or 0.0,
            above,
            -least,
            rule.digits,
            0.0 if rule.constant is None else _NOTHING,
        )
    ahead = None
    # `_ahead` bounds the sums by these sentences, so there must be no others before them.
    alone = before is None and not signed
    if isinstance(rule, QuotientRule) and rule.constant is None and alone:
        ahead = _ahead(counts, rule, length)
    # Most choices are the same in every corpus: these are settled once for all draws.
    usable &= ~_beaten(counts, usable, rule, ahead)
    left = usable.sum(axis=1)
    first = usable.argmax(axis=1)
    only = np.take_along_axis(counts, first[:, None, None], axis=1)[:, 0]
    settled = np.where((left == 1)[:, None], only, 0.0).reshape(sentences, systems * kinds)
    chosen = np.where(left > 0, first, -1).reshape(sentences, systems)
    at = np.flatnonzero(left > 1)
    place = np.full((sentences, systems), -1, dtype=np.int32)
    place.ravel()[at] = np.arange(len(at))
    reach = np.empty((2, 0, sentences, systems))
    tops = bottoms = np.empty((0, references, len(at)))
    by_later = np.zeros(len(at), dtype=np.int64)
    if score is not None:
        reach = _reach(counts, usable, score)
        reach = reach.reshape(*reach.shape[:2], sentences, systems)
        tops, bottoms = (
            np.moveaxis(counts[at] @ part.T, -1, 0).swapaxes(1, 2).copy()
            for part in (score.tops, score.bottoms)
        )
        by_later = choose_best(rule(counts[at], counts[at])[1:], usable[at])
        bottoms += score.nothing
        barred = ~usable[at].T
        tops[:, barred], bottoms[:, barred] = 0.0, 1.0
        tops[0, barred] = -np.inf
    return _Choices(
        rule, score, settled, chosen, place, counts[at], usable[at], tops, bottoms, by_later,
        reach, score is not None and ahead is None,
    )  # fmt: skip


def _reach(counts: FloatArray, usable: NDArray[np.bool_], score: Quotients) -> FloatArray:
    """Return the least and most that each cell adds, 2 × (3Q + F) × cells; see `find_ranges`."""
    parts = np.concatenate([score.tops, score.bottoms, score.above])
    added = np.moveaxis(counts @ parts.T, -1, 0)
    size = len(score.tops)
    tops, bottoms = added[:size], added[size : 2 * size]
    some = usable.any(axis=1)
    extremes = []
    for end, extreme in ((np.inf, np.min), (-np.inf, np.max)):
        sums = np.where(some, extreme(np.where(usable, added, end), axis=2), 0.0)
        # Adding 0 to numerator and denominator leaves a quotient unchanged.
        none = np.where(tops == 0, end, np.copysign(np.inf, tops))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(bottoms == 0, none, tops / bottoms)
        extremes.append(np.concatenate([sums, extreme(np.where(usable, ratios, end), axis=2)]))
    return np.stack(extremes)


def _beaten(
    counts: FloatArray, usable: NDArray[np.bool_], rule: FirstBest, ahead: _Ahead | None
) -> NDArray[np.bool_]:
    """Return the references that another one beats whatever was counted before.

    The winner must have a first key that is never lower, and the later keys must prefer it. A first
    key is never lower if the reference is ahead, or if the counts are equal (with a constant, those
    counts that have a weight). If the later keys are unknown, equal counts leave the choice to the
    order of the references.
    """
    seen, later = np.ones(counts.shape[-1], dtype=bool), []
    if isinstance(rule, QuotientRule):
        later = list(rule(counts, counts)[1:])
        if rule.constant is not None:
            seen = np.any([*rule.tops, *rule.bottoms], axis=0)
    beaten = np.zeros_like(usable)
    for first, second in permutations(range(counts.shape[1]), 2):
        alike = (counts[:, first, seen] == counts[:, second, seen]).all(axis=-1)
        if ahead is not None:
            alike |= ahead(first, second)
        prefers = _preferred(later, first, second, len(counts))
        beaten[:, second] |= alike & prefers & usable[:, first]
    return beaten


def _preferred(keys: Sequence[FloatArray], one: int, two: int, cells: int) -> NDArray[np.bool_]:
    """Return where keys, compared one after another, prefer one reference to another."""
    prefers = np.full(cells, one < two)
    for key in reversed(keys):
        prefers = (key[:, one] > key[:, two]) | ((key[:, one] == key[:, two]) & prefers)
    return prefers


def _ahead(counts: FloatArray, rule: QuotientRule, length: int) -> _Ahead | None:
    """Return a test of where one reference's F is surely above another's, or both are 0 or 1.

    F is t/(t + r), where t is the numerator and r the rest of the denominator. With sums T and
    R so far, F of (t₁, r₁) exceeds that of (t₂, r₂) by the quotient of T(r₂ − r₁) + R(t₁ − t₂) +
    t₁r₂ − t₂r₁ and the product of both denominators. If t₁ ≥ t₂ and r₁ ≤ r₂, this numerator is at
    least (T + t₂)(r₂ − r₁) and at least (R + r₂)(t₁ − t₂). T + t₂ is either 0, and then F is 0 or
    beats an F of 0, or at least the smallest t above 0; R + r₂ is either 0, and then both F are 1,
    or at least the smallest r above 0. So a large enough difference of t or r shows in F in spite
    of rounding, even in a corpus of `length` sentences that all have the largest counts.

    Args:
        counts: cells × R × K.
        rule: a rule whose first key is F.
        length: number of sentences of a corpus.
    """
    top_weight, weights = rule.tops[0][0], np.array(rule.bottoms[0])
    whole = np.array([top_weight, *weights]) * _GRAIN
    exact = bool((whole == np.rint(whole)).all() and (counts == np.rint(counts)).all())
    weights[0] -= top_weight
    top, rest = top_weight * counts[..., 0], counts @ weights
    if (rest < 0).any() or not (exact or (rule.digits is not None and (weights >= 0).all())):
        return None  # an F of 1 might not be computed as exactly 1
    visible = 2 * NOISE * (length * (top + rest).max(initial=0.0)) ** 2
    least_gain = visible / rest.min(initial=np.inf, where=rest > 0)
    least_loss = visible / top.min(initial=np.inf, where=top > 0)

    def ahead(one: int, two: int) -> NDArray[np.bool_]:
        gain, loss = top[:, one] - top[:, two], rest[:, two] - rest[:, one]
        leads = (gain >= 0) & (loss >= 0) & ((gain > least_gain) | (loss > least_loss))
        return np.asarray(leads)

    return ahead


def _replay(choices: _Choices, order: IntArray, totals: FloatArray) -> None:
    """Sum some draws into `totals` (draws × S × K), sentence after sentence.

    A single draw's choices are kept in `choices.chosen`.
    """
    low, high = _STRETCH
    start, added = 0, np.empty((len(order), totals[0].size))
    while start < order.shape[1]:
        stop = start + (min(max(start // 16, low), high) if choices.ranging else high)
        _replay_stretch(choices, np.ascontiguousarray(order[:, start:stop].T), totals, added)
        start = stop


def _replay_stretch(
    choices: _Choices, order: IntArray, totals: FloatArray, added: FloatArray
) -> None:
    """Sum a stretch of sentences (sentences × draws); `added` is a buffer for one of them."""
    draws, systems, kinds = totals.shape
    by_draw, by_cell = totals.reshape(draws, -1), totals.reshape(-1, kinds)
    # Only sentences that some draw has in this stretch are considered.
    used = np.zeros(len(choices.place), dtype=bool)
    used[order] = True
    rows = np.flatnonzero(used)
    order = np.cumsum(used)[order] - 1
    place, settled = choices.place[rows], choices.settled[rows]
    apart = np.empty(0, dtype=np.int64)
    still = place
    if choices.ranging and draws >= _SETTLING and (place >= 0).any():
        still, apart = _settle(choices, rows, order, totals, settled)
    for at in order:
        present = np.zeros(len(rows), dtype=bool)
        present[at] = True
        columns = np.flatnonzero((still[present] >= 0).any(axis=0))
        cells = np.empty(0, dtype=np.int64)
        if len(columns):
            open_choices = np.flatnonzero(still[:, columns].take(at, axis=0) >= 0)
            cells = open_choices // len(columns) * systems + columns[open_choices % len(columns)]
        if len(apart):
            cells = np.concatenate([cells, apart])
        by_cell_before = by_cell[cells]
        np.take(settled, at, axis=0, out=added, mode="clip")
        if len(cells):
            which = place[at[cells // systems], cells % systems]
            free = which >= 0
            cells, which, before = cells[free], which[free], by_cell_before[free]
            picked = _choose(choices, before, which)
            added.reshape(-1, kinds)[cells] = choices.counts[which, picked]
            if draws == 1:
                choices.chosen[rows[at[0]], cells] = picked
        by_draw += added


def _settle(
    choices: _Choices,
    rows: IntArray,
    order: IntArray,
    totals: FloatArray,
    settled: FloatArray,
) -> tuple[NDArray[np.int32], IntArray]:
    """Settle choices that are the same in all draws but a few, in `settled` (rows × (S · K)).

    Returns:
        `place` of the rows, in which settled choices are no longer open; and the cells (draw and
        system in one number) that are exceptions, for which nothing is settled.
    """
    assert choices.score is not None
    systems, kinds = totals.shape[1:]
    size = len(choices.score.tops)
    reach = choices.reach[:, :, rows]
    steps = np.zeros((2, len(order), *reach.shape[1::2]))
    for number, at in enumerate(order):
        present = np.zeros(len(rows), dtype=bool)
        present[at] = True
        steps[0, number] = reach[0][:, present].min(axis=1)
        steps[1, number] = reach[1][:, present].max(axis=1)
    sums = steps[:, :, :-size].cumsum(axis=1)
    # Before the first sentence nothing is added.
    sums = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    added = np.stack([sums[0].min(axis=0), sums[1].max(axis=0)])
    ratios = np.stack([steps[0, :, -size:].min(axis=0), steps[1, :, -size:].max(axis=0)])
    ranges = find_ranges(totals, choices.score, added, ratios)
    still = choices.place[rows]
    row, system = np.nonzero(still >= 0)
    which = still[row, system]
    tops, bottoms = choices.tops[..., which], choices.bottoms[..., which]
    best = surely_best(ranges, system, tops, bottoms, choices.score)
    if choices.score.digits is not None:
        alike = surely_alike(ranges, system, tops, bottoms, choices.score)
        best = np.where(alike & (best < 0), choices.by_later[which], best)
    sure = best >= 0
    row, system, which = row[sure], system[sure], which[sure]
    settled.reshape(-1, systems, kinds)[row, system] = choices.counts[which, best[sure]]
    still[row, system] = -1
    return still, np.flatnonzero(ranges.apart & ranges.sound)


def _choose(choices: _Choices, before: FloatArray, place: NDArray[np.int32]) -> IntArray:
    """Return the reference of each open choice, from the sums before it."""
    score = choices.score
    if score is None:
        return _choose_by_rule(choices, before, place)
    tops, bottoms = before @ score.tops.T, before @ score.bottoms.T
    best = second = np.full(len(place), -np.inf)
    chosen = np.zeros(len(place), dtype=np.int64)
    for number in range(choices.counts.shape[1]):
        score_sum = np.zeros(len(place))
        for part in range(len(score.tops)):
            top = tops[:, part] + choices.tops[part, number].take(place)
            score_sum += top / (bottoms[:, part] + choices.bottoms[part, number].take(place))
        chosen[score_sum > best] = number
        second = np.maximum(second, np.minimum(best, score_sum))
        best = np.maximum(best, score_sum)
    sure = best - second > score.clear  # False for NaN, where nothing is counted
    if len(score.above):
        sure &= (best <= MOST) & score.relied(before)
    close = np.flatnonzero(~sure)
    if len(close):
        chosen[close] = _choose_by_rule(choices, before[close], place[close])
    return chosen


def _choose_by_rule(choices: _Choices, before: FloatArray, place: NDArray[np.int32]) -> IntArray:
    counts = choices.counts[place]
    return choose_best(choices.rule(before[:, None] + counts, counts), choices.usable[place])


def choose_running(
    counts: NDArray[Any],
    rule: FirstBest,
    draws: IntArray | None = None,
    before: FloatArray | None = None,
) -> tuple[FloatArray, IntArray]:
    """Sum counts over sentences, choosing each sentence's reference by the running rule.

    Args:
        counts: S × N × R × K; NaN where a reference is absent from a sentence.
        rule: the rule to choose by.
        draws: B × M sentence indices, resampled corpora in order; None for the corpus itself.
        before: S × K, sums of earlier sentences of the corpus, from which the run continues.

    Returns:
        Summed counts, S × K or B × S × K with draws; and the references chosen, S × N, or an
        empty array with draws. A sentence without any reference adds nothing (chosen: −1).
    """
    systems, sentences, _, kinds = counts.shape
    if draws is None:
        sums, chosen = np.zeros((systems, kinds)), np.empty((systems, sentences), dtype=np.int64)
        if before is not None:
            sums[:] = before
        # A single run prepares one stretch of a large corpus at a time.
        for part in blocks(sentences, 1, _AT_ONCE):
            so_far = sums if part.start or before is not None else None
            values = np.asarray(counts[:, part], dtype=np.float64)
            choices = _prepare(values, rule, values.shape[1], so_far)
            with np.errstate(divide="ignore", invalid="ignore"):
                _replay(choices, np.arange(values.shape[1])[None], sums[None])
            chosen[:, part] = choices.chosen.T
        return sums, chosen
    values = np.asarray(counts, dtype=np.float64)
    choices = _prepare(values, rule, draws.shape[1])
    totals = np.zeros((len(draws), systems, kinds))
    with np.errstate(divide="ignore", invalid="ignore"):
        for part in blocks(len(draws), systems, _CELLS):
            _replay(choices, draws[part], totals[part])
    return totals, np.empty((0, 0), dtype=np.int64)

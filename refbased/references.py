"""Rules that choose a sentence's reference, for the sentence alone or by running scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, Int32Array, IntArray, NumberArray, blocks
from gecjury.corpus.corpus import Corpus
from gecjury.stats.counts import precision_recall_f

FirstBest = Callable[[FloatArray, FloatArray], Sequence[FloatArray]]
"""Takes running sums and a sentence's own counts (both ... × references × K) and returns keys,
which are compared one after another, higher is better."""


@dataclass(frozen=True)
class RunningRule:
    """A rule that chooses a reference by running sums.

    Later keys order references as the sentence's own counts alone do.

    Attributes:
        keys: the rule itself.
        counted: which of the K counts the first key depends on.
        beta: β where the first key is F = (1 + β²) · counts₀ / (weights · counts), which is 1 where
            nothing is counted; None for another key.
        weights: weights of the counts in F's denominator, each 0 or more.
        rounded: True if the first key is rounded.
    """

    keys: FirstBest
    counted: tuple[bool, ...]
    beta: float | None = None
    weights: tuple[float, ...] = ()
    rounded: bool = False

    def __call__(self, sums: FloatArray, counts: FloatArray) -> Sequence[FloatArray]:
        """Return the keys, highest first."""
        return self.keys(sums, counts)


def f_rule(
    keys: FirstBest, beta: float, weights: tuple[float, ...], *, rounded: bool = True
) -> RunningRule:
    """Return a rule whose first key is F; see `RunningRule`."""
    counted = (True, *(weight != 0 for weight in weights[1:]))
    return RunningRule(keys, counted, beta, weights, rounded)


def best_f(beta: float, digits: int = 12, *, clip: bool = False) -> RunningRule:
    """Return ERRANT's rule: best running F, then more TP, fewer FP, fewer FN in the sentence.

    Args:
        beta: weight of recall.
        digits: decimal places to which F is rounded before it is compared, as the official
            scorer does with 4; beyond 12, F is noise.
        clip: sums below 0 count as 0 in F.
    """
    square = beta * beta

    def keys(sums: FloatArray, counts: FloatArray) -> Sequence[FloatArray]:
        summed = np.maximum(sums, 0.0) if clip else sums
        score = precision_recall_f(*np.moveaxis(summed, -1, 0), beta=beta)[2]
        return (np.round(score, digits), counts[..., 0], -counts[..., 1], -counts[..., 2])

    return f_rule(keys, beta, (1 + square, 1.0, square))


def choose_best(keys: Sequence[FloatArray], usable: BoolArray) -> IntArray:
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
_GRAIN = 64  # sums and products of multiples of 1/64 are exact
_AT_ONCE = 1 << 15  # sentences of a single corpus prepared together
_NOISE = 1e-13  # two ways of computing the same score of sums never differ by this much


@dataclass(frozen=True)
class _Choices:
    """Settled and open choices of N sentences × S systems.

    Attributes:
        settled: N × (S · K), counts of settled choices, 0 elsewhere.
        chosen: N × S, the first reference that may be chosen; −1 if there is none.
        place: N × S, index of each open choice among A; −1 where the choice is not open.
        counts: A × R × K, counts of the references in each open choice.
        usable: A × R, True for references that may be chosen.
    """

    settled: FloatArray
    chosen: IntArray
    place: Int32Array
    counts: FloatArray
    usable: BoolArray


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
    ahead = None
    # `_ahead` bounds the sums by these sentences, so there must be no others before them.
    if isinstance(rule, RunningRule) and rule.beta is not None and before is None:
        ahead = _ahead(counts, rule, length)
    usable &= ~_beaten(counts, usable, rule, ahead)
    left = usable.sum(axis=1)
    first = usable.argmax(axis=1)
    only = np.take_along_axis(counts, first[:, None, None], axis=1)[:, 0]
    settled = np.where((left == 1)[:, None], only, 0.0).reshape(sentences, systems * kinds)
    chosen = np.where(left > 0, first, -1).reshape(sentences, systems)
    at = np.flatnonzero(left > 1)
    place = np.full((sentences, systems), -1, dtype=np.int32)
    place.ravel()[at] = np.arange(len(at))
    return _Choices(settled, chosen, place, counts[at], usable[at])


def _beaten(
    counts: FloatArray,
    usable: BoolArray,
    rule: FirstBest,
    ahead: Callable[[int, int], BoolArray] | None,
) -> BoolArray:
    """Return the references that another one beats whatever was counted before.

    The winner must have a first key that is never lower, and the later keys must prefer it. A first
    key is never lower if the reference is ahead, or if the counts that it depends on are equal. If
    the later keys are unknown, equal counts leave the choice to the order of the references.
    """
    seen, later = np.ones(counts.shape[-1], dtype=bool), []
    if isinstance(rule, RunningRule):
        later = list(rule(counts, counts)[1:])
        seen = np.array(rule.counted)
    beaten = np.zeros_like(usable)
    for first, second in permutations(range(counts.shape[1]), 2):
        alike = (counts[:, first, seen] == counts[:, second, seen]).all(axis=-1)
        if ahead is not None:
            alike |= ahead(first, second)
        prefers = _preferred(later, first, second, len(counts))
        beaten[:, second] |= alike & prefers & usable[:, first]
    return beaten


def _preferred(keys: Sequence[FloatArray], one: int, two: int, cells: int) -> BoolArray:
    """Return where keys, compared one after another, prefer one reference to another."""
    prefers = np.full(cells, one < two)
    for key in reversed(keys):
        prefers = (key[:, one] > key[:, two]) | ((key[:, one] == key[:, two]) & prefers)
    return prefers


def _ahead(
    counts: FloatArray, rule: RunningRule, length: int
) -> Callable[[int, int], BoolArray] | None:
    """Return a test of where one reference's F is surely above another's, or both are 0 or 1.

    F is t/(t + r), where t is the numerator and r the rest of the denominator. With sums T and
    R so far, F of (t₁, r₁) exceeds that of (t₂, r₂) by the quotient of T(r₂ − r₁) + R(t₁ − t₂) +
    t₁r₂ − t₂r₁ and the product of both denominators. If t₁ ≥ t₂ and r₁ ≤ r₂, this numerator is at
    least (T + t₂)(r₂ − r₁) and at least (R + r₂)(t₁ − t₂). T + t₂ is either 0, and then F is 0 or
    beats an F of 0, or at least the smallest t above 0; R + r₂ is either 0, and then both F are 1,
    or at least the smallest r above 0. So a large enough difference of t or r shows in F in spite
    of rounding, even in a corpus of `length` sentences that all have the largest counts. None where
    counts are negative or an F of 1 might not be computed as exactly 1.

    Args:
        counts: cells × R × K.
        rule: a rule whose first key is F.
        length: number of sentences of a corpus.
    """
    assert rule.beta is not None
    top_weight, weights = 1 + rule.beta * rule.beta, np.array(rule.weights)
    whole = np.array([top_weight, *weights]) * _GRAIN
    exact = bool((whole == np.rint(whole)).all() and (counts == np.rint(counts)).all())
    weights[0] -= top_weight
    top, rest = top_weight * counts[..., 0], counts @ weights
    sure = exact or (rule.rounded and bool((weights >= 0).all()))
    if not sure or (rest < 0).any() or (counts < 0).any():
        return None
    visible = 2 * _NOISE * (length * (top + rest).max(initial=0.0)) ** 2
    least_gain = visible / rest.min(initial=np.inf, where=rest > 0)
    least_loss = visible / top.min(initial=np.inf, where=top > 0)

    def ahead(one: int, two: int) -> BoolArray:
        gain, loss = top[:, one] - top[:, two], rest[:, two] - rest[:, one]
        leads = (gain >= 0) & (loss >= 0) & ((gain > least_gain) | (loss > least_loss))
        return np.asarray(leads)

    return ahead


def _replay(choices: _Choices, rule: FirstBest, order: IntArray, totals: FloatArray) -> None:
    """Sum some draws into `totals` (draws × S × K), sentence after sentence.

    A single draw's choices are kept in `choices.chosen`.
    """
    draws, _, kinds = totals.shape
    by_draw, by_cell = totals.reshape(draws, -1), totals.reshape(-1, kinds)
    added = np.empty_like(by_draw)
    for at in np.ascontiguousarray(order.T):
        np.take(choices.settled, at, axis=0, out=added, mode="clip")
        which = choices.place[at].ravel()
        cells = np.flatnonzero(which >= 0)
        if len(cells):
            counts, usable = choices.counts[which[cells]], choices.usable[which[cells]]
            picked = choose_best(rule(by_cell[cells][:, None] + counts, counts), usable)
            added.reshape(-1, kinds)[cells] = counts[np.arange(len(cells)), picked]
            if draws == 1:
                choices.chosen[at[0], cells] = picked
        by_draw += added


def choose_running(
    counts: NumberArray,
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
                _replay(choices, rule, np.arange(values.shape[1])[None], sums[None])
            chosen[:, part] = choices.chosen.T
        return sums, chosen
    values = np.asarray(counts, dtype=np.float64)
    choices = _prepare(values, rule, draws.shape[1])
    totals = np.zeros((len(draws), systems, kinds))
    with np.errstate(divide="ignore", invalid="ignore"):
        for part in blocks(len(draws), systems, _CELLS):
            _replay(choices, rule, draws[part], totals[part])
    return totals, np.empty((0, 0), dtype=np.int64)


def wordless(corpus: Corpus) -> BoolArray:
    """Return where an output has no word although the reference has one.

    A system that deletes a whole sentence also deletes what a reference deletes, and has no n-grams
    or edits that could be wrong. Metrics that would credit such an output count nothing of it as
    right.

    Returns:
        Systems × sentences × references.
    """
    shape = len(corpus.systems), len(corpus), len(corpus.references)
    result = np.zeros(shape, dtype=bool)
    for of_system, version in zip(result, corpus.systems.values(), strict=True):
        empty = [row for row, line in enumerate(map(str.strip, version.lines)) if not line]
        for row in empty:
            of_system[row] = [bool(r.lines[row].strip()) for r in corpus.references]
    return result

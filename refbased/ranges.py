"""Bounds on running scores that prove a reference to be best for a whole range of sums.

A running score is a sum of quotients of sums, Σ U/V. In resampled corpora of the same sentences the
sums before a sentence differ little: where a reference is ahead over their whole range, nothing has
to be computed for each corpus.

With p = U/V before a sentence, the score with (u₁, v₁) exceeds that with (u₂, v₂) by the sum of

    (p (v₂ − v₁) + u₁ − u₂ + (u₁v₂ − u₂v₁)/V) · V/((V + v₁)(V + v₂))

over the quotients, which is bounded from the ranges of p and V by interval arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray

MOST = 4.0
"""If counts may be negative, the short formula is not relied on for scores above this: the terms of
its denominator may then nearly cancel out."""
NOISE = 1e-13
"""Two ways of computing the same score of sums never differ by this much."""
_SPREAD = 4.0  # standard deviations about the mean that a range covers
_RELIED = 1e-6  # share of the first count that a sum must exceed to be surely above 0


@dataclass(frozen=True)
class Quotients:
    """A score Σ (tops · c)/(bottoms · c) + constant of K summed counts c.

    Attributes:
        tops: Q × K.
        bottoms: Q × K.
        constant: added to the quotients.
        above: F × K, weights of sums that must be above 0 for this formula to hold; empty if no
            count is ever negative.
        floors: shape (F,), limits that these sums must exceed before a sentence is added, so that
            they are above 0 after it.
        digits: decimal places to which the score is rounded; None does not round it.
        nothing: added to denominators, so that 0/0 becomes 0.
    """

    tops: FloatArray
    bottoms: FloatArray
    constant: float
    above: FloatArray
    floors: FloatArray
    digits: int | None
    nothing: float

    @property
    def clear(self) -> float:
        """The lead that a score needs in order to be ahead after rounding, too."""
        return NOISE if self.digits is None else 2 * 10.0**-self.digits

    def relied(self, sums: FloatArray) -> BoolArray:
        """Return where the formula holds for the sums, ... × K, whichever sentence is added."""
        least = self.floors + _RELIED * sums[..., :1]
        return np.asarray((sums @ self.above.T > least).all(axis=-1))


@dataclass(frozen=True)
class Ranges:
    """Ranges of the sums before some sentences, in all corpora but the exceptions.

    Attributes:
        quotients: p, least and greatest: 2 × Q × S.
        bottoms: V, the same.
        sound: S, whether anything may be concluded from them.
        apart: corpora × S, the exceptions.
    """

    quotients: FloatArray
    bottoms: FloatArray
    sound: BoolArray
    apart: BoolArray


def find_ranges(
    sums: FloatArray,
    score: Quotients,
    reach: FloatArray,
    ratios: FloatArray,
) -> Ranges:
    """Compute ranges over corpora for a stretch of sentences.

    Args:
        sums: sums before the stretch, corpora × S × K.
        score: the score of these sums.
        reach: least and greatest sum that the stretch adds at any place, 2 × (2Q + F) × S: to
            the numerators, the denominators, and the sums that must be above 0.
        ratios: least and greatest quotient of what a single sentence adds to numerator and
            denominator, 2 × Q × S.
    """
    size = len(score.tops)
    parts = np.concatenate([score.tops, score.bottoms, score.above])
    values = np.moveaxis(sums @ parts.T, -1, 0)
    tops, bottoms = values[:size], values[size : 2 * size]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bottoms = bottoms + score.nothing
        both = np.concatenate([tops / bottoms, bottoms])
        finite = np.isfinite(both).all(axis=0)
        both = np.where(finite, both, 0.0)
        count = np.maximum(finite.sum(axis=0), 1)
        mean = both.sum(axis=1) / count
        away = np.where(finite, np.abs(both - mean[:, None]), 0.0)
        spread = _SPREAD * np.sqrt((away * away).sum(axis=1) / count) + 1e-12 * np.abs(mean)
        apart = ~finite | (away > spread[:, None]).any(axis=0)
        low, high = mean - spread, mean + spread
        (less, more), down, up = (low[size:], high[size:]), reach[0], reach[1]
        after = np.stack([less + down[size : 2 * size], more + up[size : 2 * size]])
        # (pV + ΔU)/(V + ΔV) has its extremes where p, V, ΔU and ΔV have theirs.
        ends = [
            (p * v + du) / (v + dv)
            for p in (low[:size], high[:size])
            for v in (less, more)
            for du in (down[:size], up[:size])
            for dv in (down[size : 2 * size], up[size : 2 * size])
        ]
        # A quotient of sums also lies between the quotients of its parts.
        between = np.stack([np.minimum(low[:size], ratios[0]), np.maximum(high[:size], ratios[1])])
        lowest = np.maximum(np.minimum.reduce(ends), between[0])
        highest = np.minimum(np.maximum.reduce(ends), between[1])
        sound = finite.any(axis=0) & ((less > 0) & (after[0] > 0)).all(axis=0)
        if len(score.above):
            first = sums[..., 0].max(axis=0)
            least = np.where(apart, np.inf, values[2 * size :]).min(axis=1) + down[2 * size :]
            relied = (least > score.floors[:, None] + _RELIED * first).all(axis=0)
            # Where nothing was right and nothing can be, the score is 0 in any case.
            sound &= relied | ((first == 0) & (up[:size] == 0).all(axis=0))
    return Ranges(np.stack([lowest, highest]), after, sound, apart)


def surely_best(
    ranges: Ranges, system: IntArray, tops: FloatArray, bottoms: FloatArray, score: Quotients
) -> IntArray:
    """Return the reference that is best in all corpora but the exceptions; −1 where none is.

    Args:
        ranges: ranges before the sentences.
        system: the system of each of A open choices, shape (A,).
        tops: addition of each of R references to the numerators, Q × R × A; −∞ if it may not
            be chosen.
        bottoms: addition to the denominators, Q × R × A.
        score: the score by which references are compared.
    """
    (low, high), (least, greatest) = ranges.quotients[..., system], ranges.bottoms[..., system]
    references = tops.shape[1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle, centre = (low + high) / 2, (least + greatest) / 2
        scores = ((middle * centre)[:, None] + tops) / (centre[:, None] + bottoms)
        best = scores.sum(axis=0).argmax(axis=0)
        index = best[None, None]
        u, v = (np.take_along_axis(part, index, axis=1)[:, 0] for part in (tops, bottoms))
        sure = ranges.sound[system] & (least + bottoms.min(axis=1) > 0).all(axis=0)
        if len(score.above):
            greatest_top = np.maximum(high, 0) * greatest + np.maximum(u, 0)
            sure &= (greatest_top <= MOST * (least + v)).all(axis=0)
        ends = (least, greatest)
        for other in range(references):
            u2, v2 = tops[:, other], bottoms[:, other]
            more, cross = v2 - v, u * v2 - u2 * v
            bracket = np.minimum(low * more, high * more) + (u - u2)
            bracket = bracket + np.minimum(*(cross / end for end in ends))
            factors = [end / (end + v) / (other_end + v2) for end in ends for other_end in ends]
            ahead = np.minimum(
                bracket * np.minimum.reduce(factors), bracket * np.maximum.reduce(factors)
            ).sum(axis=0)
            barred = tops[0, other] == -np.inf
            sure &= (best == other) | barred | (ahead > 2 * score.clear)
    return np.where(sure, best, -1)


def surely_alike(
    ranges: Ranges, system: IntArray, tops: FloatArray, bottoms: FloatArray, score: Quotients
) -> BoolArray:
    """Return where all references have the same rounded score in all corpora but the exceptions.

    Args:
        ranges: as in `surely_best`.
        system: as in `surely_best`.
        tops: as in `surely_best`.
        bottoms: as in `surely_best`.
        score: the score, which is rounded.
    """
    assert score.digits is not None
    alike = np.zeros(len(system), dtype=bool)
    grain = 10.0**-score.digits
    # Few systems have such a narrow range: those that change nothing or get nothing right.
    wide = ranges.quotients[1] - ranges.quotients[0]
    at = np.flatnonzero(ranges.sound[system] & (wide.sum(axis=0) < grain)[system])
    if not len(at):
        return alike
    tops, bottoms = tops[..., at], bottoms[..., at]
    quotients, sums = ranges.quotients[..., system[at]], ranges.bottoms[..., system[at]]
    ends = [((p * v)[:, None] + tops) / (v[:, None] + bottoms) for p in quotients for v in sums]
    barred = tops[0] == -np.inf
    slack = grain / 10
    low = np.where(barred, np.inf, np.minimum.reduce(ends).sum(axis=0)).min(axis=0) - slack
    high = np.where(barred, -np.inf, np.maximum.reduce(ends).sum(axis=0)).max(axis=0) + slack
    rounded = [np.round(end + score.constant, score.digits) for end in (low, high)]
    alike[at] = rounded[0] == rounded[1]
    return alike

"""Estimates of mean labels when people judged only a few outputs and a metric scored all of them.

There are three estimators. The labels alone give the classical mean. Prediction-powered inference
(PPI++; Angelopoulos, Duchi and Zrnic 2023) adds the scores of all outputs and learns their errors
from the labelled ones; it assumes nothing about the metric. Rogan and Gladen's estimator (1978)
corrects a share of binary verdicts by sensitivity and specificity on the labelled outputs of all
systems, and assumes that these two are the same for every system.

Intervals of means are Wilson's score intervals, which stay on the scale of the labels and hold for
few labels near its ends; those of differences are Student's.

A source is one observation, however many of its outputs are labelled: every variance is a sum of
squares over sources, and a difference of two systems is paired by source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError

LEAST = 10
"""The smallest number of labelled sources for which an interval is computed."""

_MOST = 10**15  # labelled sources; no forecast asks for more
_ROUNDING = 1e-12  # rounding error of sums of equal labels


@dataclass(frozen=True)
class Outputs:
    """The outputs of one system, or of all systems together.

    Attributes:
        labels: people's verdicts, shape (n,); NaN where nobody judged.
        predictions: the metric's scores, shape (n,), on any scale, without NaN; see `filled`.
        sources: the number of each output's source, from 0, shape (n,).
        scale: the least and the greatest possible label; labels outside of it widen it.
    """

    labels: FloatArray
    predictions: FloatArray
    sources: IntArray
    scale: tuple[float, float] = (0.0, 1.0)

    @property
    def labelled(self) -> BoolArray:
        """True for outputs with a label, shape (n,)."""
        return ~np.isnan(self.labels)

    @property
    def labelled_sources(self) -> int:
        """The number of sources with a label."""
        return int(np.count_nonzero(np.bincount(self.sources[self.labelled])))


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval.

    Attributes:
        value: the estimate.
        low: lower bound.
        high: upper bound.
        error: standard error.
        gain: how many times more labelled sources labels alone would need for this error.
        weight: λ, the weight of the predictions; 0 for labels alone.
        parts: the share of each source in the error, shape (sources,), see `Mean`.
    """

    value: float
    low: float
    high: float
    error: float
    weight: float = 0.0
    gain: float = 1.0
    parts: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def width(self) -> float:
        """The upper bound minus the lower bound."""
        return self.high - self.low


@dataclass(frozen=True)
class Mean:
    """A mean, and the share of each source in its error.

    Attributes:
        value: the mean.
        parts: shape (sources,). The sum of squares is the variance of the mean; parts of two means
            over the same sources add up to those of the sum.
    """

    value: float
    parts: FloatArray

    def minus(self, other: Mean) -> Mean:
        """Return the difference of two means over the same sources."""
        return Mean(self.value - other.value, self.parts - other.parts)


def filled(scores: FloatArray) -> FloatArray:
    """Return scores with NaN replaced by the mean of all scores.

    PPI++ is valid for any predictions that do not depend on the labels. An output without a score
    keeps its label, and its prediction adds no information.

    Raises:
        InputError: no output has a score.
    """
    scored = ~np.isnan(scores)
    if not scored.any():
        raise InputError("the metric has no sentence scores; expected a score of every output")
    return np.where(scored, scores, scores[scored].mean())


def _mean(values: FloatArray, kept: BoolArray, sources: IntArray, size: int) -> Mean:
    """Return the mean of some outputs.

    The factor m/(m − 1) for m sources is that of the sample variance: with one output per source,
    the sum of squares is s²/m.
    """
    if not kept.any():
        return Mean(0.0, np.zeros(size))
    chosen, places = values[kept], sources[kept]
    value = float(chosen.mean())
    sums = np.bincount(places, chosen - value, size) / len(chosen)
    clusters = int(np.count_nonzero(np.bincount(places)))
    return Mean(value, sums * math.sqrt(clusters / max(clusters - 1, 1)))


@dataclass(frozen=True)
class Moments:
    """Means behind an estimate, of one system or of the difference of two.

    Attributes:
        labels: the mean label.
        control: the mean prediction of labelled outputs minus that of the others, which is 0 except
            for chance.
        labelled: True for sources with a label, shape (sources,).
        scored: number of sources with an output.
        scale: the least and the greatest possible mean, or difference of means.
        binary: whether every label is at an end of the scale.
        paired: whether this is a difference.
        unseen: for binary labels, what two additional labels, one at each end of the scale, with
            predictions that have nothing to do with them, would add to the variances of the mean
            label and of the mean prediction; otherwise 0.
    """

    labels: Mean
    control: Mean
    labelled: BoolArray
    scored: int
    scale: tuple[float, float] = (0.0, 1.0)
    binary: bool = False
    paired: bool = False
    unseen: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, first: Outputs, second: Outputs | None = None) -> Moments:
        """Return the means of one system's outputs, or their difference from a second system's.

        Args:
            first: outputs.
            second: outputs of the same sources, whose means are subtracted.

        Raises:
            InputError: fewer than `LEAST` sources have a label.
        """
        pair = (first,) if second is None else (first, second)
        size = 1 + max(int(one.sources.max(initial=0)) for one in pair)
        labelled, scored = np.zeros((2, size), dtype=np.bool_)
        sides = []
        values = np.concatenate([one.labels[one.labelled] for one in pair])
        ends = [*values.tolist(), *(end for one in pair for end in one.scale)]
        low, high = min(ends), max(ends)
        binary = bool(np.isin(values, (low, high)).all())
        unseen = np.zeros(2)
        for one in pair:
            if (count := one.labelled_sources) < LEAST:
                raise InputError(f"{count} labelled sources; an interval needs at least {LEAST}")
            judged = one.labelled
            labelled[one.sources[judged]] = True
            scored[one.sources] = True
            control = Mean(0.0, np.zeros(size))
            # If every output is labelled, predictions have nothing to add.
            if not judged.all():
                control = _mean(one.predictions, judged, one.sources, size).minus(
                    _mean(one.predictions, ~judged, one.sources, size)
                )
            sides.append((_mean(one.labels, judged, one.sources, size), control))
            unseen += 2 * np.array([(high - low) ** 2 / 4, one.predictions.var()]) / count**2
        labels, control = sides[0]
        for other in sides[1:]:
            labels, control = labels.minus(other[0]), control.minus(other[1])
        return cls(
            labels,
            control,
            labelled,
            int(scored.sum()),
            (low, high) if second is None else (low - high, high - low),
            binary,
            second is not None,
            (float(unseen[0]), float(unseen[1])) if binary else (0.0, 0.0),
        )

    @property
    def tuned(self) -> float:
        """The weight λ with the least variance; 0 where the predictions do not vary."""
        square = float(self.control.parts @ self.control.parts)
        covariance = float(self.labels.parts @ self.control.parts)
        return covariance / (square + self.unseen[1]) if square > 0 else 0.0

    def estimate(self, confidence: float = 0.95, weight: float | None = None) -> Interval:
        """Return the mean label by PPI++, mean label − λ · control, with its interval.

        With λ tuned this is the regression estimator of double sampling. If the predictions do not
        make the interval narrower, λ is 0.

        Args:
            confidence: of the interval, above 0 and below 1.
            weight: λ, from 0 (labels alone) to 1 (predictions as they are); None for the tuned one,
                which may have any size and sign, since predictions have their own scale.

        Raises:
            OptionError: a weight below 0 or above 1.
        """
        if weight is not None:
            if not 0 <= weight <= 1:
                raise OptionError(f"weight {weight:g}: expected 0 (labels alone) to 1")
            return self._interval(weight, confidence)
        alone = self._interval(0.0, confidence)
        if not self.tuned:
            return alone
        helped = self._interval(self.tuned, confidence, tuned=True)
        return helped if helped.gain > 1 and helped.width < alone.width else alone

    def _interval(self, weight: float, confidence: float, *, tuned: bool = False) -> Interval:
        """Return the estimate with a weight: a mean with Wilson's interval, or a difference.

        Wilson's interval is that of as many 0/1 labels as have the same variance; for 0/1 labels
        alone, one per source, that is their own number. It does not leave the scale. Student's
        interval, which differences have, is too narrow for means near an end of the scale, and has
        no width for a difference that is the same on all labelled sources.
        """
        from gecjury.stats.special import ndtri, stdtrit

        level = (1 + confidence) / 2
        before, degrees = self._variance(0.0)
        variance = before
        if weight:
            variance, degrees = self._variance(weight, tuned=tuned)
        quantile = float(stdtrit(degrees, level))
        if self.binary and not self.paired and not weight:
            # The variance of 0/1 labels follows from their mean, so the normal quantile is right.
            quantile = float(ndtri(level))
        low, high = self.scale
        value = min(max(self.labels.value - weight * self.control.value, low), high)
        parts = self.labels.parts - weight * self.control.parts
        gain = 1.0
        if before:
            gain = before / variance if variance else math.inf
        error = math.sqrt(variance)
        middle, half = value, quantile * error
        constant = error <= _ROUNDING * max(abs(self.labels.value), 1.0)
        if not self.paired or constant:
            alone = float(self.labels.parts @ self.labels.parts)
            if alone:
                error *= math.sqrt(alone / before)
            span = high - low
            middle, half = _wilson((value - low) / span, self._size * gain, quantile)
            middle, half = low + middle * span, half * span
        bounds = max(low, min(middle - half, value)), min(high, max(middle + half, value))
        return Interval(value, *bounds, error, weight, gain, parts)

    @property
    def _size(self) -> float:
        """The number of 0/1 labels whose mean has the same variance as the mean label.

        If all labels are equal, it is the number of labelled sources: no labels on the scale vary
        more than 0/1 labels.
        """
        count = int(np.count_nonzero(self.labelled))
        low, high = self.scale
        share = (self.labels.value - low) / (high - low)
        variance = float(self.labels.parts @ self.labels.parts) / (high - low) ** 2
        if self.binary:
            variance *= (count - 1) / count
        return share * (1 - share) / variance if variance > _ROUNDING**2 else float(count)

    def _variance(self, weight: float, *, tuned: bool = False) -> tuple[float, float]:
        """Return the variance of the mean and its degrees of freedom.

        The degrees are Satterthwaite's, since the labelled sources are few and the others many.
        """
        squares = np.square(self.labels.parts - weight * self.control.parts)
        by_labels, by_others = squares[self.labelled].sum(), squares[~self.labelled].sum()
        by_labels += self.unseen[0] + weight**2 * self.unseen[1]
        freedom = np.count_nonzero(self.labelled) - 1
        if tuned:
            # The slope λ was also fitted to the labels.
            by_labels *= freedom / (freedom - 1)
            freedom -= 1
        rest = max(np.count_nonzero(~self.labelled) - 1, 1)
        spent = float(by_labels**2 / freedom + by_others**2 / rest)
        variance = float(by_labels + by_others)
        return variance, variance**2 / spent if spent > 0 else float(freedom)

    def forecast(self, confidence: float = 0.95) -> Forecast:
        """Return a forecast of the width of intervals with other numbers of labels."""
        from gecjury.stats.special import stdtrit

        count = int(np.count_nonzero(self.labelled))
        alone, helped = (self.estimate(confidence, weight) for weight in (0, None))
        # 1 − 1/gain is R² · (1 − n/N); if all N are labelled, R² cannot be measured.
        left = 1 - count / self.scored
        explained = (1 - 1 / helped.gain) / left if left > 0 else 0.0
        low, high = self.scale
        quantile = float(stdtrit(count - 1, (1 + confidence) / 2))
        deviation, share = alone.width / (2 * quantile) * math.sqrt(count), math.nan
        if not self.paired:
            # Few labels near an end of the scale often show less variance than there is. One more
            # label, half of it at each end, makes forecasts right or slightly too wide.
            share = ((alone.value - low) * self._size / (high - low) + 0.5) / (self._size + 1)
            deviation = (high - low) * math.sqrt(share * (1 - share) * count / self._size)
        return Forecast(
            deviation,
            min(max(explained, 0.0), 1.0),
            self.scored,
            confidence,
            share,
            high - low,
            self.binary,
        )


def _wilson(share: float, size: float, quantile: float) -> tuple[float, float]:
    """Return the middle and half the width of Wilson's score interval (1927) of a share.

    Args:
        share: 0 to 1.
        size: number of 0/1 labels, which need not be whole.
        quantile: of the normal distribution or of Student's t.
    """
    more = quantile**2 / size
    half = quantile * math.sqrt(share * (1 - share) / size + more / size / 4)
    return (share + more / 2) / (1 + more), half / (1 + more)


@dataclass(frozen=True)
class Forecast:
    """Widths of intervals by the number of labelled sources.

    Attributes:
        deviation: standard deviation of the labels, by source.
        explained: R², the share of their variance that the predictions explain, 0 to 1.
        sources: number of sources with scores.
        confidence: confidence of the intervals.
        share: where the mean is on the scale of the labels, 0 to 1; NaN for a difference.
        span: length of the scale.
        binary: whether the labels are 0 or 1.
    """

    deviation: float
    explained: float
    sources: int
    confidence: float = 0.95
    share: float = math.nan
    span: float = 1.0
    binary: bool = False

    def width(self, labelled: int, *, alone: bool = False) -> float:
        """Return the width with a number of labelled sources.

        The variance is σ²/n for labels alone and σ²/n · (1 − R²(1 − n/N)) with predictions of N
        sources, of which n are labelled. The intervals are those of `Moments.estimate`.

        Args:
            labelled: n, at least 3; with predictions at most N.
            alone: use the labels alone.
        """
        from gecjury.stats.special import ndtri, stdtrit

        level = (1 + self.confidence) / 2
        saved = 0.0 if alone else self.explained * (1 - min(labelled / self.sources, 1.0))
        quantile = float(stdtrit(labelled - (2 if saved else 1), level))
        variance = self.deviation**2 * (1 - saved) / labelled
        if math.isnan(self.share):
            return 2 * quantile * math.sqrt(variance)
        if self.binary and not saved:
            quantile = float(ndtri(level))
        size = self.share * (1 - self.share) * self.span**2 / variance
        middle, half = _wilson(self.share, size, quantile)
        return self.span * (min(middle + half, 1.0) - max(middle - half, 0.0))

    def needed(self, width: float, *, alone: bool = False) -> int | None:
        """Return how many labelled sources give an interval of that width.

        Args:
            width: above 0.
            alone: use the labels alone.

        Returns:
            At least `LEAST`; None if the labels of all sources would not suffice. Labels alone may
            need more sources than there are.
        """
        least, most = LEAST, self.sources
        while alone and most < _MOST and self.width(most, alone=True) > width:
            most *= 2
        if most < least or self.width(most, alone=alone) > width:
            return None
        # Bisection: more labels never make an interval wider.
        while least < most:
            middle = (least + most) // 2
            if self.width(middle, alone=alone) <= width:
                most = middle
            else:
                least = middle + 1
        return most


@dataclass(frozen=True)
class Verdicts:
    """A metric's binary verdicts on several systems, and the errors that labels show.

    Attributes:
        sensitivity: share of good outputs that the metric calls good.
        specificity: share of bad outputs that it calls bad.
        shares: for each system, the share of its outputs that the metric calls good.
        sources: number of sources with a label and a verdict.
    """

    sensitivity: Mean
    specificity: Mean
    shares: tuple[Mean, ...]
    sources: int

    @classmethod
    def of(cls, systems: Sequence[Outputs]) -> Verdicts:
        """Return the errors on the labelled outputs of all systems, and every system's share.

        Args:
            systems: labels and predictions of 0 (bad) and 1 (good); NaN where there is none.

        Raises:
            InputError: a label or a verdict is another number, or all scored outputs with a label
                are good, or all are bad.
        """
        labels = np.concatenate([one.labels for one in systems])
        verdicts = np.concatenate([one.predictions for one in systems])
        sources = np.concatenate([one.sources for one in systems])
        for name, values in (("label", labels), ("verdict", verdicts)):
            odd = values[~np.isnan(values) & (values != 0) & (values != 1)]
            if len(odd):
                raise InputError(f"{name} {odd[0]:g}: expected 0 (bad) or 1 (good)")
        size = int(sources.max(initial=0)) + 1
        used = ~np.isnan(labels) & ~np.isnan(verdicts)
        rates = []
        # Each rate gets two additional sources, with one right and one wrong verdict (Agresti and
        # Coull 1998). Otherwise, a metric without an error among the labels would have no variance.
        for good, place in ((1, size), (0, size + 2)):
            kept = used & (labels == good)
            if not kept.any():
                named = "good" if good else "bad"
                raise InputError(f"no labelled output is {named}; expected some of both kinds")
            rates.append(
                _mean(
                    np.concatenate([verdicts == good, [1.0, 0.0]]),
                    np.concatenate([kept, [True, True]]),
                    np.concatenate([sources, [place, place + 1]]),
                    size + 4,
                )
            )
        shares = tuple(
            _mean(one.predictions, ~np.isnan(one.predictions), one.sources, size + 4)
            for one in systems
        )
        judged = int(np.count_nonzero(np.bincount(sources[used])))
        return cls(rates[0], rates[1], shares, judged)

    @property
    def informedness(self) -> Mean:
        """Sensitivity + specificity − 1: 0 for verdicts by chance, 1 for verdicts without error."""
        parts = self.sensitivity.parts + self.specificity.parts
        return Mean(self.sensitivity.value + self.specificity.value - 1, parts)

    def estimate(
        self, first: int, second: int | None = None, confidence: float = 0.95
    ) -> Interval | None:
        """Return the share of good outputs: (share called good + specificity − 1) / informedness.

        The interval is Fieller's: it contains the shares that the verdicts do not refute. It is the
        whole scale if the metric may be no better than chance.

        Args:
            first: number of a system.
            second: number of the system whose share is subtracted.
            confidence: of the interval, above 0 and below 1.

        Returns:
            Between 0 and 1, or a difference between −1 and 1; None if the metric is no better than
            chance on the labelled outputs.
        """
        from gecjury.stats.special import stdtrit

        below = self.informedness
        if below.value <= 0:
            return None
        above, least = self.shares[first], -1.0
        if second is not None:
            above = above.minus(self.shares[second])
        else:
            value = above.value + self.specificity.value - 1
            above, least = Mean(value, above.parts + self.specificity.parts), 0.0
        square = float(stdtrit(max(self.sources - 1, 1), (1 + confidence) / 2)) ** 2
        # The shares x with (above − x · below)² ≤ t² · variance lie between the roots of
        # a x² − 2 b x + c; with a ≤ 0 informedness may be 0, and no share is refuted.
        a = below.value**2 - square * float(below.parts @ below.parts)
        b = above.value * below.value - square * float(above.parts @ below.parts)
        c = above.value**2 - square * float(above.parts @ above.parts)
        low, high = least, 1.0
        if a > 0:
            root = math.sqrt(max(b * b - a * c, 0.0))
            low, high = (b - root) / a, (b + root) / a
        value = above.value / below.value
        parts = (above.parts - value * below.parts) / below.value
        value, low, high = (min(max(x, least), 1.0) for x in (value, low, high))
        return Interval(value, low, high, float(np.linalg.norm(parts)), parts=parts)


def disagree(corrected: Interval, powered: Interval, level: float = 0.05) -> bool:
    """Return whether Rogan and Gladen's estimate differs significantly from that of PPI++.

    It does if the metric's errors on a system differ from those on all systems together.

    Args:
        corrected: from `Verdicts.estimate`.
        powered: from `Moments.estimate`, for the same outputs.
        level: level of the two-sided test.
    """
    from gecjury.stats.special import ndtri

    apart = corrected.parts.copy()
    apart[: len(powered.parts)] -= powered.parts
    limit = float(ndtri(1 - level / 2)) * float(np.linalg.norm(apart))
    return abs(corrected.value - powered.value) > limit > 0

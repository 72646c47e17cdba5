"""Estimates of mean labels when people judged only a few outputs and a metric scored all of them.

The labels alone give the classical mean. Prediction-powered inference (PPI++; Angelopoulos, Duchi
and Zrnic 2023) adds the scores of all outputs and learns their errors from the labelled ones; it
assumes nothing about the metric.

Intervals of means are Wilson's score intervals, which stay on the scale of the labels and hold for
few labels near its ends; those of differences are Student's.

Every variance is a sum of squares over sources; a difference of two systems is paired by source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.core.errors import InputError
from gecjury.stats.choices import FEWEST_LABELS

_ROUNDING = 1e-12  # rounding error of sums of equal labels


@dataclass(frozen=True)
class JudgedOutputs:
    """The outputs of one system, one for each source.

    Attributes:
        labels: people's verdicts, shape (sources,); NaN where nobody judged.
        predictions: the metric's scores, shape (sources,), on any scale, without NaN; see `filled`.
        scale: the least and the greatest possible label; labels outside of it widen it.
    """

    labels: FloatArray
    predictions: FloatArray
    scale: tuple[float, float] = (0.0, 1.0)

    @property
    def labelled(self) -> BoolArray:
        """True for sources with a label, shape (sources,)."""
        return ~np.isnan(self.labels)


@dataclass(frozen=True)
class EstimateInterval:
    """An estimate with its interval.

    Attributes:
        gain: how many times more labelled sources labels alone would need for this error.
        weight: λ, the weight of the predictions; 0 for labels alone.
    """

    value: float
    low: float
    high: float
    error: float
    weight: float = 0.0
    gain: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The lower and the upper bound."""
        return self.low, self.high

    @property
    def width(self) -> float:
        """The upper bound minus the lower bound."""
        return self.high - self.low


@dataclass(frozen=True)
class Mean:
    """A mean, and the share of each source in its error.

    Attributes:
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


def _label_range(pair: Sequence[JudgedOutputs]) -> tuple[float, float, bool]:
    """Return the lowest and the highest possible label, and whether there are no others."""
    values = np.concatenate([one.labels[one.labelled] for one in pair])
    ends = [*values.tolist(), *(end for one in pair for end in one.scale)]
    low, high = min(ends), max(ends)
    return low, high, bool(np.isin(values, (low, high)).all())


def _mean(values: FloatArray, kept: BoolArray) -> Mean:
    """Return the mean over some sources, with the sample variance divided by their number."""
    count = int(np.count_nonzero(kept))
    value = float(values[kept].mean())
    factor = math.sqrt(count / max(count - 1, 1))
    return Mean(value, np.where(kept, values - value, 0.0) / count * factor)


@dataclass(frozen=True)
class Moments:
    """Means behind an estimate, of one system or of the difference of two.

    Attributes:
        control: the mean prediction of labelled outputs minus that of the others, which is 0 except
            for chance.
        labelled: True for sources with a label, shape (sources,).
        scale: the least and the greatest possible mean, or difference of means.
        binary: whether every label is at an end of the scale.
        unseen: for binary labels, what two additional labels, one at each end of the scale, with
            predictions that have nothing to do with them, would add to the variances of the mean
            label and of the mean prediction; otherwise 0.
    """

    labels: Mean
    control: Mean
    labelled: BoolArray
    scale: tuple[float, float] = (0.0, 1.0)
    binary: bool = False
    paired: bool = False
    unseen: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, first: JudgedOutputs, second: JudgedOutputs | None = None) -> Moments:
        """Return the means of one system's outputs, or their difference from a second system's.

        Args:
            second: outputs of the same sources, whose means are subtracted.

        Raises:
            InputError: fewer than `FEWEST_LABELS` sources have a label.
        """
        pair = (first,) if second is None else (first, second)
        labelled = np.zeros(len(first.labels), dtype=np.bool_)
        sides = []
        low, high, binary = _label_range(pair)
        unseen = np.zeros(2)
        for one in pair:
            judged = one.labelled
            if (count := int(judged.sum())) < FEWEST_LABELS:
                raise InputError(
                    f"{count} labelled sources; an interval needs at least {FEWEST_LABELS}"
                )
            labelled |= judged
            control = Mean(0.0, np.zeros(len(judged)))
            # If every output is labelled, predictions have nothing to add.
            if not judged.all():
                control = _mean(one.predictions, judged).minus(_mean(one.predictions, ~judged))
            sides.append((_mean(one.labels, judged), control))
            unseen += 2 * np.array([(high - low) ** 2 / 4, one.predictions.var()]) / count**2
        labels, control = sides[0]
        for other in sides[1:]:
            labels, control = labels.minus(other[0]), control.minus(other[1])
        return cls(
            labels,
            control,
            labelled,
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

    def alone(self, confidence: float = 0.95) -> EstimateInterval:
        """Return the mean label of the labelled outputs with its interval."""
        return self._interval(0.0, confidence)

    def estimate(self, confidence: float = 0.95) -> EstimateInterval:
        """Return the mean label by PPI++, mean label − λ · control, with its interval.

        With λ tuned this is the regression estimator of double sampling. λ may have any size and
        sign, since predictions have their own scale. If the predictions do not make the interval
        narrower, λ is 0.
        """
        alone = self.alone(confidence)
        if not self.tuned:
            return alone
        helped = self._interval(self.tuned, confidence)
        return helped if helped.gain > 1 and helped.width < alone.width else alone

    def _interval(self, weight: float, confidence: float) -> EstimateInterval:
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
            variance, degrees = self._variance(weight)
        quantile = float(stdtrit(degrees, level))
        if self.binary and not self.paired and not weight:
            # The variance of 0/1 labels follows from their mean, so the normal quantile is right.
            quantile = float(ndtri(level))
        low, high = self.scale
        value = min(max(self.labels.value - weight * self.control.value, low), high)
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
        return EstimateInterval(value, *bounds, error, weight, gain)

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

    def _variance(self, weight: float) -> tuple[float, float]:
        """Return the variance of the mean and its degrees of freedom.

        The degrees are Satterthwaite's, since the labelled sources are few and the others many.
        """
        squares = np.square(self.labels.parts - weight * self.control.parts)
        by_labels, by_others = squares[self.labelled].sum(), squares[~self.labelled].sum()
        by_labels += self.unseen[0] + weight**2 * self.unseen[1]
        freedom = np.count_nonzero(self.labelled) - 1
        if weight:
            # The slope λ was also fitted to the labels.
            by_labels *= freedom / (freedom - 1)
            freedom -= 1
        rest = max(np.count_nonzero(~self.labelled) - 1, 1)
        spent = float(by_labels**2 / freedom + by_others**2 / rest)
        variance = float(by_labels + by_others)
        return variance, variance**2 / spent if spent > 0 else float(freedom)


def _wilson(share: float, size: float, quantile: float) -> tuple[float, float]:
    """Return the middle and half the width of Wilson's score interval (1927) of a share.

    Args:
        size: number of 0/1 labels, which need not be whole.
        quantile: of the normal distribution or of Student's t.
    """
    more = quantile**2 / size
    half = quantile * math.sqrt(share * (1 - share) / size + more / size / 4)
    return (share + more / 2) / (1 + more), half / (1 + more)

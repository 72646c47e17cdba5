"""Standard errors at several sizes of the data, and how much data a target needs.

A smooth function of N independent parts (sentences, systems) has a standard error of c / √N. c is
fitted to the standard errors of resamples of several sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, blocks

FEWEST = 5
"""The fewest parts from which a standard error can be computed."""

DrawStatistic = Callable[[IntArray], FloatArray]
"""Statistics of resampled data: B × n indices to B × P, one column per pair that is compared."""

_GROUPS = 1_000  # the most groups of parts that the jackknife leaves out one by one
_SHARES = (0.25, 0.5, 1.0, 2.0)  # sizes of resamples for `Quantity.fit`, as shares of the data


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """Differences whose standard errors fall as the data grow.

    Attributes:
        size: number of parts that can be resampled.
        observed: the differences, one per pair; NaN where there is none.
        drawn: a function that returns the differences of resampled data.
        from_size: the fit uses only resamples of at least this share of `size`.
    """

    size: int
    observed: FloatArray
    drawn: DrawStatistic = field(repr=False)
    from_size: float = 0.0

    def influences(self) -> FloatArray:
        """Return jackknife pseudo-values, groups × pairs, whose mean estimates the difference."""
        every = np.arange(self.size)
        groups = np.array_split(every, min(self.size, _GROUPS))
        # All draws must have the same length: for a smaller group one more part is left out.
        most = len(groups[0])
        rest = np.stack([np.delete(every, group)[: self.size - most] for group in groups])
        whole = self.drawn(every[None])[0]
        values: FloatArray = len(groups) * whole - (len(groups) - 1) * self._in_blocks(rest)
        return values

    def errors(self, size: int, resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return the standard error of every pair, from resamples of a given size."""
        return spread(self._in_blocks(rng.integers(self.size, size=(resamples, size))))

    def _in_blocks(self, draws: IntArray) -> FloatArray:
        return np.concatenate([self.drawn(draws[part]) for part in blocks(*draws.shape)])

    def fit(self, resamples: int, rng: np.random.Generator) -> tuple[FloatArray, float]:
        """Return c of every pair from errors at several sizes, and the slope of their logarithms.

        The slope shows how fast the errors actually fall; c assumes −0.5.
        """
        sizes = sorted({max(FEWEST, round(share * self.size)) for share in _SHARES})
        errors = np.stack([self.errors(size, resamples, rng) for size in sizes])
        roots = np.sqrt(np.array(sizes, dtype=np.float64))
        # Errors of few parts may be too noisy for the fit; `from_size` then leaves them out.
        products = (errors * roots[:, None])[roots >= math.sqrt(self.from_size * self.size)]
        deviation = np.exp(np.log(np.where(products > 0, products, np.nan)).mean(axis=0))
        slope = math.nan
        if np.isfinite(errors).any(axis=1).all() and len(sizes) > 1:
            middle = np.nanmedian(errors, axis=1)
            if (middle > 0).all():
                slope = float(np.polyfit(np.log(sizes), np.log(middle), 1)[0])
        return deviation, slope


def spread(values: FloatArray) -> FloatArray:
    """Return the standard deviation of every column; NaN where fewer than two values are known."""
    defined = np.ma.masked_invalid(values)
    return np.asarray(defined.std(axis=0, ddof=1).filled(np.nan))


def needed(deviation: float, difference: float, power: float = 0.8, level: float = 0.05) -> int:
    """Return how many units detect a difference with a given power: ((z₁₋ₗ/₂ + z_p) c / d)².

    Args:
        deviation: c, the standard error times √n.
        difference: d, in the units of c.
        power: probability of detecting it.
        level: the level of the two-sided test.
    """
    from gecjury.stats.special import ndtri

    # The usual sum of two quantiles: of the test's level and of its power.
    z = float(ndtri(1 - level / 2) + ndtri(power))
    value = (z * deviation / difference) ** 2
    # Rounding in the last digit must not add a unit.
    return max(1, math.ceil(value * (1 - 1e-12))) if math.isfinite(value) else 0

"""TrueSkill's update rule for two players, in closed form."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gecjury.errors import OptionError

__all__ = ["Game", "Outcome", "rate"]

Outcome = tuple[int, int, int]
"""First player, second player, and +1 where the first won, -1 where the second did, 0 a draw."""


@dataclass(frozen=True, slots=True)
class Game:
    """TrueSkill's constants.

    Attributes:
        mu: mean of a skill before the first comparison.
        sigma: its standard deviation.
        beta: standard deviation of a performance around the skill.
        tau: standard deviation added to a skill before every comparison.
        draw_probability: probability of a draw between equals.

    Raises:
        OptionError: a constant is out of its range.
    """

    mu: float
    sigma: float
    beta: float
    tau: float
    draw_probability: float

    def __post_init__(self) -> None:
        for name in ("sigma", "beta"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise OptionError(f"{name}={value}: expected a finite number above 0")
        if not (self.tau >= 0 and math.isfinite(self.tau)):
            raise OptionError(f"tau={self.tau}: expected a finite number, 0 or more")
        if not 0 <= self.draw_probability < 1:
            raise OptionError(
                f"draw_probability={self.draw_probability}: expected at least 0 and below 1"
            )

    @property
    def margin(self) -> float:
        """Width of a draw on the scale of the difference of two performances."""
        share = (self.draw_probability + 1) / 2
        return NormalDist().inv_cdf(share) * math.sqrt(2) * self.beta


def rate(
    outcomes: Iterable[Outcome], systems: int, game: Game
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Run TrueSkill over outcomes, one after the other.

    For two players the message passing of Herbrich, Minka and Graepel (2006) has a closed form:
    with c² = 2β² + σ₁² + σ₂² and t = (μ₁ − μ₂)/c, the winner gains σ²/c · v and both variances
    shrink by 1 − σ²/c² · w; v and w are the corrections of a truncated normal distribution.

    Args:
        outcomes: comparisons in order.
        systems: number of players.
        game: the constants.

    Returns:
        Means and standard deviations of the skills, shape (systems,), and the number of outcomes.
    """
    erfc, exp, sqrt = math.erfc, math.exp, math.sqrt
    root = -1 / math.sqrt(2)
    density = 1 / math.sqrt(2 * math.pi)
    noise, margin, drift = 2 * game.beta**2, game.margin, game.tau**2
    means = [game.mu] * systems
    variances = [game.sigma**2] * systems
    count = 0
    for one, two, outcome in outcomes:
        count += 1
        first, second = (one, two) if outcome >= 0 else (two, one)
        variance, other = variances[first] + drift, variances[second] + drift
        spread = noise + variance + other
        scale = sqrt(spread)
        gap = (means[first] - means[second]) / scale
        width = margin / scale
        if outcome:
            x = gap - width
            mass = 0.5 * erfc(x * root)
            v = density * exp(-0.5 * x * x) / mass if mass > 0 else -x
            w = v * (v + x)
        else:
            size = gap if gap >= 0 else -gap
            upper, lower = width - size, -width - size
            mass = 0.5 * (erfc(upper * root) - erfc(lower * root))
            if mass > 0:
                high = density * exp(-0.5 * upper * upper)
                low = density * exp(-0.5 * lower * lower)
                v = (low - high) / mass
                w = v * v + (upper * high - lower * low) / mass
            else:
                # All mass lies beyond what a float holds: the limit is the nearer margin. Without
                # a margin a draw says that both performed alike, which is the same limit.
                v, w = upper, 1.0
            if gap < 0:
                v = -v
        if w > 1:
            w = 1.0
        step = v / scale
        w /= spread
        means[first] += variance * step
        means[second] -= other * step
        variances[first] = variance * (1 - variance * w)
        variances[second] = other * (1 - other * w)
    return np.array(means), np.sqrt(np.array(variances)), count

"""Optimal transport between edits: unbalanced problems solved in bulk to their true optimum.

An unbalanced problem minimises over plans T ≥ 0

    <C, T> + ε KL(T | a bᵀ) + λ1 KL(T 1 | a) + λ2 KL(Tᵀ 1 | b),

with KL(p | q) = Σ p log(p/q) − p + q. This is the problem of POT's `sinkhorn_stabilized_unbalanced`
with its default regulariser. It is strictly convex, so there is one optimum. POT iterates on
exp(−C/ε), which vanishes for edits that are far apart; here the same iteration runs on the dual
potentials in the log domain (Chizat et al. 2018, section 4), where each step shrinks the error by
λ1 λ2 / ((λ1+ε)(λ2+ε)) whatever the costs, so that it always converges.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import MissingExtraError, install_hint

# Potentials may be off by this share of ε, hence plans by twice this share of themselves.
TOLERANCE = 1e-12
MAX_STEPS = 20_000
# Cells of one padded block: bounds memory (a few such arrays of 8 bytes live at once).
_BLOCK = 2_000_000
# POT's constants: added to divisors, and where scalings move into the potentials (`tau`).
_POT_FLOOR = 1e-16
_POT_THRESHOLD = 1e5


@dataclass(frozen=True)
class Penalties:
    """The weights of an unbalanced problem.

    Attributes:
        epsilon: weight of the entropic term, above 0.
        lambda1: weight of mass that the hypothesis' edits do not send, above 0.
        lambda2: weight of mass that the reference's edits do not receive, above 0.
    """

    epsilon: float = 0.1
    lambda1: float = 0.1
    lambda2: float = 0.1

    @property
    def powers(self) -> tuple[float, float]:
        """Exponents of a step on each side, below 1: the step shrinks errors by their product."""
        first = self.lambda1 / (self.lambda1 + self.epsilon)
        return first, self.lambda2 / (self.lambda2 + self.epsilon)


@dataclass(frozen=True)
class Problem:
    """Masses of n hypothesis and m reference edits, and the n × m costs between them.

    Without edits on one side the costs are empty.
    """

    a: FloatArray
    b: FloatArray
    cost: FloatArray


def solve(problems: Sequence[Problem], penalties: Penalties) -> list[FloatArray | None]:
    """Return optimal plans, n × m each; None if numbers are not finite or do not converge.

    Edits without mass neither send nor receive: their rows and columns are 0.
    """
    plans: list[FloatArray | None] = [None] * len(problems)
    for block in _blocks(problems):
        for place, plan in zip(
            block, _solve_block([problems[i] for i in block], penalties), strict=True
        ):
            plans[place] = plan
    return plans


def _blocks(problems: Sequence[Problem]) -> list[list[int]]:
    """Group solvable problems by size, each group small enough for memory."""
    sizes = {
        place: problem.cost.shape
        for place, problem in enumerate(problems)
        if all(np.isfinite(part).all() for part in (problem.a, problem.b, problem.cost))
    }
    blocks: list[list[int]] = []
    cells = (0, 0)
    # By size, so that little of a padded block is padding.
    for place in sorted(sizes, key=lambda place: max(sizes[place])):
        wanted = (max(cells[0], sizes[place][0]), max(cells[1], sizes[place][1]))
        block = blocks[-1] if blocks else []
        small = max(wanted) <= max(4, 1.5 * max(sizes[block[0]])) if block else False
        if not small or wanted[0] * wanted[1] * (len(block) + 1) > _BLOCK:
            blocks.append([])
            wanted = sizes[place]
        blocks[-1].append(place)
        cells = wanted
    return blocks


def _solve_block(problems: Sequence[Problem], penalties: Penalties) -> list[FloatArray | None]:
    """Solve problems padded to one size; the padding has no mass and changes nothing."""
    count = len(problems)
    n = max(len(problem.a) for problem in problems)
    m = max(len(problem.b) for problem in problems)
    log_a, log_b = np.full((count, n), -np.inf), np.full((count, m), -np.inf)
    scaled = np.zeros((count, n, m))
    epsilon = penalties.epsilon
    with np.errstate(divide="ignore"):
        for row, problem in enumerate(problems):
            log_a[row, : len(problem.a)] = np.log(problem.a)
            log_b[row, : len(problem.b)] = np.log(problem.b)
            scaled[row, : len(problem.a), : len(problem.b)] = problem.cost / epsilon
    f, g, done = _potentials(log_a, log_b, scaled, penalties)
    logs = f[:, :, None] + g[:, None] - scaled + log_a[:, :, None] + log_b[:, None]
    plans = np.exp(logs)
    return [
        plans[row, : len(problem.a), : len(problem.b)].copy() if done[row] else None
        for row, problem in enumerate(problems)
    ]


def _potentials(
    log_a: FloatArray, log_b: FloatArray, scaled: FloatArray, penalties: Penalties
) -> tuple[FloatArray, FloatArray, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """Return dual potentials in units of ε, and which problems have converged.

    The rate bounds the distance to the fixed point by the last change times rate / (1 − rate).
    """
    first, second = penalties.powers
    rate = first * second
    limit = TOLERANCE * (1 - rate) / max(rate, 1e-3)
    f, g = np.zeros_like(log_a), np.zeros_like(log_b)
    open_rows = np.arange(len(f))
    a, b, costs = log_a, log_b, scaled
    for _ in range(MAX_STEPS):
        new_f = -first * _log_sum(b[:, None] + g[open_rows][:, None] - costs, axis=2)
        new_g = -second * _log_sum(a[:, :, None] + new_f[:, :, None] - costs, axis=1)
        change = np.abs(new_g - g[open_rows]).max(axis=1)
        f[open_rows], g[open_rows] = new_f, new_g
        # Numbers of size x are exact to about 1e-16 x, so no smaller change can be required.
        floor = 4e-16 * np.abs(new_g).max(axis=1)
        going = change > np.maximum(limit, floor)
        if not going.any():
            open_rows = open_rows[:0]
            break
        if going.sum() < 0.7 * len(going):
            open_rows, a, b, costs = open_rows[going], a[going], b[going], costs[going]
    done = np.ones(len(f), dtype=bool)
    done[open_rows] = False
    return f, g, done


def _log_sum(values: FloatArray, axis: int) -> FloatArray:
    """Return the log of Σ exp along an axis; 0 where all values are −inf, i.e. without mass."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.exp(values - top).sum(axis=axis)
    with np.errstate(divide="ignore"):
        result = np.log(total) + top.squeeze(axis)
    return np.where(total > 0, result, 0.0)


def pot_plan(problem: Problem, penalties: Penalties) -> tuple[FloatArray, bool]:
    """Return the plan of POT's solver, called as published, and whether it converged.

    Args:
        problem: masses and costs.
        penalties: weights.

    Returns:
        The plan, n × m, and False if POT warned of numerical errors or of no convergence.
    """
    sinkhorn = _of_pot("ot.unbalanced", "sinkhorn_stabilized_unbalanced")
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        plan = sinkhorn(
            problem.a,
            problem.b,
            problem.cost,
            reg=penalties.epsilon,
            reg_m=(penalties.lambda1, penalties.lambda2),
        )
    trouble = any("onverge" in str(w.message) or "Numerical" in str(w.message) for w in caught)
    return np.asarray(plan, dtype=np.float64), not trouble and bool(np.isfinite(plan).all())


def abandoned_plan(problem: Problem, penalties: Penalties) -> tuple[FloatArray, bool]:
    """Return POT's plan, n × m, for a reference edit without mass; POT is not called.

    The edit's column of the kernel is 0, which POT treats as a numerical error in its first step:
    it returns to scalings of 1, so the plan is the kernel exp(−C/ε) a bᵀ. If, however, that step's
    scalings exceed POT's threshold, their maxima are already part of the potentials, and the plan
    may then contain a million times the available mass.

    Returns:
        The plan, and True if it is in proportion to the masses, as no scaling exceeds the
        threshold.
    """
    kernel = np.exp(-problem.cost / penalties.epsilon) * problem.a[:, None] * problem.b[None]
    first, second = penalties.powers
    u = (problem.a / (kernel.sum(axis=1) + _POT_FLOOR)) ** first
    v = (problem.b / (kernel.T @ u + _POT_FLOOR)) ** second
    if max(u.max(), v.max()) <= _POT_THRESHOLD:
        return kernel, True
    with np.errstate(divide="ignore"):
        return kernel * float(np.exp(np.log(u.max()) + np.log(v.max()))), False


def balanced_plan(problem: Problem) -> FloatArray:
    """Return the cheapest plan that moves all mass of both sides, by POT's network simplex.

    Balanced transport needs equal totals, so both sides are scaled to the smaller one; all mass of
    the lighter side is transported.

    Returns:
        The plan, hypothesis edits × reference edits.
    """
    total = min(problem.a.sum(), problem.b.sum())
    if total <= 0:
        return np.zeros_like(problem.cost)
    emd = _of_pot("ot", "emd")
    a, b = problem.a / problem.a.sum(), problem.b / problem.b.sum()
    plan: FloatArray = total * np.asarray(emd(a, b, np.ascontiguousarray(problem.cost)))
    return plan


def _of_pot(module: str, name: str) -> Callable[..., FloatArray]:
    """Return a function of POT, which is imported only when it is needed."""
    try:
        function: Callable[..., FloatArray] = getattr(import_module(module), name)
    except ImportError:
        raise MissingExtraError(
            f"POT is not installed: {install_hint('refbased')} (the package is called pot)"
        ) from None
    return function

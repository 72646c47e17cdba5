"""Transport: the true optimum, never worse than POT's plan and equal where POT converges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import OptionError
from gecjury.refbased.uot_errant.metric import UOTERRANT
from gecjury.refbased.uot_errant.transport import (
    Penalties,
    Problem,
    abandoned_plan,
    balanced_plan,
    pot_plan,
    solve,
)

DEFAULT = Penalties()


def plan_of(problem: Problem, penalties: Penalties = DEFAULT) -> np.ndarray:
    (plan,) = solve([problem], penalties)
    assert plan is not None
    return plan


def random_problem(rng: np.random.Generator, scale: float = 1.0) -> Problem:
    """Return norms and distances of a few random edit vectors, as the metric computes them."""
    n, m = rng.integers(1, 7, size=2)
    x, y = rng.normal(size=(n, 8)) * scale, rng.normal(size=(m, 8)) * scale
    shared = rng.integers(0, min(n, m) + 1)
    y[:shared] = x[:shared]
    cost = np.linalg.norm(x[:, None] - y[None], axis=-1)
    return Problem(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1), cost)


def objective(plan: np.ndarray, problem: Problem, penalties: Penalties) -> float:
    """Return the objective that `solve` minimises; infinite for a plan that moves missing mass."""
    outer = problem.a[:, None] * problem.b[None]
    return float(
        (problem.cost * plan).sum()
        + penalties.epsilon * _divergence(plan, outer)
        + penalties.lambda1 * _divergence(plan.sum(axis=1), problem.a)
        + penalties.lambda2 * _divergence(plan.sum(axis=0), problem.b)
    )


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Return KL(p | q) = Σ p log(p/q) − p + q of unnormalised masses."""
    if ((p > 0) & (q == 0)).any():
        return float("inf")
    live = p > 0
    return float((p[live] * np.log(p[live] / q[live])).sum() - p.sum() + q.sum())


def test_one_edit_against_one_has_a_closed_form() -> None:
    # Setting the derivative C + ε log(T/(ab)) + λ1 log(T/a) + λ2 log(T/b) to 0:
    # log T = (ε log(ab) + λ1 log a + λ2 log b − C) / (ε + λ1 + λ2).
    a, b, cost, eps, l1, l2 = 0.8, 1.7, 0.6, 0.1, 0.2, 0.05
    log_t = (eps * math.log(a * b) + l1 * math.log(a) + l2 * math.log(b) - cost) / (eps + l1 + l2)
    problem = Problem(np.array([a]), np.array([b]), np.array([[cost]]))
    assert plan_of(problem, Penalties(eps, l1, l2))[0, 0] == pytest.approx(
        math.exp(log_t), rel=1e-12
    )


def test_stationary_in_every_cell() -> None:
    rng = np.random.default_rng(0)
    penalties = Penalties(0.1, 0.3, 0.07)
    for _ in range(50):
        problem = random_problem(rng)
        plan = plan_of(problem, penalties)
        gradient = (
            problem.cost
            + 0.1 * np.log(plan / (problem.a[:, None] * problem.b[None]))
            + 0.3 * np.log(plan.sum(axis=1) / problem.a)[:, None]
            + 0.07 * np.log(plan.sum(axis=0) / problem.b)[None]
        )
        assert np.abs(gradient).max() < 1e-10


SCALES = (0.05, 0.2, 0.5, 1.0, 3.0)


def test_never_worse_than_pot_and_equal_where_pot_converges() -> None:
    pytest.importorskip("ot")
    rng = np.random.default_rng(1)
    converged = 0
    for scale in SCALES:
        problems = [random_problem(rng, scale) for _ in range(80)]
        for problem, plan in zip(problems, solve(problems, DEFAULT), strict=True):
            assert plan is not None
            theirs, fine = pot_plan(problem, DEFAULT)
            ours = objective(plan, problem, DEFAULT)
            if np.isfinite(theirs).all():
                assert ours <= objective(theirs, problem, DEFAULT) + 1e-9
            if fine:
                converged += 1
                assert ours == pytest.approx(objective(theirs, problem, DEFAULT), abs=1e-6)
    assert converged > 100


@pytest.mark.parametrize(
    "penalties", [DEFAULT, Penalties(0.1, 0.02, 0.02), Penalties(0.1, 1.0, 1.0), Penalties(0.5, 1)]
)
def test_plans_equal_those_of_pot_at_convergence(penalties: Penalties) -> None:
    # With strong penalties POT's stabilised solver stops early by its own criterion (its objective
    # is then up to 0.07 above the optimum at scale 1). Its plain solver, run to convergence, is an
    # independent way to the optimum unless exp(−C/ε) vanishes.
    unbalanced = pytest.importorskip("ot.unbalanced")
    rng = np.random.default_rng(2)
    for scale in (0.05, 0.2, 0.5, 1.0):
        problems = [random_problem(rng, scale) for _ in range(12)]
        for problem, plan in zip(problems, solve(problems, penalties), strict=True):
            theirs = unbalanced.sinkhorn_unbalanced(
                problem.a,
                problem.b,
                problem.cost,
                reg=penalties.epsilon,
                reg_m=(penalties.lambda1, penalties.lambda2),
                stopThr=1e-14,
                numItermax=5000,
            )
            assert plan is not None
            assert objective(plan, problem, penalties) <= (
                objective(theirs, problem, penalties) + 1e-9
            )
            np.testing.assert_allclose(plan, theirs, atol=1e-6)


def test_solves_what_pot_does_not() -> None:
    pytest.importorskip("ot")
    # exp(−100/0.1) is 0 in float64, so POT has nothing to iterate on, but the optimum has a closed
    # form: log T = (−100 + 0.1 log 6 + 0.1 log 2 + 0.1 log 3) / 0.3.
    problem = Problem(np.array([2.0]), np.array([3.0]), np.array([[100.0]]))
    assert not pot_plan(problem, DEFAULT)[1]
    expected = math.exp((-100 + 0.2 * math.log(6)) / 0.3)
    assert plan_of(problem)[0, 0] == pytest.approx(expected, rel=1e-10)


@given(st.integers(0, 10_000))
def test_batches_and_order_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problems = [random_problem(rng) for _ in range(5)]
    together = solve(problems, DEFAULT)
    for place in rng.permutation(5):
        alone = plan_of(problems[place])
        shared = together[place]
        assert shared is not None
        np.testing.assert_allclose(shared, alone, rtol=1e-9, atol=0)


def test_edits_without_mass_are_ignored() -> None:
    rng = np.random.default_rng(2)
    whole = random_problem(rng)
    a = np.concatenate([[0.0], whole.a])
    b = np.concatenate([whole.b, [0.0]])
    cost = np.pad(whole.cost, ((1, 0), (0, 1)), constant_values=0.3)
    plan = plan_of(Problem(a, b, cost))
    np.testing.assert_allclose(plan[1:, :-1], plan_of(whole), rtol=1e-10)
    assert not plan[0].any()
    assert not plan[:, -1].any()
    assert not plan_of(Problem(np.zeros(2), np.ones(1), np.zeros((2, 1)))).any()


@pytest.mark.parametrize("penalties", [DEFAULT, Penalties(0.05, 0.3, 0.1), Penalties(0.5, 1, 2)])
@pytest.mark.parametrize("scale", [0.05, 1.0, 8.0])
def test_abandoned_plan_equals_that_of_pot_with_a_reference_edit_without_mass(
    penalties: Penalties, scale: float
) -> None:
    pytest.importorskip("ot")
    rng = np.random.default_rng(5)
    for number in range(60):
        problem = random_problem(rng, scale)
        problem.b[rng.integers(len(problem.b))] = 0.0
        if number % 3 == 0:
            problem.a[rng.integers(len(problem.a))] = 0.0
        plan, converged = pot_plan(problem, penalties)
        assert not converged
        np.testing.assert_allclose(
            abandoned_plan(problem, penalties)[0], plan, rtol=1e-9, atol=1e-12, equal_nan=True
        )


def test_an_unsolvable_problem_gives_none() -> None:
    good = Problem(np.ones(1), np.ones(1), np.zeros((1, 1)))
    bad = Problem(np.array([np.nan]), np.ones(1), np.zeros((1, 1)))
    plans = solve([good, bad, good], DEFAULT)
    assert plans[1] is None
    assert plans[0] is not None
    assert plans[2] is not None
    assert solve([], DEFAULT) == []


@pytest.mark.slow
def test_strong_penalties_transport_everything() -> None:
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 0.5)
    level = Problem(problem.a / problem.a.sum(), problem.b / problem.b.sum(), problem.cost)
    plan = plan_of(level, Penalties(0.1, 60, 60))
    np.testing.assert_allclose(plan.sum(axis=1), level.a, rtol=0.05)
    np.testing.assert_allclose(plan.sum(axis=0), level.b, rtol=0.05)
    # With extreme penalties the iteration is too slow: no plan is better than a wrong one.
    assert solve([level], Penalties(0.1, 1e6, 1e6)) == [None]


def test_balanced_plan_moves_all_of_the_lighter_side() -> None:
    pytest.importorskip("ot")
    # Totals 1 and 2 are scaled to 1: the reference's masses become ½ and ½, and the cheapest
    # plan first sends 0.25 and 0.25 along the zeros of the diagonal, then the rest.
    problem = Problem(
        np.array([0.25, 0.75]), np.array([1.0, 1.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    )
    np.testing.assert_allclose(balanced_plan(problem), [[0.25, 0.0], [0.25, 0.5]], atol=1e-12)
    assert not balanced_plan(Problem(np.zeros(1), np.ones(1), np.ones((1, 1)))).any()


def test_penalties_must_be_positive() -> None:
    with pytest.raises(OptionError, match="lambda1=0: expected more than 0"):
        UOTERRANT(lambda1=0)
    with pytest.raises(OptionError, match="epsilon=-1: expected more than 0"):
        UOTERRANT(epsilon=-1)

"""TrueSkill, Expected Wins and means, from scores and from human judgments."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gecjury.benchmarks.human_scores import (
    human_expected_wins,
    human_trueskill,
    human_trueskill_sampled,
)
from gecjury.benchmarks.judgments import JudgmentPairs, RankedItem, expand_pairs, read_rankings
from gecjury.stats.ranking import (
    expected_wins,
    score_outcomes,
    trueskill,
)
from gecjury.stats.trueskill import Game, rate
from tests.published import GJG15, SEEDA

NAN = float("nan")


def package_trueskill(scores: np.ndarray, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return skills from the `trueskill` package with exact normal distributions."""
    package = pytest.importorskip("trueskill")
    constants = {"mu": 0.0, "sigma": 0.5, "beta": 0.25, "tau": 0.0, "draw_probability": 0.25}
    game = package.TrueSkill(**(constants | settings), backend="scipy")
    ratings = [game.create_rating() for _ in scores]
    for column in scores.T:
        for i, j in combinations(range(len(scores)), 2):
            if math.isnan(column[i]) or math.isnan(column[j]):
                continue
            i, j = (i, j) if column[i] >= column[j] else (j, i)
            drawn = bool(column[i] == column[j])
            ratings[i], ratings[j] = package.rate_1vs1(
                ratings[i], ratings[j], drawn=drawn, env=game
            )
    return np.array([r.mu for r in ratings]), np.array([r.sigma for r in ratings])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mu": 25.0, "sigma": 25 / 3, "beta": 25 / 6, "tau": 25 / 300, "draw_probability": 0.1},
        {"beta": 5.0, "draw_probability": 0.9},
        {"beta": 0.02, "draw_probability": 0.01},
    ],
)
def test_equals_the_trueskill_package(settings: dict[str, float]) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(6, 40)).round(1) + np.linspace(0, 1, 6)[:, None]
    scores[rng.random(scores.shape) < 0.2] = NAN
    scores[2] = scores[3]  # draws
    ours = rate(score_outcomes(scores), len(scores), Game(**settings))
    package = package_trueskill(scores, **settings)
    np.testing.assert_allclose(ours, package, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(trueskill(scores, Game(**settings)), ours[0])


@pytest.mark.parametrize("last", [0.0, 1.0, -1.0], ids=["draw", "expected", "upset"])
def test_equals_the_package_after_a_long_run_of_wins(last: float) -> None:
    # 300 wins with narrow performances move the means many β apart; then one more outcome.
    first = np.append(np.ones(300), last)
    scores = np.vstack([first, np.append(np.zeros(300), 0.0)])
    ours = trueskill(scores, Game(beta=0.05))
    means, _ = package_trueskill(scores, beta=0.05)
    np.testing.assert_allclose(ours, means, rtol=0, atol=1e-9)


def test_skills_stay_finite_where_probabilities_underflow() -> None:
    # The package divides by zero here: wins move the means far apart at a tiny β, then a loss.
    scores = np.vstack([[1.0] * 50 + [0.0, 0.5, 0.0], [0.0] * 50 + [1.0, 0.5, 1.0]])
    for beta in (1e-3, 1e-6, 1e-9):
        means, deviations = rate(score_outcomes(scores), len(scores), Game(beta=beta, sigma=1.0))
        assert np.isfinite(means).all()
        assert (deviations > 0).all()


def test_one_win_and_one_draw_by_hand() -> None:
    # No draw margin: c² = 2·0.25² + 2·0.5² = 0.625, t = 0, v = φ(0)/Φ(0) = √(2/π) = 0.797885,
    # step = 0.25/√0.625 · 0.797885 = 0.252313; w = v² = 0.636620,
    # σ = √(0.25 · (1 - 0.25/0.625 · 0.636620)) = 0.431669.
    means, deviations = rate([(0, 1, 1)], 2, Game(draw_probability=0.0))
    np.testing.assert_allclose(means, [0.252313, -0.252313], atol=1e-6)
    np.testing.assert_allclose(deviations, 0.431669, atol=1e-6)
    # A draw between equals changes no skill.
    np.testing.assert_array_equal(trueskill(np.array([[1.0], [1.0]])), [0.0, 0.0])


def test_missing_scores_are_not_compared() -> None:
    scores = np.array([[1.0, NAN, 2.0], [0.0, 5.0, NAN], [NAN, 4.0, 1.0]])
    assert len(list(score_outcomes(scores))) == 3
    assert expected_wins(scores).tolist() == [1.0, 0.5, 0.0]
    whole = np.array([[1.0], [0.0]])
    padded = np.array([[1.0, NAN], [0.0, 3.0]])
    np.testing.assert_array_equal(trueskill(whole), trueskill(padded))


def test_expected_wins_by_hand() -> None:
    scores = np.array([[3, 3, 1, 2], [2, 3, 2, 1], [1, 1, 1, 0]], dtype=float)
    # A-B: 2 wins, 1 loss, a tie; A-C: 3 wins, a tie; B-C: 4 wins.
    # A: (2/3 + 1)/2, B: (1/3 + 1)/2, C: (0 + 0)/2.
    np.testing.assert_allclose(expected_wins(scores), [5 / 6, 4 / 6, 0])


def test_expected_wins_leaves_out_opponents_without_a_decision() -> None:
    scores = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    # A and B always tie; each won one and lost one against C.
    np.testing.assert_array_equal(expected_wins(scores), [0.5, 0.5, 0.5])
    assert np.isnan(expected_wins(np.ones((2, 3)))).all()


tables = arrays(np.float64, (4, 10), elements=st.one_of(st.integers(0, 3).map(float), st.just(NAN)))


def seeda_pairs(data_dir: Path, kind: str) -> JudgmentPairs:
    path = data_dir / "SEEDA/data" / f"judgments_{kind}.xml"
    return expand_pairs(read_rankings(path, first_line=1), SEEDA)


def published(data_dir: Path, name: str) -> np.ndarray:
    text = (data_dir / "SEEDA/scores/human" / name).read_text(encoding="utf-8")
    return np.array([float(value) for value in text.split()])


@pytest.mark.parametrize("kind", ["edit", "sent"])
def test_expected_wins_of_seeda_equal_the_published_ones(data_dir: Path, kind: str) -> None:
    found = human_expected_wins(seeda_pairs(data_dir, kind))
    # Published with three digits, from expanded judgments without ties.
    np.testing.assert_allclose(found, published(data_dir, f"EW_{kind}.txt"), atol=0.001)


@pytest.mark.parametrize("kind", ["edit", "sent"])
def test_trueskill_of_seeda_judgments_taken_once(data_dir: Path, kind: str) -> None:
    target = published(data_dir, f"TS_{kind}.txt")
    found = human_trueskill(seeda_pairs(data_dir, kind))
    assert np.corrcoef(found, target)[0, 1] > 0.997
    assert np.abs(found - target).max() < 0.07


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["edit", "sent"])
def test_sampled_trueskill_of_seeda_equals_the_published_one(data_dir: Path, kind: str) -> None:
    target = published(data_dir, f"TS_{kind}.txt")
    rng = np.random.default_rng(0)
    found = human_trueskill_sampled(seeda_pairs(data_dir, kind), rng, runs=100)
    assert np.corrcoef(found, target)[0, 1] > 0.9999
    # The deviation of a run is at most .025: a mean of 100 is within .01 (four standard errors).
    assert np.abs(found - target).max() < 0.01


def test_human_scores_of_gjg15_equal_the_published_ones(data_dir: Path) -> None:
    items = read_rankings(data_dir / "GJG15/data/judgments.xml", first_line=0, lines=1312)
    pairs = expand_pairs(items, list(GJG15))
    wins, skill = np.array(list(GJG15.values())).T
    np.testing.assert_allclose(human_expected_wins(pairs), wins, atol=0.0005001)
    once = human_trueskill(pairs)
    assert np.corrcoef(once, skill)[0, 1] > 0.999
    assert np.abs(once - skill).max() < 0.015


@pytest.mark.slow
def test_sampled_trueskill_of_gjg15_equals_the_published_one(data_dir: Path) -> None:
    items = read_rankings(data_dir / "GJG15/data/judgments.xml", first_line=0, lines=1312)
    pairs = expand_pairs(items, list(GJG15))
    skill = np.array([score for _, score in GJG15.values()])
    drawn = human_trueskill_sampled(pairs, np.random.default_rng(0), runs=100)
    assert np.corrcoef(drawn, skill)[0, 1] > 0.9999
    assert np.abs(drawn - skill).max() < 0.01


def test_human_scores_by_hand() -> None:
    items = [
        RankedItem("1", 0, "x", (("A",), ("B",), ("C",)), (1, 2, 2)),
        RankedItem("2", 0, "x", (("A", "C"), ("B",)), (2, 1)),
    ]
    pairs = expand_pairs(items, ["A", "B", "C", "D"])
    # A-B: 1:1, A-C: 1:0 (and a shared text), B-C: a tie and 1:0; D was never judged.
    found = human_expected_wins(pairs)
    np.testing.assert_allclose(found, [(0.5 + 1) / 2, (0.5 + 1) / 2, 0.0, NAN])
    drawn = human_trueskill_sampled(pairs, np.random.default_rng(0), runs=3)
    assert np.isnan(drawn).tolist() == [False, False, False, True]


def test_sampling_updates_like_the_closed_form() -> None:
    # Two systems with only wins of the first: every draw is the same, so a run is deterministic.
    item = RankedItem("1", 0, "x", (("A",), ("B",)), (1, 2))
    pairs = expand_pairs([item] * 9, ["A", "B"])
    drawn = human_trueskill_sampled(pairs, np.random.default_rng(0), runs=2)
    ten = expand_pairs([item] * 10, ["A", "B"])  # N + 1 draws
    np.testing.assert_allclose(drawn, human_trueskill(ten), atol=1e-12)
    # With only ties no skill changes.
    tie = expand_pairs([RankedItem("1", 0, "x", (("A", "B"),), (1,))] * 9, ["A", "B"])
    found = human_trueskill_sampled(tie, np.random.default_rng(0), runs=2)
    np.testing.assert_allclose(found, 0.0, atol=1e-12)

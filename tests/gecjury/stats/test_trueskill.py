"""TrueSkill of many resampled corpora at once against each alone (see also test_ranking.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecjury.stats.bootstrap import make_resampled
from gecjury.stats.ranking import score_outcomes, trueskill
from gecjury.stats.trueskill import (
    Game,
    ScoreWaves,
    meetings,
    met,
    rate,
    rate_resampled,
    sampled_opponents,
)

GAME = Game()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(3, 7), st.integers(2, 25), st.integers(1, 3), st.integers(0, 3),
    st.integers(0, 10**6),
)  # fmt: skip
def test_trueskill_of_all_draws_equals_that_of_each(
    systems: int, lines: int, metrics: int, opponents: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.integers(4, size=(systems, lines)).astype(float) for _ in range(metrics)]
    tables[0][rng.random((systems, lines)) < 0.1] = np.nan
    draws = make_resampled("sentences", 3, lines, systems, seed)
    assert draws.sentences is not None
    # All games are played, or those with some opponents on each sentence.
    rounds = meetings(systems, lines, opponents, seed) if opponents else None
    waves = ScoreWaves(tables, rounds)
    found = rate_resampled(waves, draws.counts, GAME, at_once=4 * systems)
    for number, table in enumerate(tables):
        for row, lines_of_draw in enumerate(draws.sentences):
            expected = trueskill(table[:, lines_of_draw], rounds=rounds)
            assert found[number, row] == pytest.approx(expected, abs=2e-5)


def test_splitting_does_not_change_the_ratings_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    # In single precision, to the last bit; draws of different lengths end at different steps.
    rng = np.random.default_rng(3)
    waves = ScoreWaves([rng.integers(4, size=(6, 20)).astype(float) for _ in range(2)])
    counts = rng.integers(3, size=(7, 20)).astype(float)
    whole = rate_resampled(waves, counts, GAME)
    monkeypatch.setattr("gecjury.stats.trueskill._LEAST_SHARE", 1)
    split = rate_resampled(waves, counts, GAME, workers=2, at_once=24)
    assert split.tolist() == whole.tolist()
    alone = [rate_resampled(waves, row[None], GAME)[:, 0] for row in counts]
    assert np.stack(alone, axis=1).tolist() == whole.tolist()


def test_rounds_pair_each_system_once_and_all_pairs_equally() -> None:
    # Five systems, round 3: 0 + 3 = 1 + 2 = 3; system 4 (4 + 4 = 3 + 5) has no opponent.
    assert met(3, 5).T.tolist() == [[0, 3], [1, 2]]
    # Six systems, round 1: 0 + 1 = 1, and 2 + 5 = 3 + 4 = 1 + 6.
    assert met(1, 6).T.tolist() == [[0, 1], [2, 5], [3, 4]]
    for systems in (5, 6):
        rounds = meetings(systems, 7, 2, seed=1)
        assert rounds.shape == (7, 2)
        counts = np.zeros((systems, systems), dtype=int)
        for number in rounds.ravel().tolist():
            first, second = met(number, systems)
            assert (first < second).all()
            assert len(np.unique([first, second])) == 2 * len(first)
            counts[first, second] += 1
        # 14 rounds: each of the 5 rounds occurs 2 or 3 times, and so does each of the 6.
        assert set(counts[np.triu_indices(systems, 1)].tolist()) == {2, 3}
    assert meetings(50, 3, 4, seed=1).tolist() != meetings(50, 3, 4, seed=2).tolist()


def test_opponents_are_sampled_if_there_are_very_many_games() -> None:
    # 100 systems have 4,950 pairs: on 1,010 sentences 4,999,500 games, on 1,011 more than 5e6.
    assert sampled_opponents(100, 1010) is None
    # A system plays 39 games on a sentence: 100 · 39 / 2 · 1,011 = 1,971,450 games.
    assert sampled_opponents(100, 1011) == 4_000_000 // 101_100 == 39
    assert sampled_opponents(2000, 1000) == 2
    assert sampled_opponents(10**6, 1000) == 1
    # Three systems on very many sentences: each meets both others.
    assert sampled_opponents(3, 10**7) == 1


def test_the_games_of_a_sample_by_hand() -> None:
    # Rounds of three systems: 0: 1-2, 1: 0-1, 2: 0-2; system 2 has no score for sentence 2.
    scores = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, np.nan]])
    outcomes = list(score_outcomes(scores, np.array([[2, 0], [1, 2]])))
    assert outcomes == [(0, 2, 1), (1, 2, 1), (0, 1, 0)]
    assert trueskill(scores, rounds=np.array([[2, 0], [1, 2]])).tolist() == (
        rate(outcomes, 3, GAME)[0].tolist()
    )

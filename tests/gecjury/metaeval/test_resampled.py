"""System scores of resampled corpora, compared with scoring each corpus."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.metaeval.chance import sentence_table
from gecjury.scoring.system_tests import Entry, resampled_system_scores
from gecjury.stats.bootstrap import sentence_draws
from gecjury.stats.ranking import expected_wins, trueskill, win_rates
from gecjury.stats.trueskill import Game, rate_resampled, score_waves


def entry(name: str, sentences: FloatArray) -> Entry:
    return Entry(
        sentence_table(name, [f"system {row}" for row in range(len(sentences))], sentences)
    )


def test_no_skill_changes_if_all_games_are_ties() -> None:
    tied = np.full((4, 6), 0.3)
    tied[1, 2] = tied[:, 5] = np.nan
    decided = tied.copy()
    decided[0, 0] = 0.4
    draws = np.tile(np.arange(6), (3, 1))
    both = resampled_system_scores(
        "trueskill", [entry("tied", tied), entry("told", decided)], draws
    )
    unmoved = rate_resampled(score_waves([tied]), np.ones((3, 6)), 4, Game())[0]
    assert both[0].tolist() == unmoved.tolist()
    assert not both[0].any()
    assert both[1, 0] == pytest.approx(trueskill(decided), abs=2e-5)
    assert both[1].any()
    assert not resampled_system_scores("trueskill", [entry("tied", tied)], draws).any()


def test_expected_wins_of_draws() -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(3, size=(4, 25)).astype(float)
    table[2, 3] = np.nan
    draws = sentence_draws(25, 5, seed=0)
    found = resampled_system_scores("expected-wins", [entry("toy", table)], draws)[0]
    for row, lines in enumerate(draws):
        assert found[row] == pytest.approx(expected_wins(table[:, lines]))
    # One sentence, scores 3 2 2: the first beats both, the others tie: 1, .25, .25.
    assert win_rates(np.array([[3.0], [2.0], [2.0]])).ravel().tolist() == [1.0, 0.25, 0.25]
    assert np.isnan(win_rates(np.array([[3.0], [np.nan]]))).all()

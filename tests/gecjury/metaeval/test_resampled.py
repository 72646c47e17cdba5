"""System scores of resampled corpora, compared with scoring each corpus."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.metaeval.chance import sentence_table
from gecjury.scoring.system_tests import RankedMetric, resampled_system_scores
from gecjury.stats.bootstrap import sentence_draws
from gecjury.stats.ranking import expected_wins, win_rates


def entry(name: str, sentences: FloatArray) -> RankedMetric:
    return RankedMetric(
        sentence_table(name, [f"system {row}" for row in range(len(sentences))], sentences)
    )


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


def test_trueskill_of_opposite_scores_is_opposite() -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(3, size=(4, 25)).astype(float)
    table[2, 3] = np.nan
    draws = sentence_draws(25, 5, seed=0)
    entries = [entry("toy", table), entry("against", -table)]
    together = resampled_system_scores("trueskill", entries, draws)
    alone = resampled_system_scores("trueskill", entries[1:], draws)[0]
    assert together[1].tolist() == (-together[0]).tolist()
    assert together[1] == pytest.approx(alone, abs=1e-5)

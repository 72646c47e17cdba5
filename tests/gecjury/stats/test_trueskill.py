"""TrueSkill of many resampled corpora at once against that of each; of one see test_ranking.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecjury.stats.bootstrap import make_resampled
from gecjury.stats.ranking import trueskill
from gecjury.stats.trueskill import Game, rate_resampled, score_waves

GAME = Game()


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(1, 30), st.integers(1, 3), st.integers(0, 10**6))
def test_trueskill_of_all_draws_is_that_of_each(
    systems: int, lines: int, metrics: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.integers(4, size=(systems, lines)).astype(float) for _ in range(metrics)]
    tables[0][rng.random((systems, lines)) < 0.1] = np.nan
    draws = make_resampled("sentences", 3, lines, systems, seed)
    assert draws.sentences is not None
    found = rate_resampled(score_waves(tables), draws.counts, systems, GAME, metrics=metrics)
    for number, table in enumerate(tables):
        for row, lines_of_draw in enumerate(draws.sentences):
            expected = trueskill(table[:, lines_of_draw])
            assert found[number, row] == pytest.approx(expected, abs=2e-5)


def test_trueskill_of_a_long_one_sided_corpus() -> None:
    # Skills far apart, where the tails of the normal curve are met, and threads.
    scores = np.repeat(np.arange(5.0)[:, None], 300, axis=1)
    scores[1, ::7] = 9
    counts = np.ones((4, 300))
    found = rate_resampled(score_waves([scores]), counts, 5, GAME, workers=2)
    expected = trueskill(scores)
    assert np.abs(found[0] - expected).max() < 1e-4


def test_draws_are_rated_alike_however_they_are_split() -> None:
    # In single precision, so to the last bit; draws of different lengths end at different turns.
    rng = np.random.default_rng(3)
    waves = score_waves([rng.integers(4, size=(6, 20)).astype(float) for _ in range(2)])
    counts = rng.integers(3, size=(7, 20)).astype(float)
    whole = rate_resampled(waves, counts, 6, GAME, metrics=2)
    split = rate_resampled(waves, counts, 6, GAME, metrics=2, workers=2, at_once=24)
    assert split.tolist() == whole.tolist()
    alone = [rate_resampled(waves, row[None], 6, GAME, metrics=2)[:, 0] for row in counts]
    assert np.stack(alone, axis=1).tolist() == whole.tolist()

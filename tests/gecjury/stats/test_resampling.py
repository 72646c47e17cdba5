"""Draws, intervals, and correlations of many draws against those of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecjury.errors import OptionError
from gecjury.stats.bootstrap import interval, make_draws
from gecjury.stats.correlation import correlations, kendall, pairwise_accuracy, pearson, spearman
from gecjury.stats.ranking import expected_wins, trueskill
from gecjury.stats.trueskill import Game, rate_draws, score_waves

GAME = Game()


def test_draws_have_the_size_of_the_original() -> None:
    draws = make_draws("both", 50, 20, 5, seed=1)
    assert draws.sentences is not None
    assert draws.systems is not None
    assert draws.sentences.shape == (50, 20)
    assert (np.diff(draws.sentences, axis=1) >= 0).all()
    assert (draws.counts.sum(axis=1) == 20).all()
    assert draws.multiplicity is not None
    assert (draws.multiplicity.sum(axis=1) == 5).all()
    again = make_draws("both", 50, 20, 5, seed=1)
    assert (again.counts == draws.counts).all()
    assert make_draws("systems", 5, 20, 5, seed=1).counts.tolist() == [[1.0] * 20]
    assert make_draws("sentences", 5, 20, 5, seed=1).multiplicity is None
    for over, size in (("all", 5), ("both", 0)):
        with pytest.raises(OptionError):
            make_draws(over, size, 20, 5, seed=1)  # type: ignore[arg-type]


def test_interval_by_hand() -> None:
    # 0 ... 100 at 90%: the 5th and 95th percentile; one undefined value is dropped and counted.
    values = np.append(np.arange(101.0), np.nan)
    bounds, dropped = interval(values, 0.9)
    assert bounds == pytest.approx((5.0, 95.0))
    assert dropped == 1
    bounds, dropped = interval(np.full(3, np.nan))
    assert np.isnan(bounds).all()
    assert dropped == 3
    with pytest.raises(OptionError, match="confidence"):
        interval(values, 1.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 7), st.integers(0, 10**6), st.booleans())
def test_many_draws_equal_one_by_one(size: int, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    human, metric = rng.normal(size=(6, size)), rng.normal(size=(6, size))
    if coarse:
        human, metric = human.round(), metric.round()
    systems = rng.integers(size, size=(6, size))
    found = correlations(human, metric, systems)
    measures = {
        "pearson": pearson, "spearman": spearman, "kendall": kendall,
        "pairwise_accuracy": pairwise_accuracy,
    }  # fmt: skip
    for name, measure in measures.items():
        for row in range(6):
            expected = measure(human[row][systems[row]], metric[row][systems[row]])
            if len(set(systems[row].tolist())) < 3:
                expected = float("nan")
            assert found[name][row] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_degenerate_draws_are_undefined() -> None:
    human, metric = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[1.0, 1.0, 1.0, 2.0]])
    systems = np.array([[0, 1, 1, 0], [0, 1, 2, 2], [0, 1, 2, 3]])
    # Two different systems; a constant metric; all of them.
    found = correlations(human, metric, systems)["pearson"]
    assert np.isnan(found[:2]).all()
    assert found[2] == pytest.approx(pearson(human[0], metric[0]))
    assert np.isnan(correlations(human[:, :2], metric[:, :2])["pearson"]).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(1, 30), st.integers(1, 3), st.integers(0, 10**6))
def test_trueskill_of_all_draws_is_that_of_each(
    systems: int, lines: int, metrics: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.integers(4, size=(systems, lines)).astype(float) for _ in range(metrics)]
    tables[0][rng.random((systems, lines)) < 0.1] = np.nan
    draws = make_draws("sentences", 3, lines, systems, seed)
    assert draws.sentences is not None
    found = rate_draws(score_waves(tables), draws.counts, systems, GAME, metrics=metrics)
    for number, table in enumerate(tables):
        for row, lines_of_draw in enumerate(draws.sentences):
            expected = trueskill(table[:, lines_of_draw]).scores
            assert found[number, row] == pytest.approx(expected, abs=2e-5)


def test_trueskill_of_a_long_one_sided_corpus() -> None:
    # Skills far apart, where the tails of the normal curve are met, and threads.
    scores = np.repeat(np.arange(5.0)[:, None], 300, axis=1)
    scores[1, ::7] = 9
    counts = np.ones((4, 300))
    found = rate_draws(score_waves([scores]), counts, 5, GAME, workers=2)
    expected = trueskill(scores).scores
    assert np.abs(found[0] - expected).max() < 1e-4
    with pytest.raises(OptionError, match="tau"):
        rate_draws(score_waves([scores]), counts, 5, Game(tau=0.1))


def test_draws_are_rated_alike_however_they_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    # In single precision, so to the last bit; draws of different lengths end at different turns.
    rng = np.random.default_rng(3)
    waves = score_waves([rng.integers(4, size=(6, 20)).astype(float) for _ in range(2)])
    counts = rng.integers(3, size=(7, 20)).astype(float)
    whole = rate_draws(waves, counts, 6, GAME, metrics=2)
    monkeypatch.setattr("gecjury.stats.trueskill._CELLS", 24)
    split = rate_draws(waves, counts, 6, GAME, metrics=2, workers=2)
    assert split.tolist() == whole.tolist()
    alone = [rate_draws(waves, row[None], 6, GAME, metrics=2)[:, 0] for row in counts]
    assert np.stack(alone, axis=1).tolist() == whole.tolist()


def test_no_skill_moves_where_nothing_is_preferred() -> None:
    from gecjury.metaeval.resampled import Entry, metric_draws

    tied = np.full((4, 6), 0.3)
    tied[1, 2] = tied[:, 5] = np.nan
    told = tied.copy()
    told[0, 0] = 0.4
    counts = np.ones((3, 6))
    draws = np.tile(np.arange(6), (3, 1))
    both = metric_draws("trueskill", [Entry("tied", tied), Entry("told", told)], draws, counts)
    assert both[0].tolist() == rate_draws(score_waves([tied]), counts, 4, GAME)[0].tolist()
    assert not both[0].any()
    assert both[1, 0] == pytest.approx(trueskill(told).scores, abs=2e-5)
    assert both[1].any()
    assert not metric_draws("trueskill", [Entry("tied", tied)], draws, counts).any()


def test_expected_wins_of_draws() -> None:
    from gecjury.metaeval.resampled import Entry, metric_draws, win_rates

    rng = np.random.default_rng(4)
    table = rng.integers(3, size=(4, 25)).astype(float)
    table[2, 3] = np.nan
    draws = make_draws("sentences", 5, 25, 4, seed=0)
    assert draws.sentences is not None
    entry = Entry("toy", table)
    found = metric_draws("expected-wins", [entry], draws.sentences, draws.counts)[0]
    for row, lines in enumerate(draws.sentences):
        assert found[row] == pytest.approx(expected_wins(table[:, lines]).scores)
    # One sentence, scores 3 2 2: the first beats both, the others tie: 1, .25, .25.
    assert win_rates(np.array([[3.0], [2.0], [2.0]])).ravel().tolist() == [1.0, 0.25, 0.25]
    assert np.isnan(win_rates(np.array([[3.0], [np.nan]]))).all()

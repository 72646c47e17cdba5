"""Held-out pairs of corrections: a model compared with chance and with counting changes."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.pairs import RankedPair
from gecjury.refless.training.worth import (
    Worth,
    rated_pairs,
    worth_of,
    worth_of_ratings,
    worth_table,
)


def rated(sources: int, seed: int = 0) -> Annotations:
    """Two corrections of each source; the one with more changes is mostly the more fluent one."""
    rng = np.random.default_rng(seed)
    texts = [f"source number {n} is here" for n in range(sources)]
    outputs = [f"{text}{' word' * count}" for text in texts for count in (1, 3)]
    better = rng.random(sources) < 0.6
    ratings = np.stack([np.where(better, 2.0, 4.0), np.where(better, 4.0, 2.0)], axis=1).ravel()
    doubled = tuple(text for text in texts for _ in range(2))
    return Annotations(("fluency",), tuple(outputs), doubled, ratings[:, None])


def changed(source: str, more: int) -> RankedPair:
    """A pair whose better correction has `more` more changed tokens than the worse one."""
    better, worse = (source + " word" * max(sign * more, 0) for sign in (1, -1))
    return RankedPair(better, worse, source)


def worth(predicted: FloatArray, test: Annotations) -> Worth:
    return worth_of_ratings(rated(40, 1), test, {"fluency": predicted}, "en")


def test_pairs_share_a_source_and_differ_in_rating() -> None:
    sources = ["A b .", "a b .", "c d", "c d", "c d", "", ""]
    outputs = ["x", "y", "x", "x", "z", "x", "y"]
    better, worse = rated_pairs(sources, outputs, np.array([1, 2, 3, 1, 3, 1, 2.0]))
    # Left out: the same output twice, equal ratings, and rows without a source.
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == [(1, 0), (4, 3)]


def test_a_model_that_orders_all_pairs_beats_both() -> None:
    test = rated(40)
    found = worth(test.ratings[:, 0], test)
    model, changes, difference = found.rows
    assert (found.pairs, found.sources) == (40, 40)
    assert model.accuracy == 1
    assert changes.what == "counting changes, more is better"
    assert difference.accuracy == pytest.approx(1 - changes.accuracy)
    assert found.above_chance
    assert found.above_changes
    assert found.verdict.startswith("Verdict: this model beats chance and counting changes")
    assert "people's ratings on 1.000 [1.00, 1.00] of 40 held-out pairs" in found.verdict


def test_a_random_model_is_reported_as_such() -> None:
    test = rated(400)
    found = worth(np.random.default_rng(0).random(800), test)
    assert not found.above_chance
    assert not found.above_changes
    assert "is not above chance and does not beat counting changes" in found.verdict
    assert found.verdict.endswith("do not choose by it")


def test_a_model_that_counts_changes_does_not_beat_counting_them() -> None:
    test = rated(400)
    found = worth(np.tile([1.0, 3.0], 400), test)
    assert found.above_chance
    assert found.rows[2].interval == (0, 0)
    assert not found.above_changes
    assert "above chance, but does not beat counting changes" in found.verdict


def test_the_training_part_decides_whether_fewer_changes_are_better() -> None:
    changes = np.array([-1.0, -1, 2, -3])
    known = changed("z", -1)
    tried = [changed(source, more) for source, more in zip("abcd", (-1, -1, 2, -3), strict=True)]
    found = worth_of(changes, tried, [known], judged="x")
    assert found.rows[1].what == "counting changes, fewer is better"
    assert found.rows[1].accuracy == 0.75


def test_too_few_pairs_are_no_evidence() -> None:
    test = rated(8)
    found = worth(test.ratings[:, 0], test)
    assert found.above_chance is None
    assert "8 held-out pairs of 8 sources are too few to say" in found.verdict
    none = worth(np.zeros(2), test.take([0, 2]))
    assert none.rows == ()
    assert worth_table(none) == f"**{none.verdict}.**"


def test_sources_are_resampled_not_pairs() -> None:
    # All pairs of a source are right or wrong together, so the interval is that of the sources.
    right = np.repeat(np.tile([1.0, -1.0], 20), 30)
    pairs = [changed(f"s{n}", 1) for n in range(40) for _ in range(30)]
    found = worth_of(right, pairs, pairs, judged="x")
    low, high = found.rows[0].interval
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 40), abs=0.04)

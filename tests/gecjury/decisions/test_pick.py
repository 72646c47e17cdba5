"""Choosing among corrections: by score, by agreement, and what it gains."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from gecjury.corpus.corpus import Corpus, corpus_of_texts
from gecjury.decisions.pick import (
    PickSettings,
    _best_elsewhere,
    _part_draws,
    choose_by_risk,
    choose_by_score,
    pick,
    picks,
)
from gecjury.errors import InputError, OptionError
from gecjury.runtime import Runtime
from gecjury.scoring.given_scores import given_scores
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.scoring.signature import Signature

SOURCE = ["This are a sentence .", "He go home now .", "All is well here ."]
GOOD = ["This is a sentence .", "He goes home now .", "All is well here ."]
ODD = ["These are a sentence .", "He went home now .", "All is well here ."]
BAD = ["This are sentence .", "Go home .", "All is well here ."]
CANDIDATES = {"bad": BAD, "good": GOOD, "odd": ODD, "same": list(GOOD)}
QUIET = Runtime(use_cache=False)


def corpus(references: bool = False) -> Corpus:
    return corpus_of_texts(SOURCE, CANDIDATES, [GOOD] if references else [])


def test_the_highest_score_wins_and_the_first_of_equal_ones() -> None:
    given = given_scores({"bad": [1, 5, 0], "good": [2, 5, 0], "odd": [2, 1, 0], "same": [0, 0, 0]})
    found = choose_by_score(given, corpus())
    assert found.chosen.tolist() == [1, 0, 0]
    assert found.lines == (GOOD[0], BAD[1], GOOD[2])
    # 2 and 2, 5 and 5 of different texts; the third sentence has one text only
    assert found.tied == 2
    assert found.shares == {"bad": 2, "good": 1, "odd": 0, "same": 0}


def test_what_is_not_scored_is_never_chosen_and_told_where_nothing_is() -> None:
    none = float("nan")
    given = given_scores(
        {"bad": [none, none, 0], "good": [-9, none, 0], "odd": [none] * 3, "same": [none] * 3}
    )
    found = choose_by_score(given, corpus())
    assert found.chosen.tolist() == [1, 0, 0]
    assert found.unscored == 1
    assert any("scored none of the corrections of 1 sentences" in note for note in found.notes)


def plain_risk(name: str, votes: str) -> np.ndarray:
    """Every candidate against every other file (or text), one metric call each."""
    texts = list(CANDIDATES.values())
    table = np.full((4, 3), np.nan)
    for row, (one, mine) in itertools.product(range(3), enumerate(texts)):
        others = [t[row] for place, t in enumerate(texts) if place != one]
        if votes == "texts":
            others = sorted({text for text in others if text != mine[row]})
        values = [
            load(name).score([SOURCE[row]], {"x": [mine[row]]}, [[o]], runtime=QUIET).sentences[0]
            for o in others
        ]
        table[one, row] = np.mean(values) if values else 1.0
    return table


@pytest.mark.parametrize("votes", ["files", "texts"])
@pytest.mark.parametrize("name", ["errant", "green"])
def test_risk_is_the_mean_over_the_others(name: str, votes: str) -> None:
    found = choose_by_risk(load(name), corpus(), QUIET, votes=votes)  # type: ignore[arg-type]
    assert found.scores == pytest.approx(plain_risk(name, votes))


def test_votes_of_files_choose_what_two_wrote_and_references_are_not_read() -> None:
    found = choose_by_risk(load("errant"), corpus(), QUIET)
    assert found.lines[:2] == tuple(GOOD[:2])
    beside = corpus_of_texts(SOURCE, CANDIDATES, [BAD])
    again = choose_by_risk(load("errant"), beside, QUIET)
    assert np.array_equal(found.scores, again.scores)


def test_errant_by_sets_is_errant_by_its_own_scores() -> None:
    # An option that the short way does not know takes the long way, of the same scores here.
    short = choose_by_risk(load("errant"), corpus(), QUIET)
    long = choose_by_risk(load("errant:compat=official"), corpus(), QUIET)
    assert short.scores == pytest.approx(long.scores, abs=1e-4)


def test_gain_is_measured_beside_the_best_single_system() -> None:
    found = picks(corpus(references=True), metrics=["green"], mbr=["errant"], gain=True)
    rows = {row["output"]: row for row in found.rows()}
    assert found.best == {"errant": "good", "gleu": "good"}
    assert rows["good"]["errant"] == rows["green"]["errant"] == 1.0
    assert rows["good"]["errant_gain"] == 0.0
    assert rows["oracle errant"]["errant"] == 1.0
    assert rows["bad"]["errant_gain"] < rows["random pick"]["errant_gain"] < 0
    assert rows["bad"]["ci95"]["errant"][0] <= rows["bad"]["errant_gain"]
    assert "green chose by the references" in " ".join(found.notes)
    assert found.alike == 1


def given_table(scorer: Scorer, values: np.ndarray) -> ScoreTable:
    """A table of sentence scores, systems × sentences."""
    statistics, names = Statistics(values), tuple("abcdefghi"[: len(values)])
    scores = scorer.sentence_scores(statistics), scorer.corpus_scores(statistics)
    signature = Signature("changes", "refless", {})
    return ScoreTable(names, signature, *scores, statistics, dict.fromkeys(names, ""))


def test_the_best_system_owes_nothing_to_luck() -> None:
    # Eight systems of one quality: a ninth, fixed beforehand, is as good as the best of them.
    rng = np.random.default_rng(4)
    scorer, settings = load("changes"), PickSettings(resamples=99)
    parts, draws = _part_draws(60, settings)
    gains, lucky, holds = [], [], []
    for _ in range(60):
        values = rng.random((9, 60))
        table = given_table(scorer, values)
        baseline = _best_elsewhere(scorer, table, 8, parts, draws)
        drawn = scorer.corpus_scores(table.statistics, draws).score[:, 8] - baseline
        gains.append(drawn[0])
        lucky.append(values[8].mean() - values[:8].mean(axis=1).max())
        low, high = np.quantile(drawn[1:], [0.025, 0.975])
        holds.append(low <= 0 <= high)
    error = np.std(gains) / np.sqrt(60)
    assert abs(np.mean(gains)) < 3 * error
    assert np.mean(lucky) < -6 * error
    assert np.mean(holds) > 0.9


def test_the_best_system_of_a_half_is_chosen_by_the_other_half() -> None:
    scorer, settings = load("changes"), PickSettings(resamples=5)
    parts, draws = _part_draws(60, settings)
    assert draws[0].tolist() == list(range(60))
    assert (np.sort(parts[draws], axis=1) == np.repeat(np.arange(6), 10)).all()
    # Each of two systems is right in three of the six parts. A half with two or three of a
    # system's parts chooses it for the other half, where it has one part or none. Of ten pairs of
    # halves one is 3:0, where both halves choose wrongly and score 0; nine are 2:1, where both
    # systems, each chosen for 30 sentences, are right in 10 of them: 20 of 60.
    first = (parts < 3).astype(float)
    table = given_table(scorer, np.stack([first, 1 - first]))
    chosen = _best_elsewhere(scorer, table, 2, parts, draws)
    assert chosen.tolist() == pytest.approx([0.9 * 20 / 60] * 6)
    # One sentence alone is its own judge.
    parts, draws = _part_draws(1, settings)
    table = given_table(scorer, np.array([[0.1], [0.7]]))
    assert _best_elsewhere(scorer, table, 2, parts, draws).tolist() == [0.7] * 6


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"metric": "green"}, "green needs references: .*--mbr green"),
        ({"mbr": "changes"}, "--mbr changes: expected a metric that compares"),
        ({"mbr": "m2"}, "--mbr m2: expected a metric that compares"),
        ({}, "how is to be chosen"),
        ({"metric": "changes", "mbr": "green"}, "give one of them"),
        ({"mbr": "green", "votes": "people"}, "--votes people: expected files or texts"),
    ],
)
def test_what_cannot_choose_is_refused(given: dict[str, str], told: str) -> None:
    with pytest.raises((OptionError, InputError), match=told):
        pick(SOURCE, CANDIDATES, **given)  # type: ignore[arg-type]


def test_candidates_that_leave_no_choice_are_told() -> None:
    with pytest.raises(InputError, match="1 output to choose among"):
        pick(SOURCE, {"a": GOOD}, mbr="green")
    found = picks(corpus_of_texts(SOURCE, {"a": GOOD, "b": GOOD}), mbr="green")
    assert "b holds the same lines as a" in found.notes[0]
    assert "nothing to choose" in found.notes[1]
    assert found.choices[0].lines == tuple(GOOD)
    assert found.choices[0].tied == 0


def test_no_file_is_written_by_choosing(tmp_path: Path) -> None:
    pick(SOURCE, CANDIDATES, mbr="green", runtime=Runtime(cache=tmp_path))
    assert not list(tmp_path.iterdir())

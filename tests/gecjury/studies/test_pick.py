"""`gecjury pick`: choice by score or by agreement, and invalid input."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury import Pick
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.report.result import Result
from gecjury.report.tables import to_json
from gecjury.scoring.given_scores import given_scores
from gecjury.scoring.registry import load
from tests.shell import Shell

SOURCE = ["This are a sentence .", "He go home now .", "All is well here ."]
GOOD = ["This is a sentence .", "He goes home now .", "All is well here ."]
ODD = ["These are a sentence .", "He went home now .", "All is well here ."]
BAD = ["This are sentence .", "Go home .", "All is well here ."]
CANDIDATES = {"bad": BAD, "good": GOOD, "odd": ODD, "same": list(GOOD)}
QUIET = Runtime(use_cache=False)


def corpus(*references: list[str]) -> Corpus:
    return corpus_of_texts(SOURCE, CANDIDATES, references)


def scores_of(result: Result) -> np.ndarray:
    return np.array([list(row["scores"].values()) for row in result.table("lines").rows]).T


def test_the_highest_score_wins_and_the_first_of_equal_ones() -> None:
    given = given_scores({"bad": [1, 5, 0], "good": [2, 5, 0], "odd": [2, 1, 0], "same": [0, 0, 0]})
    result = gecjury.pick(corpus(), given)
    assert [row["chosen"] for row in result.table("lines").rows] == ["good", "bad", "bad"]
    assert result.text == "".join(f"{line}\n" for line in (GOOD[0], BAD[1], GOOD[2]))
    (method,) = result.rows()
    # Ties: 2 and 2, 5 and 5 for different texts; the third sentence has only one text.
    assert method["tied"] == 2
    assert method["chosen"] == {"bad": 2, "good": 1, "odd": 0, "same": 0}


def test_unscored_texts_are_never_chosen_and_sentences_without_scores_are_reported() -> None:
    none = float("nan")
    given = given_scores(
        {"bad": [none, none, 0], "good": [-9, none, 0], "odd": [none] * 3, "same": [none] * 3}
    )
    result = gecjury.pick(corpus(), given)
    assert [row["chosen"] for row in result.table("lines").rows] == ["good", "bad", "bad"]
    assert (result.status, result.rows()[0]["unscored"]) == (1, 1)
    assert any("scored none of the corrections of 1 sentences" in note for note in result.notes)


def plain_risk(name: str) -> np.ndarray:
    """Compare every candidate with every other file, with one metric call each."""
    texts = list(CANDIDATES.values())
    table = np.full((4, 3), np.nan)
    for row, (one, mine) in itertools.product(range(3), enumerate(texts)):
        values = [
            load(name)
            .score([SOURCE[row]], {"x": [mine[row]]}, [[other[row]]], runtime=QUIET)
            .sentences[0]
            for place, other in enumerate(texts)
            if place != one
        ]
        table[one, row] = np.mean(values)
    return table


@pytest.mark.parametrize("name", ["errant", "green"])
def test_risk_is_the_mean_over_the_other_files_and_reads_no_references(name: str) -> None:
    result = gecjury.pick(corpus(BAD), (), Pick(mbr=name), runtime=QUIET)
    assert scores_of(result) == pytest.approx(plain_risk(name))
    # Two files have the good texts.
    assert [row["text"] for row in result.table("lines").rows] == GOOD


def test_equal_texts_are_no_tie() -> None:
    picked = gecjury.pick(corpus_of_texts(SOURCE, {"a": GOOD, "b": GOOD}), (), Pick(mbr="green"))
    assert picked.rows()[0]["tied"] == 0


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def files(shell: Shell) -> list[str]:
    for name, lines in (("source", SOURCE), ("ref", GOOD), *CANDIDATES.items()):
        shell.write(f"{name}.txt", "".join(f"{line}\n" for line in lines))
    return ["source.txt", "bad.txt", "good.txt", "odd.txt"]


def untimed(text: str) -> Any:
    document = json.loads(text)
    return {**document, "rows": [{**row, "seconds": None} for row in document["rows"]]}


def test_the_command_writes_what_the_function_gives(shell: Shell, files: list[str]) -> None:
    words = ["pick", *files, "--mbr", "green"]
    picked = gecjury.pick(gecjury.read_corpus(files[0], files[1:]), (), Pick(mbr="green"))
    own = shell.ended(*words, "--format", "json")[0]
    assert untimed(own) == untimed(to_json(picked.document()))
    # Nothing but one line per sentence is printed.
    out, err = shell.ended(*words)
    assert out == picked.text
    assert "among equals, the first file named" in err
    assert shell.ended(*words, "-o", "best.txt")[0] == ""
    assert (shell.folder / "best.txt").read_text() == picked.text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "changes", "--mbr", "green"], "expected one way to choose"),
        ([], "expected one way to choose"),
        (["-m", "green"], "green needs references: use a metric that reads none"),
        (["--mbr", "changes"], "--mbr changes: expected a metric that compares"),
        (["--mbr", "m2"], "--mbr m2: expected a metric that compares"),
        (["--mbr", "gren"], "did you mean green"),
    ],
)
def test_unsuitable_ways_to_choose_are_refused(
    shell: Shell, files: list[str], words: list[str], message: str
) -> None:
    status, out, err = shell("pick", *files, *words)
    assert (status, out) == (2, "")
    assert message in err


def test_one_output_leaves_no_choice(shell: Shell, files: list[str]) -> None:
    status, _, err = shell("pick", *files[:2], "-m", "changes")
    assert (status, "1 output to choose among" in err) == (2, True)


def test_raw_corrections_are_written_as_they_were_given(shell: Shell) -> None:
    shell.write("s.txt", "He go , yes .\n")
    shell.write("a.txt", "He “goes”, yes.\n")
    shell.write("b.txt", "He “goes”, yes.\n")
    shell.ended("pick", "s.txt", "a.txt", "b.txt", "--mbr", "gleu", "-o", "out.txt")
    assert (shell.folder / "out.txt").read_text() == "He “goes”, yes.\n"

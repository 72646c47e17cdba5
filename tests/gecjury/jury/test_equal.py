"""The plain sum of z-scores, the baseline of a trained jury."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import GecjuryError, InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.registry import load

LINES = ("she sit .", "he sit down")
FIXED = ("she sits .", "he sits down")


def corpus(*systems: tuple[str, ...]) -> Corpus:
    return Corpus(
        LINES,
        {f"s{number}": Version(lines) for number, lines in enumerate(systems)},
        (Version(FIXED),),
        reference_sets={"kept": lambda: (Version(LINES),)},
    )


def test_z_scores_by_hand() -> None:
    """`changes` counts tokens replaced: 0 0 | 1 1 | 1 0, mean 1/2, standard deviation 1/2.

    z is −1 −1 | 1 1 | 1 −1. The second member is GLEU with n = 1, standardised here by NumPy.
    """
    three = corpus(LINES, FIXED, ("she sits .", "he sit down"))
    assert load("changes").score_corpus(three).sentences.tolist() == [[0, 0], [1, 1], [1, 0]]
    alone = load("jury", equal="changes").score_corpus(three)
    assert alone.sentences.tolist() == [[-1, -1], [1, 1], [1, -1]]
    assert list(alone.totals) == [-1, 1, 0]
    gleu = load("gleu:n=1").score_corpus(three).sentences
    summed = load("jury", equal="changes+gleu:n=1").score_corpus(three)
    wanted = alone.sentences + (gleu - gleu.mean()) / gleu.std()
    assert summed.sentences == pytest.approx(wanted)
    assert str(summed.signature).startswith("jury")
    assert summed.signature.label == "jury:equal=changes+gleu:n=1"


def test_a_constant_member_adds_nothing() -> None:
    same = corpus(FIXED, FIXED)
    assert load("jury", equal="changes").score_corpus(same).sentences.tolist() == [[0, 0], [0, 0]]


def test_members_use_the_reference_set_that_they_name() -> None:
    two = corpus(LINES, FIXED)
    kept = load("jury", equal="gleu@kept").score_corpus(two).totals
    given = load("jury", equal="gleu").score_corpus(two).totals
    assert kept["s0"] > kept["s1"]
    assert given["s0"] < given["s1"]
    with pytest.raises(InputError, match="no references are called '10refs'"):
        load("jury", equal="gleu@10refs").score_corpus(two)
    with pytest.raises(InputError, match="jury member gleu: gleu needs references"):
        load("jury", equal="gleu+changes").score_corpus(Corpus(LINES, {"s": Version(FIXED)}, ()))


def test_members_with_options_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "members.txt"
    file.write_text("# a comment\ngreen:n=2,unit=char\n\nchanges\n")
    jury = load("jury", equal=str(file))
    assert jury.settings() == {"equal": "green:n=2,unit=char+changes"}
    wanted = load("jury", equal="changes").score_corpus(corpus(LINES, FIXED)).sentences
    green = load("green:n=2,unit=char").score_corpus(corpus(LINES, FIXED)).sentences
    wanted = wanted + (green - green.mean()) / green.std()
    assert jury.score_corpus(corpus(LINES, FIXED)).sentences == pytest.approx(wanted)
    file.write_text("llm-s\n")
    with pytest.raises(OptionError, match="--allow-judges"):
        load("jury", equal=str(file))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ("gleu+", "joined by `\\+`"),
        ("gleu+gleu", "is named twice"),
        ("gleu+grene", "green"),
        ("jury", "cannot be a member"),
        ("gleu@", "name a set"),
    ],
)
def test_wrong_members(members: str, words: str) -> None:
    with pytest.raises(GecjuryError, match=words):
        load("jury", equal=members)
    with pytest.raises(OptionError, match="one of them"):
        load("jury", equal="gleu", file="x.json")

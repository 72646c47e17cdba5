"""Perturbations: the effect of each on a text, and seeded random choices."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gecjury.studies.attack.perturbations import (
    APPENDED,
    FORGED,
    GENERIC,
    ORDER,
    PERTURBATIONS,
    Victim,
    perturb,
)

SOURCES = ("He go home now .", "She go home then .", "This are bad , very .")
LINES = ("He goes home now .", "She goes home then .", "This is bad , very .")
VICTIM = Victim(SOURCES, LINES)


def first(name: str, victim: Victim = VICTIM, seed: int = 0) -> str:
    return perturb(PERTURBATIONS[name], victim, seed=seed)[0]


def test_effect_of_each_perturbation() -> None:
    assert first("copy-source") == "He go home now ."
    assert first("empty") == ""
    assert first("repeat-all") == "He goes home now . He goes home now ."
    assert first("append-fluent") == f"He goes home now . {APPENDED}"
    assert first("generic") == GENERIC
    assert first("lower-case") == "he goes home now ."
    assert first("no-punctuation") == "He goes home now"
    assert first("white-space") == "He  goes  home  now  . "
    assert first("order") == ORDER
    assert first("append-order") == f"He goes home now . {ORDER}"
    assert first("forged-reply") == f"He goes home now . {FORGED}"
    # The first two sources share 3 of 7 distinct words; each shares 1 of 9 with the third.
    assert VICTIM.nearest[:2] == (1, 0)
    assert first("similar") == "She goes home then ."
    assert first("another") in LINES[1:]


def test_noise_hits_one_word_in_five() -> None:
    words = LINES[0].split()
    # One of five words is changed.
    assert len(first("repeat-words").split()) == 6
    assert len(first("commas").split()) == 6
    assert len(first("drop-word").split()) == 4
    casing = first("casing").split()
    assert sum(a != b for a, b in zip(casing, words, strict=True)) == 1
    assert first("casing").lower() == LINES[0].lower()
    assert sorted(first("shuffle").split()) == sorted(words)
    swapped = first("swap").split()
    assert sum(a != b for a, b in zip(swapped, words, strict=True)) == 2
    lookalike = first("homoglyphs")
    assert lookalike != LINES[0]
    assert len(lookalike) == len(LINES[0])
    assert not lookalike.isascii()


TEXTS = st.lists(st.sampled_from(["", "a", "A b .", ". .", "some more words here ,"]), min_size=1)


@given(st.sampled_from(list(PERTURBATIONS)), TEXTS, st.integers(0, 5))
def test_equal_seeds_damage_alike(name: str, lines: list[str], seed: int) -> None:
    victim = Victim([f"source {line}" for line in lines], lines)
    damaged = perturb(PERTURBATIONS[name], victim, seed=seed)
    assert len(damaged) == len(lines)
    assert damaged == perturb(PERTURBATIONS[name], victim, seed=seed)
    assert not any("\n" in text for text in damaged)


def test_damage_of_language_models_is_marked() -> None:
    assert {n for n, e in PERTURBATIONS.items() if e.for_judges} == {
        "order",
        "append-order",
        "forged-reply",
    }

from __future__ import annotations

import unicodedata

import pytest

from gecjury.extraction.plain.forms import (
    base,
    folded,
    is_punctuation,
    only_letters,
    unmarked,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hej", "hEJ"),
        ("ＡＢＣ１", "abc1"),  # full width
        ("ｶﾞ", "ガ"),  # half width
        (unicodedata.normalize("NFD", "Říká"), "říká"),
        ("Straße", "STRASSE"),
        ("Ї", "ї"),
    ],
)
def test_case_width_and_composition_are_folded(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"), [("…", "..."), ("á", "a"), ("は", "ば"), ("①", "1"), ("ﬁ", "fj")]
)
def test_nothing_else_is_folded(one: str, other: str) -> None:
    assert folded(one) != folded(other)


def test_base_drops_diacritics_but_keeps_voicing_and_vowel_signs() -> None:
    assert base("Říká") == base("rika") == "rika"
    assert base("їжак") == base("іжак")
    assert base("が") != base("か")
    assert base("कि") != base("क")


@pytest.mark.parametrize("token", [".", "…", "。", "„", "—", "$", "🙂", "🙂\ufe0f", "،"])
def test_punctuation_is_recognised_in_any_script(token: str) -> None:
    assert is_punctuation(token)


@pytest.mark.parametrize("token", ["a", "1", "ー", "'s", "は", "½", "\u0301", "\u200b"])
def test_tokens_with_a_letter_number_or_mark_are_not_punctuation(token: str) -> None:
    assert not is_punctuation(token)


def test_only_letters_and_unmarked_drop_joints_and_marks() -> None:
    assert only_letters("ста\u2011ре'п’яʼt-") == "старепяt"
    assert unmarked("„Hej!“") == "Hej"
    assert unmarked("п'ять-шість") == "п'ять-шість"
    assert unmarked("—") == ""

"""Tests of signs whose forms count as equal."""

from itertools import product

import pytest

from gecjury.corpus import signs
from gecjury.corpus.signs import as_text, as_tokens, has_forms, other_forms, special_lines


@pytest.mark.parametrize(
    "line",
    [
        "He said \"yes\", it's Ann's - of course...",
        "He said “yes”, it’s Ann’s – of course…",
        "He said „yes“, itʼs Ann´s — of course...",
        "He said »yes«, it`s Ann′s -- of course…",
        "He said ``yes'', it‘s Ann＇s ― of course...",
        "He said ״yes″，it׳s Ann's\u00ad ‒ of\u200b course…\ufeff".replace("，", "， "),
    ],
)
def test_every_form_of_a_sign_is_read_as_one(line: str) -> None:
    assert as_text(line) == "He said \"yes\", it's Ann's - of course..."


@pytest.mark.parametrize(
    ("line", "text", "tokens"),
    [
        # A long dash between words separates them for tokenisers, a hyphen does not.
        ("I came—he left", "I came--he left", "I came-he left"),
        ("I came--he left", "I came--he left", "I came-he left"),
        ("well-known well‑known well‐known", "well-known " * 2 + "well-known", None),
        ("3–4 3—4 3--4 −5", "3-4 3-4 3-4 -5", None),
        ('a " lone “ mark, 5″', 'a " lone " mark, 5"', None),
        ("A—", "A--", "A-"),
        ("10〜12 10～12", "10~12 10~12", None),
        ("我，是（学生）！", "我,是(学生)!", None),
    ],
)
def test_texts_and_tokens(line: str, text: str, tokens: str | None) -> None:
    assert as_text(line) == text
    assert as_tokens(line) == (tokens or text)


def test_punctuation_of_chinese_text_is_wide_except_in_numbers() -> None:
    for line in ("我,是(学生)! 3,000 10：30", "我，是（学生）！ 3，000 10:30"):
        assert as_text(line, wide=True) == "我，是（学生）！ 3,000 10:30"


def test_a_dash_in_place_of_a_comma_is_an_edit() -> None:
    assert as_tokens("a – b") != as_tokens("a , b")


def test_what_has_forms() -> None:
    assert not has_forms('It\'s a "well-known" text, (3,000) - yes...')
    assert all(map(has_forms, ("it’s", "a''", "a -- b", "zero\u200bwidth", "，")))


def test_forms_that_a_source_has_not() -> None:
    assert other_forms("it’s “a” -", 'it\'s "a" -') == {"apostrophes", "quotation marks"}
    assert other_forms("“a”", "no sign") == set()
    assert other_forms("“a”", "“b”") == set()


def test_quick_answers_about_plain_lines_are_those_of_the_expression() -> None:
    alphabet = "a -'`.\"\u2019"
    texts = ["".join(letters) for size in range(5) for letters in product(alphabet, repeat=size)]
    for text in texts:
        assert has_forms(text) == (signs._SPECIAL.search(text) is not None), text
        assert [*special_lines([text])] == [text] * (has_forms(text) or not text.isascii()), text

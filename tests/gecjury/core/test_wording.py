"""Display of foreign text: no characters that control a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.wording import (
    chopped,
    cut,
    letters,
    number,
    p_value,
    shortened,
    visible,
    width,
)


@pytest.mark.security
def test_control_characters_are_escaped() -> None:
    assert visible("a\x1b]0;title\x07b\r\n") == r"a\x1b]0;title\x07b\x0d\x0a"
    assert visible("txt.\u202eexe") == r"txt.\u202eexe"
    assert visible("\u2028\ud800\x9b") == r"\u2028\ud800\x9b"


def test_ordinary_text_is_unchanged() -> None:
    assert (
        visible("Ça va – наш 日本語 👍\u200d🏽 \u00a0x") == "Ça va – наш 日本語 👍\u200d🏽 \u00a0x"
    )
    assert visible("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"


@given(st.text())
def test_visible_text_is_one_line_and_encodable(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)


def test_column_widths_of_other_scripts() -> None:
    expected = {"abc": 3, "日本語": 6, "ｶﾅ": 2, "ＡＢ": 4, "наш": 3, "e\u0301": 1, "👩\u200d👧": 2}
    assert {each: width(each) for each in expected} == expected
    assert [letter for letter, _ in letters("が\u3099e\u0301👩\u200d👧")] == [
        "が\u3099", "e\u0301", "👩\u200d👧",
    ]  # fmt: skip


def test_text_is_cut_between_characters() -> None:
    assert cut("日本語の文", 10) == "日本語の文"
    assert cut("日本語の文", 9) == "日本語の…"
    assert cut("日本語の文", 8) == "日本語…"
    assert cut("cafe\u0301s", 5) == "cafe\u0301s"
    assert cut("cafe\u0301s", 4) == "caf…"
    assert cut("abcdef", 4) == "abc…"
    assert chopped("日本語の文", 5) == ["日本", "語の", "文"]
    assert chopped("日本", 1) == ["日", "本"]
    assert chopped("", 3) == []


@pytest.mark.security
@pytest.mark.parametrize("mark", ["\ufe0f", "\u200d", "\u0301"])
def test_texts_may_begin_with_a_mark(mark: str) -> None:
    for text in (mark, f"{mark}a", f"{mark}{mark}日"):
        assert "".join(letter for letter, _ in letters(text)) == text


@pytest.mark.security
def test_excessive_combining_marks_are_left_out() -> None:
    piled = "a" + "\u0301" * 10_000
    assert len(cut(piled, 20)) < 200
    assert len(shortened(piled + "b" * 200, 30)) < 300


def test_text_is_shortened_by_columns() -> None:
    assert shortened("a" * 121) == "a" * 100 + "…" + "a" * 19
    assert shortened("日" * 60) == "日" * 60
    assert shortened("日" * 61) == "日" * 50 + "…" + "日" * 9
    assert shortened("x" * 30 + "e\u0301" * 40, 40).endswith("…" + "e\u0301" * 19)


ANY = st.text(
    st.one_of(st.characters(), st.sampled_from("日ｱＡが\u3099e\u0301\u200d\ufe0f👩🏽🇯🇵שع ❤…"))
)


@given(ANY, st.integers(1, 60))
def test_cut_text_is_never_wider_than_allowed(text: str, columns: int) -> None:
    shown = visible(text)
    short = cut(shown, columns)
    assert width(short) <= columns
    assert short == shown or (short[-1] == "…" and shown.startswith(short[:-1]))
    assert "".join(letter for letter, _ in letters(shown)) == shown
    assert "".join(chopped(shown, columns)) == shown
    assert all(width(line) <= max(columns, 2) for line in chopped(shown, columns))


@given(st.text(st.characters(max_codepoint=126, min_codepoint=32)), st.integers(21, 60))
def test_width_of_ascii_is_its_number_of_characters(text: str, most: int) -> None:
    assert width(text) == len(text)
    assert cut(text, most) == (text if len(text) <= most else text[: most - 1] + "…")
    middle = text if len(text) <= most else f"{text[: most - 20]}…{text[-19:]}"
    assert shortened(text, most) == middle


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12345, "0.123"), (-0.5, "−0.500"), (-0.0001, "0.000"), (float("nan"), "–"),
     (None, "–"), (12345, "12\u202f345"), (-3, "−3")],
)  # fmt: skip
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_small_p_values_have_a_bound() -> None:
    assert [p_value(p) for p in (0.0, 0.0004, 0.0005, 0.21)] == [
        "p < 0.001", "p < 0.001", "p = 0.001", "p = 0.210",
    ]  # fmt: skip
    assert p_value(0.0004, 4) == "p = 0.0004"

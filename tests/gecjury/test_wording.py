"""What is shown of foreign text: nothing that a terminal would act on."""

from hypothesis import given
from hypothesis import strategies as st

from gecjury.wording import visible


def test_what_acts_is_shown() -> None:
    assert visible("a\x1b]0;title\x07b\r\n") == r"a\x1b]0;title\x07b\x0d\x0a"
    assert visible("txt.\u202eexe") == r"txt.\u202eexe"
    assert visible("\u2028\ud800\x9b") == r"\u2028\ud800\x9b"


def test_text_stays() -> None:
    assert (
        visible("Ça va – наш 日本語 👍\u200d🏽 \u00a0x") == "Ça va – наш 日本語 👍\u200d🏽 \u00a0x"
    )
    assert visible("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"


@given(st.text())
def test_one_line_and_encodable(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)

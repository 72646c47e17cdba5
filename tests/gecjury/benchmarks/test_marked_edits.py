"""Marks in running text as edits of tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.marked_edits import Mark, token_edits
from gecjury.corpus.edits import Edit, apply_edits


def test_a_mark_with_blanks_is_an_edit_of_tokens() -> None:
    assert token_edits(
        "They have to deal .", "They must deal .", [Mark(4, " have to", " must")]
    ) == [(Edit(1, 3, "must"), [0])]


def test_a_mark_inside_a_token_is_extended_to_the_token() -> None:
    assert token_edits("I has it", "I have it", [Mark(3, "s", "ve")]) == [
        (Edit(1, 2, "have"), [0]),
    ]


def test_marks_without_a_token_boundary_between_them_are_one_edit() -> None:
    marks = [Mark(2, "c", "X"), Mark(3, "d", "Y")]
    assert token_edits("abcdef g", "abXYef g", marks) == [(Edit(0, 1, "abXYef"), [0, 1])]


def test_blanks_are_an_edit_only_if_they_join_tokens() -> None:
    assert token_edits("some thing", "something", [Mark(4, " ", "")]) == [
        (Edit(0, 2, "something"), [0]),
    ]
    # Both sides have the same tokens, so there is no edit.
    assert token_edits("a , b", "a , b", [Mark(1, " ", "")]) == []


def test_insertions_between_tokens_stay_insertions() -> None:
    assert token_edits("I cat .", "I saw a cat !", [Mark(1, "", " saw a"), Mark(4, ".", "!")]) == [
        (Edit(1, 1, "saw a"), [0]),
        (Edit(2, 3, "!"), [1]),
    ]


def test_marks_of_another_text_give_none() -> None:
    assert token_edits("a b", "a c", [Mark(1, "x", "c")]) is None
    assert token_edits("a b", "a c", []) is None
    assert token_edits("a b", "a c", [Mark(1, "b", "d")]) is None
    assert token_edits("a b c", "a x c", [Mark(2, "c", "c"), Mark(1, "b", "x")]) is None


@given(st.lists(st.tuples(st.text("ab ", max_size=4), st.text("xy ", max_size=4)), max_size=5))
def test_applying_the_edits_gives_the_correction(parts: list[tuple[str, str]]) -> None:
    """For any marks between unchanged words, applying the edits gives the tokens of the target."""
    source = target = ""
    marks = []
    for old, new in parts:
        source, target = f"{source} uu", f"{target} uu"
        marks.append(Mark(len("".join(source.split())), old, new))
        source, target = source + old, target + new
    found = token_edits(source, target, marks)
    assert found is not None
    assert apply_edits(source.split(), [edit for edit, _ in found]) == target.split()

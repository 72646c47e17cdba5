"""Marks in running text as edits of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.marked_edits import EditMark, token_edits
from gecjury.corpus.edits import Edit, apply_edits


@pytest.mark.parametrize(
    ("source", "target", "marks", "edits"),
    [
        (
            "They have to deal .",
            "They must deal .",
            [EditMark(4, " have to", " must")],
            [(Edit(1, 3, "must"), [0])],
        ),
        # A mark inside a token is extended to the token.
        ("I has it", "I have it", [EditMark(3, "s", "ve")], [(Edit(1, 2, "have"), [0])]),
        # Marks without a token boundary between them are one edit.
        (
            "abcdef g",
            "abXYef g",
            [EditMark(2, "c", "X"), EditMark(3, "d", "Y")],
            [(Edit(0, 1, "abXYef"), [0, 1])],
        ),
        # A space is an edit only if tokens are joined.
        ("some thing", "something", [EditMark(4, " ", "")], [(Edit(0, 2, "something"), [0])]),
        ("a , b", "a , b", [EditMark(1, " ", "")], []),
        # Insertions between tokens stay insertions.
        (
            "I cat .",
            "I saw a cat !",
            [EditMark(1, "", " saw a"), EditMark(4, ".", "!")],
            [(Edit(1, 1, "saw a"), [0]), (Edit(2, 3, "!"), [1])],
        ),
        # Marks of another text give none.
        ("a b", "a c", [EditMark(1, "x", "c")], None),
        ("a b", "a c", [], None),
        ("a b", "a c", [EditMark(1, "b", "d")], None),
        ("a b c", "a x c", [EditMark(2, "c", "c"), EditMark(1, "b", "x")], None),
    ],
)
def test_marks_as_edits_of_tokens(
    source: str, target: str, marks: list[EditMark], edits: list[tuple[Edit, list[int]]] | None
) -> None:
    assert token_edits(source, target, marks) == edits


@given(st.lists(st.tuples(st.text("ab ", max_size=4), st.text("xy ", max_size=4)), max_size=5))
def test_applying_the_edits_gives_the_correction(parts: list[tuple[str, str]]) -> None:
    """For any marks between unchanged words, applying the edits gives the tokens of the target."""
    source = target = ""
    marks = []
    for old, new in parts:
        source, target = f"{source} uu", f"{target} uu"
        marks.append(EditMark(len("".join(source.split())), old, new))
        source, target = source + old, target + new
    found = token_edits(source, target, marks)
    assert found is not None
    assert apply_edits(source.split(), [edit for edit, _ in found]) == target.split()

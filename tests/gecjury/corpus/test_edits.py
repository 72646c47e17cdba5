"""Applying edits to tokens."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import InputError
from gecjury.corpus.edits import (
    Edit,
    apply_edits,
    counted_edits,
    differing_spans,
    keeps_words,
    marked_edits,
)

TOKENS = ["I", "has", "two", "cat"]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], "I has two cat"),
        ([Edit(1, 2, "have")], "I have two cat"),
        ([Edit(3, 4, "cats"), Edit(1, 2, "have")], "I have two cats"),  # any order
        ([Edit(4, 4, ".")], "I has two cat ."),
        ([Edit(0, 0, "Now")], "Now I has two cat"),
        ([Edit(2, 3, "")], "I has cat"),
        ([Edit(0, 4, "")], ""),
        ([Edit(1, 3, "have got two")], "I have got two cat"),
        ([Edit(2, 2, "only"), Edit(2, 3, "three")], "I has only three cat"),
        ([Edit(2, 3, "three"), Edit(2, 2, "only")], "I has only three cat"),
        ([Edit(2, 2, "one"), Edit(2, 2, "or")], "I has one or two cat"),
        ([Edit(0, 1, "You"), Edit(1, 2, "have")], "You have two cat"),
    ],
)
def test_apply(edits: list[Edit], expected: str) -> None:
    assert apply_edits(TOKENS, edits) == expected.split()


@pytest.mark.parametrize("edit", [Edit(-1, 0, "x"), Edit(3, 5, "x"), Edit(2, 1, "x")])
def test_a_span_outside_the_sentence_is_refused(edit: Edit) -> None:
    with pytest.raises(InputError, match=r"does not fit a sentence of 4 tokens: expected 0 <="):
        apply_edits(TOKENS, [edit])


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(InputError, match=r"edit 2 3 'y' overlaps .* ends at 3: remove one"):
        apply_edits(TOKENS, [Edit(1, 3, "x"), Edit(2, 3, "y")])
    with pytest.raises(InputError, match="overlaps"):
        apply_edits(TOKENS, [Edit(1, 2, "x"), Edit(1, 2, "x")])


@given(st.lists(st.sampled_from("abc"), max_size=6), st.data())
def test_cutting_a_sentence_anywhere_and_putting_it_back(
    tokens: list[str], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(tokens)))) | {0, len(tokens)})
    spans = list(itertools.pairwise(cuts))
    same = [Edit(start, end, " ".join(tokens[start:end])) for start, end in spans]
    assert apply_edits(tokens, same) == tokens
    assert apply_edits(tokens, [Edit(start, end, "x y") for start, end in spans]) == [
        "x",
        "y",
    ] * len(spans)


def test_edits_compare_and_sort_by_span() -> None:
    edits = [Edit(2, 3, "a"), Edit(0, 1, "b"), Edit(0, 0, "c")]
    assert sorted(edits) == [edits[2], edits[1], edits[0]]
    assert len({Edit(0, 1, "b"), Edit(0, 1, "b", "R:VERB")}) == 2
    assert Edit(0, 1, " in  front ").tokens == ["in", "front"]


def test_which_edits_count() -> None:
    # noop is not an edit; UNK and Um have no correction to compare.
    edits = [Edit(0, 1, "", kind) for kind in ("noop", "UNK", "Um", "R:NOUN", "")]

    def types(**rules: bool) -> list[str]:
        return [edit.type for edit in counted_edits(edits, **rules)]

    assert types() == ["R:NOUN", ""]
    assert types(detected=True) == ["UNK", "Um", "R:NOUN", ""]


def test_words_left_after_edits() -> None:
    assert keeps_words(["a", "b"], [Edit(0, 1, "")])
    assert keeps_words(["a"], [Edit(0, 1, ""), Edit(1, 1, "x")])
    assert not keeps_words(["a", "b"], [Edit(0, 1, ""), Edit(1, 2, "")])
    assert not keeps_words([], [])


def test_edits_are_shown_in_brackets() -> None:
    edits = [Edit(3, 3, "z"), Edit(1, 2, "B"), Edit(3, 3, "y"), Edit(2, 3, ""), Edit(4, 4, "")]
    assert marked_edits(list("abcd"), edits) == "a [b→B] [c→] [→z] [→y] d"
    # an edit inside another does not bring its tokens back
    assert marked_edits(list("abcd"), [Edit(0, 3, "x"), Edit(1, 2, "B")]) == "[a b c→x] [b→B] d"


def test_differing_spans_give_the_correction() -> None:
    old, new = ["He", "go", "to", "the", "home", "."], ["He", "goes", "home", "now", "."]
    edits = differing_spans(old, new)
    assert marked_edits(old, edits) == "He [go to the→goes] home [→now] ."
    assert apply_edits(old, edits) == new

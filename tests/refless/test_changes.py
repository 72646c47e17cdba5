"""Tokens changed: hand-computed distances, scores, registration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.registry import load
from refless.changes import token_distance

TOKENS = st.lists(st.sampled_from("abc"), max_size=7)


def plain(first: list[str], second: list[str]) -> int:
    """The recursion of the definition."""
    if not first or not second:
        return len(first) + len(second)
    replaced = plain(first[1:], second[1:]) + (first[0] != second[0])
    return min(replaced, plain(first[1:], second) + 1, plain(first, second[1:]) + 1)


def test_by_hand() -> None:
    # He go to school . → He went to the school . : go→went, +the: 2.
    table = load("changes").score(
        ["He go to school .", "a b"],
        {"one": ["He went to the school .", "b a"], "same": ["He go  to school .", "a b"]},
    )
    # b a is two replacements away from a b. Spacing is no change.
    assert table.sentences.tolist() == [[2.0, 2.0], [0.0, 0.0]]
    assert list(table.totals) == [2.0, 0.0]
    assert not load("changes").directed
    assert load("gleu").directed


@given(TOKENS, TOKENS)
def test_equals_the_definition(first: list[str], second: list[str]) -> None:
    assert token_distance(first, second) == plain(first, second)


@given(TOKENS, TOKENS)
def test_symmetric_and_zero_only_for_equals(first: list[str], second: list[str]) -> None:
    assert token_distance(first, second) == token_distance(second, first)
    assert (token_distance(first, second) == 0) == (first == second)


def test_empty() -> None:
    assert token_distance([], []) == 0
    assert token_distance(["a"], []) == pytest.approx(1)

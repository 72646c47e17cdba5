"""Tokens changed: hand-computed distances, the definition, registration."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from gecjury.scoring.registry import load

TOKENS = st.lists(st.sampled_from(["a", "b", "bc"]), max_size=7).map(tuple)


@cache
def distance(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    """Compute the distance by the recursive definition."""
    if not first or not second:
        return len(first) + len(second)
    replaced = distance(first[1:], second[1:]) + (first[0] != second[0])
    return min(replaced, distance(first[1:], second) + 1, distance(first, second[1:]) + 1)


def test_by_hand() -> None:
    # He go to school . → He went to the school . : go→went, +the: 2.
    table = load("changes").score(
        ["He go to school .", "a b"],
        {"one": ["He went to the school .", "b a"], "same": ["He go  to school .", "a b"]},
    )
    # b a is two replacements away from a b. Spacing is not a change.
    assert table.sentences.tolist() == [[2.0, 2.0], [0.0, 0.0]]
    assert list(table.totals) == [2.0, 0.0]
    assert not load("changes").directed
    assert load("gleu").directed


@given(TOKENS, TOKENS)
def test_equals_the_definition(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    table = load("changes").score([" ".join(first)], {"x": [" ".join(second)]})
    assert table.sentences[0, 0] == distance(first, second)

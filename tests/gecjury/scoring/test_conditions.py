"""Conditions on scores: parsing, errors and evaluation; missing scores decide nothing."""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import OptionError
from gecjury.scoring.conditions import parse_condition

pytestmark = pytest.mark.security

SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
VALUES = (None, -1.0, 0.0, 0.5, 2.0)
ROWS = [(a, b) for a in VALUES for b in VALUES]


def columns() -> dict[str, Any]:
    cells = np.array([[np.nan if v is None else v for v in row] for row in ROWS])
    return {"a": cells[:, 0], "b-c.d": cells[:, 1]}


def trees() -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b-c.d"])
    leaf = st.tuples(st.sampled_from(list(SIGNS)), names, st.sampled_from([-1.0, 0.25, 0.5, 2.0]))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
        ),
        max_leaves=8,
    )


def written(tree: Any) -> str:
    if tree[0] == "not":
        return f"not ({written(tree[1])})"
    if tree[0] in ("and", "or"):
        return f" {tree[0]} ".join(f"({written(part)})" for part in tree[1])
    return f"{tree[1]} {tree[0]} {tree[2]}"


def truth(tree: Any, row: dict[str, float | None]) -> bool | None:
    """Evaluate a condition by the definition of three-valued logic."""
    if tree[0] == "not":
        inner = truth(tree[1], row)
        return None if inner is None else not inner
    if tree[0] in ("and", "or"):
        values = [truth(part, row) for part in tree[1]]
        decides = tree[0] == "or"
        if decides in values:
            return decides
        return None if None in values else not decides
    value = row[tree[1]]
    return None if value is None else bool(SIGNS[tree[0]](value, tree[2]))


@given(trees())
def test_conditions_follow_three_valued_logic(tree: Any) -> None:
    condition = parse_condition(written(tree))
    actual = condition.holds(columns()).tolist()
    expected = [truth(tree, {"a": a, "b-c.d": b}) is True for a, b in ROWS]
    assert actual == expected
    together = np.logical_and.reduce([part.holds(columns()) for part in condition.parts])
    assert together.tolist() == actual


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(OptionError):
        assert parse_condition(text).text == text.strip()


def test_parts_keep_their_text() -> None:
    condition = parse_condition(" some >= .8 and `green:beta=1` <= 6 and not (a > 1 or b < -2e-1) ")
    assert [part.text for part in condition.parts] == [
        "some >= .8",
        "`green:beta=1` <= 6",
        "not (a > 1 or b < -2e-1)",
    ]
    assert condition.names == ("some", "green:beta=1", "a", "b")
    assert len(parse_condition("a > 1 or b > 1").parts) == 1
    for text in ("(a > 1 and b > 1)", "not (a > 1 and b > 1)"):
        assert [part.text for part in parse_condition(text).parts] == [text]
    either = parse_condition("(a > 1) or `x or y` < 2 and b < 1\nor (c > 1 or c < 0)")
    assert [part.text for part in either.alternatives] == [
        "(a > 1)",
        "`x or y` < 2 and b < 1",
        "(c > 1 or c < 0)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "column 1: a score's name or a number is missing"),
        ("a", "column 2: a comparison"),
        ("a = 1", "column 3: .*equality is written =="),
        ("a < 1 < 2", "column 7: a second comparison"),
        ("(a < 1", r"column 1: '\(' was never closed"),
        ("1 < 2", "two numbers are compared"),
        ("a > 1 && b > 1", "column 7: .*write and, or, not"),
        ("__import__('os')", "column 12: .*cannot be read"),
        ("a < 1 # b < 1", "column 7: '# b < 1' cannot be read"),
        ("a is b", "column 3: .*cannot be read"),
        ("(" * 300 + "a < 1" + ")" * 300, "too many nested parentheses"),
        ("not " * 2_400 + "a < 1", "nested deeper"),
        ("a" * 20_000, "at most 10000"),
    ],
)
def test_mistakes_are_reported_with_their_column(text: str, expected: str) -> None:
    with pytest.raises(OptionError, match=expected):
        parse_condition(text)


def test_unknown_names_are_reported_with_similar_ones() -> None:
    condition = parse_condition("green > 1 and chnges < 2")
    condition.check(["green", "chnges"])
    with pytest.raises(OptionError, match=r"column 15.*'chnges'.*did you mean changes"):
        condition.check(["green", "changes"])

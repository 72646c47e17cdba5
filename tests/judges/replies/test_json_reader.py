"""The tolerant reader of JSON: objects inside each other, however deep."""

from __future__ import annotations

import pytest

from gecjury.judges.replies.json_reader import read_objects

pytestmark = pytest.mark.security


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 20_000,
        '{"a":[{"b":' * 10_000,
        '{"a":' * 20_000 + "1" + "}" * 19_999,
    ],
)
def test_objects_inside_each_other_are_read_once_and_end_with_the_text(text: str) -> None:
    # Read again from every brace, each of these exceeds what a text may cost (`TooTangled`).
    objects, cut = read_objects(text)
    assert cut
    assert all(objects)


@pytest.mark.parametrize("levels", [20, 21, 3_000])
def test_of_objects_nested_too_deeply_the_innermost_twenty_are_read(levels: int) -> None:
    objects, cut = read_objects('{"a":' * levels + "7" + "}" * levels)
    assert (len(objects), cut) == (1, False)
    value: object = objects[0]
    for _ in range(20):
        assert isinstance(value, dict)
        (value,) = value["a"]
    assert value == 7


def test_an_object_inside_one_that_fails_is_found() -> None:
    assert read_objects('{"a": {"score": 3}, ]} {"b": 1') == ([{"score": [3]}], True)


def test_lists_keep_their_objects() -> None:
    assert read_objects('[{"a": [1, {"b": []}, "x"]}]')[0] == [{"a": [[1, {"b": [[]]}, "x"]]}]

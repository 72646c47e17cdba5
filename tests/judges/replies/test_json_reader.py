"""The tolerant JSON reader: nested objects of any depth."""

from __future__ import annotations

import pytest

from gecjury.judges.replies.json_reader import TooTangled, read_objects

pytestmark = pytest.mark.security


@pytest.mark.parametrize("text", ['{"a":' * 20_000, '{"a":[{"b":' * 10_000])
def test_unclosed_nested_objects_stay_within_the_work_limit(text: str) -> None:
    # Reading each of these to its end from every brace would exceed it (`TooTangled`).
    objects, cut = read_objects(text)
    assert cut
    assert all(objects)


def test_a_large_reply_of_unclosed_objects_is_given_up_early() -> None:
    # Every brace would be read with the nine after it, which takes five seconds.
    with pytest.raises(TooTangled):
        read_objects('{"a":' * 140_000)


@pytest.mark.parametrize("levels", [10, 11, 3_000])
def test_only_the_innermost_ten_levels_of_nested_objects_are_read(levels: int) -> None:
    objects, cut = read_objects('{"a":' * levels + "7" + "}" * levels)
    assert (len(objects), cut) == (1, False)
    value: object = objects[0]
    for _ in range(10):
        assert isinstance(value, dict)
        (value,) = value["a"]
    assert value == 7


def test_an_object_inside_one_that_fails_is_found() -> None:
    assert read_objects('{"a": {"score": 3}, ]} {"b": 1') == ([{"score": [3]}], True)


def test_lists_keep_their_objects() -> None:
    assert read_objects('[{"a": [1, {"b": []}, "x"]}]')[0] == [{"a": [[1, {"b": [[]]}, "x"]]}]

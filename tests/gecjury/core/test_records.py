"""Records are read back as the dataclasses from which they were written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from gecjury.core.errors import InputError
from gecjury.core.records import from_record, read_record

pytestmark = pytest.mark.security


@dataclass(frozen=True)
class Inner:
    n: int
    word: str = "none"


@dataclass(frozen=True)
class Outer:
    kind: Literal["a", "b"]
    share: float
    inner: Inner
    several: tuple[Inner, ...] = ()
    by_name: Mapping[str, Sequence[float]] | None = None
    flag: bool = False
    pair: tuple[str, float] = ("", 0.0)
    anything: Any = None


FULL = Outer(
    "b", 0.5, Inner(1), (Inner(2, "x"),), {"y": [1.0, 2.5]}, True, ("p", 0.5), {"z": [None]}
)


def test_records_survive_a_round_trip() -> None:
    assert from_record(Outer, json.loads(json.dumps(asdict(FULL)))) == FULL
    assert from_record(Outer, {"kind": "a", "share": 1, "inner": {"n": 0}, "later": 3}) == Outer(
        "a", 1.0, Inner(0)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "c"}, "kind is 'c'; expected 'a' or 'b'"),
        ({"kind": ["a"]}, r"kind is \['a'\]; expected 'a' or 'b'"),
        ({"share": "x"}, "share is 'x'; expected a number"),
        ({"share": True}, "share is True; expected a number"),
        ({"share": 10**400}, "share is 1000.*; expected a number"),
        ({"inner": {"n": 1.5}}, r"inner\.n is 1\.5; expected a whole number"),
        ({"inner": {"n": True}}, r"inner\.n is True; expected a whole number"),
        ({"inner": {}}, r"inner\.n is missing"),
        ({"inner": [1]}, r"inner is \[1\]; expected an object"),
        ({"several": {"n": 1}}, "several is .*; expected a list"),
        ({"several": [{"n": 1}, {"n": 1, "word": 2}]}, r"several\[1\]\.word is 2; expected a text"),
        ({"by_name": {"y": [None]}}, "by_name is .*; expected an object or null"),
        ({"pair": ["p", 1, 2]}, "pair is .*; expected a list"),
        ({"pair": ["p", "q"]}, r"pair\[1\] is 'q'; expected a number"),
        ({"flag": 1}, "flag is 1; expected true or false"),
    ],
)
def test_wrong_types_are_refused_with_path_and_value(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_record(Outer, json.loads(json.dumps(asdict(FULL))) | change)


def test_the_error_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"n": "1"}', encoding="utf-8")
    message = r"x\.json: is not a pair \(n is '1'; expected a whole number\): delete it"
    with pytest.raises(InputError, match=message):
        read_record(Inner, tmp_path / "x.json", "a pair", "delete it")


def test_objects_are_read_as_they_are() -> None:
    record = {"a": [1, {"b": None}], "c": True}
    assert from_record(dict[str, object], record) == record
    with pytest.raises(ValueError, match="is \\[1\\]; expected an object"):
        from_record(dict[str, object], [1])

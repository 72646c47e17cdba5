"""The plan: every row is in exactly one shard, and plain data survives a round trip."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.records import from_record
from gecjury.corpus.languages.language import Language
from gecjury.datasets.shards import InputFile, Kept, Shard, ShardJob, ShardSummary, Total, shards_of
from gecjury.scoring.signature import Signature


@given(st.lists(st.integers(0, 50), max_size=6), st.integers(1, 20))
def test_every_row_is_in_exactly_one_shard(sizes: list[int], shard_rows: int) -> None:
    files = [InputFile(f"/f{n}", f"f{n}", size) for n, size in enumerate(sizes)]
    shards = list(shards_of(files, shard_rows))
    rows = [(s.file, row) for s in shards for row in range(s.start, s.stop)]
    assert rows == [(n, row) for n, size in enumerate(sizes) for row in range(size)]
    assert [s.number for s in shards] == list(range(len(shards)))
    assert all(0 < s.stop - s.start <= shard_rows for s in shards)


def sent(kind: type[Any], value: Any) -> Any:
    """Return a value as another process gets it."""
    return from_record(kind, json.loads(json.dumps(asdict(value))))


@pytest.mark.security
def test_all_three_survive_a_round_trip_as_text() -> None:
    shard = Shard(3, 1, 40, 60)
    assert sent(Shard, shard) == shard
    assert shard.name == "part-000003"
    file = InputFile("/a/b.jsonl", "b.jsonl", 60, 900, 17, "ab")
    job = ShardJob(
        "id", "s", {"x": "h"}, "r", folder="/out", metrics=("green:n=2",), labels=("green",),
        signatures=(Signature("green", "refbased", {"n": 2}),), files=(file,), shard_rows=40,
        keep="green > .5", runtime={"device": "cpu"},
        language=Language("sv"),
    )  # fmt: skip
    assert sent(ShardJob, job) == job
    summary = ShardSummary(
        3, 20, 1, {"green": {"source is null": 1}}, {"g": Total({"x": [1.5]}), "m": Total()},
        Kept(4, (3, 2), (3, 9)), ("note",), 1.25,
    )  # fmt: skip
    assert sent(ShardSummary, summary) == summary

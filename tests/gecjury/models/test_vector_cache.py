"""The disk cache of vectors: vectors are read back, and the size limit is kept."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from pathlib import Path

import numpy as np

from gecjury.core.caches import VectorCache


def vector(value: float) -> np.ndarray:
    return np.full(4, value, dtype=np.float32)  # 16 bytes


def test_vectors_are_read_back_in_a_later_run(tmp_path: Path) -> None:
    first = VectorCache(tmp_path / "deep" / "v.sqlite")
    first.write({b"a": vector(0.1), b"b": vector(2)})
    again = VectorCache(tmp_path / "deep" / "v.sqlite").read([b"a", b"x", b"b"], 4)
    assert set(again) == {b"a", b"b"}
    np.testing.assert_array_equal(again[b"a"], vector(0.1))


def test_many_keys_are_read_in_one_call(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.sqlite")
    cache.write({bytes([i // 256, i % 256]): vector(i) for i in range(1234)})
    vectors = cache.read([bytes([i // 256, i % 256]) for i in range(1234)], 4)
    assert [vectors[k][0] for k in sorted(vectors)] == list(range(1234))


def test_least_recently_used_goes_first_and_the_file_stays_small(tmp_path: Path) -> None:
    # A vector of 4,000 bytes needs one or two pages of 4,096 bytes.
    days = itertools.count(0, 86_400)
    path, limit = tmp_path / "v.sqlite", 24 * 4096
    cache = VectorCache(path)
    cache.limit = limit
    cache.clock = lambda: float(next(days))
    for number in range(40):
        cache.write({b"%d" % number: np.full(1000, number, dtype=np.float32)})
        assert set(cache.read([b"0"], 1000)) == {b"0"}
        assert path.stat().st_size <= limit
    kept = cache.read([b"%d" % number for number in range(40)], 1000)
    assert {b"0", b"39"} <= set(kept)
    assert b"1" not in kept
    assert len(kept) >= 8


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(b"this is no database, only text that is long enough to be read" * 50)
    cache = VectorCache(path)
    cache.write({b"a": vector(1)})
    assert set(cache.read([b"a"], 4)) == {b"a"}


def test_an_unwritable_folder_raises_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = VectorCache(tmp_path / "file" / "v.sqlite")
    cache.write({b"a": vector(1)})
    assert cache.trouble
    assert cache.read([b"a"], 4) == {}


def test_vectors_of_another_size_count_as_missing(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.sqlite")
    cache.write({b"a": vector(1), b"b": np.ones(5, dtype=np.float32)})
    store = sqlite3.connect(tmp_path / "v.sqlite")
    with contextlib.closing(store), store:
        row = store.execute("SELECT scope, used FROM entries").fetchone()
        for key, value in ((b"c", b"abc"), (b"d", "text of 16 bytes"), (b"e", 7)):
            store.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (row[0], key, row[1], value))
    assert set(cache.read([b"a", b"b", b"c", b"d", b"e"], 4)) == {b"a"}

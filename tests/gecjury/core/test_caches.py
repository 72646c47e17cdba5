from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gecjury.core.caches import DiskCache, text_key

PARTS = {"tagger": "one", "errant": "3.0.2"}


def test_only_stored_values_are_returned(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache.sqlite"
    cache = DiskCache(path, PARTS)
    assert cache.get(["a"]) == {}
    assert not path.exists()
    values = {f"key {i}": f"välue {i}" for i in range(1201)}
    cache.put(values)
    assert DiskCache(path, dict(reversed(PARTS.items()))).get([*values, "other"]) == values
    cache.put({"key 0": "new"})
    assert cache.get(["key 0"]) == {"key 0": "new"}


def test_the_cache_stays_within_its_limit_and_drops_the_oldest(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    limit = 200_000
    cache = DiskCache(path, PARTS)
    cache.limit = limit
    for batch in range(10):
        cache.put({f"{batch} {i}": "x" * 1000 for i in range(50)})
        assert path.stat().st_size <= limit
    kept = cache.get([f"{batch} {i}" for batch in range(10) for i in range(50)])
    assert "0 0" not in kept
    assert "9 49" in kept


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"not a database" * 100)
    cache = DiskCache(path, PARTS)
    assert cache.get(["key"]) == {}
    cache.put({"key": "value"})
    assert cache.get(["key"]) == {"key": "value"}
    assert cache.trouble == ""


def test_a_file_damaged_inside_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    cache = DiskCache(path, PARTS)
    cache.put({f"key {i}": "x" * 500 for i in range(200)})
    data = bytearray(path.read_bytes())
    # The file header stays intact, and all table pages are overwritten.
    data[4096:] = b"\xfe" * (len(data) - 4096)
    path.write_bytes(data)
    assert cache.get(["key 1"]) == {}
    cache.put({"key 1": "value"})
    assert cache.get(["key 1"]) == {"key 1": "value"}
    assert cache.trouble == ""


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [("value", b"\xff", False), ("value", "text", False), ("value", 5, False), ("used", "?", True)],
)
def test_values_of_other_types_count_as_missing(
    tmp_path: Path, column: str, value: object, found: bool
) -> None:
    path = tmp_path / "cache.sqlite"
    cache = DiskCache(path, PARTS)
    cache.put({"key": "value", "other": "good"})
    store = sqlite3.connect(path)
    with contextlib.closing(store), store:
        store.execute(f"UPDATE entries SET {column} = ? WHERE key = ?", (value, b"key"))
    assert cache.get(["key", "other"]) == ({"key": "value"} if found else {}) | {"other": "good"}
    cache.put({"key": "new"})
    assert cache.get(["key"]) == {"key": "new"}


def test_a_file_in_the_old_format_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as store:
        store.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE scopes (id INTEGER PRIMARY KEY, parts TEXT UNIQUE NOT NULL);"
            "CREATE TABLE entries (scope INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
            " PRIMARY KEY (scope, key));"
            "CREATE TABLE vectors (key BLOB PRIMARY KEY, used REAL NOT NULL,"
            " vector BLOB NOT NULL) WITHOUT ROWID;"
        )
        store.execute("INSERT INTO scopes (parts) VALUES ('{}')")
        store.execute("INSERT INTO entries VALUES (1, 'key', ?)", ("x" * 100_000,))
        store.commit()
    cache = DiskCache(path, {})
    assert cache.get(["key"]) == {}
    cache.put({"key": "value"})
    assert cache.get(["key"]) == {"key": "value"}
    assert cache.trouble == ""
    assert path.stat().st_size < 50_000


def test_values_are_returned_while_the_file_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    old = DiskCache(path, PARTS)
    old.clock = lambda: 0.0
    old.put({"key": "value"})
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA user_version")
        other.execute("BEGIN")
        other.execute("SELECT * FROM entries").fetchall()
        # A reading process blocks writers but not other readers.
        assert DiskCache(path, PARTS).get(["key"]) == {"key": "value"}


def test_an_unusable_folder_raises_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "cache.sqlite", PARTS)
    cache.put({"key": "value"})
    assert cache.trouble
    assert cache.get(["key"]) == {}


def test_several_processes_can_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    program = (
        "import sys; from pathlib import Path; from gecjury.core.caches import DiskCache\n"
        "for i in range(30):\n"
        "    DiskCache(Path(sys.argv[1]), {}).put({f'{sys.argv[2]} {i}': 'x' * 100})\n"
    )
    root = Path(__file__).resolve().parents[3]
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), name], cwd=root)
        for name in "abc"
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    keys = [f"{name} {i}" for name in "abc" for i in range(30)]
    assert set(DiskCache(path, {}).get(keys)) == set(keys)


def test_different_texts_have_different_keys() -> None:
    # Without their lengths, "ab" + "c" and "a" + "bc" would have the same key.
    assert text_key("ab", "c") != text_key("a", "bc")
    assert text_key("ab", "c") == text_key("ab", "c")
    assert len(text_key("\ud800")) == 32

"""Disk caches in SQLite: texts by key and scope, and vectors by key.

Both use one kind of store: byte values by scope and key. The scope contains everything that
determines a value besides its key (program versions, a model's name). The file lists it as readable
JSON; values of other scopes are never returned. A broken cache costs time, never a result: a
damaged file, or one of another format, is replaced, and one that cannot be read or written counts
as empty.

diskcache is not suitable: it reads keys one by one, where scorers ask for thousands at once, and it
unpickles the contents of its file.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np

from gecjury.core.arrays import Float32Array

_T = TypeVar("_T")

_FORMAT = 2  # SQLite's user_version; files of format 0 had a schema for each kind of value
_SCHEMA = (
    "CREATE TABLE scopes (id INTEGER PRIMARY KEY, parts TEXT UNIQUE NOT NULL)",
    "CREATE TABLE entries (scope INTEGER NOT NULL, key BLOB NOT NULL, used REAL NOT NULL,"
    " value BLOB NOT NULL, PRIMARY KEY (scope, key))",
)
_AT_ONCE = 500  # keys in one query; SQLite accepts at least 999
_WAIT = 30.0  # seconds to wait for another process that writes
_RECENT = 3600.0  # seconds before a use is recorded again, so that reading seldom writes


class _AnotherFormat(sqlite3.DatabaseError):
    """The file has the format of another version."""


def text_key(*texts: str) -> str:
    """Return a key for texts: 32 hexadecimal digits over their lengths and bytes."""
    digest = blake2b(digest_size=16)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


class _CacheFile:
    """Bytes by key within a scope, shared by all processes that open the same file.

    The file is created when something is first stored.

    Args:
        parts: everything besides the key that determines a value.

    Attributes:
        limit: file size above which the least recently used values are dropped, in bytes.
        clock: seconds that only grow.
        trouble: why the file could not be used; empty while it works. After a failure the file is
            not touched again.
    """

    limit = 512 * 2**20
    clock: Callable[[], float] = staticmethod(time.time)

    def __init__(self, path: Path, parts: Mapping[str, str]) -> None:
        self.path = path
        self.parts = json.dumps(dict(parts), sort_keys=True, ensure_ascii=False)
        self.trouble = ""

    def load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are stored; they count as used now."""

        def work(store: sqlite3.Connection) -> dict[bytes, bytes]:
            stored: dict[bytes, bytes] = {}
            row = store.execute("SELECT id FROM scopes WHERE parts = ?", (self.parts,)).fetchone()
            if row is None:
                return stored
            now, old = self.clock(), []
            for begin in range(0, len(keys), _AT_ONCE):
                batch = keys[begin : begin + _AT_ONCE]
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, value, used FROM entries WHERE scope = ? AND key IN ({marks})"
                for key, value, used in store.execute(query, (row[0], *batch)):
                    # A file that was tampered with may contain anything anywhere.
                    if not isinstance(value, bytes):
                        continue
                    stored[key] = value
                    if not isinstance(used, float) or now - used > _RECENT:
                        old.append((now, row[0], key))
            if old:
                # If the file cannot be written now, or at all, the values found are still good.
                with contextlib.suppress(sqlite3.OperationalError):
                    store.execute("PRAGMA busy_timeout = 100")  # milliseconds; not worth more
                    store.execute("BEGIN IMMEDIATE")
                    store.executemany(
                        "UPDATE entries SET used = ? WHERE scope = ? AND key = ?", old
                    )
                    store.execute("COMMIT")
            return stored

        return self._use(work, {}, make=False)

    def store(self, values: Mapping[bytes, bytes]) -> None:
        """Store values, replacing those of the same keys, and drop the least recently used ones."""
        if not values:
            return

        def work(store: sqlite3.Connection) -> None:
            now = self.clock()
            # Locked for writing from the start: SQLite may refuse a reader that becomes a writer.
            store.execute("BEGIN IMMEDIATE")
            store.execute("INSERT OR IGNORE INTO scopes (parts) VALUES (?)", (self.parts,))
            (scope,) = store.execute(
                "SELECT id FROM scopes WHERE parts = ?", (self.parts,)
            ).fetchone()
            store.executemany(
                "INSERT OR REPLACE INTO entries (scope, key, used, value) VALUES (?, ?, ?, ?)",
                ((scope, key, now, value) for key, value in values.items()),
            )
            store.execute("COMMIT")
            self._trim(store)

        self._use(work, None, make=True)

    def _use(self, work: Callable[[sqlite3.Connection], _T], otherwise: _T, *, make: bool) -> _T:
        """Return the result of some work on the file; `otherwise` if there is no usable file."""
        if self.trouble:
            return otherwise
        for last in (False, True):
            try:
                if make:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    self.path.touch(0o600)  # only this account may read the texts in a new one
                elif not self.path.is_file():
                    return otherwise
                # Opened each time: a connection belongs to one thread, and opening one is cheap.
                store = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
                with contextlib.closing(store):
                    self._prepare(store)
                    return work(store)
            except (OSError, sqlite3.Error) as error:
                if last or not _is_damage(error):
                    self.trouble = f"{self.path}: {error}"
                    return otherwise
                self._remove()
        raise AssertionError("the second attempt returns")

    def _prepare(self, store: sqlite3.Connection) -> None:
        """Create the tables of this format if they are missing."""
        store.execute("PRAGMA synchronous = NORMAL")
        if _number(store, "user_version") == _FORMAT:
            return
        store.execute("PRAGMA auto_vacuum = INCREMENTAL")  # must come before the first table
        store.execute("BEGIN EXCLUSIVE")
        # Another process may have been faster.
        if _number(store, "user_version") != _FORMAT:
            if store.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise _AnotherFormat(f"is not of format {_FORMAT}")
            for statement in _SCHEMA:
                store.execute(statement)
            store.execute(f"PRAGMA user_version = {_FORMAT}")
        store.execute("COMMIT")

    def _remove(self) -> None:
        """Remove an unusable file and those that SQLite keeps next to it."""
        for ending in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + ending).unlink()

    def _trim(self, store: sqlite3.Connection) -> None:
        """Drop the least recently used quarter of the values while there are too many."""
        while _number(store, "page_size") * _used_pages(store) > self.limit:
            (count,) = store.execute("SELECT COUNT(*) FROM entries").fetchone()
            if not count:
                return
            store.execute(
                "DELETE FROM entries WHERE rowid IN"
                " (SELECT rowid FROM entries ORDER BY used, rowid LIMIT ?)",
                (count // 4 + 1,),
            )
            # As a script: `execute` would run only one step of it, which frees a single page.
            store.executescript("PRAGMA incremental_vacuum")


def _number(store: sqlite3.Connection, pragma: str) -> int:
    (value,) = store.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


def _used_pages(store: sqlite3.Connection) -> int:
    return _number(store, "page_count") - _number(store, "freelist_count")


def _is_damage(error: Exception) -> bool:
    """Return True if an error means that the file itself is damaged, not busy or inaccessible."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    damage = code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return damage or isinstance(error, _AnotherFormat)


class DiskCache(_CacheFile):
    """Texts of one kind by key."""

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the stored values of the keys whose value is text."""
        texts = {}
        for key, value in self.load([_data(key) for key in keys]).items():
            with contextlib.suppress(UnicodeDecodeError):
                texts[_text(key)] = _text(value)
        return texts

    def put(self, values: Mapping[str, str]) -> None:
        """Store values, replacing older ones of the same keys."""
        self.store({_data(key): _data(value) for key, value in values.items()})


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


class VectorCache(_CacheFile):
    """Vectors of 32-bit floats by key; the key covers everything that determines a vector."""

    limit = 2 * 1024**3

    def __init__(self, path: Path) -> None:
        """Name the cache; the file is created when something is first stored."""
        super().__init__(path, {"what": "vectors of 32-bit floats"})

    def read(self, keys: Sequence[bytes], dimensions: int) -> dict[bytes, Float32Array]:
        """Return the vectors, (dimensions,), of the keys that are stored; they count as used now.

        A vector of another size, from a file that was tampered with, is not returned.
        """
        return {
            key: np.frombuffer(data, dtype="<f4").astype(np.float32)
            for key, data in self.load(keys).items()
            if len(data) == 4 * dimensions
        }

    def write(self, vectors: Mapping[bytes, Float32Array]) -> None:
        """Store vectors, and drop the least recently used ones above the limit."""
        self.store({key: vector.astype("<f4").tobytes() for key, vector in vectors.items()})

"""Disk caches in SQLite: strings by key under openly listed parts, and vectors by key.

What decides a value besides its key (program versions, a model's name) is listed in the file as
JSON, so that one can see what is stored; values made under other parts are never returned. A cache
that cannot be read or written costs time, never a result: it then acts as if it were empty.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import numpy as np

from gecjury.arrays import Float32Array

__all__ = ["DEFAULT_LIMIT", "DiskCache", "VectorCache", "text_key"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS scopes (id INTEGER PRIMARY KEY, parts TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    scope INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (scope, key));
"""
_AT_ONCE = 500
_WAIT = 30.0


def text_key(*texts: str) -> str:
    """A key for texts: 32 hexadecimal digits over their lengths and bytes."""
    digest = blake2b(digest_size=16)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


class DiskCache:
    """Values of one kind, shared by all processes that open the same file.

    Attributes:
        trouble: why the file could not be used; empty while all is well.
    """

    def __init__(
        self, path: Path, parts: Mapping[str, str], *, limit_bytes: int = 512 * 2**20
    ) -> None:
        """Name the cache; the file is made when something is first stored.

        Args:
            path: the SQLite file.
            parts: everything besides the key that decides a value.
            limit_bytes: the file's size from which the oldest values are dropped.
        """
        self.path = path
        self.parts = json.dumps(dict(parts), sort_keys=True, ensure_ascii=False)
        self.limit_bytes = limit_bytes
        self.trouble = ""

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """The stored values of those keys that have one."""
        found: dict[str, str] = {}
        if not self.path.is_file():
            return found
        with self._open() as store:
            if store is None:
                return found
            scope = self._scope(store)
            for begin in range(0, len(keys), _AT_ONCE):
                some = keys[begin : begin + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, value FROM entries WHERE scope = ? AND key IN ({marks})"
                found.update(store.execute(query, (scope, *some)))
        return found

    def put(self, values: Mapping[str, str]) -> None:
        """Store values, replacing older ones of the same keys."""
        if not values:
            return
        with self._open() as store:
            if store is None:
                return
            store.execute("INSERT OR IGNORE INTO scopes (parts) VALUES (?)", (self.parts,))
            scope = self._scope(store)
            store.executemany(
                "INSERT OR REPLACE INTO entries (scope, key, value) VALUES (?, ?, ?)",
                ((scope, key, value) for key, value in values.items()),
            )
            store.commit()
            self._trim(store)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        store: sqlite3.Connection | None = None
        try:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                store = sqlite3.connect(self.path, timeout=_WAIT)
                store.execute("PRAGMA auto_vacuum = INCREMENTAL")
                # A crash may lose the last values, which are computed anew.
                store.execute("PRAGMA synchronous = OFF")
                store.executescript(_SCHEMA)
            except (sqlite3.Error, OSError) as error:
                self.trouble = f"{self.path}: {error}"
                yield None
                return
            try:
                yield store
            except sqlite3.Error as error:
                self.trouble = f"{self.path}: {error}"
        finally:
            if store is not None:
                store.close()

    def _scope(self, store: sqlite3.Connection) -> int:
        row = store.execute("SELECT id FROM scopes WHERE parts = ?", (self.parts,)).fetchone()
        return -1 if row is None else int(row[0])

    def _trim(self, store: sqlite3.Connection) -> None:
        """Drop the oldest quarter of the values while the file is too large."""
        while self._size(store) > self.limit_bytes:
            (count,) = store.execute("SELECT COUNT(*) FROM entries").fetchone()
            if not count:
                return
            store.execute(
                "DELETE FROM entries WHERE rowid IN"
                " (SELECT rowid FROM entries ORDER BY rowid LIMIT ?)",
                (count // 4 + 1,),
            )
            store.commit()
            store.execute("PRAGMA incremental_vacuum").fetchall()
            store.commit()

    @staticmethod
    def _size(store: sqlite3.Connection) -> int:
        (pages,) = store.execute("PRAGMA page_count").fetchone()
        (size,) = store.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(size)


DEFAULT_LIMIT = 2 * 1024**3  # bytes of vectors kept on disk
_CHUNK = 500  # keys in one query; SQLite takes 999 at least


class VectorCache:
    """Vectors of 32-bit floats by key.

    A cache never breaks a run: a damaged file is made anew, and where nothing can be written the
    vectors are simply not kept.

    Attributes:
        path: the SQLite file; its folder is made.
        limit: bytes of vectors kept; past it the least recently used go first.
    """

    def __init__(self, path: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.path = path
        self.limit = limit
        self._base: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._base = self._open()
            except sqlite3.DatabaseError:
                path.unlink(missing_ok=True)
                self._base = self._open()
        except (OSError, sqlite3.Error):
            self._base = None

    def _open(self) -> sqlite3.Connection:
        base = sqlite3.connect(self.path, timeout=30)
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=NORMAL")
        base.execute(
            "CREATE TABLE IF NOT EXISTS vectors "
            "(key BLOB PRIMARY KEY, used REAL NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID"
        )
        base.execute("CREATE INDEX IF NOT EXISTS by_use ON vectors (used)")
        base.commit()
        return base

    @property
    def usable(self) -> bool:
        """Whether anything is kept."""
        return self._base is not None

    def read(self, keys: Sequence[bytes]) -> dict[bytes, Float32Array]:
        """The vectors of those keys that are there; they count as used now."""
        found: dict[bytes, Float32Array] = {}
        if self._base is None:
            return found
        try:
            for start in range(0, len(keys), _CHUNK):
                part = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
                for key, data in self._base.execute(query, part):
                    found[key] = np.frombuffer(data, dtype="<f4").astype(np.float32)
            now = time.time()
            with self._base:
                self._base.executemany(
                    "UPDATE vectors SET used = ? WHERE key = ?", [(now, key) for key in found]
                )
        except sqlite3.Error:
            self.close()
        return found

    def write(self, vectors: Mapping[bytes, Float32Array]) -> None:
        """Keep vectors, and drop the least recently used past the limit."""
        if self._base is None or not vectors:
            return
        now = time.time()
        rows = [(key, now, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        try:
            with self._base:
                self._base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                self._trim(self._base)
        except sqlite3.Error:
            self.close()

    def _trim(self, base: sqlite3.Connection) -> None:
        (held,) = base.execute("SELECT COALESCE(SUM(LENGTH(vector)), 0) FROM vectors").fetchone()
        excess = held - self.limit
        if excess <= 0:
            return
        out = []
        for key, size in base.execute("SELECT key, LENGTH(vector) FROM vectors ORDER BY used"):
            if excess <= 0:
                break
            out.append((key,))
            excess -= size
        base.executemany("DELETE FROM vectors WHERE key = ?", out)

    def close(self) -> None:
        """Close the file; what follows finds nothing and keeps nothing."""
        if self._base is not None:
            with contextlib.suppress(sqlite3.Error):
                self._base.close()
            self._base = None

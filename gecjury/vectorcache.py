"""Disk cache of vectors: one SQLite file, a size limit, least recently used out first."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT_LIMIT", "VectorCache"]

DEFAULT_LIMIT = 2 * 1024**3  # bytes of vectors kept on disk
_CHUNK = 500  # keys in one query; SQLite takes 999 at least

Float32Array = NDArray[np.float32]


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

"""Rows of numbers that take long to compute, cached on disk between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.caches import VectorCache
from gecjury.core.runtime import Runtime


def input_key(identity: str, *pieces: Sequence[int]) -> bytes:
    """Return a key for a network's input.

    Args:
        identity: everything that determines the outputs besides the word pieces.
        *pieces: the word pieces, and any further inputs for each of them.
    """
    digest = hashlib.sha256(identity.encode())
    for numbers in pieces:
        digest.update(b"|%d:" % len(numbers))
        digest.update(np.asarray(numbers, dtype="<i4").tobytes())
    return digest.digest()[:16]


def kept_rows(
    keys: Sequence[bytes],
    columns: int,
    digits: int | None,
    compute: Callable[[list[int]], FloatArray],
    runtime: Runtime,
    *,
    keep: bool = True,
) -> FloatArray:
    """Return a row of outputs for each key, from disk if stored; each key is computed once.

    Args:
        keys: N keys, repeated or not; see `input_key`.
        columns: length of a row.
        digits: digits that outputs are rounded to, few enough for 32-bit floats to represent; None
            if they are not rounded, and stored as 64-bit floats.
        compute: returns the rounded rows for some positions in `keys`.
        runtime: the cache.
        keep: True to use the cache if the run has one.

    Returns:
        N × columns; the same whether computed now or before.
    """
    place_of: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        place_of.setdefault(key, place)
    cache = None
    if keep and runtime.use_cache and keys:
        cache = VectorCache(runtime.cache_folder("vectors") / "vectors.sqlite")
    width = 2 * columns if digits is None else columns
    stored = {} if cache is None else cache.read(list(place_of), width)
    rows = {
        key: row.view(np.float64) if digits is None else row.astype(np.float64).round(digits)
        for key, row in stored.items()
    }
    todo = [key for key in place_of if key not in rows]
    if todo:
        # Only contiguous rows can be viewed as 32-bit floats.
        fresh = np.ascontiguousarray(compute([place_of[key] for key in todo]))
        rows |= dict(zip(todo, fresh, strict=True))
        if cache is not None:
            # NaN is not stored, so that a damaged model is reported every time.
            finite = np.flatnonzero(np.isfinite(fresh).all(axis=1))
            packed = fresh.view(np.float32) if digits is None else fresh.astype(np.float32)
            cache.write({todo[row]: packed[row] for row in finite})
    return np.array([rows[key] for key in keys]).reshape(len(keys), columns)

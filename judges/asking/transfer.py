"""Moving stores of judgments: several stores as one file, and back, bit for bit.

The file is the stores' own lines, one store after the other, each with its head; so a store that
is exported alone is its own copy, and what is imported replays without any server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gecjury.errors import InputError, nearest
from gecjury.judges.asking.store import (
    Store,
    content_key,
    find_lines,
    read_segments,
    read_store,
    store_path,
)
from gecjury.textfiles import write_text


def list_stores(folder: Path) -> list[dict[str, Any]]:
    """Return a record for every store of a cache folder: name, model, prompt, replies, bytes."""
    rows = []
    for path in sorted(folder.glob("*.jsonl")):
        identity, records, _ = read_store(path)
        rows.append(
            {
                "store": path.stem,
                "model": identity.model,
                "prompt": identity.prompt,
                "replies": len(records),
                "bytes": path.stat().st_size,
            }
        )
    return rows


def export_stores(folder: Path, file: Path, names: Sequence[str] = ()) -> int:
    """Write stores into one file.

    Args:
        folder: the stores' folder.
        file: to be written, whole or not at all.
        names: of the stores; all by default.

    Returns:
        How many replies it holds.

    Raises:
        InputError: there is no such store, or none at all, or a line of one cannot be read.
    """
    stores = {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
    for name in names:
        if name not in stores:
            raise InputError(f"no store {name!r} in {folder}: {nearest(name, stores)}")
    chosen = [stores[name] for name in names] if names else list(stores.values())
    if not chosen:
        raise InputError(f"{folder}: no stored judgments; score something with a judge first")
    parts, count = [], 0
    for path in chosen:
        store = find_lines(path)
        if store.damaged:
            first = store.damaged[0]
            raise InputError(
                f"{path}, line {first.line}: {first.reason}; score with its judge once more, which "
                "sets such lines aside and asks again, then export it"
            )
        lines = path.read_bytes()[: store.sound].split(b"\n")
        # Blanks stand where a line was set aside.
        parts += [line + b"\n" for line in lines if line.strip()]
        count += len(store.segments[0][1])
    write_text(file, b"".join(parts).decode("ascii"))
    return count


def import_stores(file: Path, folder: Path) -> tuple[int, int]:
    """Add a file's replies to the stores of a folder.

    Returns:
        How many replies were added, and how many were known already.

    Raises:
        InputError: the file is damaged anywhere, or a store is in use.
    """
    added = total = 0
    # The whole file is read and checked before anything is written.
    for identity, records in list(read_segments(file)):
        with Store(store_path(folder, identity), identity) as store:
            for record in _new(store, records):
                added += 1
                store.append_record(record)
            total += len(records)
    return added, total - added


def _new(store: Store, records: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records that a store does not hold: of each key those beyond its own replies."""
    seen: dict[str, int] = {}
    keys = [content_key(record) for record in records]
    have = {key: len(store.replies(key)) for key in keys}
    for key, record in zip(keys, records, strict=True):
        place = seen.get(key, 0)
        seen[key] = place + 1
        if place >= have[key]:
            yield record

"""Export of stores of judgments to one file, and import from it, bit for bit.

The file contains the stores' own lines, one store after another, each with its head. So the export
of a single store is a copy of it, and imported replies can be used without any server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gecjury.core.durable import write_text
from gecjury.core.errors import InputError, nearest
from gecjury.core.textfiles import read_bytes
from gecjury.judges.asking.store import (
    Store,
    StoredLine,
    read_store,
    read_stores,
    store_path,
    stored_lines,
)


def list_stores(folder: Path) -> list[dict[str, object]]:
    """Return a record for every store of a cache folder: name, model, prompt, replies, bytes."""
    return [
        {
            "store": path.stem,
            "model": store.identity.model,
            "prompt": store.identity.prompt,
            "replies": len(store.records),
            "bytes": path.stat().st_size,
        }
        for path in sorted(folder.glob("*.jsonl"))
        for store in [read_store(path)]
    ]


def find_stores(names: Sequence[str], folder: Path) -> list[Path]:
    """Return the files of the named stores.

    Args:
        names: files, folders of stores, names as `list_stores` gives them, models, or prompts
            such as `sentence` and `sentence.v1`; none for all stores of `folder`.
        folder: where names are looked up.

    Raises:
        InputError: there is no such store, or none at all.
    """
    paths: list[Path] = []
    for name in names or (str(folder),):
        path = Path(name)
        if path.is_dir() or not names:
            # A cache folder contains other things as well.
            below = path / "judgments" if (path / "judgments").is_dir() else path
            inside = sorted(below.glob("*.jsonl"))
            if not inside:
                raise InputError(f"{path}: no stored judgments; score something with a judge first")
            paths += inside
        elif path.exists():
            paths.append(path)
        else:
            paths += _named_stores(name, folder)
    return list(dict.fromkeys(paths))


def _named_stores(name: str, folder: Path) -> list[Path]:
    names = {}
    for path in sorted(folder.glob("*.jsonl")):
        head = next(line for line in stored_lines(path) if isinstance(line, StoredLine))
        identity = head.identity
        prompt = identity.prompt.partition(":")[0]
        names[path] = (path.stem, identity.model, prompt, prompt.partition(".")[0])
    if not names:
        raise InputError(f"{name}: no such file or folder, and {folder} contains no store")
    if chosen := [path for path in names if name in names[path]]:
        return chosen
    accepted = sorted({alias for aliases in names.values() for alias in aliases})
    raise InputError(f"no file, folder or store {name!r} in {folder}: {nearest(name, accepted)}")


def export_stores(folder: Path, file: Path, names: Sequence[str] = ()) -> int:
    """Write stores into one file.

    Args:
        folder: the stores' folder.
        file: the file to write, whole or not at all.
        names: see `find_stores`; all by default.

    Returns:
        How many replies the file contains.

    Raises:
        InputError: there is no such store, or none at all, or a line of one cannot be read.
    """
    parts, count = [], 0
    for path in find_stores(names, folder):
        store = read_store(path)
        if store.damaged:
            first = store.damaged[0]
            raise InputError(
                f"{path}, line {first.line}: {first.reason}; score with its judge again, which "
                "sets such lines aside and repeats their questions, then export it"
            )
        lines = path.read_bytes()[: store.sound].split(b"\n")
        # A line that was set aside is replaced by blanks.
        parts += [line + b"\n" for line in lines if line.strip()]
        count += len(store.records)
    write_text(file, b"".join(parts).decode("ascii"), follow=True)
    return count


def import_stores(file: Path, folder: Path) -> tuple[int, int]:
    """Add a file's replies to the stores of a folder.

    Returns:
        How many replies were added, and how many were there already.

    Raises:
        InputError: the file is damaged anywhere, or a store is in use.
    """
    # The whole file is read and checked before anything is written.
    lines = read_stores(file)
    for damage in lines.damaged:
        raise InputError(
            f"{file}, line {damage.line}: {damage.reason}; nothing was imported from the file: "
            "export it again"
        )
    if lines.sound < len(read_bytes(file).rstrip(b" \n")):
        raise InputError(f"{file}: the file ends in a damaged line; export it again")
    added = total = 0
    for identity, records in lines.stores:
        with Store(store_path(folder, identity), identity) as store:
            # For each key, the replies beyond the number that the store already has are new.
            have = {key: len(store.replies(key)) for key in {record.key for record in records}}
            seen: Counter[str] = Counter()
            for record in records:
                seen[record.key] += 1
                if seen[record.key] > have[record.key]:
                    store.append_record(record)
                    added += 1
        total += len(records)
    return added, total - added

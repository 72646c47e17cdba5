"""Small datasets in every format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def rows(count: int, *, references: int = 1, start: int = 0) -> list[dict[str, Any]]:
    """Return rows with distinct sentences and more or less correct hypotheses."""
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "looked", "at", "it"]
    found = []
    for number in range(start, start + count):
        source = [*words[number % 5 :], str(number)]
        found.append(
            {
                "id": f"r{number}",
                "source": " ".join(source),
                "hypothesis": " ".join(source[: -1 - number % 3] + ["."] * (number % 2)),
                "other": " ".join(source[number % 2 :]),
                "references": [" ".join([*source[r:], "."]) for r in range(references)],
            }
        )
    return found


def write(path: Path, rows: Rows, **options: Any) -> Path:
    """Write rows to a file in the format given by its extension."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path, **options)
        return path
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of all parts, in order."""
    import pyarrow.parquet as parquet

    found: list[dict[str, Any]] = []
    for part in sorted(folder.glob("*.parquet")):
        found += parquet.read_table(part).to_pylist()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files of a folder except locks, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".lock")
    }

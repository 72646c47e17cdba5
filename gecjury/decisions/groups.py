"""What sentences are told apart by: a file of labels, or a column of a table beside the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gecjury.errors import InputError, OptionError, nearest
from gecjury.textfiles import csv_rows, parse_json, read_lines

MOST_GROUPS = 50
"""More groups than that leave nothing to read of a table, and hardly a sentence in each."""

_TABLES = (".tsv", ".csv", ".jsonl")
_NONE = "(none)"


@dataclass(frozen=True)
class Groups:
    """Sentences by a label.

    Attributes:
        name: of the column, or of the file.
        labels: one a sentence.
    """

    name: str
    labels: tuple[str, ...]

    def rows(self) -> dict[str, list[int]]:
        """The numbers of the sentences of each group, groups by name."""
        found: dict[str, list[int]] = {}
        for row, label in enumerate(self.labels):
            found.setdefault(label, []).append(row)
        return dict(sorted(found.items()))


def read_groups(given: str, sentences: int) -> Groups:
    """Read what sentences are told apart by.

    Args:
        given: `FILE`, of one label a line, or `FILE:COLUMN`: a table with a header (tabs, or
            commas) or JSON lines, of one row a sentence.
        sentences: N.

    Raises:
        InputError: no such file, another number of rows, no such table, or a table without a
            header; names file and line.
        OptionError: no such column, or more than `MOST_GROUPS` groups.
    """
    path, column = _split(given)
    lines = read_lines(path)
    kind = path.removesuffix(".gz")
    if column:
        labels = _column(path, lines, column)
    elif kind.endswith(_TABLES):
        raise OptionError(
            f"--by {given}: is a table; name a column of it, as {path}:COLUMN "
            f"({', '.join(_names(path, lines))})"
        )
    else:
        labels = [line.strip() for line in lines]
    if len(labels) != sentences:
        what = "rows" if column else "lines"
        raise InputError(
            f"{path} has {len(labels)} {what}, but the source has {sentences} lines: --by needs "
            "one for each source line"
        )
    found = Groups(column or Path(path).name, tuple(label or _NONE for label in labels))
    if (count := len(set(found.labels))) > MOST_GROUPS:
        raise OptionError(
            f"--by {given}: {count} different labels; expected at most {MOST_GROUPS} groups of "
            "sentences"
        )
    return found


def _split(given: str) -> tuple[str, str]:
    if Path(given).is_file():
        return given, ""
    path, separator, column = given.rpartition(":")
    if separator and path and column and Path(path).exists():
        return path, column
    return given, ""


def _is_json(lines: Sequence[str]) -> bool:
    return bool(lines) and lines[0].lstrip().startswith("{")


def _names(path: str, lines: Sequence[str]) -> list[str]:
    if _is_json(lines):
        return list(_objects(path, lines[:1])[0])
    return _table(path, lines)[0][1]


def _column(path: str, lines: Sequence[str], column: str) -> list[str]:
    if _is_json(lines):
        records = _objects(path, lines)
        known = list(dict.fromkeys(key for record in records for key in record))
        _check_column(path, column, known)
        return [_text(record.get(column), f"{path}, line {n}", column)
                for n, record in enumerate(records, 1)]  # fmt: skip
    (_, header), *rows = _table(path, lines)
    _check_column(path, column, header)
    at = header.index(column)
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{path}, line {line}: {len(row)} cells; expected {len(header)}, as the header has"
            )
    return [row[at].strip() for _, row in rows]


def _check_column(path: str, column: str, known: Sequence[str]) -> None:
    if column not in known:
        raise OptionError(
            f"--by {path}:{column}: no column is called {column!r:.60}: {nearest(column, known)}"
        )


def _table(path: str, lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Return the rows of a table with their lines, the header first."""
    tabs = bool(lines) and "\t" in lines[0]
    delimiter = "\t" if tabs else ","
    rows = list(csv_rows("\n".join(lines), path, delimiter=delimiter, quotes=not tabs))
    if not rows or not rows[0][1]:
        raise InputError(
            f"{path}, line 1: is blank; expected a header with the names of the columns"
        )
    return rows


def _objects(path: str, lines: Sequence[str]) -> list[dict[str, object]]:
    found = []
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        value = parse_json(line, where, "one object a line")
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected an object, as on line 1")
        found.append(value)
    return found


def _text(value: object, where: str, column: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value).strip()
    raise InputError(f"{where}: {column!r:.60} is no text and no number; expected one of them")

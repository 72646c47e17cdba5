"""Groups of sentences, by labels in a file or in a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gecjury.corpus.rows import Row, Table, is_table, read_table
from gecjury.errors import InputError, OptionError, nearest
from gecjury.textfiles import read_lines

MOST_GROUPS = 50
"""The largest number of groups; with more, tables are unreadable and groups are too small."""

_NONE = "(none)"


Groups = dict[str, list[int]]
"""The indices of the sentences of each group, by the group's name."""


def read_groups(
    named: str, sentences: int, flag: str = "--by", most: int = MOST_GROUPS
) -> tuple[str, Groups]:
    """Read a label for each sentence; return the name of the labels, and the groups.

    Args:
        named: `FILE`, with one label per line, or `FILE:COLUMN`: a table (see
            `gecjury.corpus.rows`) with one row per sentence.
        sentences: the number of sentences.
        flag: the option that names the file.
        most: the largest number of groups.

    Raises:
        InputError: the file does not exist, has another number of rows, is not a table, or lacks a
            header; names file and line.
        OptionError: no such column, or more than `most` groups.
    """
    path, column = _split(named)
    # A column has to be named for a table; any other file has one label per line.
    if column or is_table(path):
        table = read_table(path, "a header with the names of the columns", texts=True)
        if not column:
            raise OptionError(
                f"{flag} {named}: the file is a table; name one of its columns, as {path}:COLUMN "
                f"({', '.join(table.columns)})"
            )
        if column not in table.columns:
            raise OptionError(
                f"{flag} {named}: no column is called {column!r:.60}: "
                f"{nearest(column, table.columns)}"
            )
        labels = [row.text(column) for row in _in_line_order(table, column)]
    else:
        labels = [line.strip() for line in read_lines(path)]
    if len(labels) != sentences:
        what = "rows" if column else "lines"
        raise InputError(
            f"{path} has {len(labels)} {what}, but the source has {sentences} lines: {flag} needs "
            "one for each source line"
        )
    groups: Groups = {}
    for row, label in enumerate(labels):
        groups.setdefault(label or _NONE, []).append(row)
    if len(groups) > most:
        raise OptionError(
            f"{flag} {named}: {len(groups)} different labels; expected at most {most} groups "
            "of sentences"
        )
    return column or Path(path).name, dict(sorted(groups.items()))


def _in_line_order(table: Table, column: str) -> Sequence[Row]:
    """Return the rows of a table in the order of the lines that a column of it numbers, from 1.

    Raises:
        InputError: a number is not that of a line, or occurs twice.
    """
    names = (name for name in table.columns if name.lower() in ("line", "sentence"))
    number = next((name for name in names if name != column), "")
    # Such a column may also have texts.
    if not number or not all(row.text(number).isdecimal() for row in table.rows):
        return table.rows
    rows: dict[int, Row] = {}
    for row in table.rows:
        line = row.whole(number, 1, len(table.rows))
        if rows.setdefault(line, row) is not row:
            row.refuse(number, "the number of each line once")
    return [rows[line] for line in sorted(rows)]


def _split(named: str) -> tuple[str, str]:
    # The name of a file may itself contain a colon.
    if Path(named).is_file():
        return named, ""
    path, separator, column = named.rpartition(":")
    if separator and path and column and Path(path).exists():
        return path, column
    return named, ""

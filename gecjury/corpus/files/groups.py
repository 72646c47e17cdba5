"""Groups of sentences, by labels in a file or in a column of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.aligned import order_by_id, row_ids
from gecjury.corpus.files.rows import Row, is_table, read_table

MOST_GROUPS = 50
"""The largest number of groups; with more, tables are unreadable and groups are too small."""

_NONE = "(none)"


Groups = dict[str, list[int]]
"""The indices of the sentences of each group, by the group's name."""


def read_groups(
    named: str, corpus: Corpus, flag: str = "--by", most: int = MOST_GROUPS
) -> tuple[str, Groups]:
    """Read a label for each sentence; return the name of the labels, and the groups.

    Args:
        named: `FILE`, with one label per line, or `FILE:COLUMN`: a table (see
            `gecjury.corpus.files.rows`) with one row per sentence. Rows with ids are matched by id
            (`gecjury.corpus.files.aligned`), others by line.
        corpus: the sentences.
        flag: the option that names the file.
        most: the largest number of groups.

    Raises:
        InputError: the file does not exist, has another number of rows or other ids than the
            source, is not a table, or lacks a header; names file and line.
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
        labels = [row.text(column) for row in _in_order(table.rows, column, path, corpus)]
    else:
        labels = [line.strip() for line in read_lines(path)]
    if len(labels) != len(corpus):
        what = "rows" if column else "lines"
        raise InputError(
            f"{path} has {len(labels)} {what}, but the source has {len(corpus)} lines: {flag} "
            "needs one for each source line"
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


def _in_order(rows: Sequence[Row], column: str, path: str, corpus: Corpus) -> Sequence[Row]:
    """Return rows in the order of the corpus, by their ids if they have any."""
    # The column of labels may be called like one of ids.
    cells = [
        (row.line, {key.lower(): value for key, value in row.cells.items() if key != column})
        for row in rows
    ]
    ids = row_ids(cells, path)
    if ids.ids is None or len(rows) != len(corpus):
        return rows
    order = order_by_id(corpus.origin, corpus.label("source"), path, ids)
    return [rows[place] for place in order if place is not None]


def _split(named: str) -> tuple[str, str]:
    # The name of a file may itself contain a colon.
    if Path(named).is_file():
        return named, ""
    path, separator, column = named.rpartition(":")
    if separator and path and column and Path(path).exists():
        return path, column
    return named, ""

"""Labels that sentences are told apart by: a file of labels, or a column beside the source."""

from __future__ import annotations

from pathlib import Path

from gecjury.corpus.rows import read_table
from gecjury.errors import InputError, OptionError, nearest
from gecjury.textfiles import read_lines

MOST_GROUPS = 50
"""The most groups: more leave nothing to read of a table, and hardly a sentence in each."""

_TABLES = (".tsv", ".csv", ".jsonl")
_NONE = "(none)"


Groups = dict[str, list[int]]
"""The numbers of the sentences of each group, groups by name."""


def read_groups(
    named: str, sentences: int, flag: str = "--by", most: int = MOST_GROUPS
) -> tuple[str, Groups]:
    """Read a label for each sentence, and return what labels are called, and the groups they make.

    Args:
        named: `FILE`, of one label a line, or `FILE:COLUMN`: a table with a header (tabs, or
            commas) or JSON lines, of one row a sentence.
        sentences: N.
        flag: the option that names the file.
        most: the most groups.

    Raises:
        InputError: no such file, another number of rows, no such table, or a table without a
            header; names file and line.
        OptionError: no such column, or more than `most` groups.
    """
    path, column = _split(named)
    # A table needs a column named; any other file has a label on each line.
    if column or path.removesuffix(".gz").endswith(_TABLES):
        table = read_table(path, "a header with the names of the columns", texts=True)
        if not column:
            raise OptionError(
                f"{flag} {named}: is a table; name a column of it, as {path}:COLUMN "
                f"({', '.join(table.columns)})"
            )
        if column not in table.columns:
            raise OptionError(
                f"{flag} {named}: no column is called {column!r:.60}: "
                f"{nearest(column, table.columns)}"
            )
        labels = [row.text(column) for row in table.rows]
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


def _split(named: str) -> tuple[str, str]:
    # A name with a colon may be a file's own.
    if Path(named).is_file():
        return named, ""
    path, separator, column = named.rpartition(":")
    if separator and path and column and Path(path).exists():
        return path, column
    return named, ""

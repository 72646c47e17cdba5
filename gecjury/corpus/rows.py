"""Users' tables: CSV, TSV and JSON lines, as rows whose cells are checked when read.

All readers of users' tables are based on this module, so that all errors are reported in one way:
file, line, column, value, what was expected and what to do about it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from gecjury.errors import InputError
from gecjury.textfiles import parse_json, read_text

MOST_CELL = 1_000_000
"""Most characters in a cell of a table: an unclosed quotation mark takes in all that follows."""

_JSON_LINES = (".jsonl", ".json", ".ndjson")
_TABBED = (".tsv", ".tab")
_T = TypeVar("_T")


def refuse(place: str, value: object, expected: str) -> NoReturn:
    """Refuse a value of a table.

    Args:
        place: file, line and column.
        value: the value found there.
        expected: allowed values, and the remedy.

    Raises:
        InputError: always.
    """
    # A cell may have any length, and so may the names of systems.
    raise InputError(f"{place}: {value!r:.60}; expected {expected:.1000}")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        table: path of its file.
        line: its number from 1, counted in `unit`.
        cells: values by column: texts, or any values of a line of JSON.
        unit: unit of the count: lines of a file, or rows of a data set.
    """

    table: str
    line: int
    cells: Mapping[str, Any]
    unit: str = "line"

    def __getitem__(self, column: str) -> Any:
        """Return a cell; it is empty where the row has no such column."""
        return self.cells.get(column, "")

    def place(self, column: str) -> str:
        """Return the place of a cell, for messages."""
        return f"{self.table}, {self.unit} {self.line}, column {column}"

    def refuse(self, column: str, expected: str) -> NoReturn:
        """Refuse a cell; see the function `refuse`."""
        refuse(self.place(column), self[column], expected)

    def text(self, column: str) -> str:
        """Return a cell as text; numbers and booleans of JSON as JSON writes them.

        Raises:
            InputError: the cell is a list or an object.
        """
        value = self[column]
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if not isinstance(value, str | int | float):
            self.refuse(column, "text or a number")
        return str(value).strip()

    def number(self, column: str, most: float, remedy: str = "") -> float:
        """Return a cell as a number.

        Args:
            column: column of the cell.
            most: the largest absolute value.
            remedy: remedy for a cell that is not a number.

        Raises:
            InputError: it is not a number, or too large.
        """
        try:
            value = float(self[column])
        except ValueError:
            value = math.nan
        if not abs(value) <= most:
            point = " with a decimal point" if "," in self[column] else ""
            self.refuse(column, f"a number{point} from {-most:g} to {most:g}{remedy}")
        return value

    def whole(self, column: str, least: int, most: int, remedy: str = "") -> int:
        """Return a cell as a whole number within bounds.

        Raises:
            InputError: it is not such a number.
        """
        try:
            value = int(self[column])
        except ValueError:  # not a number, or one of thousands of digits
            value = least - 1
        if not least <= value <= most:
            self.refuse(column, f"a whole number from {least} to {most}{remedy}")
        return value

    def choice(self, column: str, choices: Mapping[str, _T], expected: str = "") -> _T:
        """Return the meaning of a word in a cell; case is ignored.

        Args:
            column: column of the cell.
            choices: meanings by word.
            expected: the words, where they need explaining.

        Raises:
            InputError: it is another word.
        """
        word = self[column].lower()
        if word not in choices:
            self.refuse(column, expected or f"one of {', '.join(choices)}")
        return choices[word]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header.

    Attributes:
        path: path of its file.
        columns: their names in order; for JSON lines, the keys of all objects.
        rows: rows that are not blank.
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(path: str | Path, expected: str = "a header", *, texts: bool = False) -> Table:
    """Read a table with a header; see `csv_rows` for how cells are separated.

    Args:
        path: path of the file.
        expected: contents it should have, for the message about an empty one.
        texts: the table contains sentences under names that the user chose: names are
            case-sensitive, a row of blank cells is a row, and the file may be JSON lines with an
            object each, recognised by its ending or its first character.

    Raises:
        InputError: the file is empty or not such a table; names the line.
    """
    text, where = read_text(path), str(path)
    if texts and (_ending(where) in _JSON_LINES or text.lstrip()[:1] == "{"):
        rows = tuple(_json_rows(text, where))
        columns = tuple(dict.fromkeys(key for row in rows for key in row.cells))
    else:
        table = csv_rows(text, where, texts=texts)
        # Spreadsheets leave rows of empty cells behind; in a table of sentences these count.
        filled = ((n, cells) for n, cells in table if (cells if texts else any(cells)))
        line, names = next(filled, (1, []))
        columns = tuple(names if texts else map(str.lower, names))
        if twice := [name for name in columns if name and columns.count(name) > 1]:
            raise InputError(
                f"{where}, line {line}: column {twice[0]!r:.60} occurs twice; rename one of them"
            )
        rows = tuple(_named(where, columns, number, cells) for number, cells in filled)
    if not any(columns):
        raise InputError(f"{where}: the file is empty; expected {expected}")
    return Table(where, columns, rows)


def _json_rows(text: str, where: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        value = parse_json(line, f"{where}, line {number}", "one object a line")
        if not isinstance(value, dict):
            raise InputError(f"{where}, line {number}: {line!r:.40}; expected a JSON object")
        yield Row(where, number, value)


def _named(where: str, columns: tuple[str, ...], line: int, cells: list[str]) -> Row:
    if len(cells) != len(columns):
        raise InputError(
            f"{where}, line {line}: {len(cells)} cells; expected {len(columns)}, as the header "
            f"has ({', '.join(columns):.300}); quote cells that contain the separator"
        )
    return Row(where, line, dict(zip(columns, cells, strict=True)))


def _ending(where: str) -> str:
    return Path(where.removesuffix(".gz")).suffix.lower()


def csv_rows(text: str, where: str, *, texts: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Read CSV or TSV of unknown origin: any content gives rows or an `InputError`.

    Cells are separated by tabs if the first row has one or the file's ending says so, otherwise by
    commas or semicolons, whichever the first row has more of.

    Args:
        text: the whole file.
        where: the file, for messages.
        texts: cells are sentences. Spaces around them are kept, quotation marks are plain text in
            tab-separated files, and misplaced ones are accepted as they are.

    Yields:
        The line that a row ends at, counted from 1, and its cells.

    Raises:
        InputError: a cell of more than `MOST_CELL` characters, or not CSV; names file and line.
    """
    import csv

    # The first row, usually a header, decides: texts in later rows may contain any separator.
    first = text.lstrip("\r\n").partition("\n")[0]
    tabs = _ending(where) in _TABBED or "\t" in first
    csv.field_size_limit(MOST_CELL)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter="\t" if tabs else max(",;", key=first.count),
        quoting=csv.QUOTE_NONE if tabs and texts else csv.QUOTE_MINIMAL,
        strict=not texts,
    )
    while True:
        begins = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = str(error)
            if "field larger" in reason:
                reason = f"a cell of more than {MOST_CELL} characters"
            raise InputError(
                f"{where}, line {begins}: not CSV ({reason}): is a quotation mark open?"
            ) from None
        yield reader.line_num, cells if texts else [cell.strip() for cell in cells]

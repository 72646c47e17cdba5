"""Users' tables: CSV, TSV, JSON, Parquet and Excel, as rows whose cells are checked when read.

All readers of users' tables are based on this module, so that all errors are reported in one way:
file, line, column, value, what was expected and what to do about it.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from gecjury.core.errors import InputError, MissingExtraError, install_hint
from gecjury.core.textfiles import (
    MOST_BYTES,
    MOST_JSON,
    JsonValue,
    decoded_text,
    parse_json,
    read_bytes,
)
from gecjury.corpus.files.forms import BINARY_ENDINGS, JSON_ENDINGS, ending_of

ParquetMetadata: TypeAlias = Any
"""A `pyarrow.parquet.FileMetaData`."""

MOST_CELL = 1_000_000
"""Most characters in a cell of a table: an unclosed quotation mark takes in all that follows."""

MOST_COLUMNS = 10_000
"""Most columns of a table: a reader of Parquet needs ten kilobytes for each, even an empty one."""

_MOST_MEMORY = 4_000_000_000  # bytes that the rows of a table may need
_ROW_BYTES, _CELL_BYTES = 400, 64
_USUAL_RATIO = 50  # of texts to their compressed form
_MOST_XML = 256_000_000  # bytes of a workbook; a cell of four bytes takes eighty as an element
_MOST_TOGETHER = 8_000_000  # bytes of one row
_EXCEL_ROWS = 1_048_576
_MOST_SETTINGS = 16_000_000  # bytes of its styles and names, each of which becomes an object

PARQUET = b"PAR1"
"""The bytes that a Parquet file begins with."""

_ZIP = b"PK\x03\x04"

_TABBED = (".tsv", ".tab")
_ENDINGS = (*JSON_ENDINGS, *_TABBED, ".csv", *BINARY_ENDINGS, ".xls", ".ods")
_OBJECTS = "a list of objects, or one object a line, each with the cells of a row by column"
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
    cells: Mapping[str, object]
    unit: str = "line"

    def __getitem__(self, column: str) -> JsonValue:
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
        # Tables of pandas contain NaN where a cell is empty.
        return "" if value != value else str(value).strip()

    def number(self, column: str, most: float, remedy: str = "") -> float:
        """Return a cell as a number.

        Args:
            column: column of the cell.
            most: the largest absolute value.
            remedy: remedy for a cell that is not a number.

        Raises:
            InputError: it is not a number, or too large.
        """
        text = self.text(column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not abs(value) <= most:
            point = " with a decimal point" if "," in text else ""
            self.refuse(column, f"a number{point} from {-most:g} to {most:g}{remedy}")
        return value

    def whole(self, column: str, least: int, most: int, remedy: str = "") -> int:
        """Return a cell as a whole number within bounds.

        Raises:
            InputError: it is not such a number.
        """
        try:
            # A column with empty cells has 3.0 for 3 in tables of pandas.
            value = int(self.text(column).removesuffix(".0"))
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
        word = self.text(column).lower()
        if word not in choices:
            self.refuse(column, expected or f"one of {', '.join(choices)}")
        return choices[word]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table with a header.

    Attributes:
        path: path of its file.
        columns: their names in order; for JSON, the keys of all objects.
        rows: rows that are not blank.
        notes: how quotation marks were read, where a reader may doubt it.
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def is_table(path: str | Path) -> bool:
    """Return True if a file's ending is that of a table, compressed or not."""
    return ending_of(path) in _ENDINGS


def read_table(path: str | Path, expected: str = "a header", *, texts: bool = False) -> TableFile:
    """Read a table with a header: CSV, TSV, JSON, Parquet or the only filled sheet of an `.xlsx`.

    See `table_of` and `csv_rows`.

    Args:
        expected: contents it should have, for the message about an empty one.
        texts: the table contains sentences under names that the user chose: names are
            case-sensitive, a row of blank cells is a row, and cells may contain line breaks.

    Raises:
        InputError: the file is empty or not such a table; names the line.
        MissingExtraError: it is Parquet or a spreadsheet, and its package is not installed.
    """
    data, where = read_bytes(path), str(path)
    is_workbook = data.startswith(_ZIP) and ending_of(path) == ".xlsx"
    if not data.startswith(PARQUET) and not is_workbook:
        return table_of(decoded_text(data, path), where, expected, texts=texts)
    names, numbered = (_workbook if is_workbook else _parquet)(data, where)
    rows = tuple(Row(where, number, cells, "row") for number, cells in numbered)
    return _of_records(where, names, rows, expected, texts)


def table_of(
    text: str, where: str, expected: str = "a header", *, texts: bool = False
) -> TableFile:
    """Return a table from its text.

    JSON is recognised by the file's ending or its first characters. It is a list of objects, or one
    object a line.

    Args:
        text: the whole file.
        where: the file, for messages.
        expected: as for `read_table`.
        texts: as for `read_table`.

    Raises:
        InputError: the text is empty or not such a table; names the line.
    """
    listed = text.lstrip()[:1] == "[" and ending_of(where) in JSON_ENDINGS
    if listed or re.match(r"\s*(?:\[\s*)?\{", text):
        check_size(where, text.count("{"), text.count(","))
        rows = tuple(_json_rows(text, where))
        names = dict.fromkeys(key for row in rows for key in row.cells)
        return _of_records(where, [*names], rows, expected, texts)
    quoting = _quoting(text, where, texts)
    check_size(where, text.count("\n"), text.count(quoting.separator))
    table = _csv_rows(text, where, quoting, texts=texts)
    # Spreadsheets leave rows of empty cells behind; in a table of sentences these count.
    filled = ((n, cells) for n, cells in table if (cells if texts else any(cells)))
    line, header = next(filled, (1, []))
    columns = tuple(header if texts else map(str.lower, header))
    check_names(columns, f"{where}, line {line}")
    if not any(columns):
        raise InputError(f"{where}: the file is empty; expected {expected}")
    rows = tuple(_named(where, columns, quoting, number, cells) for number, cells in filled)
    return TableFile(where, columns, rows, quoting.notes)


def check_names(names: Sequence[str], place: str) -> None:
    """Refuse a header in which a column occurs twice; columns without a name are allowed.

    Raises:
        InputError: names the column.
    """
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            raise InputError(f"{place}: column {name!r:.60} occurs twice; rename one of them")
        seen.add(name)


def check_system_name(name: str) -> None:
    """Refuse a system's name that a table cannot hold: readers drop spaces around cells.

    Raises:
        InputError: it has control characters, or spaces at its ends.
    """
    if not name.isprintable() or name != name.strip():
        raise InputError(f"system {name!r}: cannot be written to a table; rename its file")


def _of_records(
    where: str, names: Sequence[str], rows: tuple[Row, ...], expected: str, texts: bool
) -> TableFile:
    """Return a table of rows whose cells have types; without `texts`, cells become texts."""
    if not any(names):
        raise InputError(f"{where}: the file is empty; expected {expected}")
    if texts:
        return TableFile(where, tuple(names), rows)
    columns = tuple(name.strip().lower() for name in names)
    check_names(columns, where)
    plain = (
        Row(where, row.line, {c: _one_line(row, n) for n, c in pairs if n in row.cells}, row.unit)
        for pairs in [tuple(zip(names, columns, strict=True))]
        for row in rows
    )
    # As in CSV, a row of empty cells is not a row.
    return TableFile(where, columns, tuple(row for row in plain if any(row.cells.values())))


def _one_line(row: Row, column: str) -> str:
    text = row.text(column)
    if "\n" in text or "\r" in text:
        row.refuse(column, "text without a line break")
    # As in `Row.whole`.
    return text.removesuffix(".0") if isinstance(row[column], float) else text


def _json_rows(text: str, where: str) -> Iterator[Row]:
    """Yield the rows of a list of objects, or of one object a line."""
    if text.lstrip().startswith("["):
        if len(text) > MOST_JSON:
            raise InputError(
                f"{where}: a JSON list of more than {MOST_JSON // 1_000_000} MB; write one object "
                "a line, e.g. `jq -c '.[]'`"
            )
        values = parse_json(text, where, _OBJECTS, unique=True)
        numbered = (("row", number, value) for number, value in enumerate(values, 1))
    else:
        _refuse_columns(text, where)
        numbered = (
            ("line", n, parse_json(line, f"{where}, line {n}", _OBJECTS, unique=True))
            for n, line in enumerate(text.split("\n"), 1)
            if line.strip()
        )
    for unit, number, value in numbered:
        if not isinstance(value, dict):
            shown = json.dumps(value, ensure_ascii=False)
            raise InputError(f"{where}, {unit} {number}: {shown!r:.40}; expected a JSON object")
        yield Row(where, number, value, unit)


def _refuse_columns(text: str, where: str) -> None:
    """Refuse a file that is a single JSON object of columns or over several lines.

    Raises:
        InputError: names the forms that are read.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return  # one object a line, whose faults are reported by line
    values = list(whole.values()) if isinstance(whole, dict) else []
    if values and all(isinstance(value, list | dict) for value in values):
        raise InputError(
            f"{where}: is one JSON object with lists or objects as {', '.join(whole):.100}; "
            f"expected {_OBJECTS} (pandas: to_json(FILE, orient='records'))"
        )
    if values and "\n" in text.strip():
        raise InputError(f"{where}: is one JSON object over several lines; expected {_OBJECTS}")


def check_size(where: str, rows: int, cells: int, columns: int = 0) -> None:
    """Refuse a table that does not fit into memory: a small compressed file may have any size.

    Raises:
        InputError: names the size, the limit and the remedy.
    """
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{where}: {columns:,} columns; expected at most {MOST_COLUMNS:,}: leave out some"
        )
    if rows * _ROW_BYTES + cells * _CELL_BYTES > _MOST_MEMORY:
        raise InputError(
            f"{where}: {rows:,} rows with {cells:,} cells or more; expected what fits into "
            f"{_MOST_MEMORY / 1e9:g} GB of memory ({_ROW_BYTES} bytes a row and {_CELL_BYTES} a "
            "cell): leave out columns, or split the file"
        )


def parquet_batch(about: ParquetMetadata, where: str) -> int:
    """Return how many rows of a Parquet file can be read at once.

    Args:
        about: the metadata of the file.

    Raises:
        InputError: it has too many columns.
    """
    check_size(where, 0, 0, about.num_columns)
    most = 1
    for group in map(about.row_group, range(about.num_row_groups)):
        columns = [group.column(number) for number in range(group.num_columns)]
        packed = sum(column.total_compressed_size for column in columns)
        # Every row may repeat a text that is stored once and is as long as its column.
        if group.total_byte_size > _USUAL_RATIO * packed:
            most = max(most, group.total_byte_size)
    return max(1, min(1000, MOST_BYTES // most))


def pyarrow() -> ModuleType:
    """Return the package pyarrow.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"Parquet files need the package {error.name}, which is not installed: "
            f"{install_hint('scale')}"
        ) from None


_Records = tuple[list[str], Iterable[tuple[int, dict[str, object]]]]
"""Columns, and rows with their numbers."""


def _parquet(data: bytes, where: str) -> _Records:
    """Return the columns and rows of a Parquet file, without the index of pandas."""
    arrow = pyarrow()
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        about, names = file.metadata, file.schema_arrow.names
        batch_rows = parquet_batch(about, where)
        check_names(names, where)
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        columns = range(about.num_columns)
        # In lists, a column has more values than there are rows.
        cells = sum(group.column(number).num_values for group in groups for number in columns)
        check_size(where, about.num_rows, cells)
        records: list[dict[str, object]] = []
        size = 0
        for batch in file.iter_batches(batch_rows):
            held = batch.to_pylist()
            repeated = [field.name for field in batch.schema if "dictionary" in str(field.type)]
            size += batch.nbytes + sum(len(str(row[name])) for row in held for name in repeated)
            if size > MOST_BYTES:
                raise InputError(
                    f"{where}: has more than {MOST_BYTES // 1_000_000} MB, the most that is read "
                    "at once"
                )
            records += held
    except (arrow.ArrowException, ArithmeticError, LookupError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise InputError(
            f"{where}: cannot be read as Parquet ({reason:.200}); check that it is complete"
        ) from None
    names = [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]
    plain = ({name: _plain(record[name]) for name in names} for record in records)
    return names, enumerate(plain, 1)


def _workbook(data: bytes, where: str) -> _Records:
    """Return the columns and rows of the only filled sheet of an Excel file."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"{where}: Excel files need the package openpyxl, which is not installed: "
            f"{install_hint('excel')}; or export the sheet as CSV"
        ) from None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_workbook(archive, where)
            # Programs that do not calculate write 0 for a formula, and ask for this.
            stale = b'fullCalcOnLoad="1"' in archive.read("xl/workbook.xml")
        values, formulas = (
            openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=only)
            for only in (True, False)
        )
        sheets = {
            pair[0].title: [*_sheet_rows(pair, where, stale)]
            for pair in zip(values.worksheets, formulas.worksheets, strict=True)
        }
    except (InputError, MemoryError):
        raise
    except Exception as error:  # damaged files make openpyxl raise anything
        raise InputError(
            f"{where}: cannot be read as an Excel file ({error!s:.200}); check that it is "
            "complete, or export the sheet as CSV"
        ) from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if len(filled) != 1:
        raise InputError(
            f"{where}: {len(filled)} sheets with cells ({', '.join(filled):.100}); expected one: "
            "remove the others, or export the sheet as CSV"
        )
    (((_, head), *rows),) = filled.values()
    names = ["" if name is None else str(name) for name in head]
    check_names(names, where)
    return names, ((n, dict(zip_longest(names, row[: len(names)]))) for n, row in rows)


def _sheet_rows(
    pair: tuple[Any, Any], where: str, stale: bool
) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield the rows of a sheet from the first to the last that has a value, with their numbers.

    Args:
        pair: the sheet with its values, and with its formulas.
        stale: the value 0 of a formula is not to be relied upon.

    Raises:
        InputError: a formula has no value, or an error of Excel; names the cell.
    """
    for sheet in pair:
        # Some programs write a range that is smaller than the sheet.
        sheet.reset_dimensions()
    blank: list[tuple[int, tuple[object, ...]]] = []
    begun, cells = False, 0
    for number, rows in enumerate(zip(*(s.iter_rows() for s in pair), strict=True), 1):
        cells += len(rows[0]) + 1
        check_size(where, number, cells)
        for value, formula in zip(*rows, strict=True):
            # A formula that gave "" has a value of the type `str`.
            unknown = (value.value is None and value.data_type != "str") or (
                stale and value.value == 0
            )
            if value.data_type == "e" or (formula.data_type == "f" and unknown):
                what = value.value or "a formula without a stored value"
                raise InputError(
                    f"{where}, sheet {pair[0].title:.60}, cell {formula.coordinate}: {what}; "
                    "expected a value: open the workbook in Excel or LibreOffice, mend the cell if "
                    "need be, and save it"
                )
        blank.append((number, tuple(cell.value for cell in rows[0])))
        if any(value is not None for value in blank[-1][1]):
            yield from blank if begun else blank[-1:]
            begun, blank = True, []


_XML = re.compile(r"(?i)\.(xml|rels|vml)$")
_BEGINS = re.compile(rb"[<:](?:row|si)[\s/>]")  # a row of cells, or a text
_CELLS = re.compile(r"xl/(worksheets/[^/]*|sharedStrings\.xml)$")


def _check_workbook(archive: zipfile.ZipFile, where: str) -> None:
    """Refuse a workbook that unpacks to too much.

    Raises:
        InputError: names the size.
        ValueError: a row of a sheet or a text is too long, or there are too many rows.
    """
    parts = [part for part in archive.infolist() if _XML.search(part.filename)]
    settings = [part for part in parts if not _CELLS.match(part.filename)]
    for held, most in ((parts, _MOST_XML), (settings, _MOST_SETTINGS)):
        if sum(part.file_size for part in held) > most:
            raise InputError(
                f"{where}: unpacks to more than {most // 1_000_000} MB of "
                f"{'cells' if held is parts else 'settings'}; export the sheet as CSV"
            )
    for part in parts:
        rows = 0
        with archive.open(part) as stream:
            # The cells of a row, or the pieces of a text, are held together.
            for chunk in iter(lambda: stream.read(_MOST_TOGETHER), b""):
                if len(chunk) == _MOST_TOGETHER and not _BEGINS.search(chunk):
                    raise ValueError(f"{part.filename} has a row of {_MOST_TOGETHER:,} bytes")
                if (rows := rows + chunk.count(b"<row")) > _EXCEL_ROWS:
                    raise ValueError(f"{part.filename} has more than {_EXCEL_ROWS:,} rows")


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value


def _named(
    where: str, columns: tuple[str, ...], quoting: _Quoting, line: int, cells: list[str]
) -> Row:
    if len(cells) != len(columns):
        remedy = "quote cells that contain the separator"
        if quoting.stray:
            remedy = f"quotation marks are read as text, since {quoting.stray}"
        elif any('"' in cell for cell in cells):
            remedy = (
                "quotation marks around a cell must be its first and last characters, and those "
                "inside must be doubled"
            )
        raise InputError(
            f"{where}, line {line}: {len(cells)} cells; expected {len(columns)}, as the header "
            f"has ({', '.join(columns):.300}); {remedy}"
        )
    return Row(where, line, dict(zip(columns, cells, strict=True)))


class _Quoting(NamedTuple):
    """How the cells of a CSV or TSV file are separated and quoted.

    Attributes:
        separator: the character between cells.
        quoted: cells with special characters are in quotation marks; otherwise these are text.
        stray: where a quotation mark shows that it is text; empty if nothing shows it.
        notes: how quotation marks were read, where a reader may doubt it.
    """

    separator: str
    quoted: bool = True
    stray: str = ""
    notes: tuple[str, ...] = ()


def _quoting(text: str, where: str, texts: bool) -> _Quoting:
    """Return how the cells of a file are separated and quoted.

    Programs such as pandas and spreadsheets quote every cell with a quotation mark, a tab or a line
    break, and double the quotation marks inside. Files such as those of WMT quote nothing. In tab-
    separated sentences, quotation marks therefore enclose cells only if they do so in every cell
    that has one, and if a cell needs them.
    """
    # The first row, usually a header, decides: texts in later rows may contain any separator.
    first = re.split("[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    if not (ending_of(where) in _TABBED or "\t" in first):
        return _Quoting(max(",;", key=first.count))
    if not texts or '"' not in text:
        return _Quoting("\t", quoted=not texts)
    quoted, stray = _quoted_cells(text)
    if quoted:
        note = f"{len(quoted)} cells are in quotation marks, which are not part of the text"
        return _Quoting("\t", notes=(f"{where}: {note}",))
    # Quotation marks around numbers do not matter.
    enclosed = sum(any(map(str.isalpha, cell)) for cell in _ENCLOSED.findall(text))
    note = f"the quotation marks around {enclosed} cells are part of the text"
    if stray:
        note += f", since {stray}"
    return _Quoting("\t", False, stray, (f"{where}: {note}",) if enclosed else ())


_CELL = re.compile(r'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"\t\r\n]*+))(\t|\r\n?|\n|\Z)')
_ENCLOSED = re.compile(r'(?:(?<=[\t\r\n])|\A)"[^\t\r\n]*"(?=[\t\r\n]|\Z)')


def _quoted_cells(text: str) -> tuple[list[str], str]:
    """Return the contents of quoted cells if a tab-separated file quotes its cells.

    Returns:
        The contents; none if the quotation marks are text. And what shows that, or nothing.
    """
    contents: list[str] = []
    bare_comma = header_quoted = False
    at, rows = len(text) - len(text.lstrip("\r\n")), 0
    while at < len(text):
        cell = _CELL.match(text, at)
        if cell is None:
            line = 1 + len(re.findall(r"\r\n?|\n", text[:at]))
            return [], f"a cell in line {line} has some that are not doubled"
        at = cell.end()
        if cell[1] is None:
            bare_comma = bare_comma or "," in cell[2]
        else:
            contents.append(cell[1])
            header_quoted = header_quoted or not rows
        rows += cell[3] != "\t"
    # Quotation marks that two cells begin and end with enclose whole rows between them.
    if any("\n" in content or "\r" in content for content in contents):
        widths = {line.count("\t") for line in re.split("[\r\n]+", text) if line}
        if len(widths) == 1:
            return [], "every line has the same number of cells"
    needed = any(re.search('["\t\r\n]', content) for content in contents)
    # Excel also quotes cells with commas.
    commas = {content for content in contents if "," in content}
    by_excel = len(commas) > 1 and not bare_comma and all("," in content for content in contents)
    return (contents if needed or header_quoted or by_excel else []), ""


def csv_rows(text: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Read CSV or TSV of unknown origin: any content gives rows or an `InputError`.

    Cells are separated by tabs if the first row has one or the file's ending says so, otherwise by
    commas or semicolons, whichever the first row has more of. Spaces around cells are dropped.

    Args:
        text: the whole file.
        where: the file, for messages.

    Yields:
        The line that a row ends at, counted from 1, and its cells.

    Raises:
        InputError: a cell of more than `MOST_CELL` characters or with a line break, or not CSV;
            names file and line.
    """
    return _csv_rows(text, where, _quoting(text, where, texts=False))


def _csv_rows(
    text: str, where: str, quoting: _Quoting, *, texts: bool = False
) -> Iterator[tuple[int, list[str]]]:
    import csv

    csv.field_size_limit(MOST_CELL)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=quoting.separator,
        quoting=csv.QUOTE_MINIMAL if quoting.quoted else csv.QUOTE_NONE,
        strict=True,
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
                f"{where}, line {begins}: not CSV ({reason}): is a quotation mark open? Double "
                "those inside a quoted cell"
            ) from None
        if not texts and (broken := next((c for c in cells if _BREAK.search(c)), None)):
            raise InputError(
                f"{where}, line {begins}: the cell {broken!r:.40} has a line break; expected none: "
                "is a quotation mark open?"
            )
        yield reader.line_num, cells if texts else [cell.strip() for cell in cells]


_BREAK = re.compile("[\r\n]")

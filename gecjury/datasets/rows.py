"""Rows of a shard, read in batches: texts are checked, and bad rows have a reason."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from gecjury.core.errors import InputError
from gecjury.core.textfiles import parse_json
from gecjury.corpus.corpus import meant_reference
from gecjury.corpus.hub import hub_dataset
from gecjury.corpus.rows import pyarrow
from gecjury.datasets.files import (
    MOST_LINE,
    damaged,
    open_lines,
    parquet_file,
    unchanged,
)
from gecjury.datasets.shards import InputFile, Job, Shard

BATCH_ROWS = 4_096
"""Maximum number of rows that are scored at once."""

BATCH_CHARACTERS = 1_000_000
"""Maximum number of characters of sources and hypotheses that are scored at once."""

MOST_TEXT = 100_000
"""Maximum number of characters of a text; a longer one is not a sentence, and its row is bad."""


@dataclass
class Batch:
    """Some rows that follow each other.

    Attributes:
        first: place of the first row in its file, from 0.
        ids: ids from the file, or FILE:ROW.
        sources: sentences to correct; "" in bad rows.
        hypotheses: hypotheses by system, as `sources`.
        references: references of each row; empty in bad rows and if none are read.
        bad: reasons by place in the batch.
        raw: the rows as they were read, of which some may be kept: lines, or a table of Arrow.
    """

    first: int
    ids: list[str]
    sources: list[str]
    hypotheses: list[list[str]]
    references: list[tuple[str, ...]]
    bad: dict[int, str]
    raw: Any

    def __len__(self) -> int:
        return len(self.ids)

    def pieces(self) -> Iterator[slice]:
        """Yield parts of the batch of at most `BATCH_CHARACTERS` each, or of a single row."""
        start = size = 0
        for row, texts in enumerate(zip(self.sources, *self.hypotheses, strict=True)):
            length = sum(map(len, texts))
            if row > start and size + length > BATCH_CHARACTERS:
                yield slice(start, row)
                start, size = row, 0
            size += length
        yield slice(start, len(self))


_Piece = tuple[int, Any, dict[str, list[Any]], dict[int, str]]
"""Rows from a reader of files: the place of the first, the rows as they were read, the columns
that are read, and the reasons of rows that are bad already."""


class RowReader:
    """A reader of one job's shards; files stay open, so that consecutive shards are read on."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._open: tuple[int, _Arrow | _Lines] | None = None

    def batches(self, shard: Shard, *, whole: bool) -> Iterator[Batch]:
        """Yield the rows of a shard.

        Args:
            shard: the shard.
            whole: True if all columns are read, for rows that are kept.

        Raises:
            InputError: the file has changed, or cannot be read.
        """
        file = self._job.files[shard.file]
        # Checked before and after, so that all rows in between are from one state of the file.
        unchanged(file)
        if self._open is None or self._open[0] != shard.file:
            self.close()
            lines = file.kind == "jsonl"
            rows = _Lines(file, self._job) if lines else _Arrow(file, self._job, whole)
            self._open = shard.file, rows
        read = 0
        for first, raw, cells, bad in self._open[1].pieces(shard):
            read += len(raw)
            yield _batch(self._job, file, first, cells, bad, raw)
        unchanged(file)
        # A file may have been replaced by another one of the same size and time.
        if read != shard.stop - shard.start:
            raise InputError(
                f"{file.path}: rows {shard.start + 1} to {shard.stop} were expected, but "
                f"{read} of them exist: the file has changed"
            )

    def close(self) -> None:
        """Close the open file."""
        if self._open is not None:
            self._open[1].close()
        self._open = None


class _Arrow:
    """Parquet files and datasets of the hub."""

    def __init__(self, file: InputFile, job: Job, whole: bool) -> None:
        self._file, self._job = file, job
        self._columns = None if whole else job.read
        self._arrow = pyarrow()
        if file.kind == "hf":
            self._data = hub_dataset(file.path).with_format("arrow")
            schema = self._data.features.arrow_schema
        else:
            self._data = parquet_file(file.path)
            schema = self._data.schema_arrow
        _check_types(file, job, schema, self._arrow)
        # Consecutive shards read on from the current piece; `_at` is the place of its first row.
        self._stream: Iterator[tuple[int, Any]] | None = None
        self._piece: Any = None
        self._at = 0

    def close(self) -> None:
        if self._file.kind == "parquet":
            self._data.close()

    def pieces(self, shard: Shard) -> Iterator[_Piece]:
        at = shard.start
        while at < shard.stop:
            table = self._rows(at, min(BATCH_ROWS, shard.stop - at))
            if not table.num_rows:
                return
            bad: dict[int, str] = {}
            cells = {column: self._values(table, column, bad) for column in self._job.read}
            yield at, table, cells, bad
            at += table.num_rows

    def _rows(self, start: int, count: int) -> Any:
        """Return at most `count` rows from a place on; none after the last."""
        if self._file.kind == "hf":
            table = self._data[start : start + count]
            return table if self._columns is None else table.select(self._columns)
        if self._stream is None or start < self._at:
            self._stream = self._groups(start)
            self._at, self._piece = next(self._stream)
        while self._at + self._piece.num_rows <= start:
            following = next(self._stream, None)
            if following is None:
                break
            self._at, self._piece = following
        return self._piece.slice(start - self._at, count)

    def _groups(self, start: int) -> Iterator[tuple[int, Any]]:
        """Yield rows from the row group of a row on, with the place of their first."""
        metadata = self._data.metadata
        group = at = 0
        while at + metadata.row_group(group).num_rows <= start:
            at += metadata.row_group(group).num_rows
            group += 1
        try:
            # One group at a time, so that all rows before a damaged one are read.
            for number in range(group, metadata.num_row_groups):
                for piece in self._data.iter_batches(
                    BATCH_ROWS, row_groups=[number], columns=self._columns, use_threads=False
                ):
                    yield at, self._arrow.Table.from_batches([piece])
                    at += piece.num_rows
        except (self._arrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no reason given"
            raise InputError(
                f"{self._file.path}: cannot be read from row {at + 1} on "
                f"({reason:.200}): damaged Parquet; fetch or write it again"
            ) from None

    def _values(self, table: Any, column: str, bad: dict[int, str]) -> list[Any]:
        """Return a column's values; a text that is not UTF-8 becomes None, with its reason."""
        cells = table.column(column)
        try:
            values: list[Any] = cells.to_pylist()
            return values
        except UnicodeDecodeError:
            values = []
            for row in range(table.num_rows):
                try:
                    values.append(cells[row].as_py())
                except UnicodeDecodeError:
                    bad.setdefault(row, f"{column} is not UTF-8")
                    values.append(None)
            return values


def _check_types(file: InputFile, job: Job, schema: Any, arrow: Any) -> None:
    """Refuse columns of the wrong type; columns missing in all files were reported before."""
    types = arrow.types

    def is_text(kind: Any) -> bool:
        if types.is_dictionary(kind):
            kind = kind.value_type
        texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
        return any(check(kind) for check in texts)

    def is_list(kind: Any) -> bool:
        lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        return any(check(kind) for check in lists) and is_text(kind.value_type)

    names = set(schema.names)
    for column in job.read:
        if column not in names:
            raise InputError(
                f"{file.path}: has no column {column!r:.60}, as other files have; expected the "
                "same columns in every file"
            )
        # Checked before any row is read, since a column of numbers would be bad in every row.
        kind = schema.field(column).type
        if column == job.references:
            fits, wanted = is_text(kind) or is_list(kind), "a list of texts, or text"
        elif column == job.id:
            fits, wanted = is_text(kind) or types.is_integer(kind), "text or whole numbers"
        else:
            fits, wanted = is_text(kind), "text"
        if not fits:
            raise InputError(f"{file.path}: the column {column} is of {kind}; expected {wanted}")


def _batch(
    job: Job,
    file: InputFile,
    first: int,
    cells: Mapping[str, list[Any]],
    bad: dict[int, str],
    raw: Any,
) -> Batch:
    """Return a batch; bad rows get a reason and no text, so that none is scored by mistake.

    Args:
        job: the job, with the columns.
        file: the file of the rows.
        first: place of the first row in it.
        cells: the values of every column that is read; `_ABSENT` where a row lacks it.
        bad: reasons that are known already, by place; a row keeps its first one.
        raw: the rows as they were read.
    """
    count = len(cells[job.source])
    ids = [f"{file.name}:{row}" for row in range(first + 1, first + count + 1)]
    for row, value in enumerate(cells[job.id] if job.id else ()):
        # A bool is an int in Python, but it is not an id.
        if isinstance(value, str | int) and not isinstance(value, bool):
            ids[row] = str(value)
        else:
            reason = f"{job.id} is {_kind(value)}; expected text or a whole number"
            bad.setdefault(row, reason)
    texts = [_texts(cells[c], c, bad) for c in (job.source, *job.hypotheses.values())]
    references: list[tuple[str, ...]] = [()] * count
    for row, value in enumerate(cells[job.references] if job.references else ()):
        references[row] = _references(value, job.references, texts[0][row], row, bad)
    # The texts of a bad row must not be scored.
    for row in bad:
        references[row] = ()
        for lines in texts:
            lines[row] = ""
    return Batch(first, ids, texts[0], texts[1:], references, bad, raw)


def _texts(values: list[Any], column: str, bad: dict[int, str]) -> list[str]:
    """Return a column's texts, and put the reason for each unusable value into `bad`."""
    # Nearly always all values are fine, which this shows without a loop over the rows.
    if set(map(type, values)) <= {str} and max(map(len, values), default=0) <= MOST_TEXT:
        return list(values)
    for row, value in enumerate(values):
        if wrong := _wrong(value, column):
            bad.setdefault(row, wrong)
    return [value if isinstance(value, str) else "" for value in values]


def _wrong(value: object, column: str) -> str:
    """Return what is wrong with a value that should be a text; empty if nothing is."""
    if isinstance(value, str):
        if len(value) <= MOST_TEXT:
            return ""
        return f"{column} is too long ({len(value)} characters; at most {MOST_TEXT})"
    if value is _ABSENT:
        return f"has no {column}"
    return f"{column} is null" if value is None else f"{column} is {_kind(value)}, not text"


def _references(
    value: Any, column: str, source: str, row: int, bad: dict[int, str]
) -> tuple[str, ...]:
    """Return the references of a row; if they cannot be used, none, and the reason in `bad`.

    Null and the marks of `meant_reference` say that an annotator gave no reference.
    """
    if isinstance(value, list):
        wrong = "" if value else f"{column} is an empty list"
        for text in value:
            odd = "" if text is None or isinstance(text, str) else type(text).__name__
            no_text = f"{column} contains {odd}, not text" if odd else ""
            wrong = wrong or no_text or ("" if text is None else _wrong(text, column))
    elif value is None or value is _ABSENT or isinstance(value, str):
        value, wrong = [value], _wrong(value, column)
    else:
        wrong = f"{column} is not a list of texts, but {type(value).__name__}"
    texts = () if wrong else tuple(t for t in value if meant_reference(t, source) is not None)
    if not wrong and not texts:
        wrong = f"{column} contains no reference"
    if wrong:
        bad.setdefault(row, wrong)
    return () if row in bad else texts


def _kind(value: object) -> str:
    kinds = {type(None): "null", object: "null", bool: "true/false", int: "a number",
             float: "a number", list: "a list", dict: "an object", str: "text"}  # fmt: skip
    return kinds.get(type(value), type(value).__name__)


_ABSENT = object()
"""The value of a column that a row lacks."""


class _Lines:
    """JSON lines, plain or compressed."""

    def __init__(self, file: InputFile, job: Job) -> None:
        self._file, self._job = file, job
        self._stream: IO[bytes] | None = None
        self._at = 0

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def pieces(self, shard: Shard) -> Iterator[_Piece]:
        self._seek(shard)
        lines: list[bytes] = []
        at, size = shard.start, 0
        while at + len(lines) < shard.stop:
            line = self._line()
            if not line:
                break
            lines.append(line)
            size += len(line)
            if len(lines) == BATCH_ROWS or size > 4 * BATCH_CHARACTERS:
                yield self._parsed(at, lines)
                at, lines, size = at + len(lines), [], 0
        if lines:
            yield self._parsed(at, lines)

    def _seek(self, shard: Shard) -> None:
        # Compressed lines can only be read on; to go back, they are read from the start again.
        if self._stream is None or (shard.offset < 0 and self._at > shard.start):
            self.close()
            self._stream, self._at = open_lines(self._file.path), 0
        if shard.offset >= 0:
            self._stream.seek(shard.offset)
            self._at = shard.start
        while self._at < shard.start and self._line():
            pass

    def _line(self) -> bytes:
        """Return the next line, or only the beginning of one that is too long."""
        assert self._stream is not None
        try:
            line = self._stream.readline(MOST_LINE)
            rest = line
            while len(rest) == MOST_LINE and not rest.endswith(b"\n"):
                rest = self._stream.readline(MOST_LINE)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise damaged(self._file.path, error) from None
        self._at += bool(line)
        return line

    def _parsed(self, first: int, lines: list[bytes]) -> _Piece:
        bad: dict[int, str] = {}
        records: list[Mapping[str, Any]] = [{}] * len(lines)
        for row, line in enumerate(lines):
            try:
                records[row] = _record(line, first + row)
            except InputError as error:
                bad[row] = str(error)
        cells = {
            column: [record.get(column, _ABSENT) for record in records] for column in self._job.read
        }
        return first, lines, cells, bad


def _record(line: bytes, number: int) -> Mapping[str, Any]:
    """Return the object of a line.

    Raises:
        InputError: it has none; the message says why.
    """
    if len(line) >= MOST_LINE:
        raise InputError(f"the line is longer than {MOST_LINE} bytes")
    if not line.strip():
        raise InputError("the line is empty")
    try:
        text = line.decode("utf-8" if number else "utf-8-sig")
        # Short lines without escapes do not need the checks of `parse_json`.
        value = json.loads(text) if len(line) < 5_000 and b"\\u" not in line else None
        if value is None:
            value = parse_json(text, "the line", "one object a line")
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start + 1})") from None
    except (ValueError, RecursionError):
        raise InputError("is not JSON") from None
    if not isinstance(value, dict):
        raise InputError("is not a JSON object")
    return value

"""Rows of a shard, batch by batch: texts checked, bad rows with the reason, no file as a whole."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from gecjury.corpus.hub import hub_dataset
from gecjury.datasets.files import (
    MOST_LINE,
    damaged,
    open_lines,
    parquet_file,
    pyarrow,
    unchanged,
)
from gecjury.datasets.shards import InputFile, Job, Shard
from gecjury.errors import InputError
from gecjury.textfiles import parse_json

BATCH_ROWS = 4_096
"""Most rows that are scored at once."""

BATCH_CHARACTERS = 1_000_000
"""Most characters of sources and hypotheses that are scored at once."""

MOST_TEXT = 100_000
"""Characters of a text; a longer one is no sentence, and its row a bad one."""


@dataclass
class Batch:
    """Some rows that follow each other.

    Attributes:
        first: place of the first in its file, from 0.
        ids: given or FILE:ROW.
        sources: sentences to correct; "" in bad rows.
        hypotheses: by system, as `sources`.
        references: of each row; empty in bad rows and where none are read.
        bad: reason by place in the batch.
        raw: the rows as they came, for those that are kept.
    """

    first: int
    ids: list[str]
    sources: list[str]
    hypotheses: list[list[str]]
    references: list[tuple[str, ...]]
    bad: dict[int, str] = field(default_factory=dict)
    raw: Any = None

    def __len__(self) -> int:
        return len(self.ids)

    def pieces(self) -> Iterator[slice]:
        """Parts of the batch of at most `BATCH_CHARACTERS` each, a row at least."""
        texts = (self.sources, *self.hypotheses)
        if sum(sum(map(len, lines)) for lines in texts) <= BATCH_CHARACTERS:
            yield slice(0, len(self))
            return
        start = size = 0
        for row, source in enumerate(self.sources):
            length = len(source) + sum(len(lines[row]) for lines in self.hypotheses)
            if row > start and size + length > BATCH_CHARACTERS:
                yield slice(start, row)
                start, size = row, 0
            size += length
        yield slice(start, len(self))


class RowReader:
    """Reads shards of one job; files stay open, and shards that follow each other are read on."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._open: tuple[int, _Arrow | _Lines] | None = None

    def batches(self, shard: Shard, *, whole: bool) -> Iterator[Batch]:
        """The rows of a shard.

        Args:
            shard: which rows.
            whole: whether all columns are read, for rows that are kept.

        Raises:
            InputError: the file has changed, or cannot be read.
        """
        file = self._job.files[shard.file]
        unchanged(file)
        if self._open is None or self._open[0] != shard.file:
            self.close()
            kind = _Lines if file.kind == "jsonl" else _Arrow
            self._open = shard.file, kind(file, self._job, whole)
        read = 0
        for batch in self._open[1].batches(shard):
            read += len(batch)
            yield batch
        unchanged(file)
        if read != shard.stop - shard.start:
            raise InputError(
                f"{file.path}: rows {shard.start + 1} to {shard.stop} were expected, and "
                f"{read} are there: the file has changed"
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
        self._whole = whole
        self._arrow = pyarrow()
        if file.kind == "hf":
            self._data = hub_dataset(file.path).with_format("arrow")
            schema = self._data.features.arrow_schema
        else:
            self._data = parquet_file(file.path)
            schema = self._data.schema_arrow
        _check_types(file, job, schema, self._arrow)
        self._at = -1
        self._stream: Iterator[Any] | None = None
        self._left: Any = None

    def close(self) -> None:
        if self._file.kind == "parquet":
            self._data.close()

    def batches(self, shard: Shard) -> Iterator[Batch]:
        at = shard.start
        while at < shard.stop:
            count = min(BATCH_ROWS, shard.stop - at)
            table = self._rows(at, count)
            if table is None or not table.num_rows:
                return
            yield self._batch(at, table)
            at += table.num_rows

    def _rows(self, start: int, count: int) -> Any:
        """At most so many rows from a place on; None after the last."""
        if self._file.kind == "hf":
            table = self._data[start : start + count]
            return table if self._columns is None else table.select(self._columns)
        if self._stream is None or self._at > start:
            self._seek(start)
        while True:
            if self._left is None or not self._left.num_rows:
                self._left = self._read()
                if self._left is None:
                    return None
            skip = min(start - self._at, self._left.num_rows)
            self._left, self._at = self._left.slice(skip), self._at + skip
            if self._left.num_rows:
                break
        found = self._left.slice(0, count)
        self._left, self._at = self._left.slice(count), self._at + found.num_rows
        return found

    def _seek(self, start: int) -> None:
        """Begin at the row group that holds a row."""
        metadata = self._data.metadata
        group = before = 0
        while before + metadata.row_group(group).num_rows <= start:
            before += metadata.row_group(group).num_rows
            group += 1
        self._at, self._left = before, None
        # Group by group, so that what is read before a damaged one is whole.
        self._stream = (
            batch
            for number in range(group, metadata.num_row_groups)
            for batch in self._data.iter_batches(
                BATCH_ROWS, row_groups=[number], columns=self._columns, use_threads=False
            )
        )

    def _read(self) -> Any:
        assert self._stream is not None
        try:
            return next(self._stream, None)
        except (self._arrow.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no reason given"
            raise InputError(
                f"{self._file.path}: cannot be read from row {self._at + 1} on "
                f"({reason:.200}): damaged Parquet; fetch or write it anew"
            ) from None

    def _batch(self, first: int, table: Any) -> Batch:
        count = table.num_rows
        job, file = self._job, self._file
        bad: dict[int, str] = {}
        if job.id:
            ids = self._values(table, job.id, bad)
            for row, value in enumerate(ids):
                if value is None:
                    bad.setdefault(row, f"{job.id} is null")
                    ids[row] = f"{file.name}:{first + row + 1}"
                elif not isinstance(value, str):
                    ids[row] = str(value)
        else:
            ids = [f"{file.name}:{row}" for row in range(first + 1, first + count + 1)]
        texts = [
            self._texts(table, column, bad) for column in (job.source, *job.hypotheses.values())
        ]
        references: list[tuple[str, ...]] = [()] * count
        if job.references:
            cells = self._values(table, job.references, bad)
            references = [
                _references(cell, job.references, row, bad) for row, cell in enumerate(cells)
            ]
        raw = table if self._whole else None
        batch = Batch(first, ids, texts[0], texts[1:], references, bad, raw)
        return _emptied(batch)

    def _values(self, table: Any, column: str, bad: dict[int, str]) -> list[Any]:
        """A column's values; what is not UTF-8 becomes None with its reason."""
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

    def _texts(self, table: Any, column: str, bad: dict[int, str]) -> list[str]:
        values = self._values(table, column, bad)
        if None not in values and max(map(len, values), default=0) <= MOST_TEXT:
            return values
        for row, value in enumerate(values):
            if value is None:
                bad.setdefault(row, f"{column} is null")
                values[row] = ""
            elif len(value) > MOST_TEXT:
                bad.setdefault(row, _long(column, value))
        return values


def _check_types(file: InputFile, job: Job, schema: Any, arrow: Any) -> None:
    """Refuse columns that cannot hold what they should; missing ones are told before."""
    types = arrow.types

    def is_text(kind: Any) -> bool:
        if types.is_dictionary(kind):
            kind = kind.value_type
        views = getattr(types, "is_string_view", lambda _: False)
        return bool(
            types.is_string(kind)
            or types.is_large_string(kind)
            or types.is_null(kind)
            or views(kind)
        )

    def is_list(kind: Any) -> bool:
        lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        return any(check(kind) for check in lists) and is_text(kind.value_type)

    known = set(schema.names)
    for column in job.read:
        if column not in known:
            raise InputError(
                f"{file.path}: has no column {column!r:.60}, as other files have; expected the "
                "same columns in every file"
            )
        kind = schema.field(column).type
        if column == job.references:
            fits, wanted = is_text(kind) or is_list(kind), "a list of texts, or text"
        elif column == job.id:
            fits, wanted = is_text(kind) or types.is_integer(kind), "text or whole numbers"
        else:
            fits, wanted = is_text(kind), "text"
        if not fits:
            raise InputError(f"{file.path}: the column {column} is of {kind}; expected {wanted}")


def _long(column: str, text: str) -> str:
    return f"{column} is too long ({len(text)} characters; at most {MOST_TEXT})"


def _references(cell: Any, column: str, row: int, bad: dict[int, str]) -> tuple[str, ...]:
    """The references of a row; none, with the reason told, where they cannot be used."""
    texts = [cell] if isinstance(cell, str) else cell
    if texts is None:
        bad.setdefault(row, f"{column} is null")
    elif not isinstance(texts, list):
        bad.setdefault(row, f"{column} is no list of texts, but {type(cell).__name__}")
    elif not texts:
        bad.setdefault(row, f"{column} is an empty list")
    else:
        for text in texts:
            if not isinstance(text, str):
                what = "null" if text is None else type(text).__name__
                bad.setdefault(row, f"{column} holds {what}, not text")
            elif len(text) > MOST_TEXT:
                bad.setdefault(row, _long(column, text))
        return tuple(texts) if row not in bad else ()
    return ()


def _emptied(batch: Batch) -> Batch:
    """A batch whose bad rows hold no text, so that none is scored by mistake."""
    for row in batch.bad:
        batch.sources[row] = ""
        batch.references[row] = ()
        for lines in batch.hypotheses:
            lines[row] = ""
    return batch


class _Lines:
    """JSON lines, plain or packed."""

    def __init__(self, file: InputFile, job: Job, whole: bool) -> None:
        self._file, self._job, self._whole = file, job, whole
        self._stream: IO[bytes] | None = None
        self._at = 0

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def batches(self, shard: Shard) -> Iterator[Batch]:
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
                yield self._batch(at, lines)
                at, lines, size = at + len(lines), [], 0
        if lines:
            yield self._batch(at, lines)

    def _seek(self, shard: Shard) -> None:
        if self._stream is None or (shard.offset < 0 and self._at > shard.start):
            self.close()
            self._stream, self._at = open_lines(self._file.path), 0
        if shard.offset >= 0:
            self._stream.seek(shard.offset)
            self._at = shard.start
        while self._at < shard.start and self._line():
            pass

    def _line(self) -> bytes:
        """The next line; of one that is too long only the beginning."""
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

    def _batch(self, first: int, lines: Sequence[bytes]) -> Batch:
        job, file, count = self._job, self._file, len(lines)
        bad: dict[int, str] = {}
        ids = [f"{file.name}:{row}" for row in range(first + 1, first + count + 1)]
        sources = [""] * count
        hypotheses = [[""] * count for _ in job.hypotheses]
        references: list[tuple[str, ...]] = [()] * count
        for row, line in enumerate(lines):
            record = _record(line, first + row, row, bad)
            if record is None:
                continue
            if job.id:
                ids[row] = _id(record, job.id, ids[row], row, bad)
            sources[row] = _text(record, job.source, row, bad)
            for system, column in enumerate(job.hypotheses.values()):
                hypotheses[system][row] = _text(record, column, row, bad)
            if job.references:
                if job.references not in record:
                    bad.setdefault(row, f"has no {job.references}")
                else:
                    cell = record[job.references]
                    references[row] = _references(cell, job.references, row, bad)
        raw = list(lines) if self._whole else None
        return _emptied(Batch(first, ids, sources, hypotheses, references, bad, raw))


def _record(line: bytes, number: int, row: int, bad: dict[int, str]) -> Mapping[str, Any] | None:
    """The object of a line, or None with the reason told."""
    if len(line) >= MOST_LINE:
        bad[row] = f"the line is longer than {MOST_LINE} bytes"
        return None
    if not line.strip():
        bad[row] = "the line is empty"
        return None
    try:
        text = line.decode("utf-8" if number else "utf-8-sig")
    except UnicodeDecodeError as error:
        bad[row] = f"is not UTF-8 (byte {error.start + 1})"
        return None
    try:
        value = json.loads(text) if len(line) < 5_000 and b"\\u" not in line else None
        if value is None:
            value = parse_json(text, "the line", "one object a line")
    except InputError as error:
        bad[row] = str(error)
        return None
    except (ValueError, RecursionError):
        bad[row] = "is no JSON"
        return None
    if not isinstance(value, dict):
        bad[row] = "is no JSON object"
        return None
    return value


def _id(record: Mapping[str, Any], column: str, usual: str, row: int, bad: dict[int, str]) -> str:
    value = record.get(column)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    bad.setdefault(row, f"{column} is {_kind(value)}; expected text or a whole number")
    return usual


def _text(record: Mapping[str, Any], column: str, row: int, bad: dict[int, str]) -> str:
    value = record.get(column)
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            bad.setdefault(row, _long(column, value))
        return value
    if column not in record:
        bad.setdefault(row, f"has no {column}")
    else:
        bad.setdefault(
            row,
            f"{column} is {_kind(value)}, not text" if value is not None else f"{column} is null",
        )
    return ""


def _kind(value: object) -> str:
    kinds = {type(None): "null", bool: "true/false", int: "a number", float: "a number",
             list: "a list", dict: "an object", str: "text"}  # fmt: skip
    return kinds.get(type(value), type(value).__name__)

"""Rows of a shard, read in batches: texts are checked, and bad rows have a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.corpus.files.forms import listed_texts
from gecjury.corpus.references import has_mark, meant_reference
from gecjury.datasets.files import open_rows, unchanged
from gecjury.datasets.shards import InputFile, Shard, ShardJob

if TYPE_CHECKING:
    from datasets import Dataset
    from pyarrow import DataType, Schema

BATCH_ROWS = 4_096
"""Maximum number of rows that are scored at once."""

BATCH_CHARACTERS = 1_000_000
"""Maximum number of characters of sources and hypotheses that are scored at once."""

MOST_TEXT = 100_000
"""Maximum number of characters of a text; a longer one is not a sentence, and its row is bad."""


@dataclass
class Batch:
    """Some rows that follow each other, and their scores.

    Attributes:
        file: name of their file.
        first: place of the first row in its file, from 0.
        ids: ids from the file, or FILE:ROW.
        sources: sentences to correct; "" in bad rows.
        hypotheses: hypotheses by system, as `sources`.
        references: references of each row; empty in bad rows and if none are read.
        bad: reasons by place in the batch.
        columns: columns of scores by name.
        refused: reasons of a metric that refused a row, by place and label.
    """

    file: str
    first: int
    ids: list[str]
    sources: list[str]
    hypotheses: list[list[str]]
    references: list[tuple[str, ...]]
    bad: dict[int, str]
    columns: dict[str, FloatArray] = field(default_factory=dict)
    refused: dict[tuple[int, str], str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def pieces(self) -> Iterator[slice]:
        """Yield parts of the batch of at most `BATCH_CHARACTERS` each, or of a single row."""
        columns = (self.sources, *self.hypotheses)
        sizes = sum(np.fromiter(map(len, lines), np.int64, len(self)) for lines in columns)
        ends = np.cumsum(sizes)
        start = before = 0
        while start < len(self):
            stop = np.searchsorted(ends, before + BATCH_CHARACTERS, side="right")
            yield slice(start, start := max(int(stop), start + 1))
            before = ends[start - 1]


class RowReader:
    """A reader of one job's shards; files stay open, so that consecutive shards are read on."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._open: tuple[int, Dataset] | None = None

    def batches(self, shard: Shard) -> Iterator[Batch]:
        """Yield the rows of a shard.

        Raises:
            InputError: the file has changed, or cannot be read.
        """
        file = self._job.files[shard.file]
        data = self._rows(shard.file).select_columns(self._job.read)
        for start in range(shard.start, shard.stop, BATCH_ROWS):
            stop = min(start + BATCH_ROWS, shard.stop)
            try:
                cells = data[start:stop]
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{file.path}, rows {start + 1} to {stop}: a text is not UTF-8 ({error.reason})"
                ) from None
            yield _batch(self._job, file, start, cells)

    def kept(self, shard: Shard, places: Sequence[int]) -> Dataset:
        """Return some rows of a shard with all their columns."""
        return self._rows(shard.file).select(places)

    def _rows(self, number: int) -> Dataset:
        file = self._job.files[number]
        if self._open is None or self._open[0] != number:
            unchanged(file)
            data = open_rows(file.path, self._job.folder)
            _check_types(file, self._job, data.features.arrow_schema)
            self._open = number, data
        return self._open[1]


def _check_types(file: InputFile, job: ShardJob, schema: Schema) -> None:
    """Refuse columns of the wrong type; columns missing in all files were reported before."""
    from pyarrow import types

    def is_text(kind: DataType) -> bool:
        if types.is_dictionary(kind):
            kind = kind.value_type
        texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
        return any(check(kind) for check in texts)

    def is_list(kind: DataType) -> bool:
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
        if str(kind).startswith("extension<arrow.json"):
            continue  # values of several kinds, each of which is checked
        if column == job.references:
            fits, wanted = is_text(kind) or is_list(kind), "a list of texts, or text"
        elif column == job.id:
            fits, wanted = is_text(kind) or types.is_integer(kind), "text or whole numbers"
        else:
            fits, wanted = is_text(kind), "text"
        if not fits:
            raise InputError(f"{file.path}: the column {column} is of {kind}; expected {wanted}")


def _batch(job: ShardJob, file: InputFile, first: int, cells: Mapping[str, list[Any]]) -> Batch:
    """Return a batch; bad rows get a reason and no text, so that none is scored by mistake.

    Args:
        first: place of the first row in it.
        cells: the values of every column that is read.
    """
    bad: dict[int, str] = {}  # a row keeps its first reason
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
    lists = cells[job.references] if job.references else []
    # As in `_texts`: nearly always all lists are fine.
    flat = list(chain.from_iterable(lists)) if set(map(type, lists)) == {list} else []
    texts_only = set(map(type, flat)) == {str} and max(map(len, flat)) <= MOST_TEXT
    if texts_only and all(lists) and not has_mark(flat):
        references = list(map(tuple, lists))
    else:
        for row, value in enumerate(lists):
            references[row] = _references(value, job.references, texts[0][row], row, bad)
    # The texts of a bad row must not be scored.
    for row in bad:
        references[row] = ()
        for lines in texts:
            lines[row] = ""
    return Batch(file.name, first, ids, texts[0], texts[1:], references, bad)


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
    return f"{column} is null" if value is None else f"{column} is {_kind(value)}, not text"


def _references(
    value: object, column: str, source: str, row: int, bad: dict[int, str]
) -> tuple[str, ...]:
    """Return the references of a row; if they cannot be used, none, and the reason in `bad`.

    Null and the marks of `meant_reference` say that an annotator gave no reference.
    """
    if isinstance(value, str) and len(value) <= MOST_TEXT:
        try:
            listed = listed_texts(value)
            value = value if listed is None else listed
        except InputError as error:
            bad.setdefault(row, f"{column}: {error}")
    if isinstance(value, list):
        given, wrong = value, "" if value else f"{column} is an empty list"
        for text in given:
            odd = "" if text is None or isinstance(text, str) else type(text).__name__
            no_text = f"{column} contains {odd}, not text" if odd else ""
            wrong = wrong or no_text or ("" if text is None else _wrong(text, column))
    elif value is None or isinstance(value, str):
        given, wrong = [value], _wrong(value, column)
    else:
        given, wrong = [], f"{column} is not a list of texts, but {type(value).__name__}"
    texts = () if wrong else tuple(t for t in given if meant_reference(t, source) is not None)
    if not wrong and not texts:
        wrong = f"{column} contains no reference"
    if wrong:
        bad.setdefault(row, wrong)
    return () if row in bad else texts


def _kind(value: object) -> str:
    kinds = {type(None): "null", bool: "true/false", int: "a number",
             float: "a number", list: "a list", dict: "an object", str: "text"}  # fmt: skip
    return kinds.get(type(value), type(value).__name__)

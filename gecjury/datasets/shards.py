"""The plan of a run: which rows of which file form a shard, as plain data for processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from gecjury.core.records import from_record
from gecjury.core.textfiles import parse_json
from gecjury.corpus.language import ENGLISH, Language
from gecjury.datasets.columns import Columns
from gecjury.scoring.signature import Signature


class Plain:
    """A dataclass that is passed between processes as text."""

    def to_json(self) -> str:
        """Return it as one line."""
        return json.dumps(asdict(self))  # type: ignore[call-overload]  # of a dataclass

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_json` wrote.

        Raises:
            ValueError: the text is not such a record; names the value and what is expected.
        """
        return from_record(cls, parse_json(text, cls.__name__, f"a {cls.__name__}"))


@dataclass(frozen=True)
class InputFile:
    """One file of a dataset, as it was when the run was planned.

    Attributes:
        path: absolute path, or `hf:NAME:SPLIT`.
        name: its name in ids, bad rows and messages; unique in the dataset.
        rows: number of rows, including bad ones.
        size: bytes; 0 for a dataset of the hub.
        changed: modification time in nanoseconds; 0 for a dataset of the hub.
        mark: fingerprint, 16 hexadecimal digits.
    """

    path: str
    name: str
    rows: int
    size: int = 0
    changed: int = 0
    mark: str = ""


@dataclass(frozen=True)
class Shard(Plain):
    """Rows of one file that are scored, written and finished together.

    Attributes:
        number: number of the shard, from 0; it names the part.
        file: index among the files of the job.
        start: first row of the file, from 0.
        stop: row after the last.
    """

    number: int
    file: int
    start: int
    stop: int

    @property
    def name(self) -> str:
        """The name of its part, without ending."""
        return f"part-{self.number:06d}"


@dataclass(frozen=True, kw_only=True)
class Job(Columns, Plain):
    """Everything that a worker needs besides the shard, including the columns to read.

    Attributes:
        folder: folder of results, absolute; empty in the manifest, which may be moved.
        metrics: names with options, as on the command line.
        labels: for each metric the name of its column.
        signatures: signature of each metric.
        files: files of the dataset.
        shard_rows: rows in a shard, fewer in the last of each file.
        keep: condition that kept rows fulfil; empty if no rows are kept.
        runtime: fields of `Runtime` by name, as JSON values: how it is run, never what is computed.
        language: language of the texts.
    """

    folder: str = ""
    metrics: tuple[str, ...]
    labels: tuple[str, ...]
    signatures: tuple[Signature, ...]
    files: tuple[InputFile, ...]
    shard_rows: int
    keep: str = ""
    runtime: Mapping[str, Any] = field(default_factory=dict)
    language: Language = ENGLISH


@dataclass(frozen=True)
class Total:
    """The parts of a corpus score of a shard's rows; parts of shards add up.

    Attributes:
        sums: sums by system, in the metric's own layout; empty if there is no corpus score.
        why: why there is no corpus score; empty if there is one.
    """

    sums: Mapping[str, Sequence[float]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Kept:
    """Counts of rows under a condition.

    Attributes:
        rows: rows kept.
        removed: for each part of the condition, rows that it was the first to remove.
        failed: for each part of the condition, rows that do not fulfil it.
    """

    rows: int = 0
    removed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShardSummary(Plain):
    """The summary of a finished shard.

    Attributes:
        number: number of the shard.
        rows: rows written, including bad ones.
        bad: rows without any score, which are in the side file.
        nulls: numbers of missing scores, by column and reason.
        totals: parts of corpus scores, by label.
        kept: counts of rows under the condition.
        notes: remarks of metrics, each once.
        seconds: duration; never written to a file.
    """

    number: int
    rows: int
    bad: int = 0
    nulls: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    totals: Mapping[str, Total] = field(default_factory=dict)
    kept: Kept = Kept()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


def shards_of(files: Sequence[InputFile], shard_rows: int) -> Iterator[Shard]:
    """Yield shards in order; every row of every file is in exactly one of them.

    Args:
        shard_rows: rows in a shard, 1 or more.
    """
    number = 0
    for index, file in enumerate(files):
        for start in range(0, file.rows, shard_rows):
            yield Shard(number, index, start, min(start + shard_rows, file.rows))
            number += 1

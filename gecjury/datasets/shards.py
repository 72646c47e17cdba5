"""The plan of a run: which rows of which file are a shard; plain data that crosses processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from gecjury.corpus.language import ENGLISH, Language
from gecjury.datasets.columns import Columns
from gecjury.records import from_record
from gecjury.scoring.signature import Signature
from gecjury.textfiles import parse_json

Form = Literal["parquet", "jsonl"]
"""How the scores are written."""


class Plain:
    """A dataclass that crosses processes as text."""

    def to_json(self) -> str:
        """Return it as one line."""
        return json.dumps(asdict(self))  # type: ignore[call-overload]  # of a dataclass

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_json` wrote.

        Raises:
            ValueError: the text is nothing of the kind; names the value and what is expected.
        """
        return from_record(cls, parse_json(text, cls.__name__, f"a {cls.__name__}"))


@dataclass(frozen=True)
class InputFile:
    """One file of a dataset, as it was when the run was planned.

    Attributes:
        path: absolute, or `hf:NAME:SPLIT`.
        name: how ids, bad rows and messages call it; unique in the dataset.
        kind: `parquet`, `jsonl` or `hf`.
        rows: how many it holds, bad ones too.
        size: bytes; 0 for a dataset of the hub.
        changed: modification time in nanoseconds; 0 for a dataset of the hub.
        mark: fingerprint, 16 hexadecimal digits.
        offsets: of JSON lines that are not packed, where each shard begins, in bytes.
    """

    path: str
    name: str
    kind: Literal["parquet", "jsonl", "hf"]
    rows: int
    size: int = 0
    changed: int = 0
    mark: str = ""
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shard(Plain):
    """Rows of one file that are scored, written and finished together.

    Attributes:
        number: of the shard among all, from 0; it names the part.
        file: index among the files of the job.
        start: first row of the file, from 0.
        stop: row after the last.
        offset: where it begins in JSON lines that are not packed, in bytes; -1 elsewhere.
    """

    number: int
    file: int
    start: int
    stop: int
    offset: int = -1

    @property
    def name(self) -> str:
        """Of the part that it becomes, without ending."""
        return f"part-{self.number:06d}"


@dataclass(frozen=True, kw_only=True)
class Job(Columns, Plain):
    """All that a worker has to know, apart from the shard; what columns it reads among it.

    Attributes:
        folder: where results go, absolute; empty in the manifest, which may be moved.
        metrics: names with options, as on the command line.
        labels: of each metric, what its column is called.
        signatures: of each metric.
        files: the dataset.
        shard_rows: rows in a shard, fewer in the last of each file.
        keep: condition that kept rows fulfil; empty where nothing is kept.
        form: of the results.
        strict: whether a bad row ends the run.
        runtime: fields of `Runtime` by name, as JSON values: how it is run, never what is computed.
        language: of the texts.
    """

    folder: str = ""
    metrics: tuple[str, ...]
    labels: tuple[str, ...]
    signatures: tuple[Signature, ...]
    files: tuple[InputFile, ...]
    shard_rows: int
    keep: str = ""
    form: Form = "parquet"
    strict: bool = False
    runtime: Mapping[str, Any] = field(default_factory=dict)
    language: Language = ENGLISH


@dataclass(frozen=True)
class Total:
    """The parts of a corpus score of a shard's rows; parts of shards add up.

    Attributes:
        sums: by system, the metric's own layout; empty where there is no corpus score.
        why: why there is none; empty where there is one.
    """

    sums: Mapping[str, Sequence[float]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Kept:
    """Counts of rows under a condition.

    Attributes:
        rows: kept.
        removed: by part of the condition, rows that it was the first to remove.
        failed: by part of the condition, rows that do not fulfil it.
    """

    rows: int = 0
    removed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShardSummary(Plain):
    """The summary of a finished shard.

    Attributes:
        number: of the shard.
        rows: written, bad ones included.
        bad: rows without any score, which stand in the side file.
        nulls: by column, how many scores are missing, by reason.
        totals: by label.
        kept: under the condition.
        notes: what metrics have to say, each remark once.
        seconds: it took; never in a file.
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
    """Every row of every file in exactly one shard, in order.

    Args:
        files: of the dataset.
        shard_rows: rows in a shard, 1 or more.
    """
    number = 0
    for index, file in enumerate(files):
        for place, start in enumerate(range(0, file.rows, shard_rows)):
            offset = file.offsets[place] if file.offsets else -1
            yield Shard(number, index, start, min(start + shard_rows, file.rows), offset)
            number += 1

"""The plan of a run: which rows of which file are a shard; plain data that crosses processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gecjury.records import from_record
from gecjury.textfiles import parse_json

Form = Literal["parquet", "jsonl"]
"""How the scores are written."""


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
class Shard:
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

    def to_json(self) -> str:
        """The shard as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Shard:
        """The inverse of `to_json`."""
        return from_record(cls, json.loads(text))


@dataclass(frozen=True)
class Job:
    """All that a worker has to know, apart from the shard.

    Attributes:
        folder: where results go, absolute.
        metrics: names with options, as on the command line.
        labels: of each metric, what its column is called.
        signatures: of each metric, as JSON (`Signature.to_json`).
        id: column that names a row; empty where ids are FILE:ROW.
        source: column of the sentence to correct.
        hypotheses: column by system; one of the name `""` where there is only one.
        references: column of the references; empty where no metric needs any.
        files: the dataset.
        shard_rows: rows in a shard, fewer in the last of each file.
        keep: condition that kept rows fulfil; empty where nothing is kept.
        form: of the results.
        strict: whether a bad row ends the run.
        runtime: fields of `Runtime` by name, as JSON values: how it is run, never what is computed.
        language: fields of the texts' `Language` by name, those that are not English's.
    """

    folder: str
    metrics: tuple[str, ...]
    labels: tuple[str, ...]
    signatures: tuple[Mapping[str, Any], ...]
    id: str
    source: str
    hypotheses: Mapping[str, str]
    references: str
    files: tuple[InputFile, ...]
    shard_rows: int
    keep: str = ""
    form: Form = "parquet"
    strict: bool = False
    runtime: Mapping[str, Any] = field(default_factory=dict)
    language: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The job as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The inverse of `to_json`.

        Raises:
            ValueError: the text is no job; names the value and what is expected.
        """
        job = from_record(cls, parse_json(text, "job", "a job"))
        if not len(job.metrics) == len(job.labels) == len(job.signatures):
            raise ValueError("metrics, labels and signatures are not equally many")
        if job.shard_rows < 1:
            raise ValueError(f"shard_rows is {job.shard_rows}; expected 1 or more")
        for file in job.files:
            shards = -(-file.rows // job.shard_rows)
            if file.rows < 0 or len(file.offsets) not in (0, shards):
                raise ValueError(f"the rows and offsets of {file.name:.60} do not belong together")
        return job


@dataclass(frozen=True)
class Total:
    """What a corpus score is made of, of the rows of a shard; those of shards add up.

    Attributes:
        sums: by system, the metric's own layout; empty where there is no corpus score.
        why: why there is none; empty where there is one.
    """

    sums: Mapping[str, Sequence[float]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Kept:
    """What became of rows under a condition.

    Attributes:
        rows: kept.
        removed: by part of the condition, rows that it was the first to remove.
        failed: by part of the condition, rows that do not fulfil it.
    """

    rows: int = 0
    removed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShardSummary:
    """What is told of a finished shard.

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

    def to_json(self) -> str:
        """The summary as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ShardSummary:
        """The inverse of `to_json`.

        Raises:
            ValueError: the text is no summary; names the value and what is expected.
        """
        return from_record(cls, parse_json(text, "summary", "the summary of a shard"))


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

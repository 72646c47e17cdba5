"""The plan of a run as plain data for processes: columns to read, and rows that form a shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.wording import listed
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.scoring.signature import Signature

ROLES = ("id", "source", "hypothesis", "references")
"""Roles of a column; several columns may contain hypotheses."""


@dataclass(frozen=True)
class ColumnNames:
    """The columns that are read.

    Attributes:
        id: column that names a row; empty if rows are named FILE:ROW.
        source: column of the sentence to correct.
        hypotheses: columns of hypotheses by system; a single one has the name `""`.
        references: column of a list of texts, or of one text; empty if none are read.
    """

    id: str
    source: str
    hypotheses: Mapping[str, str]
    references: str

    @property
    def read(self) -> list[str]:
        """Every column that is read, each once."""
        named = [self.id, self.source, *self.hypotheses.values(), self.references]
        return list(dict.fromkeys(filter(None, named)))


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
class Shard:
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
class ShardJob(ColumnNames):
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
    runtime: Mapping[str, object] = field(default_factory=dict)
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
class ShardSummary:
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


def columns_among(
    named: Mapping[str, Sequence[str]], columns: Sequence[str], where: str, *, references: bool
) -> ColumnNames:
    """Return the columns of a file.

    Args:
        named: the columns that a user named, by role.
        where: the file, for messages.
        references: True if references are wanted.

    Raises:
        InputError: columns are missing; names all of them, and the option that sets them.
    """
    missing: list[tuple[str, str]] = []

    def first(role: str, names: Sequence[str], *, needed: bool) -> str:
        column = next((name for name in names if name in columns), "")
        if needed and not column:
            missing.append((role, names[0]))
        return column

    def column(role: str, *usual: str, needed: bool = False) -> str:
        return first(role, named.get(role, usual), needed=needed or role in named)

    # A column that the user named must exist, even if it is not read: it may be a typing error.
    row, source = column("id", "id"), column("source", "source", needed=True)
    names = named.get("hypothesis", ("hypothesis",))
    # A single system has no name: its column of scores is named after the metric alone.
    hypotheses = {
        name if len(names) > 1 else "": first("hypothesis", [name], needed=True) for name in names
    }
    texts = column("references", "references", "reference", needed=references)
    if missing:
        raise _no_columns(missing, columns, where)
    return ColumnNames(row, source, hypotheses, texts if references else "")


def _no_columns(
    missing: Sequence[tuple[str, str]], columns: Sequence[str], where: str
) -> InputError:
    """Return the error for all missing columns, of which each run would otherwise report one."""
    parts = []
    for role, name in missing:
        close = nearest(name[:60], columns)
        parts.append(f"{name!r:.60} ({role}{f'; {close}' if close.startswith('did') else ''})")
    flags = " ".join(f"`columns={role}=NAME`" for role, _ in missing)
    return InputError(
        f"{where}: no column {listed(parts)}; its columns are {', '.join(columns)!s:.300}; "
        f"name {'it' if len(missing) == 1 else 'them'} with {flags}"
    )


def parse_columns(
    columns: Mapping[str, str | Sequence[str]] | Sequence[str],
) -> dict[str, list[str]]:
    """Return the columns that a user named, by role; `hypothesis` may have several.

    Args:
        columns: columns by role, or `ROLE=NAME` each.

    Raises:
        OptionError: not of this form, an unknown role, or one column or role given twice.
    """
    if isinstance(columns, Mapping):
        lists = {role: [n] if isinstance(n, str) else n for role, n in columns.items()}
        columns = [f"{role}={name}" for role, names in lists.items() for name in names]
    named: dict[str, list[str]] = {}
    for text in [columns] if isinstance(columns, str) else columns:
        role, _, column = text.partition("=")
        if not column:
            raise OptionError(f"`columns={text!r:.60}` is not ROLE=COLUMN, e.g. source=original")
        if role not in ROLES:
            raise OptionError(
                f"`columns={text!r:.60}`: {role!r:.60} is not a role: {nearest(role[:60], ROLES)}; "
                f"expected {', '.join(ROLES)}"
            )
        names = named.setdefault(role, [])
        if column in names or (names and role != "hypothesis"):
            what = "" if role == "hypothesis" else f"{role} "
            raise OptionError(f"`columns={text!r:.60}`: {what}is given twice")
        names.append(column)
    return named

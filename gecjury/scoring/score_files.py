"""Score files, one per metric, which make scoring and comparing separate steps."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import NumberArray
from gecjury.core.durable import write_text
from gecjury.core.errors import GecjuryError, InputError, OutputError
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import file_name, read_json
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.scoring.signature import Signature

SCORE_FORMAT = "gecjury-scores/1"
_ANEW = "delete it to create it again"
_MOST_UNPACKED = 2_000_000_000


@dataclass(frozen=True)
class PackedArray:
    """An array as JSON: shape, dtype and zlib-compressed little-endian bytes in base64."""

    shape: tuple[int, ...]
    dtype: str
    zlib: str

    @property
    def size(self) -> int:
        """Return the number of bytes unpacked.

        Raises:
            ValueError: the dtype or shape is not that of an array of numbers.
        """
        dtype = np.dtype(self.dtype)
        if dtype.kind not in "fiub" or any(n < 0 for n in self.shape):
            raise ValueError(f"no array has dtype {self.dtype!r:.60} and shape {self.shape!r:.60}")
        return math.prod(self.shape) * dtype.itemsize

    def unpacked(self) -> NDArray[Any]:
        """Return the array.

        Raises:
            ValueError: the bytes do not fill its shape.
        """
        dtype = np.dtype(self.dtype)
        # Unpack no more than expected: a few kilobytes may decompress to gigabytes.
        data = zlib.decompressobj().decompress(base64.b64decode(self.zlib), self.size + 1)
        if len(data) != self.size:
            raise ValueError(f"its numbers do not fill the shape {self.shape!r:.60}")
        return np.frombuffer(data, dtype).reshape(self.shape).astype(dtype.newbyteorder("="))


@dataclass(frozen=True)
class ScoredRow:
    """The scores of a system, in a score file or as `gecjury score --format json` prints them.

    Attributes:
        system: its name.
        print: fingerprint of its texts.
        metric: metric of the scores; only in printed results.
        signature: signature as one line; only in printed results.
        score: the corpus score; None if there is none, or if `sentences` is None.
        sentences: the sentence scores; None for texts of a system that were scored earlier.
        statistics: statistics from which the scores are computed; only in score files.
        items: field of `Statistics`.
    """

    system: str
    print: str = ""
    metric: str = ""
    signature: str = ""
    score: float | None = None
    sentences: Sequence[object] | None = None
    statistics: PackedArray | None = None
    items: PackedArray | None = None


@dataclass(frozen=True)
class ScoreFile:
    """The contents of a score file, or of the output of `gecjury score --format json`.

    Attributes:
        rows: one per system; in printed results one per system and metric.
        format: `SCORE_FORMAT`; empty in printed results.
        key: key of the signature.
        signature: signature as JSON; None in printed results.
        details: field of `Statistics`.
        notes: field of `Statistics`.
    """

    rows: Sequence[ScoredRow]
    format: str = ""
    key: str = ""
    signature: Mapping[str, Any] | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Missing:
    line: int


@dataclass(frozen=True)
class _StoredMember:
    """The part of a model's audit that comparisons read; the rest is shown unchanged."""

    model: str = ""
    missing: Sequence[_Missing] = ()
    positions: Sequence[object] = ()


@dataclass(frozen=True)
class _AuditInFile:
    members: Sequence[_StoredMember]
    rows: Sequence[Mapping[str, object]]
    panel: Mapping[str, float | None] | None = None


@dataclass(frozen=True)
class _StoredDetails:
    """The details that results show; other details are specific to the scorer."""

    # The true, false and missed edits of each system and type.
    by_type: Mapping[str, Mapping[str, tuple[float, float, float]]] = field(default_factory=dict)
    unanswered: int = 0
    audit: _AuditInFile | None = None


def check_writable(folder: str | Path) -> None:
    """Create the output folder and test that it is writable before any work is done.

    Raises:
        OutputError: it cannot be created or written to.
    """
    if Path(folder).is_file():
        raise OutputError(
            f"{folder}: cannot be written: it is a file, but score files need a folder"
        )
    probe = Path(folder) / ".gecjury-probe"
    write_text(probe, "")
    try:
        probe.unlink(missing_ok=True)  # another run may have deleted it
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None


def score_with_files(
    scorer: Scorer, corpus: Corpus, folder: str | Path | None, runtime: Runtime
) -> ScoreTable:
    """Score a corpus, reusing the scores in a folder's score file and adding missing ones.

    Args:
        folder: folder of score files; None scores everything and writes nothing.

    Raises:
        InputError: the corpus lacks what the metric needs, or a score file is damaged.
        OutputError: the file cannot be written.
    """
    if folder is None:
        return scorer.score_corpus(corpus, runtime)
    runtime = replace(runtime, scores=Path(folder))
    scorer.check(corpus)
    signature = scorer.signature(corpus, runtime)
    path = Path(folder) / file_name(scorer.name, signature.key, ending=".json")
    kept = read_rows(path, signature) if path.exists() else {}
    if any(row.values.shape[:2] != (1, len(corpus)) for row in kept.values()):
        raise InputError(
            f"{path}: damaged score file (not {len(corpus)} sentences per system); {_ANEW}"
        )
    # Looked up by name and text: a system whose output has changed is scored again.
    prints = corpus.system_prints
    statistics_of = {
        name: kept[(name, prints[name])] for name in corpus.names if (name, prints[name]) in kept
    }
    todo = [name for name in corpus.names if name not in statistics_of]
    seconds = 0.0
    if todo and scorer.joint:
        # Systems that are judged together are scored together: all of them or none.
        fresh = scorer.score_corpus(corpus, runtime)
        write_table(path, fresh)
        return fresh
    # Systems are scored separately: stored scores stay as they are, bit for bit.
    if todo:
        fresh = scorer.score_corpus(corpus.with_systems(todo), runtime)
        seconds = fresh.seconds
        statistics_of |= {name: _row(fresh.statistics, row) for row, name in enumerate(todo)}
    try:
        statistics = Statistics.joined([statistics_of[name] for name in corpus.names])
        table = scorer.table(corpus, statistics, runtime, seconds)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, GecjuryError) or len(todo) == len(corpus.names):
            raise
        # Statistics in a file have the scorer's own layout, which only the scorer can check.
        raise InputError(
            f"{path}: damaged score file (its statistics are not those of {scorer.name}: "
            f"{type(error).__name__}); {_ANEW}"
        ) from None
    if todo:
        write_table(
            path, table, {key: row for key, row in kept.items() if key not in prints.items()}
        )
    return table


def read_rows(path: str | Path, signature: Signature) -> dict[tuple[str, str], Statistics]:
    """Read a score file's statistics by system name and fingerprint of its hypotheses.

    Args:
        signature: the signature that the scores must have.

    Raises:
        InputError: the file is damaged, or its scores were computed with other settings or data.
    """
    # A system may be named after a file whose name is not UTF-8.
    document = read_json(
        path, "a score file: delete this damaged score file to create it again", halves=True
    )
    try:
        record = from_record(ScoreFile, document)
        _refuse_others(path, record, signature)
        from_record(_StoredDetails, record.details, "details")
        # Checked before anything is unpacked.
        packed = [part for row in record.rows for part in (row.statistics, row.items) if part]
        if (size := sum(part.size for part in packed)) > _MOST_UNPACKED:
            raise ValueError(f"its arrays have {size} bytes, more than {_MOST_UNPACKED}")
        return {
            (row.system, row.print): Statistics(
                row.statistics.unpacked(),
                row.items.unpacked() if row.items else None,
                record.details,
                record.notes,
            )
            for row in record.rows
            if row.statistics
        }
    # numpy raises SyntaxError for some damaged names of types.
    except (SyntaxError, TypeError, ValueError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged score file ({error!s:.200}); {_ANEW}") from None


def _refuse_others(path: str | Path, record: ScoreFile, signature: Signature) -> None:
    """Refuse scores in another format, or with another key."""
    # The format comes first: in another format the key may mean something else.
    if record.format != SCORE_FORMAT:
        raise InputError(
            f"{path}: format {record.format!r:.60}, expected {SCORE_FORMAT!r}; {_ANEW}"
        )
    if record.key != signature.key:
        raise InputError(
            f"{path}: contains scores for other settings, references or data (key "
            f"{record.key!s:.60}, expected {signature.key}{_differences(record, signature)}); "
            "delete or move the file"
        )


def _differences(record: ScoreFile, signature: Signature) -> str:
    """Return the values in which the file and the run differ."""
    pairs: list[tuple[str, object, object]] = []
    for name, wanted in signature.to_json().items():
        held = (record.signature or {}).get(name)
        if name == "changed":
            continue
        if not isinstance(wanted, Mapping) or not isinstance(held, Mapping):
            pairs.append((name, held, wanted))
            continue
        before = "package " if name == "packages" else ""
        pairs += [(before + k, held.get(k), v) for k, v in wanted.items() if k != "gecjury"]
    return "".join(f"; {what} {a} in the file, {b} here" for what, a, b in pairs if a != b)


def _row(statistics: Statistics, row: int) -> Statistics:
    items = None if statistics.items is None else statistics.items[row : row + 1]
    values = statistics.values[row : row + 1]
    return replace(statistics, values=values, items=items, sentence_types=None)


def write_table(
    path: str | Path,
    table: ScoreTable,
    others: Mapping[tuple[str, str], Statistics] = MappingProxyType({}),
) -> None:
    """Write a score table, with `others` that the file already contained; see `read_rows`.

    Raises:
        OutputError: the file cannot be written, or a score is infinite, which JSON cannot express;
            an existing file is kept.
    """
    statistics = table.statistics
    rows = []
    for row, name in enumerate(table.systems):
        record = _record(name, table.prints[name], _row(statistics, row))
        record["score"] = _number(table.by_system.score[row])
        record["sentences"] = [_number(score) for score in table.by_sentence.score[row]]
        rows.append(record)
    # For rows of other texts, keep only the statistics, from which scores can be recomputed.
    rows += [_record(name, mark, row) for (name, mark), row in others.items()]
    document = {
        "format": SCORE_FORMAT,
        "key": table.signature.key,
        "signature": table.signature.to_json(),
        "details": dict(statistics.details),
        "notes": list(statistics.notes),
        "rows": rows,
    }
    # ASCII, so that a system whose file name is not UTF-8 can be written as well.
    try:
        text = json.dumps(document, allow_nan=False)
    except ValueError:
        raise OutputError(
            f"{path}: cannot be written: {table.signature.label} has an infinite score, or details "
            "that are not finite; a score must be finite, or NaN where there is none"
        ) from None
    write_text(path, text + "\n")


def _record(system: str, mark: str, row: Statistics) -> dict[str, object]:
    """Return the record of one system's statistics in a file."""
    items = None if row.items is None else _packed(row.items)
    return {"system": system, "print": mark, "statistics": _packed(row.values), "items": items}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _packed(array: NumberArray) -> dict[str, object]:
    """Return an array as JSON: shape, dtype, zlib-compressed little-endian bytes in base64."""
    # Little-endian on every machine, so that files are portable.
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(zlib.compress(plain.tobytes(), 6)).decode()
    return {"shape": list(array.shape), "dtype": plain.dtype.str, "zlib": data}

"""Score files: one a metric, so that scoring and comparing are apart and nothing is done twice."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.corpus.corpus import Corpus
from gecjury.errors import GecjuryError, InputError, OutputError
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.scoring.signature import Signature
from gecjury.textfiles import file_name, read_json, write_text

SCORE_FORMAT = "gecjury-scores/1"
_MOST_UNPACKED = 2_000_000_000
_MOST_COUNT = 2**53  # beyond it, numbers of 64 bits are no counts


def check_writable(folder: str | Path) -> None:
    """Make the output folder and try it before any work is done.

    Raises:
        OutputError: it cannot be made or written.
    """
    if Path(folder).is_file():
        raise OutputError(f"{folder}: cannot be written: it is a file, score files need a folder")
    probe = Path(folder) / ".gecjury-probe"
    write_text(probe, "")
    try:
        probe.unlink()
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None


def score_with_files(
    scorer: Scorer, corpus: Corpus, folder: str | Path | None, runtime: Runtime
) -> ScoreTable:
    """Score a corpus, reading from a folder's score file what it holds and adding the rest.

    Args:
        scorer: the metric.
        corpus: what to score.
        folder: where score files lie; None scores everything and writes nothing.
        runtime: device, workers and the like.

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
    kept = read_rows(path, signature.key, signature) if path.exists() else {}
    if any(row.values.shape[:2] != (1, len(corpus)) for row in kept.values()):
        raise InputError(
            f"{path}: damaged score file (it does not hold {len(corpus)} sentences a system); "
            "delete it to have it made anew"
        )
    prints = corpus.system_prints
    known = {
        name: kept[(name, prints[name])] for name in corpus.names if (name, prints[name]) in kept
    }
    todo = [name for name in corpus.names if name not in known]
    seconds = 0.0
    if todo and scorer.joint:
        # Systems judged together are scored together: all of them or none.
        fresh = scorer.score_corpus(corpus, runtime)
        write_table(path, fresh)
        return fresh
    if todo:
        fresh = scorer.score_corpus(corpus.with_systems(todo), runtime)
        seconds = fresh.seconds
        known |= {name: _row(fresh.statistics, row) for row, name in enumerate(todo)}
    try:
        statistics = _join([known[name] for name in corpus.names])
        table = scorer.table(corpus, statistics, runtime, seconds)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, GecjuryError) or len(todo) == len(corpus.names):
            raise
        # What a file keeps has the scorer's own layout, which only the scorer can check.
        raise InputError(
            f"{path}: damaged score file (its statistics are none of {scorer.name}: "
            f"{type(error).__name__}); delete it to have it made anew"
        ) from None
    if todo:
        rows = {
            key: row
            for key, row in kept.items()
            if key not in {(name, prints[name]) for name in corpus.names}
        }
        _write(path, table, rows)
    return table


def write_table(path: str | Path, table: ScoreTable) -> None:
    """Write a score table; see `read_rows` for the inverse.

    Raises:
        OutputError: the file cannot be written; what stood there before is kept.
    """
    _write(path, table, {})


def read_rows(
    path: str | Path, key: str, signature: Signature | None = None
) -> dict[tuple[str, str], Statistics]:
    """Read a score file's statistics by system name and fingerprint of its hypotheses.

    Args:
        path: the file.
        key: the signature key that the scores must have.
        signature: what that key stands for, to say what differs.

    Raises:
        InputError: the file is damaged, or its scores were made with other settings or data.
    """
    try:
        record = read_json(
            path,
            "a score file: delete this damaged score file to have it made anew",
            halves=True,  # A system may be called by a file whose name is not UTF-8.
        )
        if record["format"] != SCORE_FORMAT:
            raise InputError(
                f"{path}: format {record['format']!r:.60}, expected {SCORE_FORMAT!r}; delete the "
                "file to have it made anew"
            )
        if record["key"] != key:
            raise InputError(
                f"{path}: holds scores of other settings, references or data "
                f"(key {record['key']!s:.60}, expected {key}{_differences(record, signature)}); "
                "delete or move the file"
            )
        details, notes = _checked_details(record["details"]), record["notes"]
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise ValueError("its notes are no texts")
        parts = [row[key] for row in record["rows"] for key in ("statistics", "items") if row[key]]
        if (size := sum(map(_size, parts))) > _MOST_UNPACKED:
            raise ValueError(f"its arrays are of {size} bytes, more than {_MOST_UNPACKED}")
        return {
            (_text(row["system"]), _text(row["print"])): Statistics(
                _array(row["statistics"]),
                None if row["items"] is None else _array(row["items"]),
                details,
                tuple(notes),
            )
            for row in record["rows"]
        }
    except (AttributeError, KeyError, TypeError, ValueError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path}: damaged score file ({type(error).__name__}: {error!s:.200}); delete it to "
            "have it made anew"
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is no text")  # damage of a file
    return value


def _checked_details(details: Any) -> Mapping[str, Any]:
    """What a score file has besides numbers, in the shapes that its readers rely on.

    Raises:
        ValueError: it has another shape.
    """
    if not isinstance(details, Mapping):
        raise ValueError("its details are no table")  # damage of a file
    by_type = details.get("by_type", {})
    if not isinstance(by_type, Mapping) or not all(
        isinstance(types, Mapping) and all(map(_are_counts, types.values()))
        for types in by_type.values()
    ):
        raise ValueError("its counts by type are no tables of three numbers a type")
    unanswered = details.get("unanswered", 0)
    if type(unanswered) is not int or unanswered < 0:
        raise ValueError(f"unanswered is {unanswered!r:.60}")
    audit = details.get("audit")
    if "audit" in details and not (
        isinstance(audit, Mapping)
        and all(
            isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows)
            for rows in (audit.get("members"), audit.get("rows"))
        )
    ):
        raise ValueError("its audit is no table of members and rows")
    return details


def _are_counts(values: Any) -> bool:
    return (
        isinstance(values, list)
        and len(values) == 3
        and all(type(v) in (int, float) and abs(v) <= _MOST_COUNT for v in values)
    )


def _differences(record: Mapping[str, Any], signature: Signature | None) -> str:
    """What the file and the run do not share, each with both values."""
    made = record.get("signature")
    if signature is None or not isinstance(made, Mapping):
        return ""
    found = []
    for name, wanted in signature.to_json().items():
        own = made.get(name)
        if not isinstance(wanted, Mapping) or not isinstance(own, Mapping):
            parts = [(name, own, wanted)]
        elif name == "changed":
            continue
        elif name == "packages":
            parts = [(f"package {k}", own.get(k), v) for k, v in wanted.items() if k != "gecjury"]
        else:
            parts = [(k, own.get(k), v) for k, v in wanted.items()]
        found += [f"{what} {a} in the file, {b} here" for what, a, b in parts if a != b]
    return "".join(f"; {text}" for text in found)


def _row(statistics: Statistics, row: int) -> Statistics:
    items = None if statistics.items is None else statistics.items[row : row + 1]
    return replace(statistics, values=statistics.values[row : row + 1], items=items)


def _join(rows: Sequence[Statistics]) -> Statistics:
    items = None
    if all(row.items is not None for row in rows):
        items = np.concatenate([row.items for row in rows if row.items is not None])
    notes = tuple(dict.fromkeys(note for row in rows for note in row.notes))
    values = np.concatenate([row.values for row in rows])
    return Statistics(values, items, _merge([row.details for row in rows]), notes)


def _merge(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Details of rows scored at different times: tables by system are put together."""
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            old = merged.get(key)
            if isinstance(old, Mapping) and isinstance(value, Mapping):
                merged[key] = {**old, **value}
            else:
                merged[key] = value
    return merged


def _write(
    path: str | Path, table: ScoreTable, others: Mapping[tuple[str, str], Statistics]
) -> None:
    """Write a table's rows, and rows of other systems that the file already held."""
    statistics = table.statistics
    rows: list[dict[str, Any]] = [
        {
            "system": name,
            "print": table.prints[name],
            "score": _number(table.by_system.score[row]),
            "sentences": [_number(score) for score in table.by_sentence.score[row]],
            "statistics": _packed(statistics.values[row : row + 1]),
            "items": None if statistics.items is None else _packed(statistics.items[row : row + 1]),
        }
        for row, name in enumerate(table.systems)
    ]
    rows += [
        {
            "system": name,
            "print": mark,
            "statistics": _packed(row.values),
            "items": None if row.items is None else _packed(row.items),
        }
        for (name, mark), row in others.items()
    ]
    record = {
        "format": SCORE_FORMAT,
        "key": table.signature.key,
        "signature": table.signature.to_json(),
        "details": dict(statistics.details),
        "notes": list(statistics.notes),
        "rows": rows,
    }
    # ASCII, so that a system whose file name is not UTF-8 can be written as well.
    write_text(path, json.dumps(record, allow_nan=False) + "\n")


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    """An array as JSON: shape, dtype and zlib-compressed little-endian bytes in base64."""
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(zlib.compress(plain.tobytes(), 6)).decode()
    return {"shape": list(array.shape), "dtype": plain.dtype.str, "zlib": data}


def _size(record: Mapping[str, Any]) -> int:
    """Bytes of a packed array.

    Raises:
        ValueError: no numbers, or of no shape.
    """
    dtype, shape = np.dtype(_text(record["dtype"])), record["shape"]
    if dtype.kind not in "fiub":
        raise ValueError(f"dtype {record['dtype']!r:.60} is not a number's")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"shape {shape!r:.60} is not a list of whole numbers from 0")
    return math.prod(shape) * dtype.itemsize


def _array(record: Mapping[str, Any]) -> NDArray[Any]:
    dtype, shape = np.dtype(record["dtype"]), record["shape"]
    size = _size(record)
    # No more is unpacked than there should be: a few kilobytes may hold gigabytes.
    data = zlib.decompressobj().decompress(base64.b64decode(_text(record["zlib"])), size + 1)
    if len(data) != size:
        raise ValueError(f"its numbers do not fill the shape {shape!r:.60}")
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))

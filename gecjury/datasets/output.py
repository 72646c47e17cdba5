"""Files of a finished shard: its part, bad rows, ids and kept rows, each whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.datasets.files import pyarrow
from gecjury.datasets.shards import InputFile, Job, Shard, ShardSummary
from gecjury.durable import whole_file
from gecjury.errors import InputError
from gecjury.scoring.result_folder import SIDES

UNFINISHED = ".unfinished"
"""Folder of files that are being written; what a killed run leaves there is swept away."""


def written(folder: Path, path: Path) -> AbstractContextManager[IO[bytes]]:
    """Open a file that stands in its place, whole and on the disk, once the context has ended.

    Args:
        folder: of the run; what is not whole yet lies in its `UNFINISHED`.
        path: where the file goes, in the same file system.

    Raises:
        OutputError: it cannot be written (a full disk, no right).
    """
    return whole_file(path, folder / UNFINISHED)


def part_path(job: Job, shard: Shard) -> Path:
    """Where a shard's part stands once it is finished."""
    return Path(job.folder) / f"{shard.name}.{job.form}"


def side_path(job: Job, shard: Shard, ending: str) -> Path:
    """Where something else of a shard stands: `bad.jsonl`, `ids.bin`, `summary.json`."""
    return Path(job.folder) / SIDES / f"{shard.name}.{ending}"


def id_hashes(ids: Sequence[str]) -> Any:
    """Hashes of 64 bits, sorted; they tell two ids apart but once in billions of billions."""
    # Not Python's own hash, which differs from process to process.
    parts = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids]
    return np.sort(np.frombuffer(b"".join(parts), dtype="<u8"))


def write_part(
    job: Job,
    shard: Shard,
    ids: Sequence[str],
    columns: Mapping[str, FloatArray],
    summary: ShardSummary,
) -> None:
    """Write a shard's part with its summary; the same again gives the same bytes.

    Args:
        job: what is done.
        shard: which part.
        ids: of N rows.
        columns: N numbers each; NaN becomes null.
        summary: goes into the schema's metadata, without its seconds.
    """
    folder, path = Path(job.folder), part_path(job, shard)
    record = json.loads(summary.to_json())
    del record["seconds"]
    if job.form == "jsonl":
        with written(folder, side_path(job, shard, "summary.json")) as file:
            file.write(json.dumps(record).encode())
        # The summary stands before the part does: a part that is there counts as finished.
        values = [column.tolist() for column in columns.values()]
        with written(folder, path) as file:
            for row, name in enumerate(ids):
                scores = {
                    # JSON has no NaN, which alone differs from itself.
                    key: None if column[row] != column[row] else column[row]
                    for key, column in zip(columns, values, strict=True)
                }
                file.write((json.dumps({"id": name, **scores}, ensure_ascii=False) + "\n").encode())
        return
    arrow = pyarrow()
    import pyarrow.parquet as parquet

    # In the file itself, so that a part that was moved still says what made it.
    metadata = {
        "_signature": json.dumps(
            dict(zip(job.labels, map(str, job.signatures), strict=True)), ensure_ascii=False
        ),
        "_summary": json.dumps(record),
    }
    arrays = [arrow.array(ids, arrow.string())]
    arrays += [_numbers(arrow, column) for column in columns.values()]
    table = arrow.Table.from_arrays(arrays, ["id", *columns]).replace_schema_metadata(metadata)
    with written(folder, path) as file:
        parquet.write_table(table, file, compression="zstd")


def _numbers(arrow: Any, column: FloatArray) -> Any:
    """Numbers as an Arrow array, NaN as null.

    `arrow.array` would do it too, and import pandas for it where that is installed.
    """
    defined = ~np.isnan(column)
    mask = None if defined.all() else arrow.py_buffer(np.packbits(defined, bitorder="little"))
    data = arrow.py_buffer(np.where(defined, column, 0.0))
    return arrow.Array.from_buffers(arrow.float64(), len(column), [mask, data])


def finished_summary(job: Job, shard: Shard) -> ShardSummary | None:
    """The summary of a finished part; None where it is not finished.

    Raises:
        InputError: a part is there that cannot be read.
    """
    path = part_path(job, shard)
    if not path.exists():
        return None
    try:
        if job.form == "jsonl":
            text = side_path(job, shard, "summary.json").read_text(encoding="utf-8")
        else:
            pyarrow()
            import pyarrow.parquet as parquet

            text = parquet.read_schema(path).metadata[b"_summary"].decode()
        return ShardSummary.from_json(text)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise damaged_part(path, error) from None


def damaged_part(path: Path, error: BaseException) -> InputError:
    """Return the error for a part that cannot be read."""
    return InputError(
        f"{path}: is no part of this run, or damaged ({error!s:.120}): delete it to have it made "
        "anew"
    )


def write_kept(job: Job, shard: Shard, kept: Sequence[Any]) -> None:
    """Write rows that fulfil the condition, in the form in which they came.

    Args:
        job: what is done.
        shard: which rows.
        kept: those of each batch: lines, or a table of Arrow, which may be empty.
    """
    file, folder = job.files[shard.file], Path(job.folder)
    path = folder / "kept" / f"{shard.name}{kept_ending(file)}"
    with written(folder, path) as out:
        if file.kind == "jsonl":
            lines = b"".join(line.removesuffix(b"\n") + b"\n" for part in kept for line in part)
            out.write(_PACKERS.get(path.suffix, bytes)(lines))
        else:
            import pyarrow.parquet as parquet

            parquet.write_table(pyarrow().concat_tables(kept), out, compression="zstd")


def kept_ending(file: InputFile) -> str:
    """The ending of files of kept rows: that of the input; of the hub's datasets Parquet's."""
    if file.kind != "jsonl":
        return ".parquet"
    lower = file.path.lower()
    return ".jsonl" + next((ending for ending in (".gz", ".zst") if lower.endswith(ending)), "")


def _zstd(data: bytes) -> bytes:
    packed: bytes = pyarrow().Codec("zstd").compress(data, asbytes=True)
    return packed


_PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    # Without the time, so that the same rows are the same bytes.
    ".gz": partial(gzip.compress, compresslevel=6, mtime=0),
    ".zst": _zstd,
}

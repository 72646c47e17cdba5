"""Files of a finished shard: its part, bad rows and kept rows, each written completely."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.durable import whole_file
from gecjury.core.errors import InputError
from gecjury.core.records import from_record
from gecjury.corpus.files.rows import pyarrow
from gecjury.datasets.shards import Shard, ShardJob, ShardSummary
from gecjury.scoring.result_folder import SIDES

if TYPE_CHECKING:
    from datasets import Dataset
    from pyarrow import Array

UNFINISHED = ".unfinished"
"""Folder of files that are being written; files that a killed run leaves there are deleted."""


def written(folder: Path, path: Path) -> AbstractContextManager[IO[bytes]]:
    """Open a file that gets its name once the context has ended and it is completely on the disk.

    Args:
        folder: folder of the run; unfinished files are in its `UNFINISHED`.
        path: path of the file, in the same file system.

    Raises:
        OutputError: it cannot be written (a full disk, no permission).
    """
    return whole_file(path, folder / UNFINISHED)


def part_path(job: ShardJob, shard: Shard) -> Path:
    """Return the path of a shard's finished part."""
    return Path(job.folder) / f"{shard.name}.parquet"


def side_path(job: ShardJob, shard: Shard) -> Path:
    """Return the path of the list of a shard's bad rows."""
    return Path(job.folder) / SIDES / f"{shard.name}.bad.jsonl"


def write_part(
    job: ShardJob,
    shard: Shard,
    ids: Sequence[str],
    columns: Mapping[str, FloatArray],
    summary: ShardSummary,
) -> None:
    """Write a shard's part with its summary; equal arguments give equal bytes.

    Args:
        ids: ids of N rows.
        columns: columns of N numbers each; NaN becomes null.
        summary: summary, which goes into the schema's metadata without its seconds.
    """
    folder, path = Path(job.folder), part_path(job, shard)
    record = asdict(summary)
    del record["seconds"]
    arrow = pyarrow()
    import pyarrow.parquet as parquet

    # In the file itself, so that a part that was moved still shows its origin.
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


def _numbers(arrow: ModuleType, column: FloatArray) -> Array:
    """Return numbers as an Arrow array, NaN as null.

    `arrow.array` would import pandas if that is installed.
    """
    defined = ~np.isnan(column)
    mask = None if defined.all() else arrow.py_buffer(np.packbits(defined, bitorder="little"))
    data = arrow.py_buffer(np.where(defined, column, 0.0))
    return arrow.Array.from_buffers(arrow.float64(), len(column), [mask, data])


def finished_summary(job: ShardJob, shard: Shard) -> ShardSummary | None:
    """Return the summary of a finished part; None if it is not finished.

    Raises:
        InputError: the part exists but cannot be read.
    """
    path = part_path(job, shard)
    if not path.exists():
        return None
    try:
        pyarrow()
        import pyarrow.parquet as parquet

        record = json.loads(parquet.read_schema(path).metadata[b"_summary"])
        return from_record(ShardSummary, record)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise damaged_part(path, error) from None


def damaged_part(path: Path, error: BaseException) -> InputError:
    """Return the error for a part that cannot be read."""
    return InputError(
        f"{path}: is not a part of this run, or damaged ({error!s:.120}): delete it to have it "
        "created again"
    )


def write_kept(job: ShardJob, shard: Shard, kept: Dataset) -> None:
    """Write the rows of a dataset that fulfil the condition as Parquet."""
    import pyarrow.parquet as parquet

    folder = Path(job.folder)
    with written(folder, folder / "kept" / f"{shard.name}.parquet") as out:
        parquet.write_table(kept.with_format("arrow")[:], out, compression="zstd")

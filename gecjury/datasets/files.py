"""The files of a dataset: found by path, folder, glob or name, opened, counted, identified."""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gecjury.core.errors import InputError, nearest
from gecjury.corpus.hub import hub_dataset
from gecjury.corpus.rows import pyarrow
from gecjury.datasets.shards import InputFile

if TYPE_CHECKING:
    from gecjury.core.runtime import Bar

MOST_LINE = 16_000_000
"""Maximum bytes of a line of JSON; a longer line is a bad row."""

_PARQUET = (".parquet", ".pq")
_JSON = (".jsonl", ".ndjson", ".json")
_PACKED = ("", ".gz", ".zst")
_ENDINGS = (*_PARQUET, *(json + packed for json in _JSON for packed in _PACKED))
_SINGLE = (".json", ".json.gz", ".json.zst")
_PIECE = 1 << 20
_END = 1 << 16


def is_dataset(name: str) -> bool:
    """Return True if a name is certainly that of a dataset, not of a text file.

    JSON lines may also contain a text: see `gecjury.cli.datasets`.
    """
    lower = name.lower()
    ends = name.endswith("/") or lower.endswith((*_PARQUET, ".zst", ".ndjson", ".ndjson.gz"))
    return ends or name.startswith("hf:") or Path(name).is_dir() or _is_glob(name)


def may_be_dataset(name: str) -> bool:
    """Return True if a name may be that of a dataset: `is_dataset`, or JSON lines."""
    return is_dataset(name) or name.lower().endswith(_ENDINGS)


def _is_glob(name: str) -> bool:
    return bool(re.search(r"[*?\[]", name)) and not Path(name).exists()


def dataset_files(inputs: Sequence[str]) -> list[str]:
    """Return the files that were named, absolute and in order; `hf:` names as they are.

    Args:
        inputs: files, folders (searched recursively for files with a dataset's ending), globs,
            `hf:NAME[:SPLIT]`.

    Raises:
        InputError: a name matches no file, or a file is named twice.
    """
    paths: list[str] = []
    for name in inputs:
        if not name or "\0" in name:
            raise InputError(f"{name!r} is not a file name; give a file, a folder or a glob")
        if name.startswith("hf:"):
            # Absolute, so that workers in any folder find a folder of `save_to_disk`.
            folder, sign, split = name.removeprefix("hf:").partition(":")
            here = Path(folder)
            paths.append(f"hf:{here.absolute()}{sign}{split}" if here.is_dir() else name)
            continue
        path = Path(name)
        if path.is_dir():
            files = [file for file in path.rglob("*") if _readable(file, path)]
            # Next to data of other kinds, `.json` files are metadata, not data.
            files = [file for file in files if not file.name.lower().endswith(_SINGLE)] or files
            nothing = f"the folder has no file that ends in {', '.join(_ENDINGS)}"
        elif _is_glob(name):
            files = list(map(Path, glob.glob(name, recursive=True)))  # noqa: PTH207  # any root
            nothing = "no file matches; check the pattern"
        elif path.exists():
            files, nothing = [path], "is not a file that can be read twice; expected a file"
        else:
            siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            close = nearest(path.name, siblings)
            hint = f": {close}" if close.startswith("did") else ""
            raise InputError(f"{name}: no such file or folder; check the path{hint}")
        # Pipes are left out: a file is read once for counting and again for scoring.
        inside = sorted(str(file.absolute()) for file in files if file.is_file())
        if not inside:
            raise InputError(f"{name}: {nothing}")
        paths += inside
    for file in paths:
        if not file.startswith("hf:") and not file.lower().endswith(_ENDINGS):
            raise InputError(f"{file}: unknown ending of a dataset; expected {', '.join(_ENDINGS)}")
    if twice := next((file for at, file in enumerate(paths) if file in paths[:at]), None):
        raise InputError(f"{twice}: is named twice; every row would be scored twice")
    return paths


def _readable(file: Path, folder: Path) -> bool:
    """Return True if a file in a folder is part of its data: not hidden, with a known ending."""
    parts = file.relative_to(folder).parts
    hidden = any(part.startswith((".", "_")) for part in parts)
    return not hidden and file.name.lower().endswith(_ENDINGS)


def _names(paths: Sequence[str]) -> list[str]:
    """Return the names of files in ids, with as many folders as needed to distinguish them."""
    names: list[str] = []
    depth = 0
    while len(set(names)) < len(paths):
        depth += 1
        names = [
            p if p.startswith("hf:") else "/".join(Path(p).parts[-depth:]).lstrip("/")
            for p in paths
        ]
    return names


def counted(
    paths: Sequence[str], shard_rows: int | None, earlier: Mapping[str, InputFile], bar: Bar
) -> tuple[list[InputFile], int]:
    """Return every file with its number of rows, and the number of rows in a shard.

    Files of JSON lines are read once for this, compressed ones too, so that a truncated file is
    found before any work is done.

    Args:
        paths: files from `dataset_files`.
        shard_rows: rows in a shard, if set by the user; None for a default by the number of rows.
        earlier: files by path as an earlier run counted them; unchanged ones are not counted again.
        bar: progress bar, advanced by one step per file.

    Raises:
        InputError: a file cannot be read, or none has a row.
    """
    counts = []
    for path, name in zip(paths, _names(paths), strict=True):
        counts.append(_count(path, name, earlier.get(path)))
        bar.advance()
    rows = sum(file.rows for file, _ in counts)
    if not rows:
        what = paths[0] if len(paths) == 1 else f"{len(paths)} files"
        raise InputError(f"{what}: has no row; expected one sentence pair per row")
    if shard_rows is None:
        # About a thousand parts for a large dataset, so that a killed run loses little.
        shard_rows = min(max(rows // 1000, 10_000), 200_000)
    files = [_with_offsets(file, at, shard_rows) if at else file for file, at in counts]
    return files, shard_rows


_STEP = 1_000  # rows between offsets that are kept while lines are counted


def _with_offsets(file: InputFile, every: Sequence[int], shard_rows: int) -> InputFile:
    offsets = []
    with Path(file.path).open("rb") as lines:
        for row in range(0, file.rows, shard_rows):
            step, rest = divmod(row, _STEP)
            lines.seek(every[step])
            for _ in range(rest):
                lines.readline()
            offsets.append(lines.tell())
    return replace(file, offsets=tuple(offsets))


def _count(path: str, name: str, earlier: InputFile | None) -> tuple[InputFile, Sequence[int]]:
    """Return a file with its rows; for plain JSON lines also where every thousandth begins."""
    if path.startswith("hf:"):
        data = hub_dataset(path)
        mark = hashlib.sha256(str(data._fingerprint).encode()).hexdigest()[:16]
        return InputFile(path, name, "hf", len(data), mark=mark), ()
    try:
        state = Path(path).stat()
        mark = _ends(path, state.st_size)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    # Time and size show most changes; the ends of the file show copies with an older date.
    base = (state.st_size, state.st_mtime_ns, mark)
    # A Parquet file stores its number of rows, so earlier counts are not needed.
    if path.lower().endswith(_PARQUET):
        rows = parquet_file(path).metadata.num_rows
        return InputFile(path, name, "parquet", rows, *base), ()
    if earlier is not None and (earlier.size, earlier.changed, earlier.mark) == base:
        return replace(earlier, name=name), ()
    rows, starts = _count_lines(path)
    packed = path.lower().endswith((".gz", ".zst"))
    return InputFile(path, name, "jsonl", rows, *base), () if packed else starts


def _ends(path: str, size: int) -> str:
    digest = hashlib.sha256(f"{size}:".encode())
    with Path(path).open("rb") as file:
        digest.update(file.read(_END))
        if size > _END:
            file.seek(max(_END, size - _END))
            digest.update(file.read(_END))
    return digest.hexdigest()[:16]


def _count_lines(path: str) -> tuple[int, list[int]]:
    """Return the number of lines of a file, and where every thousandth begins."""
    import numpy as np

    rows, at, starts, last = 0, 0, [0], b"\n"
    with open_lines(path) as file:
        for piece in _pieces(file, path):
            count = piece.count(b"\n")
            # Only pieces in which such a row begins are searched byte by byte.
            following = -(-(rows + 1) // _STEP) * _STEP  # the next row whose start is kept
            if rows + count >= following:
                ends = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == 10)
                wanted = ends[following - rows - 1 :: _STEP]
                starts += (wanted + (at + 1)).tolist()
            rows += count
            at += len(piece)
            last = piece[-1:]
    return rows + (last != b"\n"), starts


def _pieces(file: IO[bytes], path: str) -> Iterator[bytes]:
    try:
        while piece := file.read(_PIECE):
            yield piece
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise damaged(path, error) from None


def damaged(path: str, error: BaseException) -> InputError:
    """Return the error for compressed data that is truncated or altered."""
    return InputError(
        f"{path}: damaged data ({error}): truncated or altered; fetch or compress it again"
    )


def open_lines(path: str) -> IO[bytes]:
    """Open JSON lines, plain or compressed.

    Compressed data that is truncated or altered raises `OSError`, `EOFError` or `zlib.error` when
    it is read.

    Raises:
        InputError: the file cannot be opened.
        MissingExtraError: it is compressed with zstd, and pyarrow is not installed.
    """
    try:
        if path.lower().endswith(".gz"):
            return gzip.open(path, "rb")  # type: ignore[return-value]  # reads bytes as others do
        if path.lower().endswith(".zst"):
            packed = pyarrow("files compressed with zstd").input_stream(path, compression="zstd")
            return io.BufferedReader(packed, _PIECE)
        return Path(path).open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def parquet_file(path: str) -> Any:
    """Open a Parquet file, which is then read page by page.

    Raises:
        InputError: it cannot be read as Parquet.
        MissingExtraError: pyarrow is not installed.
    """
    arrow = pyarrow()
    import pyarrow.parquet as parquet

    try:
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_PIECE)
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise InputError(
            f"{path}: cannot be read as Parquet ({reason:.200}); check that it is complete"
        ) from None


def column_names(file: InputFile) -> list[str]:
    """Return the names of a file's columns; for JSON lines, those of the first object.

    Raises:
        InputError: no row of the first hundred is a JSON object.
    """
    if file.kind == "parquet":
        return list(parquet_file(file.path).schema_arrow.names)
    if file.kind == "hf":
        return list(hub_dataset(file.path).column_names)
    import json

    with open_lines(file.path) as lines:
        for number in range(100):
            line = lines.readline(MOST_LINE)
            # Two mistakes that are common enough for messages of their own.
            if not number and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise InputError(f"{file.path}: is UTF-16; convert it to UTF-8 (`iconv`)")
            if not number and line.lstrip().startswith(b"["):
                raise InputError(
                    f"{file.path}: is a JSON list; expected one object a line: convert it, e.g. "
                    "`jq -c '.[]'`"
                )
            try:
                value = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return list(value)
    raise InputError(
        f"{file.path}: none of its first lines is a JSON object; expected one object a line"
    )


def unchanged(file: InputFile) -> None:
    """Refuse a file that has changed since the run was planned.

    Raises:
        InputError: its size or time differs, or it is gone.
    """
    if file.kind == "hf":
        return
    try:
        state = Path(file.path).stat()
    except OSError as error:
        raise InputError(
            f"{file.path}: can no longer be read ({error.strerror or error})"
        ) from None
    if (state.st_size, state.st_mtime_ns) != (file.size, file.changed):
        raise InputError(
            f"{file.path}: has changed since the run began ({file.size} bytes then, "
            f"{state.st_size} now); its parts so far are from the old version: start again with "
            "another folder"
        )

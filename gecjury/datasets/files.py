"""The files of a dataset: found by path, folder, glob or name, opened, counted, identified."""

from __future__ import annotations

import glob
import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gecjury.core.durable import full_disk, unwritable
from gecjury.core.errors import InputError, nearest
from gecjury.core.runtime import Bar
from gecjury.core.textfiles import parse_json
from gecjury.corpus.files.hub import datasets_package, hub_dataset
from gecjury.corpus.files.rows import parquet_batch
from gecjury.datasets.shards import InputFile

if TYPE_CHECKING:
    from datasets import Dataset

CONVERTED = ".rows"
"""Folder of rows that were converted for reading; removed when the run ends."""

_PARQUET = (".parquet", ".pq")
_JSON = (".jsonl", ".ndjson", ".json")
_PACKED = ("", ".gz")
_ENDINGS = (*_PARQUET, *(json + packed for json in _JSON for packed in _PACKED))
_SINGLE = (".json", ".json.gz")
_END = 1 << 16


def is_dataset(name: str) -> bool:
    """Return True if a name is certainly that of a dataset, not of a text file.

    JSON lines may also contain a text: see `gecjury.studies.datasets`.
    """
    lower = name.lower()
    ends = name.endswith("/") or lower.endswith((*_PARQUET, ".ndjson", ".ndjson.gz"))
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
    if twice := next((file for file, times in Counter(paths).items() if times > 1), None):
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
    paths: Sequence[str],
    folder: str,
    shard_rows: int | None,
    earlier: Mapping[str, InputFile],
    bar: Bar,
) -> tuple[list[InputFile], int]:
    """Return every file with its number of rows, and the number of rows in a shard.

    Args:
        paths: files from `dataset_files`.
        folder: folder of results, to which rows are converted; see `open_rows`.
        shard_rows: rows in a shard, if set by the user; None for a default by the number of rows.
        earlier: files by path as an earlier run counted them; unchanged ones are not read again.
        bar: progress bar, advanced by one step per file.

    Raises:
        InputError: a file cannot be read, or none has a row.
    """
    files = []
    for path, name in zip(paths, _names(paths), strict=True):
        files.append(_count(path, name, folder, earlier.get(path)))
        bar.advance()
    rows = sum(file.rows for file in files)
    if not rows:
        what = paths[0] if len(paths) == 1 else f"{len(paths)} files"
        raise InputError(f"{what}: has no row; expected one sentence pair per row")
    # About a thousand parts for a large dataset, so that a killed run loses little.
    return files, shard_rows or min(max(rows // 1000, 10_000), 200_000)


def _count(path: str, name: str, folder: str, earlier: InputFile | None) -> InputFile:
    """Return a file with its rows."""
    if path.startswith("hf:"):
        data = hub_dataset(path)
        mark = hashlib.sha256(str(data._fingerprint).encode()).hexdigest()[:16]
        return InputFile(path, name, len(data), mark=mark)
    try:
        state = Path(path).stat()
        # Time and size show most changes; the ends of the file show copies with an older date.
        mark = _ends(path, state.st_size)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    base = (state.st_size, state.st_mtime_ns, mark)
    if earlier is not None and (earlier.size, earlier.changed, earlier.mark) == base:
        return replace(earlier, name=name)
    rows = len(open_rows(path, folder)) if state.st_size else 0
    return InputFile(path, name, rows, *base)


def _ends(path: str, size: int) -> str:
    digest = hashlib.sha256(f"{size}:".encode())
    with Path(path).open("rb") as file:
        digest.update(file.read(_END))
        if size > _END:
            file.seek(max(_END, size - _END))
            digest.update(file.read(_END))
    return digest.hexdigest()[:16]


def open_rows(path: str, folder: str) -> Dataset:
    """Return the rows of a file as a dataset of the package `datasets`, which stays on disk.

    Args:
        path: a file of `dataset_files`.
        folder: folder of results. A file is converted once, into a subfolder of it.

    Raises:
        InputError: the file cannot be read; names the line of JSON lines that is at fault.
        MissingExtraError: the package is not installed.
    """
    if path.startswith("hf:"):
        return hub_dataset(path)
    datasets = datasets_package(path)
    # It shows bars of its own, and logs what it raises as well.
    bars, level = not datasets.are_progress_bars_disabled(), datasets.logging.get_verbosity()
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    kind = "parquet" if path.lower().endswith(_PARQUET) else "json"
    try:
        named, converted = glob.escape(path), str(Path(folder) / CONVERTED)
        batch = {}
        if kind == "parquet":
            from pyarrow import parquet

            batch = {"batch_size": parquet_batch(parquet.read_metadata(path), path)}
        return datasets.load_dataset(
            kind, data_files=named, split="train", cache_dir=converted, **batch
        )
    except InputError:
        raise
    except Exception as error:  # readers of formats raise errors of many kinds
        if full := full_disk(error):
            raise unwritable(Path(folder) / CONVERTED, full) from None
        reason = str(error.__cause__ or error).partition("\n")[0] or type(error).__name__
        line = _faulty_line(path) if kind == "json" else ""
        raise InputError(
            f"{path}{line}: cannot be read as {'Parquet' if kind == 'parquet' else 'JSON lines'} "
            f"({reason:.200}); check that it is complete"
        ) from None
    finally:
        datasets.logging.set_verbosity(level)
        if bars:
            datasets.enable_progress_bars()


def _faulty_line(path: str) -> str:
    """Return the place of the first line that is not an object of JSON; empty if all are."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    sound = isinstance(parse_json(line.decode("utf-8-sig"), path, ""), dict)
                except (InputError, ValueError):
                    sound = False
                if not sound:
                    return f", line {number}"
    except (OSError, EOFError, zlib.error):
        pass  # compressed data that is cut short
    return ""


def unchanged(file: InputFile) -> None:
    """Refuse a file that has changed since the run was planned.

    Raises:
        InputError: its size or time differs, or it is gone.
    """
    if file.path.startswith("hf:"):
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

"""A folder of results of a dataset, read as scores: one system a column of hypotheses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gecjury.errors import InputError, MissingExtraError, OptionError, install_hint, nearest
from gecjury.textfiles import read_json

__all__ = ["folder_digest", "is_result_folder", "read_result_folder"]

_MANIFEST, _RESULTS = "dataset.json", "results.json"
_MOST_ROWS = 5_000_000  # what compares reads all scores at once; no benchmark has a tenth of it


def is_result_folder(path: Path) -> bool:
    """Whether a folder is one that `gecjury score DATASET -o` made."""
    return (path / _MANIFEST).is_file()


def _parts(path: Path) -> list[Path]:
    return sorted(p for p in path.glob("part-*") if p.suffix in (".parquet", ".jsonl"))


def folder_digest(path: Path) -> str:
    """SHA-256 of the results and of every part with its name."""
    if not (path / _RESULTS).is_file():
        raise InputError(
            f"{path}: its run has not come to its end; give its `gecjury score` command again"
        )
    digest = hashlib.sha256()
    for part in (path / _RESULTS, *_parts(path)):
        with part.open("rb") as file:
            digest.update(
                f"{part.name}:{hashlib.file_digest(file, 'sha256').hexdigest()};".encode()
            )
    return digest.hexdigest()


def read_result_folder(
    path: Path, metric: str
) -> dict[str, tuple[list[float | None], float | None]]:
    """Scores of every row and corpus score, by system.

    Rows stand in the order of the dataset: the n-th is that of the n-th sentence. The name is empty
    where there was only one column of hypotheses.

    Args:
        path: the folder, finished.
        metric: whose scores, as its column is called; may be empty where there is one.

    Raises:
        OptionError: there are several metrics and none is named, or there is none of the name.
        InputError: the folder is damaged, or too large to be compared.
    """
    results = read_json(path / _RESULTS, "the results of a finished run")
    try:
        records = [row for row in results["rows"] if isinstance(row, Mapping)]
        labels = list(dict.fromkeys(str(row["metric"]) for row in records))
        if metric and metric not in labels:
            raise OptionError(f"scores: metric={metric}: {path} has {nearest(metric, labels)}")
        if not metric and len(labels) > 1:
            raise OptionError(
                f"scores: {path} holds scores of {', '.join(labels)}: choose one with metric=NAME"
            )
        label = metric or labels[0]
        if results["read"] > _MOST_ROWS:
            raise InputError(
                f"{path}: holds {results['read']} rows; at most {_MOST_ROWS} are compared at once"
            )
        chosen = {str(row["system"]): row["score"] for row in records if row["metric"] == label}
        columns = {system: f"{system}.{label}" if system else label for system in chosen}
        scores: dict[str, list[float | None]] = {system: [] for system in chosen}
        for part in _parts(path):
            for system, values in _columns(part, columns):
                scores[system] += values
        if any(len(values) != results["read"] for values in scores.values()):
            raise ValueError("rows are missing")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, OptionError | InputError):
            raise
        raise InputError(
            f"{path}: is no folder of results, or damaged ({type(error).__name__}: {error!s:.80})"
        ) from None
    return {system: (scores[system], chosen[system]) for system in chosen}


def _columns(part: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """A part's scores by system."""
    if part.suffix == ".jsonl":
        with part.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for system, column in columns.items():
            yield system, [row[column] for row in rows]
        return
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"Parquet files need the package {error.name}, which is not installed: "
            f"{install_hint('scale')}"
        ) from None
    try:
        table = parquet.read_table(part, columns=list(columns.values()))
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{part.name} cannot be read: {error!s:.80}") from None
    for system, column in columns.items():
        yield system, table.column(column).to_pylist()

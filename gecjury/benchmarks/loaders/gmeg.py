"""GMEG (Napoles et al. 2019): six systems on three domains, each output rated from 0 to 100.

The score files have a column `ref` for the human correction: one of the four references, drawn for
each sentence, and the release does not say which. The set `paper` uses the first reference as that
system and the other three as references, as Goto et al. (2026) do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import DataError, InputError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Version
from gecjury.corpus.files.rows import Row, read_table

_T = TypeVar("_T")
_MOST = 100.0
_COLUMN = {"ref0": "ref"}
"""Columns of the score files whose names differ from the system's."""


def load_gmeg(request: LoadRequest) -> Benchmark:
    """Load GMEG for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    _, split, domain = info.name.split("-")
    start = f"GMEG/data/{split}/{domain}"
    names = info.system_sets[request.systems]
    # The human correction ref0 is a reference too, except where it takes part as a system.
    references = [f"ref{number}" for number in range(int("ref0" in names), 4)]
    files = {name: f"{start}/{name}" for name in (*names, *references, "source")}
    tables = {kind: f"{start}-{kind}-scores.csv" for kind in ("corpus", "segment")}
    paths = _locate(request, [*files.values(), *tables.values()])
    texts = {name: Version(tuple(read_lines(paths[path]))) for name, path in files.items()}
    sources = texts["source"].lines
    corpus = request.corpus(
        sources,
        texts,
        lambda _: [texts[name] for name in references],
        # The name contains their number, since two different sets are called official.
        reference_name=request.official_called(f"official-{len(references)}"),
        reference_sets={"official": lambda: [texts[name] for name in references]},
    )
    # The mean human rating of each system over the sentences, 0 to 100.
    rows = read_table(paths[tables["corpus"]]).rows
    published = {row["system"]: _number(row, "score") for row in rows}
    ratings = _segment_scores(paths[tables["segment"]], len(sources))
    segment = np.array([_of(ratings, name, paths[tables["segment"]]) for name in names])
    mean = {n: _of(published, n, paths[tables["corpus"]]) for n in info.system_sets["all"]}
    return request.benchmark(
        corpus,
        rankings={"sentence": rank_ratings(segment, corpus)},
        human={"sentence": {"mean": mean}},
        notes=(
            "rankings are derived from mean ratings: one item per sentence, equal means are a tie",
            *["ref0 is the human correction; it is not known which reference was rated"]
            * ("ref0" in names),
        ),
        segment_scores=segment,
    )


def _locate(request: LoadRequest, names: list[str]) -> dict[str, Path]:
    """Return the paths of pinned files and, of domains not in the manifest, of the user's files."""
    folder = request.folder
    supplied = {name: folder.root / name for name in names if name not in folder.files}
    if missing := [name for name, path in supplied.items() if not path.is_file()]:
        raise DataError(
            f"{request.info.name} is not supplied: its text is not among the pinned files (Yahoo's "
            "is given on request only, see the README of grammarly/GMEG). Put the texts (one "
            f"sentence a line) and scores into {folder.root}, or name a folder with this layout "
            f"with `data=DIR`. Missing now: {', '.join(sorted(missing))}"
        )
    pinned = [name for name in names if name in folder.files]
    return supplied | folder.paths(pinned, wanted_by=request.info.name)


def _of(table: Mapping[str, _T], system: str, path: Path) -> _T:
    column = _COLUMN.get(system, system)
    if column not in table:
        raise InputError(f"{path}: no scores of {column}; found {', '.join(table)}")
    return table[column]


def _segment_scores(path: Path, lines: int) -> dict[str, FloatArray]:
    """Return mean human ratings by column, shape (sentences,); NaN where the cell is empty."""
    table = read_table(path, texts=True)
    if len(table.rows) != lines:
        raise InputError(f"{path}: {len(table.rows)} rows below the header, expected {lines}")
    return {name: np.array([_number(row, name) for row in table.rows]) for name in table.columns}


def _number(row: Row, column: str) -> float:
    return row.number(column, _MOST) if row[column].strip() else math.nan

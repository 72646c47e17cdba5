"""A folder of results of a dataset, read as scores: one system per column of hypotheses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.records import from_record, read_record
from gecjury.core.textfiles import refuse_special_files
from gecjury.corpus.files.rows import check_size, pyarrow

_MANIFEST = "dataset.json"
SIDES = ".sides"
"""Folder for what shards write in addition to parts, until the run combines it."""
RESULTS = "results.json"
"""Corpus scores, counts and notes; written last, so its presence means that the run is finished."""

_AGAIN = "delete it, and run the `gecjury score` command of the folder again"
_MOST_ROWS = 5_000_000  # comparisons read all scores at once; no benchmark has a tenth of it


@dataclass(frozen=True)
class CorpusScore:
    """A metric's corpus score of one system.

    Attributes:
        system: its name; empty if there is only one column of hypotheses.
        metric: label of the metric.
        family: family of the metric.
        signature: signature as one line.
        score: the score; None if there is none.
    """

    system: str
    metric: str
    family: str
    signature: str
    score: float | None


@dataclass(frozen=True)
class ConditionCount:
    """The effect of one part of a condition.

    Attributes:
        condition: text of the part.
        removed: rows that it was the first to remove.
        failed: rows that do not satisfy it.
    """

    condition: str
    removed: int
    failed: int


@dataclass(frozen=True)
class Results:
    """The contents of `results.json`.

    Attributes:
        rows: one per metric and system: the corpus score, and precision and recall if there are
            any.
        read: rows of the dataset, bad ones included.
        bad: rows without any score.
        nulls: number of missing scores, by column and reason.
        kept: rows that satisfy the condition; None if there is no condition.
        conditions: one per part of the condition.
        notes: remarks, without duplicates.
    """

    rows: tuple[Mapping[str, object], ...]
    read: int
    bad: int
    nulls: Mapping[str, Mapping[str, int]]
    kept: int | None
    conditions: tuple[ConditionCount, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse rows without a score.

        Raises:
            ValueError: a row is not a `CorpusScore`; names the value and what is expected.
        """
        self.scores()

    def scores(self) -> tuple[CorpusScore, ...]:
        """Return only the corpus scores, one per row."""
        return tuple(
            from_record(CorpusScore, dict(row), f"rows[{n}]") for n, row in enumerate(self.rows)
        )


def read_results(folder: Path) -> Results:
    """Return the results of a finished run.

    Raises:
        InputError: the file is missing or damaged; names file and value.
    """
    what = "the results of a finished run"
    return read_record(Results, folder / RESULTS, what, _AGAIN)


def is_result_folder(path: Path) -> bool:
    """Return whether `gecjury score DATASET -o` created a folder."""
    return (path / _MANIFEST).is_file()


def _parts(path: Path) -> list[Path]:
    return sorted(path.glob("part-*.parquet"))


def refuse_pipes(folder: Path) -> None:
    """Refuse a folder of results with a pipe or a device instead of a file.

    Raises:
        InputError: names the first one.
    """
    refuse_special_files(folder, folder / SIDES, remedy=_AGAIN)


def folder_digest(path: Path) -> str:
    """Return the SHA-256 of the results and of every part with its name.

    Raises:
        InputError: the run is not finished, or a file cannot be read.
    """
    refuse_pipes(path)
    if not (path / RESULTS).is_file():
        raise InputError(f"{path}: its run has not finished; run its `gecjury score` command again")
    digest = hashlib.sha256()
    for part in (path / RESULTS, *_parts(path)):
        try:
            with part.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{part}: cannot be read ({error.strerror}); {_AGAIN}") from None
        digest.update(f"{part.name}:{content};".encode())
    return digest.hexdigest()


def chosen_metric(where: str, labels: Sequence[str], metric: str) -> str:
    """Return the metric whose scores are read; it must be named if there are several.

    Args:
        where: the file or folder, for messages.
        labels: labels of the metrics with scores; empty if the file does not name them.
        metric: the metric that the user named; may be empty.

    Raises:
        OptionError: there are several metrics and none is named, or there is none of the name.
    """
    if metric and metric not in labels:
        raise OptionError(f"scores: metric={metric}: {where} has {nearest(metric, labels)}")
    if not metric and len(labels) > 1:
        raise OptionError(
            f"scores: {where} contains scores of {', '.join(labels)}: choose one with metric=NAME"
        )
    return metric or "".join(labels)


def read_result_folder(
    path: Path, metric: str
) -> dict[str, tuple[list[float | None], float | None]]:
    """Return the scores of every row and the corpus score, by system.

    Rows are in the order of the dataset: the n-th row is that of the n-th sentence. The name is
    empty if there was only one column of hypotheses.

    Args:
        path: the folder of a finished run.
        metric: metric of the scores, named as its column; may be empty if there is only one.

    Raises:
        OptionError: there are several metrics and none is named, or there is none of the name.
        InputError: the folder is damaged, or too large to be compared.
    """
    results = read_results(path)
    labels = list(dict.fromkeys(row.metric for row in results.scores()))
    if not labels:
        raise InputError(f"{path / RESULTS}: contains no score; {_AGAIN}")
    label = chosen_metric(str(path), labels, metric)
    if results.read > _MOST_ROWS:
        raise InputError(
            f"{path}: contains {results.read} rows; at most {_MOST_ROWS} are compared at once"
        )
    # Columns are named after system and metric if there are several systems.
    chosen = {row.system: row.score for row in results.scores() if row.metric == label}
    columns = {system: f"{system}.{label}" if system else label for system in chosen}
    scores: dict[str, list[float | None]] = {system: [] for system in chosen}
    for part in _parts(path):
        for system, values in _columns(part, columns):
            scores[system] += values
    # Counted again, since a missing part would shift all sentences after it.
    if any(len(values) != results.read for values in scores.values()):
        raise InputError(f"{path}: is damaged (rows are missing); {_AGAIN}")
    return {system: (scores[system], chosen[system]) for system in chosen}


def _columns(part: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, list[float | None]]]:
    """Yield a part's scores by system.

    Raises:
        InputError: the part cannot be read, or a value is not a number; names file and value.
    """
    pyarrow()
    import pyarrow.parquet as parquet

    try:
        check_size(str(part), parquet.read_metadata(part).num_rows, 0)
        table = parquet.read_table(part, columns=list(columns.values())).to_pydict()
    # Arrow's errors are subclasses of Python's errors for the same faults.
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{part}: cannot be read ({error!s:.80}); {_AGAIN}") from None
    for system, column in columns.items():
        values = table[column]
        odd = [v for v in values if v is not None and type(v) not in (int, float)]
        if odd:
            raise InputError(f"{part}, {column}: {odd[0]!r:.60}; expected a number; {_AGAIN}")
        yield system, values

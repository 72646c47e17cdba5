"""Show stored results: comparisons from `compare --format json`, folders of score files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gecjury.core.errors import InputError
from gecjury.core.records import from_record
from gecjury.core.textfiles import read_json
from gecjury.core.wording import number
from gecjury.report.page.page import header, sections
from gecjury.scoring.score_files import SCORE_FORMAT, ScoreFile
from gecjury.scoring.signature import Signature
from gecjury.web.answers import file_mark

COMPARISON = "a comparison, as `gecjury compare --format json` prints it"
_MOST_FILES = 1_000


class StoredFile:
    """A JSON file that is read again when it has changed."""

    def __init__(self, path: Path, expected: str) -> None:
        """Remember the file; it is read when it is first needed."""
        self.path, self._expected = path, expected
        self._mark: tuple[int, int, int] | None = None
        self._value: Any = None

    def value(self) -> Any:
        """Return the current content.

        Raises:
            InputError: it is missing or not JSON.
        """
        mark = file_mark(self.path)
        if mark is None:
            raise InputError(f"{self.path}: no such file; it may have been moved")
        if mark != self._mark:
            self._value = read_json(self.path, self._expected)
            self._mark = mark
        return self._value


def shown_comparison(file: StoredFile) -> dict[str, Any]:
    """Return the content of the page of a comparison that was printed as JSON.

    Raises:
        InputError: it is not a comparison, or is damaged.
    """
    document = file.value()
    try:
        return {**header(document), "sections": sections(document)}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The file may be of any kind and lack anything; rendering is the check.
        raise InputError(
            f"{file.path}: is not a comparison, or is damaged ({type(error).__name__}); expected "
            f"{COMPARISON}"
        ) from None


@dataclass(frozen=True)
class Board:
    """Scores of systems on the same texts.

    Attributes:
        title: description of the texts.
        metrics: the metrics, one per column.
        rows: system, and for each metric its score, its rank and whether it is the best; sorted by
            the first metric.
    """

    title: str
    metrics: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str, bool]]]]


def leaderboards(folder: Path, files: dict[Path, StoredFile]) -> tuple[list[Board], list[str]]:
    """Return the score files of a folder as tables, one for all files on the same texts.

    Args:
        folder: folder with files that `score -o` or `compare -o` wrote.
        files: the files read before; new ones are added.

    Returns:
        The tables, and a line for each file that is left out.

    Raises:
        InputError: there is no such folder, or it contains too many files.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    if len(paths) > _MOST_FILES:
        raise InputError(f"{folder}: {len(paths)} files; expected at most {_MOST_FILES}")
    texts: dict[tuple[str, int], dict[str, dict[str, float]]] = {}
    left_out = []
    for path in paths:
        file = files.setdefault(path, StoredFile(path, "a score file of `gecjury score -o`"))
        try:
            key, label, scores = _scores(file.value())
        except InputError as error:
            left_out.append(str(error))
            continue
        except ValueError:
            left_out.append(f"{path.name}: is not a score file")
            continue
        metrics = texts.setdefault(key, {})
        label = label if label not in metrics else f"{label} ({path.stem[-6:]})"
        metrics[label] = scores
    boards = [
        _board(f"{number(count)} sentences", metrics) for (_, count), metrics in texts.items()
    ]
    return boards, left_out


def _scores(document: Any) -> tuple[tuple[str, int], str, dict[str, float]]:
    """Return the texts of a score file as (fingerprint, lines), its metric and systems' scores.

    Raises:
        ValueError: it is not a score file.
    """
    record = from_record(ScoreFile, document)
    if record.format != SCORE_FORMAT or record.signature is None:
        raise ValueError("format")
    signature = Signature.from_json(record.signature)
    # Rows of a system's earlier texts have no scores.
    rows = [row for row in record.rows if row.sentences is not None]
    scores = {row.system: math.nan if row.score is None else row.score for row in rows}
    count = max((len(row.sentences or ()) for row in rows), default=0)
    return (signature.data.get("sources", ""), count), signature.label, scores


def _board(title: str, metrics: Mapping[str, Mapping[str, float]]) -> Board:
    rows = []
    for name in dict.fromkeys(name for scores in metrics.values() for name in scores):
        cells = []
        for scores in metrics.values():
            value = scores.get(name, math.nan)
            rank = 1 + sum(other > value for other in scores.values())
            scored = not math.isnan(value)
            cells.append((number(value, 4), f"#{rank}" if scored else "", scored and rank == 1))
        rows.append((name, cells))
    # Systems without a score have no rank and come last.
    order = {
        name: -value
        for name, value in next(iter(metrics.values())).items()
        if not math.isnan(value)
    }
    rows.sort(key=lambda row: order.get(row[0], math.inf))
    return Board(title, list(metrics), rows)

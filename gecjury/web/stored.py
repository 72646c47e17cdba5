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
from gecjury.report.words import FAMILY_NAMES, VIEWS
from gecjury.scoring.score_files import SCORE_FORMAT, ScoreFile
from gecjury.scoring.signature import Signature
from gecjury.web.answers import file_mark

_EXPECTED = "a comparison, as `gecjury compare --format json` prints it"
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


@dataclass(frozen=True)
class Filters:
    """A filter of the rows of a comparison.

    Attributes:
        family: family of metrics; empty for all.
        metric: part of the name of metrics; empty for all.
        view: view of the human judgments; empty for all.
    """

    family: str = ""
    metric: str = ""
    view: str = ""

    def keep(self, row: Mapping[str, Any]) -> bool:
        """Return True if a row is shown; rows of rated aspects belong to every view."""
        human = row.get("human")
        return (
            (not self.family or row["family"] == self.family)
            and self.metric.lower() in str(row["metric"]).lower()
            and (not self.view or human not in VIEWS or human == self.view)
        )


class StoredComparison(StoredFile):
    """A comparison that was printed as JSON."""

    def __init__(self, path: Path) -> None:
        """Remember the file."""
        super().__init__(path, _EXPECTED)

    def shown(self, filters: Filters) -> dict[str, Any]:
        """Return the content of its page, as on the page of `compare --html`.

        Raises:
            InputError: it is not a comparison, or is damaged.
        """
        document = self.value()
        try:
            part = narrowed(document, filters)
            metrics = {row["metric"] for row in part["rows"]}
            about = header(part)
            count = len({row["metric"] for row in document["rows"]})
            about["facts"] = [*about["facts"], f"{len(metrics)} of {count} metrics shown"]
            if filters != Filters():
                about |= {"lead": "", "contrast": ()}  # they are about all metrics
            return {
                **about,
                "families": [
                    (family, FAMILY_NAMES.get(family, family))
                    for family in dict.fromkeys(row["family"] for row in document["rows"])
                ],
                "views": [(v, VIEWS[v]) for v in document["human_scores"] if v in VIEWS],
                "sections": sections(part) if metrics else [],
            }
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The file may be of any kind and lack anything; rendering is the check.
            raise InputError(
                f"{self.path}: is not a comparison, or is damaged ({type(error).__name__}); "
                f"expected {_EXPECTED}"
            ) from None


def narrowed(document: Mapping[str, Any], filters: Filters) -> dict[str, Any]:
    """Return the part of a comparison that passes the filters.

    Args:
        document: a comparison as `compare --format json` prints it.
        filters: the filters.
    """
    rows = [row for row in document["rows"] if filters.keep(row)]
    names = {row["metric"] for row in rows}
    segment = dict(document.get("segment") or {})
    segment["rows"] = [row for row in segment.get("rows") or () if filters.keep(row)]
    return {
        **document,
        "rows": rows,
        "human_scores": {
            v: kind for v, kind in document["human_scores"].items() if filters.view in ("", v)
        },
        "ratings": [row for row in document.get("ratings") or () if filters.keep(row)],
        "segment": segment,
        "biases": [row for row in document.get("biases") or () if filters.keep(row)],
        "audit_verdict": {
            name: text
            for name, text in (document.get("audit_verdict") or {}).items()
            if name in names
        },
        "significance": [_of_metrics(test, names) for test in document.get("significance") or ()],
    }


def _of_metrics(test: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a test restricted to some metrics; p-values stay corrected for all metrics."""
    at = [place for place, name in enumerate(test["metrics"]) if name in names]
    part = {**test, "metrics": [test["metrics"][i] for i in at]}
    for key in ("p", "adjusted"):
        if test.get(key):
            part[key] = [[test[key][i][j] for j in at] for i in at]
    for key in ("values", "clusters"):
        if test.get(key):
            part[key] = [test[key][i] for i in at]
    return part


@dataclass(frozen=True)
class Board:
    """Scores of systems on the same texts.

    Attributes:
        title: description of the texts.
        metrics: the metrics, one per column.
        by: the metric by which the rows are sorted.
        rows: system, and for each metric its score, its rank and whether it is the best.
    """

    title: str
    metrics: Sequence[str]
    by: str
    rows: Sequence[tuple[str, Sequence[tuple[str, str, bool]]]]


def leaderboards(
    folder: Path, by: str, files: dict[Path, StoredFile]
) -> tuple[list[Board], list[str]]:
    """Return the score files of a folder as tables, one for all files on the same texts.

    Args:
        folder: folder with files that `score -o` or `compare -o` wrote.
        by: metric by whose scores the systems are sorted; by the first one if it is not there.
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
        _board(f"{number(count)} sentences", metrics, by) for (_, count), metrics in texts.items()
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


def _board(title: str, metrics: Mapping[str, Mapping[str, float]], by: str) -> Board:
    chosen = by if by in metrics else next(iter(metrics))
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
    order = {name: -value for name, value in metrics[chosen].items() if not math.isnan(value)}
    rows.sort(key=lambda row: order.get(row[0], math.inf))
    return Board(title, list(metrics), chosen, rows)

"""Results on disk shown again: comparisons of `compare --format json`, folders of score files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gecjury.errors import InputError
from gecjury.records import from_record
from gecjury.report.page.glossary import TERMS, metric_names
from gecjury.report.page.markup import render
from gecjury.report.page.plots import overviews
from gecjury.report.page.sections import edit_section, rating_section, segment_section
from gecjury.report.page.tables import (
    extents_of,
    family_mark,
    family_table,
    judge_costs,
    significance_tables,
)
from gecjury.report.page.words import (
    FAMILY_NAMES,
    VIEWS,
    headline,
    is_compared,
    significance_level,
)
from gecjury.scoring.score_files import SCORE_FORMAT, ScoreFile
from gecjury.scoring.signature import Signature
from gecjury.textfiles import read_json
from gecjury.wording import number

_EXPECTED = "a comparison, as `gecjury compare --format json` prints it"
_MOST_FILES = 1_000
_KEYS = {"benchmark": str, "systems": list, "rows": list, "human_scores": dict, "sentences": int}


class StoredFile:
    """A file of JSON that is read anew when it has changed."""

    def __init__(self, path: Path, expected: str) -> None:
        """Name the file; it is read when it is first asked for."""
        self.path, self._expected = path, expected
        self._stat: tuple[int, int] | None = None
        self._value: Any = None

    def value(self) -> Any:
        """What it holds now.

        Raises:
            InputError: it is missing or no JSON.
        """
        try:
            found = self.path.stat()
        except OSError:
            raise InputError(f"{self.path}: no such file; it may have been moved") from None
        stat = found.st_size, found.st_mtime_ns
        if stat != self._stat:
            self._value = read_json(self.path, self._expected)
            self._stat = stat
        return self._value


@dataclass(frozen=True)
class Filters:
    """What of a comparison is shown.

    Attributes:
        family: of metrics; empty for all.
        metric: a part of their names; empty for all.
        view: of the human judgments; empty for all.
    """

    family: str = ""
    metric: str = ""
    view: str = ""

    @property
    def active(self) -> bool:
        """Whether something may be left out."""
        return bool(self.family or self.metric or self.view)

    def keep(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row is shown; an aspect of ratings belongs to every view."""
        human = row.get("human")
        return (
            (not self.family or row["family"] == self.family)
            and self.metric.lower() in str(row["metric"]).lower()
            and (not self.view or human not in VIEWS or human == self.view)
        )


class StoredComparison(StoredFile):
    """A comparison that was printed as JSON."""

    def __init__(self, path: Path) -> None:
        """Name the file."""
        super().__init__(path, _EXPECTED)

    def document(self) -> dict[str, Any]:
        """What it holds, as far as pages rely on it.

        Raises:
            InputError: it is no comparison.
        """
        found = self.value()
        if (
            not isinstance(found, dict)
            or any(not isinstance(found.get(key), kind) for key, kind in _KEYS.items())
            or not all(
                isinstance(row, dict)
                and all(isinstance(row.get(key), str) for key in ("metric", "family", "human"))
                for row in found["rows"]
            )
        ):
            raise InputError(f"{self.path}: is no comparison; expected {_EXPECTED}")
        return found

    def shown(self, filters: Filters) -> dict[str, Any]:
        """Everything that the page shows of it; see the template `comparison`.

        Raises:
            InputError: it is no comparison, or a damaged one.
        """
        document = self.document()
        try:
            return sections(document, filters)
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # A foreign file may lack anything, at any depth.
            raise InputError(
                f"{self.path}: a damaged comparison ({type(error).__name__}); expected {_EXPECTED}"
            ) from None


def sections(document: Mapping[str, Any], filters: Filters) -> dict[str, Any]:
    """A comparison as values of the page: the sections of a report that its numbers give.

    Args:
        document: as `compare --format json` prints it.
        filters: what is shown of it.
    """
    views = [view for view in VIEWS if view in document["human_scores"]]
    chosen = [view for view in views if filters.view in ("", view)]
    rows = [row for row in document["rows"] if filters.keep(row)]
    kept = {**document, "rows": rows}
    names = {row["metric"] for row in rows}
    found: list[tuple[str, Markup]] = []
    if plots := overviews(kept, chosen, {}):
        found.append(
            ("", render("summary", overviews=plots, terms=[], cards=[], glossary=[])),
        )
    if any(map(is_compared, rows)):
        found.append(("Metrics by family", _metrics(kept, chosen)))
    tests = [
        test
        for test in (_narrowed(test, names) for test in document.get("significance") or ())
        if len(test["metrics"]) > 1 and test["human"] in chosen
    ]
    if tests:
        listed = significance_tables(tests, "", significance_level(document))
        note = " ".join(extents_of(tests))
        found.append(
            (
                "Which differences are more than chance",
                render("tabled", note=note, terms=[], listed=listed, folded="All p-values"),
            )
        )
    ratings = [row for row in document.get("ratings") or () if filters.keep(row)]
    segments = dict(document.get("segment") or {})
    segments["rows"] = [row for row in segments.get("rows") or () if filters.keep(row)]
    for heading, part in (
        ("Single edits", edit_section(kept)),
        ("Ratings of single corrections", rating_section({**kept, "ratings": ratings})),
        ("Segment level", segment_section({**kept, "segment": segments})),
    ):
        if part is not None:
            found.append((heading, part))
    return {
        "benchmark": document["benchmark"],
        "lead": headline(kept, chosen) if rows and not filters.active else "",
        "facts": [
            f"{len(document['systems'])} systems",
            f"{number(document['sentences'])} sentences",
            f"{len(names)} of {len({row['metric'] for row in document['rows']})} metrics shown",
        ],
        "sample": bool(document.get("sample")),
        "caveats": [str(text) for text in document.get("caveats") or ()],
        "families": [
            (family, FAMILY_NAMES.get(family, family))
            for family in dict.fromkeys(row["family"] for row in document["rows"])
        ],
        "views": [(view, VIEWS[view]) for view in views] if len(views) > 1 else [],
        "sections": found,
    }


def _narrowed(test: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """A test between the metrics that are shown; corrected p values stay those of all."""
    at = [place for place, name in enumerate(test["metrics"]) if name in names]
    found = {**test, "metrics": [test["metrics"][i] for i in at]}
    for key in ("p", "adjusted"):
        if test.get(key):
            found[key] = [[test[key][i][j] for j in at] for i in at]
    for key in ("values", "clusters"):
        if test.get(key):
            found[key] = [test[key][i] for i in at]
    return found


def _metrics(document: Mapping[str, Any], views: Sequence[str]) -> Markup:
    costs = judge_costs(document)
    present = {row["family"] for row in document["rows"]} | {"chance", "humans"}
    shown = [(view, family_table(document, view, costs)) for view in views]
    words = {heading.text for _, table in shown for heading in table.headings}
    terms = [each for each in TERMS if each.word in words or each.key == "interval"]
    tables = render(
        "metrics",
        legend=[family_mark(family) for family in FAMILY_NAMES if family in present],
        views=[
            {"heading": VIEWS[view].capitalize() if len(views) > 1 else "", "table": table}
            for view, table in shown
        ],
        terms=terms,
        names=metric_names(document["rows"]),
    )
    return tables + render("summary", overviews=[], terms=[], cards=[], glossary=terms)


@dataclass(frozen=True)
class Board:
    """Scores of systems on the same texts.

    Attributes:
        title: which texts.
        metrics: their columns.
        by: the column that orders the rows.
        rows: system, and by metric its score, its rank and whether it is the best.
    """

    title: str
    metrics: Sequence[str]
    by: str
    rows: Sequence[tuple[str, Sequence[tuple[str, str, bool]]]]


def leaderboards(
    folder: Path, by: str, known: dict[Path, StoredFile]
) -> tuple[list[Board], list[str]]:
    """The score files of a folder as tables, one for all that scored the same texts.

    Args:
        folder: with files that `score -o` or `compare -o` wrote.
        by: metric whose scores order the systems; another word takes the first.
        known: what was read before; it is added to.

    Returns:
        The tables, and a line for every file that is left out.

    Raises:
        InputError: there is no such folder, or it holds too many files.
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
        file = known.setdefault(path, StoredFile(path, "a score file of `gecjury score -o`"))
        try:
            key, label, scores = _scores(file.value())
        except InputError as error:
            left_out.append(str(error))
            continue
        except ValueError:
            left_out.append(f"{path.name}: is no score file")
            continue
        metrics = texts.setdefault(key, {})
        label = label if label not in metrics else f"{label} ({path.stem[-6:]})"
        metrics[label] = scores
    boards = [
        _board(f"{number(count)} sentences", metrics, by) for (_, count), metrics in texts.items()
    ]
    return boards, left_out


def _scores(document: Any) -> tuple[tuple[str, int], str, dict[str, float]]:
    """Return what a score file scored, its metric, and its systems' scores.

    Raises:
        ValueError: it is none.
    """
    record = from_record(ScoreFile, document)
    if record.format != SCORE_FORMAT or record.signature is None:
        raise ValueError("format")
    signature = Signature.from_json(record.signature)
    # Rows that were kept for later have no scores.
    rows = [row for row in record.rows if row.sentences is not None]
    scores = {row.system: math.nan if row.score is None else row.score for row in rows}
    count = max((len(row.sentences or ()) for row in rows), default=0)
    return (signature.data.get("sources", ""), count), signature.label, scores


def _board(title: str, metrics: Mapping[str, Mapping[str, float]], by: str) -> Board:
    chosen = by if by in metrics else next(iter(metrics))
    systems = dict.fromkeys(name for scores in metrics.values() for name in scores)

    def worth(name: str) -> float:
        value = metrics[chosen].get(name, float("nan"))
        return value if value == value else float("-inf")

    ranks = {
        label: {
            name: 1 + sum(other > value for other in scores.values())
            for name, value in scores.items()
            if value == value
        }
        for label, scores in metrics.items()
    }
    rows = []
    for name in sorted(systems, key=worth, reverse=True):
        cells = []
        for label, scores in metrics.items():
            rank = ranks[label].get(name)
            shown = number(scores.get(name, float("nan")), 4)
            cells.append((shown, "" if rank is None else f"#{rank}", rank == 1))
        rows.append((name, cells))
    return Board(title, list(metrics), chosen, rows)

"""Pages of one's own files: scores with error types and costly sentences, or any tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from gecjury.report.page.markup import lang_attribute, render_page
from gecjury.report.result import Result
from gecjury.report.tables import shown_cells
from gecjury.scoring.scores import ScoreTable


class Scores(Protocol):
    """The part of a result of `gecjury.experiments.score.score` that the page reads."""

    @property
    def tables(self) -> tuple[ScoreTable, ...]:
        """The score tables, one for each metric."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of the metrics on their scores."""


def scores_html(found: Scores, worst: Iterable[Any], language: str = "en") -> str:
    """Return a self-contained page that needs no network and no script.

    Args:
        found: scores of some systems by some metrics.
        worst: records with `system`, `metric`, `line`, `score`, `cost`, `source`, `marked`.
        language: ISO code of the sentences'.
    """
    systems = found.tables[0].systems if found.tables else ()
    totals = []
    for number, system in enumerate(systems):
        cells = []
        for table in found.tables:
            score, parts = table.by_system, []
            if score.precision is not None and score.recall is not None:
                parts = [f"P {score.precision[number]:.3f}", f"R {score.recall[number]:.3f}"]
            cells.append((_number(score.score[number]), " ".join(parts)))
        totals.append((system, cells))
    return render_page(
        "scores",
        title=f"Scores of {', '.join(systems)}"[:120],
        metrics=[table.signature.label for table in found.tables],
        totals=totals,
        types=[block for table in found.tables for block in _types(table)],
        worst=[
            (line.system, line.metric, line.line, _number(line.score), f"{line.cost:.5f}",
             line.source, _pieces(line.marked))
            for line in worst
        ],
        signatures=[str(table.signature) for table in found.tables],
        notes=found.notes,
        lang_attribute=lang_attribute(language),
    )  # fmt: skip


def tables_html(result: Result) -> str:
    """Return the tables of a result as a page that needs no network and no script.

    Edits in their cells, `[old→new]`, are marked.
    """
    listed = []
    for table in result.tables:
        if not table.columns:
            continue
        headings, numeric, rows = shown_cells(table)
        cells = [[_pieces(cell) for cell in row] for row in rows]
        classes = ["n" if number else "" for number in numeric]
        listed.append((table.title, list(zip(headings, classes, strict=True)), cells, table.notes))
    lang = lang_attribute(result.language)
    return render_page("listed", title=result.title[:120], tables=listed, lang_attribute=lang)


def _types(table: ScoreTable) -> list[tuple[str, list[str], list[tuple[str, list[str]]]]]:
    """Yield a metric's counts by type, its systems side by side: true, false and missed edits."""
    by_system = table.statistics.details.get("by_type", {})
    if not by_system:
        return []
    systems = list(by_system)
    kinds = sorted({kind for counts in by_system.values() for kind in counts})
    rows = [
        (kind, [" / ".join(f"{part:g}" for part in by_system[name].get(kind, (0, 0, 0)))
                for name in systems])
        for kind in kinds
    ]  # fmt: skip
    return [(table.signature.label, systems, rows)]


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.4f}"


def _pieces(marked: str) -> list[tuple[str, bool]]:
    """Return a correction in pieces, each marked as an edit or not."""
    import re

    parts = re.split(r"(\[[^\[\]]*→[^\[\]]*\])", marked)
    return [(part, number % 2 == 1) for number, part in enumerate(parts) if part]

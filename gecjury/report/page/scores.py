"""Pages of one's own files: scores with error types and costly sentences, or any tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from gecjury.report.page.markup import lang_attribute, render_page
from gecjury.report.result import Result
from gecjury.report.tables import shown_cells
from gecjury.scoring.scores import ScoreTable


class Scores(Protocol):
    """What `gecjury.experiments.score.score` gives, as far as the page reads it."""

    @property
    def tables(self) -> tuple[ScoreTable, ...]:
        """One a metric."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the metrics have to say."""


def scores_html(found: Scores, worst: Iterable[Any], language: str = "en") -> str:
    """A page that needs nothing else, no network and no script.

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
        types=[each for table in found.tables for each in _types(table)],
        worst=[
            (each.system, each.metric, each.line, _number(each.score), f"{each.cost:.5f}",
             each.source, _pieces(each.marked))
            for each in worst
        ],
        signatures=[str(table.signature) for table in found.tables],
        notes=found.notes,
        lang_attribute=lang_attribute(language),
    )  # fmt: skip


def tables_html(result: Result) -> str:
    """Return the tables of a result as a page that needs no network and no script.

    Edits in their cells, `[old→new]`, are marked.
    """
    shown = []
    for table in result.tables:
        if not table.columns:
            continue
        headings, numeric, rows = shown_cells(table)
        cells = [[_pieces(cell) for cell in row] for row in rows]
        classes = ["n" if number else "" for number in numeric]
        shown.append((table.title, list(zip(headings, classes, strict=True)), cells, table.notes))
    lang = lang_attribute(result.language)
    return render_page("listed", title=result.title[:120], tables=shown, lang_attribute=lang)


def _types(table: ScoreTable) -> list[tuple[str, list[str], list[tuple[str, list[str]]]]]:
    """A metric's counts by type, its systems side by side: true, false and missed ones."""
    found = table.statistics.details.get("by_type", {})
    if not found:
        return []
    systems = list(found)
    kinds = sorted({kind for counts in found.values() for kind in counts})
    rows = [
        (kind, [" / ".join(f"{part:g}" for part in found[name].get(kind, (0, 0, 0)))
                for name in systems])
        for kind in kinds
    ]  # fmt: skip
    return [(table.signature.label, systems, rows)]


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.4f}"


def _pieces(marked: str) -> list[tuple[str, bool]]:
    """A correction in pieces, each with whether it is an edit."""
    import re

    parts = re.split(r"(\[[^\[\]]*→[^\[\]]*\])", marked)
    return [(part, number % 2 == 1) for number, part in enumerate(parts) if part]

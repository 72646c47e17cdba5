"""Sections of the comparison page on single things: edits, rated corrections, segments, labels.

Each is a table of the figures of its level, metrics above, chance and people below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from gecjury.report.figure import Figure, edit_entries
from gecjury.report.page.glossary import term
from gecjury.report.page.markup import render
from gecjury.report.page.tables import (
    Cell,
    Heading,
    PageTable,
    TableRow,
    family_cell,
    measure_cell,
)
from gecjury.wording import number

MEANING = "Metrics’ credit for edits against annotators’ verdicts."
_EDITS = {
    "auc": "AUC",
    "average_precision": "AP valid",
    "average_precision_invalid": "AP invalid",
    "accuracy": "accuracy",
    "balanced": "balanced",
    "kappa": "κ",
}
_RATINGS = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "within": "τ within a source",
    "system_pearson": "r of systems",
    "system_spearman": "ρ of systems",
}
_SEGMENTS = {
    "acc_eq": "acc_eq",
    "acc_exact": "acc, ε = 0",
    "kendall": "τ",
    "pearson": "r",
    "epsilon": "ε",
}
_GROUPS = {
    "item": "of corrections of one source",
    "system": "of outputs of one system",
    "none": "of all corrections",
}


def edit_section(figures: Sequence[Figure], document: Mapping[str, Any]) -> Markup | None:
    """Return metrics' credit for single edits beside annotators' verdicts; by type, folded."""
    table = _table("Single edits", figures, "edit", _EDITS, "", "edits")
    if table is None:
        return None
    terms = [term(key) for key in ("auc", "ap", "threshold")]
    main = render("tabled", note=MEANING, terms=terms, listed=[table], folded="")
    types = _by_type(document)
    if not types:
        return main
    return main + render("tabled", note="", terms=[], listed=types, folded="By error type")


def rating_section(figures: Sequence[Figure]) -> Markup | None:
    """Return correlations of scores of single corrections with people's ratings, by aspect."""
    note = "Correlation of the scores of single corrections with their mean ratings, −1 to 1."
    return _section(_table("Ratings", figures, "rating", _RATINGS, "aspect", "corrections"), note)


def segment_section(figures: Sequence[Figure], document: Mapping[str, Any]) -> Markup | None:
    """Return accuracy with ties and correlations, as means over groups of corrections."""
    segment = document.get("segment") or {}
    pairs = _GROUPS.get(str(segment.get("grouping")), "of corrections")
    if segment.get("humans") == "rankings":
        pairs = "of corrections in one ranking"
    note = (
        f"acc_eq: share of the pairs {pairs} of which metric and people say the same, ties "
        "included: scores at most ε apart, the best ε for these pairs."
    )
    table = _table("Segment level", figures, "segment", _SEGMENTS, "human", "pairs")
    return _section(table, note)


def label_section(figures: Sequence[Figure]) -> Markup | None:
    """Return AUC of scores for good against bad corrections, by class of bad ones."""
    note = "AUC: how often a good correction scores above a bad one, ties one half."
    return _section(_table("Labels", figures, "label", {"auc": "AUC"}, "bad", "corrections"), note)


def _section(table: PageTable | None, note: str) -> Markup | None:
    if table is None:
        return None
    return render("tabled", note=note, terms=[], listed=[table], folded="")


def _table(
    label: str,
    figures: Sequence[Figure],
    level: str,
    statistics: Mapping[str, str],
    human: str,
    counted: str,
) -> PageTable | None:
    """Return the figures of a level, a statistic a column; None where there are none.

    Args:
        label: description of the table for screen readers.
        figures: the figures of a comparison.
        level: the level of the figures.
        statistics: headings by statistic; columns without a value are left out.
        human: heading of the column that says which judgments; empty for none.
        counted: heading of the number of things that a row rests on.
    """
    used = [figure for figure in figures if figure.level == level]
    keys = [
        key for key in statistics if any(f.statistic == key and f.value == f.value for f in used)
    ]
    if not keys:
        return None
    # Figures come one by one: those of a metric and a human column make a row.
    rows: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in used:
        rows.setdefault((figure.metric, figure.human), {})[figure.statistic] = figure
    missing = any(figure.missing for figure in used)
    parts: dict[bool, list[TableRow]] = {False: [], True: []}
    for (metric, judged), row in rows.items():
        first = next(iter(row.values()))
        cells = [family_cell(first.family), *([Cell(judged, "")] if human else [])]
        cells += [_measure(row.get(key)) for key in keys]
        cells.append(_count(first.n))
        cells += [_count(first.missing)] if missing else []
        parts[first.family in ("chance", "humans")].append(TableRow(metric, cells))
    words = ["metric", "family", *([human] if human else [])]
    numbers = [*(statistics[key] for key in keys), counted, *(["missing"] if missing else [])]
    headings = [*(Heading(word) for word in words), *(Heading(title, "n") for title in numbers)]
    return PageTable(label, "sortable metrics", headings, parts[False], parts[True])


def _measure(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell("–")
    bounds = (figure.low, figure.high)
    return measure_cell(figure.value, None if math.isnan(figure.low) else bounds)


def _count(value: int | None) -> Cell:
    return Cell(number(value), sort="" if value is None else str(value))


def _by_type(document: Mapping[str, Any]) -> list[PageTable]:
    """Return AUC by error type, where the document breaks it down."""
    parts = {
        name: {part["type"]: part for part in entry["by_type"]}
        for name, _, entry in edit_entries(document)
        if entry.get("by_type")
    }
    kinds = {kind: part.get("cases") for types in parts.values() for kind, part in types.items()}
    if not kinds:
        return []
    table = []
    for kind, count in kinds.items():
        cells = [_count(count)]
        for types in parts.values():
            part = types.get(kind) or {}
            auc = part.get("auc")
            cells.append(measure_cell(math.nan if auc is None else auc, part.get("auc_ci95")))
        table.append(TableRow(kind, cells))
    headings = [Heading("error type"), *(Heading(title, "n") for title in ("edits", *parts))]
    return [PageTable("AUC by error type", "sortable metrics", headings, table)]

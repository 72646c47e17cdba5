"""Tables of the comparison page on single things: edits, rated corrections, segments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

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

_Row = Mapping[str, Any]

_MEASURES = {
    "auc": "AUC",
    "average_precision": "AP valid",
    "average_precision_invalid": "AP invalid",
    "accuracy": "accuracy",
    "balanced": "balanced",
    "kappa": "κ",
}
_COUNTS = {"cases": "edits", "valid": "valid", "missing": "missing"}
MEANING = "Metrics’ credit for edits against annotators’ verdicts."


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _entries(rows: Sequence[_Row]) -> Iterator[tuple[str, str, _Row]]:
    """Name, family and entry of every metric, and of every way to credit it."""
    for row in {row["metric"]: row for row in rows if row.get("edit")}.values():
        ways = row.get("edit_by_credit")
        entries = list(ways.values()) if isinstance(ways, Mapping) and ways else [row["edit"]]
        for entry in entries:
            way = f" ({entry['credit']})" if entry.get("credit") else ""
            yield f"{row['metric']}{way}", row["family"], entry


def edit_section(document: Mapping[str, Any]) -> Markup | None:
    """Metrics that credit single edits against the annotators' verdicts, over all and by type."""
    found = list(_entries(document["rows"]))
    if not found:
        return None
    rest = [(name, "chance", e) for name, e in (document.get("edit_chance") or {}).items()]
    if document.get("edit_ceiling"):
        rest.append(("one annotator by another", "humans", document["edit_ceiling"]))
    every = [entry for _, _, entry in (*found, *rest)]
    keys = [k for k in _MEASURES if any(not math.isnan(_float(e.get(k))) for e in every)]
    counts = [k for k in _COUNTS if any(e.get(k) is not None for e in every)]
    titles = [*(_MEASURES[k] for k in keys), *(_COUNTS[k] for k in counts)]
    table = PageTable(
        label="Single edits",
        css="sortable metrics",
        headings=_headings(["metric", "family"], titles),
        rows=[_row(*entry, keys, counts) for entry in found],
        below=[_row(*entry, keys, counts) for entry in rest],
    )
    shown = [term(key) for key in ("auc", "ap", "threshold")]
    main = render("tabled", note=MEANING, terms=shown, listed=[table], folded="")
    types = _by_type(found)
    if not types:
        return main
    return main + render("tabled", note="", terms=[], listed=types, folded="By error type")


def _headings(words: Sequence[str], numbers: Sequence[str]) -> list[Heading]:
    """Headings of columns of words, then of columns of numbers."""
    return [*(Heading(word) for word in words), *(Heading(title, "n") for title in numbers)]


def _row(
    name: str, family: str, entry: _Row, keys: Sequence[str], counts: Sequence[str]
) -> TableRow:
    cells = [family_cell(family)]
    for key in keys:
        bounds = (entry.get("ci95") or {}).get(key)
        cells.append(measure_cell(_float(entry.get(key)), bounds))
    cells += [_count(entry.get(key)) for key in counts]
    return TableRow(name, cells)


def _count(value: Any) -> Cell:
    return Cell(number(value), sort="" if value is None else str(value))


def _by_type(found: Sequence[tuple[str, str, _Row]]) -> list[PageTable]:
    """AUC by error type, where the document breaks it down."""
    parts = {
        name: {part["type"]: part for part in entry["by_type"]}
        for name, _, entry in found
        if entry.get("by_type")
    }
    kinds = {kind: part.get("cases") for types in parts.values() for kind, part in types.items()}
    if not kinds:
        return []
    rows = []
    for kind, count in kinds.items():
        cells = [_count(count)]
        for types in parts.values():
            part = types.get(kind) or {}
            cells.append(measure_cell(_float(part.get("auc")), part.get("auc_ci95")))
        rows.append(TableRow(kind, cells))
    headings = _headings(["error type"], ["edits", *parts])
    return [PageTable("AUC by error type", "sortable metrics", headings, rows)]


RATINGS = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "within": "τ within a source",
    "system_pearson": "r of systems",
    "system_spearman": "ρ of systems",
}


def rating_section(document: Mapping[str, Any]) -> Markup | None:
    """How scores of single corrections follow people's ratings, by aspect."""
    rows: Sequence[_Row] = document.get("ratings") or ()
    keys = [k for k in RATINGS if any(not math.isnan(_float(row.get(k))) for row in rows)]
    if not keys:
        return None
    parts: dict[bool, list[TableRow]] = {False: [], True: []}
    for row in rows:
        family = str(row["family"])
        bounds: Mapping[str, Any] = row.get("ci95") or {}
        cells = [
            family_cell(family),
            Cell(row["aspect"], ""),
            *(measure_cell(_float(row.get(key)), bounds.get(key)) for key in keys),
        ]
        parts[family in ("chance", "humans")].append(TableRow(row["metric"], cells))
    headings = _headings(["metric", "family", "aspect"], [RATINGS[key] for key in keys])
    note = "Correlation of the scores of single corrections with their mean ratings, −1 to 1."
    table = _metric_table("Ratings", headings, parts)
    return render("tabled", note=note, terms=[], listed=[table], folded="")


def _metric_table(
    label: str, headings: Sequence[Heading], parts: Mapping[bool, Sequence[TableRow]]
) -> PageTable:
    """A table of metrics, those that know nothing and people (True) below the others."""
    return PageTable(label, "sortable metrics", headings, parts[False], parts[True])


SEGMENTS = {"acc_eq": "acc_eq", "acc_exact": "acc, ε = 0", "kendall": "τ", "pearson": "r"}
GROUPS = {
    "item": "of corrections of one source",
    "system": "of outputs of one system",
    "none": "of all corrections",
}


def segment_section(document: Mapping[str, Any]) -> Markup | None:
    """Accuracy with ties and correlations, as means over groups of corrections."""
    found: Mapping[str, Any] = document.get("segment") or {}
    rows: Sequence[_Row] = found.get("rows") or ()
    keys = [k for k in SEGMENTS if any(not math.isnan(_float(row.get(k))) for row in rows)]
    if not keys:
        return None
    parts: dict[bool, list[TableRow]] = {False: [], True: []}
    for row in rows:
        family = str(row["family"])
        bounds: Mapping[str, Any] = row.get("ci95") or {}
        epsilon = _float(row.get("epsilon"))
        plain = "" if math.isnan(epsilon) else f"{epsilon:.9g}"
        cells = [
            family_cell(family),
            Cell(row["human"], ""),
            *(measure_cell(_float(row.get(key)), bounds.get(key)) for key in keys),
            Cell(number(epsilon, 4), sort=plain),
            Cell(number(row.get("pairs")), sort=str(row.get("pairs") or 0)),
        ]
        parts[family in ("chance", "humans")].append(TableRow(row["metric"], cells))
    titles = [*(SEGMENTS[key] for key in keys), "ε", "pairs"]
    headings = _headings(["metric", "family", "human"], titles)
    pairs = GROUPS.get(str(found.get("grouping")), "of corrections")
    if found.get("humans") == "rankings":
        pairs = "of corrections in one ranking"
    note = (
        f"acc_eq: share of the pairs {pairs} of which metric and people say the same, ties "
        "included: scores at most ε apart, the best ε for these pairs."
    )
    table = _metric_table("Segment level", headings, parts)
    return render("tabled", note=note, terms=[], listed=[table], folded="")

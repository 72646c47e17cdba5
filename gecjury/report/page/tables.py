"""The tables of the comparison page: metrics by family, significance, pairs of systems.

A table is prepared here as plain values; `templates/tables.html.jinja` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gecjury.metaeval.result import SENTENCE_STATISTICS, SYSTEM_STATISTICS
from gecjury.report.page.svg import mark
from gecjury.report.page.words import (
    FAMILY_NAMES,
    SHOWN_MEASURES,
    generalises,
    is_compared,
    proper,
    value_of,
)
from gecjury.wording import number

_Row = Mapping[str, Any]

_HEADINGS = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "pairwise_accuracy": "pair acc.",
    "spa": "SPA",
    "accuracy": "accuracy",
    "cluster": "cluster",
    "tied_share": "tied %",
}
_ORDER = ("refbased", "refless", "judges", "jury", "scores")


@dataclass(frozen=True)
class FamilyMark:
    """A family's name with its mark, which has a shape of its own."""

    family: str
    name: str
    shape: Markup


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: text of the cell, besides the mark.
        css: classes; `n` is a number.
        sort: key by which the page's script sorts; None for the text itself.
        strong: shown in bold.
        interval: shown below, "" for none.
        mark: the mark of a family.
    """

    text: str = ""
    css: str = "n"
    sort: str | None = None
    strong: bool = False
    interval: str = ""
    mark: FamilyMark | None = None


@dataclass(frozen=True)
class Heading:
    """The heading of a column; class `n` is one of numbers, which are sorted downwards first."""

    text: str
    css: str = ""


@dataclass(frozen=True)
class FamilyGroup:
    """A heading above several headings; "" for nothing."""

    text: str
    columns: int


@dataclass(frozen=True)
class TableRow:
    """A row: the name at its head, and its cells."""

    name: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class PageTable:
    """A table in a box that scrolls sideways.

    Attributes:
        label: description for screen readers.
        css: classes; the page's script sorts a `sortable` one.
        headings: one more than a row has cells.
        rows: the rows that are sorted.
        below: rows that stay below the others; None for a table that has no such part.
        groups: a row above the headings.
        caption: shown above; "" for none.
        spoken: True if the caption is for screen readers alone.
        heading: shown before the table; "" for none.
    """

    label: str
    css: str
    headings: Sequence[Heading]
    rows: Sequence[TableRow]
    below: Sequence[TableRow] | None = None
    groups: Sequence[FamilyGroup] = ()
    caption: str = ""
    spoken: bool = False
    heading: str = ""


def family_mark(family: str) -> FamilyMark:
    """Return a family's mark and name; an unknown family has its own name."""
    return FamilyMark(family, FAMILY_NAMES.get(family, family), mark(family))


def family_cell(family: str) -> Cell:
    """Return a cell with a family's mark, sorted by its name."""
    return Cell(css="", sort=FAMILY_NAMES.get(family, ""), mark=family_mark(family))


def measure_cell(
    value: float, bounds: Sequence[float | None] | None = None, best: bool = False
) -> Cell:
    """Return a cell with a number, its interval, and its plain value for sorting."""
    interval = ""
    if bounds and None not in bounds:
        low, high = (number(float(bound or 0), 2).replace("0.", ".", 1) for bound in bounds)
        interval = f"[{low}, {high}]"
    plain = "" if math.isnan(value) else f"{value:.9g}"
    return Cell(number(value), sort=plain, strong=best, interval=interval)


def _columns(rows: Sequence[_Row]) -> list[tuple[str, str]]:
    """Return (level, measure) of every figure that any metric has."""
    wanted = [("system", key) for key in (*SYSTEM_STATISTICS, "cluster")]
    wanted += [("sentence", key) for key in (*SENTENCE_STATISTICS, "cluster", "tied_share")]
    return [
        (level, key)
        for level, key in wanted
        if any(not math.isnan(value_of(row, level, key)) for row in rows)
    ]


def _in_order(rows: Sequence[_Row]) -> list[_Row]:
    """Return rows by family, the best of each first."""

    def place(row: _Row) -> tuple[int, str, float]:
        family = str(row["family"])
        value = value_of(row, "system", "pearson")
        if math.isnan(value):
            value = value_of(row, "sentence", "accuracy")
        position = _ORDER.index(family) if family in _ORDER else len(_ORDER)
        return position, family, math.inf if math.isnan(value) else -value

    return sorted(rows, key=place)


def family_table(document: Mapping[str, Any], view: str, costs: Mapping[str, str]) -> PageTable:
    """Return all metrics against one view of the human judgments, chance and people below.

    Args:
        document: the result of `compare`, as JSON has it.
        view: the view of the judgments.
        costs: costs of metrics' judges, by signature.
    """
    rows = [row for row in document["rows"] if row["human"] == view and is_compared(row)]
    columns = _columns(rows)
    costs = {row["signature"]: costs[row["signature"]] for row in rows if row["signature"] in costs}
    best = {
        (level, key): max(value_of(row, level, key) for row in rows if _has(row, level, key))
        for level, key in columns
        if key not in ("cluster", "tied_share")
    }
    more = [
        *(["missing"] if any(row.get("missing") for row in rows) else []),
        "seconds",
        *(["cost"] if costs else []),
    ]
    names = ["metric", "family", *(_HEADINGS.get(key, key) for _, key in columns), *more]
    return PageTable(
        label="Metrics by family",
        css="sortable metrics",
        headings=[Heading(name, "" if place < 2 else "n") for place, name in enumerate(names)],
        rows=[_metric_row(row, columns, best, more, costs) for row in _in_order(rows)],
        below=_chance_rows(document, view, columns, len(more)),
        groups=_groups(columns, len(more)),
        caption=f"{len(rows)} metrics, best of a column in bold",
        spoken=True,
    )


def judge_costs(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the costs of judges by signature, as their audits state them."""
    costs = {}
    for signature, audit in (document.get("audits") or {}).items():
        spent = [member.get("cost") or {} for member in audit.get("members") or ()]
        amounts = [float(cost["amount"]) for cost in spent if cost.get("amount") is not None]
        if amounts and len(amounts) == len(spent):
            costs[signature] = f"{sum(amounts):.2f} {spent[0].get('currency', '')}".strip()
    return costs


def _has(row: _Row, level: str, key: str) -> bool:
    return not math.isnan(value_of(row, level, key))


def _groups(columns: Sequence[tuple[str, str]], more: int) -> list[FamilyGroup]:
    """Return the names of the levels, above their columns."""
    counts = {name: sum(level == name for level, _ in columns) for name in ("system", "sentence")}
    levels = [
        FamilyGroup(f"{name.capitalize()} level", count) for name, count in counts.items() if count
    ]
    return [FamilyGroup("", 2), *levels, FamilyGroup("", more)]


def _metric_row(
    row: _Row,
    columns: Sequence[tuple[str, str]],
    best: Mapping[tuple[str, str], float],
    more: Sequence[str],
    costs: Mapping[str, str],
) -> TableRow:
    cells = [family_cell(row["family"])]
    cells += [_value(row, level, key, best.get((level, key))) for level, key in columns]
    seconds = row.get("seconds")
    if "missing" in more:
        missing = row.get("missing")
        cells.append(Cell(number(missing), sort=_plain(missing)))
    cells.append(Cell(number(seconds, 1), sort=_plain(seconds)))
    if "cost" in more:
        cells.append(Cell(costs.get(row["signature"], "–")))
    return TableRow(row["metric"], cells)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _value(row: _Row, level: str, key: str, best: float | None = None) -> Cell:
    value = value_of(row, level, key)
    if key == "cluster":
        plain = None if math.isnan(value) else int(value)
        return Cell(number(plain), "n cluster", _plain(plain))
    if key == "tied_share":
        return Cell(number(100 * value, 1), sort=f"{value:.9g}")
    bounds = ((row.get(level) or {}).get("ci95") or {}).get(key)
    is_best = best is not None and not math.isnan(value) and best - value < 1e-9
    return measure_cell(value, bounds, is_best)


def _chance_rows(
    document: Mapping[str, Any],
    view: str,
    columns: Sequence[tuple[str, str]],
    more: int,
) -> list[TableRow]:
    """Return rows of metrics that know nothing, and of two annotators."""
    rest = [Cell("–")] * more
    rows = []
    for name, entry in (document.get("chance") or {}).items():
        agreement = entry["human"].get(view) or {}
        values = [_value(agreement, level, key) for level, key in columns]
        rows.append(TableRow(name, [Cell(css="", mark=family_mark("chance")), *values, *rest]))
    ceiling = (document.get("ceiling") or {}).get(view)
    if ceiling:
        values = []
        for level, key in columns:
            same = (level, key) == ("sentence", "accuracy")
            bounds = (ceiling.get("ci95") or {}).get("accuracy") if same else None
            values.append(measure_cell(_float(ceiling["accuracy"]) if same else math.nan, bounds))
        mark_cell = Cell(css="", mark=family_mark("humans"))
        rows.append(TableRow("two annotators", [mark_cell, *values, *rest]))
    return rows


def _float(value: float | None) -> float:
    return math.nan if value is None else value


def significance_tables(
    tests: Sequence[Mapping[str, Any]], heading: str, level: float
) -> list[PageTable]:
    """Return one table a test.

    Args:
        tests: tests of a result document.
        heading: above the first of them.
        level: the level of significance; p values up to it are marked.
    """
    return [
        _significance_table(test, "" if place else heading, level)
        for place, test in enumerate(tests)
    ]


def extents_of(tests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each test on what it swaps and to what its differences extend."""
    said = []
    for test in tests:
        how = [proper(test["correction"])] if test.get("correction") else []
        how += [f"{number(test['resamples'])} resamples"] if test.get("resamples") else []
        words = proper(test["test"]) + (f" ({', '.join(how)})" if how else "")
        extent = generalises(test["test"])
        said.append(f"{words}: significant differences extend {extent}." if extent else f"{words}.")
    return list(dict.fromkeys(said))


def _significance_table(test: Mapping[str, Any], heading: str, level: float) -> PageTable:
    """Return p-values of all pairs of metrics; significant ones show if the row's is better."""
    names = list(test["metrics"])
    table = test.get("adjusted") or test["p"]
    values = test.get("values") or [None] * len(names)
    clusters = test.get("clusters") or []
    rows = []
    for i, name in enumerate(names):
        cells = [
            Cell("") if i == j else _p_cell(table[i][j], values[i], values[j], level)
            for j in range(len(names))
        ]
        if clusters:
            cluster = "–" if clusters[i] is None else str(clusters[i])
            cells.append(Cell(cluster, "n cluster"))
        rows.append(TableRow(name, cells))
    measure = SHOWN_MEASURES.get(str(test["statistic"]), str(test["statistic"]))
    label = f"{str(test['level']).capitalize()} level, {measure}: {proper(test['test'])}"
    caption = f"{label}; p, ▲ the row is better than the column (p ≤ {level:g}), ▼ worse"
    columns = [*names, "cluster"] if clusters else names
    return PageTable(
        label=label,
        css="matrix",
        headings=[Heading("metric"), *(Heading(name, "n") for name in columns)],
        rows=rows,
        caption=caption,
        heading=heading,
    )


def _p_cell(p: float | None, own: float | None, other: float | None, level: float) -> Cell:
    if p is None:
        return Cell("–")
    value = "<.001" if p < 0.0005 else number(float(p))
    if p > level:
        return Cell(value)
    if own is None or other is None or own > other:
        return Cell(f"{value} ▲", "n sig", strong=True)
    return Cell(f"{value} ▼", "n sig-worse", strong=True)


def pair_matrix(
    labels: Sequence[str], accuracy: Sequence[Sequence[float]], counts: Sequence[Sequence[int]]
) -> PageTable:
    """Return sentence accuracy by pair of systems, the lower half; `labels` begin with the best."""
    rows = []
    for i, name in enumerate(labels):
        cells = []
        for j in range(i):
            value = accuracy[i][j]
            shade = "" if math.isnan(value) or not counts[i][j] else _shade(value)
            cells.append(Cell(number(value, 2).removeprefix("0"), shade))
        rows.append(TableRow(f"{i + 1}\u2002{name}", cells))
    places = [Heading(str(place), "n") for place in range(1, len(labels))]
    return PageTable(
        label="Sentence accuracy by pair of systems",
        css="heat",
        headings=[Heading("system"), *places],
        rows=rows,
    )


def _shade(value: float) -> str:
    """Return one of five shades of blue above one half, of orange below."""
    value = round(value, 2)
    step = min(5, math.ceil(abs(value - 0.5) * 10 - 1e-9))
    return f"{'hi' if value > 0.5 else 'lo'}{step}" if step else ""

"""The tables of the comparison page: metrics by family, significance, pairs, edits, settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gecjury.report.page.markup import Child, Markup, element
from gecjury.report.page.svg import marker
from gecjury.report.page.words import FAMILIES, MEASURES, SIGNIFICANT, is_compared, proper, value_of
from gecjury.report.tables import number

__all__ = [
    "boxed",
    "family_mark",
    "family_table",
    "judge_costs",
    "measure_cell",
    "pair_matrix",
    "significance_table",
]

Row = Mapping[str, Any]

SYSTEM = ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa")
HEADINGS = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "pairwise_accuracy": "pair acc.",
    "spa": "SPA",
    "accuracy": "accuracy",
    "cluster": "cluster",
    "tied_share": "tied %",
}
ORDER = ("refbased", "refless", "judges", "jury", "scores")


def family_mark(family: str) -> Markup:
    """A family's name with its mark, which has a shape of its own."""
    shape = element(
        "svg", marker(family, 6, 6, 4), viewBox="0 0 12 12", class_="mark", aria_hidden="true"
    )
    words = element("span", FAMILIES.get(family, family), class_="word")
    return element("span", shape, words, class_=f"family f-{family}")


def boxed(table: Child, label: str) -> Markup:
    """A table in a box that scrolls sideways, also by keyboard."""
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def measure_cell(
    value: float, bounds: Sequence[float | None] | None = None, best: bool = False
) -> Markup:
    """A number with its interval, and its plain value for sorting."""
    shown: Child = number(value)
    if best:
        shown = element("strong", shown)
    interval = None
    if bounds and None not in bounds:
        low, high = (number(float(bound or 0), 2).replace("0.", ".", 1) for bound in bounds)
        interval = element("span", f"[{low}, {high}]", class_="ci")
    plain = "" if math.isnan(value) else f"{value:.9g}"
    return element("td", shown, interval, class_="n", data_v=plain)


def _columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """(level, measure) of what any metric has."""
    wanted = [("system", key) for key in (*SYSTEM, "cluster")]
    wanted += [("sentence", key) for key in ("accuracy", "kendall", "cluster", "tied_share")]
    return [
        (level, key)
        for level, key in wanted
        if any(not math.isnan(value_of(row, level, key)) for row in rows)
    ]


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """By family, then the best first."""

    def place(row: Row) -> tuple[int, str, float]:
        family = str(row["family"])
        value = value_of(row, "system", "pearson")
        if math.isnan(value):
            value = value_of(row, "sentence", "accuracy")
        known = ORDER.index(family) if family in ORDER else len(ORDER)
        return known, family, math.inf if math.isnan(value) else -value

    return sorted(rows, key=place)


def family_table(document: Mapping[str, Any], view: str, costs: Mapping[str, str]) -> Markup:
    """All metrics against one view of the human judgments, with chance and ceiling below.

    Args:
        document: the result of `compare`, as JSON has it.
        view: which judgments.
        costs: what a metric's judge cost, by signature.
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
    body = [_metric_row(row, columns, best, more, costs) for row in _in_order(rows)]
    below = [*_chance_rows(document, view, columns, len(more))]
    table = element(
        "table",
        element("caption", f"{len(rows)} metrics, best of a column in bold", class_="sr"),
        _head(columns, more),
        element("tbody", body),
        element("tbody", below, class_="below"),
        class_="sortable metrics",
    )
    return boxed(table, "Metrics by family")


def judge_costs(document: Mapping[str, Any]) -> dict[str, str]:
    """What judges cost, by signature, as their audits say."""
    costs = {}
    for signature, audit in (document.get("audits") or {}).items():
        spent = [member.get("cost") or {} for member in audit.get("members") or ()]
        amounts = [float(cost["amount"]) for cost in spent if cost.get("amount") is not None]
        if amounts and len(amounts) == len(spent):
            costs[signature] = f"{sum(amounts):.2f} {spent[0].get('currency', '')}".strip()
    return costs


def _has(row: Row, level: str, key: str) -> bool:
    return not math.isnan(value_of(row, level, key))


def _head(columns: Sequence[tuple[str, str]], more: Sequence[str]) -> Markup:
    groups: list[Child] = [element("td", colspan=2)]
    for level in ("system", "sentence"):
        count = sum(at == level for at, _ in columns)
        if count:
            words = f"{level.capitalize()} level"
            groups.append(element("th", words, scope="colgroup", colspan=count, class_="group"))
    groups.append(element("td", colspan=len(more)))
    names = ["metric", "family"]
    names += [HEADINGS[key] for _, key in columns]
    names += more
    heads = [
        element("th", name, scope="col", class_=None if place < 2 else "n")
        for place, name in enumerate(names)
    ]
    return element("thead", element("tr", groups), element("tr", heads))


def _metric_row(
    row: Row,
    columns: Sequence[tuple[str, str]],
    best: Mapping[tuple[str, str], float],
    more: Sequence[str],
    costs: Mapping[str, str],
) -> Markup:
    cells: list[Child] = [
        element("th", row["metric"], scope="row"),
        element("td", family_mark(row["family"]), data_v=FAMILIES.get(row["family"], "")),
    ]
    cells += [_value(row, level, key, best.get((level, key))) for level, key in columns]
    seconds = row.get("seconds")
    if "missing" in more:
        cells.append(_count(row.get("missing")))
    cells.append(element("td", number(seconds, 1), class_="n", data_v=_plain(seconds)))
    if "cost" in more:
        cells.append(element("td", costs.get(row["signature"], "–"), class_="n"))
    return element("tr", cells)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _count(value: int | None) -> Markup:
    return element("td", number(value), class_="n", data_v=_plain(value))


def _value(row: Row, level: str, key: str, best: float | None = None) -> Markup:
    value = value_of(row, level, key)
    if key == "cluster":
        plain = None if math.isnan(value) else int(value)
        return element("td", number(plain), class_="n cluster", data_v=_plain(plain))
    if key == "tied_share":
        return element("td", number(100 * value, 1), class_="n", data_v=f"{value:.9g}")
    bounds = ((row.get(level) or {}).get("ci95") or {}).get(key)
    is_best = best is not None and not math.isnan(value) and best - value < 1e-9
    return measure_cell(value, bounds, is_best)


def _chance_rows(
    document: Mapping[str, Any],
    view: str,
    columns: Sequence[tuple[str, str]],
    more: int,
) -> list[Markup]:
    """Metrics that know nothing, and two annotators."""
    rest: list[Child] = [element("td", "–", class_="n") for _ in range(more)]
    rows = []
    for name, entry in (document.get("chance") or {}).items():
        found = entry["human"].get(view) or {}
        cells: list[Child] = [
            element("th", name, scope="row"),
            element("td", family_mark("chance")),
            *(_value(found, level, key) for level, key in columns),
        ]
        rows.append(element("tr", cells, rest))
    ceiling = (document.get("ceiling") or {}).get(view)
    if ceiling:
        cells = [
            element("th", "two annotators", scope="row"),
            element("td", family_mark("ceiling")),
        ]
        for level, key in columns:
            here = (level, key) == ("sentence", "accuracy")
            bounds = (ceiling.get("ci95") or {}).get("accuracy") if here else None
            cells.append(measure_cell(_float(ceiling["accuracy"]) if here else math.nan, bounds))
        rows.append(element("tr", cells, rest))
    return rows


def _float(value: float | None) -> float:
    return math.nan if value is None else value


def significance_table(test: Mapping[str, Any]) -> Markup:
    """p-values of all pairs of metrics; significant ones say whether the row's metric is better."""
    names = list(test["metrics"])
    table = test.get("adjusted") or test["p"]
    values = test.get("values") or [None] * len(names)
    clusters = test.get("clusters") or []
    head = [element("th", "metric", scope="col")]
    head += [element("th", name, scope="col", class_="n") for name in names]
    if clusters:
        head.append(element("th", "cluster", scope="col", class_="n"))
    rows = []
    for i, name in enumerate(names):
        cells: list[Child] = [element("th", name, scope="row")]
        for j in range(len(names)):
            p = table[i][j] if i != j else None
            cells.append(_p_cell(p, values[i], values[j], same=i == j))
        if clusters:
            shown = "–" if clusters[i] is None else str(clusters[i])
            cells.append(element("td", shown, class_="n cluster"))
        rows.append(element("tr", cells))
    measure = MEASURES.get(str(test["statistic"]), str(test["statistic"]))
    correction = f", {proper(test['correction'])} correction" if test.get("correction") else ""
    drawn = f", {number(test['resamples'])} resamples" if test.get("resamples") else ""
    caption = f"{test['level']} level, {measure}: {proper(test['test'])}{correction}{drawn}"
    content = element(
        "table",
        element("caption", f"p-values, {caption}"),
        element("thead", element("tr", head)),
        element("tbody", rows),
        class_="matrix",
    )
    return boxed(content, f"p-values, {caption}")


def _p_cell(p: float | None, own: float | None, other: float | None, same: bool) -> Markup:
    if p is None:
        return element("td", "" if same else "–", class_="n")
    shown = "<.001" if p < 0.0005 else number(float(p))
    if p >= SIGNIFICANT:
        return element("td", shown, class_="n")
    better = own is None or other is None or own > other
    words = element("strong", shown, " ▲" if better else " ▼")
    return element("td", words, class_=f"n {'sig' if better else 'sig-worse'}")


def pair_matrix(
    labels: Sequence[str], accuracy: Sequence[Sequence[float]], counts: Sequence[Sequence[int]]
) -> Markup:
    """Sentence accuracy by pair of systems, the lower half; `labels` from the best system down."""
    head = [element("th", "system", scope="col")]
    head += [element("th", str(n + 1), scope="col", class_="n") for n in range(len(labels) - 1)]
    rows = []
    for i, name in enumerate(labels):
        cells: list[Child] = [element("th", f"{i + 1}\u2002{name}", scope="row")]
        for j in range(i):
            value = accuracy[i][j]
            shown = number(value, 2).removeprefix("0")
            class_ = "" if math.isnan(value) or not counts[i][j] else _shade(value)
            cells.append(element("td", shown, class_=class_ or None))
        rows.append(element("tr", cells))
    table = element(
        "table", element("thead", element("tr", head)), element("tbody", rows), class_="heat"
    )
    return boxed(table, "Sentence accuracy by pair of systems")


def _shade(value: float) -> str:
    """One of five steps of blue above one half, of orange below."""
    value = round(value, 2)
    step = min(5, math.ceil(abs(value - 0.5) * 10 - 1e-9))
    return f"{'hi' if value > 0.5 else 'lo'}{step}" if step else ""

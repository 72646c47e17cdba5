"""The tables of the comparison page: figures by metric, significance, pairs of systems.

Tables are prepared here as plain values; `templates/tables.html.jinja` renders them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gecjury.core.wording import bare_p, number
from gecjury.metaeval.audit import Audit
from gecjury.metaeval.result import SYSTEM_STATISTICS
from gecjury.metaeval.uncertainty import Significance
from gecjury.report.words import BESIDE, EXTENTS, FAMILY_NAMES, PROPER, ComparisonWords
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import Figure
from gecjury.stats.preferences import SENTENCE_STATISTICS

Heading = tuple[str, str]
"""The heading of a column and its CSS classes; `n` is for numbers, sorted descending first."""
HeadedStatistic = tuple[str, str]
"""A level, and the name of a figure there."""

# Clusters are labels and few ties are not an advantage, so neither column has a best value.
_UNRANKED = ("cluster", "tied_share")
_ORDER = ("refbased", "refless", "judges", "jury", "scores")


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: text of the cell, without the mark.
        css: CSS classes; `n` is for numbers.
        sort: key by which the page's script sorts; None for the text itself.
        strong: True if it is shown in bold.
        interval: shown below the text; "" for none.
        family: family whose mark and name are shown; "" for none.
    """

    text: str = ""
    css: str = "n"
    sort: str | None = None
    strong: bool = False
    interval: str = ""
    family: str = ""


TableRow = tuple[str, Sequence[Cell]]
"""The name at the head of a row, and its cells."""


@dataclass(frozen=True)
class PageTable:
    """A table in a box that scrolls sideways.

    Attributes:
        label: description for screen readers.
        css: CSS classes; the page's script sorts `sortable` tables.
        headings: the headings, one more than a row has cells.
        rows: the rows that are sorted.
        below: rows that stay below the others; None if the table has no such part.
        groups: a row above the headings: words ("" for none) and the columns that they span.
        caption: shown above the table; "" for none.
        spoken: True if the caption is only for screen readers.
        heading: shown before the table; "" for none.
    """

    label: str
    css: str
    headings: Sequence[Heading]
    rows: Sequence[TableRow]
    below: Sequence[TableRow] | None = None
    groups: Sequence[tuple[str, int]] = ()
    caption: str = ""
    spoken: bool = False
    heading: str = ""


def headings(texts: Sequence[str], numbers: Sequence[str]) -> list[Heading]:
    """Return the headings of columns of text, followed by those of columns of numbers."""
    return [*((text, "") for text in texts), *((text, "n") for text in numbers)]


def measure_cell(
    value: float | None,
    bounds: Sequence[float | None] | None = None,
    *,
    digits: int = 3,
    best: float | None = None,
) -> Cell:
    """Return a cell with a number, its interval, and its plain value for sorting.

    Args:
        value: the number; None or NaN if it is not defined.
        bounds: bounds of its interval; an undefined interval is left out.
        digits: digits after the decimal point.
        best: the best value of the column, which is shown in bold.
    """
    interval = ""
    if bounds and not any(bound is None or math.isnan(bound) for bound in bounds):
        low, high = (number(float(bound or 0), 2).replace("0.", ".", 1) for bound in bounds)
        interval = f"[{low}, {high}]"
    defined = value is not None and not math.isnan(value)
    strong = defined and best is not None and best - (value or 0) < 1e-9
    return Cell(number(value, digits), "n", f"{value:.9g}" if defined else "", strong, interval)


def figure_table(
    label: str,
    figures: Iterable[Figure],
    statistics: Sequence[HeadedStatistic],
    more: Mapping[str, Mapping[tuple[str, str], Cell]],
    human: str = "",
    ranked: bool = False,
) -> PageTable:
    """Return figures as a table, one row per metric and kind of judgments.

    Args:
        label: description of the table for screen readers.
        figures: the figures; those of chance and people are below the metrics.
        statistics: the columns; those in which no metric has a value are left out.
        more: further columns by heading: cells by metric and kind of judgments.
        human: heading of the column that says which judgments; empty for none.
        ranked: True to list the best of a family first, show the best of a column in bold and name
            the levels above the columns.
    """
    # The figures of a metric and kind of judgments form a row. The cluster of a level, which all
    # its figures share, is shown as if it were a figure.
    rows: dict[tuple[str, str], dict[HeadedStatistic, Figure]] = {}
    for figure in figures:
        row = rows.setdefault((figure.metric, figure.human), {})
        row[figure.level, figure.statistic] = figure
        if figure.cluster is not None:
            cluster = replace(figure, value=float(figure.cluster), low=math.nan, high=math.nan)
            row[figure.level, "cluster"] = cluster
    metrics = [row for row in rows.values() if _family(row) not in BESIDE]
    # A column is shown if a metric has a value there: chance alone leaves nothing to compare.
    best: dict[HeadedStatistic, float | None] = {}
    for key in statistics:
        values = [value for row in metrics if not math.isnan(value := _value(row, key))]
        if values:
            best[key] = max(values) if ranked and key[1] not in _UNRANKED else None
    parts: dict[bool, list[TableRow]] = {False: [], True: []}
    for place in sorted(rows, key=lambda key: _place(rows[key])) if ranked else rows:
        family = _family(rows[place])
        cells = [Cell(css="", sort=FAMILY_NAMES.get(family, ""), family=family)]
        cells += [Cell(place[1], "")] if human else []
        cells += [_figure_cell(rows[place], key, top) for key, top in best.items()]
        cells += [column.get(place, Cell("–")) for column in more.values()]
        parts[family in BESIDE].append((place[0], cells))
    head = headings(
        ["metric", "family", *([human] if human else [])],
        [*(statistic(key, "page").heading or key for _, key in best), *more],
    )
    table = PageTable(label, "sortable metrics", head, parts[False], parts[True])
    if not ranked:
        return table
    levels = Counter(f"{level.capitalize()} level" for level, _ in best)
    caption = f"{len(metrics)} metrics, best of a column in bold"
    groups = [("", 2), *levels.items(), ("", len(more))]
    return replace(table, groups=groups, caption=caption, spoken=True)


def _family(row: Mapping[HeadedStatistic, Figure]) -> str:
    return next(iter(row.values())).family


def _value(row: Mapping[HeadedStatistic, Figure], key: HeadedStatistic) -> float:
    return row[key].value if key in row else math.nan


def _place(row: Mapping[HeadedStatistic, Figure]) -> tuple[int, str, float]:
    """Return the key that sorts rows by family, the best of each first."""
    family, value = _family(row), _value(row, ("system", "pearson"))
    if math.isnan(value):
        value = _value(row, ("sentence", "accuracy"))
    position = _ORDER.index(family) if family in _ORDER else len(_ORDER)
    # Chance and people are in a separate part, in the order of the document.
    if family in BESIDE:
        return position, "", 0.0
    return position, family, math.inf if math.isnan(value) else -value


def _figure_cell(
    row: Mapping[HeadedStatistic, Figure], key: HeadedStatistic, best: float | None
) -> Cell:
    value = _value(row, key)
    if key[1] == "cluster":
        return replace(measure_cell(value, digits=0), css="n cluster")
    if key[1] == "tied_share":
        return measure_cell(100 * value, digits=1)
    figure = row.get(key)
    return measure_cell(value, (figure.low, figure.high) if figure else None, best=best)


def family_table(answer: ComparisonWords, view: str) -> PageTable:
    """Return all metrics against one view of the human judgments, with chance and people below."""
    wanted = [("system", key) for key in (*SYSTEM_STATISTICS, "cluster")]
    wanted += [("sentence", key) for key in (*SENTENCE_STATISTICS, "cluster", "tied_share")]
    shown = [f for f in answer.figures if f.human == view and f.level in ("system", "sentence")]
    metrics = [f for f in answer.figures if f.human == view and f.family not in BESIDE]
    seconds = {(f.metric, f.human): f for f in metrics if (f.level, f.statistic) == ("", "seconds")}
    more: dict[str, dict[tuple[str, str], Cell]] = {}
    if any(figure.missing for figure in seconds.values()):
        more["missing"] = {key: measure_cell(f.missing) for key, f in seconds.items()}
    more["seconds"] = {key: measure_cell(f.value or None, digits=1) for key, f in seconds.items()}
    if spent := _judge_costs(answer.comparison.audits):
        costs = {key: spent[f.signature] for key, f in seconds.items() if f.signature in spent}
        more["cost"] = {key: Cell(cost) for key, cost in costs.items()}
    return figure_table("Metrics by family", shown, wanted, more, ranked=True)


def _judge_costs(audits: Iterable[Audit]) -> dict[str, str]:
    """Return the costs of judges by signature, according to their audits."""
    costs = {}
    for audit in audits:
        spent = [member.get("cost") or {} for member in audit.members]
        amounts = [float(cost["amount"]) for cost in spent if cost.get("amount") is not None]
        # A sum without all members would be too low.
        if amounts and len(amounts) == len(spent):
            about = "≤ " if any("estimated" in cost for cost in spent) else ""
            currency = spent[0].get("currency", "")
            costs[audit.signature] = f"{about}{sum(amounts):.2f} {currency}".strip()
    return costs


def extents_of(tests: Iterable[Significance]) -> list[str]:
    """Return a sentence on each test: its correction, resamples and what its result extends to."""
    sentences = []
    for test in tests:
        extent = EXTENTS.get(test.test)
        more = f": significant differences extend {extent}." if extent else "."
        name = PROPER.get(test.test, test.test)
        sentences.append(f"{name} (Holm, {number(test.permutations)} resamples){more}")
    return list(dict.fromkeys(sentences))


def significance_table(
    test: Significance, names: Sequence[str], heading: str, level: float
) -> PageTable:
    """Return p-values of all pairs of metrics; significant ones show which metric is better.

    Args:
        names: what the metrics of the test are called.
        heading: shown above the table; "" for none.
        level: the level of significance; p-values up to it are marked.
    """
    # The clusters are based on Holm's p-values; raw p-values would contradict them.
    rows = []
    for i, name in enumerate(names):
        cells = [
            Cell("")
            if i == j
            else _p_cell(test.adjusted[i, j], test.values[i], test.values[j], level)
            for j in range(len(names))
        ]
        cluster = "–" if test.clusters[i] is None else str(test.clusters[i])
        rows.append((name, [*cells, Cell(cluster, "n cluster")]))
    words = statistic(test.statistic, test.level).words
    label = f"{test.level.capitalize()} level, {words}: {PROPER.get(test.test, test.test)}"
    caption = f"{label}; p, ▲ the row is better than the column (p ≤ {level:g}), ▼ worse"
    head = headings(["metric"], [*names, "cluster"])
    return PageTable(label, "matrix", head, rows, caption=caption, heading=heading)


def _p_cell(p: float, row: float, column: float, level: float) -> Cell:
    """Return the cell with the p-value of a pair of metrics, given the values of both."""
    if math.isnan(p):
        return Cell("–")
    value = bare_p(p)
    if p > level:
        return Cell(value)
    if not row <= column:
        return Cell(f"{value} ▲", "n sig", strong=True)
    return Cell(f"{value} ▼", "n sig-worse", strong=True)


def pair_matrix(
    labels: Sequence[str], accuracy: Sequence[Sequence[float]], counts: Sequence[Sequence[int]]
) -> PageTable:
    """Return the lower half of the accuracies by pair of systems; the first label is the best."""
    rows = []
    for i, name in enumerate(labels):
        cells = []
        for value, count in zip(accuracy[i][:i], counts[i], strict=False):
            shade = "" if math.isnan(value) or not count else _shade(value)
            cells.append(Cell(number(value, 2).removeprefix("0"), shade))
        rows.append((f"{i + 1}\u2002{name}", cells))
    head = headings(["system"], [str(place) for place in range(1, len(labels))])
    return PageTable("Sentence accuracy by pair of systems", "heat", head, rows)


def _shade(value: float) -> str:
    """Return one of five shades of blue above one half, of orange below."""
    # The rounded number is shaded, so that cells that show equal numbers look equal.
    value = round(value, 2)
    step = min(5, math.ceil(abs(value - 0.5) * 10 - 1e-9))
    return f"{'hi' if value > 0.5 else 'lo'}{step}" if step else ""

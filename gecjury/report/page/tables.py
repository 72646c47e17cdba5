"""The tables of the comparison page: figures by metric, significance, pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from markupsafe import Markup

from gecjury.core.wording import bare_p, number
from gecjury.metaeval.audit import Audit
from gecjury.metaeval.result import SYSTEM_STATISTICS
from gecjury.metaeval.uncertainty import Significance
from gecjury.report.page.markup import render
from gecjury.report.table import Column, Record, Table
from gecjury.report.tables import bounds_of
from gecjury.report.words import BESIDE, EXTENTS, FAMILY_NAMES, PROPER, ComparisonWords
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import Figure, grouped
from gecjury.stats.preferences import SENTENCE_STATISTICS

# Clusters are labels and few ties are not an advantage, so neither column has a best value.
_UNRANKED = ("cluster", "tied_share")
_ORDER = ("refbased", "refless", "judges", "jury", "scores")

RowKey = tuple[str, str]
"""The metric and the kind of judgments that a row of figures is about."""


@dataclass(frozen=True)
class _ShownCell:
    """A cell as the template `table` shows it.

    Attributes:
        text: text of the cell.
        css: CSS classes; `n` is for numbers.
        sort: key by which the page's script sorts; None for the text itself.
        strong: True if it is shown in bold.
        interval: shown below the text; "" for none.
        family: family whose mark and name are shown; "" for none.
    """

    text: str
    css: str = "n"
    sort: str | None = None
    strong: bool = False
    interval: str = ""
    family: str = ""


def table_html(table: Table, css: str, spoken: bool = False) -> Markup:
    """Return a table in a box that scrolls sideways.

    The first column heads the rows, and a row has no cell for a key that it lacks. Rows of chance
    and people stay below the others. The legend of the table is its caption.

    Args:
        css: CSS classes; the page's script sorts `sortable` tables.
        spoken: True if the caption is only for screen readers.
    """
    head, *columns = table.columns
    parts: dict[bool, list[tuple[str, list[_ShownCell]]]] = {False: [], True: []}
    metrics = [row for row in table.rows if row.get("family") not in BESIDE]
    best = {column.key: _best(column, metrics) for column in columns if column.best}
    for row in table.rows:
        own = [column for column in columns if column.key in row or column.value]
        cells = [_shown(column, row, best.get(column.key)) for column in own]
        parts[row.get("family") in BESIDE].append((head.cell(row), cells))
    longest = max((cells for rows in parts.values() for _, cells in rows), key=len, default=[])
    classes = ["", *("n" if "n" in cell.css.split() else "" for cell in longest)]
    groups = [(words, len(list(own))) for words, own in groupby(c.group for c in table.columns)]
    return render(
        "table",
        label=table.title,
        css=css,
        caption=f"{table.title}; {table.legend}" if table.legend else "",
        spoken=spoken,
        groups=groups if len(groups) > 1 else (),
        headings=list(zip([column.title for column in table.columns], classes, strict=False)),
        rows=parts[False],
        below=parts[True],
    )


def _best(column: Column, rows: Iterable[Record]) -> float:
    values: list[float] = [column.cell(row) for row in rows]
    return max(value for value in values if not math.isnan(value))


def _shown(column: Column, row: Record, best: float | None) -> _ShownCell:
    """Return a cell: text, or a number with its interval and its plain value for sorting.

    Args:
        best: the best value of the column, which is shown in bold; None for none.
    """
    value, marks = column.cell(row), row.get(column.marks, "")
    if column.key == "family":
        return _ShownCell("", "", FAMILY_NAMES.get(value, ""), family=value)
    if isinstance(value, str):
        return _ShownCell(value, marks)
    defined = value is not None and not math.isnan(value)
    text = number(value, column.places)
    if defined and column.statistic.p_value:
        text = bare_p(value, column.places)
    interval = ""
    if bounds := bounds_of(row, column):
        low, high = (number(float(bound), 2).replace("0.", ".", 1) for bound in bounds)
        interval = f"[{low}, {high}]"
    strong = defined and best is not None and best - value < 1e-9
    sort = f"{value:.9g}" if defined else ""
    return _ShownCell(text, f"n {marks}".strip(), sort, strong, interval)


def figure_table(
    label: str,
    figures: Iterable[Figure],
    statistics: Sequence[tuple[str, str]],
    more: Mapping[str, Mapping[RowKey, float | str | None]],
    human: str = "",
    ranked: bool = False,
) -> Table:
    """Return figures as a table, one row per metric and kind of judgments.

    Args:
        label: description of the table for screen readers.
        figures: the figures; those of chance and people are below the metrics.
        statistics: the columns, by level and statistic; those in which no metric has a value are
            left out.
        more: further columns by heading: values by metric and kind of judgments.
        human: heading of the column that says which judgments; empty for none.
        ranked: True to list the best of a family first, show the best of a column in bold and name
            the levels above the columns.
    """
    groups = grouped(figures, ("metric", "human"))
    of_metrics = [group for group in groups if group[0].family not in BESIDE]
    # A column is shown if a metric has a value there: chance alone leaves nothing to compare.
    defined = {
        (figure.level, name)
        for figure in chain(*of_metrics)
        for name, value in _values_of(figure)
        if not math.isnan(value)
    }
    shown = [about for about in statistics if about in defined]
    columns = [Column("metric"), Column("family")]
    columns += [Column("human", heading=human)] if human else []
    columns += [_figure_column(level, name, ranked) for level, name in shown]
    columns += [Column(heading, heading=heading, digits=1) for heading in more]
    groups = sorted(groups, key=_place) if ranked else groups
    rows = [
        {
            **dict.fromkeys(map(" ".join, shown), math.nan),
            **_figure_row(group),
            **{name: of.get((group[0].metric, group[0].human)) for name, of in more.items()},
        }
        for group in groups
    ]
    legend = f"{len(of_metrics)} metrics, best of a column in bold" if ranked else ""
    return Table(columns, rows, label, legend=legend)


def _figure_row(group: Sequence[Figure]) -> dict[str, object]:
    """Return the record of figures about the same metric and judgments."""
    first = group[0]
    row: dict[str, object] = {"metric": first.metric, "family": first.family}
    row |= {"human": first.human, "marks": "cluster"}
    for figure in group:
        row |= {f"{figure.level} {name}": value for name, value in _values_of(figure)}
        row |= {f"{figure.level} {figure.statistic}_ci95": figure.interval}
    return row


def _values_of(figure: Figure) -> Iterator[tuple[str, float]]:
    """Yield a figure's value, and the cluster of its level as if it were a figure."""
    yield figure.statistic, (100 if figure.statistic == "tied_share" else 1) * figure.value
    if figure.cluster is not None:
        yield "cluster", float(figure.cluster)


def _figure_column(level: str, name: str, ranked: bool) -> Column:
    key, unranked = f"{level} {name}", name in _UNRANKED
    return Column(
        key,
        heading=statistic(name, "page").heading or name,
        digits={"cluster": 0, "tied_share": 1}.get(name, 3),
        interval="" if unranked else f"{key}_ci95",
        marks="marks" if name == "cluster" else "",
        best=ranked and not unranked,
        group=f"{level.capitalize()} level" if ranked else "",
    )


def _place(group: Sequence[Figure]) -> tuple[int, str, float]:
    """Return the key that sorts rows by family, the best of each first."""
    family = group[0].family
    position = _ORDER.index(family) if family in _ORDER else len(_ORDER)
    # Chance and people are in a separate part, in the order of the document.
    if family in BESIDE:
        return position, "", 0.0
    values = {(figure.level, figure.statistic): figure.value for figure in group}
    keys = ("system", "pearson"), ("sentence", "accuracy")
    known = [value for key in keys if not math.isnan(value := values.get(key, math.nan))]
    return position, family, -known[0] if known else math.inf


def family_table(answer: ComparisonWords, view: str) -> Table:
    """Return all metrics against one view of the human judgments, with chance and people below."""
    wanted = [("system", key) for key in (*SYSTEM_STATISTICS, "cluster")]
    wanted += [("sentence", key) for key in (*SENTENCE_STATISTICS, "cluster", "tied_share")]
    shown = [f for f in answer.figures if f.human == view and f.level in ("system", "sentence")]
    metrics = [f for f in answer.figures if f.human == view and f.family not in BESIDE]
    seconds = {(f.metric, f.human): f for f in metrics if (f.level, f.statistic) == ("", "seconds")}
    more: dict[str, dict[RowKey, float | str | None]] = {}
    if any(figure.missing for figure in seconds.values()):
        more |= {"missing": {key: f.missing for key, f in seconds.items()}}
    more |= {"seconds": {key: f.value or None for key, f in seconds.items()}}
    if spent := _judge_costs(answer.comparison.audits):
        more |= {"cost": {key: spent.get(f.signature) for key, f in seconds.items()}}
    return figure_table("Metrics by family", shown, wanted, more, ranked=True)


def family_html(table: Table) -> Markup:
    """Return a table of `family_table` as it is shown."""
    return table_html(table, "sortable metrics", spoken=True)


def _judge_costs(audits: Iterable[Audit]) -> dict[str, str]:
    """Return the costs of judges by signature, according to their audits."""
    costs = {}
    for audit in audits:
        spent = [member.get("cost") or {} for member in audit.stored.members]
        amounts = [float(amount) for cost in spent if (amount := cost.get("amount")) is not None]
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


def significance_table(test: Significance, names: Sequence[str], level: float) -> Table:
    """Return p-values of all pairs of metrics; significant ones show which metric is better.

    Args:
        names: what the metrics of the test are called.
        level: the level of significance; p-values up to it are marked.
    """
    places = range(len(names))
    rows = []
    for i, cluster in enumerate(test.clusters):
        row = {"metric": names[i], "cluster": "–" if cluster is None else str(cluster)}
        row |= {str(i): "", "marks": "n cluster"}
        # The clusters are based on Holm's p-values; raw p-values would contradict them.
        for j in (j for j in places if j != i):
            p = test.adjusted[i, j]
            sign, marks = _direction(p, test.values[i], test.values[j], level)
            row[str(j)] = "–" if math.isnan(p) else f"{bare_p(p)}{sign}"
            row[f"{j} marks"] = marks
        rows.append(row)
    columns = [Column(str(j), heading=names[j], marks=f"{j} marks") for j in places]
    words = statistic(test.statistic, test.level).words
    return Table(
        [Column("metric"), *columns, Column("cluster", marks="marks")],
        rows,
        f"{test.level.capitalize()} level, {words}: {PROPER.get(test.test, test.test)}",
        legend=f"p, ▲ the row is better than the column (p ≤ {level:g}), ▼ worse",
    )


def _direction(p: float, row: float, column: float, level: float) -> tuple[str, str]:
    """Return the sign and the classes of a p-value, given the values of both metrics."""
    if math.isnan(p) or p > level:
        return "", "n"
    return (" ▼", "n sig-worse") if row <= column else (" ▲", "n sig")


def pair_matrix(
    labels: Sequence[str], accuracy: Sequence[Sequence[float]], counts: Sequence[Sequence[int]]
) -> Table:
    """Return the lower half of the accuracies by pair of systems; the first label is the best."""
    rows = []
    for i, name in enumerate(labels):
        row = {"system": f"{i + 1}\u2002{name}"}
        for j, (value, count) in enumerate(zip(accuracy[i][:i], counts[i], strict=False), 1):
            row[str(j)] = number(value, 2).removeprefix("0")
            row[f"{j} shade"] = "" if math.isnan(value) or not count else _shade(value)
        rows.append(row)
    columns = [Column(str(j), heading=str(j), marks=f"{j} shade") for j in range(1, len(labels))]
    return Table([Column("system"), *columns], rows, "Sentence accuracy by pair of systems")


def _shade(value: float) -> str:
    """Return one of five shades of blue above one half, of orange below."""
    # The rounded number is shaded, so that cells that show equal numbers look equal.
    value = round(value, 2)
    step = min(5, math.ceil(abs(value - 0.5) * 10 - 1e-9))
    return f"{'hi' if value > 0.5 else 'lo'}{step}" if step else ""

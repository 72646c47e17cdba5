"""Printing results: tables for people and papers, JSON and TSV for programs. Computes nothing."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FORMATS", "Column", "Table", "print_result", "print_table", "to_json"]

FORMATS = ("table", "json", "tsv", "markdown", "latex")


@dataclass(frozen=True)
class Column:
    """One column: the key of its cells, its heading, and how many digits people see.

    `interval` names the key of a cell with a lower and an upper bound, which people see behind
    the value; for programs (TSV) the bounds are two columns of their own.
    """

    key: str
    heading: str = ""
    digits: int = 3
    interval: str = ""

    @property
    def title(self) -> str:
        """The heading, by default the key."""
        return self.heading or self.key


@dataclass(frozen=True)
class Table:
    """Rows of cells with a title above and notes below."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    title: str = ""
    notes: Sequence[str] = field(default_factory=tuple)


def print_result(tables: Sequence[Table], document: object, form: str) -> None:
    """Print a command's result on stdout.

    Args:
        tables: for people, papers and TSV.
        document: what JSON shows instead: plain values; numpy's are converted, NaN is `null`.
        form: one of `FORMATS`.
    """
    if form == "json":
        print(to_json(document))
    elif form == "table":
        _print_rich(tables)
    else:
        render = {"tsv": _tsv, "markdown": _markdown, "latex": _latex}[form]
        print("\n".join(render(table, titled=len(tables) > 1) for table in tables), end="")


def print_table(
    columns: Sequence[str | Column],
    rows: Sequence[Mapping[str, Any]],
    form: str,
    title: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Print one table; as JSON it is a list of objects."""
    full = [column if isinstance(column, Column) else Column(column) for column in columns]
    print_result([Table(full, rows, title, notes)], list(rows), form)


def to_json(document: object) -> str:
    """A document as indented JSON with plain numbers; NaN and infinities become `null`."""
    return json.dumps(_plain(document), ensure_ascii=False, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _cell(value: Any, digits: int) -> str:
    """A cell for people: rounded, with a dash for what is missing."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return str(value)


def _text(row: Mapping[str, Any], column: Column) -> str:
    """A cell for people, with its interval where it has one: `.912 [.84, .96]`."""
    cell = _cell(row.get(column.key), column.digits)
    bounds = row.get(column.interval) if column.interval else None
    if bounds is None or any(math.isnan(bound) for bound in bounds):
        return cell
    low, high = (_short(f"{bound:.2f}") for bound in bounds)
    return f"{_short(cell)} [{low}, {high}]"


def _short(number: str) -> str:
    """A number without the nought before its point."""
    return re.sub(r"^(-?)0\.", r"\1.", number)


def _is_number(value: Any) -> bool:
    if hasattr(value, "item"):
        value = value.item()
    return not isinstance(value, str | bool) and value is not None


def _numeric(table: Table, column: Column) -> bool:
    return any(_is_number(row.get(column.key)) for row in table.rows)


def _print_rich(tables: Sequence[Table]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    # Width matters to people only: into a pipe or file a table is as wide as it needs to be.
    width = None if sys.stdout.isatty() else 10_000
    console = Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)
    for number, table in enumerate(tables):
        if number:
            console.print()
        drawn = RichTable(
            title=Text(table.title) if table.title else None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for column in table.columns:
            right = _numeric(table, column)
            drawn.add_column(Text(column.title), justify="right" if right else "left")
        for row in table.rows:
            cells = [Text(_text(row, c)) for c in table.columns]
            drawn.add_row(*cells)
        console.print(drawn)
        for note in table.notes:
            console.print(Text(note), style="dim")


def _tsv(table: Table, titled: bool) -> str:
    """Tab-separated values with a header line, unrounded; missing cells are empty."""
    out = io.StringIO()
    if titled and table.title:
        out.write(f"# {table.title}\n")
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    shown = [
        c for c in table.columns if c.interval and any(row.get(c.interval) for row in table.rows)
    ]
    bounds = [f"{column.interval}_{end}" for column in shown for end in ("low", "high")]
    writer.writerow([*(column.key for column in table.columns), *bounds])
    for row in table.rows:
        cells = [_plain(row.get(column.key)) for column in table.columns]
        for column in shown:
            cells += _plain(row.get(column.interval) or (None, None))
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


def _markdown(table: Table, titled: bool) -> str:
    del titled
    lines = [f"**{table.title}**", ""] if table.title else []
    titles = (column.title.replace("|", "\\|") for column in table.columns)
    lines.append("| " + " | ".join(titles) + " |")
    marks = ["---:" if _numeric(table, column) else "---" for column in table.columns]
    lines.append("|" + "|".join(marks) + "|")
    for row in table.rows:
        cells = (_text(row, c).replace("|", "\\|") for c in table.columns)
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{note}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def _latex(table: Table, titled: bool) -> str:
    """A booktabs table."""
    del titled
    align = "".join("r" if _numeric(table, column) else "l" for column in table.columns)
    head = " & ".join(_escape(column.title) for column in table.columns)
    lines = [f"% {table.title}"] if table.title else []
    lines += [f"\\begin{{tabular}}{{{align}}}", "\\toprule", f"{head} \\\\", "\\midrule"]
    for row in table.rows:
        cells = (_escape(_text(row, c)) for c in table.columns)
        lines.append(" & ".join(cells) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}", *(f"% {note}" for note in table.notes)]
    return "\n".join(lines) + "\n"


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    | {"–": "--", "α": "$\\alpha$", "β": "$\\beta$", "ρ": "$\\rho$", "τ": "$\\tau$"}
)


def _escape(text: str) -> str:
    return text.translate(_LATEX)

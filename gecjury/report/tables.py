"""Print results: tables for people and papers, JSON and TSV for programs. Nothing is computed here.

Cells, headings, titles and notes are escaped, because names and sentences are untrusted and could
contain control sequences for the terminal.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Literal

from gecjury.core.textfiles import JsonValue
from gecjury.core.wording import bare_p, chopped, letters, shortened, visible
from gecjury.core.wording import width as width_of
from gecjury.report.escaping import (
    json_text,
    latex,
    latex_comment,
    markdown,
    markdown_cell,
    markdown_line,
    needs_fonts,
)
from gecjury.report.table import CellValue, Column, Record, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from gecjury.scoring.scores import ScoreTable

_PLAIN = {
    **dict.fromkeys("–−", "-"),
    "→": "->",
    "…": "...",
    "·": "|",
    "×": "x",
    "±": "+/-",
    "\u202f": " ",
    "✓": "+",
    "✗": "x",
    "○": "o",
    **{"α": "alpha", "β": "beta", "ε": "epsilon", "κ": "kappa", "λ": "lambda", "π": "pi"},
    **{"ρ": "rho", "τ": "tau", "≤": "<=", "≥": ">="},
}
"""Signs in place of those of tables that the encoding of stdout lacks."""

_WIDE = 10_000  # characters: as wide as any table needs to be
_PIPE = 100  # width of a pipe or a file, where no terminal has a width


def print_tables(
    tables: Sequence[Table],
    document: object,
    form: str,
    sentences: Sequence[str] = (),
    further: Sequence[str] = (),
) -> None:
    """Print tables, or a document instead.

    Args:
        tables: printed for people, papers and TSV.
        document: printed for JSON: plain values; numpy values are converted, NaN becomes `null`.
        form: `table`, `json`, `tsv`, `markdown` or `latex`.
        sentences: printed before the tables, as text or Markdown.
        further: printed after them.
    """
    if form == "json":
        print_json(document)
    elif form == "table":
        with _plain_signs():
            _print_rich(tables, sentences, further)
    else:
        render = {"tsv": _tsv, "markdown": _markdown, "latex": _latex}[form]
        if form == "tsv" and len(tables) == 1:
            # A single table begins with its header, as programs expect.
            tables = [replace(tables[0], title="")]
        above, below = (
            "".join(f"{markdown_line(sentence)}  \n" for sentence in part)
            for part in (sentences, further)
        )
        print("\n".join(filter(None, [above, *map(render, tables), below])), end="")


def tables_text(tables: Sequence[Table]) -> str:
    """Return tables as plain text, separated by blank lines."""
    from rich.console import Console

    out = io.StringIO()
    _draw(Console(file=out, width=_WIDE, highlight=False, color_system=None), tables)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def records_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return records as a plain-text table, without lists and nested records.

    Floats have four digits; a missing value is a dash. Signatures, which are long, are listed below
    the table, each once.
    """
    # Lists and nested records are for JSON only; a signature would make all other columns narrow.
    keys = [
        key
        for key in dict.fromkeys(key for row in rows for key in row)
        if key != "signature"
        and not any(isinstance(plain(row.get(key)), Mapping | list) for row in rows)
    ]
    signatures = dict.fromkeys(str(text) for row in rows if (text := row.get("signature")))
    text = tables_text([Table([Column(key, digits=4) for key in keys], rows, notes=[*signatures])])
    return "\n".join(filter(None, text.splitlines()))


def print_table(
    columns: Sequence[str | Column],
    rows: Sequence[Mapping[str, object]],
    form: str,
    title: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Print one table; as JSON it is a list of objects."""
    full = [column if isinstance(column, Column) else Column(column) for column in columns]
    print_tables([Table(full, rows, title, notes)], list(rows), form)


def print_json(document: object) -> None:
    """Print a document as JSON, valid in any encoding of stdout."""
    print(json_text(to_json(document), getattr(sys.stdout, "encoding", None) or "utf-8"))


def to_json(document: object) -> str:
    r"""Return a document as indented JSON with plain numbers; NaN and infinities become `null`.

    Characters that terminals interpret are escaped, such as `\u009b`; JSON reads the same text.
    """
    return json_text(json.dumps(plain(document), ensure_ascii=False, indent=2, allow_nan=False))


def plain(value: object) -> JsonValue:
    """Convert numpy numbers to Python numbers, arrays to lists, NaN and infinities to None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _cell(value: object, digits: int) -> str:
    """Return a cell for people: rounded, with a dash for a missing value."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return visible(str(value))


def _text(row: Record, column: Column, table: Table) -> str:
    """Return a cell for people, with its interval if it has one: `.912 [.84, .96]`."""
    value = column.cell(row)
    cell = _cell(value, column.places)
    if column.statistic.p_value and cell != "–":
        cell = bare_p(float(value), column.places)
    if not column.interval or not any(bounds_of(other, column) for other in table.rows):
        return cell
    bounds = bounds_of(row, column)
    if bounds is None:
        return _short(cell)
    low, high = (_short(f"{bound:.2f}") for bound in bounds)
    return f"{_short(cell)} [{low}, {high}]"


def bounds_of(row: Record, column: Column) -> Sequence[float] | None:
    """Return the bounds of a record's interval; None if they are not defined."""
    bounds: Sequence[float] | None = row.get(column.interval)
    return None if bounds is None or any(math.isnan(bound) for bound in bounds) else bounds


def shown_cells(table: Table) -> tuple[list[str], list[bool], list[list[str]]]:
    """Return a table as people see it: headings, which columns are numeric, and cells by row."""
    return (
        [visible(column.title) for column in table.columns],
        [any(_is_number(column.cell(row)) for row in table.rows) for column in table.columns],
        [[_text(row, column, table) for column in table.columns] for row in table.rows],
    )


def _short(number: str) -> str:
    """Return a number without the zero before its decimal point."""
    return re.sub(r"^(-?)0\.", r"\1.", number)


def _is_number(value: object) -> bool:
    if hasattr(value, "item"):
        value = value.item()
    return not isinstance(value, str | bool) and value is not None


def _print_rich(tables: Sequence[Table], sentences: Sequence[str], further: Sequence[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            """Let `gecjury.cli` handle a closed pipe; rich itself would exit with status 1."""
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else _WIDE
    screen = Screen(file=sys.stdout, width=width, highlight=False, soft_wrap=False)
    # COLUMNS sets the width for a pipe; without it the default applies.
    limit = None if width is None else get_terminal_size((_PIPE, 24)).columns
    for sentence in sentences:
        screen.print(Text(_wrapped(visible(sentence), limit)), style="bold")
    if sentences:
        screen.print()
    _draw(screen, tables, width=limit)
    for place, sentence in enumerate(further):
        screen.print(Text("\n" * (not place) + _wrapped(visible(sentence), limit)))


@contextmanager
def _plain_signs() -> Iterator[None]:
    """Print the signs of `_PLAIN` in ASCII if stdout cannot encode them, and escape the rest."""

    def replaced(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        signs = error.object[error.start : error.end]
        text = "".join(_PLAIN.get(sign, sign) for sign in signs)
        return text.encode("ascii", "backslashreplace").decode("ascii"), error.end

    if not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    codecs.register_error("gecjury.plain", replaced)
    before = sys.stdout.errors
    sys.stdout.reconfigure(errors="gecjury.plain")
    try:
        yield
    finally:
        # A pipe that was closed cannot be flushed, which reconfiguring does.
        with suppress(BrokenPipeError):
            sys.stdout.reconfigure(errors=before)


def _draw(console: Console, tables: Sequence[Table], *, width: int | None = None) -> None:
    """Print tables on a rich console, with a blank line between them.

    Args:
        console: a rich console.
        tables: the tables to print.
        width: the width to keep to unless a figure would be cut off; by default that of the
            console, which cuts figures off.
    """
    from rich.text import Text

    for place, table in enumerate(tables):
        if place:
            console.print()
        if table.title:
            console.print(Text(_wrapped(visible(table.title), width)), style="bold")
        numbers = _numbers(table)
        panels, gap = _laid_out(table, numbers, width or console.width)
        for panel in panels:
            fits = None if width is None else max(width, _total(panel, gap))
            console.print(_drawn(panel, gap), width=fits)
        for note in table.notes:
            # A signature stays on one line, so that it can be copied.
            raw = note in numbers or " " not in note
            text = visible(f"[{numbers[note]}] {note}" if note in numbers else note)
            console.print(Text(text if raw else _wrapped(text, width)), style="dim", soft_wrap=raw)


def _wrapped(text: str, width: int | None) -> str:
    """Wrap running text to a width, if one is given, without breaking names or addresses."""
    if width is None:
        return text
    lines = [""]
    for word in text.split():
        if lines[-1] and width_of(f"{lines[-1]} {word}") > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _numbers(table: Table) -> dict[str, int]:
    """Return numbers for the signatures below a table, if there are several."""
    if not any(column.key == "metric" for column in table.columns):
        return {}
    signatures = dict.fromkeys(str(row.get("signature", "")) for row in table.rows)
    below = [note for note in table.notes if note in signatures]
    return {note: number for number, note in enumerate(below, 1)} if len(below) > 1 else {}


_GAP, _NARROW = 3, 2  # between two columns of a drawn table; the second if it would be too wide
_LONGEST = 4_000  # columns of a cell; no sentence is longer, and drawing wider cells is slow
_FOLDED = 24  # a column of running text may be folded down to this width
_SENTENCE = 16  # double-width letters; a longer text is not a name
_NAMES = (40, 24, 12)  # names and words of running text are folded to the first width that suffices


@dataclass(frozen=True)
class _DrawnColumn:
    """A column of a drawn table.

    Attributes:
        title: the heading.
        numeric: True if it contains numbers.
        cells: the cells from the top.
        running: True if it contains running text, which may be folded between any two words.
        width: the width to which names are folded; running text may be wider.
    """

    title: str
    numeric: bool
    cells: Sequence[str]
    running: bool
    width: int = 0

    def narrowed(self, name: int) -> _DrawnColumn:
        """Return the column at its minimum width, with title, names and words folded to `name`."""
        least = max(map(width_of, self.cells), default=0)
        if self.running:
            words = max(width_of(word) for text in self.cells for word in text.split() or [""])
            least = max(min(words, name), min(_FOLDED, least))
        elif not self.numeric:
            least = min(least, name)
        return replace(self, width=max(least, min(width_of(self.title), name)))


def _drawn(panel: Sequence[_DrawnColumn], gap: int) -> RichTable:
    """Return columns side by side as a rich table."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    # The box itself puts one space between two columns.
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, gap - _NARROW))
    folded = []
    for column in panel:
        justify: Literal["right", "left"] = "right" if column.numeric else "left"
        heading = Text(_folded(column.title, column.width))
        drawn.add_column(heading, justify=justify, overflow="fold")
        # rich already folds running text between words.
        names = [cell if column.running else _folded(cell, column.width) for cell in column.cells]
        folded.append(map(Text, names))
    for row in zip(*folded, strict=True):
        drawn.add_row(*row)
    return drawn


def _laid_out(
    table: Table, numbers: Mapping[str, int], width: int
) -> tuple[Sequence[Sequence[_DrawnColumn]], int]:
    """Return the columns of a table in as many panels as a width requires, and the gaps' width.

    Running text is folded first, then the gaps get narrower, then long names are folded. If that is
    not enough, the columns are divided into panels below each other, each with the columns that
    identify the rows, so that no figure is cut off.

    Args:
        table: the table to draw.
        numbers: the numbers of the signatures below it.
        width: the width of a terminal or a line.
    """
    titles, numeric, rows = shown_cells(table)
    columns = []
    for index, (title, number) in enumerate(zip(titles, numeric, strict=True)):
        cells = [shortened(row[index], _LONGEST) for row in rows]
        if table.columns[index].key == "metric":
            marks = [numbers.get(str(row.get("signature", ""))) for row in table.rows]
            cells = [f"{c} [{mark}]" if mark else c for c, mark in zip(cells, marks, strict=True)]
        columns.append(_DrawnColumn(title, number, cells, _running(cells)).narrowed(_WIDE))
    gap = _GAP if _total(columns, _GAP) <= width else _NARROW
    panels = _panels(columns, width, gap)
    for name in _NAMES if _total(columns, gap) > width else ():
        panels = _panels([column.narrowed(name) for column in columns], width, gap)
        if all(_total(panel, gap) <= width for panel in panels):
            break
    return panels, gap


def _folded(name: str, width: int) -> str:
    """Fold a name to a width, breaking it after punctuation if possible."""
    if width_of(name) <= width:
        return name
    lines = [""]
    # The punctuation stays at the end of a line, where it shows that the name continues.
    for part in re.split(r"(?<=[\s,:;/=|+])", name):
        if width_of(lines[-1] + part.rstrip()) > width:
            lines.append("")
        *whole, rest = chopped(lines.pop() + part, width) or [""]
        lines += [*whole, rest]
    return "\n".join(line.rstrip() for line in lines if line)


def _panels(
    columns: Sequence[_DrawnColumn], width: int, gap: int
) -> Sequence[Sequence[_DrawnColumn]]:
    """Divide the columns of a table into as many panels as a width requires."""
    if _total(columns, gap) <= width:
        return [columns]
    # Every panel repeats the columns that identify the rows, so that it can be read on its own.
    keys = _keys(columns)
    panels, open_panel = [], keys
    for index in range(len(columns)):
        if index in keys:
            continue
        if open_panel != keys and _total([columns[i] for i in [*open_panel, index]], gap) > width:
            panels.append(open_panel)
            open_panel = keys
        open_panel = [*open_panel, index]
    panels.append(open_panel)
    return [[columns[index] for index in sorted(panel)] for panel in panels]


def _total(columns: Sequence[_DrawnColumn], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1) + 2


def _running(cells: Sequence[str]) -> bool:
    """Return True if a column contains text that may be folded: several words in its longest cell.

    Chinese and Japanese have no spaces between words, so more than `_SENTENCE` double-width letters
    count as a sentence.
    """
    longest = max(cells, key=width_of, default="")
    return longest.count(" ") > 2 or sum(wide == 2 for _, wide in letters(longest)) > _SENTENCE


def _keys(columns: Sequence[_DrawnColumn]) -> list[int]:
    """Return the columns that identify the rows: the first, and further ones that distinguish more.

    Only the first four columns are considered.
    """
    keys: list[int] = []
    distinct = 0
    for index, column in enumerate(columns[:4]):
        parts = [*(columns[key].cells for key in keys), column.cells]
        more = len(set(zip(*parts, strict=True)))
        if not keys or more > distinct:
            keys.append(index)
            distinct = more
    return keys


def _tsv(table: Table) -> str:
    r"""Return tab-separated values with a header line, unrounded; missing cells are empty.

    A tab or a line break in a name is escaped, as `\x09`, so that every line is one row.
    """
    out = io.StringIO()
    if table.title:
        out.write(f"# {visible(table.title)}\n")
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    # Bounds come last, so that adding intervals does not move other columns.
    bounded = [
        c for c in table.columns if c.interval and any(row.get(c.interval) for row in table.rows)
    ]
    bounds = [f"{column.interval}_{end}" for column in bounded for end in ("low", "high")]
    writer.writerow([visible(key) for key in (*(c.key for c in table.columns), *bounds)])
    for row in table.rows:
        cells = [plain(column.cell(row)) for column in table.columns]
        for column in bounded:
            cells += plain(row.get(column.interval) or (None, None))
        writer.writerow(
            "" if cell is None else cell if isinstance(cell, int | float) else visible(str(cell))
            for cell in cells
        )
    return out.getvalue()


def _markdown(table: Table) -> str:
    headings, numeric, rows = shown_cells(table)
    title = visible(table.title).strip()  # stars next to a space do not start or end bold text
    lines = [f"**{markdown(title)}**", ""] if title else []
    cells = [[markdown_cell(cell) for cell in row] for row in [headings, *rows]]
    head, *body = cells[:1] + _emphasised(table, cells[1:], "**{}**")
    marks = "|".join("---:" if number else "---" for number in numeric)
    lines += [f"| {' | '.join(head)} |", f"|{marks}|"]
    lines += [f"| {' | '.join(row)} |" for row in body]
    lines += ["", *(f"{markdown_line(note)}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def _latex(table: Table) -> str:
    """Return a booktabs table."""
    headings, numeric, rows = shown_cells(table)
    align = "".join("r" if number else "l" for number in numeric)
    cells = [
        [latex(cell, number=number) for cell, number in zip(row, numeric, strict=True)]
        for row in rows
    ]
    body = [_latex_row(row) for row in _emphasised(table, cells, "\\textbf{{{}}}")]
    for place in sorted(table.rules, reverse=True):
        body.insert(place, "\\midrule")
    lines = [f"\\begin{{tabular}}{{{align}}}", "\\toprule", _latex_row(map(latex, headings))]
    lines += ["\\midrule", *body, "\\bottomrule", "\\end{tabular}"]
    above = [latex_comment(table.title)] if table.title else []
    if needs_fonts("".join(lines)):
        above.append(latex_comment(_FONTS))
    return "\n".join([*above, *lines, *map(latex_comment, table.notes)]) + "\n"


_FONTS = (
    "this table has letters that pdflatex lacks: compile with xelatex or lualatex and a font that "
    "has them, or use the package CJKutf8"
)


def _emphasised(table: Table, cells: list[list[str]], bold: str) -> list[list[str]]:
    """Return escaped cells with the best values in bold; their intervals are not.

    Args:
        cells: the escaped cells by row.
        bold: bold text in the format of the cells.
    """
    for row, columns in _best_cells(table).items():
        for column in columns:
            value, space, bounds = cells[row][column].partition(" [")
            cells[row][column] = bold.format(value) + space + bounds
    return cells


def _best_cells(table: Table) -> dict[int, set[int]]:
    """Return by row the columns in which it has the best value; values that look equal share it.

    Rows are compared with those of the same kind of judgments. Chance and people are not compared.
    """
    cells: dict[int, set[int]] = {}
    rows_of: dict[CellValue, list[int]] = {}
    for place, row in enumerate(table.rows):
        if not row.get("beside"):
            rows_of.setdefault((row.get("human"), row.get("aspect")), []).append(place)
    columns = [place for place, column in enumerate(table.columns) if column.best]
    for rows, place in itertools.product(rows_of.values(), columns):
        column = table.columns[place]
        values = {row: column.cell(table.rows[row]) for row in rows}
        shown = {
            row: round(float(value), column.places)
            for row, value in values.items()
            if _is_number(value) and not math.isnan(value)
        }
        if len(set(shown.values())) > 1:
            best = (min if column.statistic.better == "lower" else max)(shown.values())
            for at in (row for row, value in shown.items() if value == best):
                cells.setdefault(at, set()).add(place)
    return cells


def _latex_row(cells: Iterable[str]) -> str:
    line = " & ".join(cells)
    # After `\\` and after a rule LaTeX would read a bracket as an optional argument.
    return ("{}" if line.lstrip().startswith(("[", "*")) else "") + f"{line} \\\\"


_GIST = {"answered by": "", "valid replies": "", "cost": ":"}
"""Facts of an audit that people read without `--verbose`, with the sign that follows them."""


def audit_table(label: str, rows: Sequence[Mapping[str, object]]) -> Table:
    """Return the table of the audit that a metric stored with its scores."""
    columns = [Column(key) for key in ("model", "what", "value")]
    told = ((str(row["what"]), row["value"]) for row in rows)
    facts = [f"{what}{_GIST[what]} {value}" for what, value in told if what in _GIST]
    gist = f"{label}: {'; '.join(facts)}" if facts else ""
    return Table(columns, rows, f"Audit of {label}", gist=gist)


def audit_tables(tables: Sequence[ScoreTable]) -> list[Table]:
    """Return the tables of the audits that metrics stored with their scores."""
    return [audit_table(table.signature.label, table.audit.rows) for table in tables if table.audit]

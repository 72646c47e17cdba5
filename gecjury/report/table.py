"""Tables: records, and the columns in which they are shown to people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from gecjury.core.wording import WARNING, shortly
from gecjury.stats.catalogue import Statistic, statistic

CellValue: TypeAlias = Any
"""A plain value of a record: a text, a number, a list, or None."""

Record = Mapping[str, CellValue]
"""A row of a table: plain values by key."""

METRIC_KEYS = ("metric", "measure")
"""Keys under which records name their metric."""

Reader = Literal["brief", "verbose", "latex", "tsv"]
"""Who reads a table: people without and with `--verbose`, papers, and programs."""

BRIEF: tuple[Reader, ...] = ("brief",)
OTHERS: tuple[Reader, ...] = ("verbose", "latex", "tsv")

Sentences = Mapping[str, Sequence[tuple[str, Sequence[tuple[str, str]]]]]
"""Sentences by group: a line on each, and its versions by name, with their edits marked."""

MOST_COLUMNS = 8
"""Columns of a table that people see without `--verbose`."""
MOST_NOTES = 3
"""Notes below a table that people see without `--verbose`, in addition to the legend."""


@dataclass(frozen=True)
class Column:
    """A column of a table as people see it.

    Attributes:
        key: key of the cells in records.
        heading: the heading, if it is not that of the catalogue of statistics: a name from the
            data, such as that of a system.
        digits: digits after the decimal point; None for those of the catalogue.
        place: the level or table that the key is looked up for in the catalogue.
        interval: key of the cell with the two bounds that people see after the value; for
            programs (TSV) the bounds are in two separate columns.
        value: computes the cell from a record, if it is not simply the value of a key.
        shaded: whether a page shades the cells by their value.
        best: whether papers and pages show the best value in bold.
        legend: what the column shows, in a few words.
        notes: the same in full, which all but brief readers see in place of the legend.
        hidden: readers who do not see the column.
        bare: readers who see the value without its interval.
        marks: key of the cell with the CSS classes, such as a shade, that a page gives the value.
        group: words that a page shows above this and neighbouring columns.
    """

    key: str
    heading: str = ""
    digits: int | None = None
    interval: str = ""
    value: Callable[[Record], CellValue] | None = None
    shaded: bool = False
    best: bool = False
    place: str = ""
    legend: str = ""
    notes: tuple[str, ...] = ()
    hidden: tuple[Reader, ...] = ()
    bare: tuple[Reader, ...] = ()
    marks: str = ""
    group: str = ""

    @property
    def title(self) -> str:
        """The heading, or the key if there is no heading."""
        return self.heading or self.statistic.heading or self.key

    @property
    def statistic(self) -> Statistic:
        """The entry of the catalogue."""
        return statistic(self.key, self.place)

    @property
    def places(self) -> int:
        """The digits after the decimal point."""
        return self.statistic.digits if self.digits is None else self.digits

    def cell(self, row: Record) -> CellValue:
        """Return the value that the column shows for a record; None if there is none."""
        return row.get(self.key) if self.value is None else self.value(row)


@dataclass(frozen=True)
class Table:
    """Records with the columns, title and notes that people see.

    Attributes:
        columns: the columns that people see, from the left.
        rows: the records; JSON contains them in full.
        title: shown above the table.
        notes: shown below the table.
        name: key of the records in JSON; empty if JSON has them elsewhere.
        instead: tables that some readers see instead, such as one with sorted rows.
        rules: numbers of the rows that LaTeX separates from the one above by a rule.
        legend: what signs and headings mean, in one or two lines; shown before the notes, after
            the legends of the columns.
        crossed: keys of the values of which papers see one column per metric; see `crossed`.
        asked: whether people see the table without `--verbose` although it is not the first one:
            an option asked for it, or it says what is missing.
        gist: what people read below the first table if they do not see this one.
    """

    columns: Sequence[Column]
    rows: Sequence[Record]
    title: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    name: str = ""
    instead: Mapping[Reader, Table] = field(default_factory=dict)
    rules: tuple[int, ...] = ()
    legend: str = ""
    asked: bool = False
    gist: str = ""
    crossed: tuple[str, ...] = ()

    def worded(self, change: Callable[[str], str]) -> Table:
        """Return the table with its notes and those of its other versions changed."""
        instead = {reader: table.worded(change) for reader, table in self.instead.items()}
        notes = [change(note) for note in self.notes]
        return replace(self, notes=notes, gist=change(self.gist), instead=instead)

    def columns_for(self, reader: Reader) -> Table:
        """Return the table with the columns that a reader sees."""
        columns = [
            replace(column, interval="") if reader in column.bare else column
            for column in self.columns
            if reader not in column.hidden
        ]
        table = replace(self, columns=columns)
        return crossed(table, *self.crossed) if self.crossed and reader == "latex" else table

    def seen_by(self, reader: Reader, gists: Sequence[str] = (), *, warned: bool = False) -> Table:
        """Return the table that a reader sees, with the legend as its first note.

        Gists of other tables come before its own notes, which begin with warnings, unless people
        were `warned` before the table.

        Without `--verbose`, people see at most `MOST_COLUMNS` and `MOST_NOTES`, and no signatures.
        """
        table = self.instead.get(reader, self).columns_for(reader)
        columns, brief = table.columns, reader == "brief"
        legends = [column.legend for column in columns if brief or not column.notes]
        legend = "; ".join(filter(None, dict.fromkeys([*legends, table.legend])))
        about = dict.fromkeys(n for column in columns for n in column.notes if not brief)
        notes = [] if warned else [note for note in table.notes if note.startswith(WARNING)]
        notes += [*about, *(note for note in table.notes if not note.startswith(WARNING))]
        if brief:
            signatures = {row.get("signature") for row in self.rows}
            columns = columns if table.asked else columns[:MOST_COLUMNS]
            notes = [*gists, *(note for note in notes if note not in signatures)][:MOST_NOTES]
        return replace(table, columns=columns, notes=[*filter(None, [legend]), *notes], legend="")

    def with_short_names(self, names: Mapping[str, str]) -> Table:
        """Return the table with metrics called by their short names.

        Args:
            names: see `gecjury.scoring.options.short_names`.
        """
        columns = [replace(c, heading=shortly(c.title, names)) for c in self.columns]
        rows = [
            {**row, **{key: names.get(row[key], row[key]) for key in METRIC_KEYS if key in row}}
            for row in self.rows
        ]
        notes = [shortly(note, names) for note in self.notes]
        title = shortly(self.title, names)
        return replace(self, columns=columns, rows=rows, title=title, notes=notes)


def crossed(table: Table, *keys: str) -> Table:
    """Return scores of systems as papers show them: one row per system, one column per metric.

    Args:
        table: a table with the columns `system` and `metric` and those of values.
        *keys: keys of the values; if a metric has several, each gets a column.
    """
    columns = {column.key: column for column in table.columns}
    heads: dict[str, Column] = {}
    rows: dict[str, dict[str, Any]] = {}
    for row in table.rows:
        system, metric = (columns[key].cell(row) for key in ("system", "metric"))
        record = rows.setdefault(system, {"system": system})
        for key in (key for key in keys if key in row):
            column, place = columns[key], f"{metric} {key}"
            heading = metric if key == keys[-1] else f"{metric} {column.title}"
            interval = column.interval and f"{place} {column.interval}"
            shown = replace(column, key=place, heading=heading, digits=column.places, best=True)
            heads[place] = replace(shown, interval=interval)
            record[place] = row[key]
            if column.interval in row:
                record[interval] = row[column.interval]
    system_column = next(column for column in table.columns if column.key == "system")
    return replace(table, columns=[system_column, *heads.values()], rows=list(rows.values()))

"""Tables: records, and the columns in which people see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gecjury.wording import shortly

Record = Mapping[str, Any]
"""A row of a table: plain values by key."""

METRIC_KEYS = ("metric", "measure")
"""Keys under which records name their metric."""

Reader = Literal["brief", "verbose", "latex"]
"""Who reads a table: people without and with `--verbose`, and papers."""


@dataclass(frozen=True)
class Column:
    """A column of a table as people see it.

    Attributes:
        key: key of the cells in records.
        heading: above them; the key unless given.
        digits: behind the point of a number.
        interval: key of the cell with the two bounds that people see behind the value; programs
            (TSV) read the bounds in two columns of their own.
        value: makes a cell of a record where no key of it will do.
        shaded: whether a page colours the cells by their size.
        p_value: whether the cells are p-values: those below .0001 are shown as `< .0001`.
        best: whether LaTeX shows the largest value in bold.
    """

    key: str
    heading: str = ""
    digits: int = 3
    interval: str = ""
    value: Callable[[Record], Any] | None = None
    shaded: bool = False
    p_value: bool = False
    best: bool = False

    @property
    def title(self) -> str:
        """The heading, or the key without one."""
        return self.heading or self.key

    def cell(self, row: Record) -> Any:
        """Return the value that the column shows of a record; None where it has none."""
        return row.get(self.key) if self.value is None else self.value(row)


@dataclass(frozen=True)
class Table:
    """Records with the columns, title and notes that people see.

    Attributes:
        columns: the columns that people see, from the left.
        rows: the records; JSON has them whole.
        title: above the table.
        notes: below it.
        name: key of the records in JSON; empty where JSON has them elsewhere.
        instead: tables that some readers see in its place: fewer columns, sorted rows.
    """

    columns: Sequence[Column]
    rows: Sequence[Record]
    title: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    name: str = ""
    instead: Mapping[Reader, Table] = field(default_factory=dict)

    def seen_by(self, reader: Reader) -> Table:
        """Return the table that a reader sees.

        Signatures stand below it with `--verbose` alone, and in JSON.
        """
        table = self.instead.get(reader, self)
        if reader != "brief":
            return table
        signatures = {row.get("signature") for row in self.rows}
        return replace(table, notes=[note for note in table.notes if note not in signatures])

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

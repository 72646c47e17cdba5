"""Tables: records, and the columns in which people see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = Mapping[str, Any]
"""A row of a table: plain values by key."""


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
    """

    key: str
    heading: str = ""
    digits: int = 3
    interval: str = ""
    value: Callable[[Record], Any] | None = None
    shaded: bool = False

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
    """

    columns: Sequence[Column]
    rows: Sequence[Record]
    title: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    name: str = ""

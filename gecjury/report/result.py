"""A finished study: tables of records, and facts about it, whatever way they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Record = Mapping[str, Any]
"""A row of a table: plain values by key."""


@dataclass(frozen=True)
class Column:
    """A column of a table as people see it.

    Attributes:
        key: of the cells.
        heading: above them; the key unless given.
        digits: behind the point of a number.
        interval: key of the cell with the two bounds that people see behind the value; programs
            (TSV) read the bounds in two columns of their own.
        value: makes a cell of a record where no key of it will do.
    """

    key: str
    heading: str = ""
    digits: int = 3
    interval: str = ""
    value: Callable[[Record], Any] | None = None

    @property
    def title(self) -> str:
        """The heading, or the key where there is none."""
        return self.heading or self.key

    def cell(self, row: Record) -> Any:
        """Return the value that the column shows of a record; None where it has none."""
        return row.get(self.key) if self.value is None else self.value(row)


@dataclass(frozen=True)
class Table:
    """Records with the columns, title and notes that people see.

    Attributes:
        columns: what people see of a record, from the left.
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


@dataclass(frozen=True, repr=False)
class Result:
    """What a study found: `pandas.DataFrame(result.rows())`, `print(result)`.

    Attributes:
        tables: the main one first.
        facts: what else JSON has, by key.
        notes: what a reader must be told.
        status: as a command ends with it: 0, or 1 where scores were wanted that could not be had.
        said: lines on the outcome, such as the verdict of a gate.
        language: of the texts in the tables, as pages name it.
        title: of the page.
    """

    tables: tuple[Table, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    status: int = 0
    said: tuple[str, ...] = ()
    language: str = "en"
    title: str = ""

    def table(self, name: str) -> Table:
        """Return the table of a name; where several share it, one with the records of all.

        Raises:
            KeyError: there is none; names those that there are.
        """
        named = [table for table in self.tables if table.name == name]
        if not named:
            names = dict.fromkeys(table.name for table in self.tables if table.name)
            raise KeyError(f"no table {name!r}; there are: {', '.join(names)}")
        return replace(named[0], rows=[row for table in named for row in table.rows])

    def rows(self) -> list[dict[str, Any]]:
        """Return the records of the main table."""
        return [dict(row) for row in self.tables[0].rows]

    def document(self) -> dict[str, Any]:
        """Return what JSON shows: the records by the tables' names, the facts and the notes."""
        names = dict.fromkeys(table.name for table in self.tables if table.name)
        records = {name: list(self.table(name).rows) for name in names}
        return {**self.facts, **records, "notes": list(self.notes)}

    def page(self) -> str:
        """Return the tables as one HTML page that needs no network."""
        from gecjury.report.page.scores import tables_html

        return tables_html(self)

    def __str__(self) -> str:
        """Return the tables as plain text."""
        from gecjury.report.tables import tables_text

        return tables_text([table for table in self.tables if table.columns])

    def __repr__(self) -> str:
        """Return the kind of result and its size."""
        count = len(self.tables[0].rows)
        return f"<{type(self).__name__}: {count} row{'' if count == 1 else 's'}>"

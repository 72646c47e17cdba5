"""The result of a study: tables of records, and facts about it, for every output format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gecjury.report.table import Column as Column
from gecjury.report.table import Record as Record
from gecjury.report.table import Table as Table
from gecjury.report.tables import print_tables, shown_cells, tables_text
from gecjury.wording import html_table


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a study: `pandas.DataFrame(result.rows())`, `print(result)`.

    Attributes:
        tables: the main one first.
        facts: further entries of JSON, by key.
        notes: remarks for the reader.
        status: exit status of a command: 0, or 1 where scores are missing.
        said: lines on the outcome, such as the verdict of a gate.
        language: of the texts in the tables, as pages name it.
        title: of the page.
        draw: writes the figure to a file; None where there is nothing to draw.
        text: what a command prints in the place of the tables, for programs that read lines.
    """

    tables: tuple[Table, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    status: int = 0
    said: tuple[str, ...] = ()
    language: str = "en"
    title: str = ""
    draw: Callable[[str], None] | None = None
    text: str | None = None

    def table(self, name: str) -> Table:
        """Return the table of a name; where several share it, one with the records of all.

        Raises:
            KeyError: there is none; names the existing ones.
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
        """Return the document for JSON: records by the tables' names, facts and notes."""
        names = dict.fromkeys(table.name for table in self.tables if table.name)
        records = {name: list(self.table(name).rows) for name in names}
        return {**self.facts, **records, "notes": list(self.notes)}

    def __str__(self) -> str:
        """Return the tables as plain text."""
        return tables_text([table for table in self.tables if table.columns])

    def _repr_html_(self) -> str:
        """Return the main table for a notebook."""
        table = self.tables[0]
        headings, _, rows = shown_cells(table)
        return html_table(table.title, headings, rows)

    def __repr__(self) -> str:
        """Return the kind of result and its size."""
        count = len(self.tables[0].rows)
        return f"<{type(self).__name__}: {count} row{'' if count == 1 else 's'}>"


def print_result(result: Result, form: str) -> None:
    """Print a result on stdout.

    Args:
        result: its document as JSON, its tables with columns otherwise.
        form: one of `gecjury.report.tables.FORMATS`.
    """
    print_tables([table for table in result.tables if table.columns], result.document(), form)

"""The result of a study: tables of records and facts about it, for every output format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from gecjury.core.wording import READING, WARNING, html_table, reading_last, shortly
from gecjury.report.table import METRIC_KEYS
from gecjury.report.table import Column as Column
from gecjury.report.table import Reader as Reader
from gecjury.report.table import Record as Record
from gecjury.report.table import Table as Table
from gecjury.report.tables import print_tables, shown_cells, tables_text
from gecjury.stats.figure import Figure

OPENING = 2
"""Sentences of a verdict that are shown before the tables, the only ones without `--verbose`."""


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a study: `pandas.DataFrame(result.rows())`, `print(result)`.

    Attributes:
        tables: the main one first.
        facts: further entries of JSON, by key.
        notes: remarks for the reader.
        status: exit status of a command: 0, or 1 where scores are missing.
        said: lines on the outcome, such as the verdict of a gate, which follow the tables.
        language: language of the texts in the tables, for the `lang` attributes of pages.
        title: title of the page.
        above: tables that people see above the main one, such as the sentence that it is about.
        text: printed by the command instead of the tables, for programs that read lines.
        verdict: sentences that answer the question of the study. People see the first two, since
            more would not be read; with `--verbose` the others follow the tables.
        short: the verdict in at most two sentences, which people see instead without `--verbose`.
        paper: the table that a paper shows, printed alone as LaTeX and Markdown without
            `--verbose`; None to print the other tables.
        flat: the table that programs read as TSV, printed alone; None to print all tables.
        numbers: the numbers of the result, each with what it is about.
        settings: every setting of the study by its keyword, for JSON.
    """

    tables: tuple[Table, ...]
    facts: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    status: int = 0
    said: tuple[str, ...] = ()
    language: str = "en"
    title: str = ""
    above: tuple[Table, ...] = ()
    text: str | None = None
    verdict: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    paper: Table | None = None
    flat: Table | None = None
    numbers: tuple[Figure, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def table(self, name: str) -> Table:
        """Return the table with a name; if several share it, one with the records of all.

        Raises:
            KeyError: there is none; the message names the existing ones.
        """
        named = [table for table in self.tables if table.name == name]
        if not named:
            names = dict.fromkeys(table.name for table in self.tables if table.name)
            raise KeyError(f"no table {name!r}; there are: {', '.join(names)}")
        return replace(named[0], rows=[row for table in named for row in table.rows])

    def rows(self) -> list[dict[str, Any]]:
        """Return the records of the main table."""
        return [dict(row) for row in self.tables[0].rows]

    def figures(self) -> list[Figure]:
        """Return the numbers of the result, each with what it is about.

        `pandas.DataFrame(result.figures())` is a flat table.
        """
        return list(self.numbers)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks that may change the verdict, which people read before it; none without one."""
        return tuple(note for note in self.notes if self.verdict and note.startswith(WARNING))

    def document(self) -> dict[str, Any]:
        """Return the document for JSON, with the settings of the study."""
        return {**self._document, **({"settings": self.settings} if self.settings else {})}

    @property
    def _document(self) -> dict[str, object]:
        """Records by the tables' names, facts, notes and verdict."""
        names = dict.fromkeys(table.name for table in self.tables if table.name)
        records = {name: list(self.table(name).rows) for name in names}
        document = {**self.facts, **records, "notes": reading_last(self.notes)}
        # Only some studies have a verdict.
        return {**document, "verdict": self.sentences()} if self.verdict else document

    def worded(self, change: Callable[[str], str]) -> Self:
        """Return the result with its sentences changed, but no cell, fact or signature."""
        return replace(
            self,
            tables=tuple(table.worded(change) for table in self.tables),
            above=tuple(table.worded(change) for table in self.above),
            notes=tuple(map(change, self.notes)),
            said=tuple(map(change, self.said)),
            verdict=tuple(map(change, self.verdict)),
            short=tuple(map(change, self.short)),
        )

    def short_names(self) -> dict[str, str]:
        """Return short names of the metrics in the tables, by label."""
        # Scoring imports numpy, which commands without metrics should not load.
        from gecjury.scoring.options import short_names

        shown = [table for table in self.tables if table.columns]
        return short_names(
            row[key]
            for table in shown
            for row in table.rows
            for key in METRIC_KEYS
            if isinstance(row.get(key), str)
        )

    def sentences(self, reader: Reader = "verbose") -> list[str]:
        """Return the verdict that a reader sees, with short names of metrics."""
        brief = self.short or self.verdict[:OPENING]
        verdict = brief if reader == "brief" else self.verdict
        names = self.short_names() if verdict else {}
        return [shortly(sentence, names) for sentence in verdict]

    def shown_to(self, reader: Reader) -> list[Table]:
        """Return the tables that a reader sees, with short names of metrics.

        Without `--verbose`, people see the first table and those that an option asked for.
        """
        names = self.short_names()
        # In a paper the main table comes first.
        tables = self.tables if reader == "latex" else (*self.above, *self.tables)
        shown, gists = [table for table in tables if table.columns], list[str]()
        if reader == "brief":
            gists = [table.gist for table in shown[1:] if table.gist and not table.asked]
            shown = [*shown[:1], *(table for table in shown[1:] if table.asked)]
        warned = bool(self.warnings) and reader != "latex"
        seen = [
            table.seen_by(reader, gists if table is shown[0] else (), warned=warned)
            for table in shown
        ]
        # How texts were read is said once, after everything else.
        notes = dict.fromkeys(n for table in seen for n in table.notes if n.startswith(READING))
        for place, table in enumerate(seen if notes else ()):
            others = [note for note in table.notes if note not in notes]
            last = notes if place == len(seen) - 1 else ()
            seen[place] = replace(table, notes=[*others, *last])
        return [table.with_short_names(names) for table in seen]

    def leaves_out(self) -> bool:
        """Return whether people see more tables, columns, notes or sentences with `--verbose`."""
        brief, full = self.shown_to("brief"), self.shown_to("verbose")
        pairs = zip(brief, full, strict=False)
        cut = (len(one.columns) < len(other.columns) for one, other in pairs)
        return bool(self.short) or len(self.verdict) > OPENING or len(brief) < len(full) or any(cut)

    def __str__(self) -> str:
        """Return the verdict and the tables as plain text, as the command prints them."""
        above = [*self.warnings, *self.sentences("brief")]
        return "\n".join([*above, tables_text(self.shown_to("brief"))])

    def _repr_html_(self) -> str:
        """Return the main table for a notebook."""
        table = self.tables[0].columns_for("tsv")
        headings, _, rows = shown_cells(table)
        return html_table(table.title, headings, rows)

    def __repr__(self) -> str:
        """Return the kind of result and its size."""
        count = len(self.tables[0].rows)
        return f"<Result: {count} row{'' if count == 1 else 's'}>"


def print_result(result: Result, form: str, verbose: bool = False, more: str = "") -> None:
    """Print a result on stdout.

    Args:
        result: printed as its document in JSON, otherwise as its tables that have columns; people
            see its verdict first.
        form: see `gecjury.report.tables.print_tables`.
        verbose: show people all tables, columns, sentences, notes and signatures.
        more: how to get what is left out otherwise.
    """
    if form in ("json", "tsv"):
        # Only JSON has the labels with all settings.
        names = result.short_names() if form == "tsv" else {}
        tables = [result.flat] if result.flat else [t for t in result.tables if t.columns]
        shown = [table.columns_for("tsv").with_short_names(names) for table in tables]
        print_tables(shown, result.document(), form)
        return
    if result.paper is not None and form in ("latex", "markdown") and not verbose:
        print_tables([result.paper.with_short_names(result.short_names())], None, form)
        return
    reader: Reader = "latex" if form == "latex" else "verbose" if verbose else "brief"
    verdict = [] if form == "latex" else result.sentences(reader)
    tables = result.shown_to(reader)
    if form == "table" and more and not verbose and tables and result.leaves_out():
        tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, f"more: {more}"])
    above = [*([] if form == "latex" else result.warnings), *verdict[:OPENING]]
    print_tables(tables, None, form, above, verdict[OPENING:])

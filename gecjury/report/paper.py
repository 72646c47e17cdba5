"""The table that a paper shows: few columns, metrics by family, the best values in bold."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gecjury.core.errors import OptionError, nearest_of
from gecjury.report.result import Column, Record, Table
from gecjury.report.words import BESIDE, FAMILY_NAMES

_ROW_KEYS = ("metric", "family", "human", "aspect", "credit")
"""Keys of the columns that say what a row is about."""


def for_paper(table: Table, signatures: Iterable[str] = ()) -> Table:
    """Return a table as a paper shows it: the rows and columns of a terminal, and signatures.

    Rows are grouped by family, with a rule between the groups; within a group they keep their
    order. The best value of a metric in each column is marked, for each kind of judgments.

    Args:
        table: a table with the columns `metric` and `family`.
        signatures: signatures of the scores, in addition to those in the rows.
    """
    shown = table.instead.get("brief", table)
    families = {family: place for place, family in enumerate(FAMILY_NAMES)}
    by_family = sorted(
        ((str(row["family"]), row) for row in shown.rows),
        key=lambda pair: families.get(pair[0], len(families)),
    )
    rows: list[Record] = []
    rules: list[int] = []
    last = ""
    for family, row in by_family:
        if last not in ("", family) and not {last, family} <= {*BESIDE}:
            rules.append(len(rows))
        heading = "" if last == family else FAMILY_NAMES.get(family, family)
        rows.append({**row, "of_family": heading, "beside": family in BESIDE})
        last = family
    family_column = Column("of_family", heading=Column("family").title)
    about = [column for column in shown.columns if column.key in _ROW_KEYS]
    about = [family_column, *(column for column in about if column.key != "family")]
    values = [
        # Columns of the catalogue say which end is better; those named by the data are agreement.
        replace(column, best=column.best or column.statistic.better != "")
        for column in shown.columns
        if column.key not in _ROW_KEYS
    ]
    of_rows = [text for row in rows if (text := row.get("signature")) and not row.get("beside")]
    legend = [shown.legend] if shown.legend else []
    notes = [*legend, *dict.fromkeys([*of_rows, *signatures])]
    return Table([*about, *values], rows, table.title, notes, table.name, rules=tuple(rules))


def with_columns(table: Table, columns: Sequence[Column]) -> Table:
    """Return a table with other columns of values; those that say what a row is about stay."""
    kept = [column for column in table.columns if column.key in _ROW_KEYS]
    return replace(table, columns=[*kept, *columns], asked=True)


def chosen_columns(names: Sequence[str], columns: Sequence[Column]) -> list[Column]:
    """Return the columns with the given names.

    A name is a heading, also in plain letters (`r`, `rho`, `sent-acc`), the key in JSON
    (`pearson`), or the beginning of one of them that fits a single column (`acc`).

    Args:
        names: names of columns; one text may contain several, separated by commas.
        columns: the columns to choose from.

    Raises:
        OptionError: no column, or more than one, has such a name; lists the names.
    """
    offered = [column for column in columns if column.key not in _ROW_KEYS]
    headings = [_plain(column.title) for column in offered]
    # Two columns of intervals share a heading.
    shown = {
        column.key if headings.count(heading) > 1 else _shown(column.title): column
        for heading, column in zip(headings, offered, strict=True)
    }
    by_name = {_plain(column.key): column for column in offered}
    by_name |= {_plain(name): column for name, column in shown.items()}
    chosen: dict[str, Column] = {}
    for text in ",".join(names).split(","):
        name = _plain(text)
        begun = {c.key: c for full, c in by_name.items() if name and full.startswith(name)}
        if name not in by_name and len(begun) != 1:
            several = [one for one, column in shown.items() if column.key in begun]
            problem = f"it may be {' or '.join(several)}" if several else "no such column"
            raise OptionError(
                f"`columns={text.strip()!r:.60}`: {problem}; {nearest_of(name, list(shown))}"
            )
        column = by_name[name] if name in by_name else next(iter(begun.values()))
        chosen[column.key] = column
    return list(chosen.values())


def _shown(heading: str) -> str:
    """Return a heading as it is typed: as it is, unless it has blanks or signs."""
    typed = heading.isascii() and not {" ", "%"} & set(heading)
    return heading if typed else _plain(heading)


def _plain(heading: str) -> str:
    """Return a heading in plain letters: `τ sys` is `tau-sys`, `tied %` is `tied`."""
    letters = "".join(
        unicodedata.name(letter).rpartition(" ")[2] if "α" <= letter <= "ω" else letter
        for letter in heading
    )
    return "-".join(letters.lower().replace("%", "").replace("_", "-").split())

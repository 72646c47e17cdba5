"""Roles of columns, assigned on the command line or by the columns' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.wording import listed

ROLES = ("id", "source", "hypothesis", "references")
"""Roles of a column; several columns may contain hypotheses."""


@dataclass(frozen=True)
class Columns:
    """The columns that are read.

    Attributes:
        id: column that names a row; empty if rows are named FILE:ROW.
        source: column of the sentence to correct.
        hypotheses: columns of hypotheses by system; a single one has the name `""`.
        references: column of a list of texts, or of one text; empty if none are read.
    """

    id: str
    source: str
    hypotheses: Mapping[str, str]
    references: str

    @property
    def read(self) -> list[str]:
        """Every column that is read, each once."""
        named = [self.id, self.source, *self.hypotheses.values(), self.references]
        return list(dict.fromkeys(filter(None, named)))


def columns_among(
    named: Mapping[str, Sequence[str]], columns: Sequence[str], where: str, *, references: bool
) -> Columns:
    """Return the columns of a file.

    Args:
        named: the columns that a user named, by role.
        where: the file, for messages.
        references: True if references are wanted.

    Raises:
        InputError: columns are missing; names all of them, and the option that sets them.
    """
    missing: list[tuple[str, str]] = []

    def first(role: str, names: Sequence[str], *, needed: bool) -> str:
        column = next((name for name in names if name in columns), "")
        if needed and not column:
            missing.append((role, names[0]))
        return column

    def column(role: str, *usual: str, needed: bool = False) -> str:
        return first(role, named.get(role, usual), needed=needed or role in named)

    # A column that the user named must exist, even if it is not read: it may be a typing error.
    row, source = column("id", "id"), column("source", "source", needed=True)
    names = named.get("hypothesis", ("hypothesis",))
    # A single system has no name: its column of scores is named after the metric alone.
    hypotheses = {
        name if len(names) > 1 else "": first("hypothesis", [name], needed=True) for name in names
    }
    texts = column("references", "references", "reference", needed=references)
    if missing:
        # All at once, since otherwise every run would report only one.
        parts = []
        for role, name in missing:
            close = nearest(name[:60], columns)
            parts.append(f"{name!r:.60} ({role}{f'; {close}' if close.startswith('did') else ''})")
        flags = " ".join(f"--column {role}=NAME" for role, _ in missing)
        raise InputError(
            f"{where}: no column {listed(parts)}; its columns are {', '.join(columns)!s:.300}; "
            f"name {'it' if len(missing) == 1 else 'them'} with {flags}"
        )
    return Columns(row, source, hypotheses, texts if references else "")


def parse_columns(
    columns: Mapping[str, str | Sequence[str]] | Sequence[str],
) -> dict[str, list[str]]:
    """Return the columns that a user named, by role; `hypothesis` may have several.

    Args:
        columns: columns by role, or `ROLE=NAME` each.

    Raises:
        OptionError: not of this form, an unknown role, or one column or role given twice.
    """
    if isinstance(columns, Mapping):
        lists = {role: [n] if isinstance(n, str) else n for role, n in columns.items()}
        columns = [f"{role}={name}" for role, names in lists.items() for name in names]
    named: dict[str, list[str]] = {}
    for text in [columns] if isinstance(columns, str) else columns:
        role, _, column = text.partition("=")
        if not column:
            raise OptionError(f"--column {text!r:.60} is not ROLE=COLUMN, e.g. source=original")
        if role not in ROLES:
            raise OptionError(
                f"--column {text!r:.60}: {role!r:.60} is not a role: {nearest(role[:60], ROLES)}; "
                f"expected {', '.join(ROLES)}"
            )
        names = named.setdefault(role, [])
        if column in names or (names and role != "hypothesis"):
            what = "" if role == "hypothesis" else f"{role} "
            raise OptionError(f"--column {text!r:.60}: {what}is given twice")
        names.append(column)
    return named

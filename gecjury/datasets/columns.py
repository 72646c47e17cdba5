"""Roles of columns: named on the command line, or equal to the columns' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gecjury.errors import InputError, OptionError, nearest

ROLES = ("id", "source", "hypothesis", "references")
"""Roles of a column; several columns may hold hypotheses."""


@dataclass(frozen=True)
class Columns:
    """The columns that are read.

    Attributes:
        id: names a row; empty where rows are called FILE:ROW.
        source: the sentence to correct.
        hypotheses: by system; one of the name `""` where only one is read.
        references: a list of texts, or one text; empty where none are read.
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


@dataclass(frozen=True)
class ColumnsGiven:
    """The columns that a user named.

    Attributes:
        by_role: column by role, of `id`, `source` and `references`.
        hypotheses: columns named, in order.
    """

    by_role: dict[str, str] = field(default_factory=dict)
    hypotheses: tuple[str, ...] = ()

    def among(self, known: Sequence[str], where: str, *, references: bool) -> Columns:
        """The columns of a file.

        Args:
            known: the names of its columns.
            where: the file, for messages.
            references: whether references are wanted.

        Raises:
            InputError: a column is not there; gives near names, and how to say which it is.
        """
        found = {}
        for role in ("id", "source", "references"):
            named = self.by_role.get(role)
            usual = (role, "reference") if role == "references" else (role,)
            column = next((name for name in ((named,) if named else usual) if name in known), "")
            needed = named or role == "source" or (role == "references" and references)
            if needed and not column:
                raise self._missing(role, named or role, known, where)
            found[role] = column
        hypotheses = self.hypotheses or ("hypothesis",)
        for column in hypotheses:
            if column not in known:
                raise self._missing("hypothesis", column, known, where)
        systems = {name if len(hypotheses) > 1 else "": name for name in hypotheses}
        wanted = found["references"] if references else ""
        return Columns(found["id"], found["source"], systems, wanted)

    def _missing(self, role: str, column: str, known: Sequence[str], where: str) -> InputError:
        return InputError(
            f"{where}: no column {column!r:.60} ({role}): {nearest(column[:60], known)}; its "
            f"columns are {', '.join(known)!s:.300}: say which it is with --column {role}=NAME"
        )


def parse_columns(assignments: Sequence[str]) -> ColumnsGiven:
    """Read `ROLE=NAME` assignments; `hypothesis` may be given several times.

    Raises:
        OptionError: not of this form, an unknown role, or one column or role given twice.
    """
    by_role: dict[str, str] = {}
    hypotheses: list[str] = []
    for text in assignments:
        role, sign, column = text.partition("=")
        if not sign or not column:
            raise OptionError(f"--column {text!r:.60} is not ROLE=COLUMN, e.g. source=original")
        if role not in ROLES:
            raise OptionError(
                f"--column {text!r:.60}: {role!r:.60} is no role: {nearest(role[:60], ROLES)}; "
                f"expected {', '.join(ROLES)}"
            )
        if role == "hypothesis":
            if column in hypotheses:
                raise OptionError(f"--column {text!r:.60}: is given twice")
            hypotheses.append(column)
        elif role in by_role:
            raise OptionError(f"--column {text!r:.60}: {role} is given twice")
        else:
            by_role[role] = column
    return ColumnsGiven(by_role, tuple(hypotheses))

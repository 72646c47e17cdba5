"""What every function of this room gives back: plain records, and a text of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class ExperimentResult(ABC):
    """A finished experiment; the classes below it hold what was found, typed.

    `pandas.DataFrame(result.rows())` makes a table of it, `print(result)` shows one.
    """

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The result as plain records, those that the command's JSON holds."""

    def __str__(self) -> str:
        """The records as a table of text; what is no single value is left out."""
        from gecjury.report.tables import records_text

        return records_text(self.rows())

    def __repr__(self) -> str:
        """What it is and how much; the records are in `rows()`."""
        count = len(self.rows())
        return f"<{type(self).__name__}: {count} row{'' if count == 1 else 's'}>"

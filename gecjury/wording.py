"""Numbers and names in running text, alike in every sentence that is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["listed", "number", "percent"]


def number(value: float | int | None, digits: int = 3) -> str:
    """A number for people: rounded, with a true minus sign, a dash for what is not defined."""
    if value is None or not math.isfinite(value):
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f").replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def percent(share: float) -> str:
    """A share of 1 in percent."""
    return f"{100 * share:.1f}%"


def listed(names: Sequence[str]) -> str:
    """Names as words: `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"

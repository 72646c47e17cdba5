"""Numbers, names and foreign text in what is shown, alike in every sentence and table."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

__all__ = ["listed", "number", "percent", "shortened", "visible"]


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


def visible(text: str, *, lines: bool = False) -> str:
    r"""Foreign text for a terminal or a file: what could act is shown, not sent.

    Control characters (ESC, with which terminals take orders, carriage returns, line breaks),
    line and paragraph separators, characters that turn the direction of what follows, and halves
    of surrogate pairs become `\x1b`, `\u202e`.

    Args:
        text: a name, a sentence, an answer of a server.
        lines: keep line feeds and tabs, for text of our own that has several lines.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or (lines and c in "\n\t") or not _acts(c) else _code(c) for c in text
    )


def shortened(name: str, most: int = 120) -> str:
    """A name for a page or a figure: visible, and its middle left out where it is too long.

    Args:
        name: of a system, a metric, an edit.
        most: characters that are shown, more than 20.
    """
    shown = visible(name)
    return shown if len(shown) <= most else f"{shown[: most - 20]}…{shown[-19:]}"


def _acts(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Zl", "Zp") or character in _TURNING


def _code(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}"


_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of text around them (an `exe.txt` that reads `txt.exe`)."""

"""Formatting of numbers, names and untrusted text for all sentences and tables."""

from __future__ import annotations

import html
import io
import math
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence


def number(value: float | int | None, digits: int = 3) -> str:
    """Return a number for people: rounded, with a true minus sign; a dash for an undefined one."""
    if value is None or not math.isfinite(value):
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f").replace("-", "−")
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def p_value(p: float, digits: int = 3) -> str:
    """Return a p-value as `p = 0.021`; one that would be rounded to 0 as `p < 0.001`."""
    bare = bare_p(p, digits)
    return f"p {bare}" if bare.startswith("<") else f"p = {bare}"


def bare_p(p: float, digits: int = 3) -> str:
    """Return a p-value for a table: `0.021`, `< 0.001`."""
    least = 10.0**-digits
    return f"< {least:.{digits}f}" if p < least / 2 else number(p, digits)


def percent(share: float) -> str:
    """Return a share of 1 in percent."""
    return f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 90:
        count = max(1, round(seconds))
        return f"{count} second{'s' * (count > 1)}"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    if seconds < 36 * 3600:
        return f"{round(seconds / 3600)} hours"
    return f"{number(round(seconds / 86400))} days"


def listed(names: Sequence[str], before_last: str = "and") -> str:
    """Return names as words: `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {before_last} {names[-1]}"


def named_lines(numbers: Sequence[int]) -> str:
    """Return line numbers for a message: the first five, and how many more there are."""
    first = ", ".join(map(str, numbers[:5]))
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"line{'s' * (len(numbers) > 1)} {first}{more}"


WARNING = "warning: "
"""Beginning of a remark that may change what a result says, and comes before it."""


def as_note(remark: str) -> str:
    """Return a remark as a message on a terminal."""
    return remark if remark.startswith(WARNING) else f"note: {remark}"


def shortly(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which labels of metrics are replaced by their short names.

    Args:
        text: a sentence, a title or a cell.
        names: short names by label, see `gecjury.scoring.options.short_names`.
    """
    # The longest first, since one label may contain another.
    for label in sorted(names, key=len, reverse=True):
        if names[label] != label:
            text = text.replace(label, names[label])
    return text


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return cells as an HTML table, as notebooks show it."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)

    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in rows)
    return (
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{line('th', headings)}</tr></thead><tbody>{body}</tbody></table>"
    )


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return untrusted text for a terminal or a file, with active characters escaped.

    Control characters (ESC, which starts terminal commands, carriage returns, line breaks), line
    and paragraph separators, characters that change the direction of the following text, and halves
    of surrogate pairs become `\x1b`, `\u202e` and so on.

    Args:
        text: a name, a sentence or an answer from a server.
        lines: keep line feeds and tabs, for our own text of several lines.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or (lines and c in "\n\t") or not _acts(c) else _code(c) for c in text
    )


class EscapedStderr(io.TextIOBase):
    """A stream for what other people's code prints: it goes to stderr, as `visible` shows it."""

    def write(self, text: str) -> int:
        """Write text with its active characters escaped."""
        sys.stderr.write(visible(text, lines=True))
        return len(text)

    def flush(self) -> None:
        """Flush stderr."""
        sys.stderr.flush()

    def fileno(self) -> int:
        """Return the descriptor of stderr, for libraries that write to it themselves."""
        return sys.stderr.fileno()


def letters(text: str) -> list[tuple[str, int]]:
    """Return the letters of a text as readers see them, each with its columns in a terminal: 0-2.

    A letter includes its combining marks; an emoji of several parts is one letter. Chinese,
    Japanese and Korean letters, and full-width signs, take two columns. The letters joined are the
    text. The widths are those that rich uses for tables.
    """
    if text.isascii():
        return [(letter, 1) for letter in text]
    from rich.cells import split_graphemes

    spans, _ = split_graphemes(text, "latest")
    return [(text[start:end], columns) for start, end, columns in spans]


def width(text: str) -> int:
    """Return the number of columns that visible text takes in a terminal."""
    return len(text) if text.isascii() else sum(columns for _, columns in letters(text))


def cut(text: str, columns: int) -> str:
    """Cut a text to at most a number of columns (at least one), with `…` for the rest."""
    if _fits(text, columns):
        return text
    return _first(letters(text[: _MARKED * columns + 1]), columns - 1, columns) + "…"


def chopped(text: str, columns: int) -> list[str]:
    """Divide a text into lines of limited width; a letter wider than that gets its own line."""
    lines: list[str] = []
    room = 0
    for letter, wide in letters(text):
        if not lines or wide > room:
            lines.append("")
            room = columns
        lines[-1] += letter
        room -= wide
    return lines


def shortened(name: str, most: int = 120) -> str:
    """Return a name for a page or a figure: made visible, and shortened in the middle if too long.

    Args:
        name: the name of a system, a metric or an edit.
        most: the most columns to show, more than 20; Japanese letters take two.
    """
    text = visible(name)
    if _fits(text, most):
        return text
    # Limit the characters examined at either end; a text may have millions.
    start, end = letters(text[: _MARKED * most + 1]), letters(text[-_MARKED * most - 1 :])
    last = _first(((letter[::-1], wide) for letter, wide in reversed(end)), 19, most)
    return f"{_first(start, most - 20, most)}…{last[::-1]}"


_MARKED = 8
"""The most characters per column: a letter may have any number of marks, which take no width."""


def _fits(text: str, columns: int) -> bool:
    return len(text) <= _MARKED * columns and width(text) <= columns


def _first(whole: Iterable[tuple[str, int]], columns: int, most: int) -> str:
    """Return the first letters: at most `columns` columns and `_MARKED * most` characters."""
    start, taken = "", 0
    for letter, wide in whole:
        taken += wide
        if taken > columns or len(start) + len(letter) > _MARKED * most:
            break
        start += letter
    return start


def _acts(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Zl", "Zp") or character in _TURNING


def _code(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}"


_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of text around them (an `exe.txt` that reads `txt.exe`)."""


READING = "texts: "
"""Beginning of the remark on tokens and signs, which comes after all others."""


def reading_last(notes: Iterable[str]) -> list[str]:
    """Return notes, each once, with those on how texts were read after the others."""
    return sorted(dict.fromkeys(notes), key=lambda note: note.startswith(READING))


def single_spaced(text: str) -> str:
    """Return a text with one blank between its words, and none around them."""
    return " ".join(text.split())

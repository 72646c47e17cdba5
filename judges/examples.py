"""Judged corrections from a user's file, which a judge is shown before its questions.

Each row is a judged correction. The columns depend on the answer that is asked for:

- scores: `source`, `correction` and `score`, a whole number from 1 to 5;
- the better one of two: `source`, `first`, `second` and `better` (`A`, `B` or `tie`);
- validity: `source`, `correction` with one edit, and `valid` (`true` or `false`).

The column `reason` is required where reasons are asked for, and otherwise ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gecjury.core.errors import InputError
from gecjury.core.wording import named_lines
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.language import Language
from gecjury.corpus.leakage import find_leaks
from gecjury.corpus.rows import Row, read_table
from gecjury.corpus.tokens import in_language
from gecjury.judges.replies.reply import REASON, REASON_CHARACTERS

Verdict = Literal["score", "better", "valid"]
"""The column with the verdict."""

_TEXTS: Mapping[Verdict, tuple[str, ...]] = {
    "score": ("correction",),
    "better": ("first", "second"),
    "valid": ("correction",),
}
_CHOICES = {"a": (1.0, 0.0), "b": (0.0, 1.0), "tie": (0.5, 0.5)}
_VALIDITIES = {"true": (1.0,), "false": (0.0,)}
_MOST = 1_000


@dataclass(frozen=True)
class Example:
    """A judged correction, or two that were compared.

    Attributes:
        line: line number in the file.
        source: the source.
        texts: the corrections.
        scores: one per correction; 1 for an edit that is valid and 0 for one that is not.
        reason: reason for the verdict; empty where none was asked for.
    """

    line: int
    source: str
    texts: tuple[str, ...]
    scores: tuple[float, ...]
    reason: str = ""


@dataclass(frozen=True)
class Examples:
    """The judged corrections of a file.

    Attributes:
        path: path of the file.
        rows: the judged corrections, in the order of the file.
    """

    path: str
    rows: tuple[Example, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of everything that is shown, 16 hexadecimal digits."""
        parts = (f"{(row.source, row.texts, row.scores, row.reason)!r}" for row in self.rows)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def corpus(self, language: Language) -> Corpus:
        """Return the sources with their corrections as systems, in tokens of the language."""
        columns = zip(*(row.texts for row in self.rows), strict=True)
        systems = {str(place): Version(texts) for place, texts in enumerate(columns)}
        return in_language(Corpus(tuple(row.source for row in self.rows), systems), language)

    def refuse_leaks(self, tested: Mapping[str, Sequence[str]]) -> None:
        """Refuse examples whose sentences are among those that are judged.

        Args:
            tested: sentences by role; case, blanks and the shape of quotation marks are ignored.

        Raises:
            InputError: names the lines.
        """
        texts = [(row.line, text) for row in self.rows for text in (row.source, *row.texts)]
        leaks = find_leaks([text for _, text in texts], tested)
        if leaks:
            lines = sorted({texts[leak.row][0] for leak in leaks})
            first = leaks[0]
            raise InputError(
                f"{self.path}, {named_lines(lines)}: sentences that are to be judged, e.g. "
                f"{first.where}, line {first.line + 1}; a judge that was shown their verdicts "
                f"cannot be tested on them: remove {'these' if len(lines) > 1 else 'this'}"
            )


def read_examples(path: str, verdict: Verdict, *, reasons: bool = False) -> Examples:
    """Read a CSV, TSV or JSON-lines file of judged corrections; see the module for its columns.

    Args:
        path: path of the file.
        verdict: the verdict column to read.
        reasons: whether each row must have a reason.

    Raises:
        InputError: a column is missing, a cell cannot be used, or there are no rows or more than
            1,000; names the line and what is expected.
    """
    needed = ("source", *_TEXTS[verdict], verdict, *([REASON] if reasons else []))
    expected = f"the columns {', '.join(needed)}"
    table = read_table(path, expected, texts=True)
    if lacking := [column for column in needed if column not in table.columns]:
        raise InputError(
            f"{path}, line 1: no column {lacking[0]!r} among {', '.join(table.columns):.300}; "
            f"expected {expected}"
        )
    if not 1 <= len(table.rows) <= _MOST:
        raise InputError(f"{path}: {len(table.rows)} examples; expected 1 to {_MOST:,}")
    return Examples(path, tuple(_example(row, verdict, reasons) for row in table.rows))


def _example(row: Row, verdict: Verdict, reasons: bool) -> Example:
    source = _sentence(row, "source")
    texts = tuple(_sentence(row, column) for column in _TEXTS[verdict])
    if len(set(texts)) < len(texts):
        raise InputError(
            f"{row.table}, line {row.line}: first and second are the same text; expected two "
            "corrections that differ"
        )
    reason = row.text(REASON) if reasons else ""
    if reasons and not 0 < len(reason) <= REASON_CHARACTERS:
        # The text itself may be a learner's, which no error shows.
        raise InputError(
            f"{row.place(REASON)}: {len(reason)} characters; expected 1 to {REASON_CHARACTERS}, "
            "as reason=true asks for"
        )
    return Example(row.line, source, texts, _scores(row, verdict), reason)


def _sentence(row: Row, column: str) -> str:
    text = " ".join(row.text(column).split())
    if not text:
        row.refuse(column, "a sentence")
    return text


def _scores(row: Row, verdict: Verdict) -> tuple[float, ...]:
    word = row.text(verdict).lower()
    if verdict == "score":
        # Spreadsheets and JSON write 4 as 4.0.
        if word not in {f"{score}{rest}" for score in range(1, 6) for rest in ("", ".0")}:
            row.refuse(verdict, "a whole number from 1 to 5")
        return (float(word),)
    choices = _CHOICES if verdict == "better" else _VALIDITIES
    if word not in choices:
        row.refuse(verdict, "A, B or tie" if verdict == "better" else "true or false")
    return choices[word]

"""Edits of a tokenised sentence: records of them, and functions that select and apply edits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gecjury.core.errors import InputError


@dataclass(frozen=True, order=True, slots=True)
class Edit:
    """A correction of a token span of the source.

    Attributes:
        start: index of the first source token replaced (0-based).
        end: index after the last source token replaced; `start == end` is an insertion.
        correction: the new tokens, joined by single spaces; empty for a deletion.
        type: error type (ERRANT such as `R:VERB:TENSE`, or NUCLE such as `Vt`); may be empty.
    """

    start: int
    end: int
    correction: str
    type: str = ""

    @property
    def tokens(self) -> list[str]:
        """The correction's tokens."""
        return self.correction.split()


Edits = tuple[Edit, ...]
"""The edits of one sentence, from left to right."""


TextPair = tuple[str, str]
"""Source and corrected sentence, tokens joined by single spaces."""


class ExtractedEdits(NamedTuple):
    """The edits of a pair.

    Attributes:
        edits: from left to right.
        coarse: True if the pair was too long to be aligned exactly.
    """

    edits: Edits
    coarse: bool = False

    def rows(self) -> list[object]:
        """Return a JSON value with one row per edit; a coarse result begins with true."""
        rows: list[object] = [[e.start, e.end, e.correction, e.type] for e in self.edits]
        return [True, *rows] if self.coarse else rows

    def to_json(self) -> str:
        """Return the rows as a line of JSON."""
        return json.dumps(self.rows(), ensure_ascii=False)

    @classmethod
    def of_rows(cls, rows: Sequence[Any]) -> ExtractedEdits:
        """Return the edits of the result of `rows`."""
        coarse = bool(rows) and rows[0] is True
        return cls(tuple(Edit(*row) for row in rows[coarse:]), coarse)

    @classmethod
    def from_json(cls, text: str) -> ExtractedEdits:
        """Read what `to_json` wrote.

        Raises:
            ValueError: the text was not written by `to_json`.
        """
        try:
            rows = json.loads(text)
        except RecursionError:
            rows = None
        if not isinstance(rows, list):
            raise ValueError("not a list of edits")
        # A cache file may be damaged: entries without exactly such rows are computed again.
        for row in rows[rows[:1] == [True] :]:
            if not isinstance(row, list) or list(map(type, row)) != [int, int, str, str]:
                raise ValueError("not an edit")
        return cls.of_rows(rows)


NOOP = "noop"
"""Type of an M2 line which says that an annotator found nothing to correct."""

DETECTED_TYPES = frozenset({"Um", "UNK"})
"""Types of errors that were seen and not corrected: NUCLE's (the meaning is unclear), ERRANT's."""

_UNCORRECTED = DETECTED_TYPES | {NOOP}


def counted_edits(edits: Iterable[Edit], *, detected: bool = False) -> tuple[Edit, ...]:
    """Return the edits that count, by their types: those that correct something.

    Edits typed `noop`, `UNK` or `Um` carry no correction, whatever text they have. They are not
    compared with corrections and never applied.

    Args:
        edits: edits of one annotator or system.
        detected: keep those of `DETECTED_TYPES`, for counts of detected errors.
    """
    left_out = {NOOP} if detected else _UNCORRECTED
    return tuple([edit for edit in edits if edit.type not in left_out])


def keeps_words(source: Sequence[str], edits: Sequence[Edit]) -> bool:
    """Return True if words are left after edits that do not overlap."""
    return sum(e.end - e.start for e in edits) < len(source) or any(e.correction for e in edits)


def overlapping_edits(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits, from left to right, that begin before one to their left has ended.

    Edits without a correction are ignored, since they are never applied.
    """
    overlapping = []
    done = 0
    for edit in sorted(counted_edits(edits), key=lambda edit: (edit.start, edit.end)):
        if edit.start < done:
            overlapping.append(edit)
        done = max(done, edit.end)
    return tuple(overlapping)


def ordered_edits(edits: Iterable[Edit], length: int) -> list[Edit]:
    """Return edits from left to right, checked to fit; insertions at one place keep their order.

    Args:
        edits: edits of one sentence.
        length: tokens of the source.

    Raises:
        InputError: a span lies outside the source, ends before it starts, or overlaps another.
    """
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    done = 0
    for edit in ordered:
        if not 0 <= edit.start <= edit.end <= length:
            raise InputError(
                f"edit {edit.start} {edit.end} {edit.correction!r} does not fit a sentence of "
                f"{length} tokens: expected 0 <= start <= end <= {length}"
            )
        if edit.start < done:
            raise InputError(
                f"edit {edit.start} {edit.end} {edit.correction!r} overlaps the edit before it, "
                f"which ends at {done}: remove one of the two"
            )
        done = edit.end
    return ordered


def apply_edits(source: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """Apply edits to a tokenised source.

    Edits are applied in order of their spans; several insertions at one place keep their order.
    Those without a correction (see `counted_edits`) leave the text as it is.

    Args:
        source: source tokens.
        edits: edits whose spans do not overlap.

    Returns:
        The corrected tokens.

    Raises:
        InputError: a span lies outside the source, ends before it starts, or overlaps another.
    """
    result: list[str] = []
    done = 0
    for edit in ordered_edits(counted_edits(edits), len(source)):
        result += source[done : edit.start]
        result += edit.tokens
        done = edit.end
    result += source[done:]
    return result


ARROW = "→"
"""Separates the old and the new side of an edit that is shown."""


def edit_label(edit: Edit) -> str:
    """Return an edit as the paper writes it: `[27,29] → their`."""
    return f"[{edit.start},{edit.end}] → {edit.correction or '∅'}"


RIGHT, WRONG, MISSED = "✓", "✗", "○"
"""Signs of an edit that another version has, that it lacks, and that a hypothesis lacks."""


def marked_edits(
    source: Sequence[str],
    edits: Iterable[Edit],
    others: Iterable[Edit] | None = None,
    lacking: str = WRONG,
) -> str:
    """Return a tokenised source with its edits inline: `[old→new]`, `[→new]`, `[old→]`.

    Edits without a correction (see `counted_edits`) are not shown.

    Args:
        source: source tokens.
        edits: edits in any order; several insertions at one place keep theirs.
        others: edits of another version; an edit that is among them ends in a sign, `[old→new ✓]`.
        lacking: sign of an edit that is not among `others`.
    """
    parts: list[str] = []
    done = 0
    shared = None if others is None else {(e.start, e.end, e.correction) for e in others}
    # Overlapping edits are shown as well, each with the source words that it replaces.
    for edit in sorted(counted_edits(edits), key=lambda edit: (edit.start, edit.end)):
        parts += source[done : edit.start]
        old = " ".join(source[edit.start : edit.end])
        if old or edit.correction:
            sign = ""
            if shared is not None:
                key = (edit.start, edit.end, edit.correction)
                sign = f" {RIGHT if key in shared else lacking}"
            parts.append(f"[{old}{ARROW}{edit.correction}{sign}]")
        done = max(done, edit.end)
    return " ".join([*parts, *source[done:]])


def differing_spans(source: Sequence[str], correction: Sequence[str]) -> Edits:
    """Return the spans in which two texts differ, as edits to show but not to score."""
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, source, correction, autojunk=False).get_opcodes()
    return tuple(
        Edit(start, end, " ".join(correction[first:last]))
        for kind, start, end, first, last in codes
        if kind != "equal"
    )


def nearest_reference(edits: Edits, references: Sequence[Edits]) -> int:
    """Return the number of the reference that shares most edits; in a tie, of the one with fewest.

    Args:
        edits: edits of a hypothesis.
        references: the edits of each reference; at least one.
    """
    keys = {(e.start, e.end, e.correction) for e in counted_edits(edits)}

    def fit(number: int) -> tuple[int, int, int]:
        theirs = {(e.start, e.end, e.correction) for e in counted_edits(references[number])}
        return len(keys & theirs), -len(theirs), -number

    return max(range(len(references)), key=fit)

"""Edits of a tokenised sentence: the `Edit` record and how a set of edits is applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gecjury.errors import InputError

__all__ = ["Edit", "apply_edits"]


@dataclass(frozen=True, order=True, slots=True)
class Edit:
    """One correction of a token span of the source.

    Attributes:
        start: index of the first source token replaced (0-based).
        end: index after the last source token replaced; `start == end` is an insertion.
        correction: the tokens put there, joined by single spaces; empty for a deletion.
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


def apply_edits(source: Sequence[str], edits: Iterable[Edit]) -> list[str]:
    """Apply edits to a tokenised source.

    Edits are applied in order of their spans; several insertions at one place keep their order.

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
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not 0 <= edit.start <= edit.end <= len(source):
            raise InputError(
                f"edit {edit.start} {edit.end} {edit.correction!r} does not fit a sentence of "
                f"{len(source)} tokens: expected 0 <= start <= end <= {len(source)}"
            )
        if edit.start < done:
            raise InputError(
                f"edit {edit.start} {edit.end} {edit.correction!r} overlaps the edit before it, "
                f"which ends at {done}: remove one of the two"
            )
        result += source[done : edit.start]
        result += edit.tokens
        done = edit.end
    result += source[done:]
    return result

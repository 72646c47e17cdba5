"""Edits marked in running text, read as edits of tokens.

An annotator marks replaced characters: `They{ have to=> must} deal`. Source and correction are
tokenised independently of the marks, so a mark may begin inside a token. Spaces are ignored here:
tokens and text have the same characters, and a mark is extended until it begins and ends between
tokens on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from gecjury.corpus.edits import Edit


@dataclass(frozen=True, slots=True)
class EditMark:
    """A replacement in running text.

    Attributes:
        start: number of source characters before it, spaces not counted.
        old: text replaced.
        new: text that replaces it.
    """

    start: int
    old: str
    new: str


def token_edits(
    source: str, target: str, marks: Sequence[EditMark]
) -> list[tuple[Edit, list[int]]] | None:
    """Read marks as edits of tokens.

    Args:
        source: tokens joined by spaces.
        target: the correction, also as tokens joined by spaces.
        marks: marks in the order of the text, without overlaps.

    Returns:
        The edits, which turn the tokens of the source into those of the target, each with the
        numbers of its marks: marks without a token boundary between them form one edit. Marks that
        change only spaces, without splitting or joining tokens, are in none. None if the marks do
        not turn one text into the other.
    """
    before, after = source.split(), target.split()
    old, new = "".join(before), "".join(after)
    stretches = _stretches(old, new, marks)
    if stretches is None:
        return None
    # Places count characters without spaces, which tokenisation does not change.
    starts = {place: number for number, place in enumerate(accumulate(map(len, before), initial=0))}
    ends = {place: number for number, place in enumerate(accumulate(map(len, after), initial=0))}

    def shared(place: int, other: int) -> tuple[int, int] | None:
        """Return the token boundary at two places, if both sides have one."""
        if place in starts and other in ends:
            return starts[place], ends[other]
        return None

    edits: list[tuple[Edit, list[int]]] = []
    left = (0, 0)
    held: list[int] = []
    # Marks are held back until a stretch has a token boundary that both sides share.
    for number, (place, other, size) in enumerate(stretches):
        inside = [at for k in range(size + 1) if (at := shared(place + k, other + k))]
        if not inside:
            held.append(number)
            continue
        start, end = left[0], inside[0][0]
        tokens = after[left[1] : inside[0][1]]
        if held and before[start:end] != tokens:
            edits.append((Edit(start, end, " ".join(tokens)), held))
        left = inside[-1]
        held = [number]
    return edits


def _stretches(old: str, new: str, marks: Sequence[EditMark]) -> list[tuple[int, int, int]] | None:
    """Return the stretches between the marks: the places in both texts, and the length.

    Returns:
        One more than there are marks; None if the marks do not fit the texts.
    """
    stretches = []
    place = other = 0
    for mark in marks:
        size = mark.start - place
        gone, put = "".join(mark.old.split()), "".join(mark.new.split())
        if size < 0 or not old.startswith(gone, mark.start):
            return None
        stretches.append((place, other, size))
        other += size
        if not new.startswith(put, other):
            return None
        place, other = mark.start + len(gone), other + len(put)
    stretches.append((place, other, len(old) - place))
    spelled = all(old[p : p + size] == new[o : o + size] for p, o, size in stretches)
    return stretches if spelled and len(new) - other == len(old) - place else None

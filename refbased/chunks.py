"""Chunks of a source sentence whose boundaries several sets of edits share.

Edits that touch or overlap, in the same set or in different ones, are merged into one chunk (Ye et
al. 2023, section 3.1); the stretches between them are unedited chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from gecjury.corpus.edits import Edit, ordered_edits

ChunkText = tuple[str, ...] | None
"""The text of a chunk after a set of edits is applied; None if they leave it unchanged."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A source sentence cut into chunks.

    Attributes:
        spans: (start, end) of every chunk over source tokens, in order; start == end is a place
            where tokens are only inserted.
        texts: for every set of edits, the new text of each chunk; None if it is unchanged.
    """

    spans: tuple[tuple[int, int], ...]
    texts: tuple[tuple[ChunkText, ...], ...]


def _merged_spans(edit_sets: Sequence[Sequence[Edit]]) -> list[list[int]]:
    """Return the spans of the edits; spans that touch or overlap are merged."""
    merged: list[list[int]] = []
    # Touching edits are merged like overlapping ones: the place between them belongs to both.
    for edit in sorted((e for edits in edit_sets for e in edits), key=lambda e: e.start):
        if merged and edit.start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], edit.end)
        else:
            merged.append([edit.start, edit.end])
    return merged


def _chunk_text(source: Sequence[str], start: int, end: int, edits: Sequence[Edit]) -> ChunkText:
    """Return the text of a chunk after its edits, or None if they change nothing."""
    if not edits:
        return None
    text: list[str] = []
    done = start
    for edit in edits:
        text += source[done : edit.start]
        text += edit.tokens
        done = edit.end
    text += source[done:end]
    return None if text == list(source[start:end]) else tuple(text)


def partition(source: Sequence[str], edit_sets: Sequence[Sequence[Edit]]) -> Partition:
    """Cut a source into chunks shared by several sets of edits.

    Args:
        source: source tokens.
        edit_sets: the edits of each corrected version, without overlaps within a set.

    Returns:
        The chunks, at least one unless the source is empty and unedited.

    Raises:
        InputError: an edit lies outside the source or overlaps another of its set.
    """
    # Positions and overlaps are checked here, so that the loop below needs no checks.
    ordered_sets = [ordered_edits(edits, len(source)) for edits in edit_sets]
    # Unedited and edited stretches alternate; the first and the last are unedited.
    ends = [0, *chain.from_iterable(_merged_spans(edit_sets)), len(source)]
    turns = [(*span, bool(turn % 2)) for turn, span in enumerate(pairwise(ends))]
    spans = [(start, end, edited) for start, end, edited in turns if edited or start < end]
    texts = []
    for ordered in ordered_sets:
        row: list[ChunkText] = []
        n = 0
        for start, end, edited in spans:
            first = n
            # Both lists are in order, so one pass over the edits serves all chunks.
            while edited and n < len(ordered) and ordered[n].end <= end:
                n += 1
            row.append(_chunk_text(source, start, end, ordered[first:n]))
        texts.append(tuple(row))
    return Partition(tuple((start, end) for start, end, _ in spans), tuple(texts))

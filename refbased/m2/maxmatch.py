"""The M2 scorer (MaxMatch, Dahlmeier and Ng 2012): system edits that agree best with gold edits.

The counts equal those of the official m2scorer 3.2 (levenshtein.py), which computes F0.5 with at
most two unchanged words in an edit and is case-sensitive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gecjury.refbased.m2.bounded import bounded_path
from gecjury.refbased.m2.lattice import EditLattice
from gecjury.refbased.m2.paths import GoldEdit, OfficialSearch, SystemEdit

CELL_LIMIT = 2_000_000  # positions (i, j) of one pair: 1,400 by 1,400 tokens


class MatchCounts(NamedTuple):
    """Edits of one sentence against one annotator.

    Attributes:
        correct: proposed edits that are gold edits.
        proposed: edits of the system.
        gold: edits of the annotator.
    """

    correct: int
    proposed: int
    gold: int


def match(
    source: Sequence[str],
    hypothesis: Sequence[str],
    annotators: Sequence[Sequence[GoldEdit]],
    max_unchanged_words: int = 2,
    *,
    release: bool = True,
) -> list[MatchCounts]:
    """Count the edits of one sentence against each annotator.

    Args:
        source: source tokens.
        hypothesis: hypothesis tokens.
        annotators: gold edits per annotator, in the order of the file, without `noop`.
        max_unchanged_words: most unchanged words in an edit, 0 to 30.
        release: place insertions before the first token as release 3.2 does (it treats the second
            of them as an insertion after the first token); otherwise before the first token.

    Returns:
        Counts per annotator.
    """
    edits_of = extract_system_edits(
        source, hypothesis, annotators, max_unchanged_words, release=release
    )
    return [
        MatchCounts(sum(edit.correct for edit in edits), len(edits), len(golds))
        for edits, golds in zip(edits_of, annotators, strict=True)
    ]


def extract_system_edits(
    source: Sequence[str],
    hypothesis: Sequence[str],
    annotators: Sequence[Sequence[GoldEdit]],
    max_unchanged_words: int = 2,
    *,
    release: bool = True,
) -> list[list[SystemEdit]]:
    """Cut a hypothesis into the edits that agree best with each annotator's.

    Args:
        source: source tokens.
        hypothesis: hypothesis tokens.
        annotators: gold edits per annotator, in the order of the file, without `noop`.
        max_unchanged_words: most unchanged words in an edit, 0 to 30.
        release: as in `match`. Pass False if the edits are to be applied to the source, for which
            release 3.2 gives leading insertions wrong positions.

    Returns:
        Per annotator the edits from left to right. A pair too long for any lattice is one edit
        between the tokens shared at both ends.
    """
    if list(source) == list(hypothesis):
        return [[] for _ in annotators]
    lattice = None
    if _fits(source, hypothesis):
        lattice = EditLattice.build(source, hypothesis)
        search = OfficialSearch.build(lattice, max_unchanged_words, release)
        if search is not None:
            return [search.edits(golds) for golds in annotators]
    return _search_bounded(source, hypothesis, annotators, max_unchanged_words, lattice)


def _fits(source: Sequence[str], hypothesis: Sequence[str]) -> bool:
    return (len(source) + 1) * (len(hypothesis) + 1) <= CELL_LIMIT


def _search_bounded(
    source: Sequence[str],
    hypothesis: Sequence[str],
    annotators: Sequence[Sequence[GoldEdit]],
    max_unchanged_words: int,
    lattice: EditLattice | None,
) -> list[list[SystemEdit]]:
    """Return the edits of a pair too large for the official search, per annotator."""
    if lattice is not None:
        return [bounded_path(lattice, golds, max_unchanged_words) for golds in annotators]
    # Tokens shared at both ends need no lattice, and the rest may fit into one.
    before = _shared_start(source, hypothesis)
    # Tokens of the shared start are not counted again at the end.
    after = _shared_start(source[before:][::-1], hypothesis[before:][::-1])
    left = source[before : len(source) - after]
    right = hypothesis[before : len(hypothesis) - after]
    shifted = [
        [GoldEdit(gold.start - before, gold.end - before, gold.corrections) for gold in golds]
        for golds in annotators
    ]
    if _fits(left, right):
        lattice = EditLattice.build(left, right)
        edits_of = [bounded_path(lattice, golds, max_unchanged_words) for golds in shifted]
    else:
        text = " ".join(right)
        edits_of = [
            [SystemEdit(0, len(left), text, int(any(_equals(gold, left, text) for gold in golds)))]
            for golds in shifted
        ]
    return [
        [edit._replace(start=edit.start + before, end=edit.end + before) for edit in edits]
        for edits in edits_of
    ]


def _equals(gold: GoldEdit, left: Sequence[str], text: str) -> bool:
    return gold[:2] == (0, len(left)) and text in gold.corrections


def _shared_start(source: Sequence[str], hypothesis: Sequence[str]) -> int:
    """Count the tokens shared at the beginning."""
    pairs = enumerate(zip(source, hypothesis, strict=False))
    differing = (place for place, (left, right) in pairs if left != right)
    return next(differing, min(len(source), len(hypothesis)))

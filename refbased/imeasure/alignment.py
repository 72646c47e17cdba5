"""Exact three-way token alignment of source, hypothesis and reference (sum of pairs).

Match 0, mismatch 3, gap 2, summed over the three pairs; two gaps opposite each other cost nothing.
Among alignments of the same cost, the result is that of the official I-measure program
(mfelice/imeasure, align.py). Its backtrace prefers, from the end, columns without a gap, then those
of source and hypothesis, source and reference, hypothesis and reference, source, hypothesis,
reference alone; and it aligns two identical sequences as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isqrt
from typing import TypeAlias

import numpy as np

from gecjury.core.arrays import Int32Array, blocks

_MISMATCH = 3
_GAP = 2

# Which of source, hypothesis and reference a column takes a token from, in the order in which the
# backtrace prefers them (mfelice/imeasure, align.py).
_MOVES = ((1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))

# The guided search gives up on a triple after this many expansions for each pair of source and
# hypothesis positions, about when the full table would have been as quick.
_PATIENCE = 1

# Cells of padded pair tables computed at once: bounds the memory of one call to about 16 MB.
_TABLE_CELLS = 4_000_000

_FAR = 1 << 60

AlignedColumn: TypeAlias = tuple[str | None, str | None, str | None]
"""Source, hypothesis and reference token of a column; None for a gap."""

_Ids: TypeAlias = tuple[int, ...]
_AlignmentCell: TypeAlias = tuple[int, int, int]
_CostTable: TypeAlias = "memoryview[int]"
_TableStore: TypeAlias = dict[tuple[_Ids, _Ids], _CostTable]


def _encode(sequences: Sequence[Sequence[str]]) -> list[_Ids]:
    """Replace tokens by small integers, the same for the same token."""
    vocabulary: dict[str, int] = {}
    return [tuple(vocabulary.setdefault(t, len(vocabulary)) for t in s) for s in sequences]


def _pair_tables(pairs: Sequence[tuple[_Ids, _Ids]]) -> list[_CostTable]:
    """Return the costs of aligning every prefix of the first with every prefix of the second."""
    if not pairs:
        return []
    rows = max(len(first) for first, _ in pairs) + 1
    columns = max(len(second) for _, second in pairs) + 1
    tables: list[_CostTable] = []
    for part in blocks(len(pairs), rows * columns, _TABLE_CELLS):
        tables += _padded_tables(pairs[part])
    return tables


def _padded_tables(pairs: Sequence[tuple[_Ids, _Ids]]) -> list[_CostTable]:
    """Fill the tables of several pairs row by row; padding never reaches the part returned."""
    rows = max(len(a) for a, _ in pairs)
    columns = max(len(b) for _, b in pairs)
    first = np.full((len(pairs), rows), -1, dtype=np.int32)
    second = np.full((len(pairs), columns), -2, dtype=np.int32)
    for n, (a, b) in enumerate(pairs):
        first[n, : len(a)] = a
        second[n, : len(b)] = b
    ramp = np.arange(columns + 1, dtype=np.int32) * _GAP
    table = np.empty((len(pairs), rows + 1, columns + 1), dtype=np.int32)
    table[:, 0] = ramp
    for i in range(rows):
        above = table[:, i]
        row = above + _GAP
        mismatch = (first[:, i, None] != second) * np.int32(_MISMATCH)
        np.minimum(row[:, 1:], above[:, :-1] + mismatch, out=row[:, 1:])
        # A run of gaps to the right costs the same per step: subtract it, carry the minimum along.
        row -= ramp
        np.minimum.accumulate(row, axis=1, out=row)
        table[:, i + 1] = row + ramp
    return [
        np.ascontiguousarray(table[n, : len(a) + 1, : len(b) + 1]).data
        for n, (a, b) in enumerate(pairs)
    ]


def _pair_path(table: _CostTable, first: _Ids, second: _Ids) -> list[int]:
    """Return a pairwise alignment, last column first: 0 both, 1 only first, 2 only second."""
    path: list[int] = []
    i, j = len(first), len(second)
    while i or j:
        least = table[i, j]
        if i and j:
            cost = 0 if first[i - 1] == second[j - 1] else _MISMATCH
            if least == table[i - 1, j - 1] + cost:
                path.append(0)
                i, j = i - 1, j - 1
                continue
        if i and least == table[i - 1, j] + _GAP:
            path.append(1)
            i -= 1
        else:
            path.append(2)
            j -= 1
    return path


class _Triple:
    """The three-way alignment of three different sequences.

    The sum of the three pairwise costs is a lower bound of the three-way cost. The backtrace takes
    the first move, in order of preference, that an optimal path allows; a depth-first search from
    the end that follows the same order within the optimal cost, and learns better bounds from its
    failures, finds that very path while visiting little more than the path itself.
    """

    def __init__(
        self, sequences: tuple[_Ids, _Ids, _Ids], tables: tuple[_CostTable, _CostTable, _CostTable]
    ):
        self.s, self.h, self.r = sequences
        self.sh, self.sr, self.hr = tables
        self.bounds: dict[_AlignmentCell, int] = {}
        self.expanded = 0

    def path(self) -> list[int]:
        """Return indices into `_MOVES`, last column first."""
        end = (len(self.s), len(self.h), len(self.r))
        patience = 1000 + _PATIENCE * (end[0] + 1) * (end[1] + 1)
        while self.expanded < patience:
            moves = self._within(end, self._bound(*end), patience)
            if moves is not None:
                return moves
        return _full_path(self.s, self.h, self.r, np.asarray(self.hr))

    def _bound(self, i: int, j: int, k: int) -> int:
        better = self.bounds.get((i, j, k))
        if better is None:
            return int(self.sh[i, j] + self.sr[i, k] + self.hr[j, k])
        return better

    def _options(self, i: int, j: int, k: int) -> list[tuple[int, int, _AlignmentCell]]:
        """Return moves out of a cell in order of preference, with cost and the cell reached."""
        a = self.s[i - 1] if i else -1
        b = self.h[j - 1] if j else -2
        c = self.r[k - 1] if k else -3
        if a == b == c:
            # Aligning equal last tokens never costs more than not doing so, and comes first.
            return [(0, 0, (i - 1, j - 1, k - 1))]
        options = []
        ab, ac, bc = _MISMATCH * (a != b), _MISMATCH * (a != c), _MISMATCH * (b != c)
        if i and j:
            if k:
                options.append((0, ab + ac + bc, (i - 1, j - 1, k - 1)))
            options.append((1, ab + 2 * _GAP, (i - 1, j - 1, k)))
        if k:
            if i:
                options.append((2, ac + 2 * _GAP, (i - 1, j, k - 1)))
            if j:
                options.append((3, bc + 2 * _GAP, (i, j - 1, k - 1)))
        if i:
            options.append((4, 2 * _GAP, (i - 1, j, k)))
        if j:
            options.append((5, 2 * _GAP, (i, j - 1, k)))
        if k:
            options.append((6, 2 * _GAP, (i, j, k - 1)))
        return options

    def _within(self, end: _AlignmentCell, budget: int, patience: int) -> list[int] | None:
        """Return the preferred path of exactly this cost.

        Without one, return None and store a better bound.
        """
        moves: list[int] = []
        # One entry for every cell on the way: the rest of the budget, the cell's options, the next
        # of them to try, and the least cost that the options tried so far may have.
        cells, lefts, choices, tried, leasts = [end], [budget], [self._options(*end)], [0], [_FAR]
        while cells and cells[-1] != (0, 0, 0):
            n = tried[-1]
            if n == len(choices[-1]):
                cell, least = cells.pop(), leasts.pop()
                self.bounds[cell] = least
                lefts.pop(), choices.pop(), tried.pop()
                if cells:
                    moves.pop()
                    leasts[-1] = min(leasts[-1], choices[-1][tried[-1] - 1][1] + least)
                continue
            tried[-1] = n + 1
            move, cost, target = choices[-1][n]
            needed = cost + self._bound(*target)
            if needed > lefts[-1]:
                leasts[-1] = min(leasts[-1], needed)
                continue
            self.expanded += 1
            if self.expanded > patience:
                return None
            moves.append(move)
            cells.append(target)
            lefts.append(lefts[-1] - cost)
            choices.append(self._options(*target))
            tried.append(0)
            leasts.append(_FAR)
        return moves if cells else None


def _planes(
    first: Int32Array, start: int, stop: int, costs: tuple[Int32Array, ...]
) -> list[Int32Array]:
    """Compute planes `start`..`stop` (source positions) of the full cost table, given `start`."""
    source_hyp, source_ref, hyp_ref = costs
    planes = [first]
    ramp = np.arange(first.shape[1], dtype=np.int32) * (2 * _GAP)
    for i in range(start, stop):
        before = planes[-1]
        plane = before + 2 * _GAP
        hyp, ref = source_hyp[i][:, None], source_ref[i][None, :]
        np.minimum(plane[1:], before[:-1] + hyp + 2 * _GAP, out=plane[1:])
        np.minimum(plane[:, 1:], before[:, :-1] + ref + 2 * _GAP, out=plane[:, 1:])
        inner = plane[1:, 1:]
        np.minimum(inner, before[:-1, :-1] + hyp + ref + hyp_ref, out=inner)
        for j in range(len(plane)):
            row = plane[j]
            if j:
                np.minimum(row, plane[j - 1] + 2 * _GAP, out=row)
                diagonal = plane[j - 1, :-1] + hyp_ref[j - 1] + 2 * _GAP
                np.minimum(row[1:], diagonal, out=row[1:])
            row -= ramp
            np.minimum.accumulate(row, out=row)
            row += ramp
        planes.append(plane)
    return planes


def _full_path(s: _Ids, h: _Ids, r: _Ids, hyp_ref_table: Int32Array) -> list[int]:
    """Return the preferred path by the full table, for triples that the guided search gives up on.

    Time grows with the product of the three lengths; memory with the product of the hypothesis and
    reference lengths times the root of the source length, because only every n-th plane is kept
    and the planes between are computed again on the way back.
    """
    ids = [np.array(x, dtype=np.int32) for x in (s, h, r)]
    costs = tuple(
        (ids[a][:, None] != ids[b][None, :]) * np.int32(_MISMATCH)
        for a, b in ((0, 1), (0, 2), (1, 2))
    )
    j, k = len(h), len(r)
    first = np.add.outer(np.arange(j + 1), np.arange(k + 1)).astype(np.int32) * _GAP
    kept = {0: first + hyp_ref_table}
    step = isqrt(len(s)) + 1
    for start in range(0, len(s) - step + 1, step):
        kept[start + step] = _planes(kept[start], start, start + step, costs)[-1]
    path: list[int] = []
    i = len(s)
    for start in sorted(kept, reverse=True):
        planes = _planes(kept[start], start, min(start + step, len(s)), costs)
        while i > start or (start == 0 and (j or k)):
            for move, (a, b, c) in enumerate(_MOVES):
                if a > i or b > j or c > k:
                    continue
                cost = 2 * _GAP * (a + b + c < 3)
                cost += int(costs[0][i - 1, j - 1]) if a and b else 0
                cost += int(costs[1][i - 1, k - 1]) if a and c else 0
                cost += int(costs[2][j - 1, k - 1]) if b and c else 0
                least = planes[i - start][j, k]
                if least == planes[i - a - start][j - b, k - c] + cost:
                    path.append(move)
                    i, j, k = i - a, j - b, k - c
                    break
    return path


def _path_columns(
    path: Sequence[int], s: Sequence[str], h: Sequence[str], r: Sequence[str]
) -> list[AlignedColumn]:
    """Return the columns of a path, first column first."""
    i = j = k = 0
    columns: list[AlignedColumn] = []
    for move in reversed(path):
        a, b, c = _MOVES[move]
        columns.append((s[i] if a else None, h[j] if b else None, r[k] if c else None))
        i, j, k = i + a, j + b, k + c
    return columns


# Moves of the three-way path for the columns of a pairwise one (both, first only, second only),
# for each two of the three sequences that may be equal; comments name the pair in its order.
_SAME_SOURCE_HYP = (0, 1, 6)  # hypothesis (= source) with reference
_SAME_SOURCE_REF = (0, 2, 5)  # reference (= source) with hypothesis
_SAME_HYP_REF = (0, 3, 4)  # reference (= hypothesis) with source


def _path(s: _Ids, h: _Ids, r: _Ids, tables: _TableStore) -> list[int]:
    """Return the alignment of three sequences; two equal sequences are aligned as one."""
    pairs, moves = _pairs_of(s, h, r)
    if not pairs:
        return [0] * len(s)
    if moves:
        (pair,) = pairs
        return [moves[move] for move in _pair_path(tables[pair], *pair)]
    return _Triple((s, h, r), (tables[s, h], tables[s, r], tables[h, r])).path()


def _pairs_of(s: _Ids, h: _Ids, r: _Ids) -> tuple[list[tuple[_Ids, _Ids]], tuple[int, ...]]:
    """Return the pairs that the alignment of three sequences needs.

    If two are equal, that is one pair at most, and the moves for its columns are returned with it.
    """
    if s == h:
        return [(h, r)] if h != r else [], _SAME_SOURCE_HYP
    if s == r:
        return [(r, h)], _SAME_SOURCE_REF
    if h == r:
        return [(r, s)], _SAME_HYP_REF
    return [(s, h), (s, r), (h, r)], ()


def _tables_for(triples: Iterable[tuple[_Ids, _Ids, _Ids]]) -> _TableStore:
    """Compute every pair table that `_path` needs, each once."""
    pairs = list(dict.fromkeys(pair for triple in triples for pair in _pairs_of(*triple)[0]))
    return dict(zip(pairs, _pair_tables(pairs), strict=True))


def align_many(
    source: Sequence[str],
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
) -> list[list[list[AlignedColumn]]]:
    """Align one source with every pair of hypothesis and reference.

    The pairwise costs that the alignments share are computed once, all together.

    Args:
        source: source tokens.
        hypotheses: tokens of each hypothesis.
        references: tokens of each reference.

    Returns:
        Hypotheses × references lists of columns (source, hypothesis, reference token), in which
        None is a gap.
    """
    s, *others = _encode([source, *hypotheses, *references])
    hyps, refs = others[: len(hypotheses)], others[len(hypotheses) :]
    tables = _tables_for((s, h, r) for h in hyps for r in refs)
    return [
        [
            _path_columns(_path(s, h, r, tables), source, hypotheses[m], references[n])
            for n, r in enumerate(refs)
        ]
        for m, h in enumerate(hyps)
    ]

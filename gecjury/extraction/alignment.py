"""ERRANT's token alignment, with the package's result but computed from fewer cells.

ERRANT aligns two sentences by a Damerau-Levenshtein recursion with linguistic substitution
costs (Felice, Bryant and Briscoe 2016). Where two tokens are equal, the recursion takes the
diagonal whatever its neighbours cost; otherwise it takes the first of transposition, substitution,
insertion and deletion among the cheapest. Three facts save work without changing that outcome
(v is the recursion's cost at a cell, d = i - j its diagonal; v >= |d| always):

1. *Common end.* The walk back starts in the last cell and follows the diagonal through equal
   tokens, and no cell depends on later ones: the common end can be cut off.
2. *Common start of p tokens.* v(j + a, j) = v(j, j + a) = a for j <= p, by induction: equal
   tokens copy the value along the diagonal, otherwise one deletion (insertion) costs 1 and v
   cannot be below |d|. So the cells beyond p see the same borders as if the start were missing.
   No transposition crosses from there into the start, since it stops at the first step along
   the diagonal that leaves the cost as it was. What the walk back does inside the start follows
   from the values: equal tokens match, tokens equal but for case substitute (cost 0), and
   otherwise a token is deleted (inserted) until the diagonal is 0.
3. *Bound.* Suppose that the recursion's last cell costs at most T and lies on the diagonal e. A
   chain of cells from a cell of diagonal d to the last one adds at least |d - e|, so a cell with
   v + |d - e| > T affects neither the last cell nor any tie on the way. Such cells count as
   infinite, which leaves few diagonals and few cells of each row. If the last cell then costs at
   most T, the path and its tie-breaking are those of the whole matrix, wherever T comes from; if
   not, T is raised. Here T is the cost of an alignment found with unit costs (rapidfuzz).
   A transposition depends on costs being different, so one is decided only where that is certain;
   otherwise T is raised, too.

Pairs that would need more cells than a few seconds allow are aligned in pieces
(`gecjury.extraction.coarse`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from gecjury.extraction.coarse import align_coarsely
from gecjury.extraction.merging import character_distance
from gecjury.extraction.parsing import Operation, Parsed
from gecjury.extraction.tagger.importing import symbols

_INFINITY = float("inf")
# Up to this many cells, the bound comes from an alignment with unit costs; beyond, it is guessed.
_MEASURED = 9_000_000
# The slack of the first bound that is guessed.
_TRIED = 8.0
# Most cells of a band: about two seconds. Beyond, a pair is aligned in pieces.
_LARGEST = 2_000_000
# Sums of costs carry rounding errors far below this.
_MARGIN = 1e-6
# Kinds of a cell; 2 and more is a transposition of that many tokens.
_SUBSTITUTE, _MATCH, _INSERT, _DELETE = 1, 0, -1, -2
# Substitution costs remembered at once, about 100 bytes each.
_REMEMBERED = 400_000


class _TooLargeError(Exception):
    """The middle is beyond exact alignment."""


class Aligner:
    """An aligner of parsed sentences that remembers substitution costs from pair to pair.

    Attributes:
        coarse: pairs so long that they were aligned in pieces (see `align_coarsely`).
    """

    def __init__(self) -> None:
        from rapidfuzz.distance import Levenshtein

        self._distance = character_distance()
        self._unit_costs: Callable[[list[str], list[str]], Any] = Levenshtein.editops
        # Costs of replacing one distinct token by another, by the keys of both.
        self.costs: defaultdict[int, dict[int, float]] = defaultdict(dict)
        self.remembered = 0
        self._open = self._open_classes()
        self.coarse = 0

    def align(self, source: Parsed, corrected: Parsed) -> list[Operation]:
        """Return ERRANT's cheapest alignment.

        Returns:
            The operations from left to right; unchanged tokens have none.
        """
        left, right = source.texts, corrected.texts
        n, m = len(left), len(right)
        while n and m and left[n - 1] == right[m - 1]:
            n -= 1
            m -= 1
        start = 0
        shorter = min(n, m)
        while start < shorter and left[start] == right[start]:
            start += 1
        moved: list[Operation] = []
        i, j = n - start, m - start
        if i and j:
            try:
                i, j = self._middle(source.part(start, n), corrected.part(start, m), moved)
            except _TooLargeError:
                self.coarse += 1
                return align_coarsely(self.align, source.part(0, n), corrected.part(0, m))
        # The common start is equally long on both sides, so one offset restores the positions.
        operations = [(k, a + start, b + start, c + start, d + start) for k, a, b, c, d in moved]
        _inside_start(source, corrected, start + i, start + j, operations)
        operations.reverse()
        return operations

    def substitution(self, source: Parsed, i: int, corrected: Parsed, j: int) -> float:
        """Return the cost of replacing one token by another: 0 (only case) or between 0 and 2."""
        if source.lowers[i] == corrected.lowers[j]:
            return 0.0
        lemma = 0.0 if source.lemmas[i] == corrected.lemmas[j] else 0.499
        pos_left, pos_right = source.poses[i], corrected.poses[j]
        both_open = pos_left in self._open and pos_right in self._open
        pos = 0.0 if pos_left == pos_right else 0.25 if both_open else 0.5
        return lemma + pos + self._distance(source.texts[i], corrected.texts[j])

    def _open_classes(self) -> frozenset[int]:
        """Return the parts of speech that replace each other at half the cost."""
        return frozenset(symbols()[name] for name in ("ADJ", "ADV", "NOUN", "VERB"))

    def _middle(self, source: Parsed, corrected: Parsed, out: list[Operation]) -> tuple[int, int]:
        """Align the middle between common start and end, appending operations from the right.

        Returns:
            The cell where the walk back leaves the middle.
        """
        rows, columns = len(source), len(corrected)
        if self.remembered > _REMEMBERED:
            self.costs.clear()
            self.remembered = 0
        low, high = min(0, rows - columns), max(0, rows - columns)
        if rows * columns <= _MEASURED:
            most = self._bound(source, corrected)
            if rows == columns and most < 2 and _straight(source, corrected, out):
                return 0, 0
        else:
            most = abs(rows - columns) + _TRIED
        while True:
            extra = int(most - high + low) // 2
            lowest, highest = max(low - extra, -columns), min(high + extra, rows)
            if rows * (highest - lowest + 1) > _LARGEST:
                raise _TooLargeError
            band = _Band(self, source, corrected, lowest, highest, most)
            if band.fill():
                return band.walk_back(out)
            most = 2 * most + 2

    def _bound(self, source: Parsed, corrected: Parsed) -> float:
        """Return the cost of some alignment of the middle, an upper bound of the lowest cost."""
        total = 0.0
        for kind, i, j in self._unit_costs(source.texts, corrected.texts).as_list():
            if kind == "replace":
                costs = self.costs[source.keys[i]]
                cost = costs.get(corrected.keys[j])
                if cost is None:
                    cost = self.substitution(source, i, corrected, j)
                    costs[corrected.keys[j]] = cost
                    self.remembered += 1
                total += cost
            else:
                total += 1
        return total + 2 * _MARGIN


def _straight(source: Parsed, corrected: Parsed, out: list[Operation]) -> bool:
    """Align along the diagonal, if that costs less than leaving it and coming back.

    Returns:
        False, with nothing done, if neighbouring tokens differ, which may have changed places.
    """
    pairs = zip(source.texts, corrected.texts, strict=True)
    unequal = [i for i, (left, right) in enumerate(pairs) if left != right]
    if any(right_index - left_index == 1 for left_index, right_index in pairwise(unequal)):
        return False
    out += [("S", i, i + 1, i, i + 1) for i in reversed(unequal)]
    return True


def _inside_start(source: Parsed, corrected: Parsed, i: int, j: int, out: list[Operation]) -> None:
    """Walk back through the common start; see the module's second fact."""
    while i != j:
        if i and j:
            if source.texts[i - 1] == corrected.texts[j - 1]:
                i, j = i - 1, j - 1
                continue
            if source.lowers[i - 1] == corrected.lowers[j - 1]:
                i, j = i - 1, j - 1
                out.append(("S", i, i + 1, j, j + 1))
                continue
        if i > j:
            i -= 1
            out.append(("D", i, i + 1, j, j))
        else:
            j -= 1
            out.append(("I", i, i, j, j + 1))


class _Band:
    """The recursion on diagonals lowest..highest of the matrix of the middle, within a bound.

    A row contains the cells from the highest diagonal (leftmost) to the lowest. The diagonal
    neighbour of a cell is at the same place in the row above, the upper neighbour one place later.
    """

    def __init__(
        self,
        aligner: Aligner,
        source: Parsed,
        corrected: Parsed,
        lowest: int,
        highest: int,
        most: float,
    ) -> None:
        self.aligner, self.source, self.corrected = aligner, source, corrected
        self.rows, self.columns = len(source), len(corrected)
        self.highest = highest
        last = highest - self.rows + self.columns
        # The most that a cell may cost, by its place: others cannot be on the path.
        self.most = [most - abs(place - last) for place in range(highest - lowest + 1)]
        self.costs: list[list[float]] = []
        self.kinds: list[list[int]] = []
        # First place of each word: in a reordering, the last word of each side occurs earlier on
        # the other side.
        self.first_source = _first(source.lowers)
        self.first_corrected = _first(corrected.lowers)
        self.source_sums: list[int] = []
        self.corrected_sums: list[int] = []
        self.seen: list[dict[int, int]] = []
        self.seen_rows: list[int] = []

    def fill(self) -> bool:
        """Run the recursion; return False if the bound was too low to be certain."""
        high, rows, columns = self.highest, self.rows, self.columns
        most, width = self.most, len(self.most)
        nothing = [_INFINITY] * (width + 1)
        above = nothing.copy()
        end = high
        for j in range(min(width - high, columns + 1)):
            if j > most[high + j]:
                break
            end = high + j
            above[end] = float(j)
        begin = high
        self.costs.append(above)
        self.kinds.append([])
        source, corrected = self.source, self.corrected
        texts, keys = corrected.texts, corrected.keys
        first_source, first_corrected = self.first_source, self.first_corrected
        # A column's word occurs earlier in the source only on diagonals above this number; a
        # row's occurs earlier in the corrected sentence only on those below `farthest`.
        nearest = [
            first_source.get(lower, _NOWHERE) - j for j, lower in enumerate(corrected.lowers)
        ]
        row_costs, remembered = self.aligner.costs, 0
        for i in range(1, rows + 1):
            row, kinds = nothing.copy(), [_DELETE] * width
            self.costs.append(row)
            self.kinds.append(kinds)
            before = i - 1
            text = source.texts[before]
            farthest = before - first_corrected.get(source.lowers[before], _NOWHERE)
            costs = row_costs[source.keys[before]]
            held = len(costs)
            left = _INFINITY
            place = begin - 1 if begin else 0
            begin = -1
            if place <= high - i:
                # The first column, which is reached only from above.
                place = high - i
                if i <= most[place]:
                    left = row[place] = float(i)
                    begin = last = place
                place += 1
            shift = before - high
            stop = columns + high - i
            if stop >= width:
                stop = width - 1
            while place <= stop:
                at = shift + place
                if text == texts[at]:
                    # Equal tokens take the diagonal at any cost.
                    best, kind = above[place], _MATCH
                else:
                    best, kind = left + 1, _INSERT
                    cost = above[place + 1] + 1
                    if cost < best:
                        best, kind = cost, _DELETE
                    diagonal = above[place]
                    if diagonal <= best:
                        key = keys[at]
                        substitution = costs.get(key)
                        if substitution is None:
                            substitution = self.aligner.substitution(source, before, corrected, at)
                            costs[key] = substitution
                        cost = diagonal + substitution
                        if cost <= best:
                            best, kind = cost, _SUBSTITUTE
                    if farthest > high - place > nearest[at]:
                        size = self._window(i, place)
                        if size:
                            cost = self._transposition(i, place, size)
                            if cost < 0:
                                return False
                            if cost <= best:
                                best, kind = cost, size
                if best > most[place]:
                    left = _INFINITY
                    if place >= end:
                        break
                else:
                    left = row[place] = best
                    kinds[place] = kind
                    last = place
                    if begin < 0:
                        begin = place
                place += 1
            remembered += len(costs) - held
            if begin < 0:
                return False
            end = last
            above = row
        self.aligner.remembered += remembered
        return above[high - rows + columns] <= most[high - rows + columns] - _MARGIN

    def _window(self, i: int, place: int) -> int:
        """Return the size of the smallest window ending here that may be a reordering.

        The same words in another order have the same sum of marks, so a reordering can begin only
        where, on this diagonal, the two sums differed by as much as they do here. It does not
        extend across equal tokens or across words that one side lacks.
        """
        if not self.seen:
            self.source_sums = _sums(self.source.marks)
            self.corrected_sums = _sums(self.corrected.marks)
            self.seen = [{} for _ in self.most]
            self.seen_rows = [max(0, self.highest - at) for at in range(len(self.most))]
        sums, other = self.source_sums, self.corrected_sums
        source, corrected = self.source, self.corrected
        seen = self.seen[place]
        shift = place - self.highest
        for row in range(self.seen_rows[place], i - 1):
            # A window may begin after `row` tokens, unless the next tokens rule that out.
            column = row + shift
            if source.texts[row] == corrected.texts[column] or not (
                source.lowers[row] in self.first_corrected
                and corrected.lowers[column] in self.first_source
            ):
                seen.clear()
            else:
                seen[sums[row] - other[column]] = row
        self.seen_rows[place] = i - 1
        base = seen.get(sums[i] - other[i + shift]) if seen else None
        return 0 if base is None else i - base

    def _transposition(self, i: int, place: int, size: int) -> float:
        """Return the cost of reordering the last `size` tokens.

        It is infinite if the reordering is not allowed, and -1 if that is uncertain.
        """
        base = self.costs[i - size][place]
        if base == _INFINITY:
            return _INFINITY  # beyond the bound
        j = i + place - self.highest
        if sorted(self.source.lowers[i - size : i]) != sorted(self.corrected.lowers[j - size : j]):
            return _INFINITY
        certain = self.most[place] - _MARGIN
        for back in range(1, size):
            current, before = self.costs[i - back][place], self.costs[i - back - 1][place]
            if current > certain and before > certain:
                return -1.0
            if current == before:
                return _INFINITY
        return base + (size - 1)

    def walk_back(self, out: list[Operation]) -> tuple[int, int]:
        """Append the operations from the right; return the cell at the middle's edge."""
        i, j = self.rows, self.columns
        while i and j:
            kind = self.kinds[i][j - i + self.highest]
            if kind == _DELETE:
                i -= 1
                out.append(("D", i, i + 1, j, j))
            elif kind == _INSERT:
                j -= 1
                out.append(("I", i, i, j, j + 1))
            else:
                size = max(kind, 1)
                i, j = i - size, j - size
                if kind != _MATCH:
                    out.append(("T" if kind > 1 else "S", i, i + size, j, j + size))
        return i, j


# A place beyond every sentence.
_NOWHERE = 2**62


def _first(lowers: Sequence[str]) -> dict[str, int]:
    """Return the first place of each word."""
    return dict(zip(reversed(lowers), range(len(lowers) - 1, -1, -1), strict=True))


def _sums(marks: Sequence[int]) -> list[int]:
    return list(accumulate(marks, initial=0))

"""ERRANT's token alignment, cell for cell the package's result without most of its cells.

ERRANT aligns two sentences by a Damerau-Levenshtein recursion with linguistic substitution
costs (Felice, Bryant and Briscoe 2016). Where two tokens are equal the recursion takes the
diagonal whatever its neighbours cost, and it takes the first of transposition, substitution,
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
3. *Band.* A path to a cell of diagonal d over a diagonal e costs at least |e| + |d - e|. If the
   recursion, run on a band of diagonals, ends below that for every diagonal outside, its path
   and its tie-breaking are those of the whole matrix. Transpositions depend on costs being
   different, so one is decided only where the same bound certifies the costs that it looks at;
   otherwise, as when the end is not certified, the band is widened.

Large matrices run on anti-diagonals in numpy (`gecjury.extraction.alignment_large`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gecjury.extraction.alignment_large import LARGEST, LONGEST, align_coarsely, align_large
from gecjury.extraction.parsing import Operation, Parsed

__all__ = ["Aligner"]

_INFINITY = float("inf")
# Up to this many cells the whole matrix is cheaper than a band that may fail.
_SMALL = 150
# Bands of more cells than this are left to numpy, if the whole matrix is within its reach; if
# not, bands are tried up to the second number.
_LARGE = 60_000
_LARGEST_BAND = 2_000_000
# Sums of costs carry rounding errors far below this.
_MARGIN = 1e-6
# Narrow matrices have too little on an anti-diagonal for numpy.
_NARROW = 30
# Substitution costs remembered at once, about 100 bytes each.
_REMEMBERED = 400_000


class _TooLargeError(Exception):
    """The middle is beyond exact alignment."""


class Aligner:
    """Aligns parsed sentences; remembers substitution costs from pair to pair.

    Attributes:
        coarse: pairs so long that they were aligned in pieces (see `align_coarsely`).
    """

    def __init__(self) -> None:
        from rapidfuzz.distance import Indel

        self._distance: Callable[[str, str], float] = Indel.normalized_distance
        self._costs: dict[int, dict[int, float]] = {}
        self._remembered = 0
        self._open = _open_classes()
        self.coarse = 0

    def align(self, source: Parsed, corrected: Parsed) -> list[Operation]:
        """ERRANT's cheapest alignment.

        Returns:
            The operations from left to right; tokens left alone have none.
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
        operations: list[Operation] = []
        try:
            i, j = self._middle(source, corrected, start, n, m, operations)
        except _TooLargeError:
            self.coarse += 1
            return align_coarsely(self.align, source.part(0, n), corrected.part(0, m))
        _inside_start(source, corrected, i, j, operations)
        operations.reverse()
        return operations

    def substitution(self, source: Parsed, i: int, corrected: Parsed, j: int) -> float:
        """Cost of replacing one token by another: 0 (case alone) or between 0 and 2."""
        if source.lowers[i] == corrected.lowers[j]:
            return 0.0
        lemma = 0.0 if source.lemmas[i] == corrected.lemmas[j] else 0.499
        one, other = source.poses[i], corrected.poses[j]
        both_open = one in self._open and other in self._open
        pos = 0.0 if one == other else 0.25 if both_open else 0.5
        return lemma + pos + self._distance(source.texts[i], corrected.texts[j])

    def _middle(
        self, source: Parsed, corrected: Parsed, start: int, n: int, m: int, out: list[Operation]
    ) -> tuple[int, int]:
        """Align source[start:n] with corrected[start:m], appending operations from the right.

        Returns:
            The cell where the walk back leaves the middle.
        """
        rows, columns = n - start, m - start
        if not rows or not columns:
            return n, m
        if self._remembered > _REMEMBERED:
            self._costs.clear()
            self._remembered = 0
        low, high = min(0, rows - columns), max(0, rows - columns)
        extra = 3 if rows * columns > _SMALL else max(rows, columns)
        reached = rows * columns <= LARGEST and rows + columns <= LONGEST
        limit = _LARGE if reached and min(rows, columns) > _NARROW else _LARGEST_BAND
        while True:
            lowest, highest = max(low - extra, -columns), min(high + extra, rows)
            if rows * (highest - lowest + 1) > limit:
                if not reached:
                    raise _TooLargeError
                return align_large(self._open, source, corrected, start, n, m, out)
            band = _Band(self, source, corrected, start, rows, columns, lowest, highest)
            if band.fill():
                return band.walk_back(out)
            extra *= 4

    def row_costs(self, key: int) -> dict[int, float]:
        """The remembered costs of replacing one distinct token, by the other's key."""
        costs = self._costs.get(key)
        if costs is None:
            costs = self._costs[key] = {}
        return costs

    def remember(self, count: int) -> None:
        """Count costs that were added."""
        self._remembered += count


def _inside_start(source: Parsed, corrected: Parsed, i: int, j: int, out: list[Operation]) -> None:
    """Walk back through the common start, see the module's second fact."""
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
    """The recursion on diagonals lowest..highest of the matrix of the middle.

    A row holds the cells from the highest diagonal (leftmost) to the lowest; the cell on the
    diagonal of another stands at the same place of the row above, the cell above one place on.
    """

    def __init__(
        self,
        aligner: Aligner,
        source: Parsed,
        corrected: Parsed,
        start: int,
        rows: int,
        columns: int,
        lowest: int,
        highest: int,
    ) -> None:
        self.aligner, self.source, self.corrected = aligner, source, corrected
        self.start, self.rows, self.columns = start, rows, columns
        self.lowest, self.highest = lowest, highest
        self.costs: list[list[float]] = []
        self.kinds: list[list[int]] = []
        self.source_sums = _sums(source.marks[start : start + rows])
        self.corrected_sums = _sums(corrected.marks[start : start + columns])

    def bound(self, diagonal: int) -> float:
        """Costs below this are those of the whole matrix."""
        bound = _INFINITY
        if self.highest < self.rows:
            bound = abs(self.highest + 1) + abs(self.highest + 1 - diagonal) - _MARGIN
        if self.lowest > -self.columns:
            below = abs(self.lowest - 1) + abs(self.lowest - 1 - diagonal) - _MARGIN
            bound = min(bound, below)
        return bound

    def fill(self) -> bool:
        """Run the recursion; False if the band is too narrow to be certain."""
        width = self.highest - self.lowest + 1
        first = [_INFINITY] * (width + 1)
        for place in range(width):
            if 0 <= place - self.highest <= self.columns:
                first[place] = float(place - self.highest)
        self.costs.append(first)
        self.kinds.append([])
        seen: list[dict[int, int]] = [{} for _ in range(width)]
        for i in range(1, self.rows + 1):
            if not self._fill_row(i, width, seen):
                return False
        diagonal = self.rows - self.columns
        return self.costs[self.rows][self.highest - diagonal] < self.bound(diagonal)

    def _fill_row(self, i: int, width: int, seen: list[dict[int, int]]) -> bool:
        source, corrected, start = self.source, self.corrected, self.start
        high = self.highest
        above = self.costs[i - 1]
        row, kinds = [_INFINITY] * (width + 1), [_DELETE] * width
        self.costs.append(row)
        self.kinds.append(kinds)
        first = max(1, i - high)
        left = _INFINITY
        if i <= high:
            left = row[high - i] = float(i)
        text, at = source.texts[start + i - 1], start - 1
        texts, keys = corrected.texts, corrected.keys
        costs = self.aligner.row_costs(source.keys[start + i - 1])
        known = len(costs)
        total, sums = self.source_sums[i], self.corrected_sums
        total_before = self.source_sums[i - 1]
        place = first - i + high
        for j in range(first, min(self.columns, i - self.lowest) + 1):
            # Equal tokens take the diagonal at any cost, and no reordering reaches across them.
            if text == texts[at + j]:
                left = row[place] = above[place]
                kinds[place] = _MATCH
                seen[place].clear()
                place += 1
                continue
            key = keys[at + j]
            cost = costs.get(key)
            if cost is None:
                cost = costs[key] = self.aligner.substitution(source, at + i, corrected, at + j)
            best, kind = above[place] + cost, _SUBSTITUTE
            if left + 1 < best:
                best, kind = left + 1, _INSERT
            if above[place + 1] + 1 < best:
                best, kind = above[place + 1] + 1, _DELETE
            # The same tokens in another order have the same sum of marks, so a reordering can only
            # begin on this diagonal, where the two sums differed by as much as they do here.
            earlier = seen[place]
            if earlier:
                base = earlier.get(total - sums[j])
                if base is not None:
                    moved = self._transposition(i, place, i - base)
                    if moved is None:
                        return False
                    if moved <= best:
                        best, kind = moved, i - base
            earlier[total_before - sums[j - 1]] = i - 1
            left = row[place] = best
            kinds[place] = kind
            place += 1
        self.aligner.remember(len(costs) - known)
        return True

    def _transposition(self, i: int, place: int, size: int) -> float | None:
        """Cost of reordering the last `size` tokens; infinite if barred, None if uncertain."""
        diagonal = self.highest - place
        left = self.start + i
        right = left - diagonal
        if sorted(self.source.lowers[left - size : left]) != sorted(
            self.corrected.lowers[right - size : right]
        ):
            return _INFINITY
        bound = self.bound(diagonal)
        for back in range(1, size):
            here, before = self.costs[i - back][place], self.costs[i - back - 1][place]
            if here >= bound or before >= bound:
                return None
            if here == before:
                return _INFINITY
        return self.costs[i - size][place] + (size - 1)

    def walk_back(self, out: list[Operation]) -> tuple[int, int]:
        """Append the operations from the right; the cell at the middle's edge."""
        start, i, j = self.start, self.rows, self.columns
        while i and j:
            kind = self.kinds[i][j - i + self.highest]
            if kind == _DELETE:
                i -= 1
                out.append(("D", start + i, start + i + 1, start + j, start + j))
            elif kind == _INSERT:
                j -= 1
                out.append(("I", start + i, start + i, start + j, start + j + 1))
            else:
                size = max(kind, 1)
                i, j = i - size, j - size
                if kind != _MATCH:
                    name = "T" if kind > 1 else "S"
                    out.append((name, start + i, start + i + size, start + j, start + j + size))
        return start + i, start + j


# Kinds of a cell; 2 and more is a transposition of so many tokens.
_SUBSTITUTE, _MATCH, _INSERT, _DELETE = 1, 0, -1, -2


def _sums(marks: Sequence[int]) -> list[int]:
    sums = [0]
    for mark in marks:
        sums.append(sums[-1] + mark)
    return sums


def _open_classes() -> frozenset[int]:
    from spacy.parts_of_speech import IDS

    return frozenset(IDS[name] for name in ("ADJ", "ADV", "NOUN", "VERB"))

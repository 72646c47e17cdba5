"""The best path for lattices too large to join edges: one pass over the positions.

An edit stays open while the pass walks along base edges, instead of being stored as an arc, so
time and memory grow with the number of positions only. The order of preference is that of
`gecjury.refbased.m2.paths` (most gold edits, fewest base edges, fewest edits). It ignores how often
the official scorer lists an arc and which of several equal paths that scorer prefers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import IntArray
from gecjury.refbased.m2.lattice import EditLattice, Vertex
from gecjury.refbased.m2.paths import GoldEdit, SystemEdit, system_edits

_EDGE = 10**6  # cost of a base edge in edits: no sentence within the limits has so many edits
_MATCHED = -(10**12)
_FAR = 10**15
_INSERT, _DELETE, _DIAGONAL, _OPEN = 0, 1, 2, 4
_THROUGH, _JUMP, _CLOSE = 0, 1, 2


def bounded_path(lattice: EditLattice, golds: Sequence[GoldEdit], context: int) -> list[SystemEdit]:
    """Find the edits of one sentence pair in time proportional to its positions.

    Args:
        lattice: the sentence pair.
        golds: gold edits of one annotator.
        context: most unchanged words in an edit.

    Returns:
        The edits from left to right.
    """
    jumps: dict[Vertex, list[Vertex]] = {}
    for gold in golds:
        for tail, head in _gold_arcs(lattice, gold, context):
            jumps.setdefault(head, []).append(tail)
    came, jumped = _sweep(lattice, jumps, context)
    steps = []
    for (i, j), (end, stop) in _trace(lattice, came, jumped):
        text = " ".join(lattice.hypothesis[j:stop])
        hits = [n for n, gold in enumerate(golds) if gold[:2] == (i, end) and text in gold[2]]
        steps.append((i, end, text, hits))
    return system_edits(steps)


def _gold_arcs(
    lattice: EditLattice, gold: GoldEdit, context: int
) -> Iterator[tuple[Vertex, Vertex]]:
    """Yield places where the hypothesis has the gold edit and the lattice has a path through it."""
    rows, columns = lattice.on.shape
    if gold.end >= rows:
        return
    for correction in gold.corrections:
        tokens = correction.split(" ") if correction else []
        for j in np.flatnonzero(lattice.on[gold.start, : columns - len(tokens)]).tolist():
            head = (gold.end, j + len(tokens))
            if (gold.start, j) == head or list(lattice.hypothesis[j : head[1]]) != tokens:
                continue
            if lattice.on[head] and _fewest_matches(lattice, (gold.start, j), head) <= context:
                yield (gold.start, j), head
                if gold.start == gold.end:
                    # A second place would use the same gold edit twice.
                    return


def _fewest_matches(lattice: EditLattice, tail: Vertex, head: Vertex) -> float:
    """Return the fewest unchanged words between two positions; infinite without a change."""
    (top, left), (bottom, right) = tail, head
    if list(lattice.source[top:bottom]) == list(lattice.hypothesis[left:right]):
        return np.inf
    fewest = np.full((bottom - top + 1, right - left + 1), np.inf)
    fewest[0, 0] = 0
    for i in range(top, bottom + 1):
        for j in range(left, right + 1):
            ways = [fewest[i - top, j - left]]
            if j > left and lattice.insertion[i, j - 1]:
                ways.append(fewest[i - top, j - left - 1])
            if i > top and lattice.deletion[i - 1, j]:
                ways.append(fewest[i - top - 1, j - left])
            if i > top and j > left and lattice.diagonal[i - 1, j - 1]:
                match = 1 - lattice.different[i - 1, j - 1]
                ways.append(fewest[i - top - 1, j - left - 1] + match)
            fewest[i - top, j - left] = min(ways)
    return float(fewest[-1, -1])


def _sweep(
    lattice: EditLattice, jumps: dict[Vertex, list[Vertex]], context: int
) -> tuple[NDArray[np.int8], dict[Vertex, Vertex]]:
    """Walk the positions along antidiagonals, all positions of one at once.

    Args:
        lattice: the sentence pair.
        jumps: tails of gold edits, by head.
        context: most unchanged words in an edit.

    Returns:
        (context+2, n+1, m+1) how each state was reached (state 0: no edit open; u+1: one open
        with u unchanged words), and the tails of the gold edits taken, by head.
    """
    n, m = len(lattice.source), len(lattice.hypothesis)
    came = np.zeros((context + 2, n + 1, m + 1), dtype=np.int8)
    # Costs are kept only where a gold edit begins: a jump may start many antidiagonals back.
    closed = {(0, 0): 0}
    wanted = {tail for tails in jumps.values() for tail in tails}
    by_sum: dict[int, list[Vertex]] = {}
    for head in jumps:
        by_sum.setdefault(sum(head), []).append(head)
    jumped: dict[Vertex, Vertex] = {}
    before = np.full((context + 2, n + 2), _FAR, dtype=np.int64)
    last = before.copy()
    last[0, 1] = 0
    for step in range(1, n + m + 1):
        low, high = max(0, step - m), min(n, step)
        rows = np.arange(low, high + 1)
        cost, how = _relax(lattice, rows, step - rows, before, last)
        # Jumps come after single edges, so that a gold edit wins only where it is cheaper.
        for head in by_sum.get(step, ()):
            place = head[0] - low
            least = min(jumps[head], key=lambda tail: closed[tail])
            if closed[least] + _MATCHED < cost[0, place]:
                cost[0, place] = closed[least] + _MATCHED
                how[0, place] = _JUMP
                jumped[head] = least
        came[:, rows, step - rows] = how
        before, last = last, np.full_like(last, _FAR)
        last[:, low + 1 : high + 2] = cost
        for tail in [vertex for vertex in wanted if sum(vertex) == step] if wanted else ():
            closed[tail] = int(cost[0, tail[0] - low])
    return came, jumped


def _relax(
    lattice: EditLattice,
    rows: IntArray,
    columns: IntArray,
    before: IntArray,
    last: IntArray,
) -> tuple[IntArray, NDArray[np.int8]]:
    """Compute one antidiagonal from the two before it, each shifted by one row."""
    n, m = len(lattice.source), len(lattice.hypothesis)
    cost = np.full((len(last), len(rows)), _FAR, dtype=np.int64)
    how = np.zeros(cost.shape, dtype=np.int8)
    left, up = columns > 0, rows > 0
    both = left & up
    above, beside = np.maximum(rows - 1, 0), np.maximum(columns - 1, 0)
    change = np.zeros(len(rows), dtype=np.bool_)
    keep = change.copy()
    if n and m:
        used = both & (lattice.diagonal[above, beside] > 0)
        differs = lattice.different[above, beside] > 0
        change, keep = used & differs, used & ~differs
    insert = left & (lattice.insertion[rows, beside] > 0) if m else keep & False
    delete = up & (lattice.deletion[above, columns] > 0) if n else keep & False
    for kind, usable, source, offset in (
        (_DIAGONAL, change, before, 0),
        (_DELETE, delete, last, 0),
        (_INSERT, insert, last, 1),
    ):
        came = np.where(usable, source[:, rows + offset] + _EDGE, _FAR)
        _lower(cost[1:], how[1:], came[1:], kind)
        _lower(cost[1], how[1], came[0] + 1, kind | _OPEN)
    came = np.where(keep, before[:, rows] + _EDGE, _FAR)
    _lower(cost[2:], how[2:], came[1:-1], _DIAGONAL)
    if len(cost) > 2:
        _lower(cost[2], how[2], came[0] + 1, _DIAGONAL | _OPEN)
    _lower(cost[0], how[0], came[0], _THROUGH)
    for state in range(1, len(cost)):
        _lower(cost[0], how[0], cost[state], _CLOSE + state)
    return cost, how


def _lower(cost: IntArray, how: NDArray[np.int8], other: IntArray, kind: int) -> None:
    """Take the cheaper cost and record where it came from."""
    better = other < cost
    cost[better] = other[better]
    how[better] = kind


def _trace(
    lattice: EditLattice, came: NDArray[np.int8], jumped: dict[Vertex, Vertex]
) -> list[tuple[Vertex, Vertex]]:
    """Return the edits (tail, head) on the best path, from left to right."""
    i, j = len(lattice.source), len(lattice.hypothesis)
    state, head = 0, (i, j)
    edits = []
    while (i, j) != (0, 0) or state:
        how = int(came[state, i, j])
        if state == 0 and how == _JUMP:
            edits.append((jumped[i, j], (i, j)))
            i, j = jumped[i, j]
        elif state == 0 and how == _THROUGH:
            i, j = i - 1, j - 1
        elif state == 0:
            state, head = how - _CLOSE, (i, j)
        else:
            kind = how & 3
            match = kind == _DIAGONAL and not lattice.different[i - 1, j - 1]
            i, j = i - (kind != _INSERT), j - (kind != _DELETE)
            state -= match
            if how & _OPEN:
                edits.append(((i, j), head))
                state = 0
    return edits[::-1]

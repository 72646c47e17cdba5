"""The lattice of all optimal alignments of a source and a hypothesis, as the M2 scorer builds it.

Vertices are positions (i, j): i source tokens and j hypothesis tokens consumed. Base edges are
the insertions, deletions, substitutions and matches on any optimal alignment under either of two
cost settings (substitution 1, substitution 2). Arcs join adjacent edges into one edit as long as
it contains at most `max_unchanged_words` unchanged tokens (Dahlmeier and Ng 2012, section 2.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import BoolArray, Int32Array, IntArray

# An arc is coded as one integer. From the highest bits: length in base edges; whether it begins
# with an insertion before the first source token; number of times the official scorer lists it
# (every listing costs one epsilon); unchanged tokens.
LENGTH_SHIFT = 11
LEADING = 1 << 10
TIMES_SHIFT = 5
FIELD = 31
_ONCE = 1 << TIMES_SHIFT
_STEP = 1 << LENGTH_SHIFT

Vertex = tuple[int, int]
Arcs = list[dict[int, int]]


# The official search is repeated up to this many positions on optimal alignments and this many
# edges and joined edges; larger pairs get the bounded search. The largest pair of the SEEDA outputs
# has 1,176 vertices and 251,000 arcs; the official scorer's time grows with the product.
MOST_VERTICES = 8_000
MOST_ARCS = 600_000


@dataclass
class Graph:
    """The positions of a lattice with the base edges between them.

    Attributes:
        vertices: sorted positions; the first and the last lie on every path.
        edges: for each vertex its base edges (tail's index, 1 if a match else 0, in how many of
            the two alignment graphs), tails ascending.
    """

    vertices: list[Vertex]
    edges: list[list[tuple[int, int, int]]]


def _distances(different: Int32Array) -> Int32Array:
    """Return forward and backward edit distances under both substitution costs.

    Args:
        different: (n, m), 1 where source token and hypothesis token differ.

    Returns:
        (4, n+1, m+1): forward with substitution 1, with 2, then backward (from each position to
        the end) with 1, with 2.
    """
    n, m = different.shape
    columns = np.arange(m + 1, dtype=np.int32)
    # Distances are kept minus the column, so that an insertion costs nothing and a row's chain of
    # insertions is a running minimum.
    table = np.zeros((n + 1, 4, m + 1), dtype=np.int32)
    diagonal = np.empty((n, 4, m), dtype=np.int32)
    diagonal[:, 0] = different - 1
    diagonal[:, 1] = 2 * different - 1
    diagonal[:, 2:] = diagonal[::-1, :2, ::-1]
    row = np.empty((4, m + 1), dtype=np.int32)
    through = np.empty((4, m), dtype=np.int32)
    for i in range(n):
        np.add(table[i], 1, out=row)
        np.add(table[i, :, :-1], diagonal[i], out=through)
        np.minimum(row[:, 1:], through, out=row[:, 1:])
        np.minimum.accumulate(row, axis=1, out=table[i + 1])
    table += columns
    result = table.transpose(1, 0, 2)
    return np.concatenate((result[:2], result[2:, ::-1, ::-1]))


@dataclass
class EditLattice:
    """Base edges of one sentence pair.

    Attributes:
        source: source tokens (n).
        hypothesis: hypothesis tokens (m).
        on: (n+1, m+1) bool, positions on an optimal alignment.
        diagonal: (n, m) number of alignment graphs (0-2) with the edge from (i, j) to (i+1, j+1).
        deletion: (n, m+1) the same from (i, j) to (i+1, j).
        insertion: (n+1, m) the same from (i, j) to (i, j+1).
        different: (n, m) 1 where the tokens differ.
    """

    source: Sequence[str]
    hypothesis: Sequence[str]
    on: BoolArray
    diagonal: NDArray[np.int8]
    deletion: NDArray[np.int8]
    insertion: NDArray[np.int8]
    different: Int32Array

    @classmethod
    def build(cls, source: Sequence[str], hypothesis: Sequence[str]) -> EditLattice:
        """Align the pair under both costs and keep every optimal edge.

        Args:
            source: source tokens.
            hypothesis: hypothesis tokens.

        Returns:
            The lattice, in time and memory proportional to the product of the lengths.
        """
        number: dict[str, int] = {}
        left, right = (
            np.array([number.setdefault(token, len(number)) for token in tokens], dtype=np.int32)
            for tokens in (source, hypothesis)
        )
        different = (left[:, None] != right[None, :]).astype(np.int32)
        table = _distances(different)
        forward, backward = table[:2], table[2:]
        total = forward[:, -1, -1].reshape(2, 1, 1)
        cost = np.array([1, 2], dtype=np.int32).reshape(2, 1, 1) * different
        diagonal = forward[:, :-1, :-1] + cost + backward[:, 1:, 1:] == total
        deletion = forward[:, :-1] + 1 + backward[:, 1:] == total
        insertion = forward[:, :, :-1] + 1 + backward[:, :, 1:] == total
        on = forward + backward == total
        return cls(
            source,
            hypothesis,
            on[0] | on[1],
            diagonal[0].view(np.int8) + diagonal[1].view(np.int8),
            deletion[0].view(np.int8) + deletion[1].view(np.int8),
            insertion[0].view(np.int8) + insertion[1].view(np.int8),
            different,
        )

    def graph(self) -> Graph:
        """Return the vertices on optimal alignments with their base edges."""
        rows, columns = np.nonzero(self.on)
        number = np.full((self.on.shape[0] + 1, self.on.shape[1] + 1), -1, dtype=np.int64)
        number[rows + 1, columns + 1] = np.arange(len(rows))
        tails = (number[rows, columns], number[rows, columns + 1], number[rows + 1, columns])
        heads = (rows, columns)
        times = (
            _before(self.diagonal, heads, (1, 1)),
            _before(self.deletion, heads, (1, 0)),
            _before(self.insertion, heads, (0, 1)),
        )
        match = 1 - _before(self.different, heads, (1, 1))
        zero = [0] * len(rows)
        kinds = (match.tolist(), zero, zero)
        edges: list[list[tuple[int, int, int]]] = [[] for _ in range(len(rows))]
        for tail, time, kind in zip(tails, times, kinds, strict=True):
            for head, (t, k, c) in enumerate(zip(tail.tolist(), kind, time.tolist(), strict=True)):
                if c and t >= 0:
                    edges[head].append((t, k, c))
        return Graph(list(zip(rows.tolist(), columns.tolist(), strict=True)), edges)


def _before(
    table: NDArray[np.int8] | Int32Array,
    heads: tuple[IntArray, IntArray],
    back: tuple[int, int],
) -> IntArray:
    """Read an edge table at the tails of `heads`, 0 where they would lie before the sentences."""
    rows, columns = heads[0] - back[0], heads[1] - back[1]
    inside = (rows >= 0) & (columns >= 0)
    result = np.zeros(len(rows), dtype=np.int64)
    result[inside] = table[rows[inside], columns[inside]]
    return result


def length(arc: int) -> int:
    """Return the number of base edges that the arc spans."""
    return arc >> LENGTH_SHIFT


def listings(arc: int) -> int:
    """Return how often the official scorer lists the arc."""
    return (arc >> TIMES_SHIFT) & FIELD


def is_match(arc: int) -> bool:
    """Return True if the arc changes nothing, i.e. spans matches only."""
    return arc & FIELD == arc >> LENGTH_SHIFT


def close_arcs(graph: Graph, context: int, order: list[tuple[int, int, int]]) -> Arcs | None:
    """Join base edges into arcs, exactly as the official transitive closure does.

    The official closure visits vertices in sorted order, which is topological; when it visits a
    vertex, the incoming arcs are therefore final and the outgoing ones are base edges. An arc is
    replaced (and listed once more) whenever a strictly shorter one is found.

    Args:
        graph: the vertices and base edges.
        context: most unchanged words in an edit (at most 31).
        order: receives every listing of a joined arc as (middle, tail, head); sorting the list
            gives the official order.

    Returns:
        For each vertex its incoming arcs (tail's index to coded arc), or None beyond `MOST_ARCS`.
    """
    arcs: Arcs = []
    count = 0
    clear = ~(FIELD << TIMES_SHIFT)
    for head, edges in enumerate(graph.edges):
        # Only an insertion ends in row 0.
        leading = 0 if graph.vertices[head][0] else LEADING
        into = {
            tail: _STEP | leading | times << TIMES_SHIFT | match for tail, match, times in edges
        }
        for middle, match, _ in edges:
            step = _STEP + match
            for tail, arc in arcs[middle].items():
                longer = arc + step
                if longer & FIELD > context:
                    continue
                current = into.get(tail)
                if current is None:
                    into[tail] = (longer & clear) | _ONCE
                elif longer >> LENGTH_SHIFT < current >> LENGTH_SHIFT:
                    into[tail] = (longer & clear) | (listings(current) + 1) << TIMES_SHIFT
                else:
                    continue
                order.append((middle, tail, head))
        arcs.append(into)
        count += len(into)
        if count > MOST_ARCS:
            return None
    return arcs

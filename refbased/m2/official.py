"""The official search, for pairs in which rounding and the order of relaxation decide.

The m2scorer 3.2 finds its path by Bellman-Ford over a list of arcs. Which of several paths of equal
cost it finds depends on rounding and on the order of that list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gecjury.refbased.m2.lattice import (
    FIELD,
    MOST_VERTICES,
    EditLattice,
    close_arcs,
    is_match,
    length,
)
from gecjury.refbased.m2.paths import (
    UNIT,
    Edge,
    GoldEdit,
    GraphPaths,
    SystemEdit,
)

EPSILON = 0.001  # levenshtein.py, set_weights


class OfficialSearch:
    """The official search over one sentence pair: its list of arcs, sums and order of relaxation.

    Attributes:
        paths: the paths through the lattice, with the joined matches that the official loop
            forgets to remove.
        listed: every listing (tail, head) of every arc, in the official order.
    """

    def __init__(self, paths: GraphPaths, joined: Iterable[tuple[int, int, int]]) -> None:
        self.paths = paths
        self.listed = sorted(
            (tail, head)
            for head, edges in enumerate(paths.graph.edges)
            for tail, _, times in edges
            for _ in range(times)
        )
        skipped = False
        for _, tail, head in sorted(joined):
            arc = paths.arcs[head][tail]
            # The official loop removes joined matches from the list that it iterates over, so it
            # skips the entry after each one that it removes.
            if is_match(arc) and not skipped:
                skipped = True
                continue
            skipped = False
            self.listed.append((tail, head))
            if is_match(arc):
                paths.spans.setdefault(paths.span(tail, head), []).append((tail, head))
                paths.into[head].append((tail, length(arc) * UNIT))

    @classmethod
    def build(cls, lattice: EditLattice, context: int, release: bool) -> OfficialSearch | None:
        """List the arcs of a sentence pair.

        Args:
            lattice: the sentence pair.
            context: most unchanged words in an edit.
            release: positions of leading insertions as in release 3.2.

        Returns:
            The search; None for a lattice that is too large for it.
        """
        if int(lattice.on.sum()) > MOST_VERTICES:
            return None
        graph = lattice.graph()
        joined: list[tuple[int, int, int]] = []
        arcs = close_arcs(graph, context, joined)
        if arcs is None:
            return None
        return cls(GraphPaths(lattice, graph, arcs, release), joined)

    def edits(self, golds: Sequence[GoldEdit]) -> list[SystemEdit]:
        """Cut the hypothesis into edits for one annotator.

        Only arcs on paths of least exact cost are relaxed. Rounding is far below one epsilon, so
        the official path consists of such arcs, and a vertex on it reaches its final sum through
        them alone: in the same round and from the same arc as if all arcs were relaxed.

        Args:
            golds: gold edits in the order of the file.

        Returns:
            Edits from left to right.
        """
        hits = self.paths.hits(golds)
        listed = self.listed
        size = len(self.paths.graph.vertices)
        # One more gold edit must outweigh everything else, as it does in the exact order.
        if len(listed) > size + EPSILON * (FIELD + 1) * size:
            tied = self.paths.best(self.paths.weights(golds, hits))
            kept = {(tail, head) for head, tails in enumerate(tied) for tail in tails}
            listed = [edge for edge in listed if edge in kept]
        # In the official order and rounding, since either may decide between paths of equal cost.
        weights = _float_weights(self.paths, listed, -len(self.listed), golds, hits)
        return self.paths.edits(_shortest(listed, weights, size), hits)


def _float_weights(
    paths: GraphPaths,
    listed: Sequence[Edge],
    matched: int,
    golds: Sequence[GoldEdit],
    hits: dict[Edge, list[int]],
) -> dict[Edge, float]:
    """Compute the official weights of the listed arcs, summed in the official order."""
    result: dict[Edge, float] = {
        (tail, head): length(paths.arcs[head][tail]) for tail, head in listed
    }
    contested = {span for span in (paths.span(*edge) for edge in hits) if span[0] == span[1]}
    for edge in listed:
        if contested and paths.span(*edge) in contested:
            continue
        if edge in hits:
            result[edge] = matched
        elif not is_match(paths.arcs[edge[1]][edge[0]]):
            result[edge] += EPSILON
    for span in contested:
        result.update(paths.insertion_weights(span, golds, hits, 1, (matched, EPSILON)))
    return result


def _shortest(listed: Sequence[Edge], weights: dict[Edge, float], size: int) -> list[Edge]:
    """Run Bellman-Ford in list order from the first to the last vertex."""
    steps = [(tail, head, weights[tail, head]) for tail, head in listed]
    cost = [float("inf")] * size
    cost[0] = 0
    came = [-1] * size
    changed = True
    # The official scorer runs size - 1 rounds; after one without a change, no later one changes.
    while changed:
        changed = False
        for tail, head, weight in steps:
            reached = cost[tail] + weight
            if reached < cost[head]:
                cost[head] = reached
                came[head] = tail
                changed = True
    edges = []
    head = size - 1
    while came[head] >= 0:
        edges.append((came[head], head))
        head = came[head]
    return edges[::-1]

"""The best path through the edit lattice: most gold edits, then fewest base edges, then epsilons.

The official scorer weighs every arc by its base edges plus 0.001 for each time it lists the arc;
an arc that is a gold edit weighs minus the number of all listings. Bellman-Ford then finds the
shortest path. This module keeps the same order in whole numbers and finds all paths of equal cost.
Between these, the official scorer's floating-point sums and its order of relaxation decide, and
`OfficialSearch` repeats both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gecjury.refbased.m2.lattice import (
    FIELD,
    LEADING,
    MOST_VERTICES,
    Arcs,
    EditLattice,
    Graph,
    close_arcs,
    is_match,
    length,
    listings,
)

UNIT = 1000  # one base edge in epsilons
_MATCHED = -(10**12)

Edge = tuple[int, int]
PathState = tuple[int, int, int]  # edits proposed, next gold edit, gold edits matched


class GoldEdit(NamedTuple):
    """A gold edit of one annotator.

    Attributes:
        start: first source token.
        end: source token after the last.
        corrections: accepted replacements, tokens joined by single blanks; "" is a deletion.
    """

    start: int
    end: int
    corrections: tuple[str, ...]


class SystemEdit(NamedTuple):
    """An edit of the system as the lattice cuts it; it may contain unchanged words at its ends.

    Attributes:
        start: first source token.
        end: source token after the last.
        correction: replacement, tokens joined by single blanks.
        correct: number of gold edits it was counted for (two where one is listed twice).
    """

    start: int
    end: int
    correction: str
    correct: int


def seen_gold(state: PathState, hits: Iterable[int]) -> PathState:
    """Count one proposed edit the way the official scorer walks along the gold edits.

    Args:
        state: counts before the edit.
        hits: numbers of the gold edits that the edit equals, ascending.

    Returns:
        Counts after it. Gold edits before one already matched are skipped; one listed twice
        counts twice.
    """
    proposed, after, correct = state
    behind = after
    for number in hits:
        if number >= after:
            correct += 1
            behind = number + 1
    return proposed + 1, behind, correct


def system_edits(steps: Iterable[tuple[int, int, str, Iterable[int]]]) -> list[SystemEdit]:
    """Return edits from steps (start, end, text, numbers of equal gold edits), left to right."""
    edits = []
    state = (0, 0, 0)
    for start, end, text, hits in steps:
        before = state[2]
        state = seen_gold(state, hits)
        edits.append(SystemEdit(start, end, text, state[2] - before))
    return edits


@dataclass
class GraphPaths:
    """The graph of one sentence pair with its arcs, and the best paths through it.

    Attributes:
        lattice: the sentence pair.
        graph: vertices and base edges.
        arcs: incoming arcs of each vertex.
        release: give insertions before the first token the positions of release 3.2.
        spans: the arcs (tail, head) that claim each source span.
        into: the arcs into each vertex, as (tail, weight), weighted as if there were no gold
            edits; joined matches are left out.
    """

    lattice: EditLattice
    graph: Graph
    arcs: Arcs
    release: bool
    spans: dict[tuple[int, int], list[Edge]] = field(default_factory=dict)
    into: list[list[tuple[int, float]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for head, arcs in enumerate(self.arcs):
            row: list[tuple[int, float]] = []
            for tail, arc in arcs.items():
                if not is_match(arc):
                    row.append((tail, length(arc) * UNIT + listings(arc)))
                elif length(arc) == 1:
                    row.append((tail, UNIT))
                else:
                    continue
                self.spans.setdefault(self.span(tail, head), []).append((tail, head))
            self.into.append(row)

    def span(self, tail: int, head: int) -> tuple[int, int]:
        """Return the source span that the official scorer gives the arc.

        Release 3.2 numbers insertions before the first token by their place in the hypothesis.
        """
        (start, column), (end, stop) = self.graph.vertices[tail], self.graph.vertices[head]
        if self.release:
            if self.arcs[head][tail] & LEADING:
                start = column
            if end == 0:
                end = stop - 1
        return start, end

    def equals(self, edge: Edge, gold: GoldEdit) -> bool:
        """Return True if the arc is this gold edit: original text and correction."""
        (i, j), (end, stop) = self.graph.vertices[edge[0]], self.graph.vertices[edge[1]]
        text = " ".join(self.lattice.hypothesis[j:stop])
        if text not in gold.corrections:
            return False
        source = self.lattice.source
        return (i, end) == gold[:2] or list(source[i:end]) == list(source[gold.start : gold.end])

    def hits(self, golds: Sequence[GoldEdit]) -> dict[Edge, list[int]]:
        """Return the arcs that equal gold edits, with the numbers of those edits."""
        result: dict[Edge, list[int]] = {}
        for number, gold in enumerate(golds):
            for edge in self.spans.get((gold.start, gold.end), ()):
                if self.equals(edge, gold):
                    result.setdefault(edge, []).append(number)
        return result

    def entries(self, span: tuple[int, int]) -> list[Edge]:
        """Return the arcs that claim a span, sorted, each as often as it is listed."""
        return [
            (tail, head)
            for tail, head in sorted(self.spans[span])
            for _ in range(listings(self.arcs[head][tail]))
        ]

    def weights(self, golds: Sequence[GoldEdit], hits: dict[Edge, list[int]]) -> dict[Edge, float]:
        """Return the weights that differ from `into` because of gold edits."""
        result: dict[Edge, float] = {}
        for span in {self.span(*edge) for edge in hits}:
            if span[0] != span[1]:
                result.update((edge, _MATCHED) for edge in self.spans[span] if edge in hits)
                continue
            result.update(self.insertion_weights(span, golds, hits, UNIT, (_MATCHED, 1)))
        return result

    def insertion_weights(
        self,
        span: tuple[int, int],
        golds: Sequence[GoldEdit],
        hits: dict[Edge, list[int]],
        unit: int,
        values: tuple[float, float],
    ) -> dict[Edge, float]:
        """Return the weights of arcs at a place of gold insertions; see `weigh_insertions`."""
        entries = self.entries(span)
        numbers = [number for number, gold in enumerate(golds) if gold[:2] == span]
        bucket: dict[Edge, float] = {
            edge: length(self.arcs[edge[1]][edge[0]]) * unit for edge in entries
        }
        weigh_insertions(entries, numbers, hits, bucket, values)
        return bucket

    def best(self, weights: dict[Edge, float]) -> list[list[int]]:
        """Return the tails of every vertex on the paths of least cost; empty off these paths."""
        cost: list[float] = [0]
        heads = {head for _, head in weights}
        for head in range(1, len(self.into)):
            row = self.into[head]
            if head in heads:
                row = [(tail, weights.get((tail, head), weight)) for tail, weight in row]
            # Vertices are sorted, and arcs lead to later ones: one pass settles each cost.
            cost.append(min([cost[tail] + weight for tail, weight in row]))
        result: list[list[int]] = [[] for _ in self.into]
        needed = {len(self.into) - 1}
        for head in range(len(self.into) - 1, 0, -1):
            if head in needed:
                result[head] = [
                    tail
                    for tail, weight in self.into[head]
                    if cost[tail] + weights.get((tail, head), weight) == cost[head]
                ]
                needed.update(result[head])
        return result

    def edits(self, edges: Iterable[Edge], hits: dict[Edge, list[int]]) -> list[SystemEdit]:
        """Return the edits of a path from left to right, without joined and single matches."""
        steps = []
        for tail, head in edges:
            if not is_match(self.arcs[head][tail]):
                begin, stop = self.graph.vertices[tail][1], self.graph.vertices[head][1]
                text = " ".join(self.lattice.hypothesis[begin:stop])
                steps.append((*self.span(tail, head), text, hits.get((tail, head), ())))
        return system_edits(steps)


def weigh_insertions(
    entries: Sequence[Edge],
    golds: Sequence[int],
    hits: dict[Edge, list[int]],
    weight: dict[Edge, float],
    values: tuple[float, float],
) -> None:
    """Assign the gold insertions at one place to arcs, alternately from the left and the right.

    One place can have several insertions, so a gold edit is used up once it is matched, and
    after a match only an arc that continues it is considered (release 3.2, set_weights).

    Args:
        entries: arcs at the place, sorted, each as often as it is listed.
        golds: numbers of the gold edits at the place.
        hits: gold edits that an arc equals.
        weight: weight of each arc; changed in place.
        values: weight of a matched arc, and the amount that a listing without a match adds.
    """
    matched, epsilon = values
    left, right = 0, len(entries) - 1
    low, high = 0, len(golds) - 1
    # The side changes after every arc without a match; a match stays on its side.
    place = left
    while left <= right:
        edge, at_left = entries[place], place == left
        order = range(low, high + 1) if at_left else range(high, low - 1, -1)
        taken = next((g for g in order if golds[g] in hits.get(edge, ())), None)
        if taken is None:
            weight[edge] += epsilon
            if at_left:
                left, place = left + 1, right
            else:
                right, place = right - 1, left
            continue
        # After a match the official scorer resumes only at an arc that continues it.
        weight[edge] = matched
        if at_left:
            low, left = taken + 1, left + 1
            while left < len(entries) and entries[left][0] != edge[1]:
                weight[entries[left]] += epsilon
                left += 1
            place = left
        else:
            high, right = taken - 1, right - 1
            while right >= 0 and entries[right][1] != edge[0]:
                weight[entries[right]] += epsilon
                right -= 1
            place = right


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

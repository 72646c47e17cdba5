"""A plain, slow re-implementation of m2scorer 3.2, for comparison with `maxmatch`.

Floyd-Warshall over all vertices and Bellman-Ford over all arcs, with the official floats. The
only differences: adjacency tables instead of failed look-ups, and Bellman-Ford stops after a round
without a change.
"""

from __future__ import annotations

INF = float("inf")
EPSILON = 0.001


def alignment(src, hyp, sub_cost, release):
    """Return all optimal edges: {(tail, head): (kind, start, end, old, new, same)}."""
    n, m = len(src), len(hyp)
    dist = [[0] * (m + 1) for _ in range(n + 1)]
    back = {}
    for i in range(1, n + 1):
        dist[i][0] = i
        back[i, 0] = {(i - 1, 0): ("del", i - 1, i, src[i - 1], "", 0)}
    for j in range(1, m + 1):
        dist[0][j] = j
        place = j - 1 if release else 0
        back[0, j] = {(0, j - 1): ("ins", place, place, "", hyp[j - 1], 0)}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = src[i - 1] == hyp[j - 1]
            diagonal = dist[i - 1][j - 1] + (0 if same else sub_cost)
            deletion, insertion = dist[i - 1][j] + 1, dist[i][j - 1] + 1
            dist[i][j] = least = min(diagonal, deletion, insertion)
            back[i, j] = options = {}
            if diagonal == least:
                kind = "noop" if same else "sub"
                edit = (kind, i - 1, i, src[i - 1], hyp[j - 1], int(same))
                options[i - 1, j - 1] = edit
            if deletion == least:
                options[i - 1, j] = ("del", i - 1, i, src[i - 1], "", 0)
            if insertion == least:
                options[i, j - 1] = ("ins", i, i, "", hyp[j - 1], 0)
    edges, seen, queue = {}, {(n, m)}, [(n, m)]
    while queue:
        head = queue.pop()
        for tail, edit in back.get(head, {}).items():
            edges[tail, head] = edit
            if tail not in seen:
                seen.add(tail)
                queue.append(tail)
    return seen, edges


def merge(one, two):
    """Join two adjacent edits."""
    old = " ".join(part for part in (one[3], two[3]) if part)
    new = " ".join(part for part in (one[4], two[4]) if part)
    kind = one[0] if one[0] == two[0] else "sub"
    return (kind, one[1], two[2], old, new, one[5] + two[5])


def graph(src, hyp, max_unchanged, release):
    """Return vertices, the arc list with repetitions, distances and edits."""
    v1, e1 = alignment(src, hyp, 1, release)
    v2, e2 = alignment(src, hyp, 2, release)
    vertices = sorted(v1 | v2)
    arcs = sorted(list(e1) + list(e2))
    edits = {**e2, **e1}
    dist = dict.fromkeys(edits, 1)
    tails, heads = {}, {}
    for tail, head in edits:
        tails.setdefault(head, set()).add(tail)
        heads.setdefault(tail, set()).add(head)
    for k in vertices:
        for i in sorted(tails.get(k, ())):
            for j in sorted(heads.get(k, ())):
                longer = dist[i, k] + dist[k, j]
                if longer < dist.get((i, j), INF):
                    joined = merge(edits[i, k], edits[k, j])
                    if joined[5] <= max_unchanged:
                        arcs.append((i, j))
                        dist[i, j] = longer
                        edits[i, j] = joined
                        tails.setdefault(j, set()).add(i)
                        heads.setdefault(i, set()).add(j)
    for edge in arcs:  # removing while walking, as the official code does
        if edits[edge][0] == "noop" and dist[edge] > 1:
            arcs.remove(edge)
            del dist[edge], edits[edge]
    return vertices, arcs, dist, edits


def agrees(edit, gold):
    """Return whether (start, end, old, new) is the gold edit (start, end, old, [new])."""
    return edit[:3] == gold[:3] and edit[3] in gold[3]


def weigh(arcs, dist, edits, golds):
    """Return the weights of all arcs for one annotator."""
    weight = dict(dist)
    places, gold_places = {}, {}
    for edge in arcs:
        places.setdefault(edits[edge][1:3], []).append(edge)
    for gold in golds:
        gold_places.setdefault(gold[:2], []).append(gold)
    for place, group in places.items():
        group.sort()
        here = gold_places.get(place, [])
        if place[0] != place[1]:
            for edge in group:
                if any(agrees(edits[edge][1:5], gold) for gold in here):
                    weight[edge] = -len(arcs)
                elif edits[edge][0] != "noop":
                    weight[edge] += EPSILON
            continue
        left, right, cur = 0, len(group) - 1, 0
        g_left, g_right = 0, len(here) - 1
        while left <= right:
            edge = group[cur]
            from_left = cur == left
            numbers = list(range(g_left, g_right + 1))
            for i in numbers if from_left else reversed(numbers):
                if agrees(edits[edge][1:5], here[i]):
                    weight[edge] = -len(arcs)
                    if from_left:
                        g_left = i + 1
                        left += 1
                        while left < len(group) and group[left][0] != edge[1]:
                            weight[group[left]] += EPSILON
                            left += 1
                        cur = left
                    else:
                        g_right = i - 1
                        right -= 1
                        while right >= 0 and group[right][1] != edge[0]:
                            weight[group[right]] += EPSILON
                            right -= 1
                        cur = right
                    break
            else:
                if edits[edge][0] != "noop":
                    weight[edge] += EPSILON
                if from_left:
                    left += 1
                    cur = right
                else:
                    right -= 1
                    cur = left
    return weight


def shortest(vertices, arcs, weight, edits):
    """Return the edits (start, end, old, new) on the Bellman-Ford path, left to right."""
    cost = dict.fromkeys(vertices, INF)
    cost[0, 0] = 0
    came = {}
    for _ in range(len(vertices) - 1):
        changed = False
        for tail, head in arcs:
            if cost[tail] + weight[tail, head] < cost[head]:
                cost[head] = cost[tail] + weight[tail, head]
                came[head] = tail
                changed = True
        if not changed:
            break
    path, head = [], vertices[-1]
    while head in came:
        edit = edits[came[head], head]
        if edit[0] != "noop":
            path.append(edit[1:5])
        head = came[head]
    return path[::-1]


def matched(path, golds):
    """Return the edits of the path that are gold edits, as the official matchSeq counts them."""
    result, start = [], 0
    for edit in path:
        for i in range(start, len(golds)):
            if agrees(edit, golds[i]):
                result.append(edit)
                start = i + 1
    return result


def official(src, hyp, annotators, max_unchanged=2, release=True):
    """Return [(correct, proposed, gold)] and paths; gold edits are (start, end, corrections)."""
    vertices, arcs, dist, edits = graph(src, hyp, max_unchanged, release)
    counts, paths = [], []
    for golds in annotators:
        full = [(s, e, " ".join(src[s:e]), list(c)) for s, e, c in golds]
        path = shortest(vertices, arcs, weigh(arcs, dist, edits, full), edits)
        counts.append((len(matched(path, full)), len(path), len(full)))
        paths.append(path)
    return counts, paths

"""ERRANT's alignment of very long sentences: exact in numpy, or in pieces if they are too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.extraction.merging import SPELLED
from gecjury.extraction.parsing import Operation, Parsed

# Most cells that are aligned exactly: about a second and 350 MB.
LARGEST = 9_000_000
# Most anti-diagonals of a matrix aligned exactly: about a second however short they are.
LONGEST = 50_000
# Most cells of one stretch that `align_coarsely` aligns exactly; the total of all stretches grows
# only with the length of the sentence.
_PIECE = 10_000

# Most cells of a plain alignment with unit costs: about a minute.
_LARGEST_PLAIN = 40_000_000_000

# Kinds of a cell; 2 and more is a transposition of that many tokens.
SUBSTITUTE, MATCH, INSERT, DELETE = 1, 0, -1, -2


def align_large(
    substitution: FloatArray, source: Parsed, corrected: Parsed, out: list[Operation]
) -> tuple[int, int]:
    """Align two sentences on the whole matrix.

    The cells of an anti-diagonal do not depend on each other and are computed at once, in the
    order of operations of the recursion, so that costs and ties are the same to the last bit.

    Args:
        substitution: result of `substitution_matrix`.
        corrected: the corrected sentence.
        out: receives the operations from the right.

    Returns:
        The cell where the walk back reaches the first row or column.
    """
    windows = _windows(source, corrected, substitution)
    # An anti-diagonal is stored by the row of its cells, so the rows should be the shorter side.
    swapped = len(source) > len(corrected)
    if swapped:
        substitution = np.ascontiguousarray(substitution.T)
        windows = None if windows is None else np.ascontiguousarray(windows.T)
    kinds = _kinds(substitution, windows, swapped)
    return walk_back(
        lambda i, j: int(kinds[i + j, j if swapped else i]), len(source), len(corrected), out
    )


def walk_back(
    kind_at: Callable[[int, int], int], i: int, j: int, out: list[Operation]
) -> tuple[int, int]:
    """Append the operations that led to a cell, from the right.

    Args:
        kind_at: the kind of a cell, by its row and column.
        i: row of the last cell.
        j: its column.
        out: receives the operations.

    Returns:
        The cell where the walk reaches the first row or column.
    """
    while i and j:
        kind = kind_at(i, j)
        if kind == DELETE:
            i -= 1
            out.append(("D", i, i + 1, j, j))
        elif kind == INSERT:
            j -= 1
            out.append(("I", i, i, j, j + 1))
        else:
            size = max(kind, 1)
            i, j = i - size, j - size
            if kind != MATCH:
                out.append(("T" if kind > 1 else "S", i, i + size, j, j + size))
    return i, j


def substitution_matrix(
    open_classes: frozenset[int], source: Parsed, corrected: Parsed
) -> FloatArray:
    """Return costs of all substitutions, −1 for equal tokens, padded by a first row and column.

    Args:
        open_classes: parts of speech between which a substitution costs 0.25.
        corrected: the corrected sentence.
    """
    between, left_ids, right_ids = distances(source.texts, corrected.texts)
    costs = np.zeros((len(source) + 1, len(corrected) + 1))
    lemmas = _numbers(source.lemmas, corrected.lemmas)
    lowers = _numbers(source.lowers, corrected.lowers)
    texts = _numbers(source.texts, corrected.texts)
    pos_left, pos_right = np.array(source.poses), np.array(corrected.poses)
    open_right = np.isin(pos_right, list(open_classes))
    for i in range(len(source)):
        pos_costs = np.where(open_right, 0.25, 0.5) if pos_left[i] in open_classes else 0.5
        row = np.where(lemmas[0][i] == lemmas[1], 0.0, 0.499)
        row += np.where(pos_left[i] == pos_right, 0.0, pos_costs)
        row += between[left_ids[i]][right_ids]
        row[lowers[0][i] == lowers[1]] = 0.0
        row[texts[0][i] == texts[1]] = -1.0
        costs[i + 1, 1:] = row
    return costs


def distances(left: Sequence[str], right: Sequence[str]) -> tuple[FloatArray, IntArray, IntArray]:
    """Return character distances of distinct tokens, and the row and column of each token."""
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cdist

    left_types, left_ids = _numbered(left)
    right_types, right_ids = _numbered(right)
    shown = ([token[:SPELLED] for token in tokens] for tokens in (left_types, right_types))
    table = cdist(*shown, scorer=Indel.normalized_distance, dtype=np.float64)
    return table, left_ids, right_ids


def _numbered(tokens: Sequence[str]) -> tuple[list[str], IntArray]:
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(token, len(numbers)) for token in tokens]
    return list(numbers), np.array(ids, dtype=np.int64)


def _numbers(left: Sequence[str], right: Sequence[str]) -> tuple[IntArray, IntArray]:
    _, ids = _numbered([*left, *right])
    return ids[: len(left)], ids[len(left) :]


def _windows(
    source: Parsed, corrected: Parsed, substitution: FloatArray
) -> NDArray[np.int32] | None:
    """Return the size of the smallest transposition that may end in each cell, 0 for none.

    The windows of two or more tokens before the cell contain the same words in another order
    exactly where the difference of the prefix sums (of the words' random marks) is the same at
    both ends; every cell of the diagonal between the ends must have unequal tokens.
    """
    if set(source.lowers).isdisjoint(corrected.lowers):
        return None
    rows, columns = len(source), len(corrected)
    left, right = np.zeros(rows + 1, np.int64), np.zeros(columns + 1, np.int64)
    left[1:] = np.cumsum(np.array(source.marks, dtype=np.int64))
    right[1:] = np.cumsum(np.array(corrected.marks, dtype=np.int64))
    windows = np.zeros(substitution.shape, np.int32)
    any_window = False
    for diagonal in range(-columns + 2, rows - 1):
        i = max(diagonal, 0)
        j = i - diagonal
        length = min(rows - i, columns - j) + 1
        sums = left[i : i + length] - right[j : j + length]
        order = np.argsort(sums, kind="stable")
        same = sums[order[1:]] == sums[order[:-1]]
        if not same.any():
            continue
        earlier = np.full(length, -1)
        earlier[order[1:][same]] = order[:-1][same]
        # After a word that differs only in case, the window is that of the place before it.
        single = 1 + np.flatnonzero(earlier[1:] == np.arange(length - 1))
        earlier[single] = earlier[single - 1].copy()
        equal = substitution[np.arange(i, i + length), np.arange(j, j + length)] < 0
        equal[0] = False
        matched = np.cumsum(equal)
        ends = np.flatnonzero((earlier >= 0) & ~equal)
        ends = ends[matched[ends] == matched[earlier[ends]]]
        if len(ends):
            any_window = True
            windows[i + ends, j + ends] = ends - earlier[ends]
    return windows if any_window else None


def _kinds(
    substitution: FloatArray, windows: NDArray[np.int32] | None, swapped: bool
) -> NDArray[np.int32]:
    """Run the recursion and return the kind of every cell (i, j) at [i + j, i].

    Args:
        substitution: costs of substitutions, rows × columns.
        windows: result of `_windows`.
        swapped: True if the rows are the corrected sentence's tokens.
    """
    rows, columns = substitution.shape[0] - 1, substitution.shape[1] - 1
    costs = np.zeros((rows + columns + 1, rows + 1))
    kinds = np.zeros(costs.shape, np.int32)
    flat = substitution.ravel()
    # Number of last steps along each diagonal in which the cost changed every time.
    changing = np.zeros(rows + columns + 1, np.int64)
    costs[0, 0] = 0.0
    for total in range(1, rows + columns + 1):
        if total <= columns:
            costs[total, 0] = total
        if total <= rows:
            costs[total, total] = total
        low, high = max(1, total - columns), min(rows, total - 1)
        if high < low:
            continue
        row, row_before = slice(low, high + 1), slice(low - 1, high)
        cost = flat[low * columns + total : high * columns + total + 1 : columns]
        diagonal = costs[total - 2, row_before]
        substituted = diagonal + cost
        left = costs[total - 1, row] + 1
        above = costs[total - 1, row_before] + 1
        inserted, deleted = (above, left) if swapped else (left, above)
        best = np.minimum(np.minimum(substituted, inserted), deleted)
        kind = np.where(best == substituted, SUBSTITUTE, DELETE)
        kind[(best == inserted) & (best != substituted)] = INSERT
        steps = changing[2 * low - total + columns : 2 * high - total + columns + 1 : 2]
        if windows is not None:
            sizes = windows.ravel()[low * columns + total : high * columns + total + 1 : columns]
            cells = np.flatnonzero((sizes > 0) & (steps >= sizes - 1))
            size = sizes[cells]
            moved = costs[total - 2 * size, low + cells - size] + (size - 1)
            wins = moved <= best[cells]
            best[cells[wins]] = moved[wins]
            kind[cells[wins]] = size[wins]
        equal = cost < 0
        best[equal] = diagonal[equal]
        kind[equal] = MATCH
        steps += 1
        steps[best == diagonal] = 0
        costs[total, row] = best
        kinds[total, row] = kind
    return kinds


def align_coarsely(
    align: Callable[[Parsed, Parsed], list[Operation]], source: Parsed, corrected: Parsed
) -> list[Operation]:
    """Align sentences too long for the whole matrix, between tokens that a plain alignment matches.

    Tokens that a Levenshtein alignment with unit costs matches stay unchanged. Short stretches
    between them are aligned exactly, long ones (and whole sentences of hundreds of thousands of
    tokens) token by token. The result may differ from ERRANT's, which would need hours and more
    memory than is available.

    Args:
        align: the exact alignment.
        corrected: the corrected sentence.

    Returns:
        The operations from left to right.
    """
    from rapidfuzz.distance import Levenshtein

    if len(source) * len(corrected) > _LARGEST_PLAIN:
        return _token_by_token(len(source), len(corrected))
    operations: list[Operation] = []
    left, right = _numbers(source.texts, corrected.texts)
    i = j = 0
    blocks = Levenshtein.opcodes(left.tolist(), right.tolist())
    stops: list[tuple[int, int, int, int]] = [
        (b.src_start, b.dest_start, b.src_end, b.dest_end) for b in blocks if b.tag == "equal"
    ]
    for stop_i, stop_j, next_i, next_j in [*stops, (len(source), len(corrected), 0, 0)]:
        if (stop_i - i) * (stop_j - j) <= _PIECE:
            pieces = align(source.part(i, stop_i), corrected.part(j, stop_j))
        else:
            pieces = _token_by_token(stop_i - i, stop_j - j)
        operations += [(k, a + i, b + i, c + j, d + j) for k, a, b, c, d in pieces]
        i, j = next_i, next_j
    return operations


def _token_by_token(rows: int, columns: int) -> list[Operation]:
    shared = min(rows, columns)
    operations: list[Any] = [("S", k, k + 1, k, k + 1) for k in range(shared)]
    operations += [("D", k, k + 1, shared, shared) for k in range(shared, rows)]
    operations += [("I", shared, shared, k, k + 1) for k in range(shared, columns)]
    return operations

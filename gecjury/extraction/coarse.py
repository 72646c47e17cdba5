"""The alignment of sentences that are too long for ERRANT's recursion, in pieces."""

from __future__ import annotations

from collections.abc import Callable

from gecjury.extraction.parsing import Operation, Parsed

# Most cells of one stretch that is aligned exactly; the total of all stretches grows only with the
# length of the sentence.
_PIECE = 10_000

# Most cells of a plain alignment with unit costs: about a minute.
_LARGEST_PLAIN = 40_000_000_000


def align_coarsely(
    align: Callable[[Parsed, Parsed], list[Operation]], source: Parsed, corrected: Parsed
) -> list[Operation]:
    """Align very long sentences between the tokens that a plain alignment matches.

    Tokens that a Levenshtein alignment with unit costs matches stay unchanged. Short stretches
    between them are aligned exactly, long ones (and whole sentences of hundreds of thousands of
    tokens) token by token. The result may differ from ERRANT's, which would need hours.

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
    i = j = 0
    blocks = Levenshtein.opcodes(source.texts, corrected.texts)
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
    operations: list[Operation] = [("S", k, k + 1, k, k + 1) for k in range(shared)]
    operations += [("D", k, k + 1, shared, shared) for k in range(shared, rows)]
    operations += [("I", shared, shared, k, k + 1) for k in range(shared, columns)]
    return operations

"""spaCy's arc-eager parser for many sentences at once, on arrays.

All sentences take their next transition together: the features of their states are gathered,
scored by one matrix product, and the transitions are applied with a few operations on arrays.
States with the same features are scored once. The rules are those of
`spacy/pipeline/_parser_internals` (`arc_eager.pyx`, `_state.pxd`, release 3.8), for documents
without preset annotation.

Scores differ from spaCy's in the last bits, so a sentence with a decision between two transitions
of almost the same score is marked as narrow and left to spaCy's own parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from gecjury.core.arrays import Float32Array, IntArray
from gecjury.extraction.tagger.windows import EncodedWindows, Parameters

# Moves, as spaCy numbers them, and what each does to the top of the stack and to the buffer.
_SHIFT, _REDUCE, _LEFT, _RIGHT, _BREAK = range(5)
_MOVES = ["S", "D", "L", "R", "B"]
_STACKED = np.array([1, -1, -1, 1, 0])
_TAKEN = np.array([1, 0, 0, 1, 0])
# Features of a state: the first two tokens of the buffer, the top three of the stack, the last
# child to the left of the buffer's first and of the stack's top, the latter's last to the right.
_LOOKS = 8
# Odd numbers whose sums of products identify states: two of 10^5 different states get the same
# number with a probability of 10^-9.
_RANDOM = Random(8)
_MIX = np.array([_RANDOM.getrandbits(63) | 1 for _ in range(_LOOKS + 1)])


class Parses(NamedTuple):
    """Trees of sentences, by places in the concatenated sentences (see `EncodedWindows`).

    Attributes:
        heads: place of each token's head; 0 for a root.
        moves: number of the transition that gave the head; it carries the label.
        margins: the least difference between the best and the second best score of all decisions
            that involve a token; infinite where only one transition was valid, NaN where a score
            was not a number.
    """

    heads: IntArray
    moves: IntArray
    margins: Float32Array


class Transitions:
    """An arc-eager parser built from the weights of a pipeline's parser."""

    def __init__(self, layers: Sequence[Parameters], names: Sequence[str]) -> None:
        """Take over a parser by the parameters of its model and the names of its transitions."""
        lower, upper, linear = layers
        self._linear = np.ascontiguousarray(linear["W"].T), linear["b"]
        weights, pad = lower["W"], lower["pad"][0]
        looks, width, pieces, _ = weights.shape
        self._width, self._pieces = width, pieces
        # For each feature, values are grouped by piece.
        self._lower = np.ascontiguousarray(
            weights.transpose(0, 2, 1, 3).reshape(looks * pieces * width, -1).T
        )
        self._pad = pad.transpose(0, 2, 1).reshape(-1)
        # Reused from call to call: new memory costs more than the computation itself.
        self._space = np.empty((0, len(self._pad)), np.float32)
        self._bias = np.ascontiguousarray(lower["b"].T).reshape(-1)
        self._upper = np.ascontiguousarray(upper["W"].T)
        parted = [name.partition("-") for name in names]
        self.labels = [label for _, _, label in parted]
        self._moves = np.array([_MOVES.index(move) for move, _, _ in parted])
        # The upper layer's bias where a transition is valid, minus infinity where it is not; one
        # row for each combination of what is valid: shift, reduce, arcs, break.
        of_move = np.array([1, 2, 4, 4, 8])[self._moves]
        valid = (np.arange(16)[:, None] & of_move) > 0
        self._allowed = np.where(valid, upper["b"], -np.inf).astype(np.float32)

    def parse(self, encoded: EncodedWindows) -> Parses:
        """Return the trees of sentences between which at least three places are free."""
        table = self._table(encoded.vectors)
        tokens = encoded.kinds >= 0
        size = len(tokens)
        # Row of the table for each place; place 0, a gap, means "no token".
        rows = np.where(tokens, encoded.rows, len(encoded.vectors)) * _LOOKS
        looks = np.arange(_LOOKS)[:, None]
        places = np.arange(size)
        buffer = np.where(tokens, places, 0)
        stack = np.zeros(size, np.int64)
        heads, moves = np.zeros(size, np.int64), np.zeros(size, np.int64)
        # The last child to the left and right, and the child to the right before a child.
        left, right, earlier = (np.zeros(size, np.int64) for _ in range(3))
        shifted, begins = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        begins[encoded.starts] = True
        margins = np.full(size, np.inf, np.float32)
        top, front = encoded.starts - 1, encoded.starts.copy()
        sums = np.empty((2, len(top), table.shape[1]), np.float32)
        while True:
            s0, b0 = stack[top], buffer[front]
            alive = np.flatnonzero(s0 | b0)
            if len(alive) < len(top):
                if not len(alive):
                    return Parses(heads, moves, margins)
                top, front, s0, b0 = top[alive], front[alive], s0[alive], b0[alive]
            s1, b1 = stack[top - 1], buffer[front + 1]
            seen = np.stack([b0, b1, s0, s1, stack[top - 2], left[b0], left[s0], right[s0]])
            seen = rows[seen] + looks
            filled, more, free = s0 > 0, b1 > 0, ~begins[b0]
            valid = (
                (~filled | (more & free & ~shifted[b0]))
                + 2 * filled
                + 4 * (filled & (b0 > 0) & free)
                + 8 * (more & (b1 == b0 + 1) & ~begins[b1])
            )
            alike = _MIX[:_LOOKS] @ seen + _MIX[_LOOKS] * valid
            _, firsts, inverse = np.unique(alike, return_index=True, return_inverse=True)
            best, margin = self._decide(table, seen[:, firsts], valid[firsts], sums)
            best, margin = best[inverse], margin[inverse]
            holder = np.maximum(s0, b0)
            margins[holder] = np.minimum(margins[holder], margin)

            move = self._moves[best]
            arc = np.flatnonzero(move == _LEFT)
            head, child = b0[arc], s0[arc]
            right[heads[child]] = earlier[child]
            left[head] = child
            heads[child], moves[child] = head, best[arc]
            shifted[head] = False
            arc = np.flatnonzero(move == _RIGHT)
            head, child = s0[arc], b0[arc]
            earlier[child], right[head] = right[head], child
            heads[child], moves[child] = head, best[arc]
            push = _TAKEN[move]
            pushed = np.flatnonzero(push)
            stack[top[pushed] + 1] = b0[pushed]
            # A token without a head that is not the last of the stack goes back to the buffer.
            back = np.flatnonzero((move == _REDUCE) & (heads[s0] == 0) & (s1 > 0))
            buffer[front[back] - 1] = s0[back]
            shifted[s0[back]] = True
            push[back] = -1
            begins[b1[move == _BREAK]] = True
            top = top + _STACKED[move]
            front = front + push

    def _table(self, vectors: Float32Array) -> Float32Array:
        """Return each vector's share of the hidden layer: (vectors + 1) · features × hidden.

        The last rows are for "no token".
        """
        weights, bias = self._linear
        count = len(vectors)
        if len(self._space) <= count:
            self._space = np.empty((count + count // 8 + 1, len(self._pad)), np.float32)
        sums = self._space[: count + 1]
        np.matmul(vectors @ weights + bias, self._lower, out=sums[:-1])
        sums[-1] = self._pad
        return sums.reshape(-1, self._width * self._pieces)

    def _decide(
        self, table: Float32Array, seen: IntArray, valid: IntArray, sums: Float32Array
    ) -> tuple[IntArray, Float32Array]:
        """Return the best valid transition of each state, and its margin."""
        count = len(valid)
        total, part = sums[0, :count], sums[1, :count]
        np.take(table, seen[0], axis=0, out=total, mode="clip")
        for look in seen[1:]:
            np.take(table, look, axis=0, out=part, mode="clip")
            total += part
        total += self._bias
        width = self._width
        hidden = np.maximum(total[:, :width], total[:, width : 2 * width])
        for piece in range(2, self._pieces):
            np.maximum(hidden, total[:, piece * width : (piece + 1) * width], out=hidden)
        scores = hidden @ self._upper
        scores += self._allowed[valid]
        best = scores.argmax(axis=1)
        states = np.arange(count)
        highest = scores[states, best]
        scores[states, best] = -np.inf
        margin = highest - scores.max(axis=1)
        if np.isnan(margin).any():
            # If scores are not numbers, take some valid transition, so that parsing ends.
            best = np.where(np.isnan(margin), self._allowed[valid].argmax(axis=1), best)
        return best, margin

"""The embedded tagger's vectors of tokens, computed once for all places with the same context.

A convolution of four layers sees four tokens on either side. Corrections repeat most of their
source, so a layer's value is computed once for all places with the same three values below it.

Matrix products are summed in another order than in the pipeline, which changes the last bits of a
vector. Narrow decisions based on these vectors must therefore be left to the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from gecjury.core.arrays import Float32Array, IntArray

# Rows of a matrix product at once, so that they are in the processor's cache for the next steps.
_ROWS = 1024
# Distinct tokens whose vectors are kept (400 bytes each); beyond that, all are dropped.
_KEPT = 100_000


Parameters = Mapping[str, Float32Array]
"""Arrays of one layer, by thinc's names."""


class EncodedWindows(NamedTuple):
    """Concatenated sentences, with gaps before, between and after them.

    Attributes:
        words: the distinct tokens.
        kinds: number of the distinct token at each place; -1 in a gap.
        starts: place of each sentence's first token.
        rows: row of `vectors` for each place.
        vectors: distinct vectors × width.
    """

    words: list[str]
    kinds: IntArray
    starts: IntArray
    rows: IntArray
    vectors: Float32Array


class Maxout:
    """A maxout layer followed by normalisation."""

    def __init__(self, maxout: Parameters, norm: Parameters) -> None:
        weights, bias = maxout["W"], maxout["b"]
        self._width, self._pieces = bias.shape
        # Values are grouped by piece, so that the maximum is taken over whole rows.
        self._weights = np.ascontiguousarray(
            weights.transpose(1, 0, 2).reshape(-1, weights.shape[2]).T
        )
        self._bias = np.ascontiguousarray(bias.T).reshape(-1)
        self._gain, self._shift = norm["G"], norm["b"]

    def __call__(self, columns: Float32Array) -> Float32Array:
        """Map rows × inputs to rows × width."""
        sums: Float32Array = columns @ self._weights
        sums += self._bias
        width = self._width
        best: Float32Array = np.maximum(sums[:, :width], sums[:, width : 2 * width])
        for piece in range(2, self._pieces):
            np.maximum(best, sums[:, piece * width : (piece + 1) * width], out=best)
        best -= best.mean(axis=1, keepdims=True)
        spread = np.einsum("ij,ij->i", best, best) / np.float32(width) + np.float32(1e-8)
        best *= (np.float32(1) / np.sqrt(spread))[:, None]
        best *= self._gain
        best += self._shift
        return best


class Windows:
    """An encoder that gives vectors of tokenised sentences."""

    def __init__(
        self, embed: Callable[[list[str]], Float32Array], layers: Sequence[Parameters]
    ) -> None:
        """Take over an encoder.

        Args:
            embed: returns the input of the convolution, tokens × width.
            layers: parameters of the convolution's maxout layers, each before its normalisation's.
        """
        self._embed = embed
        self._layers = [Maxout(*pair) for pair in zip(layers[::2], layers[1::2], strict=True)]
        self.gap = len(self._layers)
        self._known: dict[str, int] = {}
        self._table = np.zeros((1, len(layers[-1]["G"])), np.float32)

    def encode(self, sentences: Sequence[list[str]]) -> EncodedWindows:
        """Return the vectors of non-empty tokenised sentences."""
        words = list(dict.fromkeys(chain.from_iterable(sentences)))
        number_of = dict(zip(words, range(len(words)), strict=True)).__getitem__
        flat = [-1] * self.gap
        gap = flat.copy()
        starts: list[int] = []
        for sentence in sentences:
            starts.append(len(flat))
            flat += map(number_of, sentence)
            flat += gap
        kinds = np.array(flat, dtype=np.int64)
        values = np.concatenate([self._embedded(words), np.zeros_like(self._table[:1])])
        rows = np.where(kinds < 0, len(words), kinds)
        for layer in self._layers:
            values, rows = _convolve(layer, values, rows)
        return EncodedWindows(words, kinds, np.array(starts, dtype=np.int64), rows, values)

    def _embedded(self, words: list[str]) -> Float32Array:
        """Return the input of the convolution, tokens × width."""
        row_of = self._known
        if len(row_of) > _KEPT:
            row_of.clear()
            self._table = self._table[:0]
        if new := [word for word in words if word not in row_of]:
            vectors = self._embed(new)
            first = len(row_of)
            row_of.update((word, first + i) for i, word in enumerate(new))
            self._table = np.concatenate([self._table[:first], vectors])
        return self._table[[row_of[word] for word in words]]


def _convolve(layer: Maxout, values: Float32Array, rows: IntArray) -> tuple[Float32Array, IntArray]:
    """Compute one residual block with a window of one, once for each distinct window."""
    count = len(values)
    before = np.concatenate([rows[:1], rows[:-1]])
    after = np.concatenate([rows[1:], rows[-1:]])
    _, places, new = np.unique(
        (before * count + rows) * count + after, return_index=True, return_inverse=True
    )
    window = np.stack([before[places], rows[places], after[places]], axis=1)
    made = values[rows[places]]
    for begin in range(0, len(made), _ROWS):
        part = slice(begin, begin + _ROWS)
        made[part] += layer(values[window[part]].reshape(-1, 3 * values.shape[1]))
    return made, new.reshape(-1)

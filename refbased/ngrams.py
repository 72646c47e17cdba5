"""Counting n-grams shared by source, hypothesis and reference, for all sentences at once.

Every n-gram statistic of GREEN and GLEU follows from the sizes of seven multiset intersections,
so these are all that is counted. With s, r, h the multiplicities of an n-gram in source,
reference and hypothesis (Koyama et al. 2024, table 1):

    TK = min(s,r,h)                   OD = min(s,r) − TK           UD = min(s,h) − TK
    TI = min(r,h) − TK                OI = h − min(s,h) − TI       UI = r − min(s,r) − TI
    TD = s − min(s,r) − UD
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import Int32Array
from gecjury.corpus.corpus import Corpus
from gecjury.runtime import Runtime

Unit = Literal["word", "char", "line"]
"""Words; characters, those of white space at the ends left out; characters of the line as it is."""

UNITS: dict[str, Callable[[str], list[str]]] = {
    "word": str.split,
    "char": lambda text: list(text.strip()),
    "line": list,
}

# Tokens counted together: large enough that array work outweighs Python's, small enough that a
# million sentences need no more memory than a thousand.
_CHUNK_TOKENS = 1 << 18


@dataclass
class _Chunk:
    """A run of sentences, its texts end to end.

    Flat lists on purpose: a list for every text, kept until the run is counted, makes Python's
    garbage collector go over the whole corpus again and again.

    Attributes:
        start: the first sentence.
        tokens: of all texts: of each sentence source, references, then distinct hypotheses.
        lengths: tokens of each text. texts: texts of each sentence.
        slots: sentence by sentence, where each system's hypothesis stands among the distinct ones.
    """

    start: int
    tokens: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Overlaps:
    """Sizes of n-gram multiset intersections for S systems, N sentences, R references, n orders.

    Each array sums multiplicities over the n-grams of one order; letters name the texts
    intersected: s source, r reference, h hypothesis.

    Attributes:
        s: N × n. r: R × N × n. h: S × N × n.
        sr: R × N × n. sh: S × N × n.
        rh: S × N × R × n. srh: S × N × R × n.
        sh_not_r: S × N × R × n, min(s, h) over the n-grams that the reference lacks entirely;
            None unless asked for.
    """

    s: Int32Array
    r: Int32Array
    h: Int32Array
    sr: Int32Array
    sh: Int32Array
    rh: Int32Array
    srh: Int32Array
    sh_not_r: Int32Array | None


def count_overlaps(
    sources: Sequence[str],
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    order: int,
    unit: str = "word",
    *,
    absent: bool = False,
    advance: Callable[[float], None] = lambda steps: None,
) -> Overlaps:
    """Count n-gram overlaps of orders 1 to `order`.

    Args:
        sources: N sentences.
        hypotheses: S lists of N sentences.
        references: R lists of N sentences.
        order: longest n-gram.
        unit: `word` (tokens by any Unicode white space) or `char` (characters, inner spaces
            included, outer white space not), or `line` (outer white space, too).
        absent: also count `sh_not_r`.
        advance: told how many sentences are done.

    Returns:
        See `Overlaps`. Cost grows linearly with the text; equal hypotheses of a sentence are
        counted once.
    """
    count, systems, refs = len(sources), len(hypotheses), len(references)
    split = UNITS[unit]

    def zeros(*shape: int) -> Int32Array:
        return np.zeros((*shape, order), dtype=np.int32)

    # All arrays are made at once and filled in place: runs of sentences bound what else is held.
    result = Overlaps(
        zeros(count),
        zeros(refs, count),
        zeros(systems, count),
        zeros(refs, count),
        zeros(systems, count),
        zeros(systems, count, refs),
        zeros(systems, count, refs),
        zeros(systems, count, refs) if absent else None,
    )
    for chunk in _chunks(sources, hypotheses, references, split):
        _count_chunk(result, chunk, refs, order)
        advance(len(chunk.texts))
    return result


def corpus_overlaps(
    corpus: Corpus, order: int, unit: str, name: str, runtime: Runtime, *, absent: bool = False
) -> Overlaps:
    """Count the overlaps of a corpus for a metric, and tell how far the count is."""
    with runtime.progress.task(f"{name}: n-grams", len(corpus)) as bar:
        return count_overlaps(
            corpus.sources,
            [version.lines for version in corpus.systems.values()],
            [version.lines for version in corpus.references],
            order,
            unit,
            absent=absent,
            advance=bar.advance,
        )


def _chunks(
    sources: Sequence[str],
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    split: Callable[[str], list[str]],
) -> Iterator[_Chunk]:
    """Cut the corpus into runs of sentences."""
    chunk = _Chunk(0)
    for row, source in enumerate(sources):
        places: dict[str, int] = {}
        chunk.slots += [places.setdefault(h[row], len(places)) for h in hypotheses]
        texts = [source, *(r[row] for r in references), *places]
        chunk.texts.append(len(texts))
        for text in texts:
            tokens = split(text)
            chunk.lengths.append(len(tokens))
            chunk.tokens += tokens
        if len(chunk.tokens) >= _CHUNK_TOKENS:
            yield chunk
            chunk = _Chunk(row + 1)
    if chunk.texts:
        yield chunk


def _count_chunk(
    result: Overlaps,
    chunk: _Chunk,
    refs: int,
    order: int,
) -> None:
    """Fill in the counts of a run of sentences.

    An n-gram of a sentence gets the number of its distinct (n−1)-gram and last token, so numbers
    stay dense and exact for any order, and those of one sentence stay together.
    """
    per_row, lengths = np.array(chunk.texts), np.array(chunk.lengths)
    rows = range(chunk.start, chunk.start + len(per_row))
    slots = np.array(chunk.slots, dtype=np.int64).reshape(len(per_row), -1)
    # Its own length as factory would do as well, but tie the vocabulary to itself: it would wait
    # for the garbage collector.
    vocabulary: defaultdict[str, int] = defaultdict(numbers().__next__)
    total = len(chunk.tokens)
    tokens = np.fromiter(map(vocabulary.__getitem__, chunk.tokens), np.int64, total)
    text_row = np.repeat(np.arange(len(per_row)), per_row)
    text_slot = np.arange(len(lengths)) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    slot = np.repeat(text_slot, lengths)
    # How many tokens of the same text follow each token, itself included.
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(total)
    code = np.repeat(text_row, lengths) * len(vocabulary) + tokens
    width = int(per_row.max())
    unigram, unigrams = np.empty(0, dtype=np.int64), 0
    grams = np.empty(0, dtype=np.int64)
    row_of = np.empty(0, dtype=np.int64)
    position = np.arange(total)
    for n in range(order):
        if n:
            keep = left[position] > n
            position, grams = position[keep], grams[keep]
            code = grams * unigrams + unigram[position + n]
        distinct, grams = np.unique(code, return_inverse=True)
        if not len(distinct):
            return
        if n == 0:
            row_of = distinct // len(vocabulary)
            unigram, unigrams = grams, len(distinct)
        else:
            row_of = row_of[distinct // unigrams]
        table = np.bincount(grams * width + slot[position], minlength=len(distinct) * width)
        counts = table.reshape(len(distinct), width).astype(np.int32)
        _sum_rows(result, rows, counts, row_of, slots, refs, n)


def _sum_rows(
    result: Overlaps,
    rows: range,
    counts: Int32Array,
    row_of: NDArray[np.int64],
    slots: NDArray[np.int64],
    refs: int,
    n: int,
) -> None:
    """Sum the minima of one order over the n-grams of each sentence.

    `counts` holds distinct n-grams × texts; `row_of` tells, ascending, whose they are.
    """
    starts = np.flatnonzero(np.r_[True, row_of[1:] != row_of[:-1]])
    local = row_of[starts]
    at = local + rows.start

    def total(values: Int32Array) -> Int32Array:
        sums: Any = np.add.reduceat(values, starts, axis=0, dtype=np.int32)
        return sums  # type: ignore[no-any-return]

    # Each system's hypothesis of each sentence, among the sentence's distinct ones.
    chosen = slots[local].T
    line = np.arange(len(local))

    def spread(values: Int32Array) -> Int32Array:
        return total(values)[line, chosen]

    source, hypotheses = counts[:, 0], counts[:, 1 + refs :]
    shared = np.minimum(hypotheses, source[:, None])
    result.s[at, n] = total(source)
    result.h[:, at, n] = spread(hypotheses)
    result.sh[:, at, n] = spread(shared)
    for index in range(refs):
        reference = counts[:, 1 + index]
        result.r[index, at, n] = total(reference)
        result.sr[index, at, n] = total(np.minimum(source, reference))
        result.rh[:, at, index, n] = spread(np.minimum(hypotheses, reference[:, None]))
        result.srh[:, at, index, n] = spread(np.minimum(shared, reference[:, None]))
        if result.sh_not_r is not None:
            lacking = shared * (reference == 0)[:, None].astype(np.int32)
            result.sh_not_r[:, at, index, n] = spread(lacking)

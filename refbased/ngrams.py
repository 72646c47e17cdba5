"""Counting n-grams shared by source, hypothesis and reference, for all sentences at once.

Every n-gram statistic of GREEN and GLEU follows from the sizes of seven multiset intersections,
so only these are counted. With s, r, h the multiplicities of an n-gram in source,
reference and hypothesis (Koyama et al. 2024, table 1):

    TK = min(s,r,h)                   OD = min(s,r) − TK           UD = min(s,h) − TK
    TI = min(r,h) − TK                OI = h − min(s,h) − TI       UI = r − min(s,r) − TI
    TD = s − min(s,r) − UD
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

import numpy as np

from gecjury.core.arrays import Int32Array, IntArray, UInt64Array
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus

Unit = Literal["word", "char", "line"]
"""Words; characters without white space at the ends of a text; all characters of the line."""

# Tokens counted together (the number of words is estimated from the characters): large enough that
# array work outweighs Python's, small enough that a million sentences need no more memory than a
# thousand.
_CHUNK_TOKENS = 1 << 16
_WORD = 5  # estimated characters per word
_KEPT = 31 << 20  # bytes of the largest block that glibc learns from; it ignores 32 MB or more
# Up to this many possible codes are looked up in a table (64 MB).
_CELLS = 1 << 24
# Bits set in the bytes after the end of a word within a group of eight, by the number of its bytes
# in the group: UTF-8 has no byte of ones only, so words that contain zero bytes stay distinct, too.
_PADDING = np.array([2**64 - 2 ** (8 * size) for size in range(9)], np.uint64)
_NUMBERED = 0xFEFEFEFEFEFEFEFE  # not UTF-8 either: second key of a word whose first is a number
# Odd factors, which spread keys over the table. They are drawn anew by each process, so that nobody
# can write a text whose words all fall on one cell.
_FACTORS = np.frombuffer(os.urandom(24), np.uint64) | np.uint64(1)


@dataclass(frozen=True)
class _SentenceRun:
    """A run of sentences.

    Attributes:
        start: the first sentence.
        texts: source, references and distinct hypotheses of each sentence, in this order.
        per_row: number of texts of each sentence.
        slots: systems × sentences, index of each system's hypothesis among the distinct ones.
    """

    start: int
    texts: list[str]
    per_row: IntArray
    slots: IntArray


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
            None unless requested.
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
        unit: `word` (tokens between any Unicode white space), `char` (characters with inner spaces
            but without outer white space), or `line` (characters with outer white space).
        absent: also count `sh_not_r`.
        advance: called with the number of sentences done since the last call.

    Returns:
        See `Overlaps`. Cost grows linearly with the text; equal hypotheses of a sentence are
        counted once.
    """
    count, systems, refs = len(sources), len(hypotheses), len(references)

    def zeros(*shape: int) -> Int32Array:
        return np.zeros((*shape, order), dtype=np.int32)

    # All arrays are allocated at once and filled in place; other memory is bounded by the chunks.
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
    # After freeing a block of some size, glibc keeps as much freed memory for the next request.
    # Otherwise it would request the same pages from the system for every chunk, which takes time.
    np.empty(_KEPT, np.uint8)
    table = _CodeTable()
    most = _CHUNK_TOKENS * (_WORD if unit == "word" else 1)
    for chunk in _chunks(sources, hypotheses, references, most):
        _count_chunk(result, chunk, refs, order, unit, table)
        advance(len(chunk.per_row))
    return result


def corpus_overlaps(
    corpus: Corpus, order: int, unit: str, name: str, runtime: Runtime, *, absent: bool = False
) -> Overlaps:
    """Count the overlaps of a corpus for a metric, and report the progress.

    Characters are those of the texts as they were written, without blanks from tokenisation.
    """
    if unit != "word":
        corpus = corpus.as_text()
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
    most: int,
) -> Iterator[_SentenceRun]:
    """Cut the corpus into runs of sentences of about `most` characters."""
    columns = [sources, *references, *hypotheses]
    sizes = sum(np.fromiter(map(len, column), np.int64, len(column)) for column in columns)
    ends = np.cumsum(sizes)
    others, systems, start = 1 + len(references), len(hypotheses), 0
    while start < len(sources):
        before = ends[start - 1] if start else 0
        # The sentence that fills a run ends it.
        stop = int(np.searchsorted(ends, before + most)) + 1
        rows = list(zip(*(column[start:stop] for column in columns), strict=True))
        if systems < 2:
            texts = list(chain.from_iterable(rows))
            per_row = np.full(len(rows), others + systems)
            slots = np.zeros((systems, len(rows)), np.int64)
        else:
            # Systems often give a sentence the same correction, which is then counted once.
            texts, numbers, counts = [], [], []
            for row in rows:
                places = {text: place for place, text in enumerate(dict.fromkeys(row[others:]))}
                texts += row[:others]
                texts += places
                numbers += [places[text] for text in row[others:]]
                counts.append(others + len(places))
            per_row = np.array(counts)
            slots = np.array(numbers).reshape(len(rows), systems).T
        yield _SentenceRun(start, texts, per_row, slots)
        start = stop


def _tokens(texts: Sequence[str], unit: str) -> tuple[UInt64Array, IntArray]:
    """Return keys of all tokens, keys × tokens, and the number of tokens of each text."""
    if unit == "word":
        return _words([t if t.isascii() and "\n" not in t else " ".join(t.split()) for t in texts])
    if unit == "char":
        texts = [text.strip() for text in texts]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    return codes[None].astype(np.uint64), np.fromiter(map(len, texts), np.int64, len(texts))


def _words(texts: Sequence[str]) -> tuple[UInt64Array, IntArray]:
    """Return `_tokens` of lines whose white space is ASCII.

    The keys of a word are its bytes, eight at a time, which takes no string for each word. The few
    words of more than 16 bytes are numbered one by one.
    """
    data = ("\n" + "\n".join(texts) + " " * 16).encode("utf-8", "surrogatepass")
    letters = np.frombuffer(data, np.uint8)
    line_ends = np.flatnonzero(letters == 10)
    # 9 to 13 and 28 to 32: smaller codes wrap around to larger ones.
    white = (letters - np.uint8(9) < 5) | (letters - np.uint8(28) < 5)
    edges = np.flatnonzero(white[1:] != white[:-1]) + 1
    starts, sizes = edges[::2], edges[1::2] - edges[::2]
    eights = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))  # from each byte on
    keys = np.full((2, len(starts)), _PADDING[0])
    keys[0] = eights[starts] | _PADDING.take(sizes, mode="clip")
    longer = np.flatnonzero(sizes > 8)
    keys[1, longer] = eights[starts[longer] + 8] | _PADDING.take(sizes[longer] - 8, mode="clip")
    numbers: dict[bytes, int] = {}
    for word in longer[sizes[longer] > 16].tolist():
        text = data[starts[word] : starts[word] + sizes[word]]
        keys[:, word] = numbers.setdefault(text, len(numbers)), _NUMBERED
    return keys, np.diff(starts.searchsorted(line_ends), append=len(starts))


def _count_chunk(
    result: Overlaps, chunk: _SentenceRun, refs: int, order: int, unit: str, table: _CodeTable
) -> None:
    """Fill in the counts of a run of sentences.

    The n-grams of a sentence are numbered by their (n−1)-gram and last token, so numbers stay dense
    and exact for any order, and those of one sentence stay together.
    """
    per_row, texts = chunk.per_row, chunk.texts
    keys, lengths = _tokens(texts, unit)
    count, width = len(per_row), int(per_row.max())
    first_text = np.cumsum(per_row) - per_row
    # A text's number of n-grams follows from its length.
    sizes = np.maximum(lengths[:, None] - np.arange(order), 0)

    row_of_text = np.repeat(np.arange(count), per_row)
    row = np.repeat(row_of_text, lengths)
    slot = np.repeat(np.arange(len(lengths)) - first_text[row_of_text], lengths)
    ends = np.cumsum(lengths)
    row_starts = np.append((ends - lengths)[first_text], ends[-1])
    # No count exceeds the length of a text: the smallest numbers that hold it are the fastest.
    small = np.min_scalar_type(int(lengths.max()))
    # Tokens that begin no n-gram of the order, since their text ends before. Removing them from all
    # arrays would cost more than counting them for a text that does not exist (slot `width`). They
    # get the number of an n-gram of their own sentence, so that its numbers stay together.
    late = np.empty(0, dtype=np.int64)
    grams, firsts = table.numbered(np.vstack([keys, row.view(np.uint64)]))
    filled = np.flatnonzero(np.add.reduceat(lengths, first_text))
    chosen, column = chunk.slots[:, filled], np.arange(len(filled))
    kinds = last = distinct_of = np.empty(0, dtype=np.int64)
    for n in range(order if len(grams) else 0):
        if n:
            # Codes of n-grams that begin with the same (n−1)-gram are adjacent.
            spans = np.repeat(kinds, distinct_of)
            code_ends = np.cumsum(spans)
            begin = code_ends - spans
            code = begin.take(grams)
            code[:-n] += last[n:]
            ending = (ends - n)[lengths >= n]
            late = np.concatenate([late, ending])
            code[late] = begin[grams[late]]
            slot[ending] = width
            grams, firsts = table.numbered(code[None].view(np.uint64), int(code_ends[-1]))
        # Where the distinct n-grams of each sentence begin, and how many there are.
        distinct = len(firsts)
        begin_of = firsts.searchsorted(row_starts)
        distinct_of = begin_of[1:] - begin_of[:-1]
        if n == 0:
            kinds, last = distinct_of, grams - begin_of.take(row)
        counts = np.bincount(slot * distinct + grams, minlength=(width + 1) * distinct)
        by_text = counts[: width * distinct].reshape(width, distinct).astype(small)
        sr, sh, *by_pair = (
            np.add.reduceat(least, begin_of[filled], axis=-1, dtype=small)
            for least in _minima(by_text, refs, absent=result.sh_not_r is not None)
        )
        places = chunk.start + filled
        result.sr[:, places, n] = sr
        result.sh[:, places, n] = sh[chosen, column]
        for array, sums in zip((result.rh, result.srh, result.sh_not_r), by_pair, strict=False):
            assert array is not None  # `_minima` yields nothing for a missing array
            array[..., n][:, places] = sums[:, chosen, column].transpose(1, 2, 0)

    rows = slice(chunk.start, chunk.start + count)
    result.s[rows] = sizes[first_text]
    result.h[:, rows] = sizes[first_text + 1 + refs + chunk.slots]
    for index in range(refs):
        result.r[index, rows] = sizes[first_text + 1 + index]


def _minima(counts: Int32Array, refs: int, *, absent: bool) -> Iterator[Int32Array]:
    """Yield the least count of each n-gram among the texts of each intersection.

    Args:
        counts: texts (source, R references, H hypotheses) × n-grams.
        refs: R.
        absent: also of source and hypothesis where the reference lacks the n-gram.

    Yields:
        Source and reference, R × n-grams; source and hypothesis, H × n-grams; reference and
        hypothesis, R × H × n-grams; all three, and `absent`, of the same shape.
    """
    source, references, hypotheses = counts[0], counts[1 : 1 + refs, None], counts[1 + refs :]
    shared = np.minimum(hypotheses, source)
    yield np.minimum(counts[1 : 1 + refs], source)
    yield shared
    yield np.minimum(references, hypotheses)
    yield np.minimum(references, shared)
    if absent:
        yield (references == 0) * shared


@dataclass
class _CodeTable:
    """A table for looking up codes, whose memory is reused from run to run."""

    cells: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))

    def numbered(self, keys: UInt64Array, size: int = 0) -> tuple[IntArray, IntArray]:
        """Number the distinct elements, in the order of the place of one of each.

        If the equal elements of a sentence are adjacent, so are their numbers.

        Args:
            keys: keys × elements, which are equal if all their keys are.
            size: the only key is below it; 0 if it may be any, or one of several.

        Returns:
            The number of each element, and the place of one element of each number.
        """
        rest = np.arange(keys.shape[1])
        places, some, direct = np.empty_like(rest), keys, 0 < size <= max(_CELLS, len(rest))
        bits = min(max(18, len(rest).bit_length() + 2), 24)
        if (cells := size if direct else 1 << bits) > len(self.cells):
            self.cells = np.empty(cells, np.int32)
        while len(rest):
            code = some[0]
            if not direct:
                mixed = np.bitwise_xor.reduce(some * _FACTORS[: len(some), None])
                code = mixed * _FACTORS[0] >> np.uint64(64 - bits)
            # A cell keeps one of its elements; cells that were not written are never read.
            cell = code.view(np.int64)
            self.cells[cell] = rest
            places[rest] = kept = self.cells.take(cell).astype(np.int64)
            if direct:
                break
            # Elements that differ from the one in their cell are tried again.
            rest = rest[(keys.take(kept, axis=1) != some).any(axis=0)]
            some = keys.take(rest, axis=1)
        firsts = np.flatnonzero(places == np.arange(len(places)))
        ranks = np.empty(len(places), np.int64)
        ranks[firsts] = np.arange(len(firsts))
        return ranks.take(places), firsts

"""Counting n-grams shared by source, hypothesis and reference, for all sentences at once.

Every n-gram statistic of GREEN and GLEU follows from the sizes of seven multiset intersections,
so these are all that is counted. With s, r, h the multiplicities of an n-gram in source,
reference and hypothesis (Koyama et al. 2024, table 1):

    TK = min(s,r,h)                   OD = min(s,r) − TK           UD = min(s,h) − TK
    TI = min(r,h) − TK                OI = h − min(s,h) − TI       UI = r − min(s,r) − TI
    TD = s − min(s,r) − UD
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gecjury.arrays import Int32Array, IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.runtime import Runtime

Unit = Literal["word", "char", "line"]
"""Words; characters, those of white space at the ends left out; characters of the line as it is."""

# Tokens counted together, of words by a guess from the characters: large enough that array work
# outweighs Python's, small enough that a million sentences need no more memory than a thousand.
_CHUNK_TOKENS = 1 << 15
_WORD = 5  # characters of a word
# Possible codes up to which they are looked up in a table (64 MB); more are sorted.
_CELLS = 1 << 24
_CHARACTERS = 0x110000  # that there are in Unicode

# Bytes after the end of a word within eight of it, by the number of its bytes there: ones, which no
# byte of UTF-8 consists of, so that words with zeros in them are told apart as well.
_PADDING = np.array([2**64 - 2 ** (8 * size) for size in range(9)], np.uint64)
_MIXED = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd, of random bits
_NUMBERED = np.uint64(
    0xFEFEFEFEFEFEFEFE
)  # no UTF-8 either: stands beside the number of a long word


@dataclass
class _Chunk:
    """A run of sentences.

    Attributes:
        start: the first sentence.
        texts: of each sentence source, references, then distinct hypotheses.
        per_row: number of texts of each sentence.
        slots: sentence by sentence, where each system's hypothesis stands among the distinct ones.
    """

    start: int
    texts: list[str] = field(default_factory=list)
    per_row: list[int] = field(default_factory=list)
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
    table = _Table()
    most = _CHUNK_TOKENS * (_WORD if unit == "word" else 1)
    for chunk in _chunks(sources, hypotheses, references, most):
        _count_chunk(result, chunk, refs, order, unit, table)
        advance(len(chunk.per_row))
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
    most: int,
) -> Iterator[_Chunk]:
    """Cut the corpus into runs of sentences of about `most` characters."""
    chunk, size = _Chunk(0), 0
    others = len(references) + 1
    for row, texts in enumerate(zip(sources, *references, *hypotheses, strict=True)):
        places = dict.fromkeys(texts[others:])
        chunk.texts += texts[:others]
        chunk.texts += places
        if len(places) == len(hypotheses):
            chunk.slots += range(len(places))
        else:
            place_of = {text: place for place, text in enumerate(places)}
            chunk.slots += [place_of[text] for text in texts[others:]]
        chunk.per_row.append(others + len(places))
        size += sum(map(len, texts))
        if size >= most:
            yield chunk
            chunk, size = _Chunk(row + 1), 0
    if chunk.texts:
        yield chunk


def _words(texts: Sequence[str], table: _Table) -> tuple[IntArray, IntArray]:
    """Return the number of each word, equal ones alike, and how many words each text has.

    Words are what `str.split` gives. Their bytes are compared eight at a time, as no string is made
    of them; the few of more than 16 bytes, and those that share a place in the table of others, are
    numbered one by one.
    """
    joined = "\n".join(texts)
    # White space outside ASCII becomes blanks, so that bytes tell what parts words, and so do line
    # ends within texts, so that the others part texts.
    if not joined.isascii():
        texts = [text if text.isascii() else " ".join(text.split()) for text in texts]
        joined = "\n".join(texts)
    if joined.count("\n") >= len(texts):
        joined = "\n".join([" ".join(text.split()) for text in texts])
    data = b"\n%b\n%b" % (joined.encode("utf-8", "surrogatepass"), bytes(16))
    letters = np.frombuffer(data, np.uint8)[:-16]
    white = (letters == 32) | ((letters >= 9) & (letters <= 13))
    white |= (letters >= 28) & (letters <= 31)
    parts = np.flatnonzero(white)
    gaps = np.diff(parts)
    ended = np.flatnonzero(gaps > 1)
    sizes, starts = gaps[ended] - 1, parts[ended] + 1
    begins = parts[letters[parts] == 10] + 1
    lengths = np.diff(np.searchsorted(starts, begins))

    # Eight bytes from every byte on.
    eights = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    first = eights[starts] | _PADDING[np.minimum(sizes, 8)]
    second = np.full(len(first), _PADDING[0])
    longer = np.flatnonzero(sizes > 8)
    second[longer] = eights[starts[longer] + 8] | _PADDING[np.minimum(sizes[longer] - 8, 8)]
    numbers: dict[bytes | tuple[int, int], int] = {}
    for word in longer[sizes[longer] > 16].tolist():
        start = int(starts[word])
        first[word] = numbers.setdefault(data[start : start + int(sizes[word])], len(numbers))
        second[word] = _NUMBERED
    # With sixteen times as many places as words, few meet another there.
    bits = max(18, len(first).bit_length() + 4)
    mixed = (first ^ second * _MIXED[1]) * _MIXED[0] >> np.uint64(64 - bits)
    tokens, kept = table.numbered(mixed.astype(np.int64), 1 << bits)
    theirs = kept[tokens]
    for word in np.flatnonzero((first != first[theirs]) | (second != second[theirs])).tolist():
        pair = int(first[word]), int(second[word])
        tokens[word] = len(kept) + numbers.setdefault(pair, len(numbers))
    return tokens, lengths


def _characters(texts: Sequence[str], table: _Table) -> tuple[IntArray, IntArray]:
    """Return the number of each character, equal ones alike, and how many each text has."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    tokens, _ = table.numbered(codes.astype(np.int64), _CHARACTERS)
    return tokens, np.array([len(text) for text in texts])


def _count_chunk(
    result: Overlaps, chunk: _Chunk, refs: int, order: int, unit: str, table: _Table
) -> None:
    """Fill in the counts of a run of sentences.

    An n-gram of a sentence gets the number of its distinct (n−1)-gram and last token, so numbers
    stay dense and exact for any order, and those of one sentence stay together.
    """
    per_row, texts = np.array(chunk.per_row), chunk.texts
    if unit == "word":
        tokens, lengths = _words(texts, table)
    else:
        stripped = [text.strip() for text in texts] if unit == "char" else texts
        tokens, lengths = _characters(stripped, table)
    vocabulary = int(tokens.max(initial=-1)) + 1
    count, width = len(per_row), int(per_row.max())
    first_text = np.cumsum(per_row) - per_row
    slots = np.array(chunk.slots, dtype=np.int64).reshape(count, -1).T
    # A text's number of n-grams follows from its length.
    sizes = np.maximum(lengths[:, None] - np.arange(order), 0)
    absent = result.sh_not_r is not None
    # Order × intersections of `_minima` × sentences.
    intersections = _minima(np.zeros((width, 1), np.int32), refs, absent=absent)
    sums = np.zeros((order, len(intersections), count), np.int32)
    if not absent:
        tokens, lengths, cut = _trimmed(tokens, lengths, per_row, order)
        sums += cut.astype(np.int32)

    row_of_text = np.repeat(np.arange(count), per_row)
    row = np.repeat(row_of_text, lengths)
    slot = np.repeat(np.arange(len(lengths)) - first_text[row_of_text], lengths)
    position = np.arange(len(tokens))
    # How many tokens of the same text follow each token, itself included.
    left = np.repeat(np.cumsum(lengths), lengths) - position
    code, size = row * vocabulary + tokens, count * vocabulary
    # Of the unigrams: how many distinct ones each sentence has, and which of them each token is.
    kinds = last = grams = row_of = np.empty(0, dtype=np.int64)
    for n in range(order):
        if n:
            keep = np.flatnonzero(left > n)
            position, grams, left, slot = position[keep], grams[keep], left[keep], slot[keep]
            # Codes of the n-grams that begin with the same (n−1)-gram lie side by side.
            spans = kinds[row_of]
            ends = np.cumsum(spans)
            code, size = (ends - spans)[grams] + last[position + n], int(ends[-1])
        if not len(code):
            break
        grams, firsts = table.numbered(code, size)
        row_of = row[position[firsts]]
        # How many distinct n-grams each sentence has, and where they begin.
        distinct_of = np.bincount(row_of, minlength=count)
        begin_of = np.cumsum(distinct_of) - distinct_of
        if n == 0:
            kinds, last = distinct_of, grams - begin_of[row]
        distinct = len(firsts)
        counts = np.bincount(slot * distinct + grams, minlength=distinct * width)
        minima = _minima(counts.reshape(width, distinct).astype(np.int32), refs, absent=absent)
        filled = np.flatnonzero(distinct_of)
        sums[n][:, filled] += np.add.reduceat(minima, begin_of[filled], axis=1, dtype=np.int32)

    rows, line = slice(chunk.start, chunk.start + count), np.arange(count)
    by_text, by_pair = sums.transpose(1, 2, 0), width - 1
    result.s[rows] = sizes[first_text]
    result.h[:, rows] = sizes[first_text + 1 + refs + slots]
    result.sh[:, rows] = by_text[refs + slots, line]
    result.sr[:, rows] = by_text[:refs]
    pairs = [array for array in (result.rh, result.srh, result.sh_not_r) if array is not None]
    for index in range(refs):
        result.r[index, rows] = sizes[first_text + 1 + index]
        for number, array in enumerate(pairs):
            block = by_pair + (number * refs + index) * (width - 1 - refs)
            array[:, rows, index] = by_text[block + slots, line]


def _minima(counts: Int32Array, refs: int, *, absent: bool) -> Int32Array:
    """Return the least count of each n-gram among the texts of each intersection.

    Args:
        counts: texts (source, R references, H hypotheses) × n-grams.
        refs: R.
        absent: also of source and hypothesis where the reference lacks the n-gram.

    Returns:
        Intersections × n-grams: R of source and reference, H of source and hypothesis; then, by
        reference and hypothesis, R · H of those two, as many of all three, and of `absent`.
    """
    source, references, hypotheses = counts[0], counts[1 : 1 + refs, None], counts[1 + refs :]
    shared = np.minimum(hypotheses, source)
    parts = [
        np.minimum(references, source),
        shared,
        np.minimum(references, hypotheses),
        np.minimum(references, shared),
    ]
    if absent:
        parts.append((references == 0) * shared)
    return np.concatenate([part.reshape(-1, counts.shape[1]) for part in parts])


def _trimmed(
    tokens: IntArray, lengths: IntArray, per_row: IntArray, order: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Cut off the n-grams with which all texts of a sentence begin or end.

    min(a + c, b + c) = min(a, b) + c: n-grams that every text has at the same place from either
    end add to each intersection what they add to each text. `order` − 1 tokens stay on both sides,
    as the n-grams that reach into what differs need them.

    Returns:
        The tokens left, those of each text, and how many n-grams of every order were cut off each
        text of a sentence.
    """
    first_text = np.cumsum(per_row) - per_row
    source, row_of = np.repeat(first_text, per_row), np.repeat(np.arange(len(per_row)), per_row)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    place = np.arange(len(tokens))
    filled = np.flatnonzero(np.add.reduceat(lengths, first_text))
    uncut = np.minimum.reduceat(lengths, first_text)
    cuts = []
    for edges, step in ((begins, 1), (ends - 1, -1)):
        distance = place - np.repeat(edges, lengths)
        # Beyond the source's other end a token meets a foreign one, farther than any cut reaches.
        opposite = tokens[distance + np.repeat(edges[source], lengths)]
        differing = np.where(tokens == opposite, len(tokens), step * distance)
        shared = uncut.copy()
        nearest = np.minimum.reduceat(differing, begins[first_text[filled]])
        shared[filled] = np.minimum(nearest, uncut[filled])
        uncut -= shared
        cuts.append(np.maximum(shared - (order - 1), 0))
    cut = cuts[0] + cuts[1]
    left = lengths - cut[row_of]
    moved = begins + cuts[0][row_of] - (np.cumsum(left) - left)
    return tokens[np.arange(left.sum()) + np.repeat(moved, left)], left, cut


@dataclass
class _Table:
    """Memory that codes are looked up in, kept from run to run."""

    cells: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))

    def numbered(self, codes: IntArray, size: int) -> tuple[IntArray, IntArray]:
        """Number the distinct codes in the order in which one of each stands among them.

        Args:
            codes: from 0 to `size`, exclusive.
            size: number of possible codes.

        Returns:
            The number of each code, and the place of one code of each number, ascending.
        """
        if size > max(_CELLS, len(codes)):
            codes = np.unique(codes, return_inverse=True)[1]
            size = len(codes)
        if size > len(self.cells):
            self.cells = np.empty(size, np.int32)
        places = np.arange(len(codes), dtype=np.int32)
        # Of equal codes the table keeps one; cells that nothing was written to are never read.
        self.cells[codes] = places
        firsts = np.flatnonzero(self.cells[codes] == places)
        self.cells[codes[firsts]] = places[: len(firsts)]
        return self.cells[codes].astype(np.int64), firsts

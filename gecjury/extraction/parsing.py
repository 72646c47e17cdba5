"""Parses of tokenised sentences, reduced to what edits need and kept without spaCy's objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from threading import Lock
from typing import Any

import numpy as np

from gecjury.core.arrays import IntArray
from gecjury.extraction.tagger import Pipeline, PipelineDoc
from gecjury.extraction.tagger.fast import Embedded

# Sentences of similar length are parsed together; the size changes only the speed.
_BATCH = 128
# Tokens parsed at once: spaCy's parser needs about 15 kB for each, ours about 6 kB.
_MOST_TOKENS = 25_000
# Texts with more tokens than this are not sentences: they are parsed in pieces.
LONGEST_WHOLE = 20_000
_PIECE = 10_000


@dataclass(slots=True)
class Parsed:
    """A parsed sentence reduced to what edits need, one entry per token.

    Attributes:
        texts: the tokens.
        lowers: the tokens in lower case.
        lemmas: lemmas.
        poses: coarse parts of speech, as spaCy numbers them.
        tags: Penn tags.
        deps: dependency labels.
        heads: index of each token's head; a root is its own.
        keys: number of the distinct (text, lemma, part of speech).
        marks: a number that represents the token in lower case, to compare multisets by sums.
    """

    texts: list[str]
    lowers: list[str]
    lemmas: list[str]
    poses: list[int]
    tags: list[str]
    deps: list[str]
    heads: list[int]
    keys: list[int]
    marks: list[int]

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, start: int, end: int) -> Parsed:
        """Return the tokens start..end; heads keep their numbers."""
        return Parsed(*[column[start:end] for column in _COLUMNS(self)])


_COLUMNS = attrgetter(*Parsed.__slots__)
_EMPTY = Parsed([], [], [], [], [], [], [], [], [])


# The embedded tagger reuses memory from call to call, and the number of BLAS threads is global.
_LOCK = Lock()


def _one_thread() -> AbstractContextManager[object]:
    """Limit matrix products to one thread: they are so small that more would only wait."""
    if os.environ.get("OPENBLAS_NUM_THREADS") == "1":
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # installed with the extra `edits`, but no pipeline needs it
        return nullcontext()
    limited: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limited


class Parser:
    """A tagger that parses sentences in bulk."""

    def __init__(
        self,
        nlp: Embedded | Pipeline,
        docs: Callable[[list[list[str]]], Iterator[PipelineDoc]] | None = None,
    ) -> None:
        """Wrap a tagger.

        Args:
            nlp: a tagger; a pipeline must set tag, POS, lemma, dependency and head.
            docs: function that makes a doc of each tokenised sentence; by default the pipeline.
        """
        self._docs = docs or self._piped
        self._fast = nlp if isinstance(nlp, Embedded) else None
        self._tagger = nlp
        self._keys: dict[tuple[str, str, int], int] = {}
        self._words: dict[str, tuple[str, int]] = {}

    @property
    def _nlp(self) -> Pipeline:
        return self._tagger.pipeline if isinstance(self._tagger, Embedded) else self._tagger

    def parse(self, sentences: Iterable[str]) -> dict[str, Parsed]:
        """Parse distinct sentences, tokens split on white space."""
        words = {sentence: sentence.split() for sentence in sentences}
        parsed = {sentence: _EMPTY for sentence, tokens in words.items() if not tokens}
        order = sorted((s for s, tokens in words.items() if tokens), key=lambda s: len(words[s]))
        parts = [_pieces(words[sentence]) for sentence in order]
        tokens = [piece for pieces in parts for piece in pieces]
        with _LOCK, _one_thread():
            reduced = self._parse_all(tokens)
            for sentence, pieces in zip(order, parts, strict=True):
                parsed[sentence] = _joined([next(reduced) for _ in pieces])
        return parsed

    def _parse_all(self, sentences: list[list[str]]) -> Iterator[Parsed]:
        """Parse non-empty sentences, as many at once as memory allows."""
        begin = 0
        while begin < len(sentences):
            end, total = begin, 0
            while end < len(sentences) and (end == begin or total <= _MOST_TOKENS):
                total += len(sentences[end])
                end += 1
            if end > begin + 1 and total > _MOST_TOKENS:
                end -= 1
            batch = sentences[begin:end]
            if self._fast:
                yield from self._parse_fast(self._fast, batch)
            else:
                yield from self._parse_plainly(batch)
            begin = end

    def _parse_plainly(self, sentences: list[list[str]]) -> Iterator[Parsed]:
        return map(self.reduce, self._docs(sentences)) if sentences else iter(())

    def _piped(self, sentences: list[list[str]]) -> Iterator[PipelineDoc]:
        nlp = self._nlp  # first, since loading it imports spaCy without what is not needed
        from spacy.tokens import Doc

        docs = (Doc(nlp.vocab, words=words) for words in sentences)
        # Texts too long to be sentences are parsed one at a time, to save memory.
        size = _BATCH if max(map(len, sentences)) < _PIECE else 1
        return nlp.pipe(docs, batch_size=size)

    def _parse_fast(self, fast: Embedded, sentences: list[list[str]]) -> Iterator[Parsed]:
        tagged = fast.parse(sentences)
        pairs = zip(sentences, tagged.narrow, strict=True)
        plain = self._parse_plainly([texts for texts, narrow in pairs if narrow])
        keys, numbers = self._keys, tagged.numbers
        words = [self._word(entry.text) for entry in tagged.attributes]
        entry_keys = ((entry.text, entry.lemma, entry.pos) for entry in tagged.attributes)
        columns = [
            _spread([lower for lower, _ in words], numbers),
            _spread([entry.lemma for entry in tagged.attributes], numbers),
            _spread([entry.pos for entry in tagged.attributes], numbers),
            _spread([entry.tag for entry in tagged.attributes], numbers),
            tagged.deps,
            tagged.heads,
            _spread([keys.setdefault(key, len(keys)) for key in entry_keys], numbers),
            _spread([mark for _, mark in words], numbers),
        ]
        for texts, start, narrow in zip(sentences, tagged.starts, tagged.narrow, strict=True):
            end = start + len(texts)
            if narrow:
                yield next(plain)
            else:
                yield Parsed(texts, *(column[start:end] for column in columns))

    def reduce(self, doc: PipelineDoc) -> Parsed:
        """Reduce a parsed sentence to what edits need."""
        from spacy.attrs import DEP, HEAD, LEMMA, ORTH, POS, TAG

        if not len(doc):
            return _EMPTY
        columns = doc.to_array([ORTH, LEMMA, TAG, DEP, POS, HEAD]).T.tolist()
        strings = doc.vocab.strings
        texts, lemmas, tags, deps = ([strings[n] for n in column] for column in columns[:4])
        poses, offsets = columns[4:]
        keys = self._keys
        words = [self._word(text) for text in texts]
        return Parsed(
            texts,
            [lower for lower, _ in words],
            lemmas,
            poses,
            tags,
            deps,
            # Offsets to the left come as unsigned 64-bit numbers.
            [(i + offset) & _WORD for i, offset in enumerate(offsets)],
            [keys.setdefault(key, len(keys)) for key in zip(texts, lemmas, poses, strict=True)],
            [mark for _, mark in words],
        )

    def _word(self, text: str) -> tuple[str, int]:
        """Return a token in lower case as spaCy has it, and its mark."""
        word = self._words.get(text)
        if word is None:
            lower = text.lower() if self._fast else self._nlp.vocab[text].lower_
            word = self._words[text] = lower, mark(lower)
        return word


_WORD = 2**64 - 1


def mark(lower: str) -> int:
    """Return a 48-bit number for a token in lower case, the same in every process."""
    digest = blake2b(lower.encode("utf-8", "surrogatepass"), digest_size=6)
    return int.from_bytes(digest.digest(), "big")


def _spread(values: list[Any], numbers: IntArray) -> list[Any]:
    """Return the value at each place, by its number."""
    spread: list[Any] = np.array(values, dtype=object)[numbers].tolist()
    return spread


def _pieces(tokens: list[str]) -> list[list[str]]:
    if len(tokens) <= LONGEST_WHOLE:
        return [tokens]
    return [tokens[begin : begin + _PIECE] for begin in range(0, len(tokens), _PIECE)]


def _joined(pieces: Sequence[Parsed]) -> Parsed:
    """Join a sentence from its pieces; each piece's heads are counted within it."""
    if len(pieces) == 1:
        return pieces[0]
    whole = Parsed([], [], [], [], [], [], [], [], [])
    for piece in pieces:
        start = len(whole)
        heads = [head + start for head in piece.heads]
        for name in Parsed.__slots__:
            getattr(whole, name).extend(heads if name == "heads" else getattr(piece, name))
    return whole


Operation = tuple[str, int, int, int, int]
"""Kind (S, I, D or T), start and end in the source, start and end in the correction."""

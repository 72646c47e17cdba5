"""Parses of tokenised sentences, reduced to what edits need and kept without spaCy's objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

__all__ = ["Parsed", "Parser"]

# Sentences of like length are parsed together; the size changes the speed alone.
_BATCH = 128


@dataclass(slots=True)
class Parsed:
    """What edits need to know of a parsed sentence, one entry a token.

    Attributes:
        texts: the tokens.
        lowers: the tokens in lower case.
        lemmas: lemmas.
        poses: coarse parts of speech, as spaCy numbers them.
        tags: Penn tags.
        deps: dependency labels.
        heads: index of each token's head; a root is its own.
        keys: number of the distinct (text, lemma, part of speech).
        marks: a number that stands for the token in lower case, to compare multisets by sums.
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
        """The tokens start..end; heads keep their numbers."""
        return Parsed(*(getattr(self, name)[start:end] for name in self.__slots__))


class Parser:
    """Runs a spaCy pipeline over sentences in bulk."""

    def __init__(self, nlp: Any) -> None:
        """Wrap a pipeline.

        Args:
            nlp: a `spacy.language.Language` that sets tag, POS, lemma, dependency and head.
        """
        self._nlp = nlp
        self._strings: dict[int, str] = {}
        self._keys: dict[tuple[str, str, int], int] = {}
        self._marks: dict[str, int] = {}

    def parse(self, sentences: Iterable[str]) -> dict[str, Parsed]:
        """Parse distinct sentences, tokens split on white space."""
        from spacy.tokens import Doc

        words = {sentence: sentence.split() for sentence in sentences}
        order = sorted((s for s, tokens in words.items() if tokens), key=lambda s: len(words[s]))
        docs = (Doc(self._nlp.vocab, words=words[sentence]) for sentence in order)
        parsed = {
            sentence: self.reduce(doc)
            for sentence, doc in zip(order, self._nlp.pipe(docs, batch_size=_BATCH), strict=True)
        }
        for sentence, tokens in words.items():
            if not tokens:
                parsed[sentence] = Parsed([], [], [], [], [], [], [], [], [])
        return parsed

    def reduce(self, doc: Any) -> Parsed:
        """Take over what edits need from a `spacy.tokens.Doc`."""
        from spacy.attrs import DEP, HEAD, LEMMA, LOWER, ORTH, POS, TAG

        if not len(doc):
            return Parsed([], [], [], [], [], [], [], [], [])
        columns = doc.to_array([ORTH, LOWER, LEMMA, TAG, DEP, POS, HEAD]).T.tolist()
        texts, lowers, lemmas, tags, deps = (
            self._text(column, doc.vocab.strings) for column in columns[:5]
        )
        poses, offsets = columns[5], columns[6]
        keys, marks = self._keys, self._marks
        return Parsed(
            texts,
            lowers,
            lemmas,
            poses,
            tags,
            deps,
            # Offsets to the left come as unsigned 64-bit numbers.
            [(i + offset) & _WORD for i, offset in enumerate(offsets)],
            [keys.setdefault(key, len(keys)) for key in zip(texts, lemmas, poses, strict=True)],
            [marks.get(lower) or marks.setdefault(lower, _mark(lower)) for lower in lowers],
        )

    def _text(self, column: Sequence[int], strings: Any) -> list[str]:
        known = self._strings
        try:
            return [known[number] for number in column]
        except KeyError:
            for number in column:
                if number not in known:
                    known[number] = strings[number]
            return [known[number] for number in column]


_WORD = 2**64 - 1


def _mark(lower: str) -> int:
    """A 48-bit number for a token in lower case, the same in every process."""
    digest = blake2b(lower.encode("utf-8", "surrogatepass"), digest_size=6)
    return int.from_bytes(digest.digest(), "big")

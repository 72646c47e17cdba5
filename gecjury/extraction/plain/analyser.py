"""An extractor that reads, aligns and merges by the characters of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.extraction.alignment import Aligner
from gecjury.extraction.alignment_large import distances
from gecjury.extraction.merging import Rules
from gecjury.extraction.parsing import Parsed, mark
from gecjury.extraction.pipeline import Extractor
from gecjury.extraction.plain.categories import PlainTyper
from gecjury.extraction.plain.forms import folded, is_punctuation, only_letters, similar

# Classes of tokens, where spaCy has parts of speech.
_WORD, _PUNCTUATION = 1, 2
# A class that no token has.
_NONE = 0
# Their sum is the cost of replacing a token by one that shares no character, a little less than 2,
# the cost of a deletion and an insertion.
_REPLACED, _DISTANCE = 0.3, 1.6

RULES = Rules(
    open=frozenset((_WORD, _PUNCTUATION)),
    verbal=frozenset(),
    punct=_PUNCTUATION,
    det=_NONE,
    similar=similar,
    letters=only_letters,
    alike=False,
)
"""ERRANT's rules without those that name parts of speech.

The remaining rules: tokens that are the same when joined are one edit, as are a case change with
the words before it, and punctuation with the case change after it. Two adjacent replacements stay
separate, as does a token that is replaced by a form of it. The rest of a run is one edit, as where
ERRANT finds a content word. (Dividing it everywhere instead, or at punctuation, or where all words
are short, was worse on Czech and English development data.)
"""


class PlainAligner(Aligner):
    """ERRANT's recursion with the cost of a replacement taken from characters alone.

    A replacement costs 0 if two tokens differ only in case, width or composition, and otherwise
    .3 + 1.6 · (insertions and deletions of characters divided by the characters of both, 0 to 1),
    computed on folded tokens. ERRANT's cost is .499 for another lemma, up to .5 for another part of
    speech, and the distance of characters: about .999 + distance for unrelated words. Without lemma
    and part of speech, only characters distinguish words, so the constant is smaller and the
    distance weighs more; both numbers were the best of about twenty tried on development data
    (GECCC's M2 in Czech, JFLEG's corrections in English). Insertion, deletion and transposition
    cost the same as in ERRANT.
    """

    def substitution(self, source: Parsed, i: int, corrected: Parsed, j: int) -> float:
        """Return the cost of replacing one token by another: 0, or between .3 and 1.9."""
        left, right = source.lowers[i], corrected.lowers[j]
        return 0.0 if left == right else _REPLACED + _DISTANCE * self._distance(left, right)

    def _open_classes(self) -> frozenset[int]:
        return frozenset()

    def _matrix(self, source: Parsed, corrected: Parsed) -> FloatArray:
        between, rows, columns = distances(source.lowers, corrected.lowers)
        costs = np.zeros((len(source) + 1, len(corrected) + 1))
        right = np.array(corrected.texts, dtype=object)
        folded_right = np.array(corrected.lowers, dtype=object)
        for i, (text, lower) in enumerate(zip(source.texts, source.lowers, strict=True)):
            row = _REPLACED + _DISTANCE * between[rows[i]][columns]
            row[folded_right == lower] = 0.0
            row[right == text] = -1.0
            costs[i + 1, 1:] = row
        return costs


class PlainReader:
    """A reader that fills `Parsed` from the tokens alone.

    `lowers` and `lemmas` are folded tokens, `poses` distinguish words from punctuation; there are
    no tags, labels or heads.
    """

    def __init__(self) -> None:
        self._words: dict[str, tuple[str, int, int, int]] = {}

    def parse(self, sentences: Iterable[str]) -> dict[str, Parsed]:
        """Read distinct sentences, tokens split on white space."""
        return {sentence: self._read(sentence.split()) for sentence in sentences}

    def _read(self, tokens: list[str]) -> Parsed:
        words = self._words
        try:
            entries = [words[token] for token in tokens]
        except KeyError:
            entries = [words.get(token) or self._add(token) for token in tokens]
        lowers = [word[0] for word in entries]
        return Parsed(
            tokens,
            lowers,
            lowers,
            [word[1] for word in entries],
            [""] * len(tokens),
            [],
            [],
            [word[2] for word in entries],
            [word[3] for word in entries],
        )

    def _add(self, token: str) -> tuple[str, int, int, int]:
        lower = folded(token)
        kind = _PUNCTUATION if is_punctuation(token) else _WORD
        word = self._words[token] = lower, kind, len(self._words), mark(lower)
        return word


@cache
def plain_extractor() -> Extractor:
    """Return the extractor of edits without a tagger, one for all metrics of a run."""
    return Extractor(PlainReader(), PlainAligner(), RULES, PlainTyper())

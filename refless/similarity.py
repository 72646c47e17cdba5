"""Similarity of two strings by the characters they share in order."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer

_NO_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, ideographs."""


def indel_ratio(first: str, second: str) -> float:
    """Return 1 − d/(|first| + |second|), d the Levenshtein distance with substitutions at cost 2.

    A substitution at cost 2 is a deletion and an insertion, so d = |first| + |second| − 2·LCS.
    Two empty strings are equal: 1.
    """
    from rapidfuzz.distance import LCSseq

    size = len(first) + len(second)
    # `Indel.normalized_similarity` would round the last digit differently.
    return float(2 * LCSseq.similarity(first, second) / size) if size else 1.0


def token_sort_ratio(first: str, second: str, *, english: bool = True) -> float:
    """Return the ratio of the sorted words in lower case, in whole hundredths.

    This is `token_sort_ratio` of fuzzywuzzy 0.18: characters from U+0080 to U+00FF are dropped,
    then words are split at characters that are not letters, digits or underscores. The ratio is 0
    if one text has no word, and 1 if neither has one: texts of punctuation alone count as alike.

    Args:
        second: another text.
        english: True to do exactly as fuzzywuzzy does. Otherwise no letter is dropped (å, é and ö
            are in that range), and in scripts without spaces each letter is a word.
    """
    left, right = _sorted_words(first, english), _sorted_words(second, english)
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    return round(100 * indel_ratio(left, right)) / 100


def _sorted_words(text: str, english: bool) -> str:
    if not english:
        return " ".join(sorted(word for word in words_of_any(text.lower()) if word[0].isalnum()))
    kept = "".join(character for character in text if not 128 <= ord(character) < 256)
    return " ".join(sorted(re.sub(r"\W", " ", kept).lower().split()))


@dataclass(frozen=True)
class Meteor:
    """METEOR of two tokenised sentences (Banerjee and Lavie 2005); 0 to 1, higher is closer.

    F = PR / (αP + (1−α)R) over matched words, times 1 − γ·(chunks/matches)^β. A match of stems
    counts `stem_weight`. The defaults are those of the first version; the tuned values of METEOR
    1.5 are α=.85, β=.2, γ=.6, stem weight .6.

    Attributes:
        alpha: weight of recall.
        beta: exponent of the fragmentation penalty.
        gamma: greatest fragmentation penalty.
        stem_weight: weight of a match of stems; an exact match counts 1.
        stems: True to match English stems as well.
    """

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    stem_weight: float = 1.0
    stems: bool = True

    def score(self, reference: str, hypothesis: str) -> float:
        """Return the METEOR of a hypothesis; words are compared in lower case.

        Two empty sentences score 1, one empty sentence 0.
        """
        first, second = _words(reference), _words(hypothesis)
        if not first or not second:
            return float(first == second)
        pairs = align_words(first, second, stems=self.stems)
        if not pairs:
            return 0.0
        weight = sum(1.0 if first[i] == second[j] else self.stem_weight for i, j in pairs)
        precision, recall = weight / len(second), weight / len(first)
        mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        chunks = 1 + sum(
            (i + 1, j + 1) != following for (i, j), following in itertools.pairwise(pairs)
        )
        # A single chunk is not fragmented, however short the sentence is.
        broken = 0.0 if chunks == 1 else (chunks / len(pairs)) ** self.beta
        return mean * (1 - self.gamma * broken)


def align_words(
    first: Sequence[str], second: Sequence[str], *, stems: bool = True
) -> list[tuple[int, int]]:
    """Return one-to-one matches of words, exact ones before equal stems; sorted by `first`.

    Among alignments with the same number of matches, one with few chunks is wanted, so the longest
    common run is matched first, then the longest of the rest, and so on.
    """
    # Exact matches come first, so that no stem match uses up a word that has an exact match.
    pairs: list[tuple[int, int]] = []
    free_first, free_second = [True] * len(first), [True] * len(second)
    sides = [(list(first), list(second))]
    if stems:
        sides.append(([porter_stem(w) for w in first], [porter_stem(w) for w in second]))
    for left, right in sides:
        while True:
            length, i, j = _longest_run(left, right, free_first, free_second)
            if not length:
                break
            for k in range(length):
                pairs.append((i + k, j + k))
                free_first[i + k] = free_second[j + k] = False
    return sorted(pairs)


def _longest_run(
    left: Sequence[str], right: Sequence[str], free_left: list[bool], free_right: list[bool]
) -> tuple[int, int, int]:
    """Return length and starts of the longest common run of free words; the first if several."""
    best = (0, 0, 0)
    above: dict[int, int] = {}
    places: dict[str, list[int]] = {}
    for j, word in enumerate(right):
        if free_right[j]:
            places.setdefault(word, []).append(j)
    for i, word in enumerate(left):
        here: dict[int, int] = {}
        if free_left[i]:
            for j in places.get(word, ()):
                here[j] = length = above.get(j - 1, 0) + 1
                if length > best[0]:
                    best = (length, i - length + 1, j - length + 1)
        above = here
    return best


def words_of_any(text: str) -> list[str]:
    """Split text of any language into words and marks.

    In scripts without spaces between words, each letter is a word.
    """
    words: list[str] = []
    joins = after_blank = False
    for character in text:
        kind = unicodedata.category(character)[0]
        if kind == "M" and words and not after_blank:
            # A combining mark belongs to the letter before it, also in scripts without spaces.
            words[-1] += character
            continue
        after_blank = character.isspace()
        letter = kind in "LN" or (character in "'’ʼ" and joins)
        single = _NO_BLANKS.match(character) is not None
        if after_blank:
            joins = False
        elif letter and joins and not single:
            words[-1] += character
        else:
            words.append(character)
            joins = letter and not single
    return words


def _words(text: str) -> list[str]:
    # Tokenised and untokenised text must give the same words.
    return re.findall(r"\w+|[^\w\s]", text.lower())


@lru_cache(maxsize=100_000)
def porter_stem(word: str) -> str:
    """Return the stem of a lower-case word by Porter's algorithm as published in 1980.

    Words of up to two letters, and words with anything but ASCII letters, are their own stems.
    """
    if len(word) <= 2 or not word.isascii() or not word.isalpha():
        return word
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> PorterStemmer:
    # Snowball's `porter` loads faster but undoubles fewer letters than Porter's paper, so that
    # misspelt words (`followwing`, `shokked`) get other stems.
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)

"""Similarity of two strings by the characters they share in order."""

from __future__ import annotations

import re

__all__ = ["indel_ratio", "longest_common_subsequence", "token_sort_ratio"]


def longest_common_subsequence(first: str, second: str) -> int:
    """Length of the longest common subsequence of characters.

    Bit-parallel (Hyyrö 2004): one step of whole-number arithmetic a character of `second`.
    """
    masks: dict[str, int] = {}
    for index, character in enumerate(first):
        masks[character] = masks.get(character, 0) | 1 << index
    full = (1 << len(first)) - 1
    state = full
    for character in second:
        overlap = state & masks.get(character, 0)
        state = ((state + overlap) | (state - overlap)) & full
    return len(first) - state.bit_count()


def indel_ratio(first: str, second: str) -> float:
    """1 − d/(|first| + |second|), d the Levenshtein distance with substitutions at cost 2.

    A substitution at cost 2 is a deletion and an insertion, so d = |first| + |second| − 2·LCS.
    Two empty strings are equal: 1.
    """
    size = len(first) + len(second)
    return 2 * longest_common_subsequence(first, second) / size if size else 1.0


def token_sort_ratio(first: str, second: str) -> float:
    """Ratio of the sorted words in lower case, in whole hundredths as its program gives it.

    Characters that are no letter, digit or underscore separate words; those from U+0080 to U+00FF
    are dropped beforehand (fuzzywuzzy 0.18, `token_sort_ratio`). 0 where either has no word.
    """
    left, right = _sorted_words(first), _sorted_words(second)
    if not left or not right:
        return 0.0
    return round(100 * indel_ratio(left, right)) / 100


def _sorted_words(text: str) -> str:
    kept = "".join(character for character in text if not 128 <= ord(character) < 256)
    return " ".join(sorted(re.sub(r"\W", " ", kept).lower().split()))

"""Pairs of partly corrected sentences, made from parallel text: nobody has to judge them.

In English, errors are added by rule. The rules imitate frequent errors of learners: articles,
prepositions, number and verb endings, spelling, word order, doubled and missing words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gecjury.corpus.languages.language import Language
from gecjury.refless.data.pairs import CorrectedPair, RankedPair

_TRIES = 40
"""Draws in a row that may fail before no more are expected to succeed."""


_ARTICLES = ("a", "an", "the")
_PREPOSITIONS = (
    "in", "on", "at", "of", "to", "for", "with", "from", "by", "about", "into", "over", "during",
)  # fmt: skip
_AUXILIARIES = {
    "is": ("are", "be", "was"), "are": ("is", "be", "were"), "was": ("were", "is"),
    "were": ("was", "are"), "has": ("have", "had"), "have": ("has", "having"), "do": ("does",),
    "does": ("do",), "will": ("would",), "would": ("will",), "can": ("could",), "could": ("can",),
}  # fmt: skip
_WORDS = {
    "their": "there", "there": "their", "then": "than", "than": "then", "its": "it's",
    "much": "many", "many": "much", "less": "fewer", "who": "which", "which": "who",
    "because": "because of", "this": "these", "these": "this", "other": "another",
}  # fmt: skip


def swapped_pairs(
    corrections: Sequence[CorrectedPair], language: Language, count: int, seed: int
) -> list[RankedPair]:
    """Return pairs of partly corrected sentences, which do not favour more changes.

    The better sentence has some of a correction's edits. The worse one lacks one of them; in
    English, it has an error added by rule in its place.

    Args:
        count: number of pairs wanted; fewer if the text does not have enough.
    """
    rng = np.random.default_rng(seed)
    edited = [correction for correction in corrections if correction.edits]
    pairs: dict[tuple[str, str], RankedPair] = {}
    rounds = _TRIES
    while rounds:
        rounds -= 1
        for place in rng.permutation(len(edited)).tolist():
            correction = edited[place]
            kept = rng.random(len(correction.edits)) < 0.5
            lacking = int(rng.integers(len(kept)))
            kept[lacking] = True
            better = correction.text(kept.tolist())
            kept[lacking] = False
            worse = correction.text(kept.tolist())
            if language.code == "en":
                worse = _with_error(worse, rng)
            if better and worse and better != worse and (better, worse) not in pairs:
                pairs[better, worse] = RankedPair(better, worse, correction.source)
                rounds = _TRIES
            if len(pairs) >= count:
                return list(pairs.values())
    return list(pairs.values())


def _with_error(clean: str, rng: np.random.Generator) -> str:
    """Return a sentence with one error added by rule; empty if no rule can be applied."""
    words = clean.split()
    for _ in range(_TRIES if words else 0):
        start = int(rng.integers(len(words)))
        wrong, right = _change(words[start : start + 2], rng) or ([], [])
        if wrong != right:
            return " ".join([*words[:start], *wrong, *words[start + len(right) :]])
    return ""


def _change(words: Sequence[str], rng: np.random.Generator) -> TokenChange | None:
    """Return what a random rule makes of the first of two words, or of both."""
    return _RULES[int(rng.integers(len(_RULES)))](words, rng)


TokenChange = tuple[list[str], list[str]]
"""The corrupted tokens and their correction, which is the first or both of a rule's words."""


Rule = Callable[[Sequence[str], np.random.Generator], TokenChange | None]
"""A function that corrupts a word, given with the next one; it returns None if inapplicable."""


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def _function_word(words: Sequence[str], rng: np.random.Generator) -> TokenChange | None:
    word = words[0]
    low = word.lower()
    if low in _ARTICLES:
        wrong = [] if rng.random() < 0.6 else [_pick([a for a in _ARTICLES if a != low], rng)]
        return wrong, [word]
    if low in _PREPOSITIONS:
        other = _pick([p for p in _PREPOSITIONS if p != low], rng)
        return [] if rng.random() < 0.3 else [other], [word]
    if low in _AUXILIARIES:
        return [] if rng.random() < 0.15 else [_pick(_AUXILIARIES[low], rng)], [word]
    if low in _WORDS:
        return _WORDS[low].split(), [word]
    return None


def _insertion(words: Sequence[str], rng: np.random.Generator) -> TokenChange | None:
    word = words[0]
    if not word.isalpha() or word.lower() in _ARTICLES:
        return None
    extra = _pick(("the", "the", "a", "of", "to", "in", "for"), rng)
    # The edit covers the next word as well, which stays as it is.
    return [extra, word], [word]


def _ending(words: Sequence[str], rng: np.random.Generator) -> TokenChange | None:
    word = words[0]
    if len(word) < 4 or not word.isalpha() or word[0].isupper():
        return None
    forms = {word + "s", word + "ed", word + "ing"}
    for ending, others in (
        ("ies", ("y",)), ("ing", ("", "e", "ed", "s")), ("ed", ("", "e", "ing", "s")),
        ("es", ("e", "")), ("s", ("",)), ("ly", ("",)), ("tion", ("te",)), ("e", ("ing", "ed")),
    ):  # fmt: skip
        if word.endswith(ending) and not word.endswith("ss"):
            forms = {word.removesuffix(ending) + other for other in others}
            break
    return [_pick(sorted(forms - {word}), rng)], [word]


def _spelling(words: Sequence[str], rng: np.random.Generator) -> TokenChange | None:
    word = words[0]
    if len(word) < 4 or not word.isalpha():
        return None
    place = int(rng.integers(1, len(word) - 1))
    head, letter, tail = word[:place], word[place], word[place + 1 :]
    kind = int(rng.integers(4))
    wrong = (
        head + tail,
        head + letter + letter + tail,
        head + tail[:1] + letter + tail[1:],
        head + _pick("aeioutnrs", rng) + tail,
    )[kind]
    return [wrong], [word]


def _order(words: Sequence[str], _rng: np.random.Generator) -> TokenChange | None:
    pair = list(words)
    if len(pair) < 2 or not "".join(pair).isalpha():
        return None
    return pair[::-1], pair


def _dropped(words: Sequence[str], _rng: np.random.Generator) -> TokenChange | None:
    return [], [words[0]]


def _doubled(words: Sequence[str], _rng: np.random.Generator) -> TokenChange | None:
    word = words[0]
    return [word, word], [word]


# Rules are listed several times to set their frequency.
_RULES: tuple[Rule, ...] = (
    *[_function_word] * 8, *[_ending] * 6, *[_insertion] * 2, *[_spelling] * 3, _order, _dropped,
    _doubled,
)  # fmt: skip

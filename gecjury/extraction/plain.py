"""Edits of any language without a tagger: `tagger=none`. Neither spaCy nor errant is imported.

Sentences consist of tokens between blanks, whatever the language; alignment, merging and types look
only at the characters of tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from gecjury.extraction.alignment import Aligner
from gecjury.extraction.merging import Rules, Span, character_distance
from gecjury.extraction.parsing import Parsed, mark
from gecjury.extraction.pipeline import Extractor, Typer

# The version of these rules in signatures and caches, increased when an edit or a type changes.
VERSION = "1"


ALIKE = 0.75
"""Tokens of a higher likeness are forms of each other. This is ERRANT's bound, which was also the
best of .6, .67, .7, .74, .75, .78, .8 and .9 on Czech and English development data."""

# Distinct tokens, and pairs of them, remembered at once.
_REMEMBERED = 200_000
# Combining diacritical marks. Marks outside this block distinguish letters (は and ば, vowels).
_FIRST_MARK, _LAST_MARK = "\u0300", "\u036f"
# Hyphens, dashes and apostrophes, at which the same letters may be written as one token or several.
_JOINING = "-'‐‑–’ʼ"
_JOINTS = str.maketrans("", "", _JOINING)


@lru_cache(maxsize=_REMEMBERED)
def folded(token: str) -> str:
    """Return a token without differences of case, full or half width, and composition of letters.

    This is Unicode's case folding (ß is ss) of the canonical composition. Of compatibility forms,
    only width is normalised, so that … still differs from three stops.
    """
    if token.isascii():
        return token.lower()
    wide = unicodedata.normalize("NFC", "".join(map(_narrow, token)))
    return unicodedata.normalize("NFC", wide.casefold())


def _narrow(character: str) -> str:
    kind, _, code = unicodedata.decomposition(character).partition(" ")
    return chr(int(code, 16)) if kind in ("<wide>", "<narrow>") else character


@lru_cache(maxsize=_REMEMBERED)
def base(token: str) -> str:
    """Return a folded token without diacritics (U+0300 to U+036F): `Říká` is `rika`."""
    plain = folded(token)
    if plain.isascii():
        return plain
    parts = unicodedata.normalize("NFD", plain)
    left = "".join(character for character in parts if not _FIRST_MARK <= character <= _LAST_MARK)
    return unicodedata.normalize("NFC", left)


@lru_cache(maxsize=_REMEMBERED)
def is_punctuation(token: str) -> bool:
    """Return True for punctuation or symbols (Unicode's P and S) without a letter or number."""
    classes = {unicodedata.category(character)[0] for character in token}
    return bool(classes & {"P", "S"}) and not classes & {"L", "N"}


@lru_cache(maxsize=_REMEMBERED)
def unmarked(token: str) -> str:
    """Return a token without punctuation and symbols, except a word's hyphens and apostrophes."""
    if is_punctuation(token):
        return ""
    return "".join(
        sign for sign in token if sign in _JOINING or unicodedata.category(sign)[0] not in "PS"
    )


def only_letters(text: str) -> str:
    """Return a text without hyphens and apostrophes, to compare joined and divided tokens."""
    return text.translate(_JOINTS)


def likeness(one: str, other: str) -> float:
    """Return 1 − (insertions and deletions / characters of both), without diacritics."""
    return 1 - character_distance()(base(one), base(other))


@lru_cache(maxsize=_REMEMBERED)
def similar(one: str, other: str) -> bool:
    """Return True if a token is a form of the other: their likeness is more than `ALIKE`."""
    return likeness(one, other) > ALIKE


NEAR = 0.7
"""Words of this likeness or more are near each other; see `is_near`.

Of .4 to .8 in steps of .05, this value and .65 separated misspellings and other forms of a word
best from other words on Czech and English development data; for misspellings alone, .75 and .8
would be better.
"""

_DASHES = str.maketrans("", "", "-‐‑–")


class PlainTyper(Typer):
    """A typer of edits by characters alone; the same edit has the same type everywhere.

    `M` is missing, `R` is replaced, `U` is unnecessary. The category is the first that applies:

    - PUNCT: only punctuation and symbols, or these and the case after them (`, we` →
      `. We`, `"We` → `„We`);
    - SPACE: only spaces or hyphens between the same letters (`a lot` for `alot`);
    - ORTH: only case, full or half width, the way that letters are composed (and spaces);
    - WO: the same words in another order;
    - SPELL: one word near another (`is_near`): a misspelling, diacritics, or another form of it,
      which characters do not distinguish;
    - OTHER.

    An edit that changes nothing is `UNK`.
    """

    def _type(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        start, end, first, last = span
        old, new = source.texts[start:end], corrected.texts[first:last]
        if old == new:
            return "UNK"
        operation = "R" if old and new else "M" if new else "U"
        return f"{operation}:{form_type(old, new) or self._category(span, source, corrected)}"

    def _category(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        """Return the category of an edit that `form_type` does not decide."""
        start, end, first, last = span
        near = is_near(source.texts[start:end], corrected.texts[first:last])
        return "SPELL" if near else "OTHER"


def form_type(old: Sequence[str], new: Sequence[str]) -> str:
    """Return PUNCT, SPACE, ORTH or WO for different tokens; "" if none of them applies."""
    if all(map(is_punctuation, (*old, *new))):
        return "PUNCT"
    if not old or not new:
        return ""
    if "".join(old).translate(_DASHES) == "".join(new).translate(_DASHES):
        return "SPACE"
    before, after = [folded(token) for token in old], [folded(token) for token in new]
    if "".join(before) == "".join(after):
        return "ORTH"
    if _unmarked(before) == _unmarked(after):
        return "PUNCT"
    return "WO" if sorted(before) == sorted(after) else ""


def is_near(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return True if a word is near its replacement, in characters.

    One of the sides must be a single token. It must have the same letters as the other side,
    joined, apart from diacritics, or a likeness of `NEAR` or more; see
    `gecjury.extraction.plain.likeness`.
    """
    if not old or not new or min(len(old), len(new)) > 1 or len(old) + len(new) > _MOST:
        return False
    before, after = "".join(old), "".join(new)
    if is_punctuation(before) or is_punctuation(after):
        return False
    return base(before) == base(after) or likeness(before, after) >= NEAR


# Most tokens, of both sides together, of a word that is divided or of parts that are joined.
_MOST = 4


def _unmarked(tokens: Sequence[str]) -> list[str]:
    """Return tokens without punctuation, both separate and attached to a word."""
    return [word for word in map(unmarked, tokens) if word]


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
    return Extractor(PlainReader().parse, PlainAligner(), RULES, PlainTyper())

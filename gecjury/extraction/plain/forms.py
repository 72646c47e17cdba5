"""Forms of tokens, derived from Unicode alone: without case, width, diacritics or punctuation."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from gecjury.extraction.merging import character_distance

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

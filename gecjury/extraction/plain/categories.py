"""Types of edits by form: M, R or U and ORTH, PUNCT, SPACE, SPELL, WO or OTHER."""

from __future__ import annotations

from collections.abc import Sequence

from gecjury.extraction.merging import Span
from gecjury.extraction.parsing import Parsed
from gecjury.extraction.pipeline import Typer
from gecjury.extraction.plain.forms import base, folded, is_punctuation, likeness, unmarked

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
    `gecjury.extraction.plain.forms.likeness`.
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

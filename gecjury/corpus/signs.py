"""Signs that differ in kind only: quotation marks, apostrophes, dashes, ellipses and widths.

Language models write typographic signs where learners' texts have plain ones, or the reverse. To a
metric each of them is an edit that nobody meant. `fold_signs` writes the signs of a text in the
kinds that its source has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

Kinds = Mapping[str, str]
"""The kind in which a text writes the signs of a class, by class."""

# The lines of a text that are counted to learn which kinds of signs it has.
_SAMPLE = 5_000

# A text has a kind of sign if at least this share is of that kind ...
_CONSISTENT = 0.9
# ... and is folded if at least this share is of other kinds than the source's.
_OTHER = 0.1


class _Sign(NamedTuple):
    """A kind of sign: its class, the pattern that finds it, and how it opens and closes."""

    of: str
    kind: str
    pattern: str
    opening: str
    closing: str


# In the order of matching: two apostrophes may be one quotation mark.
_SIGNS = (
    _Sign("quotation marks", "tex", "``|''", "``", "''"),
    _Sign("quotation marks", "plain", '["＂]', '"', '"'),
    _Sign("quotation marks", "curly", "[“”„‟]", "“", "”"),
    _Sign("quotation marks", "angle", "[«»]", "«", "»"),
    _Sign("apostrophes", "plain", "['＇]", "'", "'"),
    _Sign("apostrophes", "curly", "[’‘‛]", "‘", "’"),
    _Sign("apostrophes", "letter", "ʼ", "ʼ", "ʼ"),
    _Sign("apostrophes", "accent", "[`´′]", "`", "´"),
    # A hyphen is a dash only where it stands alone.
    _Sign("dashes", "plain", r"(?<!\S)--?(?!\S)", "-", "-"),
    _Sign("dashes", "long", "[–—―‒−]", "–", "–"),
    _Sign("ellipses", "plain", r"(?<!\.)\.\.\.(?!\.)", "...", "..."),
    _Sign("ellipses", "sign", "…", "…", "…"),
    _Sign("punctuation", "half-width", "[,!?:;()]", "", ""),
    _Sign("punctuation", "full-width", "[，！？：；（）]", "", ""),
)
_WIDTHS = {
    "half-width": str.maketrans("，！？：；（）", ",!?:;()"),
    "full-width": str.maketrans(",!?:;()", "，！？：；（）"),
}
_ANY = re.compile("|".join(f"(?P<s{n}>{sign.pattern})" for n, sign in enumerate(_SIGNS)))
_OF_GROUP = {f"s{number}": sign for number, sign in enumerate(_SIGNS)}
_OF_KIND = {(sign.of, sign.kind): sign for sign in _SIGNS}

# A writer may also put a dash in place of a comma, which is a real edit. So these are folded only
# in lines whose source has as many of them.
_IN_PLACE = frozenset(("dashes", "ellipses"))

_OPENING = frozenset("“„«‘‛") | {"``"}
_CLOSING = frozenset("”»’´") | {"''"}
_ENGLISH_CLITIC = re.compile(r"(?:s|re|ve|ll|d|m|t|em|tis|twas|til|cause)\b|\d", re.IGNORECASE)

# Characters without width, which nobody sees. Joiners stay, since some scripts need them.
_HIDDEN = re.compile("[\u200b\u2060\ufeff\u00ad]")


def count_signs(lines: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the number of signs of each kind, by class, among the first lines of a text."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for match in _ANY.finditer("\n".join(islice(lines, _SAMPLE))):
        sign = _OF_GROUP[match.lastgroup or ""]
        counts[sign.of][sign.kind] += 1
    return counts


def kinds_of(*texts: Sequence[str]) -> dict[str, str]:
    """Return the kinds of signs in which texts are written, by class.

    The first text that has a class decides. A class of which it mixes several kinds is left out.

    Args:
        texts: the source, and other texts for signs that the source does not have.
    """
    kinds: dict[str, str] = {}
    for text in texts:
        for name, counts in count_signs(text).items():
            kind, count = counts.most_common(1)[0]
            kinds.setdefault(name, kind if count >= _CONSISTENT * counts.total() else "")
    return {name: kind for name, kind in kinds.items() if kind}


def differing(lines: Sequence[str], kinds: Kinds) -> dict[str, str]:
    """Return the part of `kinds` whose classes a text writes in another kind."""
    counts = count_signs(lines)
    return {
        name: kind
        for name, kind in kinds.items()
        if (total := counts[name].total()) and total - counts[name][kind] >= _OTHER * total
    }


def fold_signs(lines: Sequence[str], sources: Sequence[str], kinds: Kinds) -> tuple[str, ...]:
    """Return lines with their signs in other kinds, and without invisible characters.

    Args:
        lines: N lines.
        sources: N lines that they correct.
        kinds: the kind of each class to be folded.
    """
    return tuple(
        _folded(line, source, kinds) if _ANY.search(line) or not line.isascii() else line
        for line, source in zip(lines, sources, strict=True)
    )


def _folded(line: str, source: str, kinds: Kinds) -> str:
    line = _HIDDEN.sub("", line)
    here = kinds
    if not _IN_PLACE.isdisjoint(kinds):
        ours, theirs = count_signs([line]), count_signs([source])
        here = {
            name: kind
            for name, kind in kinds.items()
            if name not in _IN_PLACE or ours[name].total() == theirs[name].total()
        }
    open_marks = 0

    def written(match: re.Match[str]) -> str:
        nonlocal open_marks
        sign = _OF_GROUP[match.lastgroup or ""]
        kind = here.get(sign.of, sign.kind)
        if kind == sign.kind:
            return match[0]
        new = _OF_KIND[sign.of, kind]
        if sign.of == "punctuation":
            return match[0].translate(_WIDTHS[kind])
        if sign.of == "quotation marks":
            # A plain mark opens or closes by turns.
            opens = match[0] in _OPENING or (match[0] not in _CLOSING and not open_marks)
            open_marks = int(opens)
        else:
            after = line[match.end() : match.end() + 8]
            alone = match.start() == 0 or line[match.start() - 1].isspace()
            opens = match[0] in _OPENING or (
                alone and after[:1].isalpha() and not _ENGLISH_CLITIC.match(after)
            )
        return new.opening if opens else new.closing

    return _ANY.sub(written, line)

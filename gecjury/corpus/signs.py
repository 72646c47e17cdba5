r"""Forms of one sign that count as equal: quotation marks, apostrophes, dashes, ellipses, widths.

Language models write typographic signs where learners' texts have plain ones, or the reverse. To a
metric each of them would be an edit that nobody meant. So each class of signs is read as one
neutral sign, in every text alike: nothing depends on other lines, and nobody guesses which marks
open or close. Characters that nobody sees are left out.

Example:
    >>> as_text("He didn’t say “no”—he left…")
    'He didn\'t say "no"--he left...'
    >>> as_tokens("2 – 3 -- and")
    '2 - 3 - and'
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# The class of each sign is named in notes. Two apostrophes are one quotation mark, as in TeX. A
# long dash between words is `--`, which tokenisers separate from them; a hyphen they do not.
_FORMS = {
    "quotation marks": {"“”„‟«»״″❝❞「」｢｣『』〝〞〟＂": '"'},
    "apostrophes": {"’‘‛ʼʻ‹›‚׳′´`＇": "'"},
    "dashes": {"‐‑‒–−﹣－": "-", "—―⸺": "--", "〜～": "~"},
    "ellipses": {"…": "...", "‥": ".."},
    "punctuation in full width": dict(zip("，！？：；（）", ",!?:;()", strict=True)),
}
# Zero-width spaces, soft hyphens and marks of direction. Joiners stay: some scripts need them.
_HIDDEN = "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"

_CLASS_OF = {sign: name for name, forms in _FORMS.items() for signs in forms for sign in signs}
_PLAIN = str.maketrans(
    {sign: to for forms in _FORMS.values() for signs, to in forms.items() for sign in signs}
)
_WIDE = dict(zip(",!?:;()", "，！？：；（）", strict=True))
_SPECIAL = re.compile(f"[{_HIDDEN}{re.escape(''.join(_CLASS_OF))}]|''|--")
_UNSEEN = re.compile(f"[{_HIDDEN}]")
_ALONE = re.compile(r"(?<!\S)-{2,}(?!\S)|(?<=\d)-{2,}(?=\d)")
_LONG = re.compile("-{2,}")
_NARROW = re.compile(r"[,!?:;()]")


def has_forms(text: str) -> bool:
    """Return True if a text has a sign that is read as another one, or one that nobody sees."""
    return _SPECIAL.search(text) is not None


def as_text(line: str, *, wide: bool = False) -> str:
    """Return a line with plain signs, as judges, encoders and language models read it.

    Args:
        wide: write punctuation in full width, except within numbers, as Chinese and Japanese do.
    """
    if _SPECIAL.search(line):
        line = _UNSEEN.sub("", line).translate(_PLAIN).replace("''", '"')
        line = _LONG.sub("--", _ALONE.sub("-", line))
    return _NARROW.sub(_widened, line) if wide else line


def as_tokens(line: str) -> str:
    """Return a line with one sign for each class, as metrics compare tokens."""
    line = as_text(line)
    return _LONG.sub("-", line) if "--" in line else line


def _widened(match: re.Match[str]) -> str:
    near = match.string[max(0, match.start() - 1) : match.end() + 1]
    number = match[0] in ",:" and near[:1].isdigit() and near[-1:].isdigit()
    return match[0] if number else _WIDE[match[0]]


def other_forms(line: str, source: str) -> set[str]:
    """Return the classes of which a line has a form that its source line has not, but another."""
    ours, theirs = _forms_of(line), _forms_of(source)
    return {name for name, _ in ours - theirs} & {name for name, _ in theirs}


_PLAIN_CLASS = {'"': "quotation marks", "'": "apostrophes", "-": "dashes"}
_PLAIN_CLASS |= dict.fromkeys(_WIDE, "punctuation in full width")


def _forms_of(line: str) -> set[tuple[str, str]]:
    signs: Iterable[tuple[str, str]] = ((_class_of(sign), sign) for sign in set(line))
    forms = {(name, sign) for name, sign in signs if name}
    if "''" in line:
        forms.add(("quotation marks", "''"))
    if "..." in line:
        forms.add(("ellipses", "..."))
    return forms


def _class_of(sign: str) -> str:
    return _CLASS_OF.get(sign, "") or _PLAIN_CLASS.get(sign, "")

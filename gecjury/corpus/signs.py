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
from collections.abc import Iterable, Iterator

# The class of each sign, which notes name, by the sign that its forms are read as. A long dash
# between words is `--`, which tokenisers separate from them; a hyphen they do not.
_CLASS_OF = {
    **{'"': "quotation marks", "'": "apostrophes", "-": "dashes", "~": "dashes"},
    **{"...": "ellipses", "..": "ellipses"},
    **dict.fromkeys(",!?:;()", "widths of punctuation"),
}
_FORMS = {
    **{"“”„‟«»״″❝❞「」｢｣『』〝〞〟＂": '"', "’‘‛ʼʻ‹›‚׳′´`＇": "'"},
    **{"‐‑‒–−﹣－": "-", "—―⸺": "--", "〜～": "~", "…": "...", "‥": ".."},
    **dict(zip("，！？：；（）", ",!?:;()", strict=True)),
}
# Zero-width spaces, soft hyphens and marks of direction. Joiners stay: some scripts need them.
_HIDDEN = "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"

_PLAIN = str.maketrans({sign: plain for signs, plain in _FORMS.items() for sign in signs})
_WIDE = dict(zip(",!?:;()", "，！？：；（）", strict=True))
_ANY = re.escape("".join(_FORMS))
# Two apostrophes are one quotation mark, as in TeX.
_SPECIAL = re.compile(f"[{_HIDDEN}{_ANY}]|''|--")
_FORM = re.compile(rf"''|--+|\.\.\.|[{_ANY}\"'~,!?:;()-]")
_UNSEEN = re.compile(f"[{_HIDDEN}]")
_ALONE = re.compile(r"(?<!\S)-{2,}(?!\S)|(?<=\d)-{2,}(?=\d)")
_LONG = re.compile("-{2,}")
_NARROW = re.compile(r"[,!?:;()]")


def has_forms(text: str) -> bool:
    """Return True if a text has a sign that is read as another one, or one that nobody sees."""
    if text.isascii():  # as most texts are: several times as fast as the expression
        return "''" in text or "--" in text or "`" in text
    return _SPECIAL.search(text) is not None


def special_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that reading signs or composing letters may change: few of most texts."""
    for line in lines:
        # `has_forms` of plain letters, where single signs, which are found faster, come first.
        twice = ("'" in line and "''" in line) or ("-" in line and "--" in line)
        if twice or "`" in line or not line.isascii():
            yield line


def as_text(line: str, *, wide: bool = False) -> str:
    """Return a line with plain signs, as judges, encoders and language models read it.

    Args:
        wide: write punctuation in full width, except within numbers, as Chinese and Japanese do.
    """
    if has_forms(line):
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
    """Return the classes of which a line has a form of a sign where its source has another."""
    theirs = _forms_of(source)
    return {
        _CLASS_OF[plain]
        for plain, forms in _forms_of(line).items()
        if forms - theirs.get(plain, forms)
    }


def _forms_of(line: str) -> dict[str, set[str]]:
    """Return the forms of signs in a line, by the sign that each is read as."""
    forms: dict[str, set[str]] = {}
    for form in set(_FORM.findall(line)):
        forms.setdefault(as_tokens(form), set()).add(form)
    return forms

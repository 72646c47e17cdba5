"""English words and punctuation as the field's English benchmarks write them.

CoNLL-2014, JFLEG, GMEG and FCE follow the Penn Treebank: `do n't`, `students '`, `etc .` at the end
of a line. Unlike spaCy's rules, theirs leave hyphens, slashes and `cannot` alone. Of the sources of
these benchmarks, written without spaces before punctuation, these rules give back 97 to 99.7% of
the lines, spaCy's 82 to 96% (`python tools/make_damaged_texts.py DATA --tokens`).
"""

from __future__ import annotations

import re
from functools import lru_cache

_CLITIC = r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))"
_STANDS = re.compile(rf"(?:{_CLITIC}|['’](?:em|til|cause|tis|twas|\d\ds?))", re.IGNORECASE)
_ENDS_IN_CLITIC = re.compile(rf"(.*?[^\W\d_])({_CLITIC})", re.IGNORECASE)

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.[\w.]+", re.IGNORECASE)
_AFTER_ADDRESS = re.compile(r"[.,;:!?)\"'”’]*$")

# Not an apostrophe: the benchmarks have `'normal '`, and `'tis` is one token anyway.
_OPENING = re.compile(r"``|''|--+|\.\.+|[\"“”«»„(\[{<$£€#…‒–—*`]")
_CLOSING = re.compile(r"(?:''|``|--+|\.\.\.+|!!+|\?\?+|[\"'“”‘’«»)\]}>,;:!?%…‒–—*`])$")
# Dashes between two words. Other signs there ("end.The") are a writer's error, not a convention.
_INNER = re.compile(r"(?<=\w)(--+|[‒–—…]|\.\.\.+)(?=\w)")

# Words that keep their full stop, except at the end of a line.
_ABBREVIATION = re.compile(
    r"(?:(?:[^\W\d]\.)*[^\W\d]|\S+\.|approx|apr|aug|capt|co|col|corp|dec|dept|dr|est|etc|feb|fig"
    r"|gen|gov|hon|inc|jan|jr|jul|jun|lt|ltd|mar|mrs?|ms|nov|oct|ph\.d|prof|rev|sept|sgt|sr|st|vs)\.",
    re.IGNORECASE,
)


def english_tokens(text: str) -> list[str]:
    """Return the tokens of an English line."""
    pieces = text.split()
    tokens = [token for piece in pieces for token in _split(piece)]
    # The full stop at the end of a line ends the sentence, even after an abbreviation.
    if tokens and len(last := tokens[-1]) > 1 and last.endswith(".") and last.strip("."):
        tokens[-1:] = [last[:-1], "."]
    return tokens


@lru_cache(maxsize=100_000)
def _split(piece: str) -> tuple[str, ...]:
    """Return the tokens of a piece of text without white space."""
    if piece.isalnum():
        return (piece,)
    if _ADDRESS.match(piece) and (rest := _AFTER_ADDRESS.search(piece)) and rest.start():
        return (piece[: rest.start()], *(_split(rest[0]) if rest[0] else ()))
    before: list[str] = []
    after: list[str] = []
    while not _STANDS.fullmatch(piece):
        sign = _OPENING.match(piece)
        if not sign or sign.end() == len(piece):
            break
        before.append(sign[0])
        piece = piece[sign.end() :]
    while not _STANDS.fullmatch(piece):
        if (sign := _CLOSING.search(piece)) and sign.start():
            after.append(sign[0])
        elif piece.endswith(".") and len(piece) > 1 and not keeps_stop(piece):
            after.append(".")
        elif word := _ENDS_IN_CLITIC.fullmatch(piece):
            after.append(word[2])
        else:
            break
        piece = piece[: -len(after[-1])]
    parts = [part for part in _INNER.split(piece) if part]
    if len(parts) > 1:
        parts = [token for part in parts for token in _split(part)]
    return (*before, *parts, *reversed(after))


def keeps_stop(word: str) -> bool:
    """Return True for abbreviations and initials, whose full stop ends no sentence."""
    return bool(_ABBREVIATION.fullmatch(word))


_ATTACHED = re.compile(
    rf"(?<=\S) (?=(?:[.,;:!?%)\]}}…]+|{_CLITIC}|'|’)(?:[\s\])}}→.,;:!?]|$))", re.IGNORECASE
)
_AFTER_OPENING = re.compile(r"(?<=[(\[{$£€#“«„]) (?=\S)")
_QUOTATION = re.compile(r"\" ([^\"]*?) \"")


def english_text(tokens: str) -> str:
    """Return tokens, perhaps with marks of edits, as they are usually written."""
    return _AFTER_OPENING.sub("", _QUOTATION.sub(r'"\1"', _ATTACHED.sub("", tokens)))

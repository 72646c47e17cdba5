"""A tolerant reader of JSON objects inside prose: comments, trailing commas, loose quotes.

Unlike a JSON parser, it keeps every value of a repeated key, because it must not choose between two
scores that a reply gives, and it reports whether the text ends inside an object.

Its running time is linear in the length of the text, whatever the text is: there is a limit on how
often text is read again because what surrounds it turned out not to be an object.

It does not use json-repair, which keeps the last value of a repeated key and the last of several
objects with the same keys, and completes truncated text: a 15 cut off after its 1 would count as a
score of 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress

Value = str | float | int | bool | None | list["Value"] | Mapping[str, list["Value"]]

# Blanks, and comments that end with their line. The quantifiers for skipped and quoted text are
# possessive (`+`), because backtracking on a hostile text would take forever.
_SKIPPED = re.compile(r"(?:\s|(?:#|//)[^\n]*+)*+")
_STRINGS = {
    '"': re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL),
}
_BARE = re.compile(r"[^\s,:{}\[\]\"'`]+")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 10  # levels of objects and lists that a reply may nest
# How often each character of a long text may be read, on average, and how many of any text: a
# second at most. A brace in an object or a string is read again if what surrounds it is not an
# object.
_READINGS = 3
_FEWEST = 1_500_000


class TooTangled(Exception):
    """A text has so many unmatched braces and quotes that it is not read to its end."""


class _InvalidJSON(Exception):
    """No object can be read here."""


class _Cut(_InvalidJSON):
    """The text ends inside an object."""


class _Odd(_InvalidJSON):
    """The text here is not an object."""


def read_objects(
    text: str, *, strict: bool = False
) -> tuple[list[Mapping[str, list[Value]]], bool]:
    """Return the outermost objects of a text, and whether the text ends inside one.

    Args:
        text: a reply.
        strict: return no objects if any brace in the text does not open or close one. An object
            that contains unescaped quotation marks is then never read from its middle.

    Returns:
        Each object as a mapping from key to all values given for it, in order; braces that do not
        open an object, e.g. in prose, are skipped.

    Raises:
        TooTangled: too much of the text would have to be read again.
    """
    objects: list[Mapping[str, list[Value]]] = []
    reader = _JSONReader(text)
    at = text.find("{")
    cut, end = False, 0
    while at >= 0:
        if strict and "}" in text[end:at]:
            return [], False
        try:
            objects.append(reader.read(at))
            end = reader.at
            at = text.find("{", end)
        except _InvalidJSON as failure:
            cut |= isinstance(failure, _Cut)
            if strict:
                return [], cut
            at = text.find("{", at + 1)
    return ([], False) if strict and "}" in text[end:] else (objects, cut)


class _JSONReader:
    """Reads one object after another."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._left = max(_READINGS * len(text), _FEWEST)

    def read(self, at: int) -> Mapping[str, list[Value]]:
        """Return the object that begins at a brace, and move `self.at` past it.

        Raises:
            _Odd: there is no object, or it has more than `_DEEPEST` levels.
            _Cut: the text ends before it does.
        """
        self.at = at
        return self._object(1)

    def _object(self, level: int) -> Mapping[str, list[Value]]:
        values: dict[str, list[Value]] = {}
        self.at += 1
        while (first := self._peek()) != "}":
            if first == "," and values:
                self.at += 1
                continue
            key = self._string(first) if first in "\"'" else self._bare()
            if self._peek() != ":":
                raise _Odd
            self.at += 1
            values.setdefault(key, []).append(self._value(level))
        self.at += 1
        return values

    def _list(self, level: int) -> list[Value]:
        values: list[Value] = []
        self.at += 1
        while (first := self._peek()) != "]":
            if first == ",":
                self.at += 1
            else:
                values.append(self._value(level))
        self.at += 1
        return values

    def _value(self, level: int) -> Value:
        """Return the next value of an object or list at a level of nesting."""
        first = self._peek()
        if first in "{[":
            if level == _DEEPEST:
                raise _Odd
            return self._object(level + 1) if first == "{" else self._list(level + 1)
        if first in "\"'":
            return self._string(first)
        word = self._bare()
        if self.at >= len(self.text):
            raise _Cut  # the rest of a number or word may be missing
        return _read_word(word)

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise TooTangled

    def _peek(self) -> str:
        """Return the next character that is neither blank nor comment."""
        while True:
            start = self.at
            skipped = _SKIPPED.match(self.text, start)
            assert skipped is not None  # it may be empty
            self.at = skipped.end()
            self._spend(self.at - start + 1)
            if self.at >= len(self.text):
                raise _Cut
            if not self.text.startswith("/*", self.at):
                return self.text[self.at]
            end = self.text.find("*/", self.at + 2)
            self._spend((end if end >= 0 else len(self.text)) - self.at)
            if end < 0:
                return "/"
            self.at = end + 2

    def _string(self, quote: str) -> str:
        match = _STRINGS[quote].match(self.text, self.at)
        self._spend((match.end() if match else len(self.text)) - self.at)
        if match is None:
            raise _Cut
        self.at = match.end()
        text = _ESCAPED.sub(_unescaped, match[0][1:-1])
        # Two escapes may be the halves of one character.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _bare(self) -> str:
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise _Odd
        self._spend(match.end() - self.at)
        self.at = match.end()
        return match[0]


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _ESCAPE.get(escape[2], escape[2])


def _read_word(word: str) -> str | float | int | bool | None:
    """Return a constant, a finite number, or the word itself."""
    constants = {"true": True, "false": False, "null": None, "none": None}
    if word.lower() in constants:
        return constants[word.lower()]
    with suppress(ValueError):
        return int(word)
    with suppress(ValueError):
        return float(word) if math.isfinite(float(word)) else word
    return word

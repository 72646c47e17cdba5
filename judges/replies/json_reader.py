"""A tolerant reader of JSON objects inside prose: comments, trailing commas, loose quotes.

Unlike a JSON parser, it keeps every value of a repeated key, because it must not choose between two
scores that a reply gives, and it reports whether the text ends inside an object.

Its running time is linear in the length of the text, whatever the text is. The object at a brace is
read once, however many objects surround it, and there is a limit on text that is read again
nevertheless (braces inside strings, strings and comments without an end).

It does not use json-repair, which keeps the last value of a repeated key and the last of several
objects with the same keys, and completes truncated text: a 15 cut off after its 1 would count as a
score of 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

Value = str | float | int | bool | None | list["Value"] | Mapping[str, list["Value"]]

# Blanks, and comments that end with their line. The quantifiers for skipped and quoted text are
# possessive (`+`), because backtracking on a hostile text would take forever.
_SKIPPED = re.compile(r"(?:\s|(?:#|//)[^\n]*+)*+")
_STRINGS = {
    '"': re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL),
}
_BARE = re.compile(r"[^\s,:{}\[\]\"'`]+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 20  # levels of objects and lists that a reply may nest
# How often each character of a text may be read, on average. Nested objects are read once; a brace
# inside a string is read again if what surrounds it turns out not to be an object.
_READINGS = 8
_FEWEST = 10_000


class TooTangled(Exception):
    """A text has so many unmatched braces and quotes that it is not read to its end."""


class _Failure(Exception):
    """No object can be read here."""


class _Cut(_Failure):
    """The text ends inside an object."""


class _Odd(_Failure):
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
    reader = _Reader(text)
    at = text.find("{")
    cut, end = False, 0
    while at >= 0:
        if strict and "}" in text[end:at]:
            return [], False
        try:
            objects.append(reader.read(at))
            end = reader.at
            at = text.find("{", end)
        except _Failure as failure:
            cut |= isinstance(failure, _Cut)
            if strict:
                return [], cut
            at = text.find("{", at + 1)
    return ([], False) if strict and "}" in text[end:] else (objects, cut)


@dataclass(slots=True)
class _Container:
    """An object or a list that is being read or has been read.

    Attributes:
        start: position of its opening bracket.
        end: position after the closing bracket.
        levels: levels of nesting, including its own.
        key: the key of an object that was read last.
    """

    start: int
    value: list[Value] | dict[str, list[Value]]
    end: int = 0
    levels: int = 1
    key: str = ""

    def add(self, value: Value) -> None:
        """Add the next value; in an object, under the key read last."""
        if isinstance(self.value, dict):
            self.value.setdefault(self.key, []).append(value)
        else:
            self.value.append(value)


class _Reader:
    """Reads one object after another."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._left = max(_READINGS * len(text), _FEWEST)
        # The outcome of reading each object, by the position of its brace.
        self._read: dict[int, _Container | type[_Failure]] = {}

    def read(self, at: int) -> Mapping[str, list[Value]]:
        """Return the object that begins at a brace, and move `self.at` past it.

        Raises:
            _Odd: there is no object, or it has more than `_DEEPEST` levels.
            _Cut: the text ends before it does.
        """
        if at not in self._read:
            self._read_nested(at)
        outcome = self._read[at]
        if not isinstance(outcome, _Container):
            raise outcome
        if outcome.levels > _DEEPEST:
            raise _Odd
        self.at = outcome.end
        assert isinstance(outcome.value, dict)  # it begins with a brace
        return outcome.value

    def _read_nested(self, start: int) -> None:
        """Read an object and all objects in it, and record the outcome of each.

        The outcome depends only on the text after the object's brace. So an object that was
        already read is not read again, and one that fails makes all objects around it fail.
        """
        self.at = start + 1
        around = [_Container(start, {})]  # the containers that are open, the innermost last
        try:
            while around:
                self._step(around)
        except _Failure as failure:
            for container in around:
                if isinstance(container.value, dict):
                    self._read[container.start] = type(failure)

    def _step(self, around: list[_Container]) -> None:
        """Read the next value of the innermost container, or its end."""
        inner = around[-1]
        is_object = isinstance(inner.value, dict)
        first = self._peek()
        if first == ("}" if is_object else "]"):
            self._close(around)
            return
        if first == "," and (inner.value or not is_object):
            self.at += 1
            return
        if is_object:
            inner.key = self._string(first) if first in "\"'" else self._bare()
            if self._peek() != ":":
                raise _Odd
            self.at += 1
            first = self._peek()
        if first not in "{[":
            inner.add(self._scalar(first))
            return
        earlier = self._read.get(self.at) if first == "{" else None
        if earlier is None:
            container = _Container(self.at, {} if first == "{" else [])
            inner.add(container.value)
            around.append(container)
            self.at += 1
        elif isinstance(earlier, _Container):
            inner.add(earlier.value)
            inner.levels = max(inner.levels, earlier.levels + 1)
            self.at = earlier.end
        else:
            raise earlier

    def _close(self, around: list[_Container]) -> None:
        container = around.pop()
        self.at += 1
        container.end = self.at
        if isinstance(container.value, dict):
            self._read[container.start] = container
        if around:
            around[-1].levels = max(around[-1].levels, container.levels + 1)

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

    def _scalar(self, first: str) -> Value:
        """Read a string, a number or a word."""
        if first in "\"'":
            return self._string(first)
        word = self._bare()
        if self.at >= len(self.text):
            raise _Cut  # the rest of a number or word may be missing
        return _read_word(word)

    def _string(self, quote: str) -> str:
        match = _STRINGS[quote].match(self.text, self.at)
        self._spend((match.end() if match else len(self.text)) - self.at)
        if match is None:
            raise _Cut
        self.at = match.end()
        return _ESCAPED.sub(lambda escape: _ESCAPE.get(escape[1], escape[1]), match[0][1:-1])

    def _bare(self) -> str:
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise _Odd
        self._spend(match.end() - self.at)
        self.at = match.end()
        return match[0]


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

"""A tolerant reader of JSON objects inside prose: comments, trailing commas, loose quotes.

Unlike a JSON parser it keeps every value of a repeated key, because a reply that gives a score
twice must not have one of them chosen for it, and it says whether the text ends inside an object.

Its time grows with the length of the text, whatever stands there: strings and comments are
stepped over without being read, and braces that lead nowhere are tried again within bounds only.

Not json-repair, which keeps the last value of a repeated key and the last of objects with the same
keys, and completes what was cut off: a score of 1 that was to be 15 would count.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_left
from collections.abc import Mapping

__all__ = ["TooTangled", "Value", "read_objects"]

Value = str | float | int | bool | None | list["Value"] | Mapping[str, list["Value"]]

_WHITE = re.compile(r"\s*")
_BARE = re.compile(r"[^\s,:{}\[\]\"'`]+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 20
# How often each character of a text is read, on average: once for each object around it that
# turns out to be none. Eight unfinished objects around each other are no answer of a model's.
_READINGS = 8
_FEWEST = 10_000


class TooTangled(Exception):
    """So many braces lead nowhere that a text is not read to its end."""


class _Cut(Exception):
    """The text ends inside an object."""


class _Odd(Exception):
    """What stands here is not an object."""


def read_objects(text: str) -> tuple[list[Mapping[str, list[Value]]], bool]:
    """The outermost objects of a text, and whether the text ends inside one.

    Returns:
        Each object as key → all values given for it, in order; braces that open no object (in
        prose, say) are passed over.

    Raises:
        TooTangled: see there; no text of a few thousand characters is.
    """
    found: list[Mapping[str, list[Value]]] = []
    reader = _Reader(text)
    at = text.find("{")
    cut = False
    while at >= 0:
        try:
            found.append(reader.read(at))
            at = text.find("{", reader.at)
        except _Cut:
            cut = True
            at = text.find("{", at + 1)
        except _Odd:
            at = text.find("{", at + 1)
    return found, cut


class _Span:
    """A string that was stepped over: where its text begins and ends."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


# Values as they are read first. Objects are lists of keys and values, so that strings are made of
# spans only where an object is whole: each piece of the text is then copied once.
class _Raw:
    """An object before its strings are made."""

    __slots__ = ("pairs",)

    def __init__(self) -> None:
        self.pairs: list[tuple[_Span | str, _Part]] = []


_Part = _Span | str | float | int | bool | None | list["_Part"] | _Raw


class _Reader:
    """Reads one value after the other from a position on."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self._depth = text, 0, 0
        self._left = max(_READINGS * len(text), _FEWEST)

    def read(self, at: int) -> Mapping[str, list[Value]]:
        """The object that begins at a brace; `at` stands behind it then."""
        self.at, self._depth = at, 0
        return self._made(self._object().pairs)

    def _object(self) -> _Raw:
        self._deeper()
        self.at += 1
        record = _Raw()
        while (first := self._peek()) != "}":
            if first == "," and record.pairs:
                self.at += 1
                continue
            key = self._string(first) if first in "\"'" else self._bare()
            if self._peek() != ":":
                raise _Odd
            self.at += 1
            record.pairs.append((key, self._value()))
        self.at += 1
        self._depth -= 1
        return record

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Odd

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise TooTangled

    def _peek(self) -> str:
        """The next character that is neither blank nor comment."""
        text = self.text
        while True:
            start = self.at
            white = _WHITE.match(text, start)
            assert white is not None
            self.at = white.end()
            self._spend(self.at - start + 1)
            if self.at >= len(text):
                raise _Cut
            here = text[self.at]
            if here == "#" or text.startswith("//", self.at):
                self.at = _next(self._line_ends, self.at, len(text))
            elif here == "/" and text.startswith("/*", self.at):
                end = _next(self._comment_ends, self.at + 2, -1)
                if end < 0:
                    return here
                self.at = end + 2
            else:
                return here

    def _value(self) -> _Part:
        first = self._peek()
        if first == "{":
            return self._object()
        if first == "[":
            return self._list()
        if first in "\"'":
            return self._string(first)
        word = self._bare()
        if self.at >= len(self.text):
            raise _Cut  # the rest of a number or word may be missing
        return _read_word(word)

    def _list(self) -> list[_Part]:
        self._deeper()
        self.at += 1
        values: list[_Part] = []
        while (first := self._peek()) != "]":
            if first == ",":
                self.at += 1
                continue
            values.append(self._value())
        self.at += 1
        self._depth -= 1
        return values

    def _string(self, quote: str) -> _Span:
        start = self.at + 1
        ends = self._double_ends if quote == '"' else self._single_ends
        end = ends[start] if start < len(ends) else -1
        if end < 0:
            raise _Cut
        self.at = end + 1
        return _Span(start, end)

    def _bare(self) -> str:
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise _Odd
        self._spend(match.end() - self.at)
        self.at = match.end()
        return match[0]

    def _made(self, pairs: list[tuple[_Span | str, _Part]]) -> Mapping[str, list[Value]]:
        record: dict[str, list[Value]] = {}
        for key, value in pairs:
            name = self._text(key) if isinstance(key, _Span) else key
            record.setdefault(name, []).append(self._made_value(value))
        return record

    def _made_value(self, part: _Part) -> Value:
        if isinstance(part, _Raw):
            return self._made(part.pairs)
        if isinstance(part, _Span):
            return self._text(part)
        return [self._made_value(value) for value in part] if isinstance(part, list) else part

    def _text(self, span: _Span) -> str:
        return _ESCAPED.sub(_unescaped, self.text[span.start : span.end])

    @functools.cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    @functools.cached_property
    def _comment_ends(self) -> list[int]:
        return [match.start() for match in re.finditer(r"\*/", self.text)]

    @functools.cached_property
    def _double_ends(self) -> list[int]:
        return _string_ends(self.text, '"')

    @functools.cached_property
    def _single_ends(self) -> list[int]:
        return _string_ends(self.text, "'")


def _next(places: list[int], at: int, otherwise: int) -> int:
    """The first of sorted places that is not before `at`."""
    number = bisect_left(places, at)
    return places[number] if number < len(places) else otherwise


def _string_ends(text: str, quote: str) -> list[int]:
    """Of each character: where a string that goes on there ends; -1 where it never does.

    Strings may begin at any quotation mark, and which later one ends them depends on the
    backslashes between: from the back, every character's answer follows from those behind it.
    """
    ends = [-1] * (len(text) + 2)
    end = -1
    for at in range(len(text) - 1, -1, -1):
        here = text[at]
        if here == quote:
            end = at
        elif here == "\\":
            end = ends[at + 2]
        ends[at] = end
    return ends


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPE.get(match[1], match[1])


def _read_word(word: str) -> str | float | int | bool | None:
    """A constant, a finite number, or the word itself."""
    constants = {"true": True, "false": False, "null": None, "none": None}
    if word.lower() in constants:
        return constants[word.lower()]
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        return word
    return number if math.isfinite(number) else word

"""A tolerant reader of JSON objects inside prose: comments, trailing commas, loose quotes.

Unlike a JSON parser it keeps every value of a repeated key, because a reply that gives a score
twice must not have one of them chosen for it, and it says whether the text ends inside an object.

Not json-repair, which keeps the last value of a repeated key and the last of objects with the same
keys, and completes what was cut off: a score of 1 that was to be 15 would count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

__all__ = ["Value", "read_objects"]

Value = str | float | int | bool | None | list["Value"] | Mapping[str, list["Value"]]

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)+", re.DOTALL)
_BARE = re.compile(r"[^\s,:{}\[\]\"'`]+")
_ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 20


class _Cut(Exception):
    """The text ends inside an object."""


class _Odd(Exception):
    """What stands here is not an object."""


def read_objects(text: str) -> tuple[list[Mapping[str, list[Value]]], bool]:
    """The outermost objects of a text, and whether the text ends inside one.

    Returns:
        Each object as key → all values given for it, in order; braces that open no object (in
        prose, say) are passed over.
    """
    found: list[Mapping[str, list[Value]]] = []
    at = text.find("{")
    cut = False
    while at >= 0:
        reader = _Reader(text, at)
        try:
            found.append(reader.object())
            at = text.find("{", reader.at)
        except _Cut:
            cut = True
            at = text.find("{", at + 1)
        except _Odd:
            at = text.find("{", at + 1)
    return found, cut


class _Reader:
    """Reads one value after the other from a position on."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self._depth = text, at, 0

    def object(self) -> Mapping[str, list[Value]]:
        self._deeper()
        self.at += 1
        record: dict[str, list[Value]] = {}
        while self._peek() != "}":
            if self._peek() == "," and record:
                self.at += 1
                continue
            key = self._key()
            if self._peek() != ":":
                raise _Odd
            self.at += 1
            record.setdefault(key, []).append(self._value())
        self.at += 1
        self._depth -= 1
        return record

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Odd

    def _peek(self) -> str:
        """The next character that is neither blank nor comment."""
        if blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()
        if self.at >= len(self.text):
            raise _Cut
        return self.text[self.at]

    def _key(self) -> str:
        first = self._peek()
        if first in "\"'":
            return self._string(first)
        return self._bare()

    def _value(self) -> Value:
        first = self._peek()
        if first == "{":
            return self.object()
        if first == "[":
            return self._list()
        if first in "\"'":
            return self._string(first)
        word = self._bare()
        if self.at >= len(self.text):
            raise _Cut  # the rest of a number or word may be missing
        return _read_word(word)

    def _list(self) -> list[Value]:
        self._deeper()
        self.at += 1
        values: list[Value] = []
        while self._peek() != "]":
            if self._peek() == ",":
                self.at += 1
                continue
            values.append(self._value())
        self.at += 1
        self._depth -= 1
        return values

    def _string(self, quote: str) -> str:
        parts: list[str] = []
        at = self.at + 1
        while True:
            if at >= len(self.text):
                raise _Cut
            character = self.text[at]
            if character == quote:
                self.at = at + 1
                return "".join(parts)
            if character == "\\" and at + 1 < len(self.text):
                at += 1
                character = _ESCAPE.get(self.text[at], self.text[at])
            parts.append(character)
            at += 1

    def _bare(self) -> str:
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise _Odd
        self.at = match.end()
        return match[0]


def _read_word(word: str) -> Value:
    constants: dict[str, Value] = {"true": True, "false": False, "null": None, "none": None}
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

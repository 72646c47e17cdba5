"""Mutations of valid bytes, lines and trees: the same seed always gives the same mutation."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from random import Random
from typing import Any

HOSTILE = (
    "", " ", "\t", "\0", "a\0b", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://x.invalid\x1b\\",
    "\r", "a\rb", "a\nb", "\x07", "\x7f", "\x85", "\x9b31m", "\u2028", "\u202etxt.exe", "\u200b",
    "\ufeff", "\ud800", "\udcff", "e\u0301", "👍🏽", "ﬀ", "１２", "١٢", "²", "½", "ⅷ",
    "nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "0", "-0", "-1", "1.5",
    "1e3", "0x10", "1_000", "+1", "1,5", "true", "null", "None", "9" * 25, "9" * 5000,
    "100000000000000000000", "2147483648", "9223372036854775808", "%s%n", "{}", "{0.__class__}",
    "{{7*7}}", "{% for %}", "=1+1", "'", '"', "`", "|", "|||", ",", ";", ":", "=", "@", "#", "*",
    "\\", "\\input{/etc/passwd}", "<script>alert(1)</script>", "[a](javascript:alert(1))",
    "&amp;", "-", "--", "-o", "--help", "a" * 300, "a " * 200, "[" * 60, "{" * 60, "日本語",
)  # fmt: skip
"""Replacements for a word, a cell or a value."""

PATHS = (
    "..", ".", "/", "../../stray", "../outside", "/tmp/gecjury-fuzz-stray", "~/stray", "$HOME",
    "a/../../../stray", "//stray", "C:\\stray", "CON", "/dev/zero", "/dev/stdin", "/proc/self/mem",
    "file:///etc/passwd", "http://127.0.0.1:9/", "https://example.invalid/x", "stray\0.txt",
    "/*", "**/*", "a" * 260, "/".join("a" * 60), "-", "",
)  # fmt: skip
"""Replacements for a file name."""

_NUMBERS = (
    0, 1, -1, 2, 10, 11, 1.5, -0.0, 1e308, 1e-320, float("nan"), float("inf"), float("-inf"),
    2**31, 2**63, 2**64, 10**20, 10**400, -(10**20), 255, 256, 65536, 1_000_000,
)  # fmt: skip
_BYTES = (
    b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf",
    b"\x1b[2J", b"\r", b"\r\n", b"\n\n", b"\x85", b"\xc2\x9b", b"\xe2\x80\xae", b"\x1f\x8b",
    b"PK\x03\x04",
)  # fmt: skip


def dumps(value: Any) -> bytes:
    """Serialise JSON, including invalid values: halves of surrogate pairs, NaN."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Mutator:
    """Mutations drawn from one generator.

    Attributes:
        rng: the source of all randomness.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def word(self) -> str:
        """Return a hostile word."""
        return self.rng.choice(PATHS if self.rng.random() < 0.15 else HOSTILE)

    def flat(self, data: bytes) -> bytes:
        """Apply one to three mutations that ignore the meaning of the bytes."""
        ops: tuple[Callable[[bytes], bytes], ...] = (
            self._flip, self._cut, self._drop, self._repeat, self._splice, self._insert,
            self._swap_numbers, self._ends, self._whole,
        )  # fmt: skip
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            data = self.rng.choice(ops)(data)
        return data

    def _span(self, data: bytes) -> tuple[int, int]:
        a, b = sorted(self.rng.randrange(len(data) + 1) for _ in range(2))
        return a, b

    def _flip(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.rng.randint(1, 8)):
            if changed:
                changed[self.rng.randrange(len(changed))] = self.rng.randrange(256)
        return bytes(changed)

    def _cut(self, data: bytes) -> bytes:
        return data[: self.rng.randrange(len(data) + 1)]

    def _drop(self, data: bytes) -> bytes:
        a, b = self._span(data)
        return data[:a] + data[min(b, a + 20) :]

    def _repeat(self, data: bytes) -> bytes:
        a, b = self._span(data)
        return data[:b] + data[a:b] * self.rng.choice((1, 1, 2, 30)) + data[b:]

    def _splice(self, data: bytes) -> bytes:
        a, b = self._span(data)
        at = self.rng.randrange(len(data) + 1)
        return data[:at] + data[a:b] + data[at:]

    def _insert(self, data: bytes) -> bytes:
        what = self.rng.choice(_BYTES) if self.rng.random() < 0.5 else _encoded(self.word())
        at = self.rng.randrange(len(data) + 1)
        return data[:at] + what * self.rng.choice((1, 1, 1, 3, 200)) + data[at:]

    def _swap_numbers(self, data: bytes) -> bytes:
        places = [i for i, c in enumerate(data) if 48 <= c <= 57]
        if not places:
            return self._insert(data)
        at = self.rng.choice(places)
        return data[:at] + _encoded(self.rng.choice(HOSTILE[30:60])) + data[at + 1 :]

    def _ends(self, data: bytes) -> bytes:
        new = self.rng.choice((b"\r\n", b"\r", b"\n\n", b"", b"\x0b", b"\xe2\x80\xa8"))
        return data.replace(b"\n", new)

    def _whole(self, data: bytes) -> bytes:
        kind = self.rng.randrange(7)
        if kind == 0:
            return b""
        if kind == 1:
            return b"\n" * self.rng.choice((1, 3, 4, 100))
        if kind == 2:
            return b"\xef\xbb\xbf" + data
        if kind == 3:
            packed = gzip.compress(data, mtime=0)
            return packed[: self.rng.choice((len(packed), len(packed) // 2, 5))]
        if kind == 4:
            return data.decode("utf-8", "replace").encode("utf-16")
        if kind == 5:
            return self.rng.randbytes(self.rng.choice((1, 20, 400)))
        return gzip.compress(bytes(self.rng.choice((10, 3_000_000))), mtime=0)

    def lines(self, data: bytes, separator: str = "") -> bytes:
        """Apply one to three mutations to lines, or to cells or words in them."""
        rows = data.decode("utf-8", "replace").split("\n")
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            at = self.rng.randrange(len(rows)) if rows else 0
            kind = self.rng.choice((0, 1, 2, 3, *range(4, 16))) if rows else 0
            if kind == 0:
                rows.insert(at, self.word())
            elif kind == 1:
                del rows[at]
            elif kind == 2:
                rows.insert(at, rows[at])
            elif kind == 3:
                other = self.rng.randrange(len(rows))
                rows[at], rows[other] = rows[other], rows[at]
            else:
                cut = separator or self.rng.choice((" ", " ", "|||", ",", "\t"))
                cells = rows[at].split(cut)
                place = self.rng.randrange(len(cells))
                change = self.rng.randrange(6)
                if change == 0:
                    del cells[place]
                elif change == 1:
                    cells.insert(place, cells[place])
                elif change == 2:
                    cells[place] = cells[place] * self.rng.choice((2, 50))
                elif change == 3 and self.rng.random() < 0.1:
                    cells[place] = "x" * 140_000
                else:
                    cells[place] = self.word()
                rows[at] = cut.join(cells)
        return "\n".join(rows).encode("utf-8", "surrogatepass")

    def tree(self, value: Any, paths: bool = False) -> Any:
        """Return a JSON value with one to three mutations of its contents.

        Args:
            value: stays unchanged; a copy is mutated.
            paths: whether its strings are likely to be file names.
        """
        whole = [copy.deepcopy(value)]
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            places = list(_places(whole))
            holder, key = self.rng.choice(places)
            old = holder[key]
            kind = self.rng.randrange(10)
            if kind == 0 and holder is not whole:
                del holder[key]
            elif kind == 1 and isinstance(holder, dict):
                holder[self.word()] = holder.pop(key)
            elif kind == 2 and isinstance(holder, list) and holder is not whole:
                holder.insert(self.rng.randrange(len(holder) + 1), copy.deepcopy(old))
            elif kind == 3:
                other, at = self.rng.choice(places)
                holder[key] = copy.deepcopy(other[at])
            elif kind == 4:
                holder[key] = self._typed(old)
            elif kind == 5 and isinstance(old, (int, float)):
                holder[key] = self.rng.choice(_NUMBERS)
            elif kind == 6 and isinstance(old, str):
                holder[key] = self.rng.choice(PATHS) if paths else self.word()
            elif kind == 7 and isinstance(old, str):
                holder[key] = old + self.word()
            else:
                holder[key] = self._value(paths)
        return whole[0]

    def _typed(self, old: Any) -> Any:
        choices = [None, [old], {"a": old}, str(old)[:200], True, [], {}, 0]
        return self.rng.choice(choices)

    def _value(self, paths: bool) -> Any:
        kind = self.rng.randrange(8)
        if kind == 0:
            deep: Any = 1
            for _ in range(self.rng.choice((3, 99, 150))):
                deep = [deep] if self.rng.random() < 0.5 else {"a": deep}
            return deep
        if kind in (1, 2):
            return self.rng.choice(_NUMBERS)
        if kind == 3:
            return self.rng.choice((None, True, False, [], {}, [[]], [None], {"": None}))
        return self.rng.choice(PATHS) if paths and kind == 4 else self.word()

    def document(self, value: Any, paths: bool = False) -> bytes:
        """Return a JSON document: mostly a mutated tree, sometimes with mutated text too."""
        roll = self.rng.random()
        if roll < 0.05:
            return b"[" * self.rng.choice((90, 120, 100_000))
        if roll < 0.25:
            return self.flat(dumps(value))
        changed = self.tree(value, paths)
        try:
            data = dumps(changed)
        except ValueError:  # a number with more digits than Python converts
            return dumps(value)[:-1] + b',"n":' + b"9" * 5000 + b"}"
        if roll < 0.3:
            data = data.replace(b'"', b'"\\ud800', 1)
        if roll < 0.35:
            data = self.flat(data)
        return data


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _places(value: Any) -> Any:
    """Yield every list or object within a value with each of its keys."""
    stack = [value]
    while stack:
        holder = stack.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, part in list(items):
            yield holder, key
            if isinstance(part, (dict, list)) and part:
                stack.append(part)

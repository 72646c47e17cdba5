"""Conditions over scores, as typed: `some >= .8 and changes <= 6`; parsed, never run as code.

    condition   conjunction ("or" conjunction)*
    conjunction negation ("and" negation)*
    negation    "not" negation | "(" condition ")" | value comparison value
    comparison  < <= > >= == !=
    value       a number, a name, or a name between backquotes

A name is of letters, digits, `_`, `.` and `-`; any other (`green:beta=1`) stands between
backquotes. A comparison with a score that is missing is neither true nor false, and neither is
what rests on it alone: `not a > 1` is no more fulfilled where `a` is missing than `a > 1` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gecjury.errors import OptionError, nearest

_Truth = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Where a condition is true, and where it is false; neither where it rests on missing scores."""

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_TOKEN = re.compile(
    r"(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<name>[^\W\d][\w.-]*)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<sign><=|>=|==|!=|<|>|\(|\)))"
)
_LONGEST = 10_000
_DEEPEST = 100


class _Token(NamedTuple):
    kind: str
    text: str
    begin: int
    end: int

    @property
    def column(self) -> int:
        """Where it begins, counted from 1."""
        return self.begin + 1


@dataclass(frozen=True)
class Condition:
    """A parsed condition.

    Attributes:
        text: as typed, blanks at its ends left out.
        names: of the scores that it reads, each once, in order.
        parts: what `and` joins at the top; a single one where nothing is.
    """

    text: str
    names: tuple[str, ...]
    parts: tuple[Condition, ...]
    _tree: Any = None
    _columns: Mapping[str, int] | None = None

    def check(self, known: Sequence[str], what: str = "score") -> None:
        """Refuse names that nothing is called.

        Args:
            known: names that there are.
            what: is named, for the message.

        Raises:
            OptionError: names the column of the text, and near names.
        """
        for name in self.names:
            if name not in known:
                column = (self._columns or {}).get(name, 1)
                raise OptionError(
                    f"condition {self.text!r:.200}, column {column}: no {what} is called "
                    f"{name!r:.60}: {nearest(name[:60], known)}"
                )

    def holds(self, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Where the condition is surely true.

        Args:
            columns: by name, numbers of one shape; NaN where a score is missing.

        Raises:
            KeyError: a name has no column; see `check`.
        """
        return _evaluate(self._tree, columns)[0]


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        OptionError: it cannot be read; says at which column of the text, and what was expected.
    """
    if len(text) > _LONGEST:
        raise OptionError(
            f"condition of {len(text)} characters; expected at most {_LONGEST} of them"
        )
    parser = _Parser(text)
    tree, parts = parser.whole()
    whole = text.strip()
    made = [Condition(part, tuple(_names(t)), (), t, parser.columns) for part, t in parts]
    single = Condition(whole, tuple(dict.fromkeys(_names(tree))), (), tree, parser.columns)
    return Condition(
        whole, single.names, tuple(made) if len(made) > 1 else (single,), tree, parser.columns
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._read())
        self._at = 0
        self._depth = 0
        self.columns: dict[str, int] = {}

    def _read(self) -> Iterator[_Token]:
        at, stop = 0, len(self._text.rstrip())
        while at < stop:
            at += len(self._text[at:]) - len(self._text[at:].lstrip())
            found = _TOKEN.match(self._text, at)
            if found is None:
                self._fail(at + 1, f"{self._text[at:]!r:.20} cannot be read")
                return
            kind = str(found.lastgroup)
            word = found[kind]
            if kind == "name" and word in ("and", "or", "not"):
                kind = "word"
            yield _Token("name" if kind == "quoted" else kind, word, at, found.end())
            at = found.end()
        yield _Token("end", "", stop, stop)

    def _fail(self, column: int, what: str) -> None:
        hint = ""
        rest = self._text[column - 1 :].lstrip()
        if rest[:1] == "=":
            hint = "; equality is written =="
        elif rest[:1] in ("&", "|", "!"):
            hint = "; write and, or, not"
        raise OptionError(
            f"condition {self._text.strip()!r:.200}, column {column}: {what}{hint}; expected e.g. "
            "some >= .8 and changes <= 6"
        )

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, kind: str, *texts: str) -> _Token | None:
        token = self._next
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self._at += 1
        return token

    def _between(self, first: int) -> str:
        """The text from a token to the one before the next."""
        return self._text[self._tokens[first].begin : self._tokens[self._at - 1].end]

    def whole(self) -> tuple[Any, list[tuple[str, Any]]]:
        """The tree, and the parts that `and` joins at the top with their texts."""
        tree, parts = self._condition()
        if self._next.kind != "end":
            self._fail(self._next.column, f"{self._next.text!r:.20} is not expected here")
        return tree, parts

    def _condition(self) -> tuple[Any, list[tuple[str, Any]]]:
        first = self._at
        tree, parts = self._conjunction()
        found = [tree]
        while self._take("word", "or"):
            found.append(self._conjunction()[0])
        if len(found) == 1:
            return tree, parts
        return ("or", found), [(self._between(first), ("or", found))]

    def _conjunction(self) -> tuple[Any, list[tuple[str, Any]]]:
        parts = [self._part()]
        while self._take("word", "and"):
            parts.append(self._part())
        if len(parts) == 1:
            return parts[0][1], parts
        return ("and", [tree for _, tree in parts]), parts

    def _part(self) -> tuple[str, Any]:
        first = self._at
        tree = self._negation()
        return self._between(first), tree

    def _negation(self) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(self._next.column, f"nested deeper than {_DEEPEST}")
        try:
            if self._take("word", "not"):
                return ("not", self._negation())
            if self._take("sign", "("):
                tree = self._condition()[0]
                if not self._take("sign", ")"):
                    self._fail(self._next.column, "a closing parenthesis is missing")
                return tree
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Any:
        left = self._value()
        sign = self._take("sign", *_COMPARISONS)
        if sign is None:
            self._fail(self._next.column, "a comparison (< <= > >= == !=) is missing")
            raise AssertionError  # for the types: the line above raises
        right = self._value()
        if (again := self._take("sign", *_COMPARISONS)) is not None:
            self._fail(
                again.column,
                "a second comparison; join two by `and`: 0 < a and a < 1, not 0 < a < 1",
            )
        if isinstance(left, float) and isinstance(right, float):
            self._fail(sign.column, "two numbers are compared; a score's name is missing")
        return (sign.text, left, right)

    def _value(self) -> str | float:
        if (token := self._take("number")) is not None:
            return float(token.text)
        if (token := self._take("name")) is not None:
            self.columns.setdefault(token.text, token.column)
            return token.text
        self._fail(self._next.column, "a score's name or a number is missing")
        raise AssertionError  # for the types: the line above raises


def _names(tree: Any) -> list[str]:
    sign, *rest = tree
    if sign in _COMPARISONS:
        return list(dict.fromkeys(value for value in rest if isinstance(value, str)))
    below = rest if sign == "not" else rest[0]
    return list(dict.fromkeys(name for part in below for name in _names(part)))


def _evaluate(tree: Any, columns: Mapping[str, Any]) -> _Truth:
    sign, *rest = tree
    if sign == "not":
        true, false = _evaluate(rest[0], columns)
        return false, true
    if sign in ("and", "or"):
        found = [_evaluate(part, columns) for part in rest[0]]
        true, false = found[0]
        for more_true, more_false in found[1:]:
            if sign == "and":
                true, false = true & more_true, false | more_false
            else:
                true, false = true | more_true, false & more_false
        return true, false
    left, right = (
        np.asarray(columns[v] if isinstance(v, str) else v, dtype=np.float64) for v in rest
    )
    known = ~(np.isnan(left) | np.isnan(right))
    outcome = _COMPARISONS[sign](left, right)
    return outcome & known, ~outcome & known

"""Conditions over scores, such as `some >= .8 and changes <= 6`; parsed, never run as code.

A condition consists of comparisons (`<`, `<=`, `>`, `>=`, `==`, `!=`) of scores with numbers or
with other scores, joined by `and`, `or`, `not` and parentheses, which bind as in Python.

A name consists of letters, digits, `_`, `.` and `-`; any other name (`green:beta=1`) is written in
backquotes. A comparison with a missing score is neither true nor false, and neither is an
expression that depends only on it: if `a` is missing, neither `a > 1` nor `not a > 1` is satisfied.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import BoolArray
from gecjury.core.errors import OptionError, nearest

_Truth = tuple[BoolArray, BoolArray]
"""Where a condition is true, and where it is false; neither if it depends on missing scores."""

_COMPARISONS: Mapping[type[ast.cmpop], np.ufunc] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
# A number, a name, or a name in backquotes; two values are never adjacent.
_VALUE = re.compile(
    r"(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[^\W\d][\w.-]*|`[^`]+`)"
    r"(?![\w.`+-])"
)
_WORD = re.compile(r"\b(?:and|or|not)\b")
_LONGEST = 10_000
_DEEPEST = 100


@dataclass(frozen=True)
class Condition:
    """A parsed condition.

    Attributes:
        text: the text as given, without blanks at its ends.
        tree: its structure; the names in it mark the places of values in the text.
    """

    text: str
    tree: ast.expr

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scores that are read, each once, in order."""
        return tuple(self._columns)

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The conditions that `and` joins at the top level; otherwise the condition itself."""
        return self._joined(ast.And, "and")

    @property
    def alternatives(self) -> tuple[Condition, ...]:
        """The conditions that `or` joins at the top level; otherwise the condition itself."""
        return self._joined(ast.Or, "or")

    def check(self, names: Sequence[str], what: str = "score") -> None:
        """Refuse names that no score has.

        Args:
            what: what the names refer to, for the message.

        Raises:
            OptionError: names the column of the text and similar names.
        """
        for name, column in self._columns.items():
            if name not in names:
                raise OptionError(
                    f"condition {self.text!r:.200}, column {column}: no {what} is called "
                    f"{name!r:.60}: {nearest(name[:60], names)}"
                )

    def holds(self, columns: Mapping[str, object]) -> BoolArray:
        """Return where the condition is definitely true.

        Args:
            columns: arrays of one shape, by name; NaN where a score is missing.

        Raises:
            KeyError: a name has no column; see `check`.
        """
        return self._truth(self.tree, columns)[0]

    @property
    def _columns(self) -> dict[str, int]:
        """The column of the text, from 1, at which each name occurs first."""
        values = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        columns: dict[str, int] = {}
        for node in sorted(values, key=lambda node: node.col_offset):
            if isinstance(value := _value(node, self.text), str):
                columns.setdefault(value, node.col_offset + 1)
        return columns

    def _joined(self, kind: type[ast.boolop], word: str) -> tuple[Condition, ...]:
        tree = self.tree
        if not isinstance(tree, ast.BoolOp) or not isinstance(tree.op, kind):
            return (self,)
        if "(" in self.text[: tree.col_offset]:  # in parentheses, it is one part
            return (self,)
        ends = [self.text.index(word, value.end_col_offset) for value in tree.values[:-1]]
        starts = [0, *(end + len(word) for end in ends)]
        return tuple(
            parse_condition(self.text[start:end])
            for start, end in zip(starts, [*ends, len(self.text)], strict=True)
        )

    def _truth(self, node: ast.expr, columns: Mapping[str, object]) -> _Truth:
        if isinstance(node, ast.UnaryOp):
            true, false = self._truth(node.operand, columns)
            return false, true
        if isinstance(node, ast.BoolOp):
            trues, falses = zip(*(self._truth(part, columns) for part in node.values), strict=True)
            if isinstance(node.op, ast.And):
                return np.logical_and.reduce(trues), np.logical_or.reduce(falses)
            return np.logical_or.reduce(trues), np.logical_and.reduce(falses)
        assert isinstance(node, ast.Compare)  # nothing else passes `_check`
        left, right = (
            np.asarray(columns[value] if isinstance(value, str) else value, dtype=np.float64)
            for value in (_value(side, self.text) for side in (node.left, *node.comparators))
        )
        # A comparison with a missing score is neither true nor false, nor is its negation.
        scored = ~(np.isnan(left) | np.isnan(right))
        outcome = _COMPARISONS[type(node.ops[0])](left, right)
        return outcome & scored, ~outcome & scored


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        OptionError: it cannot be parsed; names the column of the text, and what was expected.
    """
    if len(text) > _LONGEST:
        raise OptionError(
            f"condition has {len(text)} characters; expected at most {_LONGEST} of them"
        )
    text = text.strip()
    # Python's parser reads only the structure. Names and numbers, which may not be valid Python,
    # are replaced by identifiers of the same length, so that places in the tree are places in the
    # text.
    covered = _VALUE.sub(lambda m: m[0] if _WORD.fullmatch(m[0]) else "_" * len(m[0]), text)
    covered = re.sub(r"\s", " ", covered)
    rest = _WORD.sub(lambda m: " " * len(m[0]), covered)
    if strange := re.search(r"[^_ <>=!()]", rest):
        raise _error(text, strange.start(), "")
    try:
        tree = ast.parse(covered, mode="eval").body
        _check(tree, text)
    except SyntaxError as error:
        # Python's messages about parentheses are helpful; its other messages are about Python.
        what = error.msg if re.search(r"[()]|parentheses", error.msg) else ""
        at = error.offset - 1 if error.offset else len(text)  # 0 means the end
        raise _error(text, at, what) from None
    except (RecursionError, MemoryError):
        raise _error(text, 0, f"nested deeper than {_DEEPEST}") from None
    return Condition(text, tree)


def _check(node: ast.expr, text: str, depth: int = 0) -> None:
    """Refuse syntax that Python allows and conditions do not."""
    if depth > _DEEPEST:
        raise RecursionError
    match node:
        case ast.BoolOp(values=parts):
            for part in parts:
                _check(part, text, depth + 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            _check(operand, text, depth + 1)
        case ast.Compare(ops=[_, _, *_], comparators=[first, *_]):
            what = "a second comparison; join two by `and`: 0 < a and a < 1, not 0 < a < 1"
            raise _error(text, _behind(first, text), what)
        case ast.Compare(left=ast.Name() as left, comparators=[ast.Name() as right]):
            if not any(isinstance(_value(side, text), str) for side in (left, right)):
                what = "two numbers are compared; a score's name is missing"
                raise _error(text, left.col_offset, what)
        case ast.Name():
            what = "a comparison (< <= > >= == !=) is missing"
            raise _error(text, _behind(node, text), what)
        case _:
            raise _error(text, node.col_offset, "")


def _behind(node: ast.expr, text: str) -> int:
    """Return where the text after a node begins."""
    end = node.end_col_offset or 0
    return end + len(text[end:]) - len(text[end:].lstrip())


def _value(node: ast.expr, text: str) -> str | float:
    """Return the name or the number at a node's place."""
    typed = text[node.col_offset : node.end_col_offset]
    return float(typed) if typed[0] in "+-.0123456789" else typed.strip("`")


def _error(text: str, at: int, what: str) -> OptionError:
    """Return the error for a place in a text, with a hint at what was meant."""
    rest = text[at:].lstrip()
    if not what:
        what = f"{rest!r:.20} cannot be read" if rest else "a score's name or a number is missing"
    hint = ""
    if rest[:1] == "=":
        hint = "; equality is written =="
    elif rest[:1] in ("&", "|", "!"):
        hint = "; write and, or, not"
    return OptionError(
        f"condition {text!r:.200}, column {at + 1}: {what}{hint}; expected e.g. "
        "some >= .8 and changes <= 6"
    )

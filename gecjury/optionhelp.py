"""What the options of a metric mean: read from its settings and its docstrings."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields

from gecjury.registry import expected
from gecjury.scorer import Scorer

__all__ = ["Option", "options_of"]

_ENTRY = re.compile(r"(\w+): (.*)")


@dataclass(frozen=True)
class Option:
    """One option of a metric.

    Attributes:
        option: as it is typed.
        default: the value in effect where it is not given.
        expected: kind of value, or the values that there are.
        meaning: what it does; empty where its class does not tell.
    """

    option: str
    default: object
    expected: str
    meaning: str


def options_of(scorer: Scorer) -> list[Option]:
    """Every option of a metric, in order.

    Args:
        scorer: the metric as it is loaded without options.
    """
    hints = typing.get_type_hints(type(scorer))
    meanings: dict[str, str] = {}
    for base in reversed(type(scorer).__mro__):
        meanings |= _attributes(base.__doc__ or "")
    return [
        Option(
            field.name,
            getattr(scorer, field.name),
            expected(hints[field.name]),
            meanings.get(field.name, ""),
        )
        for field in fields(scorer)
    ]


def _attributes(docstring: str) -> Mapping[str, str]:
    """The entries of a docstring's section `Attributes:`, each on one line."""
    _, _, section = inspect.cleandoc(docstring).partition("\nAttributes:\n")
    found: dict[str, list[str]] = {}
    open_entry: list[str] = []
    for line in section.splitlines():
        if line.strip() and not line.startswith(" "):
            break
        entry = _ENTRY.fullmatch(line.strip())
        if entry and re.match(r" {4}\S", line):
            open_entry = found.setdefault(entry[1], [])
            open_entry.append(entry[2])
        elif line.strip():
            open_entry.append(line.strip())
    return {name: " ".join(parts).replace("`", "") for name, parts in found.items()}

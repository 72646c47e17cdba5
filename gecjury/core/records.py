"""Read JSON records of our own back as the dataclasses that they were written from.

A record has the types that its dataclass declares; otherwise an error names the value that does
not. Readers therefore need no type checks of their own.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import (
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from gecjury.core.errors import InputError
from gecjury.core.textfiles import read_json

_T = TypeVar("_T")

PassedOn: TypeAlias = Any
"""The values of keywords that are passed on to a dataclass, which declares their types."""


def from_record(kind: type[_T], value: object, where: str = "") -> _T:
    """Return a JSON value as an instance of a type.

    Args:
        kind: a dataclass, or a type that its fields may have: `str`, `int`, `float`, `bool`,
            `None`, `Path`, `object`, a `Literal`, a union, a `tuple` or a `Sequence` (both from a
            list), a `Mapping` or `dict` with string keys, or a dataclass. Keys that a dataclass
            lacks are ignored; fields with a default may be missing.
        value: from `json.loads`.
        where: the path to the value inside its document, for messages.

    Raises:
        ValueError: a value has the wrong type; names its path, the value and the expected type.
    """
    return cast(_T, _read(kind, value, where))


def read_record(kind: type[_T], path: str | Path, what: str, remedy: str) -> _T:
    """Return the record in a JSON file, by the rules of `from_record`.

    Args:
        kind: a dataclass.
        what: the kind of record, for messages: "the manifest of a run".
        remedy: advice for a file with other content.

    Raises:
        InputError: the file cannot be read or does not contain such a record; names file and value.
    """
    record = read_json(path, what)
    try:
        return from_record(kind, record)
    except ValueError as error:
        raise InputError(f"{path}: is not {what} ({error}): {remedy}") from None


def _read(kind: object, value: object, where: str) -> object:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return value
    if is_dataclass(kind):
        return _dataclass(cast(type, kind), value, where)
    if origin in (Union, types.UnionType):
        return _union(inner, value, where)
    if origin is Literal:
        if value in inner and type(value) in map(type, inner):
            return value
    elif origin in (tuple, Sequence):
        if isinstance(value, list | tuple):
            # `tuple[str, ...]` has one type for all its items, `tuple[float, float]` one for each.
            every = origin is Sequence or inner[-1] is Ellipsis
            kinds = inner[:1] * len(value) if every else inner
            if len(kinds) == len(value):
                items = [_read(kinds[n], v, f"{where}[{n}]") for n, v in enumerate(value)]
                return tuple(items) if origin is tuple else items
    elif origin in (Mapping, dict):
        if isinstance(value, dict):
            return {key: _read(inner[1], v, _below(where, key)) for key, v in value.items()}
    elif kind is float:
        if type(value) is float or (type(value) is int and abs(value) <= _LARGEST):
            return float(value)
    elif kind is Path:
        if isinstance(value, str):
            return Path(value)
    # A bool is an int to Python, but not in JSON.
    elif type(value) is kind:
        return value
    raise _error(value, _named(kind), where)


_LARGEST = 1.7e308  # of floats; an integer in JSON may be larger


def _dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _error(value, "an object", where)
    declared = _types(kind)
    values = {}
    for field in fields(kind):
        if field.name in value:
            at = _below(where, field.name)
            values[field.name] = _read(declared[field.name], value[field.name], at)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{_below(where, field.name)} is missing")
    return kind(**values)


@lru_cache
def _types(kind: type) -> Mapping[str, object]:
    return get_type_hints(kind)


def _union(kinds: Sequence[object], value: object, where: str) -> object:
    for kind in kinds:
        try:
            return _read(types.NoneType if kind is None else kind, value, where)
        except ValueError:
            continue
    raise _error(value, " or ".join(map(_named, kinds)), where)


def _below(where: str, key: str) -> str:
    return f"{where}.{key:.60}" if where else f"{key:.60}"


def _error(value: object, expected: str, where: str) -> ValueError:
    return ValueError(f"{where or 'the document'} is {value!r:.60}; expected {expected}")


def _named(kind: object) -> str:
    """Return the name of a type for messages."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"a list of {len(inner)}"
    if origin in (tuple, Sequence):
        return "a list"
    if origin in (Mapping, dict) or is_dataclass(kind):
        return "an object"
    return _NAMES.get(kind, str(kind))


_NAMES: Mapping[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    types.NoneType: "null",
}

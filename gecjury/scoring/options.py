"""Options of a metric, derived from its settings and docstrings."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from gecjury.core.errors import OptionError, nearest
from gecjury.core.settings import attributes_of
from gecjury.scoring.scorer import Scorer

_LARGEST = 2**63 - 1
_OWN_FILE = re.compile(r"([^=,]+?\.py:\w+)(?::(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Option:
    """An option of a metric.

    Attributes:
        option: name on the command line.
        default: the value if the option is not given.
        expected: kind of value, or the valid values.
        meaning: description; empty if its class has none.
    """

    option: str
    default: object
    expected: str
    meaning: str


def options_of(scorer: Scorer) -> list[Option]:
    """Return every option of a metric, in order."""
    hints = typing.get_type_hints(type(scorer))
    meanings: dict[str, str] = {}
    # Base classes first: a subclass may redefine the description of an inherited setting.
    for base in reversed(type(scorer).__mro__):
        meanings |= attributes_of(base.__doc__ or "")
    return [
        Option(
            scorer.typed.get(field.name, field.name),
            getattr(scorer, field.name),
            expected(hints[field.name]),
            meanings.get(field.name, ""),
        )
        for field in fields(scorer)
    ]


def split_name(text: str) -> tuple[str, str]:
    """Split `name:options`, or `FILE.py:name:options`, into the name and the rest."""
    in_file = _OWN_FILE.fullmatch(text)
    if in_file:
        return in_file[1], in_file[2] or ""
    name, _, rest = text.partition(":")
    return name, rest


def is_own_file(name: str) -> bool:
    """Return whether a metric's name refers to a user's file, `FILE.py:name`."""
    return _OWN_FILE.fullmatch(name) is not None


def parse(text: str) -> tuple[str, dict[str, str]]:
    r"""Split `name:option=value,option=value`; a comma inside a value is written `\,`.

    Raises:
        OptionError: an option has no `=`, or is given twice.
    """
    name, rest = split_name(text)
    options: dict[str, str] = {}
    for part in split_options(rest):
        key, separator, value = part.replace("\\,", ",").partition("=")
        if not separator or not key:
            # Python's own tools name a function `module:name`.
            hint = "options are separated by commas"
            if Path(f"{name}.py").is_file():
                hint = f"did you mean {name}.py:{part:.60}?"
            raise OptionError(f"{text!r:.200}: {part!r:.60} is not `option=value`; {hint}")
        if key in options:
            raise OptionError(f"{text!r:.200}: option {key:.60} is given twice")
        options[key] = value
    return name, options


def split_options(text: str) -> list[str]:
    r"""Split `option=value,option=value`; `\,` and commas in brackets belong to a value."""
    return re.split(r"(?<!\\),(?![^\[\]]*\])", text) if text else []


def nested(value: str) -> str | None:
    """Return the metric that an option's value names in brackets; None for any other value.

    `edit-verdict[model=NAME,tries=2]` is the metric `edit-verdict:model=NAME,tries=2`.
    """
    name, bracket, rest = value.partition("[")
    return f"{name}:{rest[:-1]}" if name and bracket and rest.endswith("]") else None


def short_names(labels: Iterable[str]) -> dict[str, str]:
    """Return the shortest names that still distinguish metrics, by label.

    A metric that occurs once gets its plain name. If it occurs several times, the names keep the
    settings that differ, with only the last part of a path or an address. Scores computed elsewhere
    keep the label that the user gave them.

    Args:
        labels: labels of metrics, see `Signature.label`; other names stay as they are.
    """
    by_name: dict[str, dict[str, list[str]]] = {}
    for label in labels:
        name, rest = split_name(label)
        settings = split_options(rest)
        # Other names may also contain colons, but their parts are not settings.
        if name == "scores" or not all(re.match(r"\w+=", setting) for setting in settings):
            name, settings = label, []
        by_name.setdefault(name, {})[label] = settings
    names: dict[str, str] = {}
    for name, settings_of in by_name.items():
        shared = set.intersection(*map(set, settings_of.values()))
        own = {
            label: [one for one in settings if one not in shared]
            for label, settings in settings_of.items()
        }
        short = {
            label: _with_settings(name, [_last_part(one) for one in settings])
            for label, settings in own.items()
        }
        if len(set(short.values())) < len(short):
            short = {label: _with_settings(name, settings) for label, settings in own.items()}
        names |= short
    return names


def _with_settings(name: str, settings: Sequence[str]) -> str:
    return f"{name}:{','.join(settings)}" if settings else name


def _last_part(setting: str) -> str:
    key, _, value = setting.partition("=")
    if nested(value):
        return setting
    last = re.split(r"[/\\](?!,)", value.rstrip("/"))[-1]
    return f"{key}={last}"


def convert(value: object, hint: object, where: str) -> object:
    """Convert the value of an option to its setting's type.

    Args:
        value: text from the command line, or a Python value.
        hint: the type of the setting.
        where: names the option in errors.

    Raises:
        OptionError: the value is invalid.
    """
    kinds = _kinds(hint)
    if value is None and type(None) in kinds:
        return None
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            close = nearest(str(value)[:60], map(str, choices))
            raise OptionError(
                f"{where}: {value!r:.60} is not one of {', '.join(map(str, choices))}"
                + (f"; {close}" if close.startswith("did") else "")
            )
        return value
    if not isinstance(value, str):
        # By exact type, since True is an int in Python.
        if type(value) in kinds:
            return value
        if type(value) is int and float in kinds:
            return float(value)
        raise OptionError(f"{where}: {value!r} is not of the kind {_kind_names(kinds)}")
    if value == "none" and type(None) in kinds:
        return None
    # In the order of the union, so that `int | str` reads 3 as a number.
    for kind in kinds:
        try:
            read = _read(value, kind)
        except ValueError:
            continue
        if isinstance(read, int) and abs(read) > _LARGEST:
            raise OptionError(f"{where}: {value:.30}... is too large; expected a smaller number")
        return read
    marks = set(value) & set("“”„‟‘’‚‛«»\"'")
    hint = "; leave out the quotation marks" if marks else ""
    raise OptionError(f"{where}: {value!r:.60} is not of the kind {_kind_names(kinds)}{hint}")


def _kinds(hint: object) -> tuple[object, ...]:
    """Return the types of a union, or the single type."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def expected(hint: object) -> str:
    """Describe the values that an option may have."""
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(map(str, typing.get_args(hint)))
    return _kind_names(_kinds(hint))


def _kind_names(kinds: tuple[object, ...]) -> str:
    words = {bool: "true/false", int: "whole number", float: "number", str: "text"}
    return " or ".join(words[k] for k in kinds if isinstance(k, type) and k in words)


def _read(text: str, kind: object) -> object:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    if kind not in (int, float, str):
        raise ValueError(text)
    return kind(text)

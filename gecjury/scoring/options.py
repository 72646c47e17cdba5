"""Options of metrics: those that a metric has, and how a user writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar, Protocol

from gecjury.core.errors import OptionError
from gecjury.core.settings import Option, options_of

_OWN_FILE = re.compile(r"([^=,]+?\.py:\w+)(?::(.*))?", re.DOTALL)


class Named(Protocol):
    """A class of metrics."""

    name: ClassVar[str]


@cache
def metric_options(metric: type[Named]) -> dict[str, Option]:
    """Return the options of a metric by name, in the order of its settings."""
    return {
        option.keyword: replace(option, label=f"{metric.name}: {option.keyword}=")
        for option in options_of(metric)
        if "." not in option.path  # held scores, which are no setting
    }


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


def typed_metric(name: str, options: Mapping[str, str]) -> str:
    """Return a metric as a user types it; the reverse of `parse`."""
    return _with_settings(name, [f"{k}={v}".replace(",", "\\,") for k, v in options.items()])


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

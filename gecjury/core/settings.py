"""Settings classes as options: one declaration for Python, the command line and the documentation.

Each field of a frozen dataclass declares an option. The field's type determines the valid values,
its default the value when none is named, and its entry in the docstring's section `Attributes:`
describes the option. `option` adds what none of these can express, such as bounds.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from gecjury.core.errors import OptionError, nearest_of

T = TypeVar("T")
_ENTRY = re.compile(r"(\w+): (.*)")
_OPTION = "gecjury.option"

REQUIRED = dataclasses.MISSING
"""Marks an option without a default."""


@dataclass(frozen=True, kw_only=True)
class Extra:
    """Details of an option that type, default and docstring of its field cannot express.

    Attributes:
        flags: flags on the command line, such as `("-d", "--difference")`; by default derived from
            the field's name. A name without a dash is a positional argument.
        metavar: name of the value in the help; None for the field's own name.
        least: the smallest value.
        most: the largest value.
        above: a number that every value must exceed.
        within: two bounds that are not valid values themselves.
        hint: appended to the message about a value out of bounds.
        several: whether all values of a tuple follow one flag (`--means 0 1 2`) instead of one flag
            each.
        empty: whether that flag may be given without a value, for no values.
        hidden: whether it can be set only in Python.
        heading: heading in the help above this option and the following ones; empty to continue the
            previous one.
        reader: for options shared by many commands, what a command must work with to read it.
        needs: options of which it needs at least one, keyed by the option with which it needs them;
            the key "" means always. `"kernel": ("fine_tune",)` means that with --kernel the option
            would do nothing without --fine-tune, `"kernel": ()` that it would do nothing with
            --kernel. `"steps detection"` means `--steps` with that value.
        offers: for a field that contains settings itself, which of their fields are options here.
        only: for such a field, the offered values by field, if not all are offered.
    """

    flags: tuple[str, ...] = ()
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    within: tuple[float, float] | None = None
    hint: str = ""
    several: bool = False
    empty: bool = False
    hidden: bool = False
    heading: str = ""
    reader: str = ""
    needs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    offers: tuple[str, ...] | None = None
    only: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Option(Extra):
    """One option that a settings class declares.

    Attributes:
        path: path of the field: its name, or `resampling.over` for a field of nested settings.
        kind: `bool`, `int`, `float` or `str`.
        choices: the valid values; empty if any value of the kind is valid.
        many: whether it accepts several values.
        default: the value of the field unless another is named; None if it is required.
        required: whether there is no default.
        meaning: the entry of the docstring, without backquotes.
    """

    path: str
    kind: type
    choices: tuple[Any, ...]
    many: bool
    default: Any
    required: bool
    meaning: str

    @property
    def name(self) -> str:
        """Return the name of the field alone."""
        return self.path.rpartition(".")[2]


def option(default: Any = REQUIRED, *flags: str, **extra: Any) -> Any:
    """Return a dataclass field with details that its type, default and docstring cannot express.

    Args:
        default: default of `dataclasses.field`.
        *flags: flags on the command line, if they differ from the field's name.
        **extra: the other attributes of `Extra`.
    """
    return dataclasses.field(default=default, metadata={_OPTION: Extra(flags=flags, **extra)})


def options_of(settings: type, *, hidden: bool = False) -> tuple[Option, ...]:
    """Return every option that a settings class declares, in the order of its fields.

    A field that contains settings itself contributes their options.

    Args:
        hidden: include the fields that can be set only in Python.
    """
    return _options_of(settings, hidden)


@functools.lru_cache(maxsize=512)  # every parser of a command asks for the same classes
def _options_of(settings: type, hidden: bool) -> tuple[Option, ...]:
    hints = typing.get_type_hints(settings)
    meanings: dict[str, str] = {}
    # Base classes come first: a subclass may redefine the description of an inherited field.
    for base in reversed(settings.__mro__):
        meanings |= attributes_of(base.__doc__ or "")
    options: list[Option] = []
    for field in dataclasses.fields(settings):
        extra: Extra = field.metadata.get(_OPTION, Extra())
        hint = hints[field.name]
        if extra.hidden and not hidden:
            continue
        # Each field of nested settings is a separate option, named by its path.
        if dataclasses.is_dataclass(hint):
            options += [
                dataclasses.replace(
                    inner,
                    path=f"{field.name}.{inner.path}",
                    default=getattr(field.default, inner.path),
                    choices=extra.only.get(inner.path, inner.choices),
                )
                for inner in options_of(typing.cast(type, hint))
                if extra.offers is None or inner.path in extra.offers
            ]
            continue
        kind, choices, many = _kind(hint)
        required = field.default is REQUIRED
        attributes = {
            "path": field.name,
            "flags": extra.flags or ("--" + field.name.replace("_", "-"),),
            "kind": kind,
            "choices": choices,
            "many": many,
            "default": None if required else field.default,
            "required": required,
            "meaning": meanings.get(field.name, ""),
        }
        options.append(Option(**{**vars(extra), **attributes}))
    return tuple(options)


def settings_from(settings: type[T], values: Mapping[str, Any]) -> T:
    """Create settings from values by option name.

    Args:
        values: values by field; missing and None values keep the default, lists become tuples.

    Raises:
        OptionError: a value is not valid.
    """
    fields: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for declared in options_of(settings):
        if (value := values.get(declared.name)) is None:
            continue
        # A flag that is given twice with the same value counts once.
        if isinstance(value, list):
            value = tuple(dict.fromkeys(value))
        holder, _, name = declared.path.rpartition(".")
        (inner.setdefault(holder, {}) if holder else fields)[name] = value
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]  # any dataclass
        if field.name in inner:
            fields[field.name] = dataclasses.replace(field.default, **inner[field.name])  # type: ignore[type-var]
    return settings(**fields)


def check(settings: object) -> None:
    """Refuse values that a settings class does not declare.

    Raises:
        OptionError: names the option, the value and what is expected.
    """
    for declared in options_of(type(settings), hidden=True):
        value = attrgetter(declared.path)(settings)
        for single in value if declared.many and value is not None else (value,):
            if single is None:
                continue
            if declared.choices:
                if single not in declared.choices:
                    nearest = nearest_of(str(single), list(map(str, declared.choices)))
                    flag = declared.flags[-1]
                    raise OptionError(f"unknown value of {flag} {single!r:.60}: {nearest}")
            elif isinstance(single, int | float) and not isinstance(single, bool):
                _check_bounds(declared, single)


def check_needs(settings: object, *names: str) -> None:
    """Refuse fields that would do nothing together with the others.

    Args:
        *names: names of the fields that are checked.

    Raises:
        OptionError: see `refuse_unread`.
    """
    declared = options_of(type(settings))
    values = {one.name: attrgetter(one.path)(settings) for one in declared}
    usual = {one.name: one.default for one in declared}
    refuse_unread((one for one in declared if one.name in names), values, usual)


def refuse_unread(
    declared: Iterable[Option], values: Mapping[str, Any], usual: Mapping[str, Any]
) -> None:
    """Refuse options that would do nothing together with the others.

    A need is ignored if no option could meet it.

    Args:
        values: values of these and other options, by name.
        usual: the values of options that were not set.

    Raises:
        OptionError: names the first such option and what it needs.
    """
    for one in declared:
        if values[one.name] == usual[one.name]:
            continue
        for beside, needed in one.needs.items():
            possible = [name for name in needed if name.partition(" ")[0] in values]
            applies = (not beside or _chosen(beside, values)) and (possible or not needed)
            if not applies or any(_chosen(name, values) for name in possible):
                continue
            why = f" with {_typed(beside)}" if beside else ""
            why += f" without {' or '.join(map(_typed, possible))}" if possible else ""
            raise OptionError(f"{one.flags[-1]} would do nothing{why}")


@functools.cache
def attributes_of(docstring: str) -> Mapping[str, str]:
    """Return the entries of a docstring's section `Attributes:`, each on one line."""
    _, _, section = inspect.cleandoc(docstring).partition("\nAttributes:\n")
    entries: dict[str, list[str]] = {}
    open_entry: list[str] = []
    for line in section.splitlines():
        if line.strip() and not line.startswith(" "):
            break
        entry = _ENTRY.fullmatch(line.strip())
        if entry and re.match(r" {4}\S", line):
            open_entry = entries.setdefault(entry[1], [])
            open_entry.append(entry[2])
        elif line.strip():
            open_entry.append(line.strip())
    return {name: " ".join(parts).replace("`", "") for name, parts in entries.items()}


def _kind(hint: Any) -> tuple[type, tuple[Any, ...], bool]:
    """Return the kind of value that a type declares, its choices, and whether it has several."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        # Where Python also accepts objects, the command line accepts only text.
        alternatives = [one for one in typing.get_args(hint) if one is not type(None)]
        hint = str if str in alternatives else alternatives[0]
    if typing.get_origin(hint) is Mapping:  # only in Python
        return str, (), True
    if typing.get_origin(hint) is tuple:
        kind, choices, _ = _kind(typing.get_args(hint)[0])
        return kind, choices, True
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        return type(choices[0]), choices, False
    return hint, (), False


def _chosen(name: str, values: Mapping[str, Any]) -> bool:
    """Return whether an option is set, or set to the value that follows its name."""
    option_name, _, value = name.partition(" ")
    chosen = values.get(option_name) or ()
    if value and isinstance(chosen, str):
        return chosen == value
    return value in chosen if value else bool(chosen)


def _typed(name: str) -> str:
    """Return an option of `needs` as it is written on the command line."""
    option_name, _, value = name.partition(" ")
    return f"--{option_name.replace('_', '-')} {value}".rstrip()


def _check_bounds(option: Option, value: float) -> None:
    """Refuse a number that is out of bounds."""
    problem = ""
    if not math.isfinite(value):
        problem = "expected a finite number"
    elif option.within is not None and not option.within[0] < value < option.within[1]:
        problem = f"expected a number between {option.within[0]:g} and {option.within[1]:g}"
    elif option.above is not None and value <= option.above:
        problem = f"expected more than {option.above:g}"
    elif option.least is not None and value < option.least:
        problem = f"expected {option.least:g} or more"
    elif option.most is not None and value > option.most:
        problem = f"expected at most {option.most:.0f}"
    if problem:
        hint = f" ({option.hint})" if option.hint else ""
        raise OptionError(f"{option.flags[-1]} {value}: {problem}{hint}")

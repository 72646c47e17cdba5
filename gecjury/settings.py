"""Settings classes as options: one declaration for Python, the command line and the documentation.

A frozen dataclass declares an option with each of its fields. The type says which values there are,
the default which one is used unless another is named, and the entry of the docstring's section
`Attributes:` what the option does. `option` adds what none of these can say, such as bounds.
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

from gecjury.errors import OptionError, nearest_of

T = TypeVar("T")
_ENTRY = re.compile(r"(\w+): (.*)")
_OPTION = "gecjury.option"

REQUIRED = dataclasses.MISSING
"""The default of an option that has none."""


@dataclass(frozen=True, kw_only=True)
class Extra:
    """Details of an option that type, default and docstring of its field cannot say.

    Attributes:
        flags: as typed on the command line, such as `("-d", "--difference")`; by default made of
            the field's name. Without a dash: the name of an argument that stands without a flag.
        metavar: what the help calls the value; None for the field's own name.
        least: the smallest value.
        most: the largest value.
        above: what every value is larger than.
        within: two bounds that are no values themselves.
        hint: ends the message of a value out of its bounds.
        several: whether all values of a tuple stand behind one flag (`--means 0 1 2`) instead of
            one each.
        empty: whether that flag may stand without a value, for none.
        hidden: whether Python alone can set it.
        heading: in the help, above this option and those after it; empty for the one before.
        reader: of options that many commands share, what a command works with that reads it.
        needs: the options of which it needs one, by the option beside which it needs it; the key
            "" stands for always. `"kernel": ("fine_tune",)` says that beside --kernel the option
            would do nothing without --fine-tune, `"kernel": ()` that it would do nothing beside
            --kernel. `"steps detection"` stands for `--steps` with that value.
        offers: of a field that holds settings itself, which of their fields are options here.
        only: of such a field, the values by field where fewer are offered.
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
        path: of the field: its name, or `resampling.over` for one of settings within settings.
        kind: `bool`, `int`, `float` or `str`; `dict` for values by name, typed as `NAME=VALUE`.
        choices: the values that there are; empty where any of the kind will do.
        many: whether it takes several values.
        default: the value of the field unless another is named; None where one has to be.
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
    """Return a dataclass field with what its type, default and docstring cannot say.

    Args:
        default: default of `dataclasses.field`.
        *flags: flags of the command line, where they differ from the field's name.
        **extra: the other attributes of `Extra`.
    """
    return dataclasses.field(default=default, metadata={_OPTION: Extra(flags=flags, **extra)})


def options_of(settings: type, *, hidden: bool = False) -> tuple[Option, ...]:
    """Return every option that a settings class declares, in the order of its fields.

    A field that holds settings itself gives their options.

    Args:
        settings: a dataclass with a docstring.
        hidden: add the fields that Python alone can set.
    """
    return _options_of(settings, hidden)


@functools.lru_cache(maxsize=512)  # every parser of a command asks for the same classes
def _options_of(settings: type, hidden: bool) -> tuple[Option, ...]:
    hints = typing.get_type_hints(settings)
    meanings: dict[str, str] = {}
    # Base classes come first: a subclass may describe an inherited field anew.
    for base in reversed(settings.__mro__):
        meanings |= attributes_of(base.__doc__ or "")
    options: list[Option] = []
    for field in dataclasses.fields(settings):
        extra: Extra = field.metadata.get(_OPTION, Extra())
        hint = hints[field.name]
        if extra.hidden and not hidden:
            continue
        # Settings within settings are options of their own, named by the path to them.
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
    """Make settings of values by the options' names.

    Args:
        settings: a dataclass.
        values: by field; what is missing or None keeps its default, lists become tuples.

    Raises:
        OptionError: a value that there is none of.
    """
    fields: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for declared in options_of(settings):
        if (value := values.get(declared.name)) is None:
            continue
        # A flag given twice with one value says no more than once.
        if isinstance(value, list):
            named = declared.kind is dict
            value = _by_name(declared, value) if named else tuple(dict.fromkeys(value))
        holder, _, name = declared.path.rpartition(".")
        (inner.setdefault(holder, {}) if holder else fields)[name] = value
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]  # any dataclass
        if field.name in inner:
            fields[field.name] = dataclasses.replace(field.default, **inner[field.name])  # type: ignore[type-var]
    return settings(**fields)


def check(settings: object) -> None:
    """Refuse values that a settings class does not declare.

    Args:
        settings: an instance, from its `__post_init__`.

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
    """Refuse fields that would do nothing beside the others.

    Args:
        settings: an instance, from its `__post_init__`.
        *names: of the fields that are looked at.

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
    """Refuse options that would do nothing beside the others.

    A need is passed over where there is no option that could meet it.

    Args:
        declared: the options.
        values: of these and others, by name.
        usual: the values of options that nobody has chosen.

    Raises:
        OptionError: names the first such option, and what it needs.
    """
    for one in declared:
        if values[one.name] == usual[one.name]:
            continue
        for beside, needed in one.needs.items():
            possible = [name for name in needed if name.partition(" ")[0] in values]
            applies = (not beside or _chosen(beside, values)) and (possible or not needed)
            if not applies or any(_chosen(name, values) for name in possible):
                continue
            why = f" beside {_typed(beside)}" if beside else ""
            why += f" without {' or '.join(map(_typed, possible))}" if possible else ""
            raise OptionError(f"{one.flags[-1]} would do nothing{why}")


@functools.cache
def attributes_of(docstring: str) -> Mapping[str, str]:
    """Return the entries of a docstring's section `Attributes:`, each on one line.

    Args:
        docstring: the docstring of a class.
    """
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
    """Return the kind of value that a type asks for, its choices, and whether it takes several."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        # Of what Python takes beside text, such as objects, the command line takes the text.
        alternatives = [one for one in typing.get_args(hint) if one is not type(None)]
        hint = str if str in alternatives else alternatives[0]
    if typing.get_origin(hint) is Mapping:
        return dict, (), True
    if typing.get_origin(hint) is tuple:
        kind, choices, _ = _kind(typing.get_args(hint)[0])
        return kind, choices, True
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        return type(choices[0]), choices, False
    return hint, (), False


def _chosen(name: str, values: Mapping[str, Any]) -> bool:
    """Return whether an option has a value, or the one that stands behind its name."""
    option_name, _, value = name.partition(" ")
    chosen = values.get(option_name) or ()
    if value and isinstance(chosen, str):
        return chosen == value
    return value in chosen if value else bool(chosen)


def _typed(name: str) -> str:
    """Return an option of `needs` as it is typed."""
    option_name, _, value = name.partition(" ")
    return f"--{option_name.replace('_', '-')} {value}".rstrip()


def _by_name(declared: Option, texts: list[str]) -> dict[str, str]:
    """Return the values of an option that is typed as `NAME=VALUE`."""
    flag, values = declared.flags[-1], dict[str, str]()
    for text in texts:
        name, _, value = text.partition("=")
        if not (name and value):
            raise OptionError(f"{flag} {text!r}: expected {declared.metavar}")
        if name in values:
            raise OptionError(f"{flag} {text}: the name {name} is taken")
        values[name] = value
    return values


def _check_bounds(option: Option, value: float) -> None:
    """Refuse a number out of its bounds."""
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

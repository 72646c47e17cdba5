"""Settings classes as options: one declaration for Python, the command line and the documentation.

A frozen dataclass declares an option with each of its fields. The type says which values there are,
the default which one is used unless another is named, and the entry of the docstring's section
`Attributes:` what the option does. `option` adds what none of these can say, such as bounds.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from gecjury.errors import OptionError, known_name

T = TypeVar("T")
_ENTRY = re.compile(r"(\w+): (.*)")
_OPTION = "gecjury.option"


@dataclass(frozen=True)
class _Extra:
    """The additions of `option` to a field's type, default and docstring."""

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
    needs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    offers: tuple[str, ...] | None = None
    choices: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Option:
    """One option that a settings class declares.

    Attributes:
        name: of the field.
        flags: as typed on the command line, such as `("-d", "--difference")`.
        kind: `bool`, `int`, `float` or `str`; `dict` for values by name, typed as `NAME=VALUE`.
        choices: the values that there are; empty where any of the kind will do.
        many: whether it takes several values.
        several: whether these stand behind one flag (`--means 0 1 2`) instead of one each.
        empty: whether the flag without a value means none of them.
        default: the value of the field unless another is named.
        required: True if there is no default.
        meaning: the entry of the docstring, without backquotes.
        metavar: what the help calls the value; None for the field's own name.
        heading: in the help, above this option and those after it; empty for the one before.
        needs: without which other options it would do nothing; see `option`.
    """

    name: str
    flags: tuple[str, ...]
    kind: type
    choices: tuple[Any, ...]
    many: bool
    several: bool
    empty: bool
    default: Any
    required: bool
    meaning: str
    metavar: str | None
    heading: str
    needs: Mapping[str, tuple[str, ...]]


def option(
    default: Any = dataclasses.MISSING,
    *flags: str,
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    within: tuple[float, float] | None = None,
    hint: str = "",
    several: bool = False,
    empty: bool = False,
    hidden: bool = False,
    offers: tuple[str, ...] | None = None,
    choices: Mapping[str, tuple[Any, ...]] | None = None,
    heading: str = "",
    needs: Mapping[str, tuple[str, ...]] | None = None,
) -> Any:
    """Return a dataclass field with what its type, default and docstring cannot say.

    Args:
        default: default of `dataclasses.field`.
        *flags: flags of the command line, where they differ from the field's name.
        metavar: name of the value in the help.
        least: the smallest value.
        most: the largest value.
        above: what every value is larger than.
        within: two bounds that are no values themselves.
        hint: ends the message of a value out of its bounds.
        several: whether all values of a tuple stand behind one flag.
        empty: whether that flag may stand without a value, for none.
        hidden: whether Python alone can set it.
        offers: of a field that holds settings itself, which of their fields are options here.
        choices: of such a field, the values by field where fewer are offered.
        heading: in the help, above the option and those after it.
        needs: the options of which it needs one, by the option beside which it needs it; the key
            "" stands for always. `"kernel": ("fine_tune",)` says that beside --kernel the option
            would do nothing without --fine-tune, `"kernel": ()` that it would do nothing beside
            --kernel. `"steps detection"` stands for `--steps` with that value.
    """
    extra = _Extra(
        flags=flags,
        metavar=metavar,
        least=least,
        most=most,
        above=above,
        within=within,
        hint=hint,
        several=several,
        empty=empty,
        hidden=hidden,
        heading=heading,
        needs=needs or {},
        offers=offers,
        choices=choices or {},
    )
    return dataclasses.field(default=default, metadata={_OPTION: extra})


def options_of(settings: type) -> list[Option]:
    """Return every option that a settings class declares, in the order of its fields.

    A field that holds settings itself gives their options.

    Args:
        settings: a dataclass with a docstring.
    """
    return [declared for _, declared in _declared(settings)]


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
    for path, declared in _declared(settings):
        if (value := values.get(declared.name)) is None:
            continue
        if isinstance(value, list):
            named = declared.kind is dict
            value = _by_name(declared, value) if named else tuple(dict.fromkeys(value))
        holder, _, name = path.rpartition(".")
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
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]  # any dataclass
        extra = _extra(field)
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            for name, choices in extra.choices.items():
                _check_choice(_flags(value, name)[-1], getattr(value, name), choices)
            continue
        flag = _flags(settings, field.name)[-1]
        _, choices, many = _kind(hints[field.name])
        for single in value if many and value is not None else (value,):
            if single is None:
                continue
            if choices:
                _check_choice(flag, single, choices)
            elif isinstance(single, int | float) and not isinstance(single, bool):
                _check_bounds(flag, single, extra)


def check_needs(settings: object, *names: str) -> None:
    """Refuse fields that would do nothing beside the others.

    Args:
        settings: an instance, from its `__post_init__`.
        *names: of the fields that are looked at.

    Raises:
        OptionError: see `refuse_unread`.
    """
    declared = dict(_declared(type(settings)))
    values = {one.name: attrgetter(path)(settings) for path, one in declared.items()}
    usual = {one.name: one.default for one in declared.values()}
    refuse_unread((one for one in declared.values() if one.name in names), values, usual)


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


def _declared(settings: type) -> Iterator[tuple[str, Option]]:
    """Yield the options of a settings class with the path of their fields: `resampling.over`."""
    hints = typing.get_type_hints(settings)
    meanings: dict[str, str] = {}
    # Base classes come first: a subclass may describe an inherited field anew.
    for base in reversed(settings.__mro__):
        meanings |= attributes_of(base.__doc__ or "")
    for field in dataclasses.fields(settings):
        extra = _extra(field)
        if extra.hidden:
            continue
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            for path, inner in _declared(typing.cast(type, hint)):
                if extra.offers is None or path in extra.offers:
                    yield (
                        f"{field.name}.{path}",
                        dataclasses.replace(
                            inner,
                            default=getattr(field.default, path),
                            choices=extra.choices.get(path, inner.choices),
                        ),
                    )
            continue
        kind, choices, many = _kind(hint)
        required = field.default is dataclasses.MISSING
        yield (
            field.name,
            Option(
                name=field.name,
                flags=_flags(settings, field.name),
                kind=kind,
                choices=choices,
                many=many,
                several=extra.several,
                empty=extra.empty,
                default=None if required else field.default,
                required=required,
                meaning=meanings.get(field.name, ""),
                metavar=extra.metavar,
                heading=extra.heading,
                needs=extra.needs,
            ),
        )


def _extra(field: dataclasses.Field[Any]) -> _Extra:
    extra: _Extra = field.metadata.get(_OPTION, _Extra())
    return extra


def _flags(settings: object, name: str) -> tuple[str, ...]:
    fields = {field.name: field for field in dataclasses.fields(settings)}  # type: ignore[arg-type]
    return _extra(fields[name]).flags or ("--" + name.replace("_", "-"),)


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


def _check_choice(flag: str, value: object, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        known_name(f"value of {flag}", str(value), [str(choice) for choice in choices])
        raise OptionError(f"{flag} {value!r:.60}: expected one of {', '.join(map(str, choices))}")


def _check_bounds(flag: str, value: float, extra: _Extra) -> None:
    """Refuse a number out of its bounds."""
    problem = ""
    if not math.isfinite(value):
        problem = "expected a finite number"
    elif extra.within is not None and not extra.within[0] < value < extra.within[1]:
        problem = f"expected a number between {extra.within[0]:g} and {extra.within[1]:g}"
    elif extra.above is not None and value <= extra.above:
        problem = f"expected more than {extra.above:g}"
    elif extra.least is not None and value < extra.least:
        problem = f"expected {extra.least:g} or more"
    elif extra.most is not None and value > extra.most:
        problem = f"expected at most {extra.most:.0f}"
    if problem:
        raise OptionError(f"{flag} {value}: {problem}" + (f" ({extra.hint})" if extra.hint else ""))

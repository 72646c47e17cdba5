"""Fields of dataclasses as options: one declaration for Python, command line and documentation.

Settings of studies and of metrics are frozen dataclasses, each of whose fields declares an option.
The field's type determines the valid values, its default the value when none is named, and its
entry in the docstring's section `Attributes:` describes the option. `option` adds what none of
these can express, such as bounds.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import operator
import os
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from gecjury.core.addresses import masked
from gecjury.core.errors import OptionError, known_name, nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

OptionField: TypeAlias = Any
"""A `dataclasses.field`, which type checkers accept as the value of a field of any type."""
_ENTRY = re.compile(r"(\w+): (.*)")
_OPTION = "gecjury.option"
_LARGEST = 2**63 - 1
_QUOTATION_MARKS = set("“”„‟‘’‚‛«»\"'")
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Mapping: "a mapping",
    object: "an object",
}

REQUIRED = dataclasses.MISSING
"""Marks an option without a default."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option that a dataclass declares.

    Attributes:
        path: path of the field: its name, or `resampling.over` for a field of nested settings.
        kinds: the types of valid values, in the order in which text is tried to be read as them.
        choices: the valid values; empty if any value of the kinds is valid.
        many: whether it accepts several values.
        default: the value of the field unless another is named; None if it is required.
        required: whether there is no default.
        meaning: the entry of the docstring, without backquotes.
        label: the beginning of messages about a value where it is no setting, such as
            `green: beta=`; see `named`.
        flags: flags on the command line, such as `("-d", "--difference")`; by default derived from
            the field's name. A name without a dash is a positional argument, or an option of a
            metric.
        metavar: name of the value in the help; None for the field's own name.
        least: the smallest value.
        most: the largest value.
        above: a number that every value must exceed.
        below: a number that no value may reach.
        hint: appended to the message about a value out of bounds.
        several: whether all values of a tuple follow one flag (`--means 0 1 2`) instead of one flag
            each; or whether a positional argument has one value at least, if any.
        hidden: whether it can be set only in Python.
        heading: heading in the help above this option and the following ones; empty to continue the
            previous one.
        reader: for options shared by many commands, what a command must work with to read it.
        needs: options of which it needs at least one, keyed by the option with which it needs them;
            the key "" means always. `"kernel": ("fine_tune",)` means that with --kernel the option
            would do nothing without --fine-tune, `"kernel": ()` that it would do nothing with
            --kernel. `"steps detection"` means `--steps` with that value.
    """

    path: str
    kinds: tuple[Any, ...]
    choices: tuple[object, ...]
    many: bool
    default: object
    required: bool
    meaning: str
    label: str = ""
    flags: tuple[str, ...]
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    hint: str = ""
    several: bool = False
    hidden: bool = False
    heading: str = ""
    reader: str = ""
    needs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the field alone."""
        return self.path.rpartition(".")[2]

    @property
    def keyword(self) -> str:
        """The name on the command line as a keyword of Python."""
        return self.flags[-1].lstrip("-").replace("-", "_")

    def named(self, value: str = "") -> str:
        """Return the setting as messages name it, which a command turns into what is typed."""
        positional = not self.flags[0].startswith("-")
        return f"{self.flags[0]} {value}" if positional else f"`{self.keyword}={value}`"

    @property
    def expected(self) -> str:
        """The valid values in words."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        kinds = [kind for kind in self.kinds if kind is not types.NoneType]
        words = " or ".join(
            _WORDS.get(typing.get_origin(kind) or kind, str(kind)) for kind in kinds
        )
        bounds = f", {self._bounds}" if self._bounds else ""
        return words + bounds + " or none" * (len(kinds) < len(self.kinds))

    @property
    def _bounds(self) -> str:
        """The bounds in words; empty without bounds."""
        if self.least is not None and self.most is not None:
            return f"{_plain(self.least)} to {_plain(self.most)}"
        bounds = {
            "{} or more": self.least,
            "more than {}": self.above,
            "less than {}": self.below,
            "at most {}": self.most,
        }
        written = {text: _plain(bound) for text, bound in bounds.items() if bound is not None}
        return " and ".join(text.format(bound) for text, bound in written.items())

    def read_all(self, value: object) -> object:
        """Return the value of the field from text or from Python: a tuple if it has several.

        Raises:
            OptionError: see `read`.
        """
        if not self.many:
            return self.read(value)
        values = value if isinstance(value, list | tuple) else (value,)
        # A value that is given twice counts once.
        return tuple(dict.fromkeys(map(self.read, values)))

    def read(self, value: object) -> object:
        """Return one value from text or from Python.

        Raises:
            OptionError: it has the wrong kind, or is not valid.
        """
        # With dashes, as on the command line.
        choices = {str(choice).replace("_", "-"): choice for choice in self.choices}
        if (text := str(value).replace("_", "-")) in choices:
            return choices[text]
        # An option of a command that takes text is left out instead: `none` may be a value there.
        word = self.label or str not in self.kinds
        if types.NoneType in self.kinds and (value is None or (word and value == "none")):
            return None
        for kind in self.kinds if not self.choices else ():
            try:
                converted = _of_kind(value, kind)
            except (TypeError, ValueError):
                continue
            self.check(converted)
            return converted
        raise dataclasses.replace(self, choices=(*choices,))._refusal(value)

    def check(self, value: object) -> None:
        """Refuse a value that is not a choice or out of bounds.

        Raises:
            OptionError: names the option, the value and what is expected.
        """
        if self.choices and value not in (*self.choices, None):
            raise self._refusal(value)
        if self.choices or not isinstance(value, int | float) or isinstance(value, bool):
            return
        if not math.isfinite(value):
            raise self._refusal(value, "a finite number")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise self._refusal(value, f"at most {_LARGEST}")
        for bound, holds in (
            (self.least, operator.ge),
            (self.most, operator.le),
            (self.above, operator.gt),
            (self.below, operator.lt),
        ):
            if bound is not None and not holds(value, bound):
                raise self._refusal(value, self._bounds)

    def _refusal(self, value: object, expected: str = "") -> OptionError:
        """Return the error for a value, by default one that is no choice or of another kind."""
        hint = f" ({self.hint})" if self.hint and expected else ""
        if not expected and self.choices:
            expected = f"one of {self.expected}"
            close = nearest(str(value)[:60], map(str, self.choices))
            hint = f"; {close}" if close.startswith("did") else ""
        elif not expected:
            expected = self.expected
            if isinstance(value, str) and set(value) & _QUOTATION_MARKS:
                hint = "; leave out the quotation marks"
        said = f"{value!r:.60}"
        named = f"{self.label}{said}" if self.label else self.named(said)
        return OptionError(f"{named}: expected {expected}{hint}")


def _plain(number: float) -> str:
    """Return a bound as it is written: in digits, unless there are too many."""
    return f"{number:.0f}" if number == int(number) and abs(number) <= _LARGEST else f"{number:g}"


def _of_kind(value: object, kind: type) -> object:
    """Return a value, or the value that a text names, as one kind.

    Raises:
        TypeError, ValueError: it is not of that kind.
    """
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if isinstance(value, bool):  # an int in Python
        raise TypeError(value)
    if kind is int and isinstance(value, str | Integral):
        return int(value)
    if kind is float and isinstance(value, str | Real):
        return float(value)
    if kind is str and isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if not isinstance(value, typing.get_origin(kind) or kind):
        raise TypeError(value)
    return value


def option(default: object = REQUIRED, *flags: str, **details: object) -> OptionField:
    """Return a dataclass field with details that its type, default and docstring cannot express.

    A field that contains settings itself has two details of its own: `offers`, which of their
    fields are options here, and `only`, the offered values by field, if not all are offered.

    Args:
        default: default of `dataclasses.field`.
        *flags: flags on the command line, if they differ from the field's name.
        **details: other attributes of `Option`.
    """
    if flags:
        details["flags"] = flags
    return dataclasses.field(default=default, metadata={_OPTION: details})


def options_of(settings: type, *, hidden: bool = False) -> tuple[Option, ...]:
    """Return every option that a dataclass declares, in the order of its fields.

    A field that contains settings itself contributes their options.

    Args:
        hidden: include the fields that can be set only in Python.
    """
    return tuple(one for one in _options_of(settings) if hidden or not one.hidden)


@functools.lru_cache(maxsize=512)  # every parser of a command asks for the same classes
def _options_of(settings: type) -> tuple[Option, ...]:
    hints = typing.get_type_hints(settings)
    meanings: dict[str, str] = {}
    # Base classes come first: a subclass may redefine the description of an inherited field.
    for base in reversed(settings.__mro__):
        meanings |= attributes_of(base.__doc__ or "")
    options: list[Option] = []
    for field in dataclasses.fields(settings):
        details = dict(field.metadata.get(_OPTION, {}))
        hint = hints[field.name]
        # Each field of nested settings is a separate option, named by its path.
        if dataclasses.is_dataclass(hint) and field.default is not REQUIRED:
            offers, only = details.get("offers"), details.get("only", {})
            options += [
                dataclasses.replace(
                    inner,
                    path=f"{field.name}.{inner.path}",
                    default=getattr(field.default, inner.path),
                    choices=only.get(inner.path, inner.choices),
                )
                for inner in options_of(typing.cast(type, hint))
                if offers is None or inner.path in offers
            ]
            continue
        details.setdefault("flags", ("--" + field.name.replace("_", "-"),))
        required = field.default is REQUIRED
        kinds, choices, many = _kinds(hint)
        options.append(
            Option(
                path=field.name,
                kinds=kinds,
                choices=choices,
                many=many,
                default=None if required else field.default,
                required=required,
                meaning=meanings.get(field.name, ""),
                **details,
            )
        )
    return tuple(options)


def settings_from(settings: type[T], values: Mapping[str, object], base: T | None = None) -> T:
    """Create settings from values by option.

    Args:
        values: text or Python values by the field's name or by keyword; None keeps the default.
        base: settings that the values change; by default those of the class.

    Raises:
        OptionError: an option is unknown, or a value is not valid.
    """
    declared = options_of(settings, hidden=True)
    keywords = {one.keyword: one for one in declared}
    by_name = keywords | {one.name: one for one in declared}
    fields: dict[str, object] = {}
    inner: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        if key not in by_name:
            known_name(f"setting of {settings.__name__.lower()}", key, [*keywords])
        one = by_name[key]
        if value is not None:
            holder, _, name = one.path.rpartition(".")
            (inner.setdefault(holder, {}) if holder else fields)[name] = one.read_all(value)
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]  # any dataclass
        if field.name in inner:
            nested: Any = getattr(base, field.name, field.default)
            fields[field.name] = dataclasses.replace(nested, **inner[field.name])
    return settings(**fields) if base is None else dataclasses.replace(base, **fields)  # type: ignore[type-var]


def recorded(settings: DataclassInstance) -> dict[str, object]:
    """Return every setting for JSON by its keyword; nested settings by the name of their field."""
    keywords = {one.path: one.keyword for one in options_of(type(settings), hidden=True)}
    return {
        keywords.get(field.name, field.name): _plain_value(getattr(settings, field.name))
        for field in dataclasses.fields(settings)
    }


def _plain_value(value: object) -> object:
    """Return a value for JSON: text without keys of servers, and other objects by their names."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [_plain_value(one) for one in value]
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, int | float | None):
        return value
    if name := getattr(value, "name", ""):
        return name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return recorded(value)
    return repr(value)


def check(settings: object) -> None:
    """Refuse values that a settings class does not declare.

    Raises:
        OptionError: names the option, the value and what is expected.
    """
    for declared in options_of(type(settings), hidden=True):
        value = operator.attrgetter(declared.path)(settings)
        for single in value if declared.many and value is not None else (value,):
            declared.check(single)


def check_needs(settings: object, *names: str) -> None:
    """Refuse fields that would do nothing together with the others.

    Args:
        *names: names of the fields that are checked.

    Raises:
        OptionError: see `refuse_unread`.
    """
    declared = options_of(type(settings))
    values = {one.name: operator.attrgetter(one.path)(settings) for one in declared}
    usual = {one.name: one.default for one in declared}
    refuse_unread((one for one in declared if one.name in names), values, usual)


def refuse_unread(
    declared: Iterable[Option], values: Mapping[str, object], usual: Mapping[str, object]
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
            why = f" with {_setting(beside)}" if beside else ""
            why += f" without {' or '.join(map(_setting, possible))}" if possible else ""
            raise OptionError(f"{one.named()} would do nothing{why}")


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


def _kinds(hint: object) -> tuple[tuple[object, ...], tuple[object, ...], bool]:
    """Return the kinds of value that a type declares, its choices, and whether it has several."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        kinds, choices, _ = _kinds(inner[0])
        return kinds, choices, True
    if origin is typing.Literal:
        return (type(inner[0]),), inner, False
    if origin in (typing.Union, types.UnionType):
        members = [_kinds(one) for one in inner]
        kinds = tuple(kind for member in members for kind in member[0])
        choices = tuple(choice for member in members for choice in member[1])
        return kinds, choices, any(member[2] for member in members)
    return (hint,), (), False


def _chosen(name: str, values: Mapping[str, Any]) -> bool:
    """Return whether an option is set, or set to the value that follows its name."""
    option_name, _, value = name.partition(" ")
    chosen = values.get(option_name) or ()
    if value and isinstance(chosen, str):
        return chosen == value
    return value in chosen if value else bool(chosen)


def _setting(need: str) -> str:
    """Return an option of `needs` as messages name it."""
    name, _, value = need.partition(" ")
    return f"`{name}={value}`"

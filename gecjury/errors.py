"""The errors that a user can cause or meet, and the exit status each leads to.

GecjuryError (exit 2: wrong use, or unusable input, data or output)
├── InputError          a file or text that cannot be used as given
├── OptionError         an unknown metric, option or value
├── DataError           benchmark data missing, altered or not to be had
├── OutputError         a result that cannot be written
├── MissingExtraError   a package that an optional part needs is not installed
└── IncompleteError     (exit 1) the work ran, but not all of it could be done
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = [
    "FAMILIES",
    "DataError",
    "GecjuryError",
    "IncompleteError",
    "InputError",
    "MissingExtraError",
    "OptionError",
    "OutputError",
    "family_of",
    "known_name",
    "nearest",
    "nearest_of",
]


class GecjuryError(Exception):
    """Base of every error whose message is written for the user.

    The message says what was wrong, where, what was expected and what to do; the command line
    prints it alone, without a traceback.
    """

    exit_status = 2


class InputError(GecjuryError, ValueError):
    """A file or a text that cannot be used: names file, line, value and what was expected."""


class OptionError(GecjuryError, ValueError):
    """An unknown metric or option, or a value outside its range; names the nearest valid one."""


class DataError(GecjuryError):
    """Benchmark data that is missing, fails its checksum or cannot be fetched."""


class OutputError(GecjuryError):
    """A result that cannot be written where it was asked for."""


class MissingExtraError(GecjuryError, ImportError):
    """A package of an optional extra is not installed; the message gives the install command."""


class IncompleteError(GecjuryError):
    """The run finished but left work undone, e.g. verdicts that never became readable."""

    exit_status = 1


FAMILIES = ("refbased", "refless", "judges")
"""Packages of metrics below `gecjury`; each has an extra of its name."""


def family_of(module: str) -> str | None:
    """The family that a dotted module belongs to (`gecjury.refbased.errant`: `refbased`)."""
    name = module.removeprefix("gecjury.").partition(".")[0]
    return name if name in FAMILIES and module.startswith("gecjury.") else None


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause naming what the user may have meant, or all that is known."""
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}" if names else "there are none"


def nearest_of(name: str, known: Sequence[str]) -> str:
    """A clause naming what the user may have meant, and all that is known in the order given."""
    every = f"there are: {', '.join(known)}" if known else "there are none"
    clause = nearest(name, known)
    return f"{clause} {every[0].upper()}{every[1:]}" if clause.startswith("did") else every


def known_name(what: str, name: str, names: Sequence[str]) -> str:
    """The name itself if it is one of the names.

    Raises:
        OptionError: it is none of them; gives the nearest ones and all.
    """
    if name in names:
        return name
    raise OptionError(f"unknown {what} {name!r}: {nearest_of(name, names)}")

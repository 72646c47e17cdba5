"""The errors that a user can cause or meet, and their exit statuses.

GecjuryError (exit 2: wrong use, or unusable input, data or output)
├── InputError          a file or text that cannot be used as given
├── OptionError         an unknown metric, option or value
├── DataError           benchmark data missing, altered or not available
├── OutputError         a result that cannot be written
├── MissingExtraError   a package that an optional part needs is not installed
└── IncompleteError     (exit 1) the work ran, but not all of it could be done
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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
    """A result that cannot be written to the requested place."""


class MissingExtraError(GecjuryError, ImportError):
    """A package of an optional extra is not installed; the message gives the install command."""


class IncompleteError(GecjuryError):
    """The run finished but left work undone, e.g. verdicts that never became readable."""

    exit_status = 1


FAMILIES = ("refbased", "refless", "judges")
"""Packages of metrics in `gecjury`; each has an extra of the same name."""


def family_of(module: str) -> str | None:
    """Return the family that a dotted module belongs to (`gecjury.refbased.errant`: `refbased`)."""
    name = module.removeprefix("gecjury.").partition(".")[0]
    return name if name in FAMILIES and module.startswith("gecjury.") else None


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return a clause that names the nearest names, or all of them.

    A name that begins with other letters is near only if most of its letters are the same:
    `bertscore` is not near `gotoscorer`.
    """
    import difflib

    names, typed = sorted(choices), name.lower()
    alike = set(difflib.get_close_matches(typed, names, n=3, cutoff=0.7))
    near = difflib.get_close_matches(typed, names, n=3, cutoff=0.5)
    close = [other for other in near if other in alike or other[:1] == typed[:1]]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}" if names else "there are none"


def nearest_of(name: str, names: Sequence[str]) -> str:
    """Return a clause that names the nearest name, and all names in the order given."""
    every = f"there are: {', '.join(names)}" if names else "there are none"
    clause = nearest(name, names)
    return f"{clause} {every[0].upper()}{every[1:]}" if clause.startswith("did") else every


def known_name(what: str, name: str, names: Sequence[str]) -> str:
    """Return the name itself if it is one of the names.

    Raises:
        OptionError: it is not one of them; names the nearest ones and all.
    """
    if name in names:
        return name
    raise OptionError(f"unknown {what} {name!r}: {nearest_of(name, names)}")


def raised_by_code(error: BaseException) -> bool:
    """Return whether code raised an error itself: not if the user interrupted it (Ctrl-C).

    `sys.exit` and `raise KeyboardInterrupt` in the user's code are errors of that code.
    """
    import dis

    trace = error.__traceback__
    if not isinstance(error, KeyboardInterrupt) or trace is None:
        return isinstance(error, Exception | SystemExit)
    while trace.tb_next is not None:
        trace = trace.tb_next
    # A signal arrives between the statements of the code, never in a `raise`.
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def failure_in(code: object, error: BaseException) -> str:
    """Describe an error of the user's code, with the last line of its file that was run.

    Args:
        code: the function that failed, or the name of its file.
    """
    import traceback
    from pathlib import Path

    named = getattr(getattr(code, "__code__", None), "co_filename", code)
    try:
        said = f"{type(error).__name__}: {error!s:.200}"
    except Exception:  # an error of the user's own class may fail at that too
        said = type(error).__name__
    calls = [call for call in traceback.extract_tb(error.__traceback__) if call.filename == named]
    return f"{said}, line {calls[-1].lineno} of {Path(calls[-1].filename).name}" if calls else said


def install_hint(extra: str) -> str:
    """Return the command that installs an extra of gecjury: from its checkout, or by its name."""
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    try:
        # Only this project's own file: gecjury may have been copied into another project.
        checkout = 'name = "gecjury"' in (root / "pyproject.toml").read_text(encoding="utf-8")
        here = checkout and root == Path.cwd().resolve()
    except (OSError, ValueError):
        checkout = here = False
    if not checkout:
        return f"pip install 'gecjury[{extra}]'"
    return f"pip install -e '{'.' if here else root}[{extra}]'"

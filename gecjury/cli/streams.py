"""Messages of a command on stderr, and data on stdout.

Every message to people goes through `tell`: names and sentences in it are those of others.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys

from gecjury.wording import visible


def tell(message: str) -> None:
    """A message for people, on stderr; what cannot be written there is dropped.

    Control characters are shown. Lines after the first are set in, so that no line break of a
    name starts what looks like a message of its own.
    """
    first, *more = visible(message, lines=True).split("\n")
    lines = [first, *(line if not line or line.startswith("  ") else f"  {line}" for line in more)]
    try:
        print("\n".join(lines), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        set_aside(sys.stderr)


def print_data(text: str) -> None:
    """Data on stdout: into a pipe or a file as it is, on a terminal with control characters shown.

    Args:
        text: with the line break at its end.
    """
    print(visible(text, lines=True) if sys.stdout.isatty() else text, end="")


def write_data(text: str, path: str | None) -> None:
    """Write data to a file, or print it where none is named."""
    if not path:
        print_data(text)
        return
    from gecjury.textfiles import write_text

    write_text(path, text)


class _ClosedOutput(io.TextIOBase):
    """A stdout that was closed before the program began: nothing can be written to it."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def hold_streams() -> None:
    """Put something in the place of standard streams that are closed.

    The number of a closed stream goes to the next file that is opened, and what libraries print
    would stand in that file: a store, a cache. A closed stderr loses what is told; a closed stdout
    is an error once something is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Python leaves None in the place of a stream that was closed when it started.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  # pathlib is slow; never closed
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()


def reader_has_gone() -> bool:
    """Return True if a broken pipe is stdout's; there are others, to processes of ours."""
    import select

    if not hasattr(select, "poll"):
        return True  # not to be told there
    try:
        asked = select.poll()
        asked.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))
    except (OSError, ValueError):
        return False


def set_aside(stream: object) -> None:
    """Let a stream that cannot be written to lead nowhere, so that no error follows at the end."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        number = stream.fileno()  # type: ignore[attr-defined]  # whatever stands there
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)

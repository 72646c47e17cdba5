"""Messages of a command on stderr, and data on stdout.

Every message to people goes through `tell`, since names and sentences in it are untrusted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys

from gecjury.core.wording import visible


def tell(message: str) -> None:
    """Write a message for people to stderr; drop it if it cannot be written.

    Control characters are escaped. Lines after the first are indented, so that a line break in a
    name cannot start what looks like a separate message.
    """
    first, *more = visible(message, lines=True).split("\n")
    lines = [first, *(line if not line or line.startswith("  ") else f"  {line}" for line in more)]
    try:
        print("\n".join(lines), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        set_aside(sys.stderr)


def print_data(text: str) -> None:
    """Print data to stdout: unchanged to a pipe or file, with escaped controls to a terminal.

    Args:
        text: text including its final line break.
    """
    print(visible(text, lines=True) if sys.stdout.isatty() else text, end="")


def write_data(text: str, path: str | None) -> None:
    """Write data to a file, or print it if none is named."""
    if not path:
        print_data(text)
        return
    from gecjury.core.durable import write_text

    write_text(path, text, follow=True)


class _ClosedOutput(io.TextIOBase):
    """A stdout that was closed before the program began: nothing can be written to it."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def hold_streams() -> None:
    """Replace standard streams that are closed.

    The descriptor of a closed stream is reused for the next file that is opened, such as a store or
    a cache, and output of libraries would be written into that file. With a closed stderr, messages
    are lost; with a closed stdout, printing is an error.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Python sets a stream to None if it was closed at start.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  # pathlib is slow; never closed
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()


def reader_has_gone() -> bool:
    """Return True if the broken pipe is stdout, not a pipe to one of our own processes."""
    import select

    if not hasattr(select, "poll"):
        return True  # it cannot be written to either
    try:
        asked = select.poll()
        asked.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))
    except (OSError, ValueError):
        return False


def set_aside(stream: object) -> None:
    """Redirect an unwritable stream to the null device, so that no error follows at exit."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        number = stream.fileno()  # type: ignore[attr-defined]  # of any type
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)

"""Data of a command on stdout; messages and progress bars on stderr.

Every message to people goes through `tell`, since names and sentences in it are untrusted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gecjury.core.runtime import Bar, Progress
from gecjury.core.wording import visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_DELAY_SECONDS = 2.0  # bars are drawn for work that takes longer
_MINUTE = 60.0


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
    with suppress(AttributeError, OSError, ValueError):
        number = stream.fileno()  # type: ignore[attr-defined]  # of any type
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)


class _TerminalBar(Bar):
    def __init__(self, display: RichProgress, task: TaskID) -> None:
        self._display = display
        self._task = task
        self._above: deque[str] = deque()

    def start(self) -> None:
        """Draw the bar below the remarks of several lines."""
        self._display.start()
        self._print()

    def advance(self, steps: float = 1) -> None:
        self._display.update(self._task, advance=steps)

    def note(self, text: str) -> None:
        if "\n" not in text:
            self._display.update(self._task, note=visible(text))
            return
        # Appended before the check, so that a bar that another thread starts now prints it.
        self._above.append(visible(text, lines=True))
        if self._display.live.is_started:
            self._print()

    def _print(self) -> None:
        with suppress(IndexError):
            while True:
                self._display.console.print(self._above.popleft(), markup=False, highlight=False)


class TerminalProgress(Progress):
    """Bars drawn with rich on a terminal; a task done within two seconds leaves no trace.

    Args:
        log: whether to print one line per minute when stderr is not a terminal.
    """

    def __init__(self, *, log: bool = False) -> None:
        self._log = log

    @contextmanager
    def task(self, description: str, total: float | None = None) -> Iterator[Bar]:
        """Open a bar; see `gecjury.core.runtime.Progress`."""
        if not sys.stderr.isatty():
            yield _LineBar(description, total) if self._log else Bar()
            return
        from rich import progress
        from rich.console import Console

        display = progress.Progress(
            # Names in brackets are names, not markup.
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[note]}", markup=False),
            console=Console(file=sys.stderr),
            transient=True,
            # The time left is estimated from several steps, each of which may take a minute.
            speed_estimate_period=600.0,
        )
        bar = _TerminalBar(display, display.add_task(visible(description), total=total, note=""))
        # Short work leaves no trace: a timer draws the bar, and the end of the work cancels it.
        timer = threading.Timer(_DELAY_SECONDS, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield bar
        finally:
            timer.cancel()
            # The timer may be starting the display right now.
            timer.join()
            if display.live.is_started:
                display.stop()


class _LineBar(Bar):
    """Progress as one line per minute, for a log."""

    def __init__(self, description: str, total: float | None) -> None:
        self._what = description
        self._total = total
        self._done = 0.0
        self._note = ""
        self._begin = self._last = time.monotonic()
        self._before: float | None = None

    def advance(self, steps: float = 1) -> None:
        self._done += steps
        if self._before is None:
            # Work done by an earlier run says nothing about the speed of this one.
            self._before = self._done
        now = time.monotonic()
        if now - self._last < _MINUTE:
            return
        self._last = now
        line = f"{self._done:,.0f}"
        rate = (self._done - self._before) / (now - self._begin)
        if self._total:
            line += f" of {self._total:,.0f} ({100 * self._done / self._total:.1f}%)"
            if rate > 0:
                line += f", {_time_of((self._total - self._done) / rate)} left"
        tell(f"{self._what}: {line}" + (f", {self._note}" if self._note else ""))

    def note(self, text: str) -> None:
        if "\n" not in text:
            self._note = text


def _time_of(seconds: float) -> str:
    """Return a readable time: `40 s`, `12 min`, `3 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"

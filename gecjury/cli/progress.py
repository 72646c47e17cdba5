"""Progress bars on stderr for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gecjury.cli.streams import tell
from gecjury.core.runtime import Bar, Progress
from gecjury.core.wording import visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_DELAY_SECONDS = 2.0
_MINUTE = 60.0


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

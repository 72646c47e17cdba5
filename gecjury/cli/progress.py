"""Progress bars on stderr for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gecjury.runtime import Bar, SilentBar
from gecjury.wording import visible

__all__ = ["TerminalProgress"]

_DELAY_SECONDS = 2.0


class _TerminalBar:
    def __init__(self, display: Any, task: Any) -> None:
        self._display = display
        self._task = task

    def advance(self, steps: float = 1) -> None:
        self._display.update(self._task, advance=steps)

    def note(self, text: str) -> None:
        self._display.update(self._task, note=visible(text))


class TerminalProgress:
    """Bars drawn with rich on a terminal; a task done within two seconds leaves no trace."""

    @contextmanager
    def task(self, description: str, total: float | None = None) -> Iterator[Bar]:
        """Open a bar; see `gecjury.runtime.Progress`."""
        if not sys.stderr.isatty():
            yield SilentBar()
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        display = Progress(
            # Names in brackets are names, not markup.
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(file=sys.stderr),
            transient=True,
        )
        bar = _TerminalBar(display, display.add_task(visible(description), total=total, note=""))
        timer = threading.Timer(_DELAY_SECONDS, display.start)
        timer.daemon = True
        timer.start()
        try:
            yield bar
        finally:
            timer.cancel()
            timer.join()
            if display.live.is_started:
                display.stop()

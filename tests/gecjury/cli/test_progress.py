"""Progress bars: nothing for quick work, nothing left behind."""

from __future__ import annotations

import io
import time

import pytest

from gecjury.cli import streams
from gecjury.core.runtime import Runtime


def test_quick_work_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    runtime = Runtime(progress=streams.TerminalProgress())
    assert list(runtime.track([1, 2], "work", 2)) == [1, 2]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_slow_work_shows_on_a_terminal_and_nowhere_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_DELAY_SECONDS", 0.01)
    terminal = Terminal()
    for stream, shown in ((terminal, True), (None, False)):
        with monkeypatch.context() as patch:
            if stream is not None:
                patch.setattr("sys.stderr", stream)
                patch.setenv("TERM", "xterm")
            with streams.TerminalProgress().task("slow work", 3) as bar:
                time.sleep(0.2)
                bar.advance(2)
                bar.note("so far 2")
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", "")
        assert ("slow work" in terminal.getvalue()) == shown
        terminal.truncate(0)


def test_names_are_neither_markup_nor_control_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_DELAY_SECONDS", 0.01)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with streams.TerminalProgress().task("[/a] \x1b]0;owned\x07", 3) as bar:
        bar.note("[link=http://e.x]n[/b] \x9b31m")
        time.sleep(0.2)
    shown = terminal.getvalue()
    assert "[/a]" in shown
    assert "[link=http://e.x]n[/b]" in shown
    assert not any(c in shown for c in ("\x1b]", "\x07", "\x9b"))


def test_notes_of_several_lines_are_printed_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_DELAY_SECONDS", 0.05)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with streams.TerminalProgress().task("slow work", 3) as bar:
        bar.note("before\n[/a] 0.5 \x1b]0;owned\x07")
        time.sleep(0.3)
        bar.note("after\n0.7")
    shown = terminal.getvalue()
    # The bar is erased and drawn again below what is printed.
    assert shown.index("before") < shown.index("[/a] 0.5") < shown.rindex("slow work")
    assert shown.count("before") == shown.count("after") == 1
    assert "\x1b]" not in shown


def test_progress_is_a_line_a_minute_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(streams.time, "monotonic", lambda: now)
    with streams.TerminalProgress(log=True).task("rows", 10_000) as bar:
        bar.advance(4_000)  # done by an earlier run
        for _ in range(4):
            now += 20
            bar.note("5 rows/s")
            bar.note("a remark\nof two lines")
            bar.advance(100)
    line = "rows: 4,300 of 10,000 (43.0%), 19 min left, 5 rows/s\n"
    assert capsys.readouterr().err == line

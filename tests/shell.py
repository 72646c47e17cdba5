"""Run command lines in this process or a separate one, in a folder of small files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gecjury.cli import main

REPOSITORY = Path(__file__).resolve().parents[1]
METRICS = ["-m", "green", "-m", "gleu", "-m", "gleu-official"]
SOURCE = ["This are a sentence .", "He go home now .", "All is well here ."]
FIXED = ["This is a sentence .", "He goes home now .", "All is well here ."]
GOLD = """\
S This are a sentence .
A 1 2|||R|||is|||REQUIRED|||-NONE-|||0

S He go home now .
A 1 2|||R|||goes|||REQUIRED|||-NONE-|||0

S All is well here .

"""


@dataclass
class Shell:
    """Runs command lines in this process, in a folder of files."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *argv: str | Path) -> tuple[int, str, str]:
        try:
            status = main([str(word) for word in argv])
        except SystemExit as leave:
            status = int(leave.code or 0)
        return status, *self.capsys.readouterr()

    def ended(self, *argv: str | Path, status: int = 0) -> tuple[str, str]:
        """Run a command, check its exit status, and return its stdout and stderr."""
        ended, out, err = self(*argv)
        assert ended == status, err
        return out, err

    def write(self, name: str, data: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Replace standard input by a file."""
        before = os.dup(0)
        with (
            pytest.MonkeyPatch.context() as patch,
            (self.folder / name).open("rb") as file,
        ):
            patch.setattr("gecjury.core.textfiles._input_was_read", False)
            os.dup2(file.fileno(), 0)
            try:
                yield
            finally:
                os.dup2(before, 0)
                os.close(before)

    def rows(self, *argv: str | Path) -> list[dict[str, object]]:
        status, out, err = self(*argv, "--format", "json")
        assert (status, err) == (0, "")
        rows: list[dict[str, object]] = json.loads(out)["rows"]
        return rows


SCORE = ["score", "source.txt", "mine.txt", "-m", "green", "-o", "out"]


def command(*words: str) -> list[str]:
    """Return the valid command line with words added, and a reference unless they have one."""
    return [*SCORE, *([] if "-r" in words else ["-r", "ref.txt"]), *words]


def instead(old: str, new: str) -> list[str]:
    """Return the valid command line with one word replaced."""
    return [new if word == old else word for word in command()]


def python(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "LC_ALL": "C.UTF-8"},
    )


def started(*argv: str | Path, folder: Path) -> subprocess.Popen[str]:
    """Start a command in its own process, which Ctrl-C ends even if this process ignores it."""
    # A suite that was started in the background inherits, and would hand on, an ignored signal.
    return subprocess.Popen(
        [sys.executable, "-m", "gecjury", *map(str, argv)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )

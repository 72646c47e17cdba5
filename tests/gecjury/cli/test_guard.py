"""Unexpected errors: one line, a report without texts, status 70; output that cannot be written."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gecjury.cli.guard import tell_unforeseen

pytestmark = pytest.mark.security


def test_the_report_has_code_locations_and_no_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        try:
            raise KeyError("a private sentence")
        except KeyError:
            raise ValueError("sk-a-private-key") from None
    except ValueError as error:
        line = tell_unforeseen(error)
    (path,) = tmp_path.iterdir()
    assert line.startswith("an unexpected error (ValueError)")
    assert str(path) in line
    text = path.read_text()
    assert "private" not in text + line
    assert "test_guard.py, line" in text
    assert "KeyError" in text
    assert path.stat().st_mode & 0o077 == 0


CODE = "import sys; from gecjury import cli; from gecjury.cli import metrics"
BROKEN = CODE + "\ndef run(args): raise RuntimeError('a private sentence')\nmetrics.run = run\n"


def test_the_command_line_ends_with_70(tmp_path: Path) -> None:
    code = BROKEN + "sys.exit(cli.main(['metrics']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "private" not in done.stderr
    Path(done.stderr.partition("report it with ")[2].partition(",")[0]).unlink()


def test_an_interruption_while_importing_is_reported() -> None:
    code = (
        "import sys, builtins; real = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name == 'gecjury.cli': raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "from gecjury.__main__ import run\n"
        "builtins.__import__ = stop\n"
        "sys.exit(run())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "gecjury: interrupted\n")

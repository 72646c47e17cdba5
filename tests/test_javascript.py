"""The scripts of pages: whether a JavaScript engine can read them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = [
    *ROOT.glob("gecjury/report/page/*.js"),
    *ROOT.glob("gecjury/web/static/*.js"),
    *ROOT.glob("docs/assets/*.js"),
]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_have_no_syntax_errors(path: Path) -> None:
    done = subprocess.run(["node", "--check", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

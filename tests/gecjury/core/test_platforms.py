"""Without modules that only Unix has: importing, scoring, reading, writing and locking work.

The test runs on Unix with parts of it hidden; file names, locks and consoles remain those of Unix.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import importlib, importlib.abc, os, pkgutil, signal, sys

HIDDEN = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog"}

class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in HIDDEN:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hide())
# What others need of a system that calls itself a Unix.
import asyncio, select, tempfile, threading, numpy, scipy.stats, jinja2

for name in ("O_NONBLOCK", "fork", "getuid", "geteuid", "getgid", "mkfifo", "register_at_fork",
             "set_blocking", "fchmod"):
    if hasattr(os, name):
        delattr(os, name)
if hasattr(select, "poll"):
    del select.poll
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM"):
    delattr(signal, name)

import gecjury

count = 0
for module in pkgutil.walk_packages(gecjury.__path__, "gecjury."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        count += 1
print(count, "modules", flush=True)  # what follows goes past the buffer
assert not HIDDEN & set(sys.modules), HIDDEN & set(sys.modules)

from pathlib import Path
from gecjury.cli import main
from gecjury.judges.asking.store import Identity, Store, store_path
from gecjury.core.durable import write_text

here = Path(sys.argv[1])
write_text(here / "source.txt", "I likes cats .\\n")
write_text(here / "mine.txt", "I like cats .\\n")
write_text("/dev/stdout", "written\\n")
texts = [str(here / "source.txt"), str(here / "mine.txt"), "-r", str(here / "mine.txt")]
assert main(["score", *texts, "-m", "gleu", "-o", str(here / "scores")]) == 0
identity = Identity("openai", "m", "", "p:1")
with Store(store_path(here, identity), identity):
    pass
"""


@pytest.mark.slow
def test_without_unix_modules(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)],
        cwd=Path(__file__).resolve().parents[3],
        env={**os.environ, "GECJURY_DATA": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    count = int(done.stdout.split()[0])
    assert count > 200
    assert "written" in done.stdout
    assert "GLEU" in done.stdout or "gleu" in done.stdout
    assert "needs the package" not in done.stdout + done.stderr

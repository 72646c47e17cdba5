"""The program as a separate process: exit status, pipes, encodings and imports."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

import gecjury
from gecjury.cli import COMMANDS
from gecjury.scoring import registry
from gecjury.studies import STUDIES
from tests.shell import REPOSITORY, Shell, command, instead, python


def test_as_a_process(shell: Shell) -> None:
    done = python("-m", "gecjury", *command(), "--format", "json", cwd=shell.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"][0]["score"] == 1.0
    assert math.isfinite(json.loads(done.stdout)["rows"][0]["recall"])
    done = python("-m", "gecjury", *instead("mine.txt", "gone.txt"), cwd=shell.folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gecjury: gone.txt: no such file; check the path\n"
    done = python("-m", "gecjury", "--version", cwd=shell.folder)
    assert (done.returncode, done.stdout) == (0, f"gecjury {gecjury.__version__}\n")


@pytest.mark.slow
def test_a_file_name_that_is_not_utf8(shell: Shell) -> None:
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    try:
        shell.write(name, (shell.folder / "mine.txt").read_bytes())
    except OSError:
        pytest.skip("this file system allows only UTF-8 names")
    for form in ("json", "table", "tsv"):
        for encoding in ("utf-8:strict", "ascii:strict"):
            done = subprocess.run(
                [sys.executable, "-m", "gecjury", *instead("mine.txt", name), "--format", form],
                cwd=shell.folder,
                capture_output=True,
                timeout=60,
                env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "PYTHONIOENCODING": encoding},
            )
            assert (done.returncode, done.stderr) == (0, b"")
            assert b"caf\\udce9" in done.stdout


def test_help_needs_no_numpy(shell: Shell) -> None:
    script = (
        "import sys\n"
        "from gecjury.cli import main\n"
        "heavy = {'numpy', 'scipy', 'torch', 'spacy', 'transformers', 'rich', 'pooch', 'openai'}\n"
        "for command in sys.argv[1:]:\n"
        "    try:\n"
        "        main(command.split())\n"
        "    except SystemExit as leave:\n"
        "        assert leave.code == 0, (command, leave.code)\n"
        "    assert not heavy & set(sys.modules), (command, sorted(heavy & set(sys.modules)))\n"
    )
    others = ("check", "data fetch", "errant-compare", "m2 apply", "judgments list")
    helps = [f"{command} --help" for command in (*others, *STUDIES)]
    done = python("-c", script, "--help", "--version", *helps, cwd=shell.folder)
    assert not done.stderr, done.stderr
    overview, _, rest = done.stdout.partition(f"gecjury {gecjury.__version__}\n")
    assert all(name in overview for name in COMMANDS)
    assert all(f"usage: gecjury {command} " in rest for command in (*others, *STUDIES))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows handles pipes differently")
def test_a_reader_that_closes_the_pipe_early_is_not_an_error(shell: Shell) -> None:
    words = [sys.executable, "-m", "gecjury", "metrics", *list(registry.METRICS) * 20]
    env = {"PYTHONPATH": str(REPOSITORY), "PATH": "", "LC_ALL": "C.UTF-8"}
    with subprocess.Popen(
        words, cwd=shell.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0

"""The commands: ports, missing packages, what they say, how they end."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from gecjury.errors import MissingExtraError, OptionError
from gecjury.web import ORDERS, TASKS
from gecjury.web.running import check_installed, listen
from tests.shell import REPOSITORY, Shell


def test_only_this_machine_can_reach_it() -> None:
    with listen(None) as found:
        assert found.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_told_and_another_found() -> None:
    with listen(None) as first, listen(None) as second:
        ports = [each.getsockname()[1] for each in (first, second)]
        assert len(set(ports)) == 2
        with pytest.raises(OptionError, match=f"--port {ports[0]}: cannot be used .*in use"):
            listen(ports[0])


def test_no_port_of_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gecjury.web.running._TRIED", 0)
    with listen(None) as found:
        assert found.getsockname()[1] > 1023


def test_missing_packages_are_named_with_their_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed("annotate")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"annotate needs the package starlette.*\[web\]"):
        check_installed("annotate")


def test_what_is_refused_before_anything_is_served(shell: Shell) -> None:
    files = ("source.txt", "mine.txt", "source.txt")
    for argv, told in (
        (("annotate", *files[:2], "-o", "j.txt"), "ends in .csv"),
        (("annotate", "no.txt", "mine.txt", "-o", "j.csv"), "no.txt: no such file"),
        (("annotate", "-", "mine.txt", "-o", "j.csv"), "-: no such file"),
        (("annotate", *files[:2], "-o", "j.csv", "--annotator", "=1"), "is no name"),
        (("annotate", *files, "-o", "j.csv", "-m", "green"), "cannot disagree"),
        (("annotate", *files[:2], "-o", "j.csv"), "there is nothing to judge"),
        (("annotate", *files, "-o", "mine.txt/j.csv"), "j.answers.jsonl: cannot be written"),
        (("annotate", *files[:2], "-o", "j.csv", "--port", "99999"), "at most 65535"),
        (("serve", "--compare", "source.txt"), "is no JSON"),
        (("serve", "--scores", "no"), "cannot be read"),
        (("serve", "-m", "llm-s:model=x"), "asks a server"),
        (("serve", "--dry-run"), "--dry-run"),
    ):
        status, out, err = shell(*argv)
        assert (status, out) == (2, ""), argv
        assert told in err
    assert not (shell.folder / "j.csv").exists()


def test_help_needs_no_server_and_no_numpy() -> None:
    script = (
        "import sys; from gecjury.cli import main\n"
        "for name in ('annotate', 'serve'):\n"
        "    try: main([name, '--help'])\n"
        "    except SystemExit: pass\n"
        "print([n for n in ('starlette', 'uvicorn', 'jinja2', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    for word in (*TASKS, *ORDERS):
        assert word in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", ["annotate", "serve"])
def test_it_serves_and_ends_with_an_interrupt(folder: Path, command: str) -> None:
    argv = ["annotate", "source.txt", "good.txt", "worse.txt", "-o", "j.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gecjury", *(argv if command == "annotate" else ["serve"])],
        cwd=folder, env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "LC_ALL": "C.UTF-8"},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if "open http" in line)
        address = line.split()[2]
        with urllib.request.urlopen(address, timeout=10) as found:
            assert b"<h1>" in found.read()
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        other = socket.create_connection((host, int(port)))  # held open: it ends all the same
        process.send_signal(2)
        assert process.wait(15) == 0
        other.close()
        rest = process.stderr.read()
        assert "Traceback" not in rest
        assert command == "serve" or "0 answers in j.csv" in rest
    finally:
        process.kill()
        process.stderr.close()
        process.wait()

"""The commands: ports, missing packages, messages, interrupts."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from gecjury.core.errors import MissingExtraError, OptionError
from gecjury.web import running
from gecjury.web.guards import PageGuard
from gecjury.web.running import check_installed, listen, serve_pages
from tests.shell import REPOSITORY, Shell


@pytest.mark.security
def test_the_server_listens_on_this_machine_only() -> None:
    with listen(None) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_reported_and_the_default_moves_on() -> None:
    with listen(None) as first, listen(None) as second:
        ports = [each.getsockname()[1] for each in (first, second)]
        assert len(set(ports)) == 2
        with pytest.raises(OptionError, match=f"--port {ports[0]}: cannot be used .*in use"):
            listen(ports[0])


def test_missing_packages_are_named_with_their_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed("annotate")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"annotate needs the package starlette.*\[web\]"):
        check_installed("annotate")


def test_invalid_input_is_refused_before_serving(shell: Shell) -> None:
    files = ("source.txt", "mine.txt", "source.txt")
    for argv, message in (
        (("annotate", *files[:2], "-o", "j.txt"), "expected a .csv file"),
        (("annotate", "no.txt", "mine.txt", "-o", "j.csv"), "no.txt: no such file"),
        (("annotate", "-", "mine.txt", "-o", "j.csv"), "-: no such file"),
        (("annotate", *files[:2], "-o", "j.csv", "--annotator", "=1"), "is not a valid name"),
        (("annotate", *files, "-o", "j.csv", "-m", "green"), "cannot disagree"),
        (("annotate", *files[:2], "-o", "j.csv"), "there is nothing to judge"),
        (("annotate", *files, "-o", "mine.txt/j.csv"), "j.answers.jsonl: cannot be written"),
        (("annotate", *files[:2], "-o", "j.csv", "--port", "99999"), "1 to 65535"),
        (("serve", "-m", "llm-s:model=x"), "asks a server"),
        (("serve", "--dry-run"), "--dry-run"),
    ):
        status, out, err = shell(*argv)
        assert (status, out) == (2, ""), argv
        assert message in err
    assert not (shell.folder / "j.csv").exists()
    assert not list(shell.folder.glob("*.answers.jsonl"))


@pytest.mark.security
def test_the_browser_is_started_with_the_one_time_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = PageGuard(None)  # type: ignore[arg-type]  # never asked
    messages: list[str] = []
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(running, "_has_display", lambda: True)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    with listen(None) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/?secret="
        serve_pages(app, listening, messages.append, browser=True)
    assert messages == [address + app.secret]
    assert opened == [address + app.one_time_secret]


@pytest.fixture
def served() -> Iterator[int]:
    """The port of a server with empty responses and a short time limit for headers."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with listen(None) as listening, pytest.MonkeyPatch.context() as patched:
        patched.setattr(running, "HEADER_SECONDS", 0.1)
        config = uvicorn.Config(
            app, http=running.punctual_protocol(), ws="none", lifespan="off", log_level="error"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.security
@pytest.mark.parametrize("beginning", [b"", b"GET / HT", REQUEST[:-2], REQUEST + REQUEST[:9]])
def test_late_headers_close_the_connection(served: int, beginning: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served), timeout=5) as slow:
        if beginning:
            slow.sendall(beginning)
        if beginning.startswith(REQUEST):
            assert slow.recv(1000).startswith(b"HTTP/1.1 204")
            slow.sendall(b" ")
        assert slow.recv(1000) == b""


@pytest.mark.security
def test_complete_requests_are_answered_and_the_connection_stays_open(served: int) -> None:
    with socket.create_connection(("127.0.0.1", served), timeout=5) as quick:
        for _ in range(3):
            quick.sendall(REQUEST)
            assert quick.recv(1000).startswith(b"HTTP/1.1 204")
            time.sleep(0.15)  # longer than the time limit for headers


@pytest.mark.security
@pytest.mark.slow
@pytest.mark.parametrize("command", ["annotate", "serve"])
def test_the_command_serves_until_it_is_interrupted(folder: Path, command: str) -> None:
    argv = ["annotate", "source.txt", "good.txt", "worse.txt", "-o", "j.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gecjury", *(argv if command == "annotate" else ["serve"])],
        cwd=folder, env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "LC_ALL": "C.UTF-8"},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if "open http" in line)
        address, secret = re.fullmatch(r".* (http:\S+/)\?secret=([\w-]{32}) .*\n", line).groups()  # type: ignore[union-attr]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"{address}?secret={secret}", timeout=10) as response:
            assert b"<h1>" in response.read()
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        other = socket.create_connection((host, int(port)))  # must not prevent the exit
        process.send_signal(2)
        assert process.wait(15) == 0
        other.close()
        rest = process.stderr.read()
        assert "Traceback" not in rest
        assert secret not in rest
        assert command == "serve" or "0 answers in j.csv" in rest
    finally:
        process.kill()
        process.stderr.close()
        process.wait()

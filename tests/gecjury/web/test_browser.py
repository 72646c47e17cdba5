"""Pages in a real browser: the secret, keyboard use, a killed program, phones and contrast."""

from __future__ import annotations

import contextlib
import csv
import importlib.resources
import json
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gecjury.judges.asking.items import review_of
from gecjury.judges.asking.store import Identity, Store
from gecjury.judges.exchange import Reply, Request
from gecjury.prompts import read
from gecjury.web.replies import replies_page
from tests import chromium
from tests.shell import REPOSITORY

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.program() is None, reason="there is no chromium"),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    with chromium.open_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A folder with the texts of the sample benchmark."""
    folder = importlib.resources.files("gecjury.benchmarks") / "sample"
    with importlib.resources.as_file(folder) as files:
        shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


class Server:
    """A page in a separate process, which can be killed and started on the same port."""

    def __init__(self, folder: Path, *argv: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"http://127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self._argv = [sys.executable, "-m", "gecjury", *argv, "--no-browser", "--port", port]
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start, and read the printed address with its secret into `entrance`."""
        self.process = subprocess.Popen(
            self._argv, cwd=self._folder, stderr=subprocess.PIPE, text=True,
            env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert self.process.stderr is not None
        line = next(line for line in self.process.stderr if "open http" in line)
        self.entrance = line.split()[2]
        assert self.entrance.startswith(f"{self.address}/?secret=")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def serve(sample: Path) -> Iterator[Callable[..., Server]]:
    with contextlib.ExitStack() as started:

        def begin(*argv: str) -> Server:
            server = Server(sample, *argv)
            started.callback(server.kill)
            return server

        yield begin


def annotate(folder: Path, *options: str) -> list[str]:
    outputs = sorted(f"outputs/{path.name}" for path in (folder / "outputs").iterdir())
    return ["annotate", "source.txt", *outputs, "-r", "reference0.txt", "-o", "j.csv", *options]


def enter(tab: chromium.Page, server: Server) -> None:
    """Open the printed address, as every user has to."""
    tab.visit(server.entrance)
    assert "secret" not in tab.run("location.href")


def until(done: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until `done` returns a true value, ignoring errors (from a page that is being left)."""
    last = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, RuntimeError):
            if found := done():
                return found
        assert time.monotonic() < last, "timed out while waiting for the page"
        time.sleep(0.02)


def state(tab: chromium.Page) -> dict[str, str]:
    """Return the shown item and the status message, once the page is complete."""
    found: dict[str, str] = until(
        lambda: tab.run(
            "document.readyState === 'complete' && document.querySelector('main.judge')"
            " ? {item: document.querySelector('main').dataset.item,"
            " told: document.getElementById('status').textContent} : null"
        )
    )
    return found


def choose(tab: chromium.Page, rng: random.Random) -> list[int]:
    """Rank all corrections with the keyboard; return the ranks in the order of the item."""
    count = tab.run("document.querySelectorAll('.question').length")
    for _ in range(count):
        tab.press(str(rng.randint(1, count)))
    chosen = tab.run(CHOSEN)
    assert len(chosen) == count
    return [int(value) for _, value in sorted(chosen)]


def save(tab: chromium.Page, item: str) -> None:
    """Press Enter until the page shows another item; after a restart, one press is not enough."""
    tab.press("Enter")

    def gone() -> bool:
        now = state(tab)
        if now["item"] == item and "Your choices are kept" in now["told"]:
            tab.run("document.getElementById('status').textContent = ''")
            tab.press("Enter")
        return now["item"] != item

    until(gone)


CHOSEN = "[...document.querySelectorAll('input:checked')].map(i => [i.name, i.value])"
QUESTION = (
    "[...document.querySelectorAll('.question')].findIndex(q => q.contains(document.activeElement))"
)


def test_a_study_with_the_keyboard_and_a_program_that_is_killed(
    tab: chromium.Page, serve: Callable[..., Server], sample: Path
) -> None:
    server = serve(*annotate(sample, "--order", "file"))
    tab.size(1180)
    tab.visit(f"{server.address}/")
    assert "open the address that the program printed" in tab.run("document.body.innerText")
    # A link on another site, here localhost: a strict cookie is not sent with redirects.
    tab.visit(f"{server.address.replace('127.0.0.1', 'localhost')}/")
    tab.run(f"void (location.href = '{server.entrance}')")
    until(lambda: tab.run("document.querySelector('#name') && location.href"))
    assert tab.run("location.href") == f"{server.address}/"
    assert tab.run("document.cookie") == ""  # no script can read it
    tab.visit(f"{server.address}/judge?as=anna")
    until(lambda: tab.run(QUESTION) == 0)
    # Each key, the question that has the focus afterwards, and the value or name of its field.
    for key, question in (("ArrowDown", 1), ("2", 2), ("ArrowUp", 1)):
        tab.press(key)
        assert tab.run(QUESTION) == question
    assert tab.run("document.activeElement.value") == "2"
    first = state(tab)["item"]
    tab.press("Enter")  # some questions have no choice yet
    until(lambda: "Make a choice for A first" in state(tab)["told"])
    assert tab.run(QUESTION) == 0
    tab.press("c")
    assert tab.run("document.activeElement.name") == "comment"
    tab.press("1")  # in a text field it is a character
    assert tab.run("document.activeElement.value") == "1"
    tab.press("Escape")
    assert tab.run(QUESTION) == 0
    tab.press("s")
    until(lambda: state(tab)["item"] != first)
    assert state(tab)["told"] == "Set aside."
    rng = random.Random(1)
    second = state(tab)["item"]
    given = {second: choose(tab, rng)}
    save(tab, second)
    assert state(tab)["told"] == "Saved."
    tab.press("u")
    until(lambda: state(tab)["item"] == second)
    assert "Taken back" in state(tab)["told"]
    assert [int(value) for _, value in sorted(tab.run(CHOSEN))] == given[second]
    save(tab, second)
    # Killed before an answer is sent, and while it is: the choices stay on the page.
    for when in ("before", "during", "before", "during"):
        item = state(tab)["item"]
        assert item not in given
        given[item] = choose(tab, rng)
        if when == "before":
            server.kill()
            tab.press("Enter")
            until(lambda: "Not saved" in state(tab)["told"])
            server.start()
            tab.press("Enter")
            until(lambda: "open the address that the program printed" in state(tab)["told"])
            # In another tab; all tabs share the cookie.
            path = server.entrance.removeprefix(server.address)
            until(lambda path=path: tab.run(f"fetch('{path}').then((answer) => answer.ok)"))
        else:
            tab.press("Enter")
            time.sleep(rng.random() * 0.03)
            server.kill()
            server.start()
            enter(tab, server)
            tab.visit(f"{server.address}/judge?as=anna")
            if state(tab)["item"] != item:
                continue
            assert len(tab.run(CHOSEN)) == len(given[item])
        save(tab, item)
    server.kill()
    records = [json.loads(x) for x in (sample / "j.answers.jsonl").read_text().splitlines()[1:]]
    kept = [(record["item"], record["values"]) for record in records if "values" in record]
    assert dict(kept) == given
    assert len(kept) == len(given) + 1  # one was taken back and given again
    with (sample / "j.csv").open(newline="") as file:
        assert {row["item"] for row in csv.DictReader(file)} == set(given)


def test_the_reason_of_a_failure_stays_in_its_card_on_a_phone(
    tab: chromium.Page, tmp_path: Path
) -> None:
    wording = read("sentence")
    question = wording.render(criterion="", context="A .", targets="B .", scores="x")
    request = Request(
        backend="openai", model="m", base_url="", messages=({"role": "user", "content": question},),
        schema=None, sampling={"max_tokens": 9}, prompt=wording.id,
    )  # fmt: skip
    with Store(tmp_path / "s.jsonl", Identity.of(request)) as store:
        store.append(request, Reply("It cannot be said " + "x" * 60))
    page = tmp_path / "page.html"
    page.write_text(replies_page(review_of([store.path], 9)), encoding="utf-8")
    tab.size(360, phone=True)
    tab.open(page)
    right = "document.querySelector('{}').getBoundingClientRect().right"
    assert tab.run(f"{right.format('.note .tag')} <= {right.format('article')}")

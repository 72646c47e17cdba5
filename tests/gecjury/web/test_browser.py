"""Pages in a real browser: keyboard use, phones, and a program that is killed repeatedly."""

from __future__ import annotations

import contextlib
import csv
import importlib.resources
import io
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

from gecjury.cli import main
from tests import chromium
from tests.shell import REPOSITORY

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.program() is None, reason="there is no chromium"),
]

ITEMS, KILLS = 50, 20


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
    """`gecjury annotate` in a separate process, always on the same port."""

    def __init__(self, folder: Path, *options: str, command: str = "annotate") -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        outputs = sorted(f"outputs/{path.name}" for path in (folder / "outputs").iterdir())
        files = ["source.txt", *outputs, "-r", "reference0.txt", "-o", "j.csv"]
        self._argv = [
            *(sys.executable, "-m", "gecjury", command, *options),
            *(files if command == "annotate" else []),
            *("--no-browser", "--port", str(self.port)),
        ]
        self._folder = folder
        self.process: subprocess.Popen[str] | None = None
        self.entrance = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

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
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture
def serve(sample: Path) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def begin(*options: str, command: str = "annotate") -> Server:
        started.append(Server(sample, *options, command=command))
        started[-1].start()
        return started[-1]

    yield begin
    for server in started:
        server.kill()


def enter(tab: chromium.Page, server: Server) -> None:
    """Open the printed address, as every user has to."""
    tab.visit(server.entrance)
    assert "secret" not in tab.run("location.href")


def enter_elsewhere(tab: chromium.Page, server: Server) -> None:
    """Open the printed address in another tab; all tabs share the cookie."""
    path = server.entrance.removeprefix(server.address)
    until(lambda: tab.run(f"fetch('{path}').then((answer) => answer.ok)"))


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
    chosen = tab.run("[...document.querySelectorAll('input:checked')].map(i => [i.name, i.value])")
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


def test_fifty_items_and_twenty_kills_lose_nothing(
    tab: chromium.Page, serve: Callable[..., Server], sample: Path
) -> None:
    server = serve()
    tab.size(1180)
    enter(tab, server)
    address = f"{server.address}/judge?as=anna&window=w1"
    tab.visit(address)
    rng = random.Random(7)
    kills = dict.fromkeys(rng.sample(range(ITEMS), KILLS))
    for place, at in enumerate(kills):
        kills[at] = ("before", "during", "after")[place % 3]
    given: dict[str, list[int]] = {}
    for turn in range(ITEMS):
        item = state(tab)["item"]
        assert item not in given
        given[item] = choose(tab, rng)
        kind = kills.get(turn)
        if kind == "before":
            server.kill()
            tab.press("Enter")
            until(lambda: "Not saved" in state(tab)["told"])
            server.start()
            tab.press("Enter")
            until(lambda: "open the address that the program printed" in state(tab)["told"])
            enter_elsewhere(tab, server)
        elif kind == "during":
            tab.press("Enter")
            time.sleep(rng.random() * 0.03)
            server.kill()
            server.start()
            enter(tab, server)
            tab.visit(address)  # it may have been loading the next page
            if state(tab)["item"] != item:
                continue
            restored = tab.run("document.querySelectorAll('input:checked').length")
            assert restored == len(given[item])
        save(tab, item)
        if kind == "after":
            server.kill()
            server.start()
            enter_elsewhere(tab, server)
    server.kill()
    kept = {}
    for line in (sample / "j.answers.jsonl").read_text().splitlines()[1:]:
        record = json.loads(line)
        assert record["item"] not in kept
        kept[record["item"]] = record["values"]
    assert kept == given
    with (sample / "j.csv").open(newline="") as file:
        assert {row["item"] for row in csv.DictReader(file)} == set(given)


def test_the_secret_opens_the_page_and_is_removed_from_the_address(
    tab: chromium.Page, serve: Callable[..., Server]
) -> None:
    server = serve()
    tab.visit(f"{server.address}/")
    assert "open the address that the program printed" in tab.run("document.body.innerText")
    # A link on another site, here localhost: a strict cookie is not sent with redirects.
    tab.visit(f"http://localhost:{server.port}/")
    tab.run(f"void (location.href = '{server.entrance}')")
    until(lambda: tab.run("document.querySelector('#name') && location.href"))
    assert tab.run("location.href") == f"{server.address}/"
    assert tab.run("document.cookie") == ""  # no script can read it
    other = serve(command="serve")  # another port has a separate cookie
    enter(tab, other)
    for each, title in ((server, "Which corrections"), (other, "Score texts")):
        tab.visit(f"{each.address}/")
        assert title in tab.run("document.querySelector('h1').textContent")


def test_keys_and_focus(tab: chromium.Page, serve: Callable[..., Server]) -> None:
    server = serve("--order", "file")
    tab.size(1180)
    enter(tab, server)
    tab.visit(f"{server.address}/judge?as=anna&window=w1")
    questions = "[...document.querySelectorAll('.question')]"
    place = f"{questions}.findIndex(q => q.contains(document.activeElement))"
    assert tab.run(place) == 0
    tab.press("ArrowDown")
    assert tab.run(place) == 1
    tab.press("2")
    assert tab.run(place) == 2
    tab.press("ArrowUp")
    assert tab.run(place) == 1
    assert tab.run("document.activeElement.value") == "2"
    first = state(tab)["item"]
    tab.press("Enter")  # some questions have no choice yet
    until(lambda: "Make a choice for A first" in state(tab)["told"])
    assert tab.run(place) == 0
    tab.press("c")
    assert tab.run("document.activeElement.name") == "comment"
    tab.press("1")  # in a text field it is a character
    assert tab.run("document.activeElement.value") == "1"
    tab.press("Escape")
    assert tab.run(place) == 0
    tab.press("s")
    until(lambda: state(tab)["item"] != first)
    assert state(tab)["told"] == "Set aside."
    second = state(tab)["item"]
    given = choose(tab, random.Random(1))
    save(tab, second)
    assert state(tab)["told"] == "Saved."
    tab.press("u")
    until(lambda: state(tab)["item"] == second)
    assert "Taken back" in state(tab)["told"]
    chosen = tab.run("[...document.querySelectorAll('input:checked')].map(i => [i.name, i.value])")
    assert [int(value) for _, value in sorted(chosen)] == given


@pytest.mark.parametrize(
    ("task", "width", "phone"), [("rank", 360, True), ("rate", 390, True), ("rank", 1180, False)]
)
def test_pages_fit_the_screen_and_targets_are_large_enough(
    tab: chromium.Page, serve: Callable[..., Server], task: str, width: int, phone: bool
) -> None:
    server = serve("--task", task)
    tab.size(width, 800, phone)
    enter(tab, server)
    for scheme in ("light", "dark"):
        tab.media(scheme)
        for address in ("/judge?as=anna&window=w1", "/", "/overview"):
            tab.problems.clear()
            tab.visit(server.address + address)
            assert tab.problems == []
            assert tab.run("document.documentElement.scrollWidth") == width
            sizes = tab.run(
                "[...document.querySelectorAll('button, .choice')].map(e => "
                "e.getBoundingClientRect()).map(r => Math.min(r.width, r.height))"
            )
            assert min(sizes, default=44) >= 40
            assert tab.run(CONTRAST) >= 4.5


# The lowest contrast of any text with its background (WCAG 2).
CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (c) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) =>
    v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const found = rgba(getComputedStyle(e).backgroundColor); if (found[3] > 250) return found; }
    return rgba(getComputedStyle(document.body).backgroundColor); };
  let least = 21;
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
})()
"""


def test_the_page_to_try_metrics(
    tab: chromium.Page, serve: Callable[..., Server], sample: Path
) -> None:
    out = io.StringIO()
    argv = ["compare", "sample", "-m", "green", "-m", "gleu", "--format", "json"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main([*argv, "--resamples", "10", "-o", str(sample / "scores")]) == 0
    (sample / "c.json").write_text(out.getvalue())
    server = serve("--compare", "c.json", "--scores", "scores", command="serve")
    enter(tab, server)
    for width, scheme in ((360, "light"), (1180, "dark")):
        tab.size(width, 800, width < 500)
        tab.media(scheme)
        tab.problems.clear()
        tab.visit(f"{server.address}/")
        tab.run("document.querySelector('.another').click()")
        assert tab.run("document.querySelectorAll('[name=output]').length") == 3
        tab.run(
            "(() => { const form = document.querySelector('form.score');"
            "form.elements.source.value = 'He go home .';"
            "form.querySelectorAll('[name=output]')[2].value = 'He goes home .';"
            "form.querySelector('[name=reference]').value = 'He goes home .';"
            "form.querySelectorAll('[name=metric]').forEach(m => m.checked = m.value === 'green');"
            "form.requestSubmit(); })()"
        )
        shown = until(lambda: tab.run("document.querySelector('#result tbody td')?.textContent"))
        assert shown.startswith("1.0000")
        until(lambda: tab.run("document.readyState === 'complete'"))
        tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        for address in ("", "/comparison/0", "/leaderboard"):
            if address:
                tab.visit(server.address + address)
            assert tab.problems == []
            assert tab.run("document.documentElement.scrollWidth") == width
            assert tab.run(CONTRAST) >= 4.5, (address, scheme)

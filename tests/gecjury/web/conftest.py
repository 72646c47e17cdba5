"""A small study and its page, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from gecjury.web import Annotation
from gecjury.web.annotate import annotate_app
from gecjury.web.guards import PageGuard
from gecjury.web.study import AnnotationStudy, open_study

SOURCES = ["He go home .", "She have two cat .", "All is well .", "I likes it a lot ."]
OUTPUTS = {
    "good": ["He goes home .", "She has two cats .", "All is well .", "I like it a lot ."],
    "half": ["He goes home .", "She has two cat .", "All is well .", "I like it lots ."],
    "none": SOURCES,
    "worse": ["He going home .", "She haves two cat .", "All are well .", "I likes it lot ."],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`source.txt` and a file an output."""
    for name, lines in {"source": SOURCES, **OUTPUTS}.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


@pytest.fixture
def begin(folder: Path) -> Iterator[Callable[..., AnnotationStudy]]:
    """Opens the study of that folder, again and again; what was open before is closed, as by a
    process that ends."""
    opened: list[AnnotationStudy] = []

    def open_one(**options: Any) -> AnnotationStudy:
        while opened:
            opened.pop().journal.close()
        told: list[str] = []
        tell, runtime = options.pop("tell", told.append), options.pop("runtime", None)
        settings = Annotation(
            source=str(folder / "source.txt"),
            outputs=tuple(str(folder / f"{name}.txt") for name in OUTPUTS),
            output=str(folder / "j.csv"),
            **options,
        )
        opened.append(open_study(settings, runtime=runtime, tell=tell))
        opened[-1].told = told  # type: ignore[attr-defined]  # for the test
        return opened[-1]

    yield open_one
    while opened:
        opened.pop().journal.close()


def admitted(app: PageGuard) -> TestClient:
    """A browser, but for the scripts, that has opened the printed address of an application."""
    client = TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False)
    assert client.get("/", params={"secret": app.secret}).status_code == 303
    return client


class Browser:
    """What a browser does with the page, without one."""

    def __init__(self, study: AnnotationStudy, name: str = "anna", window: str = "w1") -> None:
        self.study, self.name, self.window = study, name, window
        self.app = annotate_app(study)
        self.client = admitted(self.app)

    def page(self) -> str:
        """The judging page."""
        found = self.client.get("/judge", params={"as": self.name, "window": self.window})
        return found.text

    def item(self) -> str:
        """The item that is asked; "" where none is left."""
        item = self.study.next_item(self.name)
        return "" if item is None else item.id

    def send(self, what: str, **fields: Any) -> Any:
        """Send a form, as the page's script does."""
        known = {"token": self.study.token, "as": self.name, "window": self.window}
        headers = {"Accept": "application/json", "Origin": "http://127.0.0.1:8765"}
        return self.client.post(f"/{what}", data={**known, **fields}, headers=headers)

    def answer(self, *values: int, key: str = "", **fields: Any) -> Any:
        """Answer the item that is asked; all 1 where nothing is said."""
        item = self.study.by_name[self.item()]
        chosen = values or (1,) * item.values
        given = {f"value{place}": str(value) for place, value in enumerate(chosen)}
        return self.send("answer", item=item.id, key=key or f"key {item.id}", **given, **fields)


@pytest.fixture
def browser(begin: Callable[..., AnnotationStudy]) -> Callable[..., Browser]:
    """A browser of a study that is opened with the options given."""

    def made(name: str = "anna", window: str = "w1", **options: Any) -> Browser:
        return Browser(begin(**options), name, window)

    return made

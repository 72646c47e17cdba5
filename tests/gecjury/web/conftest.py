"""Fixtures: a small annotation study and its page, in the test process."""

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
    """A folder with `source.txt` and one file per output."""
    for name, lines in {"source": SOURCES, **OUTPUTS}.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


@pytest.fixture
def begin(folder: Path) -> Iterator[Callable[..., AnnotationStudy]]:
    """A function that opens the study in that folder, any number of times.

    It first closes the study opened before, as the end of a process would.
    """
    opened: list[AnnotationStudy] = []

    def open_one(**options: Any) -> AnnotationStudy:
        while opened:
            opened.pop().journal.close()
        messages: list[str] = []
        tell, runtime = options.pop("tell", messages.append), options.pop("runtime", None)
        settings = Annotation(
            source=str(folder / "source.txt"),
            outputs=tuple(str(folder / f"{name}.txt") for name in OUTPUTS),
            output=str(folder / "j.csv"),
            **options,
        )
        opened.append(open_study(settings, runtime=runtime, tell=tell))
        opened[-1].told = messages  # type: ignore[attr-defined]  # for the test
        return opened[-1]

    yield open_one
    while opened:
        opened.pop().journal.close()


def admitted(app: PageGuard) -> TestClient:
    """Return a client, without scripts, that has opened the printed address of an application."""
    client = TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False)
    assert client.get("/", params={"secret": app.secret}).status_code == 303
    return client


class Browser:
    """A client that sends the requests of a browser on the judging page."""

    def __init__(self, study: AnnotationStudy, name: str = "anna") -> None:
        self.study, self.name = study, name
        self.app = annotate_app(study)
        self.client = admitted(self.app)

    def page(self) -> str:
        """Return the text of the judging page."""
        response = self.client.get("/judge", params={"as": self.name})
        return response.text

    def item(self) -> str:
        """Return the id of the current item; "" if none is left."""
        item = self.study.next_item(self.name)
        return "" if item is None else item.id

    def send(self, what: str, **fields: Any) -> Any:
        """Send a form like the script of the page."""
        common = {"token": self.study.token, "as": self.name}
        headers = {"Accept": "application/json", "Origin": "http://127.0.0.1:8765"}
        return self.client.post(f"/{what}", data={**common, **fields}, headers=headers)

    def answer(self, *values: int, key: str = "", **fields: Any) -> Any:
        """Answer the current item; without values, answer 1 everywhere."""
        item = self.study.by_name[self.item()]
        chosen = values or (1,) * item.values
        value_fields = {f"value{place}": str(value) for place, value in enumerate(chosen)}
        return self.send(
            "answer", item=item.id, key=key or f"key {item.id}", **value_fields, **fields
        )


@pytest.fixture
def browser(begin: Callable[..., AnnotationStudy]) -> Callable[..., Browser]:
    """A function that opens the study with the given options and returns a browser of it."""

    def made(name: str = "anna", **options: Any) -> Browser:
        return Browser(begin(**options), name)

    return made

"""The page to try metrics: pasted texts, offered metrics, invalid input."""

from __future__ import annotations

import asyncio
import html
import itertools
import re
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.languages.language import language_of
from gecjury.scoring.registry import load
from gecjury.web import trying
from gecjury.web.trying import Desk, offered_metrics, open_desk, pasted, trying_app
from tests.gecjury.web.conftest import admitted

SOURCE = "He go home .\nAll is well ."
GOOD = "He goes home .\nAll is well ."
LONG = "\n".join(["a " * 99 + "a"] * 100)


def page_of(desk: Desk) -> TestClient:
    return admitted(trying_app(desk))


def send(desk: Desk, **fields: Any) -> Any:
    data = {
        "token": desk.token, "source": SOURCE, "output": [GOOD, SOURCE], "system": ["a", ""],
        "reference": [GOOD], "metric": ["green"], **fields,
    }  # fmt: skip
    return page_of(desk).post("/score", data=data)


@pytest.fixture
def desk() -> Desk:
    return Desk(["green", "gleu", "changes"])


def test_offered_metrics_need_no_network_model_or_gold() -> None:
    offered = offered_metrics()
    assert {"green", "gleu", "changes"} <= set(offered)
    assert not set(offered) & {"m2", "some", "llm-s", "jury", "uot-errant", "pt-errant", "scores"}


def test_the_example_fills_the_form_and_can_be_scored(desk: Desk) -> None:
    client = page_of(desk)
    assert 'href="/?example=1"' in client.get("/").text
    text = client.get("/", params={"example": "1"}).text
    areas = [html.unescape(area) for area in re.findall(r"<textarea[^>]*>([^<]*)</textarea>", text)]
    source, careful, hasty, *references = areas
    assert [len(area.splitlines()) for area in areas] == [5] * 6
    response = send(
        desk, source=source, output=[careful, hasty], system=["careful", "hasty"],
        reference=references,
    )  # fmt: skip
    assert "<h2>Scores</h2>" in response.text
    assert all(
        len({one, two, three}) == 3
        for one, two, three in zip(*(area.splitlines() for area in areas[:3]), strict=True)
    )
    # The sample is English, so another language has no example.
    swedish = page_of(Desk(["green"], language=language_of("sv")))
    assert "example" not in swedish.get("/").text


def test_pasted_texts_are_scored_like_files(desk: Desk) -> None:
    response = send(desk, metric=["green", "gleu"])
    assert response.status_code == 200
    corpus = pasted(SOURCE, [("a", GOOD), ("", SOURCE)], [GOOD])
    assert corpus.names == ("a", "output 2")
    for table in [load(name).score_corpus(corpus) for name in ["green", "gleu"]]:
        for value in table.by_system.score:
            assert f"{value:.4f}" in response.text
        assert str(table.signature) in response.text
    assert "He <del>go</del> <ins>goes</ins> home ." in response.text
    # The form contains the pasted text.
    assert f">{SOURCE}</textarea>" in response.text
    assert re.search(r'value="gleu" checked', response.text)
    assert not re.search(r'value="changes" checked', response.text)


def test_edits_are_explained(desk: Desk) -> None:
    text = send(desk).text
    assert "change of the score without the edit" in text
    assert "[1,2] → goes" in text


def test_an_aligning_metric_shows_its_verdicts() -> None:
    pytest.importorskip("errant")
    text = send(Desk(["errant"]), metric=["errant"]).text
    assert re.search(r"<td>R:VERB:SVA</td><td>hit</td>", text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": ""}, "the source is empty"),
        ({"output": [""]}, "no output"),
        ({"output": ["One line ."]}, "has 1 lines, but the source has 2"),
        ({"reference": ["One line ."]}, "reference 1 has 1 lines"),
        ({"reference": []}, "green needs references"),
        ({"system": ["a", "a"]}, "two outputs are called"),
        ({"metric": []}, "choose at least one metric"),
        ({"metric": ["some"]}, "unknown metric"),
        ({"metric": ["green:beta=7"]}, "unknown metric"),
        ({"source": "a\n" * 201}, "has 201 lines; expected at most 200"),
        ({"source": "a " * 201 + "\nb"}, "line 1: has 201 words; expected at most 200"),
        (
            {"source": LONG, "output": [LONG, LONG], "reference": [LONG]},
            "40,000 tokens together; expected at most 20,000",
        ),
        (
            {"output": [GOOD] * 9, "system": list("abcdefghi")},
            "the form has 9 outputs; expected at most 8",
        ),
    ],
)
def test_invalid_input_is_reported_above_the_unchanged_form(
    desk: Desk, fields: dict[str, Any], message: str
) -> None:
    response = send(desk, **fields)
    assert response.status_code == 422
    assert message in response.text
    if "output" not in fields:
        assert GOOD in response.text


@pytest.mark.security
def test_very_long_texts_are_refused(desk: Desk) -> None:
    assert send(desk, source="x" * 600_000).status_code == 413
    assert send(desk, token="other").status_code == 403


@pytest.mark.security
def test_pasted_texts_are_not_stored(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    desk = Desk(["errant"], runtime=Runtime(cache=tmp_path / "cache"))
    assert send(desk, metric=["errant"]).status_code == 200
    assert not (tmp_path / "cache").exists()


@pytest.mark.security
def test_pasted_text_is_escaped(desk: Desk) -> None:
    evil = "<script>alert(1)</script> {{ 7 * 7 }} </textarea><img src=x onerror=y>"
    response = send(desk, source=evil, output=[evil + " ."], system=['"><u>'], reference=[evil])
    assert response.status_code == 200
    for tag in ("<script>alert", "<img", '"><u>'):
        assert tag not in response.text
    assert "{{ 7 * 7 }}" in response.text


@pytest.mark.security
def test_named_metrics_are_offered_and_judges_refused() -> None:
    assert "green:beta=1" in open_desk(["green:beta=1"], Runtime()).metrics
    with pytest.raises(OptionError, match="asks a server about every text"):
        open_desk(["llm-s:model=x"], Runtime())
    with pytest.raises(OptionError, match="did you mean green"):
        open_desk(["gren"], Runtime())


@pytest.mark.security
def test_scoring_has_a_time_limit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "_MOST_SCORING", -1.0)
    response = send(desk)
    assert response.status_code == 422
    assert "seconds and was stopped; use fewer texts or metrics" in response.text
    assert GOOD in response.text


@pytest.mark.security
def test_scoring_stops_when_the_browser_disconnects(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = trying_app(desk)
    began, stopped = threading.Event(), threading.Event()

    def endless(corpus: Any, metrics: Any, runtime: Runtime, patience: Any) -> Any:
        began.set()
        try:
            for _ in runtime.track(itertools.count(), "scoring"):
                time.sleep(0.001)
        finally:
            stopped.set()

    async def receive() -> dict[str, Any]:
        if not received:
            received.append(True)
            return {"type": "http.request", "body": body, "more_body": False}
        while not began.is_set():
            await asyncio.sleep(0.001)
        return {"type": "http.disconnect"}

    async def send_nothing(message: Any) -> None:
        pass

    monkeypatch.setattr(trying, "_result", endless)
    monkeypatch.setattr(trying, "_LOOK", 0.01)
    received: list[bool] = []
    form = {"token": desk.token, "source": "a", "output": "b", "metric": "green"}
    body = urlencode(form).encode()
    cookie = f"gecjury-80={app.secret}".encode()
    scope = {
        "type": "http", "method": "POST", "path": "/score", "query_string": b"", "root_path": "",
        "headers": [(b"host", b"localhost"), (b"cookie", cookie)],
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(app(scope, receive, send_nothing), 10))
    assert stopped.is_set()

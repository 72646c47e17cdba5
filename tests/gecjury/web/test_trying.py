"""The page to try metrics: pasted texts, what is offered, what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from gecjury.errors import InputError, OptionError
from gecjury.experiments.score import score
from gecjury.runtime import Runtime
from gecjury.web import trying
from gecjury.web.trying import Desk, offered_metrics, open_desk, pasted, trying_app

SOURCE = "He go home .\nAll is well ."
GOOD = "He goes home .\nAll is well ."


def page_of(desk: Desk) -> TestClient:
    return TestClient(trying_app(desk), base_url="http://127.0.0.1:8765")


def send(desk: Desk, **fields: Any) -> Any:
    data = {
        "token": desk.token, "source": SOURCE, "output": [GOOD, SOURCE], "system": ["a", ""],
        "reference": [GOOD], "metric": ["green"], **fields,
    }  # fmt: skip
    return page_of(desk).post("/score", data=data)


@pytest.fixture
def desk() -> Desk:
    return Desk(["green", "gleu", "changes"])


def test_offered_are_metrics_without_network_model_or_gold() -> None:
    offered = offered_metrics()
    assert {"green", "gleu", "changes"} <= set(offered)
    assert not set(offered) & {"m2", "some", "llm-s", "jury", "uot-errant", "pt-errant", "scores"}


def test_pasted_texts_are_scored_as_files_are(desk: Desk) -> None:
    found = send(desk, metric=["green", "gleu"])
    assert found.status_code == 200
    corpus = pasted(SOURCE, [("a", GOOD), ("", SOURCE)], [GOOD])
    assert corpus.names == ("a", "output 2")
    for table in score(corpus, metrics=["green", "gleu"]).tables:
        for value in table.by_system.score:
            assert f"{value:.4f}" in found.text
        assert str(table.signature) in found.text
    assert "He <del>go</del> <ins>goes</ins> home ." in found.text
    # the form holds what was pasted
    assert f">{SOURCE}</textarea>" in found.text
    assert re.search(r'value="gleu" checked', found.text)
    assert not re.search(r'value="changes" checked', found.text)


def test_edits_are_explained(desk: Desk) -> None:
    text = send(desk).text
    assert "change of the score without the edit" in text
    assert "[1,2] → goes" in text


def test_an_aligning_metric_shows_its_verdicts() -> None:
    pytest.importorskip("errant")
    text = send(Desk(["errant"]), metric=["errant"]).text
    assert re.search(r"<td>R:VERB:SVA</td><td>hit</td>", text)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"source": ""}, "the source is empty"),
        ({"output": [""]}, "no output"),
        ({"output": ["One line ."]}, "has 1 lines, but the source has 2"),
        ({"reference": ["One line ."]}, "reference 1 has 1 lines"),
        ({"reference": []}, "green needs references"),
        ({"system": ["a", "a"]}, "two outputs are called"),
        ({"metric": []}, "choose a metric at least"),
        ({"metric": ["some"]}, "unknown metric"),
        ({"metric": ["green:beta=7"]}, "unknown metric"),
        ({"source": "a\n" * 201}, "has 201 lines; expected at most 200"),
        ({"source": "a " * 201 + "\nb"}, "line 1: has 201 words"),
        ({"output": [GOOD] * 9, "system": list("abcdefghi")}, "9 outputs"),
    ],
)
def test_what_does_not_fit_is_told_above_the_form_as_it_was(
    desk: Desk, fields: dict[str, Any], told: str
) -> None:
    found = send(desk, **fields)
    assert found.status_code == 422
    assert told in found.text
    if "output" not in fields:
        assert GOOD in found.text


def test_very_long_texts_are_refused(desk: Desk) -> None:
    assert send(desk, source="x" * 600_000).status_code == 413
    assert send(desk, token="other").status_code == 403


def test_lines_of_other_systems_and_empty_ones(desk: Desk) -> None:
    corpus = pasted("a  b\r\n\r\nc\r\n\r\n", [("", "a b\n\nc")], [])
    assert corpus.sources == ("a b", "", "c")


def test_pasted_texts_are_kept_nowhere(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    desk = Desk(["errant"], runtime=Runtime(cache=tmp_path / "cache"))
    assert send(desk, metric=["errant"]).status_code == 200
    assert not (tmp_path / "cache").exists()


def test_what_is_pasted_does_nothing(desk: Desk) -> None:
    evil = "<script>alert(1)</script> {{ 7 * 7 }} </textarea><img src=x onerror=y>"
    found = send(desk, source=evil, output=[evil + " ."], system=['"><u>'], reference=[evil])
    assert found.status_code == 200
    for tag in ("<script>alert", "<img", '"><u>'):
        assert tag not in found.text
    assert "{{ 7 * 7 }}" in found.text


def test_named_metrics_are_offered_and_judges_refused() -> None:
    assert "green:beta=1" in open_desk(["green:beta=1"], [], None, Runtime()).metrics
    with pytest.raises(OptionError, match="asks a server for every text"):
        open_desk(["llm-s:model=x"], [], None, Runtime())
    with pytest.raises(OptionError, match="did you mean green"):
        open_desk(["gren"], [], None, Runtime())


def test_long_results_say_what_is_explained(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "_MOST_EXPLAINED", 1)
    text = send(desk, source="a b\nc d", output=["a x\nc y"], system=[""], reference=["a x\nc y"])
    assert "explained are the first 1 corrections" in text.text


def test_addresses_that_are_none(desk: Desk) -> None:
    page = page_of(desk)
    for address in ("/comparison/0", "/comparison/x", "/leaderboard", "/nothing"):
        assert page.get(address).status_code == 404
    with pytest.raises(InputError):
        open_desk([], ["/nothing.json"], None, Runtime())

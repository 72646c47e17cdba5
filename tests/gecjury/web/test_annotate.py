"""The judging page: its contents, valid and invalid answers, and access by annotators."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import InputError, OptionError
from gecjury.metaeval.edits.cases import edit_cases
from gecjury.web.study import annotator_name
from gecjury.web.tasks import shown_order
from tests.gecjury.web.conftest import OUTPUTS, SOURCES, Browser

Open = Callable[..., Browser]


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "j.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_sets_contain_the_distinct_corrections_without_system_names(browser: Open) -> None:
    page = browser()
    items = {item.row: item for item in page.study.items}
    assert [len(items[row].texts) for row in range(4)] == [3, 4, 2, 4]
    assert items[0].systems == (("good", "half"), ("none",), ("worse",))
    text = page.page()
    assert not [name for name in OUTPUTS if name in text]
    assert SOURCES[page.study.by_name[page.item()].row] in text
    assert re.search(r"<del>\w+</del> <ins>\w+</ins>", text)


def test_annotators_see_different_orders_and_each_always_the_same(browser: Open) -> None:
    item = next(item for item in browser().study.items if len(item.texts) == 4)
    orders = {tuple(shown_order(item, name, 0)) for name in "abcdefgh"}
    assert len(orders) > 2
    assert shown_order(item, "a", 0) == shown_order(item, "a", 0)


def test_only_valid_ranks_are_accepted_including_ties_and_gaps(browser: Open, folder: Path) -> None:
    page = browser(order="file")
    for wrong in (("1", "2"), ("1", "2", "4"), ("1", "2", "0"), ("1", "2", "x"), ("1", "2", "٣")):
        given = {f"value{place}": value for place, value in enumerate(wrong)}
        response = page.send("answer", item="1.1", key="k", **given)
        assert (response.status_code, response.json()["kind"]) == (400, "incomplete"), wrong
    assert page.answer(1, 3, 3).status_code == 200
    assert {row["system"]: row["rank"] for row in rows(folder)} == {
        "good": "1", "half": "1", "none": "3", "worse": "3",
    }  # fmt: skip
    assert {row["sentence"] for row in rows(folder)} == {"1"}


def test_ratings_have_three_aspects(browser: Open, folder: Path) -> None:
    page = browser(task="rate", order="file")
    text = page.page()
    for word in ("Grammaticality", "Fluency", "Meaning", "perfect", "identical"):
        assert word in text
    assert page.answer(4, 3, 5).status_code == 400
    assert page.answer(4, 3, 2).status_code == 200
    assert [tuple(row.values()) for row in rows(folder)] == [
        ("1", name, score, "anna", aspect)
        for name in ("good", "half")
        for aspect, score in (("grammaticality", "4"), ("fluency", "3"), ("meaning", "2"))
    ]


def test_verdicts_on_edits(browser: Open, folder: Path) -> None:
    pytest.importorskip("errant")
    page = browser(task="edits", order="file")
    assert [item.id for item in page.study.items][:3] == ["1.1", "1.3", "2.1"]
    text = page.page()
    assert re.search(r"Edit 1</span>.*<del>go</del> <ins>goes</ins> home", text)
    assert page.answer(1).status_code == 200
    assert page.answer(0).status_code == 200
    assert page.item() == "2.1"
    assert page.answer(1, 0).status_code == 200
    written = [tuple(row.values()) for row in rows(folder)]
    assert written[0] == ("1", "good", "1", "2", "goes", "1", "anna")
    assert written[2] == ("1", "worse", "1", "2", "going", "0", "anna")
    assert [row[1:6] for row in written[3:]] == [
        ("good", "1", "2", "has", "1"), ("good", "3", "4", "cats", "0"),
    ]  # fmt: skip
    # The verdicts alone are a benchmark.
    assert page.study.command == "gecjury compare j.toml -m METRIC"
    made = load_benchmark(str(folder / "j.toml"))
    assert made.edits_alone
    assert len(edit_cases(made)) == 4  # two systems share the first edit


def test_items_are_set_aside_shown_again_and_undone(browser: Open, folder: Path) -> None:
    page = browser(order="file")
    page.send("skip", item="1.1")
    assert page.item() == "2.1"
    for _ in range(3):
        page.answer(comment="  a   remark ")
    assert "you set 1 aside" in page.page()
    assert page.item() == ""
    page = browser(order="file")  # unchanged after a restart
    assert page.item() == ""
    page.send("again")
    assert page.item() == "1.1"
    page.answer(1, 2, 3)
    assert page.send("undo").json()["next"].endswith("told=undone")
    assert page.item() == "1.1"
    text = page.page()
    checked = re.findall(r'name="(value\d)" value="(\d)" checked', text)
    assert sorted(checked) == [("value0", "1"), ("value1", "2"), ("value2", "3")]
    assert {row["sentence"] for row in rows(folder)} == {"2", "3", "4"}
    for _ in range(3):
        page.send("undo")
    assert page.send("undo").json()["next"].endswith("told=nothing")
    assert rows(folder) == []
    page.answer()
    assert len(browser(order="file").study.journal.answers()) == 1


def test_a_comment_is_only_in_the_journal(browser: Open, folder: Path) -> None:
    browser().answer(comment="  a\n remark ")
    assert '"comment": "a remark"' in (folder / "j.answers.jsonl").read_text()
    assert "remark" not in (folder / "j.csv").read_text()


def test_annotators_have_separate_progress(browser: Open) -> None:
    page = browser(order="file")
    page.answer()
    page.answer()
    ben = Browser(page.study, "ben")
    assert ben.item() == "1.1"
    ben.answer()
    text = page.client.get("/overview").text
    assert re.search(r'anna</th><td class="n">2<', text)
    assert re.search(r'ben</th><td class="n">1<', text)
    assert "Continue as <b>ben</b>" in page.client.get("/").text


def test_the_page_can_be_restricted_to_one_annotator(browser: Open) -> None:
    page = browser(annotator="anna")
    assert page.client.get("/").headers["location"].startswith("/judge?as=anna")
    other = Browser(page.study, "ben")
    assert other.client.get("/judge?as=ben").status_code == 403
    assert other.answer().status_code == 403


@pytest.mark.security
@pytest.mark.parametrize(
    "name", ["", "  ", "=1+1", "-x", "@x", "+x", "a\x1b[2Jb", "x" * 61, "\u202e"]
)
def test_invalid_annotator_names_are_refused(browser: Open, name: str) -> None:
    assert annotator_name("  Zoe\u0308 \u00a0 B ") == "Zoë B"
    with pytest.raises(OptionError):
        annotator_name(name)
    page = Browser(browser().study, name)
    assert page.client.get("/judge", params={"as": name}).status_code == 422
    assert page.answer().status_code == 422


@pytest.mark.security
def test_unknown_items_and_addresses_are_refused(browser: Open) -> None:
    page = browser()
    assert page.send("answer", item="9.9", value0="1").status_code == 400
    assert page.send("skip", item="9.9").status_code == 400
    assert page.client.get("/judge").status_code == 422
    assert page.client.get("/../etc/passwd").status_code == 404
    assert page.client.get("/static/..%2f..%2fanswers.py").status_code == 404


def test_forms_work_without_a_script(browser: Open) -> None:
    page = browser()
    data = {"token": page.study.token, "as": "anna"}
    response = page.client.post("/begin", data=data)
    assert (response.status_code, response.headers["location"]) == (303, "/judge?as=anna")
    assert 'method="post" action="/answer"' in page.client.get("/judge?as=anna").text
    wrong = page.client.post("/answer", data={**data, "item": "1.1"})
    assert wrong.status_code == 400
    assert "text/html" in wrong.headers["content-type"]


@pytest.mark.security
def test_an_unexpected_error_does_not_end_the_session(
    browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser()

    def broken(*given: object) -> None:
        raise RuntimeError("a secret text")

    monkeypatch.setattr(page.study.journal, "save", broken)
    response = page.answer()
    assert response.status_code == 500
    assert "RuntimeError" in response.json()["error"]
    assert "secret" not in response.text
    monkeypatch.undo()
    assert page.answer().status_code == 200


def test_nothing_to_judge(folder: Path, browser: Open) -> None:
    for name in OUTPUTS:
        (folder / f"{name}.txt").write_text((folder / "source.txt").read_text())
    with pytest.raises(InputError, match="no source has two different corrections"):
        browser()

"""Answers on disk: saved before they are confirmed, repaired, refused after foreign changes."""

from __future__ import annotations

import errno
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.own.judgments import read_judgments, read_own_verdicts
from gecjury.core.errors import InputError, OptionError, OutputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.rows import check_system_name
from gecjury.web import Annotation, answers
from gecjury.web.answers import COLUMNS, ItemAnswer, _csv
from gecjury.web.study import AnnotationStudy, annotator_name, open_study
from tests.gecjury.web.conftest import OUTPUTS, Browser

pytestmark = pytest.mark.security

Open = Callable[..., Browser]


def journal(folder: Path) -> Path:
    return folder / "j.answers.jsonl"


def judge(page: Browser, count: int) -> None:
    for number in range(count):
        item = page.study.by_name[page.item()]
        values = [1 + (number + place) % len(item.texts) for place in range(item.values)]
        assert page.answer(*values).status_code == 200


def test_an_answer_is_on_disk_before_it_is_confirmed(
    browser: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_write, real_sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda *a: (order.append("write"), real_write(*a))[1])
    monkeypatch.setattr(os, "fsync", lambda *a: (order.append("fsync"), real_sync(*a))[1])
    page = browser()
    order.clear()
    response = page.answer(1, 2, 3, 3)
    assert "told=saved" in response.json()["next"]
    assert order[:2] == ["write", "fsync"]
    (line,) = journal(folder).read_text().splitlines()[1:]
    assert json.loads(line)["values"] == [1, 2, 3, 3][: len(json.loads(line)["values"])]


def test_annotation_resumes_where_it_stopped(browser: Open, folder: Path) -> None:
    page = browser()
    judge(page, 2)
    before = {a.item: a.values for a in page.study.journal.answers()}
    csv = (folder / "j.csv").read_text()
    again = browser()
    assert {a.item: a.values for a in again.study.journal.answers()} == before
    assert again.item() not in before
    assert (folder / "j.csv").read_text() == csv
    judge(again, len(again.study.items) - 2)
    assert again.item() == ""
    assert "Nothing left" in again.page()


def test_a_truncated_last_line_is_removed_and_reported(browser: Open, folder: Path) -> None:
    page = browser()
    judge(page, 2)
    csv = (folder / "j.csv").read_text()
    judge(page, 1)
    path = journal(folder)
    whole = path.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    for cut in (last + 1, len(whole) - 1):
        page.study.journal.close()
        path.write_bytes(whole[:cut])
        (folder / "j.csv").write_text(csv)
        page = browser()
        assert len(page.study.journal.answers()) == 2
        (message,) = page.study.told  # type: ignore[attr-defined]
        assert "the last line was cut off" in message
        assert path.read_bytes() == whole[:last]
        assert (folder / "j.csv").read_text() == csv


def test_a_csv_file_that_lags_after_a_kill_is_updated(browser: Open, folder: Path) -> None:
    page = browser()
    judge(page, 2)
    before = (folder / "j.csv").read_text()
    judge(page, 1)
    after = (folder / "j.csv").read_text()
    (folder / "j.csv").write_text(before)  # killed between the journal and the file
    browser()
    assert (folder / "j.csv").read_text() == after
    page = browser()
    page.send("undo")
    (folder / "j.csv").write_text(after)  # the same, after an answer was undone
    browser()
    assert (folder / "j.csv").read_text() == before


def test_a_csv_file_changed_by_others_is_never_overwritten(browser: Open, folder: Path) -> None:
    page = browser()
    judge(page, 1)
    mine = (folder / "j.csv").read_text().replace("anna", "ben")
    (folder / "j.csv").write_text(mine)
    response = page.answer()
    assert (response.status_code, response.json()["kind"]) == (409, "changed")
    with pytest.raises(InputError, match="it has been changed"):
        browser()
    assert (folder / "j.csv").read_text() == mine
    (folder / "j.csv").unlink()
    assert len(browser().study.journal.answers()) == 1
    assert "anna" in (folder / "j.csv").read_text()


def test_a_csv_file_without_a_journal_is_not_overwritten(browser: Open, folder: Path) -> None:
    (folder / "j.csv").write_text("sentence,system,rank\n")
    with pytest.raises(InputError, match=r"j\.answers\.jsonl with its answers is not next to it"):
        browser()
    assert (folder / "j.csv").read_text() == "sentence,system,rank\n"


@pytest.mark.parametrize("how", ["longer", "moved", "replaced"])
def test_a_journal_changed_by_others_is_refused(browser: Open, folder: Path, how: str) -> None:
    page = browser()
    judge(page, 1)
    path = journal(folder)
    data = path.read_bytes()
    if how == "moved":
        path.rename(folder / "elsewhere")
    elif how == "replaced":
        (folder / "new").write_bytes(data)
        (folder / "new").replace(path)
    else:
        path.write_bytes(data + b"{}\n")
    response = page.answer()
    assert (response.status_code, response.json()["kind"]) == (409, "changed")
    assert len(page.study.journal.answers()) == 1


@pytest.mark.parametrize("name", ["source", "good"])
def test_text_files_changed_during_annotation_are_refused(
    browser: Open, folder: Path, name: str
) -> None:
    page = browser()
    path = folder / f"{name}.txt"
    text = path.read_text()
    path.write_text(text.replace("home", "away"))
    response = page.answer()
    assert (response.status_code, response.json()["kind"]) == (409, "changed")
    assert f"{name}.txt has changed" in response.json()["error"]
    with pytest.raises(InputError, match="was begun with other"):
        browser()
    path.write_text(text)  # the same content with a new modification time
    assert browser().answer().status_code == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "--seed 0, not --seed 1"),
        ({"task": "rate"}, "--task rank, not --task rate"),
    ],
)
def test_different_settings_are_refused(
    browser: Open, options: dict[str, Any], message: str
) -> None:
    browser()
    with pytest.raises(InputError, match=message):
        browser(**options)


def test_a_second_server_on_the_same_file_is_refused(browser: Open, folder: Path) -> None:
    page = browser()
    judge(page, 1)
    files = [str(folder / name) for name in ("source.txt", "good.txt", "none.txt", "j.csv")]
    other = Annotation(source=files[0], outputs=tuple(files[1:3]), output=files[3])
    with pytest.raises(OutputError, match="another `gecjury annotate` is writing it"):
        open_study(other)
    judge(page, 1)
    assert len(page.study.journal.answers()) == 2


def test_a_full_disk_leaves_no_partial_line(
    browser: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser()
    judge(page, 1)
    data = journal(folder).read_bytes()
    real = os.write

    def full(handle: int, text: Any) -> int:
        real(handle, bytes(text)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        response = page.answer()
    assert response.status_code == 422
    assert "No space left on device); the answer is not saved" in response.json()["error"]
    assert journal(folder).read_bytes() == data
    assert len(page.study.journal.answers()) == 1
    judge(page, 1)
    assert len(browser().study.journal.answers()) == 2


@pytest.mark.parametrize("restarted", [False, True])
def test_answers_are_kept_if_the_csv_file_cannot_be_written(
    browser: Open, folder: Path, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    page = browser(order="file")
    judge(page, 2)
    before = (folder / "j.csv").read_text()

    def full(path: Path, text: str, **options: object) -> None:
        raise OutputError(f"{path}: cannot be written (No space left on device)")

    with monkeypatch.context() as patched:
        patched.setattr(answers, "write_text", full)
        response = page.answer()
        assert (response.status_code, "told=saved" in response.json()["next"]) == (200, True)
        text = page.client.get(response.json()["next"]).text
        assert "Saved. Every answer is saved in j.answers.jsonl." in text
        assert "(No space left on device); the CSV file is written with the next answer" in text
        assert "the CSV file is written with" in page.client.get("/overview").text
        # After these steps the file lacks more than added lines.
        for _ in range(3):
            assert page.send("undo").status_code == 200
        assert page.answer(2, 1, 1).status_code == 200
    assert (folder / "j.csv").read_text() == before
    if restarted:
        page = browser(order="file")
    else:
        assert page.answer().status_code == 200
    assert page.study.journal.behind == ""
    assert (folder / "j.csv").read_text() == page.study.journal.csv() != before
    assert "the CSV file is written with" not in page.client.get("/overview").text


def test_a_repeated_answer_is_kept_once_and_may_change_before_it_is_confirmed(
    browser: Open, folder: Path
) -> None:
    page = browser()
    item = page.item()
    first = {"item": item, "key": "k", **{f"value{n}": "1" for n in range(4)}}
    page.send("answer", **first)
    lines = len(journal(folder).read_text().splitlines())
    assert page.send("answer", **first).status_code == 200  # the confirmation was lost
    assert len(journal(folder).read_text().splitlines()) == lines
    changed = {**first, "value0": "2"}
    assert page.send("answer", **changed).status_code == 200
    (answer,) = page.study.journal.answers()
    assert answer.values[0] == 2
    response = page.send("answer", **{**changed, "key": "another page"})
    assert (response.status_code, response.json()["kind"]) == (409, "done")
    assert browser().study.journal.answers() == [answer]


def test_damaged_journals_are_refused_with_their_line(browser: Open, folder: Path) -> None:
    page = browser()
    judge(page, 2)
    page.study.journal.close()
    lines = journal(folder).read_bytes().split(b"\n")
    strange = "line 2: not a valid answer"
    for bad, message in (
        (b"{", "line 2: is not JSON"),
        (b"[]", strange),
        (b'{"annotator": "x"}', strange),
        (b'{"annotator": "x", "answer": "k", "item": "1.1"}', strange),
        (b'{"annotator": "x", "undo": "1.1"}', strange),
        (lines[1].replace(b'"values": [', b'"values": [1e999, '), strange),
        (lines[1].replace(b'"sentence": ', b'"sentence": 1e99'), strange),
        (lines[1].replace(b'"values"', b'"edits": [[1e999, 1, ""]], "values"'), strange),
        (lines[1].replace(b'"answer"', b'"seconds": 1' + b"0" * 400 + b', "answer"'), strange),
        (lines[1].replace(b'"good"', b'"nobody"'), strange),
        (b"\xff", "is not UTF-8"),
        (b'{"annotator": "\\ud800", "skip": "1.1"}', "half a surrogate"),
    ):
        journal(folder).write_bytes(b"\n".join([lines[0], bad, *lines[2:]]))
        with pytest.raises(InputError, match=message):
            browser()
    journal(folder).write_bytes(b"{}\n")
    with pytest.raises(InputError, match="not a file of answers"):
        browser()


@pytest.mark.parametrize("task", ["rank", "rate"])
def test_the_file_is_read_as_judgments(browser: Open, folder: Path, task: str) -> None:
    for name in ("anna", 'a, b; "c"'):
        page = browser(name=name, task=task)
        judge(page, len(page.study.items))
    page.study.journal.close()
    judgments = read_judgments(folder / "j.csv", page.study.corpus)
    assert {item.annotator for item in judgments.items} == {"anna", 'a, b; "c"'}
    if task == "rate":
        assert list(judgments.raters) == ["grammaticality", "fluency", "meaning"]
        assert next(iter(judgments.raters.values())).shape == (2, 4, 4)
        return
    kept = {(a.annotator, a.item): a for a in page.study.journal.answers()}
    for item in judgments.items:
        answer = kept.pop((item.annotator, item.item_id))
        mine = dict(zip(answer.systems, answer.values, strict=True))
        assert dict(zip(item.groups, item.ranks, strict=True)) == mine
    assert not kept


SEPARATED = st.text(st.sampled_from('ab"\t\n\r,;= \x85'), min_size=1)


@given(SEPARATED, SEPARATED, SEPARATED)
def test_any_names_and_corrections_are_read_back_or_refused(
    tmp_path_factory: pytest.TempPathFactory, system: str, annotator: str, correction: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "verdicts.csv"
    new = " ".join(correction.split())
    try:
        check_system_name(system)
        name = annotator_name(annotator)
    except (InputError, OptionError):
        return
    answer = ItemAnswer("k", name, "1.1", 1, ((system,),), (1,), ((0, 1, new),))
    path.write_text(_csv([COLUMNS["edits"], *answer.rows("edits")]), encoding="utf-8")
    ((verdict,), _, _) = read_own_verdicts(path, Corpus(("x",), {system: Version(("y",))}))
    assert (verdict.annotator, verdict.new) == (name, new)


def test_a_benchmark_table_is_written_next_to_the_csv_file(
    begin: Callable[..., AnnotationStudy], folder: Path
) -> None:
    for _ in range(2):
        study = begin(references=[str(folder / "good.txt")])
        assert study.command == "gecjury compare j.toml -m METRIC"
    text = (folder / "j.toml").read_text()
    assert tomllib.loads(text) == {
        "name": "j", "source": "source.txt", "judgments": "j.csv",
        "outputs": [f"{name}.txt" for name in OUTPUTS], "references": ["good.txt"],
    }  # fmt: skip
    (folder / "j.toml").write_text("name = 'mine'\n")
    study = begin()
    assert study.command == ""
    assert "check whether it names j.csv" in study.told[-1]  # type: ignore[attr-defined]
    assert (folder / "j.toml").read_text() == "name = 'mine'\n"

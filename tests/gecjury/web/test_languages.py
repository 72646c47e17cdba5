"""Texts in other languages on both pages: shown as written, and judged by tokens."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.languages.language import language_of
from gecjury.web import Annotation
from gecjury.web.study import AnnotationStudy, open_study
from gecjury.web.trying import open_desk, trying_app
from tests.gecjury.web.conftest import Browser, admitted
from tests.shell import Shell

JAPANESE = language_of("ja", tokens="char")
SOURCE, GOOD, BAD = "私は学校え行く。", "私は学校へ行く。", "私わ学校え行く。"


def study(folder: Path, task: str = "rank") -> AnnotationStudy:
    for name, line in (("source", SOURCE), ("good", GOOD), ("bad", BAD)):
        (folder / f"{name}.txt").write_text(f"{line}\n")
    files = [str(folder / f"{name}.txt") for name in ("source", "good", "bad", "j")]
    settings = Annotation(
        source=files[0], outputs=tuple(files[1:3]), output=str(folder / f"{task}.csv"),
        references=tuple(files[1:2]), task=task,  # type: ignore[arg-type]
    )  # fmt: skip
    return open_study(settings, language=JAPANESE)


def test_a_language_without_spaces_is_shown_without_spaces(tmp_path: Path) -> None:
    page = Browser(study(tmp_path))
    text = page.page()
    assert f'lang="ja">{SOURCE}</p>' in text
    assert 'lang="ja">私は学校<del>え</del><ins>へ</ins>行く。</span>' in text
    page.study.journal.close()


def test_compare_reads_the_language_from_the_table(shell: Shell) -> None:
    folder = shell.folder / "ja"
    folder.mkdir()
    page = Browser(study(folder))
    item = page.study.by_name[page.item()]
    page.answer(*(1 if "good" in names else 2 for names in item.systems))
    page.study.journal.close()
    table = tomllib.loads((folder / "rank.toml").read_text())
    assert (table["language"], table["tokens"], table["fold"]) == ("ja", "char", "nfc")
    status, out, err = shell("compare", "ja/rank.toml", "-m", "green", "--format", "json")
    assert status == 0, err
    assert "lang=ja" in json.loads(out)["rows"][0]["signature"]


def test_a_study_cannot_be_resumed_in_another_language(tmp_path: Path) -> None:
    study(tmp_path).journal.close()
    source, good, bad = (str(tmp_path / f"{name}.txt") for name in ("source", "good", "bad"))
    settings = Annotation(source=source, outputs=(good, bad), output=str(tmp_path / "rank.csv"))
    with pytest.raises(InputError, match=r"--lang, --tokens, --fold"):
        open_study(settings)


def test_pasted_texts_are_tokenized_scored_and_joined_for_display() -> None:
    desk = open_desk([], Runtime(), JAPANESE)
    data = {
        "token": desk.token, "source": SOURCE, "output": GOOD, "system": "", "reference": GOOD,
        "metric": ["green", "gleu"],
    }  # fmt: skip
    client = admitted(trying_app(desk))
    assert "Japanese, one sentence per line" in client.get("/").text
    response = client.post("/score", data=data)
    assert response.status_code == 200
    assert "私は学校<del>え</del><ins>へ</ins>行く。" in response.text
    assert "lang=ja" in response.text
    assert "[4,5] → へ" in response.text
    long = client.post("/score", data={**data, "source": "私" * 300, "output": "私" * 300})
    assert "300 tokens; expected at most 200" in long.text

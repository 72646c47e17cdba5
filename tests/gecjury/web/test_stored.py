"""Stored comparisons and score files: filtered, foreign, damaged, changed while they are open."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from gecjury.cli import main
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.web.stored import COMPARISON, StoredFile, leaderboards, shown_comparison
from gecjury.web.trying import open_desk, trying_app
from tests.gecjury.web.conftest import admitted
from tests.shell import Shell


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "comparison.json"
    argv = ["compare", "sample", "--human", "both", "--systems", "all", "--resamples", "10"]
    argv += ["-m", "green", "-m", "gleu", "-m", "green:unit=char", "--format", "json"]
    argv += ["-o", str(path.parent / "scores")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(argv) == 0
    path.write_text(out.getvalue())
    return path


def page_of(path: Path, scores: Path | None = None) -> TestClient:
    desk = open_desk([], [str(path)], None if scores is None else str(scores), Runtime())
    return admitted(trying_app(desk))


def test_a_comparison_is_shown_with_its_figures(comparison: Path, shell: Shell) -> None:
    text = page_of(comparison).get("/comparison/0").text
    document = json.loads(comparison.read_text())
    for row in document["rows"]:
        assert row["metric"] in text
        assert f"{row['system']['pearson']:.3f}" in text
        assert f"{row['sentence']['accuracy']:.3f}" in text
    assert "Sample data" in text
    assert "Edit-based judgments" in text
    assert "All p-values" in text
    assert "style=" not in text  # the security policy would block it
    # The sections are those of the page of `compare`.
    argv = ("sample", "-m", "green", "-m", "gleu", "--html", "page.html", "--resamples", "10")
    status, out, err = shell("compare", *argv, "--format", "json")
    assert status == 0, err
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    shown = shown_comparison(StoredFile(shell.write("comparison.json", out), COMPARISON))
    sections = {part.key: str(part.content) for part in shown["sections"]}
    assert set(sections) == {"summary", "metrics", "significance", "scatter"}
    for key in ("metrics", "significance", "scatter"):
        assert sections[key] in page


def test_a_changed_file_is_read_again(comparison: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = json.loads(comparison.read_text())
    path.write_text(json.dumps(document))
    page = page_of(path)
    assert "people on SAMPLE" in page.get("/comparison/0").text
    path.write_text(json.dumps({**document, "benchmark": "another"}))
    assert "on another" in page.get("/comparison/0").text
    path.write_text("{}")
    assert page.get("/comparison/0").status_code == 422
    path.unlink()
    assert "no such file" in page.get("/comparison/0").text


@pytest.mark.security
@pytest.mark.parametrize(
    "text", ["", "[]", "{", "null", '{"rows": []}', '{"benchmark": 1}', "[" * 200 + "]" * 200]
)
def test_files_without_a_comparison_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match=r"c\.json"):
        open_desk([], [str(tmp_path / "c.json")], None, Runtime())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [path] if path else []
    if not isinstance(value, dict | list):
        return paths
    for key, part in value.items() if isinstance(value, dict) else enumerate(value[:2]):
        paths += places(part, (*path, key))
    return paths


@pytest.mark.security
def test_damaged_values_are_refused_or_shown_escaped(comparison: Path, tmp_path: Path) -> None:
    document = json.loads(comparison.read_text())
    document["rows"], document["significance"] = document["rows"][:2], document["significance"][:1]
    every = places(document)
    rng = np.random.default_rng(3)
    refused = 0
    path = tmp_path / "c.json"
    for at in rng.permutation(len(every))[:25]:
        *way, last = every[at]
        changed = copy.deepcopy(document)
        inner = changed
        for key in way:
            inner = inner[key]
        inner[last] = [None, "<script>x", [], {}, 1e400, -1, "7"][int(rng.integers(7))]
        path.write_text(json.dumps(changed))
        try:
            shown = shown_comparison(StoredFile(path, COMPARISON))
        except InputError:
            refused += 1
        else:
            assert "<script>" not in "".join(str(part.content) for part in shown["sections"])
    assert 0 < refused < 25


def test_a_folder_of_score_files(comparison: Path) -> None:
    folder = comparison.parent / "scores"
    (board,), left_out = leaderboards(folder, {})
    assert left_out == []
    assert board.title == "68 sentences"
    assert set(board.metrics) == {"green", "gleu", "green:n=6,unit=char"}
    values = [float(cells[0][0]) for _, cells in board.rows]
    assert values == sorted(values, reverse=True)
    assert board.rows[0][1][0][1:] == ("#1", True)
    text = page_of(comparison, folder).get("/leaderboard").text
    assert '<th scope="col" class="n">green</th>' in text
    assert {score for score, _, _ in board.rows[0][1]} <= set(re.findall(r">(0\.\d{4})<", text))


def test_other_texts_have_a_separate_table_and_other_files_are_reported(
    shell: Shell, comparison: Path
) -> None:
    scores = shell.folder / "scores"
    assert (
        shell("score", "source.txt", "mine.txt", "-r", "ref.txt", "-m", "green", "-o", scores)[0]
        == 0
    )
    for path in (comparison.parent / "scores").iterdir():
        (scores / path.name).write_bytes(path.read_bytes())
    for name, text in (("a.json", "{}"), ("b.json", "{"), ("c.json", '{"format": "x"}')):
        (scores / name).write_text(text)
    (scores / "notes.txt").write_text("x")
    boards, left_out = leaderboards(scores, {})
    assert {board.title for board in boards} == {"68 sentences", "3 sentences"}
    assert len(left_out) == 3


@pytest.mark.security
def test_missing_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_desk([], [], str(tmp_path / "no"), Runtime())
    assert leaderboards(tmp_path, {}) == ([], [])

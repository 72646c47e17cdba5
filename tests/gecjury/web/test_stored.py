"""Stored comparisons and score files: filtered, foreign, damaged, changed while they are open."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.web.stored import Filters, StoredComparison, leaderboards
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


def get(path: Path, address: str = "/comparison/0", scores: Path | None = None) -> str:
    folder = None if scores is None else str(scores)
    desk = open_desk([], [str(path)], folder, Runtime())
    response = admitted(trying_app(desk)).get(address)
    assert response.status_code == 200
    return response.text


def sections_of(stored: StoredComparison, filters: Filters) -> dict[str, str]:
    """Return the sections of a stored comparison by heading."""
    return {part.heading: str(part.content) for part in stored.shown(filters)["sections"]}


def test_the_sections_are_those_of_the_page(shell: Shell) -> None:
    stored, _ = compared(shell, "sample", "-m", "green", "-m", "gleu", "--html", "page.html")
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    sections = {part.key: str(part.content) for part in stored.shown(Filters())["sections"]}
    assert set(sections) == {"summary", "metrics", "significance", "scatter"}
    for key in ("metrics", "significance", "scatter"):
        assert sections[key] in page


def test_a_comparison_is_shown_with_its_figures(comparison: Path) -> None:
    text = get(comparison)
    document = json.loads(comparison.read_text())
    for row in document["rows"]:
        assert row["metric"] in text
        assert f"{row['system']['pearson']:.3f}" in text
        assert f"{row['sentence']['accuracy']:.3f}" in text
    assert "Sample data" in text
    assert "Edit-based judgments" in text
    assert "All p-values" in text
    assert "style=" not in text  # the security policy would block it


def test_filters_keep_what_they_name(comparison: Path) -> None:
    stored = StoredComparison(comparison)
    every = stored.shown(Filters())
    assert every["facts"][-1] == "3 of 3 metrics shown"
    assert stored.shown(Filters(metric="GREEN"))["facts"][-1] == "2 of 3 metrics shown"
    assert stored.shown(Filters(family="judges"))["sections"] == []
    assert "No metric matches" in get(comparison, "/comparison/0?family=judges")
    text = get(comparison, "/comparison/0?metric=gleu")
    assert "gleu" in text
    assert "green" not in text
    one = "".join(str(part) for part in sections_of(stored, Filters(view="edit")).values())
    assert "sentence-based" not in one
    whole = "".join(str(part) for part in sections_of(stored, Filters()).values())
    assert "sentence-based" in whole


def compared(shell: Shell, *argv: str) -> tuple[StoredComparison, dict[str, Any]]:
    """Run a comparison; return it as `serve` reads it from disk, and its document."""
    status, out, err = shell("compare", *argv, "--resamples", "10", "--format", "json")
    assert status == 0, err
    return StoredComparison(shell.write("comparison.json", out)), json.loads(out)


def test_the_segment_level_of_ratings_is_shown(shell: Shell) -> None:
    shell.write("outputs/mine.txt", (shell.folder / "mine.txt").read_text())
    shell.write("outputs/none.txt", (shell.folder / "source.txt").read_text())
    shell.write("references/ref.txt", (shell.folder / "ref.txt").read_text())
    ratings = "1,mine,4\n1,none,2\n2,mine,2\n2,none,3\n3,mine,4\n3,none,1\n"
    shell.write("judgments.csv", "sentence,system,score\n" + ratings)
    stored, document = compared(shell, ".", "-m", "green", "-m", "gleu")
    segment = document["segment"]
    # Ratings belong to no view, so a filter by view keeps them.
    for filters in (Filters(), Filters(view="sentence")):
        table = sections_of(stored, filters)["Segment level"]
        for row in segment["rows"]:
            assert row["metric"] in table
            if row["acc_eq"] is not None:
                assert f"{row['acc_eq']:.3f}" in table
    table = sections_of(stored, Filters(metric="gleu"))["Segment level"]
    assert "gleu" in table
    assert "green" not in table
    assert "Segment level" not in sections_of(stored, Filters(metric="none of them"))


def test_the_audit_follows_the_filters(shell: Shell, comparison: Path) -> None:
    document = json.loads(comparison.read_text())
    document["biases"] = [
        {"metric": metric, "human": human, "family": "judges", "side": "more edits",
         "difference": 0.1, "preferred": 0.6, "people": 0.5, "pairs": 5, "missing": 0,
         "systems": [], "ci95": {}}
        for metric in ("green", "changes") for human in ("edit", "sentence")
    ]  # fmt: skip
    document["audit_verdict"] = {"green": "green is fair.", "changes": "changes is fair."}
    stored = StoredComparison(shell.write("audited.json", json.dumps(document)))
    whole = str(sections_of(stored, Filters())["Biases of judges"])
    assert whole.count("more edits</td>") == 4
    part = str(sections_of(stored, Filters(metric="green", view="edit"))["Biases of judges"])
    assert part.count("more edits</td>") == 1
    assert "green is fair." in part
    assert "changes" not in part


def test_tests_between_shown_metrics_keep_their_values(comparison: Path) -> None:
    test = json.loads(comparison.read_text())["significance"][0]
    part = sections_of(StoredComparison(comparison), Filters(metric="green"))
    table = str(part["Which differences are more than chance"])
    i, j = (test["metrics"].index(name) for name in ("green", "green:n=6,unit=char"))
    assert f"{test['adjusted'][i][j]:.3f}"[1:] in table
    assert "gleu" not in table


def test_a_changed_file_is_read_again(comparison: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = json.loads(comparison.read_text())
    path.write_text(json.dumps(document))
    desk = open_desk([], [str(path)], None, Runtime())
    page = admitted(trying_app(desk))
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
@pytest.mark.parametrize("places_hit", [25, pytest.param(80, marks=pytest.mark.slow)])
def test_damaged_values_are_refused_or_shown_escaped(
    comparison: Path, tmp_path: Path, places_hit: int
) -> None:
    document = json.loads(comparison.read_text())
    document["rows"], document["significance"] = document["rows"][:2], document["significance"][:1]
    every = places(document)
    rng = np.random.default_rng(3)
    refused = 0
    path = tmp_path / "c.json"
    for at in rng.permutation(len(every))[:places_hit]:
        *way, last = every[at]
        changed = copy.deepcopy(document)
        inner = changed
        for key in way:
            inner = inner[key]
        inner[last] = [None, "<script>x", [], {}, 1e400, -1, "7"][int(rng.integers(7))]
        path.write_text(json.dumps(changed))
        try:
            shown = StoredComparison(path).shown(Filters())
        except InputError:
            refused += 1
        else:
            assert "<script>" not in "".join(str(part.content) for part in shown["sections"])
    assert 0 < refused < places_hit


def test_a_folder_of_score_files(comparison: Path) -> None:
    folder = comparison.parent / "scores"
    (board,), left_out = leaderboards(folder, "gleu", {})
    assert left_out == []
    assert (board.title, board.by) == ("68 sentences", "gleu")
    assert set(board.metrics) == {"green", "gleu", "green:n=6,unit=char"}
    column = board.metrics.index("gleu")
    values = [float(cells[column][0]) for _, cells in board.rows]
    assert values == sorted(values, reverse=True)
    assert board.rows[0][1][column][1:] == ("#1", True)
    text = get(comparison, "/leaderboard?by=green", folder)
    assert 'aria-sort="descending"><a href="/leaderboard?by=green">green</a>' in text


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
    boards, left_out = leaderboards(scores, "", {})
    assert {board.title for board in boards} == {"68 sentences", "3 sentences"}
    assert len(left_out) == 3


@pytest.mark.security
def test_missing_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_desk([], [], str(tmp_path / "no"), Runtime())
    assert leaderboards(tmp_path, "", {}) == ([], [])

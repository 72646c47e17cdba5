"""`gecjury check --fix`: repaired copies, a report of the changes, and nothing replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gecjury.corpus.test_lines import FIXED, SOURCE
from tests.shell import Shell


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


MERGED = [*FIXED[:3], f"{FIXED[3]} {FIXED[4]}", *FIXED[5:]]
LOST = [*FIXED[:4], *FIXED[5:]]


@pytest.fixture
def files(shell: Shell) -> Shell:
    shell.write("source.txt", text(SOURCE))
    shell.write("good.txt", text(FIXED))
    shell.write("merged.txt", text(MERGED))
    shell.write("lost.txt", text(LOST))
    return shell


def levels(out: str, name: str) -> list[str]:
    findings = json.loads(out)["findings"]
    return [finding["level"] for finding in findings if finding["file"].endswith(name)]


def test_a_repaired_copy_and_its_changes(files: Shell) -> None:
    files.ended("check", "source.txt", "merged.txt", status=2)
    words = ("check", "source.txt", "merged.txt", "-r", "good.txt", "--format", "json")
    out, _ = files.ended(*words, "--fix", "new")
    assert levels(out, "merged.txt") == ["repaired", "note"]
    assert sorted(path.name for path in Path("new").iterdir()) == ["changes.jsonl", "merged.txt"]
    assert Path("new/merged.txt").read_text() == text(FIXED)
    assert Path("merged.txt").read_text() == text(MERGED)
    (change,) = map(json.loads, Path("new/changes.jsonl").read_text().splitlines())
    assert change == {
        "file": "merged.txt",
        "kind": "merged",
        "lines": [4],
        "sources": [4, 5],
        "before": [MERGED[3]],
        "after": FIXED[3:5],
    }
    files.ended("score", "source.txt", "new/merged.txt", "-r", "good.txt", "-m", "green")


def test_existing_files_are_not_replaced(files: Shell) -> None:
    before = Path("merged.txt").read_text()
    _, err = files.ended("check", "source.txt", "merged.txt", "--fix", ".", status=2)
    assert "merged.txt: exists and is not replaced" in err
    assert Path("merged.txt").read_text() == before
    assert not Path("changes.jsonl").exists()


def test_a_lost_line_needs_fill(files: Shell) -> None:
    words = ("check", "source.txt", "lost.txt", "--fix", "new", "--format", "json")
    out, _ = files.ended(*words, status=2)
    assert "--fill" in out
    assert not Path("new").exists()
    out, _ = files.ended(*words, "--fill")
    assert "1 of them filled with the source" in out
    assert Path("new/lost.txt").read_text() == text([*FIXED[:4], SOURCE[4], *FIXED[5:]])


def test_fill_without_fix(files: Shell) -> None:
    _, err = files.ended("check", "source.txt", "lost.txt", "--fill", status=2)
    assert "--fill would do nothing without --fix" in err


def test_only_plain_text_is_repaired(files: Shell) -> None:
    files.write("mine.jsonl", text([json.dumps({"text": line}) for line in MERGED]))
    out, _ = files.ended("check", "source.txt", "mine.jsonl", "--fix", "new", status=2)
    assert "not plain text" in out
    assert not Path("new").exists()


def test_standard_input_and_gzip(files: Shell) -> None:
    with files.reading("merged.txt"):
        files.ended("check", "source.txt", "-", "--fix", "new")
    assert Path("new/stdin.txt").read_text() == text(FIXED)


@pytest.mark.parametrize("words", [("score", "-m", "green"), ("rank", "-m", "green")])
def test_wrong_counts_are_refused_with_the_place(files: Shell, words: tuple[str, ...]) -> None:
    command, *more = words
    where = "line 4 holds lines 4 and 5 of the source"
    files.write("more.txt", text(FIXED))
    for outputs in (["merged.txt", "good.txt", "-r", "more.txt"], ["good.txt", "-r", "merged.txt"]):
        _, err = files.ended(command, "source.txt", *outputs, *more, status=2)
        assert "merged.txt has 11 lines, but source.txt has 12" in err
        assert where in err
        assert "`gecjury check source.txt merged.txt --fix FOLDER`" in err
    _, err = files.ended(command, "source.txt", "lost.txt", "-r", "good.txt", *more, status=2)
    assert "--fix FOLDER --fill" in err


def test_shifted_lines_are_told_under_the_score(files: Shell) -> None:
    shifted = [*FIXED[:3], "A new idea from nowhere !", *FIXED[3:9], *FIXED[10:]]
    files.write("shifted.txt", text(shifted))
    out, err = files.ended("score", "source.txt", "shifted.txt", "-r", "good.txt", "-m", "green")
    told = " ".join((out + err).split())
    assert "shifted.txt: from line 4 on the output is one line later" in told

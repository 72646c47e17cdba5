"""`pick`, `power` and `attack --as-reward` from the command line."""

from __future__ import annotations

import json

import pytest

from tests.shell import FIXED, SOURCE, Shell

HALF = [FIXED[0], SOURCE[1], SOURCE[2]]


@pytest.fixture
def files(shell: Shell) -> list[str]:
    shell.write("half.txt", "".join(f"{line}\n" for line in HALF))
    shell.write("copy.txt", "".join(f"{line}\n" for line in SOURCE))
    return ["source.txt", "half.txt", "copy.txt", "mine.txt"]


def test_pick_writes_the_best_candidate_a_line(shell: Shell, files: list[str]) -> None:
    status, out, err = shell("pick", *files, "-m", "changes", "--quiet")
    assert status == 0
    mine = shell.folder.joinpath("mine.txt").read_text().splitlines()
    assert out.splitlines() == [FIXED[0], *mine[1:]]
    assert "of equal ones the first file named" in err


def test_pick_writes_files(shell: Shell, files: list[str]) -> None:
    words = ["pick", *files, "--mbr", "green", "-o", "best.txt", "--scores", "scores.tsv"]
    status, out, _ = shell(*words)
    assert (status, out) == (0, "")
    head, *rows = shell.folder.joinpath("scores.tsv").read_text().splitlines()
    assert head == "line\tchosen\thalf\tcopy\tmine"
    best = shell.folder.joinpath("best.txt").read_text().splitlines()
    assert len(rows) == len(best) == 3
    for row in rows:
        _, chosen, *values = row.split("\t")
        first = ["half", "copy", "mine"][values.index(max(values, key=float))]
        assert chosen == first


def test_pick_as_json_and_tried(shell: Shell, files: list[str]) -> None:
    status, out, _ = shell("pick", *files, "--mbr", "green", "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert [line["line"] for line in found["lines"]] == [1, 2, 3]
    tried = ["-r", "ref.txt", "--try", "--resamples", "20", "-m", "changes", "--mbr", "green"]
    rows = shell.rows("pick", *files, *tried)
    kinds = [row["kind"] for row in rows]
    assert kinds == ["picked"] * 2 + ["system"] * 3 + ["random"] + ["oracle"] * 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-m", "changes", "--mbr", "green"], "several ways to choose give several outputs"),
        ([], "how is to be chosen"),
        (["-m", "green"], "green needs references"),
        (["--mbr", "green", "--try"], "what choosing gains needs references"),
        (["-m", "changes", "--votes", "people"], "invalid choice"),
    ],
)
def test_pick_refuses(shell: Shell, files: list[str], words: list[str], told: str) -> None:
    status, _, err = shell("pick", *files, *words)
    assert status == 2
    assert told in err


def test_pick_refuses_what_does_not_belong_together(shell: Shell, files: list[str]) -> None:
    shell.write("short.txt", "one line\n")
    status, _, err = shell("pick", "source.txt", "half.txt", "short.txt", "-m", "changes")
    assert status == 2
    assert "short.txt has 1 lines, but source.txt has 3" in err
    status, _, err = shell("pick", "source.txt", "half.txt", "half.txt", "-m", "changes")
    assert status == 2
    assert "named twice" in err
    status, _, err = shell("pick", "source.txt", "half.txt", "-m", "changes")
    assert status == 2
    assert "1 output to choose among" in err


def test_power_of_a_score_file(shell: Shell) -> None:
    shell.write("s.csv", "a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(60)))
    rows = shell.rows("power", "s.csv", "-d", "0.5", "--width", "1")
    assert [row["target"] for row in rows] == ["difference", "width"]
    status, out, _ = shell("power", "s.csv", "--try", "--resamples", "30")
    assert status == 0
    assert "Forecasts from few sentences" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["power", "s.csv", "-m", "green"], "s.csv holds scores"),
        (["power", "s.csv", "--power", "2"], "--power 2.0: expected"),
        (["power", "sample"], None),
        (["power", "sample", "--what", "scores"], "--what scores: expected a metric with -m"),
        (["power", "sample", "--system", "x", "--system", "y"], "--system x:"),
    ],
)
def test_power_refuses(shell: Shell, words: list[str], told: str | None) -> None:
    shell.write("s.csv", "a,b\n" + "1,2\n3,1\n" * 30)
    status, out, err = shell(*words)
    assert status == (0 if told is None else 2), err
    assert (told or "people's edit view") in (out if told is None else err)


def test_attack_as_reward(shell: Shell, files: list[str]) -> None:
    words = ["attack", *files, "-m", "changes", "--attack", "repeat-all", "--resamples", "10"]
    status, out, _ = shell(*words, "--as-reward", "--format", "json")
    found = json.loads(out)
    assert status == 0
    (row,) = found["rewards"]
    assert (row["attack"], row["unguarded"], row["by"]) == ("repeat-all", 1.0, "doubled")
    assert row["guarded"] == 0.0
    assert found["alarms"]["doubled"]["outputs"] == 0.0
    status, out, _ = shell(*words, "--format", "json")
    assert "rewards" not in json.loads(out)

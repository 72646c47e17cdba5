"""`power` and `attack --as-reward` from the command line."""

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

"""`attack --as-reward` from the command line."""

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

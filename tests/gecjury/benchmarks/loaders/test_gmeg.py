"""GMEG domains whose texts the user has to supply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.cli import main


def test_a_supplied_text_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "GMEG/data/test/yahoo"
    texts.mkdir(parents=True)
    systems = ("amu", "lstm", "lstm-r", "marian", "nus", "transformer")
    source = ["he go home now", "she like it here", "a cat sit down"]
    right = ["he goes home now", "she likes it here", "a cat sits down"]
    for number, name in enumerate(("source", *systems)):
        lines = right[: number % 4] + source[number % 4 :]
        (texts / name).write_text("".join(f"{line}\n" for line in lines))
    for number in range(4):
        (texts / f"ref{number}").write_text("".join(f"{line}\n" for line in right))
    columns = ("source", "ref", *systems)
    ratings = [[10 * column + row for column in range(8)] for row in range(3)]
    (texts.parent / "yahoo-segment-scores.csv").write_text(
        "\n".join([",".join(columns), *(",".join(map(str, row)) for row in ratings)]) + "\n"
    )
    (texts.parent / "yahoo-corpus-scores.csv").write_text(
        "system,score\n" + "".join(f"{name},{10 * i}\n" for i, name in enumerate(columns))
    )
    options = ("-m", "green", "--data", str(tmp_path), "--format", "json")
    assert main(["compare", "gmeg-test-yahoo", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["systems"] == ["amu", "lstm", "lstm-r", "marian", "nus", "source", "transformer"]
    assert found["rows"][0]["sentence"]["pairs"] > 0
    assert found["ratings"][0]["aspect"] == "rating"

"""Measured figures: pages link to tables and repeat them, and commands print them again."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from gecjury.cli import main
from tools.measured import FOLDER, commands, table


def test_tables_have_a_cell_for_every_heading_and_are_linked() -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md"))
    for path in FOLDER.glob("*.csv"):
        for row in table(path.stem):
            assert None not in row, (path, row)
            assert None not in row.values(), (path, row)
        assert f"]({path.name})" in pages


def test_the_table_of_seeda_shows_the_figures_of_its_file() -> None:
    page = (FOLDER / "seeda.md").read_text(encoding="utf-8")
    head = "| metric | accuracy E | S | S, fluency | r S | S, fluency |"
    _, *lines = page.partition(head)[2].partition("\n\n")[0].splitlines()
    columns = [
        *(("base", "E", "accuracy"), ("base", "S", "accuracy"), ("fluency", "S", "accuracy")),
        *(("base", "S", "r"), ("fluency", "S", "r")),
    ]
    rows = {(row["systems"], row["judgments"], row["metric"]): row for row in table("seeda")}
    for line in lines[1:]:
        name, *cells = (cell.strip(" `") for cell in line.strip("|").split("|"))
        for (systems, judgments, key), cell in zip(columns, cells, strict=True):
            figure = rows.get((systems, judgments, name), {}).get(key, "")
            assert cell == figure.replace("-", "−"), (name, systems, judgments, key)


def figure(value: float | None) -> str:
    return "" if value is None else re.sub("^(-?)0", r"\1", f"{value:.3f}")


@pytest.mark.slow
def test_the_segment_level_of_gmeg(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = commands("gmeg-wiki")
    argv = [*shlex.split(command), "--data", str(data_dir), "--format", "json"]
    assert main(argv) == 0
    segment = json.loads(capsys.readouterr().out)["segment"]
    result = {row["metric"]: row for row in segment["rows"]}
    for shown in table("gmeg-wiki"):
        row = result[shown["metric"]]
        for key, column in (("acc_eq", "acc_eq"), ("kendall", "tau"), ("pearson", "r")):
            assert shown[column] == figure(row[key]), (shown["metric"], key)
            if shown[f"{column}_low"]:
                ends = [shown[f"{column}_low"], shown[f"{column}_high"]]
                assert ends == [figure(round(end, 2))[:-1] for end in row["ci95"][key]], key

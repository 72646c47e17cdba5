"""Measured figures: pages link to tables and repeat them, and commands print them again."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

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


def test_the_table_of_evidence_shows_the_figures_of_its_file() -> None:
    page = (FOLDER.parent / "evidence.md").read_text(encoding="utf-8")
    rows = {row["metric"].split(" ")[0]: row for row in table("evidence")}
    for line in page.partition("| metric | average |")[2].partition("\n\n")[0].splitlines()[2:]:
        name, average, cluster, p = (cell.strip() for cell in line.split("|")[1:5])
        row = rows[name.split("`")[1]]
        shown = row["average"], row["cluster"], row["p_first_sum"]
        assert (average.split()[0], cluster, p) == shown, name


def figure(value: float | None) -> str:
    return "" if value is None else re.sub("^(-?)0", r"\1", f"{value:.3f}")


def printed(command: str, data: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the JSON that a command prints."""
    assert main([*shlex.split(command), "--data", str(data), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_data_that_a_difference_needs(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [printed(command, data_dir, capsys) for command in commands("statistics-power")]
    found = {str(row["needed"]) for document in documents for row in document["rows"]}
    assert {row["needed"].split()[0] for row in table("statistics-power")} <= found


@pytest.mark.slow
def test_gotoscorer_on_single_edits(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric = "gotoscorer:reference=1"
    command = (
        f"compare seeda --level edit --systems all --references official-um-deleted -m {metric}"
        " --resample none"
    )
    (row,) = printed(command, data_dir, capsys)["rows"]
    shown = next(shown["auc"] for shown in table("edit-level") if shown["metric"] == metric)
    assert shown == figure(row["edit"]["auc"])


@pytest.mark.slow
def test_the_segment_level_of_gmeg(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = commands("gmeg-wiki")
    segment = printed(command, data_dir, capsys)["segment"]
    result = {row["metric"]: row for row in segment["rows"]}
    for shown in table("gmeg-wiki"):
        row = result[shown["metric"]]
        for key, column in (("acc_eq", "acc_eq"), ("kendall", "tau"), ("pearson", "r")):
            assert shown[column] == figure(row[key]), (shown["metric"], key)
            if shown[f"{column}_low"]:
                ends = [shown[f"{column}_low"], shown[f"{column}_high"]]
                assert ends == [figure(round(end, 2))[:-1] for end in row["ci95"][key]], key

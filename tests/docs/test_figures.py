"""Measured figures: files are tidy, pages link to them and repeat them, commands print them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from gecjury.cli import command_parser, main
from gecjury.scoring.registry import load
from speed.harness import SCRIPTS
from tests.shell import REPOSITORY
from tools.measured import COLUMNS, FOLDER, commands, figures, lines, shown

PAGES = [path.stem for path in FOLDER.glob("*.csv")]


def test_a_page_has_one_file_and_a_line_one_number() -> None:
    assert 0 < len(PAGES) <= 12
    linked = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.rglob("*.md"))
    for page in PAGES:
        assert any((folder / f"{page}.md").is_file() for folder in (FOLDER, FOLDER.parent)), page
        found = set()
        for line in lines(page):
            assert tuple(line) == COLUMNS, line
            assert line["page"] == page, line
            numbers = [line[column] for column in ("value", "low", "high", "n")]
            assert all(re.fullmatch(r"(-?\d+(\.\d+)?)?", number) for number in numbers), line
            assert any(numbers[:3]), line
            assert all(line[column] for column in ("table", "row", "statistic")), line
            key = line["table"], line["row"], line["statistic"]
            assert key not in found, line
            found.add(key)
        for table, *_ in found:
            assert re.search(rf"\[`{table}`\]\(\S*\b{page}\.csv\)", linked), (page, table)


def test_commands_name_what_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("free.txt", "two.txt"):
        Path(name).write_text("changes\n", encoding="utf-8")
    Path("engine.toml").touch()
    Path("six.csv").write_text("source,correction,score\nA cat .,A cat .,4\n", encoding="utf-8")
    for command in dict.fromkeys(command for page in PAGES for command in commands(page)):
        program, *words = shlex.split(command)
        if program == "gecjury":
            arguments, unknown = command_parser().parse_known_args(words)
            assert not unknown, command
            for metric in getattr(arguments, "metrics", None) or ():
                load(metric)
        elif words[:2] == ["-m", "speed"]:
            assert words[2] in SCRIPTS, command
        elif program == "python":
            assert (REPOSITORY / words[0]).is_file(), command
        else:
            assert command == "make test-slow"


def test_the_table_of_seeda_shows_the_figures_of_its_file() -> None:
    page = (FOLDER / "seeda.md").read_text(encoding="utf-8")
    head = "| metric | accuracy E | S | S, fluency | r S | S, fluency |"
    _, *rows = page.partition(head)[2].partition("\n\n")[0].splitlines()
    columns = [
        *(("base; E", "accuracy"), ("base; S", "accuracy"), ("fluency; S", "accuracy")),
        *(("base; S", "r"), ("fluency; S", "r")),
    ]
    found = figures("seeda", "metrics")
    for row in rows[1:]:
        name, *cells = (cell.strip(" `") for cell in row.strip("|").split("|"))
        for (view, statistic), cell in zip(columns, cells, strict=True):
            value = found.get((f"{view}; {name}", statistic), {"value": ""})["value"]
            assert cell == shown(value), (name, view, statistic)


def test_the_table_of_evidence_shows_the_figures_of_its_file() -> None:
    page = (FOLDER.parent / "evidence.md").read_text(encoding="utf-8")
    found = {
        (row.split(" ")[0], statistic): shown(line["value"]) or f"< {shown(line['high'])}"
        for (row, statistic), line in figures("evidence", "tasks").items()
    }
    for line in page.partition("| metric | average |")[2].partition("\n\n")[0].splitlines()[2:]:
        name, average, cluster, p = (cell.strip() for cell in line.split("|")[1:5])
        metric = name.split("`")[1]
        assert average.split()[0] == found[metric, "average"]
        assert cluster == found[metric, "cluster"]
        assert p == found.get((metric, "p_first_sum"), "")


def printed(command: str, data: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the JSON that a command prints."""
    assert main([*shlex.split(command)[1:], "--data", str(data), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_data_that_a_difference_needs(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = commands("statistics", "power")
    documents = [printed(command, data_dir, capsys) for command in asked]
    found = {str(row["needed"]) for document in documents for row in document["rows"]}
    needed = {
        line["value"] for line in lines("statistics", "power") if line["statistic"] == "needed"
    }
    assert needed <= found


@pytest.mark.slow
def test_gotoscorer_on_single_edits(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric = "gotoscorer:reference=1"
    command = (
        "gecjury compare seeda --level edit --systems all --references official-um-deleted "
        f"-m {metric} --resample none"
    )
    (row,) = printed(command, data_dir, capsys)["rows"]
    line = figures("edit-level", "metrics")[f"all; official-um-deleted; {metric}; counts", "auc"]
    assert line["value"] == f"{row['edit']['auc']:.3f}"


@pytest.mark.slow
def test_the_segment_level_of_gmeg(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = commands("seeda", "gmeg-wiki")
    segment = printed(command, data_dir, capsys)["segment"]
    result = {row["metric"]: row for row in segment["rows"]}
    keys = {"acc_eq": "acc_eq", "tau": "kendall", "r": "pearson"}
    for line in lines("seeda", "gmeg-wiki"):
        row, key = result[line["row"]], keys[line["statistic"]]
        assert line["value"] == f"{row[key]:.3f}", line
        if line["low"]:
            assert [line["low"], line["high"]] == [f"{end:.2f}" for end in row["ci95"][key]], line

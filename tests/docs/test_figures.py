"""Figures on a page equal those printed by the command that the page names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gecjury.cli import main
from tests.shell import REPOSITORY


def table_below(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the table with that first heading, with stripped cells."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    rows = text.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def figure(value: float | None) -> str:
    return "–" if value is None else re.sub("^0", "", f"{value:.3f}")


@pytest.mark.slow
def test_the_segment_level_of_seeda(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table_below("measured/segment-level.md", "SEEDA Base, `--grouping item`")
    names = [row[0].removesuffix(" (chance)") for row in rows]
    argv = ["compare", "seeda", "--data", str(data_dir), "--grouping", "item", "--human", "both"]
    argv += ["--references", "official-um-deleted"]
    for name in names[: names.index("random")]:
        argv += ["-m", name]
    assert main([*argv, "--level", "sentence", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    result = {(row["metric"], row["human"]): row for row in document["segment"]["rows"]}
    for name, (_, *cells) in zip(names, rows, strict=True):
        for view, (accuracy, epsilon, tau) in (("edit", cells[:3]), ("sentence", cells[3:])):
            row = result[name, view]
            if row["acc_eq"] is None:
                assert accuracy == f"{figure(row['acc_exact'])} of {row['pairs']}"
                continue
            low, high = (figure(round(end, 2))[:3] for end in row["ci95"]["acc_eq"])
            assert accuracy == f"{figure(row['acc_eq'])} [{low}, {high}]", name
            assert float(epsilon) == round(row["epsilon"], 4), name
            assert tau == figure(row["kendall"]), name

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
def test_the_segment_level_of_gmeg(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["compare", "gmeg-test-wiki", "--data", str(data_dir), "--systems", "all"]
    argv += ["-m", "green", "-m", "gleu", "--level", "sentence", "--format", "json"]
    assert main(argv) == 0
    segment = json.loads(capsys.readouterr().out)["segment"]
    result = {row["metric"]: row for row in segment["rows"]}
    rows = table_below("measured/segment-level.md", "GMEG test, wiki, all systems")
    for name, *cells in rows:
        row = result[name.removesuffix(" (chance)")]
        for key, cell in zip(("acc_eq", "kendall", "pearson"), cells, strict=True):
            low, high = (figure(round(end, 2))[:3] for end in row["ci95"][key])
            shown = figure(row[key]).replace("-0", "−")
            assert cell in (shown, f"{shown} [{low}, {high}]"), (name, key)

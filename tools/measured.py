"""Read the tables of measured figures in docs/measured."""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["FOLDER", "table"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "measured"


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file, by heading; lines of comments come before the headings."""
    lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))

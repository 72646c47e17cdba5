"""Read docs/measured: one CSV file a page, one number a line."""

from __future__ import annotations

import csv
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "measured"
COLUMNS = ("page", "table", "row", "statistic", "value", "low", "high", "n", "command")

Line = dict[str, str]
"""A line of a file, by column."""


def lines(page: str, table: str = "") -> list[Line]:
    """Return the lines of a page's file, or of one of its tables."""
    with (FOLDER / f"{page}.csv").open(encoding="utf-8", newline="") as file:
        return [line for line in csv.DictReader(file) if table in ("", line["table"])]


def figures(page: str, table: str) -> dict[tuple[str, str], Line]:
    """Return the lines of a table by row and statistic."""
    return {(line["row"], line["statistic"]): line for line in lines(page, table)}


def commands(page: str, table: str = "") -> list[str]:
    """Return the command lines that made the figures, each once."""
    joined = [line["command"] for line in lines(page, table)]
    return list(dict.fromkeys(part for one in joined if one for part in one.split(" && ")))


def shown(number: str) -> str:
    """Return a number as pages print it: `−.271` for `-0.271`."""
    return re.sub(r"^(-?)0\.", r"\1.", number).replace("-", "−")

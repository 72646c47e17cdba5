"""Read the tables of docs/measured: CSV files that begin with the commands that made them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

__all__ = ["FOLDER", "commands", "table"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "measured"


def commands(name: str) -> list[str]:
    """Return the command lines of gecjury in the first line of a table, without the program.

    A line with remarks, in parentheses or after a colon, is for readers and has none.
    """
    first = _lines(name)[0].removeprefix("# ")
    parts = [] if re.search(r"\(|: ", first) else re.split(" && |; ", first)
    return [part.removeprefix("gecjury ") for part in parts if part.startswith("gecjury ")]


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table, by heading."""
    return list(csv.DictReader(line for line in _lines(name) if not line.startswith("#")))


def _lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()

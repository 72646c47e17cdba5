"""Figures: names of others are shown as they are, and do not decide how large a figure gets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.scoring.by_edit import HeatMap

pytest.importorskip("matplotlib")
from gecjury.report.figures import bars, heat_map, lines, points  # after the check

NAMES = ["$\\frac{", "$(rm)$", "a\x1b]0;t\x07\nb\u202e", "n" * 100_000]


def test_hostile_names_are_drawn(tmp_path: Path) -> None:
    plan = HeatMap(NAMES[0], tuple(NAMES), tuple(NAMES), np.eye(4))
    heat_map(plan, tmp_path / "plan.svg")
    bars(NAMES, [1.0, 2.0, 3.0, 4.0], tmp_path / "bars.svg", NAMES[0])
    place = np.array([[0.0, 1.0]])
    named = {name: [name] for name in NAMES}
    points(dict.fromkeys(NAMES, place), tmp_path / "points.svg", (NAMES[0], NAMES[1]), named)
    lines(dict.fromkeys(NAMES, ([0, 1], [1, 0])), tmp_path / "lines.svg", (NAMES[0], NAMES[1]))
    for name in ("plan", "bars", "points", "lines"):
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert "$(rm)$" in drawn  # in the comment that says what a group of strokes is
        assert "\\x1b]0;t\\x07\\x0ab\\u202e" in drawn
        assert "n" * 61 not in drawn
        width = float(drawn.partition('width="')[2].partition("pt")[0])
        assert width < 3_000

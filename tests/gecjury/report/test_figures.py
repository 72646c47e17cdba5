"""Figures: arbitrary names are shown literally and do not determine the size of a figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.core.errors import OutputError

pytest.importorskip("matplotlib")
from gecjury.report.figures import (  # imported after the check for matplotlib
    bars,
    check_figure,
    learning_curves,
    lines,
    points,
)

NAMES = ["$\\frac{", "$(rm)$", "a\x1b]0;t\x07\nb\u202e", "n" * 100_000]


@pytest.mark.security
def test_hostile_names_are_drawn(tmp_path: Path) -> None:
    bars(NAMES, [1.0, 2.0, 3.0, 4.0], tmp_path / "bars.svg", NAMES[0])
    place = np.array([[0.0, 1.0]])
    named = {name: [name] for name in NAMES}
    points(dict.fromkeys(NAMES, place), tmp_path / "points.svg", (NAMES[0], NAMES[1]), named)
    lines(dict.fromkeys(NAMES, ([0, 1], [1, 0])), tmp_path / "lines.svg", (NAMES[0], NAMES[1]))
    for name in ("bars", "points", "lines"):
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert "$(rm)$" in drawn  # in the comment that names a group of strokes
        assert "\\x1b]0;t\\x07\\x0ab\\u202e" in drawn
        assert "n" * 61 not in drawn
        width = float(drawn.partition('width="')[2].partition("pt")[0])
        assert width < 3_000


CURVES = {
    "losses": [{"step": 10, "epoch": 0.5, "loss": 2.0}, {"step": 20, "epoch": 1.0, "loss": 1.0}],
    "dev": [{"epoch": 1.0, "step": 20, "score": 0.2, "fluency": 0.3, "meaning": 0.1}],
    "best": 1.0,
}


def test_learning_curves_have_a_panel_per_model(tmp_path: Path) -> None:
    path = tmp_path / "curves.svg"
    learning_curves({"models": {}}, path)
    empty = path.read_text()
    learning_curves({"models": {"seed-0": CURVES}}, path)
    one = path.read_text()
    models = dict.fromkeys((*NAMES[:3], "seed-3"), CURVES)
    learning_curves({"models": models}, path)
    many = path.read_text()
    for text in ("seed-0", "best epoch", "dev, fluency", "loss in training"):
        assert f"<!-- {text} -->" in one
        assert f"<!-- {text} -->" not in empty
    assert many.count("<!-- best epoch -->") == 4
    # No partly written file is left next to it.
    assert [file.name for file in tmp_path.iterdir()] == ["curves.svg"]


def test_unwritable_figures_are_reported_early(tmp_path: Path) -> None:
    check_figure(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
    (tmp_path / "b.png").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        check_figure(tmp_path / "b.png")
    with pytest.raises(OutputError, match=r"there is no folder .*nowhere; create it first"):
        check_figure(tmp_path / "nowhere" / "a.png")


def test_characters_without_a_font_are_noted_in_the_figure(tmp_path: Path) -> None:
    lacking = "\U00010d40"  # from a script that no common font supports
    bars([lacking], [1.0], tmp_path / "lacking.svg", "score")
    assert "boxes: letters that no installed font has" in (tmp_path / "lacking.svg").read_text()
    bars(["наш é →"], [1.0], tmp_path / "plain.svg", "score")
    assert "boxes" not in (tmp_path / "plain.svg").read_text()

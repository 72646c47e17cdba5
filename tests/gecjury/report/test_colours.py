"""The colours of plots: the same palette for pages and figures."""

from __future__ import annotations

import importlib.resources
import re

from gecjury.report.colours import COLOURS, FAMILY_COLOURS, SHAPES


def test_pages_use_the_colours_of_families() -> None:
    css = (importlib.resources.files("gecjury.report.page") / "report.css").read_text("utf-8")
    light = css.partition("@media")[0]
    assert {name: re.findall(rf"--{name}: (#\w+);", light) for name in FAMILY_COLOURS} == {
        name: [colour] for name, colour in FAMILY_COLOURS.items()
    }


def test_series_differ_in_colour_and_in_shape() -> None:
    assert len(set(COLOURS)) == len(set(SHAPES)) == len(COLOURS)
    assert set(FAMILY_COLOURS.values()) <= set(COLOURS)

"""The figure in README and on the first page of the site."""

from __future__ import annotations

import re

import pytest

from tests.shell import REPOSITORY
from tools.front_figure import COLOURS, drawing, rows


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_is_up_to_date_with_the_table(theme: str) -> None:
    path = REPOSITORY / "docs" / "images" / f"seeda-{theme}.svg"
    remedy = "run `python -m tools.front_figure docs/images`"
    assert path.read_text(encoding="utf-8") == drawing(theme), remedy
    assert all(f">{line}</text>" in drawing(theme) for line in ("chance", "counting", "two people"))


def test_rows_agree_with_the_table() -> None:
    families = dict(rows())
    gleu = families["With references"][0]
    # From docs/measured/seeda.csv, sentence-based judgments of the Base systems.
    assert (gleu.label, gleu.accuracy, gleu.bounds) == ("GLEU", 0.743, (0.69, 0.79))
    assert [row.published for row in families["LLM judges"]] == [True]


def test_pages_use_the_same_colours() -> None:
    css = (REPOSITORY / "gecjury" / "report" / "page" / "report.css").read_text(encoding="utf-8")
    light = css.partition("@media")[0]
    assert {name: re.findall(rf"--{name}: (#\w+);", light) for name in COLOURS} == {
        name: [colour] for name, colour in COLOURS.items()
    }

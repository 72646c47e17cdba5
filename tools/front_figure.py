"""Draw the figure of README and of the site's first page: three families of metrics on SEEDA.

    python -m tools.front_figure docs/images

Writes `seeda-light.svg` and `seeda-dark.svg`. Numbers are read from docs/measured/seeda.csv
(sentence-based judgments of the Base systems); those in `_ELSEWHERE` name their source.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree.ElementTree import tostring

from gecjury.report.page.svg import marker
from tools.measured import lines


@dataclass(frozen=True)
class Row:
    """A line of the figure.

    Attributes:
        label: its name in the figure.
        accuracy: share of pairs ordered as people did.
        bounds: 95% interval; empty if unknown.
        published: whether the number is the authors' own, not measured here.
    """

    label: str
    accuracy: float
    bounds: tuple[float, ...] = ()
    published: bool = False


_MEASURED = {
    "With references": {
        "gleu": "GLEU", "cleme2": "CLEME 2.0", "gotoscorer": "GoToScorer", "green": "GREEN",
        "pt-errant:encoder=embedded": "PT-ERRANT", "errant": "ERRANT", "i-measure": "I-measure",
        "m2": "M2", "cleme": "CLEME", "uot-errant:encoder=embedded": "UOT-ERRANT",
    },
    "Trained, without references": {
        "some:model=my-some": "SOME on MPNet", "some:model=embedded": "SOME, packaged",
        "impara:model=my-impara": "IMPARA",
        "jury:equal=some:model=my-some+fluency": "SOME + fluency",
        "jury:equal=some+fluency": "packaged + fluency",
    },
    "LLM judges": {},
    "Counting only": {"changes": "changed words, counted"},
}  # fmt: skip
"""Names of the table's rows and their labels in the figure, by family."""

_ELSEWHERE = {
    # Kobayashi et al. 2024, table of SEEDA-S; the official tie rule, no interval.
    "LLM judges": (Row("GPT-4 (as published)", 0.784, published=True),),
}

_FAMILIES = dict(zip(_MEASURED, ("refbased", "refless", "judges", "chance"), strict=True))
"""Families of the project, with their colours and shapes, by family of the figure."""
COLOURS = {"refbased": "#0072B2", "refless": "#009E73", "judges": "#D55E00"}
"""The colours of families on light paper, as in `gecjury/report/page/report.css`."""

_GREY = "#8A8A8A"  # visible on either background
_THEMES = {"light": ("#1f2328", "#d0d7de"), "dark": ("#e6edf3", "#3d444d")}
_LOW, _HIGH, _LEFT, _RIGHT, _LINE = 0.45, 0.95, 190.0, 545.0, 23.0


def rows() -> Iterator[tuple[str, list[Row]]]:
    """Yield each family with its rows, the best first.

    Raises:
        KeyError: the table lacks a metric.
    """
    view = "base; S; "
    measured = {
        line["row"].removeprefix(view): [float(line[key]) for key in ("value", "low", "high")]
        for line in [*lines("seeda", "sums"), *lines("seeda", "metrics")]
        if line["row"].startswith(view) and line["statistic"] == "accuracy" and line["low"]
    }
    for family, names in _MEASURED.items():
        known = [Row(label, measured[n][0], tuple(measured[n][1:])) for n, label in names.items()]
        yield family, sorted([*known, *_ELSEWHERE.get(family, ())], key=lambda row: -row.accuracy)


def drawing(theme: str) -> str:
    """Return the figure as SVG in the colours of a theme."""
    ink, rule = _THEMES[theme]
    parts: list[str] = []
    y = 44.0
    for family, members in rows():
        parts.append(_text(8, y + 5, family, ink, weight=600))
        y += _LINE
        for row in members:
            parts += _line(row, y, _FAMILIES[family], ink)
            y += _LINE
        y += 6
    bottom = y - 12
    axis = []
    for value in (0.5, 0.6, 0.7, 0.8, 0.9):
        x = _across(value)
        axis.append(_rule(x, 30, x, bottom, rule))
        axis.append(_text(x, bottom + 18, f"{value:.1f}"[1:], ink, anchor="middle"))
    counting = dict(rows())["Counting only"][0].accuracy
    for value, label in ((0.5, "chance"), (counting, "counting"), (0.896, "two people")):
        x = _across(value)
        axis.append(_rule(x, 30, x, bottom, ink, dash="4 4"))
        axis.append(_text(x, 22, label, ink, anchor="middle"))
    caption = "share of pairs of corrections ordered as people did, 95% intervals"
    axis.append(_text(280, bottom + 40, caption, ink, anchor="middle"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 {bottom + 50:.0f}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">'
        f"<title>Three families of metrics on SEEDA</title>{''.join([*axis, *parts])}</svg>\n"
    )


def _across(value: float) -> float:
    return _LEFT + (value - _LOW) / (_HIGH - _LOW) * (_RIGHT - _LEFT)


def _line(row: Row, y: float, family: str, ink: str) -> list[str]:
    """Return a row's label, interval and mark; the mark of a published figure is hollow."""
    colour = COLOURS.get(family, _GREY)
    mark = marker(family, _across(row.accuracy), y, 5)
    mark.attrib.pop("class")
    mark.attrib |= {"fill": "none" if row.published else colour, "stroke": colour}
    mark.set("stroke-width", "2")
    ends = [_across(bound) for bound in row.bounds]
    return [
        _text(_LEFT - 10, y + 5, row.label, ink, anchor="end"),
        *([_rule(ends[0], y, ends[1], y, colour, width=3)] if ends else []),
        tostring(mark, encoding="unicode"),
    ]


def _rule(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dash: str = ""
) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}" stroke-dasharray="{dash}"/>'
    )


def _text(
    x: float, y: float, words: str, colour: str, *, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name in _THEMES:
        (folder / f"seeda-{name}.svg").write_text(drawing(name), encoding="utf-8")

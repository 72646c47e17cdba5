"""Plots without a library: ticks, placement of names, positions of points and lines."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.report.page.svg import (
    MOST_DRAWN,
    MOST_NAMED,
    Box,
    intervals,
    mark,
    place_labels,
    scatter,
    text_width,
    ticks,
)
from gecjury.stats.figure import Figure

NAMES = ("BART", "BERT-fuse", "GECToR-ens", "LM-Critic", "PIE", "REF-M", "Riken-Tohoku", "T5")


def estimate(name: str, family: str, value: float, *bounds: float) -> Figure:
    low, high = bounds or (float("nan"), float("nan"))
    about = {"metric": name, "family": family, "statistic": "accuracy"}
    return Figure(**about, value=value, low=low, high=high)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_stay_within_the_ends(low: float, span: float) -> None:
    values = ticks(low, low + span)
    assert 1 <= len(values) <= 12
    slack = max(span * 1e-6, math.ulp(abs(low) + span))  # no closer than floats are to each other
    assert all(low - slack <= tick <= low + span + slack for tick in values)


def covered(boxes: list[Box]) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, a in enumerate(boxes)
        for j, b in enumerate(boxes[:i])
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
    ]


def test_names_of_crowded_points_do_not_cover_each_other() -> None:
    points = [(150 + 6 * (i % 3), 120 + 5 * (i // 3)) for i in range(8)]
    boxes = place_labels(points, NAMES, (0, 0, 330, 260), 10)
    assert not covered(boxes)
    assert all(b[0] >= 0 and b[1] >= 0 and b[2] <= 330 and b[3] <= 260 for b in boxes)


def test_a_scatter_plot_shows_every_system_at_its_position() -> None:
    human, scores = [0.0, 1.0, 2.0, float("nan")], [10.0, 30.0, 20.0, 5.0]
    drawn = parsed(scatter(human, scores, ["a", "b", "<c>", "none"], "refbased", ("h", "m")))
    texts = [node.text for node in drawn.iter("text")]
    assert {"a", "b", "<c>"} <= set(texts)
    assert "none" not in texts
    dots = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in drawn.iter("circle")]
    # Further right is better according to people, higher up (a smaller y) according to the metric.
    assert dots[0][0] < dots[1][0] < dots[2][0]
    assert dots[1][1] < dots[2][1] < dots[0][1]
    title = drawn.find("title")
    assert title is not None
    assert title.text == "m against h, 3 systems"


def test_intervals_and_limits_are_drawn_to_scale() -> None:
    rows = [estimate("x", "refless", 0.6, 0.5, 0.7), estimate("y", "judges", float("nan"))]
    drawn = parsed(intervals(rows, "accuracy", [("chance", 0.5), ("two annotators", 0.65)]))
    (whisker,) = [n for n in drawn.iter("line") if "whisker" in n.attrib["class"]]
    left, right = float(whisker.attrib["x1"]), float(whisker.attrib["x2"])
    limits = [float(n.attrib["x1"]) for n in drawn.iter("line") if n.attrib["class"] == "limit"]
    # Chance is at the lower end 0.5, the ceiling at three quarters of the way to 0.7.
    assert limits == pytest.approx([left, left + 0.75 * (right - left)], abs=0.11)
    texts = [node.text for node in drawn.iter("text")]
    assert {"0.600", "–", "chance", "two annotators"} <= set(texts)


def test_families_differ_in_shape_and_not_only_in_colour() -> None:
    shapes = {
        re.sub(r'class="[^"]*"', "", mark(family))
        for family in ("refbased", "refless", "judges", "jury", "chance")
    }
    assert len(shapes) == 5


def test_many_points_are_drawn_without_names_and_very_many_not_all() -> None:
    for count, circles in ((MOST_NAMED, MOST_NAMED), (200, 200), (3000, MOST_DRAWN)):
        values = [float(place) for place in range(count)]
        names = [f"system-{place}" for place in range(count)]
        svg = str(scatter(values, values, names, "refbased", ("people", "metric")))
        assert svg.count("<circle") == circles
        assert (">system-1<" in svg) == (count == MOST_NAMED)
        assert f"{count} systems" in svg
        assert (f"of which {MOST_DRAWN} are drawn" in svg) == (count == 3000)
        # The points span the frame.
        drawn = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', svg)]
        assert max(drawn) - min(drawn) > 240


def test_wide_characters_have_their_full_width() -> None:
    assert text_width("abc", 10) == len("abc") * 10 * 0.58
    assert text_width("日本語", 10) == 30
    assert text_width("e\u0301", 10) == text_width("e", 10)
    rows = [
        estimate(name, "refbased", 0.5, 0.4, 0.6) for name in ("日本語の指標による評価値です", "b")
    ]
    texts = [each.text for each in ElementTree.fromstring(intervals(rows, "r")).iter() if each.text]
    assert "日本語の指標による評…" in texts  # 21 columns
    assert rows[0].metric + ": r 0.500 [0.400, 0.600]" in texts

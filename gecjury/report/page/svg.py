"""Plots as SVG: values with intervals, and scatter plots with named points.

They are written with the standard library: a page needs no further package, its policy forbids
`style` attributes, and by classes the plots follow its light or dark colours. Nothing is shown by
colour alone: each family also has its own shape.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import linear_regression
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup

from gecjury.core.wording import cut, letters, number
from gecjury.report.escaping import clean
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import Figure

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

# Mean width of a letter of the system fonts, as a share of the font size. Chinese and Japanese
# letters, which take two columns in a terminal, are as wide as they are high.
_LETTER = 0.58


def text_width(words: str, size: float) -> float:
    """Return the approximate width of words at a font size."""
    columns = [wide for _, wide in letters(words)]
    return columns.count(1) * size * _LETTER + columns.count(2) * size


def place_labels(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    frame: Box,
    size: float,
) -> list[Box]:
    """Return boxes for the names of points that overlap as little as possible.

    The most crowded points choose first among the places around them, near ones before far ones.
    Later points avoid the boxes that are taken.

    Args:
        points: positions.
        names: one name per point.
        frame: names stay inside it.
        size: font size.
    """
    height = size * 1.1
    # Greedy: the point with the least room chooses first, and no box is moved later.
    order = sorted(
        range(len(points)), key=lambda i: (sum(math.dist(points[i], p) for p in points), i)
    )
    boxes: dict[int, Box] = {}
    dots = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for index in order:

        def cost(place: tuple[float, Box], index: int = index) -> float:
            penalty, box = place
            penalty += 6 * sum(_overlap(box, other) for other in boxes.values())
            penalty += 2.5 * sum(_overlap(box, dot) for i, dot in enumerate(dots) if i != index)
            # Rounded, so that the first of several equally good places is chosen.
            return round(penalty + 8 * _outside(box, frame), 9)

        width = text_width(names[index], size)
        boxes[index] = min(_places(*points[index], width, height), key=cost)[1]
    return [boxes[index] for index in range(len(points))]


def _places(x: float, y: float, width: float, height: float) -> Iterator[tuple[float, Box]]:
    """Yield the possible places for a name with the cost of each."""
    for ring, gap in enumerate((6.0, 14.0, 24.0, 36.0)):
        cost = 14.0 * ring
        middle, above, below = y - height / 2, y - gap - height, y + gap
        for extra, left, top in (
            (0, x + gap, middle),
            (1, x - gap - width, middle),
            (2, x - width / 2, above),
            (2, x - width / 2, below),
            (3, x + gap * 0.7, above + gap * 0.4),
            (3, x + gap * 0.7, below - gap * 0.4),
            (4, x - gap * 0.7 - width, above + gap * 0.4),
            (4, x - gap * 0.7 - width, below - gap * 0.4),
        ):
            yield cost + extra, (left, top, left + width, top + height)


def _overlap(one: Box, other: Box) -> float:
    """Return the area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _outside(box: Box, frame: Box) -> float:
    over = (frame[0] - box[0], frame[1] - box[1], box[2] - frame[2], box[3] - frame[3])
    return sum(max(0.0, amount) for amount in over) * (box[3] - box[1])


WIDTH = 330
_LABEL = 10


@dataclass(frozen=True)
class _Frame:
    """The frame of a plot, and the values at its sides.

    Attributes:
        box: the frame in the units of the drawing.
        wide: the values at its left and right.
        tall: the values at its bottom and top.
    """

    box: Box
    wide: tuple[float, float]
    tall: tuple[float, float] = (0.0, 1.0)

    def across(self, value: float) -> float:
        """Return the x coordinate of a value."""
        left, _, right, _ = self.box
        return left + (value - self.wide[0]) / (self.wide[1] - self.wide[0]) * (right - left)

    def up(self, value: float) -> float:
        """Return the y coordinate of a value."""
        _, top, _, bottom = self.box
        return bottom - (value - self.tall[0]) / (self.tall[1] - self.tall[0]) * (bottom - top)


MOST_NAMED = 60
"""Most points with names in a plot: more names would cover the points."""
MOST_DRAWN = 1000
"""Most points in a plot."""


def _element(name: str, words: str | None = None, /, **attributes: object) -> Element:
    """Return an element of a drawing; `class_` becomes `class` and `font_size` `font-size`."""
    made = Element(
        name,
        {key.rstrip("_").replace("_", "-"): clean(str(value)) for key, value in attributes.items()},
    )
    if words is not None:
        made.text = clean(words)
    return made


def _drawing(children: Iterable[Element], **attributes: object) -> Markup:
    """Return an `svg` element as text, with escaping."""
    root = _element("svg", **attributes)
    root.extend(children)
    return Markup(tostring(root, encoding="unicode"))


def _plot(height: float, label: str, children: Iterable[Element]) -> Markup:
    return _drawing(
        [_element("title", label), *children],
        viewBox=f"0 0 {WIDTH} {_n(height)}",
        role="img",
        class_="plot",
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(
    x: float, y: float, words: str, size: float = _LABEL, anchor: str = "start", class_: str = "t"
) -> Element:
    return _element(
        "text", words, x=_n(x), y=_n(y), class_=class_, font_size=_n(size), text_anchor=anchor
    )


def _told(words: str, parts: Iterable[Element], box: Box) -> Element:
    """Return parts with a tooltip that appears anywhere within a box around them."""
    group = _element("g", class_="told")
    left, top, right, bottom = box
    group.append(_element("title", words))
    group.append(
        _element(
            "rect", x=_n(left), y=_n(top), width=_n(right - left), height=_n(bottom - top),
            class_="hit", fill="none", pointer_events="all",
        )
    )  # fmt: skip
    group.extend(parts)
    return group


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    return _element("line", x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2), class_=class_)


def mark(family: str) -> Markup:
    """Return a family's mark as a separate drawing, to be shown next to the family's name."""
    return _drawing([marker(family, 6, 6)], viewBox="0 0 12 12", class_="mark", aria_hidden="true")


def marker(family: str, x: float, y: float, size: float = 4.0) -> Element:
    """Return a family's mark with its shape and colour; a ring for other families."""
    class_ = f"m f-{family}"
    if family == "refbased":
        return _element("circle", cx=_n(x), cy=_n(y), r=_n(size), class_=class_)
    corners = {
        "refless": ((0, -1.25), (1.15, 0.8), (-1.15, 0.8)),
        "judges": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "jury": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    }.get(family)
    if corners is None:
        return _element("circle", cx=_n(x), cy=_n(y), r=_n(size * 0.9), class_=f"ring f-{family}")
    points = " ".join(f"{_n(x + size * dx)},{_n(y + size * dy)}" for dx, dy in corners)
    return _element("polygon", points=points, class_=class_)


def ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Return about as many round numbers between two ends as wanted."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    # The smallest round step that gives no more ticks than wanted.
    raw = span / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _tick_texts(values: Sequence[float]) -> list[str]:
    """Return the ticks as text with as many digits as the narrowest gap needs."""
    gap = min((b - a for a, b in itertools.pairwise(values)), default=1.0)
    digits = next((d for d in range(20) if abs(round(gap, d) - gap) <= 1e-9 * gap), 2)
    return [number(float(value), digits) for value in values]


def _padded(values: Sequence[float], share: float = 0.08) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    room = (high - low) * share or abs(high) / 2 or 0.5
    return low - room, high + room


def intervals(
    rows: Sequence[Figure],
    label: str,
    lines: Sequence[tuple[str, float]] = (),
) -> Markup:
    """Draw values with their intervals, one row each, and vertical lines to compare them with.

    Args:
        rows: the rows from the top; undefined values are drawn as a dash.
        label: description of the plot for screen readers, and title of the axis.
        lines: (name, value) of vertical lines, such as chance and people.
    """
    # The longest name and the longest number determine where the plot begins and ends.
    names = [cut(row.metric, 21) for row in rows]
    numbers = [number(row.value, statistic(row.statistic).digits) for row in rows]
    right = WIDTH - 16 - max((text_width(shown, 11) for shown in numbers), default=0.0)
    # Names with many wide letters are wider than the mean letter suggests.
    left = 22 + max((text_width(name, 11) for name in names), default=0.0)
    top, step = 22.0 if lines else 6.0, 20.0
    ends = [v for row in rows for v in (row.value, row.low, row.high)]
    bottom = top + step * len(rows) + 2
    wide = _padded([*ends, *(value for _, value in lines)], 0.06)
    at = _Frame((left, top, right, bottom), wide).across
    # Later parts cover earlier ones, so the grid and the lines come first, then the rows.
    parts: list[Element] = []
    marks = ticks(*wide)
    for value, words in zip(marks, _tick_texts(marks), strict=True):
        parts.append(_line(at(value), top - 4, at(value), bottom, "grid"))
        parts.append(_text(at(value), bottom + 11, words, anchor="middle", class_="t mute"))
    parts += _named_lines(lines, at, top, bottom)
    for place, (row, name, shown) in enumerate(zip(rows, names, numbers, strict=True)):
        y = top + step * (place + 0.5)
        words = f"{row.metric}: {label} {shown}"
        if _bounded(row):
            words += f" [{number(row.low)}, {number(row.high)}]"
        drawn = [
            _text(left - 8, y + 4, name, 11, "end"),
            *_whisker(row, at, y),
            _text(WIDTH - 4, y + 4, shown, 11, "end", "t num"),
        ]
        parts.append(_told(words, drawn, (0, y - step / 2, WIDTH, y + step / 2)))
    parts.append(_text((left + right) / 2, bottom + 26, label, 10, "middle", "t mute"))
    spoken = f"{label}: " + ", ".join(
        f"{row.metric} {shown}" for row, shown in zip(rows, numbers, strict=True)
    )
    return _plot(bottom + 32, spoken, parts)


def _bounded(row: Figure) -> bool:
    return math.isfinite(row.low) and math.isfinite(row.high)


def _whisker(row: Figure, at: Callable[[float], float], y: float) -> Iterator[Element]:
    """Yield the mark of a figure's value, on the line of its interval."""
    if math.isfinite(row.value):
        if _bounded(row):
            yield _line(at(row.low), y, at(row.high), y, f"whisker f-{row.family}")
        yield marker(row.family, at(row.value), y, 4.2)


def _named_lines(
    lines: Sequence[tuple[str, float]], at: Callable[[float], float], top: float, bottom: float
) -> Iterator[Element]:
    taken: list[Box] = []
    for name, value in sorted(lines, key=lambda line: line[1]):
        if not math.isfinite(value):
            continue
        x = at(value)
        width = text_width(name, 9)
        start = min(max(x - width / 2, 0), WIDTH - width)
        # If two lines are close together, the second name moves up.
        y = 10.0 if any(box[2] > start - 3 for box in taken) else 18.0
        taken.append((start, y - 8, start + width, y))
        yield _line(x, top - 4 if y > 12 else 11, x, bottom, "limit")
        yield _text(start, y - 3, name, 9, class_="t mute")


def scatter(
    human: Sequence[float],
    scores: Sequence[float],
    names: Sequence[str],
    family: str,
    labels: tuple[str, str],
) -> Markup:
    """Draw human scores (x) against a metric's (y) with system names and the line of best fit.

    With more than `MOST_NAMED` systems names are left out; at most `MOST_DRAWN` systems are drawn.

    Args:
        human: one score per system; systems without a finite pair of values are left out.
        scores: the metric's scores.
        names: the names of the systems.
        family: the metric's family, for colour and shape.
        labels: the labels of the two axes.
    """
    drawn = [
        (x, y, name)
        for x, y, name in zip(human, scores, names, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]
    count = len(drawn)
    if count > MOST_DRAWN:
        # From the best to the worst system, so that the whole range is shown.
        ordered = sorted(drawn, reverse=True)
        drawn = [ordered[place * count // MOST_DRAWN] for place in range(MOST_DRAWN)]
    spoken = f"{labels[1]} against {labels[0]}, {count} systems"
    if count > MOST_DRAWN:
        spoken += f", of which {MOST_DRAWN} are drawn"
    if not drawn:
        return _plot(
            60, spoken, [_text(WIDTH / 2, 34, "no scores to draw", 11, "middle", "t mute")]
        )
    # Each metric has its own scale: only the shape of the cloud can be compared.
    wide, tall = _padded([x for x, _, _ in drawn]), _padded([y for _, y, _ in drawn])
    frame = _Frame((34.0, 8.0, WIDTH - 6.0, 262.0), wide, tall)
    parts: list[Element] = [*_axes(frame, labels)]
    fit = _best_fit([x for x, _, _ in drawn], [y for _, y, _ in drawn], frame)
    if fit is not None:
        parts.append(_line(*fit, "fit"))
    points = [(frame.across(x), frame.up(y)) for x, y, _ in drawn]
    texts = [cut(name, 22) for _, _, name in drawn] if count <= MOST_NAMED else []
    # Systems of similar quality are close together, so labels move and lines lead to their points.
    named = points[: len(texts)]
    boxes = place_labels(named, texts, frame.box, _LABEL)
    for (x, y), box in zip(named, boxes, strict=True):
        near = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
        if math.dist((x, y), near) > 10:
            parts.append(_line(x, y, *near, "lead"))
    for (x, y), (first, second, name) in zip(points, drawn, strict=True):
        words = f"{name}: {labels[0]} {number(first)}, {labels[1]} {number(second)}"
        parts.append(_told(words, [marker(family, x, y)], (x - 6, y - 6, x + 6, y + 6)))
    parts += [_name(point, box, name) for point, box, name in zip(named, boxes, texts, strict=True)]
    return _plot(300, spoken, parts)


def _name(point: tuple[float, float], box: Box, name: str) -> Element:
    """Return a name in its box, anchored at the side of its point because font widths differ."""
    middle = (box[0] + box[2]) / 2
    anchor, x = "middle", middle
    if abs(point[0] - middle) > 1:
        anchor, x = ("start", box[0]) if point[0] < middle else ("end", box[2])
    return _text(x, box[3] - 2.6, name, anchor=anchor, class_="t halo")


def _axes(frame: _Frame, labels: tuple[str, str]) -> Iterator[Element]:
    left, top, right, bottom = frame.box
    values = ticks(*frame.wide)
    for x, words in zip(map(frame.across, values), _tick_texts(values), strict=True):
        yield _line(x, top, x, bottom, "grid")
        yield _text(x, bottom + 12, words, anchor="middle", class_="t mute")
    values = ticks(*frame.tall)
    for y, words in zip(map(frame.up, values), _tick_texts(values), strict=True):
        yield _line(left, y, right, y, "grid")
        yield _text(left - 4, y + 3, words, anchor="end", class_="t mute")
    yield _text((left + right) / 2, bottom + 28, f"{labels[0]} →", 10, "middle", "t mute")
    yield _text(left + 4, top + 8, f"↑ {labels[1]}", 10, class_="t mute")


def _best_fit(xs: Sequence[float], ys: Sequence[float], frame: _Frame) -> Box | None:
    """Return the ends of the least-squares line inside the frame; None if there is none."""
    if len(xs) < 3 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    slope, base = linear_regression(xs, ys)
    low, high = frame.wide
    if slope:
        # The line ends where it leaves the frame at the top or bottom.
        crossings = sorted((edge - base) / slope for edge in frame.tall)
        low, high = max(low, crossings[0]), min(high, crossings[1])
    (x1, y1), (x2, y2) = ((frame.across(x), frame.up(base + slope * x)) for x in (low, high))
    return x1, y1, x2, y2

"""Places for the names of points in a plot, so that they can be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

__all__ = ["Box", "place_labels", "text_width"]

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

# Mean width of a letter of the system fonts, as a share of the font size.
_LETTER = 0.58


def text_width(words: str, size: float) -> float:
    """About how wide words are in letters of a size."""
    return len(words) * size * _LETTER


def place_labels(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    frame: Box,
    size: float,
) -> list[Box]:
    """Boxes for the names of points that cover each other and the points as little as possible.

    The most crowded points choose first among places around them, near ones before far ones;
    whoever comes later avoids what is taken.

    Args:
        points: positions.
        names: one a point.
        frame: names stay inside.
        size: font size.
    """
    height = size * 1.1
    order = sorted(
        range(len(points)), key=lambda i: (sum(math.dist(points[i], p) for p in points), i)
    )
    boxes: list[Box | None] = [None] * len(points)
    dots = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for index in order:
        x, y = points[index]
        width = text_width(names[index], size)
        best: tuple[float, Box] | None = None
        for penalty, box in _places(x, y, width, height):
            taken = [other for other in boxes if other is not None]
            cost = penalty + 6 * sum(_overlap(box, other) for other in taken)
            cost += 2.5 * sum(_overlap(box, dot) for i, dot in enumerate(dots) if i != index)
            cost += 8 * _outside(box, frame)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, box)
        boxes[index] = None if best is None else best[1]
    return [box for box in boxes if box is not None]


def _places(x: float, y: float, width: float, height: float) -> Iterator[tuple[float, Box]]:
    """Places for a name, with what each costs."""
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
    """Area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _outside(box: Box, frame: Box) -> float:
    over = (frame[0] - box[0], frame[1] - box[1], box[2] - frame[2], box[3] - frame[3])
    return sum(max(0.0, amount) for amount in over) * (box[3] - box[1])

"""The matrix of an explanation as a page: the credit of edits by other edits."""

from __future__ import annotations

from collections.abc import Sequence

from gecjury.report.page.markup import lang_attribute, render_page
from gecjury.scoring.by_edit import HeatMap
from gecjury.wording import shortened


def heat_map_html(
    heat_map: HeatMap, heading: str, lines: Sequence[tuple[str, str]], language: str = "en"
) -> str:
    """Return a self-contained page: texts, and the matrix as a coloured table.

    Args:
        heat_map: the matrix.
        heading: title of the page.
        lines: (name, text) shown above the matrix.
        language: ISO code of the texts'.
    """
    top = float(heat_map.values.max()) if heat_map.values.size else 0.0
    rows = []
    shades: set[int] = set()
    for label, values in zip(heat_map.rows, heat_map.values.tolist(), strict=True):
        cells = []
        for value in values:
            shade = round(1000 * value / top) if top > 0 else 0
            shades.add(shade)
            cells.append((f"{value:.3f}", f"n {_class(shade)}"))
        rows.append((shortened(label), cells))
    return render_page(
        "heat_map",
        title=shortened(heading),
        rules="".join(f".{_class(shade)}{{{_rule(shade)}}}\n" for shade in sorted(shades)),
        lines=lines,
        caption=shortened(heat_map.title),
        columns=[shortened(column) for column in heat_map.columns],
        rows=rows,
        lang_attribute=lang_attribute(language),
    )


def _class(shade: int) -> str:
    return f"shade{shade}"


def _rule(shade: int) -> str:
    """Return the style of cells of a shade, in thousandths of the darkest.

    It is a class, because the policy of pages forbids `style` attributes.
    """
    rule = f"background:rgba(31,90,160,{shade / 1000:.3f})"
    return f"{rule};color:#fff" if shade > 500 else rule

"""The page of a study: its tables as they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gecjury.corpus.edits import ARROW, MISSED, RIGHT, WRONG
from gecjury.report.page.markup import lang_attribute, render_page
from gecjury.report.result import Result
from gecjury.report.tables import shown_cells
from gecjury.wording import shortened


def tables_html(result: Result) -> str:
    """Return the tables of a result as a page that needs no network and no script.

    Above them stand the facts that are texts, unless a table shows these. Edits in cells,
    `[old→new]`, are marked, right and wrong ones apart, and the cells of shaded columns are the
    darker the larger their values are.
    """
    shades: set[int] = set()
    shown = []
    for table in result.shown:
        headings, numeric, rows = shown_cells(table)
        classes = ["n" if number else "" for number in numeric]
        shaded = [[c.cell(row) if c.shaded else None for c in table.columns] for row in table.rows]
        top = max((value for row in shaded for value in row if value is not None), default=0.0)
        lines = []
        for values, texts in zip(shaded, rows, strict=True):
            line = []
            for value, css, text in zip(values, classes, texts, strict=True):
                if value is not None:
                    # In thousandths of the darkest. Only the shades that occur become rules, since
                    # a page has a limit of bytes.
                    shade = round(1000 * value / top) if top > 0 else 0
                    shades.add(shade)
                    css = f"{css} shade{shade}"
                line.append((pieces_of(text), css))
            lines.append(line)
        shown.append((table.title, list(zip(headings, classes, strict=True)), lines, table.notes))
    return render_page(
        "listed",
        title=shortened(result.title),
        rules="".join(f".shade{shade}{{{_rule(shade)}}}\n" for shade in sorted(shades)),
        facts=[] if result.above else list(_texts(result)),
        tables=shown,
        lang_attribute=lang_attribute(result.language),
    )


def _texts(result: Result) -> Iterator[tuple[str, str]]:
    """Yield the facts that are texts, and those that are lists of texts text by text."""
    for name, value in result.facts.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield name, text


def _rule(shade: int) -> str:
    """Return the style of a cell of so many thousandths of the darkest.

    It is in a class, because the policy of pages forbids `style` attributes.
    """
    rule = f"background:rgba(31,90,160,{shade / 1000:.3f})"
    return f"{rule};color:#fff" if shade > 500 else rule


@dataclass(frozen=True)
class Piece:
    """A piece of a sentence: words, or an edit.

    Attributes:
        text: the words; of an edit `[old→new]`.
        kind: empty for words; `edit`, or what the sign of an edit says: `right`, `wrong`, `missed`.
        old: words that an edit with a sign replaces.
        new: words that it writes.
        sign: the sign.
    """

    text: str
    kind: str = ""
    old: str = ""
    new: str = ""
    sign: str = ""


_KINDS = {RIGHT: "right", WRONG: "wrong", MISSED: "missed"}
_EDIT = re.compile(rf"\[([^\[\]]*){ARROW}([^\[\]]*?)(?: ?([{RIGHT}{WRONG}{MISSED}]))?\]")


def pieces_of(marked: str) -> list[Piece]:
    """Return a correction in pieces, from left to right.

    Args:
        marked: with edits as `gecjury.corpus.edits.marked_edits` writes them.
    """
    pieces, done = [], 0
    for edit in _EDIT.finditer(marked):
        old, new, sign = edit.groups()
        pieces.append(Piece(marked[done : edit.start()]))
        pieces.append(Piece(edit[0], _KINDS.get(sign, "edit"), old, new, sign or ""))
        done = edit.end()
    return [piece for piece in (*pieces, Piece(marked[done:])) if piece.text]

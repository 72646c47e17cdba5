"""The page of a study's result: the answer, plots, tables, and sentences with marked edits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from gecjury.core.runtime import __version__
from gecjury.core.wording import READING, shortened, shortly
from gecjury.corpus.edits import ARROW, MISSED, RIGHT, WRONG
from gecjury.report.page.markup import lang_attribute, render, render_page
from gecjury.report.page.page import Section, card, signed_papers
from gecjury.report.page.svg import intervals
from gecjury.report.result import OPENING, Result, Table
from gecjury.report.table import Sentences
from gecjury.report.tables import shown_cells
from gecjury.report.words import Statement
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import Figure

_SHADES = 5  # the classes `hi1` to `hi5` of the style
_MOST_OPEN = 4  # further tables; more of them are folded
_LONG = 40  # characters; longer texts get room in a narrow table


def _prepared(tables: Iterable[Table]) -> list[tuple[Any, ...]]:
    """Return tables for the template `listing`."""
    shown = []
    for table in tables:
        headings, numeric, rows = shown_cells(table)
        classes = ["n" if number else "" for number in numeric]
        shaded = [[c.cell(row) if c.shaded else None for c in table.columns] for row in table.rows]
        top = max((value for row in shaded for value in row if value is not None), default=0.0)
        lines = []
        for values, texts in zip(shaded, rows, strict=True):
            line = []
            for value, css, text in zip(values, classes, texts, strict=True):
                if value is not None and value > 0:
                    css = f"{css} hi{math.ceil(_SHADES * value / top)}"
                line.append((pieces_of(text), css or "text" * (len(text) > _LONG)))
            lines.append(line)
        shown.append((table.title, list(zip(headings, classes, strict=True)), lines, table.notes))
    return shown


@dataclass(frozen=True)
class Piece:
    """A piece of a sentence: words, or an edit.

    Attributes:
        text: the words; for an edit `[old→new]`.
        kind: empty for words; `edit`, or the meaning of an edit's sign: `right`, `wrong`, `missed`.
        old: words that an edit replaces.
        new: words that it inserts.
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
    """Return a correction split into pieces, from left to right.

    Args:
        marked: a correction with edits as `gecjury.corpus.edits.marked_edits` writes them.
    """
    pieces, done = [], 0
    for edit in _EDIT.finditer(marked):
        old, new, sign = edit.groups()
        if not old and not new:
            continue
        pieces.append(Piece(marked[done : edit.start()]))
        pieces.append(Piece(edit[0], _KINDS.get(sign, "edit"), old, new, sign or ""))
        done = edit.end()
    return [piece for piece in (*pieces, Piece(marked[done:])) if piece.text]


@dataclass(frozen=True, kw_only=True)
class Details:
    """The content of a page besides the verdict, tables and notes of a result.

    Attributes:
        kicker: a word on what the page shows.
        facts: what was scored, in a few words each.
        statements: the verdict by each metric.
        figures: the numbers that are drawn, a plot for each metric or, without one, statistic.
        drawn: title of the plot, if the figures do not name a metric.
        types: tables of error types by metric and system.
        sentences: sentences by metric and system.
        about_sentences: what the numbers of the sentences mean.
        tables: short name and heading of the section of further tables.
    """

    kicker: str
    facts: Sequence[str] = ()
    statements: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[Figure] = ()
    drawn: str = ""
    types: Mapping[str, Table] = field(default_factory=dict)
    sentences: Sentences = field(default_factory=dict)
    about_sentences: str = ""
    tables: tuple[str, str] = ("Tables", "Further tables")


_SECTIONS = {
    "summary": ("Summary", "In one minute"),
    "scores": ("Scores", "All numbers"),
    "types": ("Error types", "Error types"),
    "sentences": ("Sentences", "Sentences and their edits"),
    "settings": ("Settings", "Settings"),
}


def result_html(result: Result, details: Details) -> str:
    """Return a result as a page that needs no network and no script: the answer, then the details.

    Edits in texts, `[old→new]`, are marked, with right and wrong ones distinguished. In shaded
    columns cells with larger values are darker.
    """
    lang, names = lang_attribute(result.language), result.short_names()
    shown = result.shown_to("verbose")

    def short(text: str) -> str:
        return shortened(shortly(text, names))

    def listing(*tables: Table) -> Markup | None:
        listed = _prepared(tables)
        common = {"title": result.title, "lang_attribute": lang}
        return render("listing", tables=listed, **common) if listed else None

    def folded(groups: Iterable[tuple[str, Table]]) -> Markup | None:
        listed = [(short(name), _prepared([table])) for name, table in groups]
        common = {"title": result.title, "lang_attribute": lang}
        return render("folded", groups=listed, **common) if listed else None

    signatures = list(
        dict.fromkeys(
            signature
            for table in result.tables[:1]
            for row in table.rows
            if (signature := row.get("signature"))
        )
    )
    # Remarks and signatures have sections of their own.
    careful = [note for note in result.notes if not note.startswith(READING)]
    elsewhere = {shortly(note, names) for note in (*careful, *signatures)}
    shown = [replace(t, notes=[note for note in t.notes if note not in elsewhere]) for t in shown]
    others = [table for table in shown if table.name != "rows"]
    settings = {"signatures": signed_papers(signatures), "facts": [], "notes": [], "citation": ""}
    content = {
        "summary": _summary(result, details, short),
        "scores": listing(*(replace(table, title="") for table in shown if table.name == "rows")),
        "types": folded(details.types.items()),
        "sentences": _marked(details, short, lang),
        "tables": folded((t.title, replace(t, title="")) for t in others)
        if len(others) > _MOST_OPEN
        else listing(*others),
        "settings": render("settings", **settings) if signatures else None,
    }
    headings = {**_SECTIONS, "tables": details.tables}
    return render_page(
        kicker=details.kicker,
        title=shortened(result.title),
        heading=shortened(result.title),
        sentences=[*result.warnings, *result.sentences()[:OPENING]],
        facts=details.facts,
        sample=False,
        sections=[
            Section(key, *headings[key], part) for key, part in content.items() if part is not None
        ],
        footer=f"Made by gecjury {__version__}.",
        numbers="",
    )


def _summary(result: Result, details: Details, short: Callable[[str], str]) -> Markup | None:
    """Return plots, and cards of what the opening does not say; None if there is nothing."""
    names = result.short_names()
    drawn: dict[tuple[str, str], list[Figure]] = {}
    for figure in details.figures:
        drawn.setdefault((figure.metric, figure.statistic), []).append(figure)
    plots = []
    for (metric, key), figures in drawn.items():
        entry = statistic(key)
        words = entry.words or entry.heading or entry.key
        title = short(metric) or details.drawn or words.capitalize()
        rows = [replace(figure, metric=short(figure.system)) for figure in figures]
        about = ["with intervals"] if any(figure.interval for figure in figures) else []
        about += ["↓ lower is better"] if any("↓" in row.metric for row in rows) else []
        plots.append((title, "; ".join(about), intervals(rows, words)))
    # What the opening says is not repeated.
    opening, further = result.sentences()[:OPENING], result.sentences()[OPENING:]
    others = [
        Statement(short(metric), shortly(text, names))
        for metric, text in details.statements.items()
        if metric and not any(one.startswith(f"{short(metric)}: ") for one in opening)
    ]
    cards = [card("Other metrics", others)] if others else []
    cards += [card("More", [Statement("", one) for one in further])] if further else []
    left = [note for note in result.notes if note not in result.warnings]
    if heeded := [note for note in left if not note.startswith(READING)]:
        careful = [Statement("", f"{shortly(note, names).rstrip('.')}.") for note in heeded]
        cards.append(card("Read with care", careful, careful=True))
    if not plots and not cards:
        return None
    return render("summary", overviews=plots, terms={}, cards=cards, glossary={})


def _marked(details: Details, short: Callable[[str], str], lang: Markup) -> Markup | None:
    if not any(details.sentences.values()):
        return None
    groups = [
        (
            short(name),
            [(facts, [(who, pieces_of(text)) for who, text in texts]) for facts, texts in listed],
        )
        for name, listed in details.sentences.items()
    ]
    signs = {
        piece.kind
        for _, listed in groups
        for _, texts in listed
        for _, pieces in texts
        for piece in pieces
        if piece.sign
    }
    return render(
        "costly", note=details.about_sentences, signs=signs, groups=groups, lang_attribute=lang
    )

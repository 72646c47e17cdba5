"""Pages of studies: tables as on the command line, and the page of systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from gecjury.core.runtime import __version__
from gecjury.core.wording import shortened, shortly
from gecjury.corpus.edits import ARROW, MISSED, RIGHT, WRONG
from gecjury.report.page.markup import lang_attribute, render, render_page
from gecjury.report.page.page import Section, card, signed_papers
from gecjury.report.page.svg import intervals
from gecjury.report.result import Result, Table
from gecjury.report.tables import shown_cells
from gecjury.report.verdict import Ranked
from gecjury.report.words import Statement
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import Figure


def tables_html(result: Result) -> str:
    """Return the tables of a result as a page that needs no network and no script.

    Facts that are texts are shown above the tables, unless a table shows them. Edits in cells,
    `[old→new]`, are marked, with right and wrong ones distinguished. In shaded columns cells with
    larger values are darker.
    """
    tables, rules = _prepared(result.shown_to("verbose"))
    return render_page(
        "listed",
        title=shortened(result.title),
        rules=rules,
        facts=[] if result.above else list(_texts(result)),
        tables=tables,
        lang_attribute=lang_attribute(result.language),
    )


def _prepared(tables: Iterable[Table]) -> tuple[list[tuple[Any, ...]], str]:
    """Return tables for the template `listing`, and the style of their shaded cells."""
    shades: set[int] = set()
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
                if value is not None:
                    # In thousandths of the darkest. Only the shades that occur become rules, since
                    # the size of a page is limited.
                    shade = round(1000 * value / top) if top > 0 else 0
                    shades.add(shade)
                    css = f"{css} shade{shade}"
                line.append((pieces_of(text), css))
            lines.append(line)
        shown.append((table.title, list(zip(headings, classes, strict=True)), lines, table.notes))
    return shown, "".join(f".shade{shade}{{{_rule(shade)}}}\n" for shade in sorted(shades))


def _texts(result: Result) -> Iterator[tuple[str, str]]:
    """Yield the verdict and the facts that are texts; lists are split into their texts."""
    yield from (("verdict", sentence) for sentence in result.sentences())
    for name, value in result.facts.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield name, text


def _rule(shade: int) -> str:
    """Return the style of a cell by its shade in thousandths of the darkest.

    It is used in a class, because the policy of pages forbids `style` attributes.
    """
    rule = f"background:rgba(31,90,160,{shade / 1000:.3f})"
    return f"{rule};color:#fff" if shade > 500 else rule


@dataclass(frozen=True)
class Piece:
    """A piece of a sentence: words, or an edit.

    Attributes:
        text: the words; for an edit `[old→new]`.
        kind: empty for words; `edit`, or the meaning of an edit's sign: `right`, `wrong`, `missed`.
        old: words that an edit with a sign replaces.
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
        pieces.append(Piece(marked[done : edit.start()]))
        pieces.append(Piece(edit[0], _KINDS.get(sign, "edit"), old, new, sign or ""))
        done = edit.end()
    return [piece for piece in (*pieces, Piece(marked[done:])) if piece.text]


Sentences = Mapping[str, Sequence[tuple[str, Sequence[tuple[str, str]]]]]
"""Sentences by group: a line on each, and its versions by name, with their edits marked."""


@dataclass(frozen=True, kw_only=True)
class SystemsPage:
    """The content of the page of systems.

    Attributes:
        kicker: a word on what the page shows.
        names: short names of metrics.
        verdict: at most two sentences, which open the page.
        leads: the systems by each metric.
        figures: the numbers of the systems; differences if there are any, otherwise the figures
            that systems are ranked by, are drawn.
        main: the table of all numbers.
        types: tables of error types by metric and system.
        sentences: sentences by metric and system.
        tables: further tables.
        facts: what was scored, in a few words each.
        notes: remarks for the reader.
        signatures: signatures of the metrics.
    """

    kicker: str
    title: str
    language: str
    names: Mapping[str, str]
    verdict: Sequence[str]
    leads: Mapping[str, Ranked]
    figures: Sequence[Figure]
    main: Table
    types: Mapping[str, Table]
    sentences: Sentences
    tables: Sequence[Table]
    facts: Sequence[str]
    notes: Sequence[str]
    signatures: Sequence[str]


def systems_html(page: SystemsPage) -> str:
    """Return systems as a page that needs no network and no script: who leads, then the details."""
    lang = lang_attribute(page.language)

    def short(text: str) -> str:
        return shortened(shortly(text, page.names))

    def listing(*tables: Table) -> dict[str, Any]:
        return {"title": page.title, "tables": _prepared(tables)[0], "lang_attribute": lang}

    def folded(groups: Mapping[str, Table]) -> Markup:
        listed = [(short(name), listing(table)["tables"]) for name, table in groups.items()]
        return render("folded", title=page.title, groups=listed, lang_attribute=lang)

    # Remarks and signatures have sections of their own.
    elsewhere = {*page.notes, *page.signatures}
    about = [note for note in page.main.notes if note not in elsewhere]
    content: dict[str, Markup | None] = {
        "summary": _systems_summary(page, short),
        "scores": render("listing", **listing(replace(page.main, title="", notes=about))),
        "types": folded(page.types) if page.types else None,
        "sentences": _costly(page.sentences, short, lang) if page.sentences else None,
        "tables": render("listing", **listing(*page.tables)) if page.tables else None,
        "settings": render(
            "settings",
            facts=[],
            notes=[],
            signatures=signed_papers(page.signatures),
            citation="",
        ),
    }
    return render_page(
        "page",
        rules=_prepared(page.tables)[1],
        kicker=page.kicker,
        title=shortened(page.title),
        heading=shortened(page.title),
        sentences=[shortly(sentence, page.names) for sentence in page.verdict],
        facts=page.facts,
        sample=False,
        sections=[
            Section(key, *_SECTIONS[key], part) for key, part in content.items() if part is not None
        ],
        footer=f"Made by gecjury {__version__}.",
        numbers="",
    )


_SECTIONS = {
    "summary": ("Summary", "In one minute"),
    "scores": ("Scores", "All numbers"),
    "types": ("Error types", "Error types by cost"),
    "sentences": ("Sentences", "Sentences that matter most"),
    "tables": ("Tables", "Further tables"),
    "settings": ("Settings", "Settings"),
}


def _systems_summary(page: SystemsPage, short: Callable[[str], str]) -> Markup:
    statements = [
        Statement(short(metric), shortly(lead.verdict(), page.names))
        for metric, lead in page.leads.items()
        if lead.values
    ]
    drawn: dict[str, list[Figure]] = {}
    # The first number of a system is the one that systems are ranked by.
    seen: dict[tuple[str, str], str] = {}
    differences = [figure for figure in page.figures if figure.statistic == "difference"]
    for figure in differences or page.figures:
        place = (figure.metric, figure.system)
        if seen.setdefault(place, figure.statistic) == figure.statistic:
            label = figure.metric if differences else figure.system
            group = "" if differences else figure.metric
            drawn.setdefault(group, []).append(replace(figure, metric=short(label)))
    plots = []
    for metric, figures in drawn.items():
        entry = statistic(figures[0].statistic)
        words = entry.words or entry.heading or entry.key
        if any(figure.interval for figure in figures):
            words += ", with its interval"
        plots.append((short(metric), words, intervals(figures, short(metric) or words)))
    cards = [card("By metric" if len(page.leads) > 1 else "Verdict", statements)]
    if page.notes:
        careful = [Statement("Notes", f"{note.rstrip('.')}.") for note in page.notes]
        cards.append(card("Read with care", careful, careful=True))
    return render("summary", overviews=plots, terms={}, cards=cards, glossary={})


def _costly(sentences: Sentences, short: Callable[[str], str], lang: Markup) -> Markup:
    groups = [
        (
            short(name),
            [(facts, [(who, pieces_of(text)) for who, text in texts]) for facts, texts in listed],
        )
        for name, listed in sentences.items()
    ]
    return render("costly", groups=groups, lang_attribute=lang)

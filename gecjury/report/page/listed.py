"""Pages of studies: tables as on the command line, and the page of scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any

from markupsafe import Markup

from gecjury.core.runtime import __version__
from gecjury.core.wording import listed, number, p_value, shortened
from gecjury.corpus.edits import ARROW, MISSED, RIGHT, WRONG
from gecjury.report.page.markup import lang_attribute, render, render_page
from gecjury.report.page.page import Section, card, signed_papers
from gecjury.report.page.svg import intervals
from gecjury.report.page.tables import Cell, PageTable, headings, measure_cell
from gecjury.report.result import Record, Result, Table
from gecjury.report.tables import shown_cells
from gecjury.report.words import Statement
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


@dataclass(frozen=True)
class Scored:
    """The content of the page of scores.

    Attributes:
        rows: one record per metric and system, with the best system of each metric first:
            `metric`, `family`, `directed`, `system`, `score`, `ci95` and `p_next` if systems were
            tested, `precision` and `recall` if the metric has them.
        types: records of error types by metric and system, the costliest first.
        worst: records of sentences by metric and system, the costliest first, with `correction`,
            `reference` (empty if there is none) and `which`, the number of the reference.
        tables: further tables that were requested.
        facts: what was scored, in a few words each.
        notes: remarks for the reader.
        signatures: signatures of the metrics.
    """

    rows: Sequence[Record]
    types: Sequence[Record]
    worst: Sequence[Record]
    tables: Sequence[Table]
    facts: Sequence[str]
    notes: Sequence[str]
    signatures: Sequence[str]


def scores_html(scored: Scored, title: str, language: str) -> str:
    """Return scores as a page that needs no network and no script: who leads, then the details.

    Args:
        scored: the content.
        title: title of the page.
    """
    metrics = _by(scored.rows, "metric")
    tables, rules = _prepared(scored.tables)
    lang = lang_attribute(language)
    content = {
        "summary": _score_summary(metrics, scored.notes),
        "scores": _score_table(metrics),
        "types": _type_tables(scored.types),
        "sentences": _costly(scored.worst, lang) if scored.worst else None,
        "tables": render("listing", title=title, tables=tables, lang_attribute=lang)
        if tables
        else None,
        "settings": render(
            "settings",
            facts=[],
            notes=[],
            signatures=signed_papers(scored.signatures),
            citation="",
        ),
    }
    sections = [
        Section(key, *_SECTIONS[key], part) for key, part in content.items() if part is not None
    ]
    return render_page(
        "page",
        rules=rules,
        kicker="scores",
        title=shortened(title),
        heading=shortened(title),
        sentences=(),
        facts=scored.facts,
        sample=False,
        sections=sections,
        footer=f"Made by gecjury {__version__}.",
        numbers="",
    )


_SECTIONS = {
    "summary": ("Summary", "In one minute"),
    "scores": ("Scores", "All scores"),
    "types": ("Error types", "Error types by cost"),
    "sentences": ("Sentences", "Sentences that cost most"),
    "tables": ("Tables", "Further tables"),
    "settings": ("Signatures", "Signatures"),
}
_LEVEL = 0.05
_TYPES_SHOWN = 10  # costliest error types of a system; the others are folded


def _by(rows: Iterable[Record], *keys: str) -> dict[str, list[Record]]:
    """Return records by the values of keys, in their order."""
    groups: dict[str, list[Record]] = {}
    for row in rows:
        groups.setdefault(": ".join(str(row[key]) for key in keys), []).append(row)
    return groups


def _leader(rows: Sequence[Record]) -> Record | None:
    """Return the best system of a metric; None if it is not better than the next."""
    scores = [row["score"] for row in rows if not isnan(row["score"])]
    unrivalled = len(scores) > 1 and scores[0] > scores[1] and rows[0]["directed"]
    return rows[0] if unrivalled else None


def _is_certain(leader: Record) -> bool:
    p = leader.get("p_next")
    return p is not None and p <= _LEVEL


def _standing(metric: str, rows: Sequence[Record]) -> str:
    """Return who leads by a metric, by how much and how certainly."""

    def score(row: Record) -> str:
        bounds = row.get("ci95") or (nan, nan)
        inside = "" if isnan(bounds[0]) else " (95%: {} to {})".format(*map(number, bounds))
        return f"{number(row['score'])}{inside}"

    first, name = rows[0], shortened(rows[0]["system"])
    leader = _leader(rows)
    if isnan(first["score"]):
        return f"{shortened(metric)}: no system has a score."
    if leader is None:
        same = [shortened(row["system"]) for row in rows if row["score"] == first["score"]]
        if not first["directed"]:
            return f"{shortened(metric)} describes outputs: highest in {name}, {score(first)}."
        if len(rows) == 1:
            return f"{name} scores {score(first)} by {shortened(metric)}."
        return f"{listed(same)} share the lead by {shortened(metric)}: {score(first)}."
    second = rows[1]
    gap = f"{number(first['score'] - second['score'])} ahead of {shortened(second['system'])}"
    p = leader.get("p_next")
    how = "not tested"
    if p is not None:
        how = f"{'' if _is_certain(leader) else 'not '}significant ({p_value(p)})"
    return f"{name} leads: {score(first)}, {gap}, {how}."


def _score_summary(metrics: Mapping[str, Sequence[Record]], notes: Sequence[str]) -> Markup:
    plots, statements = [], []
    for metric, rows in metrics.items():
        bars = []
        for row in rows:
            low, high = row.get("ci95") or (nan, nan)
            name = shortened(row["system"])
            about = {"metric": name, "family": row["family"], "statistic": "score"}
            bars.append(Figure(**about, value=row["score"], low=low, high=high))
        name = shortened(metric)
        tested = any("ci95" in row for row in rows)
        words = "score, 95% interval over sentences" if tested else "score"
        plots.append((name, words, intervals(bars, name)))
        statements.append(Statement(name, _standing(metric, rows)))
    cards = [card("By metric", statements)]
    if notes:
        careful = [Statement("Notes", f"{note.rstrip('.')}.") for note in notes]
        cards.append(card("Read with care", careful, careful=True))
    return render("summary", overviews=plots, terms={}, cards=cards, glossary={})


def _score_table(metrics: Mapping[str, Sequence[Record]]) -> Markup:
    columns = [
        (metric, key)
        for metric, rows in metrics.items()
        for key in ("score", "precision", "recall")
        if any(key in row for row in rows)
    ]
    cells: dict[str, dict[tuple[str, str], Cell]] = {}
    for metric, rows in metrics.items():
        for row in rows:
            own = cells.setdefault(row["system"], {})
            for key in ("score", "precision", "recall"):
                bounds = row.get("ci95") if key == "score" else None
                own[metric, key] = measure_cell(row.get(key), bounds, digits=4)
    lines = [(shortened(name), [own[place] for place in columns]) for name, own in cells.items()]
    spans = [(shortened(m), sum(metric == m for metric, _ in columns)) for m in metrics]
    table = PageTable(
        "Scores",
        "metrics",
        headings(["system"], [key for _, key in columns]),
        lines,
        groups=[("", 1), *spans],
    )
    return render("tabled", note="", terms={}, listed=[table], folded="")


def _type_tables(records: Sequence[Record]) -> Markup | None:
    """Return error types by metric and system; all but the costliest of the first are folded."""
    if not records:
        return None
    note = (
        "Cost: how much higher F0.5 over all types would be if every edit of this type were right "
        "and none were missing."
    )
    head = headings(["type"], ["cost", "P", "R", "F0.5", "right", "wrong", "missed"])
    parts = []
    for place, (name, types) in enumerate(_by(records, "metric", "system").items()):
        rows = []
        for row in types:
            cells = [measure_cell(row["cost"], digits=4)]
            cells += [measure_cell(row[key]) for key in ("precision", "recall", "f0.5")]
            cells += [Cell(f"{row[key]:g}") for key in ("tp", "fp", "fn")]
            rows.append((row["type"], cells))
        title = shortened(name)
        first = rows[:_TYPES_SHOWN] if place == 0 else []
        table = PageTable(f"Error types, {title}", "metrics", head, rows[len(first) :])
        if first:
            shown = replace(table, rows=first, heading=title)
            parts.append(render("tabled", note=note, terms={}, listed=[shown], folded=""))
            title += ", further types"
        if table.rows:
            parts.append(render("tabled", note="", terms={}, listed=[table], folded=title))
    return Markup("").join(parts)


def _costly(records: Sequence[Record], lang: Markup) -> Markup:
    groups = []
    for name, sentences in _by(records, "metric", "system").items():
        shown = []
        for row in sentences:
            facts = f"line {row['line']} · score {number(row['score'], 4)}"
            texts = [("correction", pieces_of(row["correction"]))]
            if row["reference"]:
                texts.append((f"reference {row['which']}", pieces_of(row["reference"])))
            shown.append((f"{facts} · cost {number(row['cost'], 5)}", texts))
        groups.append((shortened(name), shown))
    return render("costly", groups=groups, lang_attribute=lang)

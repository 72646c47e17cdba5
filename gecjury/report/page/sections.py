"""Sections of the comparison page on single items and on judges' biases.

Single items are edits, rated corrections, segments and labels. Each section is a table of the
figures of its level, with metrics at the top, and chance and people below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gecjury.metaeval.result import LEVELS
from gecjury.report.audit import audit_sentences
from gecjury.report.page.glossary import TERMS
from gecjury.report.page.markup import render
from gecjury.report.page.tables import figure_table, table_html
from gecjury.report.table import Column, Table
from gecjury.report.words import BESIDE, ComparisonWords
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.figure import Figure


@dataclass(frozen=True)
class _LevelSection:
    """A level of figures on single items, as a section shows it.

    Attributes:
        level: the level of its figures.
        label: description of the table for screen readers.
        note: a sentence on what is shown.
        counted: heading of the number of items that a row is based on.
        human: heading of the column that says which judgments; empty for none.
        terms: keys of the terms that are explained.
    """

    level: str
    label: str
    note: str
    counted: str
    human: str = ""
    terms: tuple[str, ...] = ()


_CSS = "sortable metrics"

register(Statistic("bias_for", "bias for"), Statistic("preferred", "metric"))

_LEVELS = {
    "edits": _LevelSection(
        "edit",
        "Single edits",
        "Metrics’ credit for edits against annotators’ verdicts.",
        "edits",
        terms=("auc", "ap", "threshold"),
    ),
    "ratings": _LevelSection(
        "rating",
        "Ratings",
        "Correlation of the scores of single corrections with their mean ratings, −1 to 1.",
        "corrections",
        "aspect",
    ),
    "segments": _LevelSection(
        "segment",
        "Segment level",
        "acc_eq: share of the pairs of corrections of one source on which metric and people agree, "
        "ties included (scores at most ε apart, with the best ε for these pairs).",
        "pairs",
        "human",
    ),
    "labels": _LevelSection(
        "label",
        "Labels",
        "AUC: how often a good correction scores above a bad one; ties count one half.",
        "corrections",
        "bad",
    ),
}


def level_sections(figures: Sequence[Figure]) -> dict[str, Markup]:
    """Return the sections on single items that have a figure, by their keys."""
    content: dict[str, Markup] = {}
    for section, about in _LEVELS.items():
        level_figures = [figure for figure in figures if figure.level == about.level]
        # With only chance and people there is no section: no metric was compared or has a value.
        if any(f.family not in BESIDE and not math.isnan(f.value) for f in level_figures):
            terms = {key: TERMS[key] for key in about.terms}
            listed = [("", table_html(_table(about, level_figures), _CSS))]
            content[section] = render(
                "tabled", note=about.note, terms=terms, listed=listed, folded=""
            )
    return content


def audit_section(answer: ComparisonWords) -> Markup | None:
    """Return the biases of the judges; None if none was compared."""
    biases = answer.comparison.at("bias")
    if not biases:
        return None
    rows = []
    for row in biases:
        bounds = row.intervals.get("difference")
        about = {"metric": answer.shown(row.metric), "human": row.human, "bias_for": row.side}
        rows.append({**about, **row.values, "bias": row.values["difference"], "interval": bounds})
    columns = [
        *(Column(key) for key in ("metric", "human", "bias_for")),
        Column("bias", digits=3, interval="interval"),
        *(Column(key, digits=3) for key in ("preferred", "people")),
        Column("pairs"),
    ]
    label = "Biases: preferences that people do not share"
    listed = [(label, table_html(Table(columns, rows, label), _CSS))]
    note = answer.text(" ".join(dict(audit_sentences(answer.comparison)).values()))
    return render("tabled", note=note, terms={}, listed=listed, folded="")


def _table(about: _LevelSection, figures: Sequence[Figure]) -> Table:
    """Return a table of the figures of a level, one column per statistic."""
    statistics = [(about.level, key) for key in LEVELS[about.level]]
    # All figures of a row are based on the same items, so any of them gives the counts.
    places = {(figure.metric, figure.human): figure for figure in figures}
    more = {about.counted: {key: figure.n for key, figure in places.items()}}
    if any(figure.missing for figure in figures):
        more |= {"missing": {key: figure.missing for key, figure in places.items()}}
    return figure_table(about.label, figures, statistics, more, about.human)

"""Sections of the comparison page: plots, pairs of systems, single items, and judges' biases.

Single items are edits, rated corrections, segments and labels. Each section is a table of the
figures of its level, with metrics at the top, and chance and people below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from gecjury.core.wording import number
from gecjury.metaeval.people import PEOPLE
from gecjury.metaeval.result import LEVELS
from gecjury.report.audit import audit_sentences
from gecjury.report.page.glossary import TERMS
from gecjury.report.page.markup import render
from gecjury.report.page.svg import MOST_DRAWN, MOST_NAMED, intervals, scatter
from gecjury.report.page.tables import figure_table, pair_matrix, table_html
from gecjury.report.table import Column, Table
from gecjury.report.words import BESIDE, VIEWS, ComparisonWords
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
        rows.append({**about, **row.values, "bias": row.difference, "interval": bounds})
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


def view_heading(view: str, views: Sequence[str]) -> str:
    """Return the heading of a view; "" if it is the only one."""
    return VIEWS[view].capitalize() if len(views) > 1 else ""


def overviews(answer: ComparisonWords) -> list[tuple[str, str, Markup]]:
    """Return plots of all metrics with their level and judgments, the system level first."""
    plots = []
    for (level, view), (key, ranked) in answer.rankings.items():
        if not ranked.values:
            continue
        by_metric = answer.at(level, view, key)
        # Chance is .5 at sentence level only, and two annotators are compared only there.
        lines = [("chance", 0.5)] if level == "sentence" else []
        people = by_metric.get(PEOPLE)
        if people is not None and not math.isnan(people.value):
            lines.append((PEOPLE, people.value))
        plot = intervals([by_metric[metric] for metric in ranked.values], ranked.what, lines)
        judged = VIEWS[view] if len(answer.views) > 1 else ""
        plots.append((f"{level.capitalize()} level", judged, plot))
    return plots


def scatters(answer: ComparisonWords) -> Markup | None:
    """Return a scatter plot for each metric and view that has human scores."""
    comparison, groups = answer.comparison, []
    names = [answer.shown(name) for name in comparison.benchmark.corpus.names]
    if comparison.settings.level == "sentence":
        return None
    for view in answer.views:
        people = comparison.study.human(view).tolist()
        panels = []
        for row in comparison.at("system"):
            if row.human != view or row.family in BESIDE:
                continue
            metric = answer.shown(row.metric)
            axes = (
                f"people ({comparison.human_kinds[view]})",
                f"{metric} ({comparison.settings.aggregate})",
            )
            plot = scatter(people, row.scores.tolist(), names, row.family, axes)
            panels.append((metric, f"r = {number(row.pearson)}", plot))
        if panels:
            groups.append((view_heading(view, answer.views), panels))
    note = ""
    if (systems := len(names)) > MOST_NAMED:
        note = f"With more than {MOST_NAMED} systems names are left out"
        note += f", and only {number(MOST_DRAWN)} systems are drawn" * (systems > MOST_DRAWN)
        note += "; all scores are in the numbers at the end of the page."
    return render("panels", note=note, groups=groups) if groups else None


def pairs(answer: ComparisonWords) -> Markup | None:
    """Return a matrix of sentence accuracy by pair of systems for each metric and view.

    For more than `MOST_NAMED` systems a sentence replaces the matrix.
    """
    study, tables, views = answer.comparison.study, answer.comparison.tables, answer.views
    ranked = [view for view in views if study.benchmark.rankings.get(view)]
    if study.settings.ties == "calibrated" or not tables or not ranked:
        return None
    names = study.benchmark.corpus.names
    if len(names) > MOST_NAMED:
        note = (
            f"Left out: {number(len(names))} systems are {number(math.comb(len(names), 2))} pairs, "
            f"and a readable table has at most {MOST_NAMED} systems. Compare fewer, such as "
            "another system set of the benchmark."
        )
        return render("pairs", note=note, groups=[])
    groups = []
    for view in ranked:
        # Best first for people, so that a metric's errors are near the diagonal.
        order = np.argsort(-study.human(view), kind="stable")
        labels, square = [answer.shown(names[i]) for i in order], np.ix_(order, order)
        matrices = []
        for table in tables:
            grids = study.pairwise(table, view)
            accuracy, counts = (grid[square].tolist() for grid in grids)
            matrix = table_html(pair_matrix(labels, accuracy, counts), "heat")
            matrices.append((answer.shown(table.signature.label), matrix))
        groups.append((view_heading(view, views), matrices))
    note = "Accuracy by pair of systems, in the human order; below .50 the metric is mostly wrong."
    return render("pairs", note=note, groups=groups)

"""The figures of the comparison page: overviews, scatter plots, pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from gecjury.core.wording import number
from gecjury.metaeval.people import PEOPLE
from gecjury.report.page.markup import render
from gecjury.report.page.svg import MOST_DRAWN, MOST_NAMED, intervals, scatter
from gecjury.report.page.tables import pair_matrix, table_html
from gecjury.report.words import BESIDE, VIEWS, ComparisonWords


def _heading(view: str, views: Sequence[str]) -> str:
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
            panels.append((metric, f"r = {number(row.values['pearson'])}", plot))
        if panels:
            groups.append((_heading(view, answer.views), panels))
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
        groups.append((_heading(view, views), matrices))
    note = "Accuracy by pair of systems, in the human order; below .50 the metric is mostly wrong."
    return render("pairs", note=note, groups=groups)

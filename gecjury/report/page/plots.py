"""The figures of the comparison page: overviews, scatter plots, pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from gecjury.benchmarks.table import View
from gecjury.core.wording import number
from gecjury.metaeval.study import Study
from gecjury.report.figure import Figure
from gecjury.report.page.markup import render
from gecjury.report.page.svg import MOST_DRAWN, MOST_NAMED, intervals, scatter
from gecjury.report.page.tables import pair_matrix
from gecjury.report.words import SHOWN_MEASURES, VIEWS, Document, Standing
from gecjury.scoring.scores import ScoreTable

Shown = Mapping[str, str]
"""Unwieldy names and how they are shown; plots contain only the shown names."""


def _heading(view: str, views: Sequence[str]) -> str:
    """Return the heading of a view; "" if it is the only one."""
    return VIEWS[view].capitalize() if len(views) > 1 else ""


def overviews(
    document: Document, figures: Sequence[Figure], views: Sequence[str], shown: Shown
) -> list[tuple[str, str, Markup]]:
    """Return plots of all metrics with their level and judgments, the system level first."""
    plots = []
    for level in ("system", "sentence"):
        for view in views:
            standing = Standing.of(document, view, level)
            if standing.values:
                plot = _overview(standing, figures, shown)
                judged = VIEWS[view] if len(views) > 1 else ""
                plots.append((f"{level.capitalize()} level", judged, plot))
    return plots


def _overview(standing: Standing, figures: Sequence[Figure], shown: Shown) -> Markup:
    """Return a plot of all metrics against one view at one level, with chance and people."""
    place = (standing.level, standing.view, standing.measure)
    by_metric = {f.metric: f for f in figures if (f.level, f.human, f.statistic) == place}
    rows = [
        replace(by_metric[metric], metric=shown.get(metric, metric)) for metric in standing.values
    ]
    # Chance is .5 at sentence level only, and two annotators are compared only there.
    lines = []
    if standing.level == "sentence":
        lines.append(("chance", 0.5))
        ceiling = (standing.document.get("ceiling") or {}).get(standing.view) or {}
        if ceiling.get("accuracy") is not None:
            lines.append(("two annotators", ceiling["accuracy"]))
    return intervals(rows, SHOWN_MEASURES[standing.measure], lines)


def _defined(value: float | None) -> float:
    return math.nan if value is None else value


def scatters(document: Document, views: Sequence[str], shown: Shown) -> Markup | None:
    """Return a scatter plot for each metric and view that has human scores."""
    human, groups = document.get("human_values", {}), []
    for view in views:
        panels = []
        for row in document["rows"]:
            if row["human"] == view and row.get("system") and row.get("scores"):
                metric = shown.get(row["metric"], row["metric"])
                people = {name: _defined(score) for name, score in human[view].items()}
                scores = [_defined(row["scores"].get(name)) for name in people]
                kind = document["human_scores"][view]
                axes = (f"people ({kind})", f"{metric} ({document['aggregate']})")
                labels = [shown.get(name, name) for name in people]
                plot = scatter(list(people.values()), scores, labels, row["family"], axes)
                panels.append((metric, f"r = {number(row['system'].get('pearson'))}", plot))
        if panels:
            groups.append((_heading(view, views), panels))
    systems, note = max((len(human[view]) for view in views), default=0), ""
    if systems > MOST_NAMED:
        note = f"With more than {MOST_NAMED} systems names are left out"
        note += f", and only {number(MOST_DRAWN)} systems are drawn" * (systems > MOST_DRAWN)
        note += "; all scores are in the numbers at the end of the page."
    return render("panels", note=note, groups=groups) if groups else None


def pairs(study: Study, tables: Sequence[ScoreTable], views: Sequence[View]) -> Markup | None:
    """Return a matrix of sentence accuracy by pair of systems for each metric and view.

    For more than `MOST_NAMED` systems a sentence replaces the matrix.
    """
    ranked = [view for view in views if study.benchmark.rankings.get(view)]
    if study.settings.ties == "calibrated" or not tables or not ranked:
        return None
    names = study.benchmark.corpus.names
    if len(names) > MOST_NAMED:
        note = (
            f"Left out: {number(len(names))} systems are {number(math.comb(len(names), 2))} pairs, "
            f"and a readable table has at most {MOST_NAMED} systems. Compare fewer, such as a "
            "system set of the benchmark (--systems)."
        )
        return render("pairs", note=note, groups=[])
    groups = []
    for view in ranked:
        # Best first for people, so that a metric's errors are near the diagonal.
        order = np.argsort(-study.human(view), kind="stable")
        labels, square = [names[i] for i in order], np.ix_(order, order)
        matrices = []
        for table in tables:
            grids = study.pairwise(table, view)
            accuracy, counts = (grid[square].tolist() for grid in grids)
            matrix = pair_matrix(labels, accuracy, counts)
            matrices.append((table.signature.label, matrix))
        groups.append((_heading(view, views), matrices))
    note = "Accuracy by pair of systems, in the human order; below .50 the metric is mostly wrong."
    return render("pairs", note=note, groups=groups)

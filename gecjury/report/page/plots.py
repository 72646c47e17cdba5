"""The figures of the comparison page: overviews, scatter plots, windows, pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from gecjury.benchmarks.table import View
from gecjury.metaeval.study import Study
from gecjury.report.page.markup import render
from gecjury.report.page.pictures import Picture, picture
from gecjury.report.page.svg import (
    MOST_DRAWN,
    MOST_NAMED,
    Estimate,
    intervals,
    scatter,
    window_lines,
)
from gecjury.report.page.tables import PageTable, pair_matrix
from gecjury.report.page.words import (
    SHOWN_MEASURES,
    VIEWS,
    Document,
    best_rows,
    tested_measure,
    value_of,
)
from gecjury.scoring.scores import ScoreTable
from gecjury.wording import number, percent

_WINDOWS = (4, 8)


Shown = Mapping[str, str]
"""Unwieldy names, with what is shown of each: a picture is made of names as they are shown."""


@dataclass(frozen=True)
class Overview:
    """A plot of all metrics at one level against one view; "" for the only view."""

    level: str
    judged: str
    picture: Picture


def overviews(document: Document, views: Sequence[str], shown: Shown) -> list[Overview]:
    """Return plots of all metrics with their intervals, by level and view, systems first."""
    plots = []
    for level in ("system", "sentence"):
        for view in views:
            drawn = _overview(document, view, level, shown)
            if drawn is not None:
                file = picture(drawn, document["benchmark"], level, view)
                plots.append(Overview(f"{level.capitalize()} level", _judged(view, views), file))
    return plots


def _judged(view: str, views: Sequence[str]) -> str:
    return VIEWS[view] if len(views) > 1 else ""


def _overview(document: Document, view: str, level: str, shown: Shown) -> Markup | None:
    """Return a plot of all metrics against one view at one level, with chance and people."""
    key = tested_measure(document, view, level)
    best = best_rows(document, view, level, key)
    if not best:
        return None
    names = [shown.get(label, label) for label in _short_names([r["metric"] for r in best])]
    rows = [
        Estimate(name, row["family"], value_of(row, level, key), *_bounds(row, level, key))
        for name, row in zip(names, best, strict=True)
    ]
    lines = []
    if level == "sentence":
        lines.append(("chance", 0.5))
        ceiling = (document.get("ceiling") or {}).get(view) or {}
        if ceiling.get("accuracy") is not None:
            lines.append(("two annotators", ceiling["accuracy"]))
    return intervals(rows, SHOWN_MEASURES[key], lines)


def _short_names(metrics: Sequence[str]) -> list[str]:
    """Return names without settings, where no other metric has the same."""
    bare = [metric.partition(":")[0] for metric in metrics]
    return [
        name if bare.count(name) == 1 else metric
        for name, metric in zip(bare, metrics, strict=True)
    ]


def _bounds(row: Mapping[str, Any], level: str, key: str) -> tuple[float, float]:
    ends = ((row.get(level) or {}).get("ci95") or {}).get(key) or (None, None)
    return tuple(float("nan") if b is None else float(b) for b in ends)  # type: ignore[return-value]  # two bounds


@dataclass(frozen=True)
class _Panel:
    """A plot of one metric, with words about it."""

    metric: str
    words: str
    picture: Picture


@dataclass(frozen=True)
class _PanelGroup:
    """The plots of one view of the human judgments; its heading is "" where it is the only one."""

    heading: str
    panels: Sequence[_Panel]


def scatters(
    document: Document, human: Mapping[str, Mapping[str, float]], shown: Shown
) -> Markup | None:
    """Return a scatter plot for each metric and view; `human` holds scores by view and system."""
    groups = []
    for view, people in human.items():
        panels = []
        for row in _drawn(document, view):
            names = list(people)
            scores = [row["scores"].get(name) for name in names]
            values = [float("nan") if score is None else score for score in scores]
            kind = document["human_scores"][view]
            metric = shown.get(row["metric"], row["metric"])
            axes = (f"people ({kind})", f"{metric} ({document['aggregate']})")
            r = value_of(row, "system", "pearson")
            labels = [shown.get(name, name) for name in names]
            plot = scatter(list(people.values()), values, labels, row["family"], axes)
            file = picture(plot, document["benchmark"], "systems", view, metric)
            panels.append(_Panel(metric, f"r = {number(r)}", file))
        if panels:
            groups.append(_PanelGroup(_heading(view, human), panels))
    systems, note = max((len(people) for people in human.values()), default=0), ""
    if systems > MOST_NAMED:
        note = f"Of more than {MOST_NAMED} systems none is named"
        note += f", and {number(MOST_DRAWN)} are drawn" * (systems > MOST_DRAWN)
        note += ": all scores are in the numbers at the end of the page."
    return render("panels", note=note, folded="", groups=groups) if groups else None


def _drawn(document: Document, view: str) -> list[Mapping[str, Any]]:
    """Return rows of a view that have system scores to draw."""
    return [
        row
        for row in document["rows"]
        if row["human"] == view and row.get("system") and row.get("scores")
    ]


def _heading(view: str, views: Sequence[str] | Mapping[str, Any]) -> str:
    return VIEWS[view].capitalize() if len(views) > 1 else ""


def windows(document: Document, study: Study, views: Sequence[View], shown: Shown) -> Markup | None:
    """Return a window plot for each metric and view; None with too few systems."""
    groups = []
    for view in views:
        panels = []
        for row in _drawn(document, view):
            scores = [row["scores"].get(name) for name in document["systems"]]
            values = np.array([np.nan if s is None else s for s in scores], dtype=np.float64)
            curves = [
                (size, study.windows(values, view, size).pearson.tolist()) for size in _WINDOWS
            ]
            curves = [(size, values) for size, values in curves if values]
            if curves:
                low = min((v for v in curves[0][1] if v == v), default=float("nan"))
                metric = shown.get(row["metric"], row["metric"])
                label = f"{metric}: Pearson r within windows of neighbouring systems"
                words = f"lowest r of {curves[0][0]}: {number(low, 2)}"
                plot = window_lines(curves, row["family"], label)
                file = picture(plot, document["benchmark"], "windows", view, metric)
                panels.append(_Panel(metric, words, file))
        if panels:
            groups.append(_PanelGroup(_heading(view, views), panels))
    if not groups:
        return None
    note = "r among 4, or 8, neighbours in the human ranking."
    folded = f"{sum(len(group.panels) for group in groups)} plots"
    return render("panels", note=note, folded=folded, groups=groups)


@dataclass(frozen=True)
class _Matrix:
    """A metric's matrix of pairs of systems, and a sentence on the pair it gets wrong most."""

    metric: str
    worst: str
    table: PageTable


@dataclass(frozen=True)
class _MatrixGroup:
    """The matrices of one view of the human judgments; heading as in `_PanelGroup`."""

    heading: str
    matrices: Sequence[_Matrix]


def pairs(study: Study, tables: Sequence[ScoreTable], views: Sequence[View]) -> Markup | None:
    """Return a matrix of sentence accuracy by pair of systems for each metric and view.

    For more than `MOST_NAMED` systems a sentence takes the place of the matrix.
    """
    if study.settings.ties == "calibrated":
        return None
    names = study.benchmark.corpus.names
    if len(names) > MOST_NAMED:
        if not tables or not any(study.benchmark.rankings.get(view) for view in views):
            return None
        note = (
            f"Left out: {number(len(names))} systems are {number(math.comb(len(names), 2))} pairs, "
            f"and a table that can be read has at most {MOST_NAMED} systems. Compare fewer, such "
            "as a system set of the benchmark (--systems)."
        )
        return render("pairs", note=note, groups=[])
    groups = []
    for view in (view for view in views if study.benchmark.rankings.get(view)):
        order = np.argsort(-study.human(view), kind="stable")
        labels = [names[i] for i in order]
        matrices = []
        for table in tables:
            grid = study.pairwise(table, view, "system")
            accuracy = grid.accuracy[np.ix_(order, order)].tolist()
            counts = grid.counts[np.ix_(order, order)].tolist()
            matrices.append(
                _Matrix(
                    table.signature.label,
                    _worst(labels, accuracy, counts),
                    pair_matrix(labels, accuracy, counts),
                )
            )
        if matrices:
            groups.append(_MatrixGroup(_heading(view, views), matrices))
    if not groups:
        return None
    note = "Accuracy by pair of systems, in the human order; below .50 mostly wrong."
    return render("pairs", note=note, groups=groups)


def _worst(
    labels: Sequence[str], accuracy: Sequence[Sequence[float]], counts: Sequence[Sequence[int]]
) -> str:
    """Return the pair of systems a metric gets wrong most, among those judged 20 times or more."""
    cells = [
        (accuracy[i][j], labels[j], labels[i], counts[i][j])
        for i in range(len(labels))
        for j in range(i)
        if counts[i][j] >= 20
    ]
    if not cells:
        return ""
    value, better, worse, count = min(cells)
    return f"worst: {better} against {worse}, {percent(value)} of {number(count)}"

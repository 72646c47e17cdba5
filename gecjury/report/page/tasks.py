"""The page of a comparison over several benchmarks: heat map, averages, tests, every table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from markupsafe import Markup

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.core.runtime import __version__
from gecjury.core.wording import number, shortly
from gecjury.metaeval.tasks.comparison import ComparedTask, TaskComparison
from gecjury.report.page.markup import render, render_page
from gecjury.report.page.page import Section, card, signed_papers
from gecjury.report.page.sections import view_heading
from gecjury.report.page.svg import intervals
from gecjury.report.page.tables import family_html, family_table, table_html
from gecjury.report.table import Column, Table
from gecjury.report.tables import plain
from gecjury.report.tasks import absences, best_first, task_document, tasks_verdict
from gecjury.report.words import VIEWS, ComparisonWords, Statement
from gecjury.scoring.options import short_names
from gecjury.stats.catalogue import statistic
from gecjury.stats.figure import values_of

_SHADES = 5
_SECTIONS = {
    "summary": ("Summary", "In one minute"),
    "tasks": ("Tasks", "Every metric in every task"),
    "tests": ("Tests", "Which averages differ significantly"),
    "benchmarks": ("Benchmarks", "Each benchmark"),
    "settings": ("Settings", "How it was made"),
}


def tasks_page(
    compared: TaskComparison, made: Sequence[tuple[str, str]] = (), *, title: str = ""
) -> str:
    """Return the comparison as one page to read and share.

    Args:
        made: facts on how it was made, each with its name.
        title: title of the page; by default the numbers of metrics and tasks.
    """
    title = title or f"{len(compared.averages)} metrics against people, {len(compared.tasks)} tasks"
    names = short_names(average.metric for average in compared.averages)
    names |= {task.name: ", ".join(_named(task)) for task in compared.tasks}
    sentences = [shortly(text, names) for text in tasks_verdict(compared)]
    content = {
        "summary": _summary(compared, names),
        "tasks": _heat_map(compared, names),
        "tests": _tests(compared, names),
        "benchmarks": _benchmarks(compared),
        "settings": _settings(compared, made),
    }
    record = plain(task_document(compared))
    return render_page(
        kicker="metric comparison over benchmarks",
        title=title,
        heading=title,
        scripted=True,
        sentences=sentences,
        facts=[*map(_called, compared.comparisons)],
        sample=any(one.benchmark.sample for one in compared.comparisons.values()),
        sections=[
            Section(key, *_SECTIONS[key], part) for key, part in content.items() if part is not None
        ],
        footer=f"Made by gecjury {__version__}.",
        # The page shows the comparisons; `compare --format json` has them as numbers.
        numbers=render("numbers", numbers={k: v for k, v in record.items() if k != "comparisons"}),
    )


def _named(task: ComparedTask) -> tuple[str, str]:
    """Return a task's benchmark and its level, as people call them."""
    view = f"{VIEWS[task.human]}, " if task.views > 1 else ""
    return _called(task.benchmark), f"{view}{task.level} level"


def _called(benchmark: str) -> str:
    return benchmark.upper() if benchmark in BENCHMARKS else benchmark


def _summary(compared: TaskComparison, names: dict[str, str]) -> Markup:
    title = "Average over the shared tasks"
    best = [compared.shared[place] for place in best_first(compared)]
    figures = [replace(one, metric=names.get(one.metric, one.metric)) for one in best]
    words = "with intervals" if compared.tests else ""
    plots = [(title, words, intervals(figures, title))]
    cards = []
    if missing := absences(compared):
        texts = [Statement("Absent", shortly(text, names)) for text in missing]
        cards.append(card("Read with care", texts, careful=True))
    return render("summary", overviews=plots, terms={}, cards=cards, glossary={})


def _heat_map(compared: TaskComparison, names: dict[str, str]) -> Markup:
    """Return metric × task, shaded by where a metric is between the task's worst and best."""
    values = np.array([[cell.value for cell in row] for row in compared.cells])
    with np.errstate(all="ignore"):
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    columns = [
        Column("metric"),
        Column("average", digits=3),
        Column("tasks"),
    ]
    for key, task in enumerate(compared.tasks):
        benchmark, level = _named(task)
        columns.append(Column(str(key), heading=level, marks=f"{key} shade", group=benchmark))
    rows = []
    for place in best_first(compared):
        average = compared.averages[place]
        row: dict[str, object] = {"metric": names.get(average.metric, average.metric)}
        row |= {"average": compared.shared[place].value, "tasks": average.n}
        for key, cell in enumerate(compared.cells[place]):
            if cell.state != "scored":
                row[str(key)] = "n/a" if cell.state == "not applicable" else "missing"
                continue
            spread = float(high[key] - low[key])
            share = (cell.value - low[key]) / spread if spread > 0 else 1.0
            shade = math.ceil(share * _SHADES)
            row[str(key)] = number(cell.value, 2)
            row[f"{key} shade"] = f"hi{shade}" if shade else ""
        rows.append(row)
    note = (
        "A cell is the statistic of the task; it is darker if it is closer to that of the best "
        "metric. The average is over the tasks that every metric has."
    )
    listed = [
        ("", table_html(Table(columns, rows, "Metrics by task"), "heat")),
        ("Tasks", table_html(_task_table(compared, names), "metrics")),
    ]
    return render("tabled", note=note, terms={}, listed=listed, folded="")


def _task_table(compared: TaskComparison, names: dict[str, str]) -> Table:
    """Return what each task measures, its weight and its group."""
    columns = [
        Column("task"),
        Column("statistic"),
        Column("weight", digits=3),
        Column("group"),
    ]
    rows = [
        {
            "task": names[task.name],
            "statistic": statistic(task.statistic, task.level).words or task.statistic,
            "weight": task.weight,
            "group": ", ".join(map(_called, compared.groups[task.group])),
        }
        for task in compared.tasks
    ]
    return Table(columns, rows, "Tasks")


def _tests(compared: TaskComparison, names: dict[str, str]) -> Markup | None:
    if not compared.tests:
        return None
    columns = [
        Column("metric"),
        Column("other"),
        Column("difference", digits=3, interval="interval"),
        Column("p"),
        Column("adjusted"),
        Column("tasks"),
    ]
    rows = [
        {
            "metric": names.get(test.first, test.first),
            "other": names.get(test.second, test.second),
            **values_of(test, "difference", "ci95=interval", "p", "adjusted", "tasks"),
        }
        for test in compared.tests
    ]
    listed = [("", table_html(Table(columns, rows, "Differences"), "sortable metrics"))]
    note = "Each pair is tested over the tasks that both metrics have."
    return render("tabled", note=note, terms={}, listed=listed, folded="")


def _benchmarks(compared: TaskComparison) -> Markup:
    parts = []
    for name, comparison in compared.comparisons.items():
        answer, listed = ComparisonWords(comparison), []
        for view in answer.views:
            table = family_html(family_table(answer, view))
            listed.append((view_heading(view, answer.views), table))
        # A sentence begins with what it is about.
        cut = (sentence.partition(": ") for sentence in answer.verdict)
        items = [Statement(topic if text else "", text or topic) for topic, _, text in cut]
        cards, folded = [card(_called(name), items)], f"{_called(name)}: all figures"
        parts.append(render("summary", overviews=[], terms={}, cards=cards, glossary={}))
        parts.append(render("tabled", note="", terms={}, listed=listed, folded=folded))
    return Markup("").join(parts)


def _settings(compared: TaskComparison, made: Sequence[tuple[str, str]]) -> Markup:
    settings, how = compared.settings, compared.settings.resampling
    facts = [
        ("statistic", settings.statistic),
        ("system scores", settings.aggregate),
        ("ties", settings.ties),
        ("intervals", f"{how.confidence:.0%} bootstrap, {how.over}, {how.resamples} resamples"),
        ("seed", str(settings.seed)),
        ("program", f"gecjury {__version__}"),
        *made,
    ]
    signatures = dict.fromkeys(
        str(table.signature) for one in compared.comparisons.values() for table in one.tables
    )
    citations = dict.fromkeys(one.benchmark.citation for one in compared.comparisons.values())
    return render(
        "settings",
        facts=[(name, fact) for name, fact in facts if fact],
        notes=(),
        signatures=signed_papers(signatures),
        citation=" ".join(citations),
    )

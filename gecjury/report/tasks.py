"""A comparison over several benchmarks as tables, sentences and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gecjury.core.wording import listed
from gecjury.metaeval.cautions import SAMPLE
from gecjury.metaeval.tasks.comparison import ComparedTask, TaskComparison
from gecjury.report.comparison import document as comparison_document
from gecjury.report.keys import keyed
from gecjury.report.paper import chosen_columns, with_columns
from gecjury.report.result import Column, Record, Table
from gecjury.report.table import MOST_COLUMNS
from gecjury.report.verdict import PairedTests, Ranked
from gecjury.report.words import FAMILY_NAMES, ComparisonWords, holm
from gecjury.stats.catalogue import statistic

_ABSENT = {"not applicable": "n/a", "missing": "missing"}


def task_tables(compared: TaskComparison, chosen: Sequence[str] = ()) -> list[Table]:
    """Return the tables: metric × task, tests between metrics, and the tasks.

    Args:
        compared: the comparison.
        chosen: names of the columns that people see of the first table; by default all.
    """
    main = _main_table(compared)
    if chosen:
        columns = chosen_columns(chosen, _task_columns(_names(compared)))
        brief = replace(main, notes=main.instead.get("brief", main).notes, instead={})
        main = replace(main, instead={"brief": with_columns(brief, columns)})
    return [main, _test_table(compared), _task_table(compared)]


def check_task_columns(chosen: Sequence[str], tasks: Sequence[ComparedTask]) -> None:
    """Refuse names of columns that the table of a comparison over tasks does not have.

    Raises:
        OptionError: lists the columns.
    """
    if chosen:
        chosen_columns(chosen, _task_columns([task.name for task in tasks]))


def task_document(compared: TaskComparison) -> dict[str, object]:
    """Return the comparison as in its JSON output; docs/reference/statistics.md has its keys."""
    rows = []
    for average, shared, cells in zip(
        compared.averages, compared.shared, compared.cells, strict=True
    ):
        tasks = {
            task.name: keyed("cell", cell) | ({"reason": cell.reason} if cell.reason else {})
            for task, cell in zip(compared.tasks, cells, strict=True)
        }
        comparable = average.n == len(compared.tasks)
        row = {**keyed("average", average), **keyed("shared", shared)}
        rows.append({**row, "comparable": comparable, "tasks": tasks})
    return {
        "tasks": _task_records(compared),
        "average": rows,
        "tests": [keyed("pair", test) for test in compared.tests],
        "groups": compared.groups,
        "notes": absences(compared),
        "verdict": tasks_verdict(compared),
        "comparisons": {
            name: comparison_document(ComparisonWords(one))
            for name, one in compared.comparisons.items()
        },
    }


def tasks_verdict(compared: TaskComparison) -> list[str]:
    """Return sentences on the best metric over all tasks, and on the best of each family."""
    averages = [compared.shared[place] for place in best_first(compared)]
    averages = [figure for figure in averages if not math.isnan(figure.value)]
    if not averages:
        return ["No task has figures for all metrics, so they cannot be ranked together."]
    shared = _shared_tasks(compared)
    count = len({task.benchmark for task in shared})
    where = f"{len(shared)} task{'s' * (len(shared) != 1)} of {count} benchmark{'s' * (count != 1)}"
    ranked = Ranked(
        {one.metric: one.value for one in averages},
        f"average over {where}",
        tests=_paired_tests(compared),
        # A difference is one over the tasks of both; it is that of the averages if all have all.
        paired={
            (test.first, test.second): test.ci95
            for test in compared.tests
            if test.ci95 is not None and test.tasks == len(shared)
        },
        confidence=compared.settings.resampling.confidence,
    )
    families = ranked.families({one.metric: one.family for one in averages}, FAMILY_NAMES)
    return [ranked.verdict(), *([f"Best of each family: {families}."] if families else [])]


def _paired_tests(compared: TaskComparison) -> PairedTests:
    names = [average.metric for average in compared.averages] if compared.tests else []
    place = {name: row for row, name in enumerate(names)}
    adjusted = np.full((len(names), len(names)), np.nan)
    for test in compared.tests:
        i, j = place[test.first], place[test.second]
        adjusted[i, j] = adjusted[j, i] = test.adjusted
    words = f"over the tasks of both{holm(len(names))}"
    return PairedTests(names, adjusted, words, compared.settings.resampling.level)


def absences(compared: TaskComparison) -> list[str]:
    """Return why cells have no value: one line per reason, with its metrics and tasks."""
    tasks_of: dict[tuple[str, str, str], list[str]] = {}
    for average, row in zip(compared.averages, compared.cells, strict=True):
        for task, cell in zip(compared.tasks, row, strict=True):
            if cell.state != "scored":
                key = (average.metric, cell.state, cell.reason)
                tasks_of.setdefault(key, []).append(task.name)
    # Metrics that lack the same thing share a line.
    metrics_of: dict[tuple[str, str, str], list[str]] = {}
    for (metric, state, reason), names in tasks_of.items():
        lacks = reason.removeprefix(f"{metric.partition(':')[0]} ")
        metrics_of.setdefault((state, listed(names), lacks), []).append(metric)
    return [
        f"{listed(metrics)}: {state} in {names}: {reason}"
        for (state, names, reason), metrics in metrics_of.items()
    ]


def best_first(compared: TaskComparison) -> list[int]:
    """Return the places of the metrics by their average over the tasks that all have, best first.

    Metrics without it come last, by the average over their own tasks.
    """

    def key(place: int) -> tuple[float, ...]:
        values = (compared.shared[place].value, compared.averages[place].value)
        return tuple(math.inf if math.isnan(value) else -value for value in values)

    return sorted(range(len(compared.averages)), key=key)


def _names(compared: TaskComparison) -> list[str]:
    return [task.name for task in compared.tasks]


def _shared_tasks(compared: TaskComparison) -> list[ComparedTask]:
    """Return the tasks that every metric with a figure has."""
    rows = [
        row for row, average in zip(compared.cells, compared.averages, strict=True) if average.n
    ]
    return [
        task
        for task, column in zip(compared.tasks, zip(*rows, strict=True), strict=True)
        if all(cell.state == "scored" for cell in column)
    ]


def _task_records(compared: TaskComparison) -> list[dict[str, object]]:
    records = []
    for task in compared.tasks:
        records.append(keyed("task", task))
        if (comparison := compared.comparisons.get(task.benchmark)) is not None:
            corpus = comparison.benchmark.corpus
            records[-1] |= {"systems": len(corpus.names), "sentences": len(corpus)}
    return records


def _main_table(compared: TaskComparison) -> Table:
    names = _names(compared)
    incomplete = any(average.n != len(names) for average in compared.averages)
    notes = []
    if incomplete:
        notes.append(
            "average: over the metric's own tasks, not comparable if some are absent; shared: over "
            "the tasks that every metric has; rows are sorted by it"
        )
    legend, tested = "", []
    if compared.tests:
        how = compared.settings.resampling
        legend = (
            f"[low, high]: {how.confidence:.0%} bootstrap; cl: significance clusters over the "
            "shared tasks, 1 is best"
        )
        tested = ["cl: systems swapped in all tasks at once, Holm-corrected"]
    together = [listed(list(group)) for group in compared.groups if len(group) > 1]
    notes += [f"{names} share sources or systems: resampled together" for names in together]
    title = f"{len(names)} tasks of {len(compared.comparisons)} benchmarks"
    columns = [
        column
        for column in _task_columns(names)
        # If every metric has all tasks, the two columns would repeat the average.
        if incomplete or column.key not in ("shared", "tasks")
    ]
    sample = [SAMPLE] if any(c.benchmark.sample for c in compared.comparisons.values()) else []
    notes = [*sample, *absences(compared), *notes]
    hidden = len(columns) - MOST_COLUMNS
    # Without `--verbose` the last columns, which are tasks, are cut off.
    few = f", the first {len(names) - hidden} shown" if hidden > 0 else ""
    rows = _average_rows(compared)
    table = Table(columns, rows, title, [*notes, *tested], "average", legend=legend)
    brief = replace(table, title=title + few, notes=notes)
    return replace(table, instead={"brief": brief})


def _average_rows(compared: TaskComparison) -> list[Record]:
    """Return the averages of every metric and its figure in each task, the best metric first."""
    names, rows = _names(compared), list[Record]()
    for place in best_first(compared):
        average, shared = compared.averages[place], compared.shared[place]
        row = {**keyed("average", average), **keyed("shared", shared)}
        row |= {"average_ci95": average.interval, "shared_ci95": shared.interval}
        row |= {"tasks": f"{average.n} of {len(names)}"}
        for name, cell in zip(names, compared.cells[place], strict=True):
            row[name] = cell.value if cell.state == "scored" else _ABSENT[cell.state]
        rows.append(row)
    return rows


def _task_columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of the main table, with one for each task."""
    averages = [Column(key, interval=f"{key}_ci95", best=True) for key in ("shared", "average")]
    columns = [Column("metric"), Column("family"), *averages, Column("tasks")]
    columns.append(Column("cluster", place="brief"))
    return columns + [Column(name, best=True) for name in names]


def _test_table(compared: TaskComparison) -> Table:
    rows = [{**keyed("pair", test), "difference_ci95": test.ci95} for test in compared.tests]
    columns = [Column("first"), Column("second")]
    columns += [Column("difference", interval="difference_ci95"), Column("p")]
    columns += [Column("adjusted"), Column("tasks")]
    return Table(columns if rows else (), rows, "Tests over the tasks that both have", (), "tests")


def _task_table(compared: TaskComparison) -> Table:
    columns = [Column("task"), Column("statistic", value=_statistic), Column("weight")]
    columns += [Column("systems"), Column("sentences")]
    return Table(columns, _task_records(compared), "Tasks", (), "tasks")


def _statistic(row: Record) -> str:
    key = str(row["statistic"])
    return statistic(key).heading or key

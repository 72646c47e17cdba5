"""Comparisons over several benchmarks: tasks, weights, groups, empty cells, averages and tests."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.cli import main
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.tasks.comparison import TaskStudy
from gecjury.report.tasks import absences, task_document, tasks_verdict
from gecjury.scoring.registry import load
from gecjury.stats.resampling import Resampling

FEW = Resampling(resamples=40, permutations=100)
SAMPLE = load_benchmark("sample")
LINES = len(SAMPLE.corpus)


def part(name: str, rows: range, **changes: Any) -> Benchmark:
    """Return some sentences of the sample as a separate benchmark."""
    return replace(SAMPLE.take(rows), name=name, **changes)


FIRST, SECOND = part("first", range(LINES // 2)), part("second", range(LINES // 2, LINES))


def trial(
    benchmarks: list[Benchmark],
    metrics: tuple[str, ...] = ("green", "changes"),
    weights: dict[str, float] | None = None,
    **settings: Any,
) -> TaskStudy:
    how = Settings(**{"resampling": FEW, **settings})
    return TaskStudy.of(benchmarks, [load(name) for name in metrics], how, Runtime(), weights)


def without_references(benchmark: Benchmark) -> Benchmark:
    return replace(benchmark, corpus=replace(benchmark.corpus, references=()))


def test_each_benchmark_is_compared_as_if_it_were_alone() -> None:
    together = trial([FIRST, SECOND]).compare()
    alone = compare(SECOND, ["green", "changes"], Settings(resampling=FEW))
    assert together.comparisons["second"].rows()[0]["pearson"] == alone.rows()[0]["pearson"]
    row = together.cells[0]
    assert [task.name for task in together.tasks] == [
        "first:system", "first:sentence", "second:system", "second:sentence",
    ]  # fmt: skip
    assert row[2].value == alone.at("system")[0].values["pearson"]
    assert row[3].value == alone.at("sentence")[0].values["accuracy"]


def test_the_average_is_the_mean_of_the_tasks() -> None:
    compared = trial([FIRST, SECOND]).compare()
    values = [cell.value for cell in compared.cells[0]]
    average, shared = compared.averages[0], compared.shared[0]
    assert (average.value, average.n) == (pytest.approx(sum(values) / 4), 4)
    assert shared.value == average.value
    assert average.low <= average.value <= average.high
    # Every number of the tables is a figure.
    figures = [figure for figure in compared.figures() if figure.metric == average.metric]
    assert [figure.statistic for figure in figures[:2]] == ["average", "shared"]
    assert [figure.value for figure in figures[2:]] == values
    assert [figure.task for figure in figures[2:]] == [task.name for task in compared.tasks]


def test_weights_name_tasks_or_whole_benchmarks() -> None:
    """.6 for the two tasks of `first` is .3 for each; `second:system` is not named."""
    weights = {"first": 0.6, "second:sentence": 0.4}
    compared = trial([FIRST, SECOND], weights=weights).compare()
    assert [task.weight for task in compared.tasks] == pytest.approx([0.3, 0.3, 0, 0.4])
    values = np.array([cell.value for cell in compared.cells[1]])
    assert compared.averages[1].value == pytest.approx(values @ [0.3, 0.3, 0, 0.4])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"frist": 1}, "unknown task of the weights 'frist': did you mean first"),
        ({"first": 0.5, "second": 0.4}, "weights of the tasks sum to 0.9; expected 1"),
        ({"first": -1, "second": 2}, "weight of first: -1; expected a number from 0 to 1"),
    ],
)
def test_invalid_weights_are_refused(weights: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        trial([FIRST, SECOND], weights=weights)


def test_the_same_data_is_refused_under_one_name_or_two() -> None:
    with pytest.raises(OptionError, match="first: two benchmarks have this name"):
        trial([FIRST, FIRST])
    with pytest.raises(OptionError, match="first and copy have the same sources and outputs"):
        trial([FIRST, replace(FIRST, name="copy")])


def test_a_benchmark_without_judgments_is_refused() -> None:
    unknown = {
        view: {kind: dict.fromkeys(column, math.nan) for kind, column in kinds.items()}
        for view, kinds in SECOND.human.items()
    }
    nothing = replace(SECOND, rankings={}, human=unknown)
    with pytest.raises(InputError, match="second: no task at level all"):
        trial([FIRST, nothing])


def test_a_metric_that_lacks_references_is_not_applicable() -> None:
    compared = trial([FIRST, without_references(SECOND)], ("green", "changes", "gleu")).compare()
    green, changes, _ = compared.averages
    shared = compared.shared[1]
    assert [cell.state for cell in compared.cells[0]] == ["scored"] * 2 + ["not applicable"] * 2
    assert (green.n, changes.n) == (2, 4)
    # Ranked by the two tasks that all metrics have; tested over the tasks that a pair shares.
    first = np.mean([cell.value for cell in compared.cells[1][:2]])
    assert shared.value == pytest.approx(first)
    assert {test.tasks for test in compared.tests} == {2}
    assert not compared.incomplete
    (line,) = absences(compared)
    assert line.startswith(
        "green and gleu: not applicable in second:system and second:sentence: needs"
    )


def test_a_metric_that_fails_on_one_benchmark_is_missing_there() -> None:
    refused = set(SECOND.corpus.sources)

    def failing(source: str, hypothesis: str) -> float:
        if source in refused:
            raise ValueError("no such text")
        return float(len(hypothesis))

    how = Settings(resampling=FEW)
    scorers = [load("green"), load("changes"), load(failing)]
    compared = TaskStudy.of([FIRST, SECOND], scorers, how, Runtime()).compare()
    assert [cell.state for cell in compared.cells[2]] == ["scored"] * 2 + ["missing"] * 2
    assert "no such text" in compared.cells[2][3].reason
    assert compared.incomplete
    assert compared.averages[0].n == 4


def test_benchmarks_that_share_sources_are_drawn_together() -> None:
    """The second half of `whole` has the sources of `half`, drawn equally often in every draw."""
    other = replace(
        SECOND, corpus=SECOND.corpus.with_systems([*SECOND.corpus.names][:4]), name="others"
    )
    trials = trial([SAMPLE, other]).studies
    assert trial([SAMPLE, other]).groups == (("sample", "others"),)
    whole, half = (trials[name].drawn_counts for name in ("sample", "others"))
    assert whole is not None
    assert half is not None
    assert (whole[:, LINES // 2 :] == half).all()
    assert (whole.sum(axis=1) == LINES).all()


def test_document_and_verdict() -> None:
    compared = trial([FIRST, without_references(SECOND)]).compare()
    record = task_document(compared)
    assert [*record] == [
        "tasks", "average", "tests", "groups", "notes", "verdict", "comparisons",
    ]  # fmt: skip
    assert record["comparisons"]["first"]["benchmark"] == "first"
    assert record["tasks"][0]["weight"] == 0.25
    assert record["average"][0]["tasks"]["second:system"]["state"] == "not applicable"
    lead, families = tasks_verdict(compared)
    assert "leads: average over 2 tasks of 1 benchmark " in lead
    assert "over the tasks of both)" in lead
    assert families.startswith("Best of each family: ")


def test_command_keeps_scores_by_benchmark_and_writes_a_page(
    tmp_path: Path, own_benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, page, own = tmp_path / "scores", tmp_path / "page.html", own_benchmark
    words = ["compare", "sample", own, "-m", "changes", "-m", "green", "-q", "-o", str(scores)]
    words += ["--resamples", "40", "--limit", "30"]
    assert main([*words, "--html", str(page), "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record["comparisons"]) == {"sample", "own"}
    assert record["comparisons"]["own"]["limit"]["sentences"] == 30
    assert len(list((scores / "sample").glob("*.json"))) == 2
    assert len(list((scores / "own").glob("*.json"))) == 1
    text = page.read_text(encoding="utf-8")
    assert 'class="heat"' in text
    assert "n/a" in text
    assert main(words) == 0
    assert "not applicable in own:system" in capsys.readouterr().out

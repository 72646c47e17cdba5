"""`gecjury estimate`: its output, the origin of its figures, and invalid input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury import Estimate
from gecjury.core.errors import InputError, OptionError
from gecjury.report.result import Result
from gecjury.report.tables import to_json
from gecjury.studies.estimate.estimates import Estimated, verdict_of
from gecjury.studies.estimate.labels import labels_of_benchmark
from gecjury.studies.estimate.prediction_powered import EstimateInterval, JudgedOutputs, Moments
from gecjury.studies.study import Work
from tests.shell import Shell

LINES = 120
HEAD = "sentence,system,score"


@pytest.fixture
def files(shell: Shell) -> list[str]:
    """A source, three outputs of decreasing quality, and ratings of every second line."""
    rng = np.random.default_rng(4)
    shell.write("source.txt", "".join(f"word {line} are here .\n" for line in range(LINES)))
    ratings = []
    for place, name in enumerate(("best", "middle", "worst")):
        right = rng.random(LINES) < 0.95 - 0.35 * place
        text = (f"word {line} {'is' if ok else 'are'} here .\n" for line, ok in enumerate(right))
        shell.write(f"{name}.txt", "".join(text))
        ratings += [
            f"{line + 1},{name},{3 + ok + rng.integers(2)}"
            for line, ok in enumerate(right)
            if line % 2
        ]
    rate(shell, ratings)
    return ["source.txt", "best.txt", "middle.txt", "worst.txt"]


def rate(shell: Shell, ratings: Iterable[str]) -> None:
    shell.write("ratings.csv", "\n".join([HEAD, *ratings]) + "\n")


def estimated(files: list[str], metric: str = "changes", **settings: Any) -> Result:
    """Estimate by the ratings in the current folder."""
    corpus = gecjury.read_corpus(files[0], files[1:])
    return gecjury.estimate(corpus, metric, Estimate(labels="ratings.csv", **settings))


def test_the_estimates_of_a_benchmark_come_from_its_labels() -> None:
    benchmark = gecjury.load_benchmark("sample")
    result = gecjury.estimate(benchmark, "green", Estimate(draw=20, seed=3))
    rows = {row["system"]: row for row in result.rows()}
    labels = labels_of_benchmark(benchmark)
    judged = np.flatnonzero(~np.isnan(labels.values).all(axis=0))
    chosen = np.random.default_rng(3).choice(judged, 20, replace=False)
    few = np.full(labels.values.shape, np.nan)
    few[:, chosen] = labels.values[:, chosen]
    scores = gecjury.load("green").score_corpus(benchmark.corpus, gecjury.Runtime()).sentences
    predictions = labels.predictions(scores)
    system = rows[benchmark.corpus.names[0]]
    one = Moments.of(JudgedOutputs(few[0], predictions[0])).estimate()
    assert system["estimate"] == pytest.approx(one.value)
    assert system["interval"] == pytest.approx([one.low, one.high])
    assert system["all_labels"] == pytest.approx(np.nanmean(labels.values[0]))
    assert system["labels_alone"] == pytest.approx(np.nanmean(few[0]))
    assert system["metric_alone"] == pytest.approx(predictions[0].mean())
    estimates = [row["estimate"] for row in result.rows()]
    assert estimates == sorted(estimates, reverse=True)


def test_a_good_metric_makes_intervals_of_ratings_narrower(files: list[str]) -> None:
    result = estimated(files)
    rows = result.rows()
    assert [row["system"] for row in rows] == ["best", "middle", "worst"]
    # A right output has one change, a wrong one none, so the metric explains the labels well.
    for row in rows:
        assert row["labelled"] == LINES // 2
        assert row["sources"] == LINES
        assert row["worth"] > row["labelled"]
        low, high = row["interval"]
        assert low < row["estimate"] < high
        assert high - low < row["labels_alone_interval"][1] - row["labels_alone_interval"][0]
    gaps = result.table("differences").rows
    assert [(row["first"], row["second"], row["neighbours"]) for row in gaps] == [
        ("best", "middle", True),
        ("best", "worst", False),
        ("middle", "worst", True),
    ]
    assert gaps[1]["estimate"] == pytest.approx(rows[0]["estimate"] - rows[2]["estimate"], abs=0.05)
    assert "are worth" in result.verdict[0]
    assert result.verdict[1].startswith("changes: best leads: ")


def test_the_page_opens_with_the_verdict_and_a_plot(shell: Shell, files: list[str]) -> None:
    words = ["estimate", *files, "-m", "changes", "--labels", "ratings.csv", "--html", "p.html"]
    shell.ended(*words)
    page = (shell.folder / "p.html").read_text(encoding="utf-8")
    assert "<h1>Estimates of 3 systems from few labels</h1>" in page
    assert '<p class="lead">changes: standard errors are ' in page
    assert re.search(r"<title>best: estimated mean label [\d.]+ \[[\d.]+, [\d.]+\]</title>", page)
    assert "<dt>" not in page


@pytest.mark.parametrize(("gain", "words"), [(1.05, "2% smaller than"), (1.009, "about as large")])
def test_a_difference_of_no_percent_is_none(gain: float, words: str) -> None:
    alone = EstimateInterval(0.5, 0.4, 0.6, 0.05)
    systems = [Estimated(("a",), replace(alone, gain=gain), alone, 100)]
    (sentence,) = verdict_of("m", systems, [], 0.95)
    assert words in sentence


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    settings = Estimate(draw=15, seed=2, confidence=0.9, human="sentence")
    result = gecjury.estimate("sample", ["green", "changes"], settings)
    argv = ["estimate", "sample", "-m", "green", "-m", "changes", "--draw", "15", "--seed", "2"]
    argv += ["--confidence", "0.9", "--human", "sentence"]
    own = json.loads(shell.ended(*argv, "--format", "json")[0])
    assert own == json.loads(to_json(result.document()))
    assert own["labels"] == "sample, sentence view"
    assert "Differences, paired by source" not in shell.ended(*argv)[0]
    assert "Differences, paired by source" in shell.ended(*argv, "--verbose")[0]


def test_one_system_has_no_differences(shell: Shell, files: list[str]) -> None:
    rate(shell, [f"{line},best,{line % 3}" for line in range(1, 31)])
    result = estimated(files[:2])
    assert [table.name for table in result.tables] == ["rows"]
    assert len(result.verdict) == 1


def test_systems_with_few_labels_are_left_out(shell: Shell, files: list[str]) -> None:
    ratings = [f"{line},{name},{line % 2}" for line in range(1, 31) for name in ("best", "middle")]
    rate(shell, [*ratings, *(f"{line},worst,1" for line in range(1, 6))])
    result = estimated(files)
    assert {row["system"] for row in result.rows()} == {"best", "middle"}
    assert "left out because fewer than 10 sources have labels: worst (5)" in result.notes


@pytest.mark.parametrize(
    ("best", "worst", "words"),
    [
        # Eleven ratings of 4 and nineteen of 3; ten of 4 and twenty of 3.
        (lambda n: 3 + (n % 3 == 0 or n == 1), lambda n: 3 + (n % 3 == 1), ", not significant."),
        (lambda n: 4 + n % 2, lambda n: 1 + n % 3 // 2, ", significant."),
    ],
)
def test_the_leader_is_told_by_the_difference_that_is_paired_by_source(
    shell: Shell, files: list[str], best: Any, worst: Any, words: str
) -> None:
    lines = range(1, 31)
    rate(shell, [f"{n},best,{best(n)}" for n in lines] + [f"{n},worst,{worst(n)}" for n in lines])
    result = estimated(files)
    told = result.verdict[1]
    assert "best leads" in told
    assert told.endswith(words)
    (gap,) = result.table("differences").rows
    assert f"{gap['estimate']:.3f} ahead of worst" in told


def test_labels_that_were_not_drawn_at_random_are_noticed(shell: Shell, files: list[str]) -> None:
    lines = (shell.folder / "middle.txt").read_text().splitlines()
    right = [number for number, line in enumerate(lines, 1) if " is " in line]
    wrong = [number for number in range(1, LINES + 1) if number not in right][:2]
    rate(shell, (f"{number},middle,{number % 3}" for number in (*right[:40], *wrong)))
    assert "drawn at random" in " ".join(estimated([files[0], files[2]]).notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draw": 5000}, "`draw=5000`: sample, edit view has labels of 51 sources"),
        ({"human": "edit", "labels": "x.csv"}, "`human=` would do nothing with `labels=`"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        gecjury.estimate("sample", "green", Estimate(**settings))


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([f"{n},best,4" for n in range(1, 31)], "ratings.csv: all 30 labels are 4; expected"),
        ([f"{n},best,{n}" for n in range(1, 10)], "no system has labels of more than 9 sources"),
    ],
)
def test_unusable_labels_are_refused_before_scoring(
    shell: Shell,
    files: list[str],
    monkeypatch: pytest.MonkeyPatch,
    ratings: list[str],
    message: str,
) -> None:
    monkeypatch.setattr(Work, "scores", lambda self: pytest.fail("texts were scored"))
    rate(shell, ratings)
    with pytest.raises(InputError, match=message):
        estimated(files)
    with pytest.raises(OptionError, match="no labels: name a file with `labels=FILE`"):
        gecjury.estimate(gecjury.read_corpus(files[0], files[1:]), "changes")


def test_missing_scores_are_counted(shell: Shell, files: list[str]) -> None:
    rate(shell, (f"{line},best,{line % 3}" for line in range(1, 31)))
    rows = [f"best\t{line}\t{line % 7 if line != 4 else ''}" for line in range(1, LINES + 1)]
    shell.write("some.tsv", "\n".join(["system\tline\tscore", *rows]) + "\n")
    result = estimated(files[:2], "scores:file=some.tsv")
    assert result.status == 1
    assert "1 outputs without a score get the mean score" in " ".join(result.notes)
    empty = (row.rpartition("\t")[0] + "\t" for row in rows)
    shell.write("none.tsv", "\n".join(["system\tline\tscore", *empty]) + "\n")
    with pytest.raises(InputError, match="no sentence scores; expected a score of every output"):
        estimated(files[:2], "scores:file=none.tsv")

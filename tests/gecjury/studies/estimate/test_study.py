"""`gecjury estimate`: its output, the origin of its figures, and invalid input."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury import Estimate
from gecjury.core.errors import InputError, OptionError
from gecjury.report.tables import to_json
from gecjury.studies.estimate.labels import labels_of_benchmark
from gecjury.studies.estimate.prediction_powered import Moments, Outputs
from gecjury.studies.study import Work
from tests.shell import Shell

LINES = 120


@pytest.fixture
def files(shell: Shell) -> list[str]:
    """A source, three outputs of decreasing quality, and ratings of every second line."""
    rng = np.random.default_rng(4)
    shell.write("source.txt", "".join(f"word {line} are here .\n" for line in range(LINES)))
    ratings = ["sentence,system,score"]
    good = ["sentence,system,score"]
    for place, name in enumerate(("best", "middle", "worst")):
        right = rng.random(LINES) < 0.95 - 0.35 * place
        text = (f"word {line} {'is' if ok else 'are'} here .\n" for line, ok in enumerate(right))
        shell.write(f"{name}.txt", "".join(text))
        for line, ok in enumerate(right):
            if line % 2:
                score = 3 + ok + rng.integers(2)
                ratings.append(f"{line + 1},{name},{score}")
                good.append(f"{line + 1},{name},{int(ok)}")
    shell.write("ratings.csv", "\n".join(ratings) + "\n")
    shell.write("good.csv", "\n".join(good) + "\n")
    return ["source.txt", "best.txt", "middle.txt", "worst.txt"]


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
    row, sources = 0, np.arange(len(benchmark.corpus))
    system = rows[benchmark.corpus.names[row]]
    one = Moments.of(Outputs(few[row], predictions[row], sources)).estimate()
    assert system["estimate"] == pytest.approx(one.value)
    assert system["interval"] == pytest.approx([one.low, one.high])
    assert system["all_labels"] == pytest.approx(np.nanmean(labels.values[row]))
    assert system["labels_alone"] == pytest.approx(np.nanmean(few[row]))
    assert system["metric_alone"] == pytest.approx(predictions[row].mean())
    assert [row["estimate"] for row in result.rows()] == sorted(
        (row["estimate"] for row in rows.values()), reverse=True
    )


def test_a_good_metric_makes_intervals_of_ratings_narrower(shell: Shell, files: list[str]) -> None:
    argv = ["estimate", *files, "--labels", "ratings.csv", "-m", "changes", "--width", "0.6"]
    document = json.loads(shell.ended(*argv, "--format", "json")[0])
    rows = document["rows"]
    assert [row["system"] for row in rows] == ["best", "middle", "worst"]
    # A right output has one change, a wrong one none, so the metric explains the labels well.
    assert rows[1]["explained"] > 0.3
    for row in rows:
        assert row["labelled"] == LINES // 2
        assert row["sources"] == LINES
        assert row["worth"] > row["labelled"]
        low, high = row["interval"]
        assert low < row["estimate"] < high
        assert high - low < row["labels_alone_interval"][1] - row["labels_alone_interval"][0]
    gaps = document["differences"]
    assert [(row["first"], row["second"], row["neighbours"]) for row in gaps] == [
        ("best", "middle", True),
        ("best", "worst", False),
        ("middle", "worst", True),
    ]
    assert gaps[1]["estimate"] == pytest.approx(rows[0]["estimate"] - rows[2]["estimate"], abs=0.05)
    assert [row["of"] for row in document["needed"]] == ["system", "difference"]
    assert all(row["with_metric"] <= row["labels_alone"] for row in document["needed"])
    assert [row["labelled"] for row in document["curve"]] == [25, 50, 100, 120] * 2
    assert "are worth" in document["verdict"][0]
    assert document["verdict"][1].startswith("changes: best leads: ")


def test_binary_verdicts_have_rogan_and_gladens_estimate(shell: Shell, files: list[str]) -> None:
    argv = ["estimate", *files, "-m", "changes", "--binary", "1"]
    out, _ = shell.ended(*argv, "--labels", "good.csv", "--format", "json")
    document = json.loads(out)
    (errors,) = document["verdicts"]
    assert errors["informedness"] == pytest.approx(
        errors["sensitivity"] + errors["specificity"] - 1
    )
    assert errors["sensitivity"] > 0.9
    for row in (*document["rows"], *document["differences"]):
        assert row["rogan_gladen"] == pytest.approx(row["estimate"], abs=0.1)
        low, high = row["rogan_gladen_interval"]
        assert low <= row["rogan_gladen"] <= high
    out, _ = shell.ended(*argv, "--labels", "ratings.csv", "--good", "4")
    assert "1 for a rating of at least 4" in out
    assert "Errors of the verdicts" in out


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    settings = Estimate(draw=15, seed=2, widths=(0.2,), confidence=0.9, human="sentence")
    result = gecjury.estimate("sample", ["green", "changes"], settings)
    words = ["--draw", "15", "--seed", "2", "--width", "0.2", "--confidence", "0.9"]
    argv = ["estimate", "sample", "-m", "green", "-m", "changes", *words, "--human", "sentence"]
    own = json.loads(shell.ended(*argv, "--format", "json")[0])
    assert own == json.loads(to_json(result.document()))
    assert own["labels"] == "sample, sentence view"
    out, _ = shell.ended(*argv)
    for title in ("Differences, paired by source", "Labelled sources needed for a width"):
        assert title in out
    assert "--verbose has all pairs" in out
    assert "--verbose has all" not in shell.ended(*argv, "--verbose")[0]


def test_a_page_draws_the_intervals(shell: Shell, files: list[str]) -> None:
    shell.ended("estimate", *files, "-m", "changes", "--labels", "ratings.csv", "--html", "p.html")
    page = (shell.folder / "p.html").read_text(encoding="utf-8")
    assert page.count('class="plot"') == 2
    assert "labels alone" in page
    assert "<script" not in page


def test_cached_scores_are_used_again(shell: Shell, files: list[str]) -> None:
    argv = ["estimate", *files, "-m", "changes", "--labels", "ratings.csv", "-o", "kept"]
    first, _ = shell.ended(*argv)
    (kept,) = (shell.folder / "kept").iterdir()
    before = kept.stat().st_mtime_ns
    assert shell.ended(*argv)[0] == first
    assert kept.stat().st_mtime_ns == before


def test_one_system_has_no_differences(shell: Shell, files: list[str]) -> None:
    lines = (shell.folder / "ratings.csv").read_text().splitlines()
    alone = [line for line in lines if "system" in line or ",best," in line]
    shell.write("one.csv", "\n".join(alone) + "\n")
    argv = ["estimate", *files[:2], "-m", "changes", "--labels", "one.csv"]
    document = json.loads(shell.ended(*argv, "--format", "json")[0])
    assert "differences" not in document
    assert len(document["verdict"]) == 1


def test_corrections_of_unknown_systems_are_one_group() -> None:
    benchmark = replace(gecjury.load_benchmark("sample"), places=True)
    with pytest.raises(InputError, match="average one half"):
        gecjury.estimate(benchmark, "green")
    ratings = np.random.default_rng(0).random((len(benchmark.corpus.names), len(benchmark.corpus)))
    ratings[2:, ::2] = np.nan  # cells without a correction
    benchmark = replace(benchmark, segment_scores=ratings)
    (row,) = gecjury.estimate(benchmark, "green").rows()
    assert row["system"] == "all corrections"
    # Every correction is labelled, so nothing is left to predict.
    assert row["estimate"] == pytest.approx(np.nanmean(ratings))
    assert (row["weight"], row["sources"]) == (0, len(benchmark.corpus))
    (row,) = gecjury.estimate(benchmark, "green", Estimate(draw=20)).rows()
    assert row["all_labels"] == pytest.approx(np.nanmean(ratings))
    assert (row["labelled"], row["sources"]) == (20, len(benchmark.corpus))


def test_systems_with_few_or_equal_labels_are_named(shell: Shell, files: list[str]) -> None:
    lines = (shell.folder / "good.csv").read_text().splitlines()
    best = [line.rpartition(",")[0] + ",1" for line in lines if ",best," in line]
    worst = [line for line in lines if ",worst," in line][:5]
    middle = [line for line in lines if ",middle," in line][:20]
    shell.write("few.csv", "\n".join([lines[0], *best, *middle, *worst]) + "\n")
    argv = ["estimate", *files, "-m", "changes", "--labels", "few.csv", "--format", "json"]
    document = json.loads(shell.ended(*argv)[0])
    assert {row["system"] for row in document["rows"]} == {"best", "middle"}
    notes = "\n".join(document["notes"])
    assert "left out because fewer than 10 sources have labels: worst (5)" in notes
    assert "all labels are equal, so the interval follows only from their number" in notes
    best = document["rows"][0]
    # q² = 3.84146: 1 / (1 + q²/60)
    assert best["labels_alone_interval"] == pytest.approx([0.93983, 1], abs=1e-5)


def test_the_leader_is_told_by_the_difference_that_is_paired_by_source(
    shell: Shell, files: list[str]
) -> None:
    argv = ["estimate", *files, "-m", "changes", "--labels", "ratings.csv", "--format", "json"]

    def told(rows: list[str]) -> str:
        shell.write("ratings.csv", "\n".join(["sentence,system,score", *rows]) + "\n")
        return str(json.loads(shell.ended(*argv)[0])["verdict"][1])

    # Ten ratings of 4 and twenty of 3 each.
    close = [f"{line},best,{3 + (line % 3 == 0)}" for line in range(1, 31)]
    close += [f"{line},worst,{3 + (line % 3 == 1)}" for line in range(1, 31)]
    assert "not significantly better than" in told(close)
    assert "leads" not in told(close)
    clear = [f"{line},best,{4 + line % 2}" for line in range(1, 31)]
    clear += [f"{line},worst,{1 + line % 3 // 2}" for line in range(1, 31)]
    assert "best leads" in told(clear)
    assert "is significantly better than worst" in told(clear)


def test_labels_that_were_not_drawn_at_random_are_noticed(shell: Shell, files: list[str]) -> None:
    lines = (shell.folder / "middle.txt").read_text().splitlines()
    right = [number for number, line in enumerate(lines, 1) if " is " in line]
    wrong = [number for number in range(1, LINES + 1) if number not in right][:2]
    rows = [f"{number},middle,{number % 3}" for number in (*right[:40], *wrong)]
    shell.write("odd.csv", "\n".join(["sentence,system,score", *rows]) + "\n")
    argv = ["estimate", files[0], files[2], "-m", "changes", "--labels", "odd.csv"]
    assert "drawn at random" in shell.ended(*argv)[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": 1.5}, "--weight 1.5: expected at most 1"),
        ({"weight": -0.5}, "--weight -0.5: expected 0 or more"),
        ({"draw": 5}, "--draw 5: expected 10 or more"),
        ({"draw": 5000}, "--draw 5000: sample, edit view has labels of 51 sources"),
        ({"widths": (0.0,)}, "--width 0.0: expected more than 0"),
        ({"confidence": 1.0}, "--confidence 1.0: expected a number between 0 and 1"),
        ({"human": "edit", "labels": "x.csv"}, "--human would do nothing with --labels"),
        ({"aspect": "fluency"}, "--aspect fluency: sample has no ratings"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        gecjury.estimate("sample", "green", Estimate(**settings))


def test_unusable_labels_are_refused_before_scoring(
    shell: Shell, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Work, "scores", lambda self: pytest.fail("texts were scored"))
    header = "sentence,system,score\n"
    shell.write("equal.csv", header + "".join(f"{line},best,4\n" for line in range(1, 31)))
    shell.write("few.csv", header + "".join(f"{line},best,{line}\n" for line in range(1, 10)))
    corpus = gecjury.read_corpus(shell.folder / files[0], [shell.folder / files[1]])
    with pytest.raises(OptionError, match="no labels: name a file with --labels"):
        gecjury.estimate(corpus, "changes")
    for words, message in (
        (["--labels", "equal.csv"], "equal.csv: all 30 labels are 4; expected labels that differ"),
        (["--labels", "few.csv"], "no system has labels of more than 9 sources; an interval"),
        (
            ["--labels", "ratings.csv", "--binary", "1"],
            "and --binary expects 0 or 1; set the lowest",
        ),
        (["--labels", "ratings.csv", "--good", "9"], "all 180 labels are 0; expected"),
        (["--labels", "nowhere.csv"], "nowhere.csv"),
    ):
        status, out, err = shell("estimate", *files, "-m", "changes", *words)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_a_metric_without_sentence_scores_is_refused(shell: Shell, files: list[str]) -> None:
    rows = "".join(f"{name}\t{line}\tnan\n" for name in ("best",) for line in range(1, LINES + 1))
    shell.write("none.tsv", "system\tline\tscore\n" + rows.replace("nan", ""))
    argv = ["estimate", *files[:2], "--labels", "ratings.csv", "-m", "scores:file=none.tsv"]
    lines = (shell.folder / "ratings.csv").read_text().splitlines()
    shell.write("ratings.csv", "\n".join(line for line in lines if "best" in line or "sys" in line))
    status, _, err = shell(*argv)
    assert status == 2
    assert "the metric has no sentence scores; expected a score of every output" in err


def test_missing_scores_are_counted_and_exit_with_status_1(shell: Shell, files: list[str]) -> None:
    lines = (shell.folder / "ratings.csv").read_text().splitlines()
    shell.write("ratings.csv", "\n".join(line for line in lines if "best" in line or "sys" in line))
    rng = np.random.default_rng(0)
    rows = [f"best\t{line}\t{rng.random()}" for line in range(1, LINES + 1)]
    rows[3] = "best\t4\t"
    shell.write("some.tsv", "\n".join(["system\tline\tscore", *rows]) + "\n")
    argv = ["estimate", *files[:2], "--labels", "ratings.csv", "-m", "scores:file=some.tsv"]
    out, _ = shell.ended(*argv, status=1)
    assert "1 outputs without a score get the mean score" in " ".join(out.split())

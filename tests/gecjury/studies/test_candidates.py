"""Candidate settings of a metric: how they are named, compared and chosen."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import gecjury
from gecjury import Tune
from gecjury.core.errors import OptionError
from gecjury.metaeval.study import MetaEvaluation
from gecjury.report.tables import to_json
from gecjury.studies.tune.candidates import (
    Agreements,
    agreements,
    candidate_metrics,
    choose,
    verdict,
)
from tests.shell import Shell


def test_candidates_are_options_or_metrics() -> None:
    candidates = ["orders=1", "criterion=Natural\\, please.", "llm-e:model=m", "llm-s"]
    assert candidate_metrics("llm-s:model=m,orders=2", candidates) == [
        "llm-s:model=m,orders=2",
        "llm-s:model=m,orders=1",
        "llm-s:model=m,orders=2,criterion=Natural\\, please.",
        "llm-e:model=m",
        "llm-s",
    ]
    with pytest.raises(OptionError, match="'fluency' is not a candidate; expected"):
        candidate_metrics("llm-s", ["fluency"])


def test_the_choice_is_tested_on_held_out_sources() -> None:
    # Two metrics and four sources with one pair each: 2/4 and 3/4.
    right = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    agreed = Agreements(right, np.ones(4), np.zeros(2, np.int64))
    candidates, choice = choose(agreed, ["a", "b"], folds=4, seed=3)
    first, second = ({one.statistic: one for one in figures} for figures in candidates)
    assert (first["accuracy"].value, second["accuracy"].value) == (0.5, 0.75)
    assert choice.best == "b"
    # Without source 0, 1 or 3 the second is ahead (2 : 1, 2 : 1, 3 : 2); without source 2 both have
    # 2 of 3, and the first is chosen, which is wrong on it. Held out: (1 + 1 + 0 + 0) / 4.
    assert (first["chosen"].value, second["chosen"].value) == (1, 3)
    assert choice.held_out == 0.5
    assert choice.inflation == 0.25
    assert choice.gain == 0.0
    assert first["difference"].interval == (0.0, 0.0)
    best, held_out, inflation = verdict(choice, "a")
    assert best == "b has the highest accuracy of 2 candidates, 0.750."
    assert "share the lead: 0.500" in held_out
    assert "choosing inflates the figure by 0.250." in inflation
    worse = replace(choice, held_out=0.4, gain=-0.1, gain_ci95=(-0.15, -0.05))
    told = verdict(worse, "a")[1]
    assert "a leads: 0.500, 0.100 ahead of the choice" in told
    assert "(paired 95%: 0.050 to 0.150), significant." in told


def test_too_few_sources_for_the_folds_are_refused() -> None:
    agreed = Agreements(np.ones((2, 4)), np.ones(4), np.zeros(2, np.int64))
    with pytest.raises(OptionError, match="too few for 5 folds"):
        choose(agreed, ["a", "b"], 5, 0)


def test_equal_candidates_look_better_than_they_are() -> None:
    # 30 coins: the accuracy of the best is above .5 on its own data, and about .5 on held-out data.
    rng = np.random.default_rng(5)
    gaps = []
    for _ in range(20):
        coins = rng.integers(0, 2, (30, 100)).astype(np.float64)
        agreed = Agreements(coins, np.ones(100), np.zeros(30, np.int64))
        _, choice = choose(agreed, [str(number) for number in range(30)], 10, 0)
        gaps.append((choice.figure - 0.5, choice.held_out - 0.5))
    own, held_out = np.mean(gaps, axis=0)
    # The expected maximum of 30 normal deviates with sd .05 is .10; the mean of 20 has sd .011.
    assert own > 0.08
    assert abs(held_out) < 0.035


def test_accuracies_equal_those_of_compare_if_no_score_is_missing() -> None:
    benchmark = gecjury.load_benchmark("sample")
    study = MetaEvaluation(benchmark)
    table = gecjury.load("gleu").score_corpus(benchmark.corpus)
    nothing = replace(
        table,
        by_sentence=replace(table.by_sentence, score=np.full(table.sentences.shape, np.nan)),
    )
    agreed = agreements(study, [table, nothing], benchmark.view)
    _, result, _ = study.evaluate(table)
    assert agreed.accuracies() == pytest.approx([result.values["accuracy"], 0.5])
    assert agreed.missing.tolist() == [0, agreed.pairs.sum()]


def test_ratings_are_compared_if_there_are_no_rankings() -> None:
    benchmark = gecjury.load_benchmark("sample")
    table = gecjury.load("gleu").score_corpus(benchmark.corpus)
    ratings = np.full(table.sentences.shape, np.nan)
    # Sentence 0 has the order of the metric; sentence 1 has two equal ratings, so no pair.
    ratings[:, 0] = table.sentences[:, 0]
    ratings[:2, 1] = 1.0
    rated = replace(benchmark, rankings={}, segment_scores=ratings)
    agreed = agreements(MetaEvaluation(rated), [table], benchmark.view)
    assert len(agreed.pairs) == 1
    assert agreed.accuracies().tolist() == [1.0]
    ratings[:, 0] = 2.0
    with pytest.raises(OptionError, match="sample: people preferred no correction to another"):
        agreements(MetaEvaluation(rated), [table], benchmark.view)


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    settings = Tune(prompt=("n=2", "unit=char"), seed=2, test=("sample",))
    chosen = gecjury.tune("sample", "gleu", settings)
    assert [row["metric"] for row in chosen.rows()] == ["gleu", "gleu:n=2", "gleu:unit=char"]
    (held_out,) = chosen.table("held_out").rows
    assert held_out["candidates"] == 3
    assert held_out["inflation"] == pytest.approx(held_out["figure"] - held_out["held_out"])
    (there,) = chosen.table("elsewhere").rows
    assert there["figure"] == pytest.approx(held_out["figure"])
    assert "tuned and tested on sample" in chosen.notes[0]
    argv = ["tune", "gleu", "sample", "--prompt", "n=2", "unit=char", "--seed", "2"]
    status, out, err = shell(*argv, "--test", "sample", "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(to_json(chosen.document()))
    assert "warning: tuned and tested on sample" in err


def test_a_dry_run_counts_all_candidates(shell: Shell) -> None:
    argv = [
        "tune",
        "llm-s:model=gpt-6-luna",
        "sample",
        "--dry-run",
        "--format",
        "json",
        "--prompt",
        "criterion=fluency",
    ]
    status, out, _ = shell(*argv, "criterion=Judge how natural it sounds.")
    assert status == 0
    plan = json.loads(out)
    assert [one["requests"] for one in plan["metrics"]] == [51, 51, 51]
    assert plan["requests"] == 153


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--prompt", "fluency"], "'fluency' is not a candidate"),
        (["--prompt", "m=3"], "gleu has no option 'm'"),
        (["--prompt", "gleu"], "no candidate differs from gleu"),
        (["--prompt", "n=2", "--aggregate", "mean"], "--aggregate would do nothing with --prompt"),
    ],
)
def test_wrong_use(shell: Shell, argv: list[str], words: str) -> None:
    status, out, err = shell("tune", "gleu", "sample", *argv)
    assert (status, out) == (2, "")
    assert words in err

"""Analyses of a corpus: numbers of edits, scores against human scores, running time."""

from __future__ import annotations

import json

import pytest

import gecjury
from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.corpus import Corpus, Version
from gecjury.report.tables import to_json
from gecjury.stats.correlation import pearson
from gecjury.stats.ranking import trueskill
from gecjury.studies.analyses import EditsPerSentence, Scatter
from tests.shell import Shell


def test_edits_per_sentence() -> None:
    pytest.importorskip("errant")
    corpus = Corpus(
        ("He go home .", "She sleep ."),
        {
            "both": Version(("He goes home .", "She sleeps .")),
            "copy": Version(("He go home .", "She sleep .")),
            "one": Version(("He goes home .", "She sleep .")),
        },
    )
    rows = EditsPerSentence()(corpus).rows()
    assert [(row["system"], row["edits"], row["per_sentence"]) for row in rows] == [
        ("copy", 0, 0.0), ("one", 1, 0.5), ("both", 2, 1.0),
    ]  # fmt: skip


def test_scores_against_human_scores() -> None:
    benchmark = load_benchmark("sample")
    result = Scatter()(benchmark, ["green", "changes"])
    human = benchmark.human_scores(next(iter(benchmark.human[benchmark.view])))
    scores = trueskill(gecjury.load("green").score_corpus(benchmark.corpus).sentences)
    own = [row for row in result.rows() if row["metric"] == "green"]
    assert [row["human"] for row in own] == human.tolist()
    assert [row["score"] for row in own] == scores.tolist()
    correlations = result.table("correlations").rows
    assert [one["metric"] for one in correlations] == ["green", "changes"]
    assert correlations[0]["pearson"] == pearson(human, scores)
    # With a subset of the systems, the human scores stay the same.
    part = Scatter(only=("noisy", "careful"))(benchmark, "green")
    by_name = dict(zip(benchmark.corpus.names, human.tolist(), strict=True))
    assert [row["human"] for row in part.rows()] == [by_name["noisy"], by_name["careful"]]


@pytest.mark.parametrize("kind", [EditsPerSentence, Scatter])
def test_the_command_prints_the_result_of_the_study(
    shell: Shell, kind: type[EditsPerSentence | Scatter]
) -> None:
    pytest.importorskip("errant")
    names = ("careful", "noisy", "hasty")
    metrics = ["green", "gleu"] if kind is Scatter else []
    result = kind(only=names)("sample", metrics)
    words = [word for name in names for word in ("--only", name)]
    words += [word for name in metrics for word in ("-m", name)]
    status, out, _ = shell("analyse", kind.kind, "sample", *words, "--format", "json")
    document = json.loads(out)
    assert (status, document["corpus"]) == (0, ["sample"])
    assert document == json.loads(to_json(result.document()))

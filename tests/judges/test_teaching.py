"""Rated corrections as questions of a judge, from ratings, rankings and stored replies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import ENGLISH
from gecjury.corpus.leakage import sentence_key
from gecjury.judges.asking.items import judged_items
from gecjury.judges.llm import LLMS
from gecjury.judges.teaching import (
    ANSWERS,
    on_scale,
    rated_in_benchmark,
    rated_in_store,
    taught_questions,
)
from gecjury.models.origin import JUDGE_FORMAT, KEYS_FILE, MANIFEST
from tests.judges.conftest import SOURCE, A, B, C, FakeModel

OUTPUTS = (A, "She go to home .")
STORE = Path(__file__).parent / "stored"


def judge(**options: object) -> LLMS:
    return LLMS(**{"backend": "vllm", "model": "x", "protocol": "pointwise", **options})  # type: ignore[arg-type]


def test_ratings_go_from_one_to_five() -> None:
    # 1 + 4 · (2.5 − 1) / (4 − 1) = 3
    assert on_scale(2.5, 1, 4) == 3.0
    assert on_scale(0, 0, 100) == 1.0
    assert on_scale(100, 0, 100) == 5.0


def test_points_between_two_scores_are_shared_out() -> None:
    taught = list(taught_questions(judge(), [SOURCE] * 2, OUTPUTS, [3.25, 5.0], ENGLISH))
    assert [rows for _, rows, _ in taught] == [(0,), (1,)]
    # 3.25 is three quarters 3 and one quarter 4.
    assert [shares for *_, shares in taught] == [(0, 0, 0.75, 0.25, 0), (0, 0, 0, 0, 1)]
    assert list(ANSWERS["pointwise"])[:2] == ['{"score": 1}', '{"score": 2}']
    assert OUTPUTS[0] in taught[0][0][-1]["content"]


def test_the_question_is_the_one_that_the_judge_asks() -> None:
    """A judge that scores a corpus sends exactly the messages that were taught."""
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus, Version
    from gecjury.judges.exchange import Model

    scorer = judge(context="none", scoring="expected")
    systems = {name: Version((text,)) for name, text in zip("ab", OUTPUTS, strict=True)}
    corpus = Corpus((SOURCE,), systems=systems)
    posed = scorer.questions(corpus, Model(backend="vllm", name="x"), Runtime(use_cache=False))
    taught = list(taught_questions(scorer, [SOURCE] * 2, OUTPUTS, [1.0, 5.0], ENGLISH))
    assert {question.request.messages[0]["content"] for question in posed} == {
        messages[0]["content"] for messages, *_ in taught
    }


def test_the_better_of_two_corrections_is_taught_in_both_orders() -> None:
    pairwise = judge(protocol="pairwise", orders=2)
    taught = list(taught_questions(pairwise, [SOURCE] * 2, OUTPUTS, [4.0, 2.0], ENGLISH))
    assert list(ANSWERS["pairwise"]) == ['{"better": "A"}', '{"better": "B"}', '{"better": "tie"}']
    assert {rows: shares for _, rows, shares in taught} == {(0, 1): (1, 0, 0), (1, 0): (0, 1, 0)}
    (tie, _) = taught_questions(pairwise, [SOURCE] * 2, OUTPUTS, [3.0, 3.0], ENGLISH)
    assert tie[2] == (0, 0, 1)


def test_every_answer_can_be_read_by_the_judge() -> None:
    from gecjury.judges.replies.forms import CHOICE, SCORE

    for form, protocol in ((SCORE, "pointwise"), (CHOICE, "pairwise")):
        for answer, worth in ANSWERS[protocol].items():
            verdict = form.read(answer)
            assert isinstance(verdict, list)
            assert verdict[0] == worth


@pytest.fixture
def judged() -> Benchmark:
    """A is preferred to B twice, C to A once; B and C were compared once and tied."""
    groups = (("a",), ("b", "b2"), ("c",))
    items = (
        RankedItem("1", 0, "anna", groups[:2], (1, 2)),
        RankedItem("2", 0, "bert", groups[:2], (2, 3)),
        RankedItem("3", 0, "anna", groups[::2], (2, 1)),
        RankedItem("4", 0, "anna", groups[1:], (1, 1)),
    )
    texts = {"a": A, "b": B, "b2": B, "c": C}
    return Benchmark(
        name="own", rankings={"sentence": items}, human={"sentence": {}}, view="sentence",
        corpus=Corpus((SOURCE,), {name: Version((text,)) for name, text in texts.items()}),
        systems="all", system_sets={}, references="", sentence_ids=(0,), citation="",
        segment_scores=np.array([[4.5], [2.0], [2.0], [np.nan]]),
    )  # fmt: skip


def test_ratings_and_rankings_become_points(judged: Benchmark) -> None:
    # The highest rating, 4.5, and the lowest, 2; C has none.
    assert {text: points for _, text, points in rated_in_benchmark(judged)} == {A: 5, B: 1}
    # A won two of its three comparisons, B none with one tie, C one with one tie of two.
    ranked = rated_in_benchmark(replace(judged, segment_scores=None))
    assert {text: points for _, text, points in ranked} == pytest.approx(
        {A: 1 + 4 * 2 / 3, B: 1 + 4 * 0.5 / 3, C: 1 + 4 * 1.5 / 2}
    )


def test_stored_replies_teach_their_mean_scores() -> None:
    (path,) = STORE.glob("*.jsonl")
    rated = list(rated_in_store(path, judge()))
    assert len({(source, text) for source, text, _ in rated}) == len(rated) > 50
    assert all(1 <= value <= 5 for *_, value in rated)


def test_a_taught_judge_tells_of_leaks_and_of_another_prompt(
    model: FakeModel, corpus: Corpus, tmp_path: Path
) -> None:
    """The folder has hashes of what it was taught with, such as the ratings of a benchmark."""
    record = {"format": JUDGE_FORMAT, "metric": "llm-s:x", "prompt": "own.v1:0", "language": "en"}
    (tmp_path / MANIFEST).write_text(json.dumps(record))
    (tmp_path / KEYS_FILE).write_text(sentence_key(corpus.sources[0]) + "\n")
    table = model.score("llm-s", corpus, backend="vllm", model=str(tmp_path), protocol="pointwise")
    prompt, leak = table.statistics.notes[-2:]
    assert "is asked with the prompt pointwise.v1" in prompt
    assert "(taught: own.v1:0)" in prompt
    assert "was trained on 1 of the 3 sources" in leak
    assert "its scores are not evidence" in leak


def test_replies_to_another_criterion_are_refused() -> None:
    (path,) = STORE.glob("*.jsonl")
    with pytest.raises(
        InputError, match=r"line 2: replies to another prompt \(sentence\.v1.*`criterion=`"
    ):
        list(rated_in_store(path, judge(criterion="fluency")))


def test_equal_scores_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = STORE.glob("*.jsonl")
    equal = [replace(item, scores=(3.0,) * len(item.scores)) for item in judged_items(path)]
    monkeypatch.setattr("gecjury.judges.teaching.judged_items", lambda path, prompts: iter(equal))
    with pytest.raises(InputError, match=r"all corrections have the same score \(3\)"):
        list(rated_in_store(path, judge()))

"""Settings that a server silently ignores, and loading errors, without vLLM."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, corpus_of_texts
from gecjury.judges.asking.exchange import Reply
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.judge import Judge
from gecjury.judges.replies.forms import CHOICE, SCORE, VALIDITY, scores_form
from gecjury.judges.replies.reply import has_form
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from tests.judges.faultserver import FaultServer, Said, completion, score_of, sound_reply

Serve = Callable[..., FaultServer]
Make = Callable[..., Scorer]


@pytest.mark.parametrize(
    ("text", "obeys"),
    [
        ('{"target1_score":4,"target2_score":2}', True),
        ('<think>4 or 5?</think>\n{"target2_score": 2, "target1_score": 4}', True),
        ('```json\n{"target1_score": 4, "target2_score": 2}\n```', False),
        ('{"target1_score":4}', False),
        ('{"target1_score":4,"target2_score":6}', False),
        ('{"target1_score":4,"target2_score":true}', False),
        ('{"target1_score":4,"target2_score":2,"why":""}', False),
        ('{"target1_score":4,"target2_score":2', False),
        ("[]", False),
        ("Hello!", False),
    ],
)
def test_the_form_of_a_schema(text: str, obeys: bool) -> None:
    assert has_form(text, scores_form(2).schema) is obeys


def test_typical_answers_have_their_form() -> None:
    for form in (SCORE, CHOICE, VALIDITY, scores_form(5)):
        assert has_form(json.dumps(form.typical), form.schema)
    assert not has_form('{"valid": 1}', VALIDITY.schema)


def fenced(number: int, body: dict[str, Any]) -> Said:
    return completion(body, f"Sure:\n```json\n{sound_reply(body)}\n```")


def audit_of(table: ScoreTable) -> dict[str, Any]:
    audit: dict[str, Any] = table.statistics.details["audit"]["members"][0]
    return audit


def expected(corpus: Corpus) -> np.ndarray[Any, Any]:
    return np.array([[score_of(x) for x in v.lines] for v in corpus.systems.values()], dtype=float)


def test_an_ignored_schema_is_reported_once_and_no_longer_sent(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(fenced)
    table = judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert np.array_equal(table.sentences, expected(corpus))
    # The first real question is the canary; no extra question is asked.
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert audit_of(table)["settings"] == {
        "left_out": {"response_format": 2},
        "schema": {"sent": 1, "ignored": 1},
    }
    (note,) = table.statistics.notes
    assert note.startswith("tiny: the server ignores JSON schemas (1 of 1 replies to one have")
    # A second run uses the stored replies and reports the same.
    again = judge(server).score_corpus(corpus, runtime)
    assert (len(server.bodies), again.statistics.notes) == (3, (note,))


def test_an_explicitly_requested_schema_is_always_sent(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(fenced)
    scorer = judge(server, structured="schema")
    table = scorer.score_corpus(corpus, replace(runtime, concurrency=1))
    assert all("response_format" in body for body in server.bodies)
    assert audit_of(table)["settings"] == {"schema": {"sent": 3, "ignored": 3}}


def test_a_server_that_has_obeyed_is_not_suspected(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(lambda n, body: fenced(n, body) if n == 1 else None)
    judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert all("response_format" in body for body in server.bodies)


def test_a_schema_that_vllm_ignores_is_reported(corpus: Corpus, runtime: Runtime) -> None:
    class Model:
        def run(self, work: Assignment) -> None:
            for attempt in work.attempts:
                said = sound_reply({"messages": attempt.request.messages})
                work.deliver(attempt, Reply(f"```json\n{said}\n```", "stop", 9, 9))

    scorer = load("llm-s:backend=vllm,model=tiny")
    assert isinstance(scorer, Judge)
    table = scorer.asking(lambda model, *, batch=False: Model()).score_corpus(corpus, runtime)
    assert np.array_equal(table.sentences, expected(corpus))
    (note,) = table.statistics.notes
    assert note.startswith("tiny: vLLM ignores JSON schemas (3 of 3 replies")


def test_missing_probabilities_are_reported_before_more_is_spent(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(latency=0.05)
    for _ in range(2):
        with pytest.raises(OptionError, match="needs token probabilities"):
            judge(server, scoring="expected").score_corpus(corpus, runtime)
        assert len(server.bodies) == 1


def test_seeds_without_effect_are_reported(serve: Serve, judge: Make, runtime: Runtime) -> None:
    lines = [f"v {number}" for number in range(20)]
    server = serve()
    table = judge(server, temperature=0.7, repeats=2).score_corpus(
        corpus_of_texts(["S ."] * 20, lines), runtime
    )
    assert audit_of(table)["settings"] == {"seeds": {"compared": 20, "same_text": 20}}
    (note,) = table.statistics.notes
    assert "returns the same text for every seed (20 repetitions)" in note
    # A single different text shows that seeds have an effect.
    server = serve(lambda n, body: completion(body, "{}") if body["seed"] == 1 else None)
    other = judge(server, temperature=0.7, repeats=2, tries=1).score_corpus(
        corpus_of_texts(["S ."] * 20, lines), runtime
    )
    assert audit_of(other)["settings"]["seeds"] == {"compared": 20, "same_text": 0}
    assert not any("seed" in note for note in other.statistics.notes)


FAILED = "Engine core initialization failed. See root cause above. Failed core proc(s): {}"


@pytest.mark.parametrize(
    ("error", "options", "remedy"),
    [
        (FAILED, {}, "gpu_memory=0.3 (also on a CPU), or a shorter context: max_model_len=4096"),
        ("No available memory for the cache blocks", {"gpu_memory": 0.2}, "gpu_memory=0.1 (also"),
        ("no such model", {}, ""),
    ],
)
def test_an_engine_without_memory_is_reported_with_the_remedy(
    error: str,
    options: dict[str, float],
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**arguments: Any) -> None:
        raise RuntimeError(error)

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=fail))
    judge = load("llm-s", backend="vllm", model="tiny", **options)
    pattern = "vLLM cannot load tiny: " + re.escape(error)
    pattern += f"; .*{re.escape(remedy)}" if remedy else "$"
    with pytest.raises(InputError, match=pattern):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path))


@pytest.mark.security
def test_a_model_that_names_code_is_not_given_to_vllm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []

    def record(**arguments: Any) -> None:
        given.append(arguments)
        raise RuntimeError("enough")

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=record))
    monkeypatch.setenv("GECJURY_VLLM", '{"trust_remote_code": true}')
    for number, entries in enumerate(({}, {"auto_map": {"AutoModel": "evil.Model"}})):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(entries))
        judge = load("llm-s", backend="vllm", model=str(folder))
        with pytest.raises(InputError, match="auto_map" if entries else "enough"):
            judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path / "cache"))
    assert [arguments["trust_remote_code"] for arguments in given] == [False]

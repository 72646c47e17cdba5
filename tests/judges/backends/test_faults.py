"""Servers with faults: nothing is lost, asked twice, paid for twice or read wrongly."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import math
import random
import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import GecjuryError, IncompleteError, InputError, OptionError
from gecjury.core.runtime import Runtime, Spending
from gecjury.corpus.corpus import Version
from gecjury.corpus.texts import corpus_of_texts
from gecjury.judges.backends import openai as client
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.backends.bounded import Limits, bounded_client, http_library
from gecjury.judges.backends.openai import (
    OpenAIBackend,
    RequestPace,
    backoff,
    request_body,
    retry_after,
)
from gecjury.judges.backends.window import capped, fitted, said_window, says_too_long
from gecjury.judges.exchange import Attempt, Model, Reply, Request
from gecjury.judges.judge import Judge
from gecjury.judges.models import same_model
from gecjury.judges.replies.forms import CHOICE, SCORE, VALIDITY, scores_form
from gecjury.judges.replies.reply import has_form
from gecjury.scoring.registry import load
from tests.judges.conftest import Bench, expected, member
from tests.judges.faultserver import Said, completion, sound_reply

KEY = "sk-test-key-of-nobody"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits between tries to milliseconds."""

    def quick(attempt: int, asked: float | None, source: random.Random) -> float:
        return backoff(attempt, asked, source) / (100 if asked is None else 1)

    monkeypatch.setattr(client, "backoff", quick)


def error(status: int, message: str, headers: dict[str, str] | None = None, /, **more: Any) -> Said:
    return Said(status, {"error": {"message": message, **more}}, headers or {})


def choice_with(**more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"content": ""}, **more}]}


def test_a_request_contains_what_it_needs_and_a_second_run_asks_nothing(bench: Bench) -> None:
    table = bench.score()
    assert np.array_equal(table.sentences, expected(bench.corpus))
    assert (max(bench.server.asked.values()), len(bench.server.bodies)) == (1, 3)
    kinds = ("valid", "refused", "truncated", "unparsable")
    assert [member(table)[kind] for kind in kinds] == [3, 0, 0, 0]
    body = bench.server.bodies[0]
    assert set(body) == {
        "model", "messages", "temperature", "seed", "max_tokens", "response_format",
        "chat_template_kwargs",
    }  # fmt: skip
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["target1_score", "target2_score"]
    assert bench.server.authorizations == {"Bearer none"}
    assert np.array_equal(bench.score().sentences, table.sentences)
    assert len(bench.server.bodies) == 3


# --- faults of a moment, and faults that end the run ----------------------------------------------

TRANSIENT = [
    error(500, "oops"),
    error(503, "busy", {"retry-after": "0.05"}),
    error(429, "slow down", {"retry-after-ms": "50"}),
    error(429, "slow down", {"retry-after": "soon"}),
    error(429, "slow down", {"retry-after": "nan"}),
    error(408, "timeout"),
    Said(200, {"choices": "x" * 400}, cut=True),
    Said(200, raw=b"<html>gateway</html>", headers={"content-type": "text/html"}),
    Said(200, raw=b"[1, 2]"),
    Said(200, raw=b'{"choices": [{"mess'),
    # Gateways send the errors of the servers behind them with status 200.
    error(200, "slow down", code=429),
    error(200, "x", code="502"),
    error(200, "x", type="rate_limit_error"),
    error(200, "x", code=429, status="RESOURCE_EXHAUSTED"),
    error(200, "x", code="server_error"),
    Said(body=choice_with(error={"message": "x", "code": 503})),
    Said(body=choice_with(finish_reason="error")),
    Said(body={"object": "error", "message": "x", "code": 500}),
]


@pytest.mark.parametrize("fault", TRANSIENT)
def test_faults_of_a_moment_are_waited_for(bench: Bench, fault: Said) -> None:
    failed: set[str] = set()

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        prompt = json.dumps(body["messages"])
        if prompt in failed:
            return None
        failed.add(prompt)
        return fault

    bench.start(behave)
    table = bench.score()
    assert np.array_equal(table.sentences, expected(bench.corpus))
    assert len(bench.server.bodies) == 6
    assert member(table)["requests"]["retried"] == 0  # a fault is no reply


PERMANENT = [
    (error(401, f"Incorrect key {KEY}"), ["refuses the key in $OPENAI_API_KEY (401)"]),
    (error(403, "not for you"), ["does not allow this (403)"]),
    (error(404, "no such page"), ["has no model 'tiny' (404)", "check model=", "usually /v1"]),
    (error(400, "no chat template is set"), ["tiny has no chat template"]),
    (error(400, "you may not"), ["refuses the request (400)", "you may not"]),
    (error(429, "quota", code="insufficient_quota"), ["quota is used up"]),
    (error(200, "no\x1b[2J credits", code=402), ["(402)", "credits"]),
    (Said(body={"error": "you may not"}), ["refuses the request", "you may not"]),
    (Said(body=choice_with(error={"message": "bad input", "code": 400})), ["bad input"]),
    (error(200, "quota", code="insufficient_quota"), ["quota is used up"]),
    (error(200, "no such", code="model_not_found"), ["has no model 'tiny'"]),
    (error(200, "Provider", code=400, metadata={"raw": "own words"}), ["Provider: own words"]),
    (error(200, f"bad {KEY} {'x' * 900}"), ["bad "]),
]


@pytest.mark.parametrize(("said", "facts"), PERMANENT)
def test_other_faults_end_the_run_with_one_line(bench: Bench, said: Said, facts: list[str]) -> None:
    bench.start(lambda number, body: said if number else None)
    with pytest.raises(GecjuryError) as caught:
        bench.score(concurrency=1, api_key_env="OPENAI_API_KEY")
    text = str(caught.value)
    assert [fact for fact in facts if fact not in text] == []
    assert (caught.value.exit_status, text.isprintable(), len(text) < 500) == (2, True, True)
    assert "sk-test" not in text
    # Answers are kept, and their questions are not asked again.
    bench.server.behave = lambda number, body: None
    bench.score()
    assert sorted(bench.server.asked.values()) == [1, 1, 2]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (404, {"message": "The model `tiny` does not exist or you do not have access to it."}),
        (404, {"message": "model 'tiny' not found", "type": "not_found_error"}),
        (400, {"message": "tiny is not available", "code": "model_not_found"}),
        (400, {"message": "tiny is not a valid model ID. Model tiny not found"}),
    ],
)
def test_an_unknown_model_is_reported(bench: Bench, status: int, fault: dict[str, str]) -> None:
    bench.start(lambda n, body: Said(status, {"error": fault}))
    with pytest.raises(OptionError, match=rf"has no model 'tiny' \({status}\)"):
        bench.score()


def test_where_nothing_can_be_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.server.url = "http://127.0.0.1:9/v1"
    with pytest.raises(InputError, match=r"http://127.0.0.1:9/v1 gives no answer: no connection"):
        bench.score()
    plain = {"content-type": "text/plain; charset=utf-8"}
    bench.start(lambda n, body: Said(500, raw=b"Internal Server Error", headers=plain))
    with pytest.raises(InputError, match="500 without a reason; see its log and check model=tiny"):
        bench.score()
    with pytest.raises(OptionError, match="a dry run asks nothing"):
        bench.judge(bench.server).score_corpus(bench.corpus, Runtime(dry_run=True))
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x:y@[")
    with pytest.raises(OptionError, match=r"the proxy that \$HTTP_PROXY.* cannot be used"):
        bench.score(base_url="http://a.example/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    made = bounded_client(Limits())
    address = made.base_url.copy_with(scheme="http", host="a.example")
    assert made._transport_for_url(address) is not made._transport


def test_no_other_http_library_is_needed_than_that_of_openais_client() -> None:
    openai = pytest.importorskip("openai")
    assert issubclass(openai.DefaultAsyncHttpxClient, http_library().AsyncClient)


@pytest.mark.security
@pytest.mark.parametrize(
    "url",
    ["http://[", "http://host:99999/v1", "http://host:0/v1", "ftp://host/v1", "file:///etc/passwd",
     "host", "http://", "http://a b/v1", "http://a\nb/v1", "http://" + "a" * 70 + ".com/v1",
     "http://[::1/v1", "//host/v1"],
)  # fmt: skip
def test_invalid_addresses(bench: Bench, url: str) -> None:
    with pytest.raises(OptionError, match=r"is not an address \(it.*expected http://HOST:PORT/v1"):
        bench.score(base_url=url)


# --- replies that stay bad ------------------------------------------------------------------------


def saying(text: str, finish: str = "stop", **message: Any) -> Callable[[dict[str, Any]], Said]:
    return lambda body: completion(body, text, finish, **message)


def with_probabilities(logprobs: str) -> Callable[[dict[str, Any]], Said]:
    def said(body: dict[str, Any]) -> Said:
        record = completion(body, sound_reply(body)).body
        record["choices"][0]["logprobs"] = "HERE"
        return Said(raw=json.dumps(record).replace('"HERE"', logprobs).encode())

    return said


SHAPES: list[dict[str, Any]] = [
    {"choices": "x"}, {"choices": 7}, {"choices": {"0": {}}}, {"choices": [None]},
    {"choices": [[1]]}, {"choices": [{"message": "x"}]}, {"choices": [{"message": [1]}]},
]  # fmt: skip
LOGPROBS = [
    '"x"', "[1]", '{"content": 5}', '{"content": [7]}',
    '{"content": [{"token": "3", "top_logprobs": [{}]}]}',
    '{"content": [{"token": "3", "top_logprobs": [{"token": "3", "logprob": 1e308}]}]}',
]  # fmt: skip
BAD = [
    (saying("I would rather not say."), "no-json", "unparsable"),
    (saying('{"target1_score": 9, "target2_score": 1}'), "out-of-range", "unparsable"),
    (saying('{"target1_score": 4, "tar', "length"), "truncated", "truncated"),
    (saying(" \n" * 50, "length"), "truncated", "truncated"),
    (saying("", "content_filter"), "refused", "refused"),
    (saying("", refusal="I cannot help with that."), "refused", "refused"),
    (saying("I'm sorry, but I can't do that."), "refused", "refused"),
    (saying(""), "empty", "unparsable"),
    (lambda body: Said(body={"choices": [], "usage": {"prompt_tokens": 5}}), "empty", "unparsable"),
    *((lambda body, shape=shape: Said(body=shape), "malformed", "unparsable") for shape in SHAPES),
    *((with_probabilities(text), "malformed", "expected") for text in LOGPROBS),
]


@pytest.mark.security
@pytest.mark.parametrize(("said", "kind", "group"), BAD)
def test_replies_that_stay_bad_are_missing_and_listed(
    bench: Bench, said: Callable[[dict[str, Any]], Said], kind: str, group: str
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        bad = "I likes cats" in body["messages"][0]["content"]
        return said(body) if bad else sound(body)

    def sound(body: dict[str, Any]) -> Said | None:
        top = '{"content": [{"token": "x", "top_logprobs": [{"token": "x", "logprob": -1}]}]}'
        return with_probabilities(top)(body) if group == "expected" else None

    bench.start(behave)
    options = {"scoring": "expected"} if group == "expected" else {}
    table = bench.score(**options)
    # The sentence is missing: neither zero nor a tie.
    assert np.isnan(table.sentences[:, 1]).all()
    assert np.array_equal(table.sentences[:, [0, 2]], expected(bench.corpus)[:, [0, 2]])
    audit = member(table)
    assert (table.missing, audit["failures"]) == (3, {kind: 1})
    assert audit["unparsable" if group == "expected" else group] == 1
    assert [entry["line"] for entry in audit["missing"]] == [2]
    assert len(bench.server.bodies) == 2 + 3
    assert "lines 2" in table.statistics.notes[0]
    # The retries differ from the request that failed.
    bad = [b for b in bench.server.bodies if "I likes cats" in b["messages"][0]["content"]]
    assert len({b["max_tokens" if group == "truncated" else "seed"] for b in bad}) == 3
    # A later run does not pay again for a question that was given up.
    assert bench.score(**options).missing == 3
    assert len(bench.server.bodies) == 5


def test_a_bad_reply_is_kept_and_a_good_one_follows(bench: Bench) -> None:
    bench.start(lambda n, body: completion(body, "\ud83d no") if n < 2 else None)
    assert bench.score(concurrency=1).missing == 0
    records = [json.loads(line) for line in bench.store.read_text().splitlines()[1:]]
    assert [r["reply"]["text"] for r in records[:2]] == ["\ufffd no"] * 2  # no lone surrogates
    assert len(records) == 5


def test_the_answer_may_be_in_the_reasoning_field(bench: Bench) -> None:
    bench.start(lambda n, body: completion(body, "", reasoning_content=sound_reply(body)))
    assert np.array_equal(bench.score().sentences, expected(bench.corpus))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "content", "part"])
def test_a_draft_in_the_reasoning_is_no_verdict(bench: Bench, field: str) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        draft = f"Could it be {sound_reply(body)}? No, I will say something else."
        if field == "content":
            return completion(body, f"<think>{draft}")
        if field == "part":
            return completion(body, "", content=[{"type": "reasoning", "text": draft}])
        return completion(body, "", **{field: draft})

    bench.start(behave)
    table = bench.score(tries=2)
    assert np.isnan(table.sentences).all()
    assert (member(table)["valid"], member(table)["requests"]["asked"]) == (0, 6)
    (note,) = (note for note in table.statistics.notes if "verdicts are missing" in note)
    assert ("the reasoning never ends" if field == "content" else "only reasoning") in note
    assert note.endswith("thinking=true") == (field == "content")
    # What is stored is read in the same way.
    assert np.isnan(bench.score(tries=2).sentences).all()


def test_the_verdicts_of_old_stores_are_ignored(bench: Bench) -> None:
    first = bench.score()
    head, *lines = [json.loads(line) for line in bench.store.read_text().splitlines()]
    with bench.store.open("w") as file:
        for record in (head, *lines):
            record.pop("sum")
            if "key" in record:
                record["read"] = {"scores": [5.0, 1.0]}
            text = json.dumps(record, sort_keys=True, separators=(",", ":"))
            record["sum"] = hashlib.sha256(text.encode()).hexdigest()[:8]
            file.write(json.dumps(record) + "\n")
    assert np.array_equal(bench.score().sentences, first.sentences)
    assert len(bench.server.bodies) == 3


# --- settings that a server refuses or ignores ----------------------------------------------------


def refusing(*names: str) -> Callable[[int, dict[str, Any]], Said | None]:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        for name in names:
            if name in body:
                return error(400, f"Unsupported parameter: '{name}' is not supported", param=name)
        return None

    return behave


def no_json_schema(number: int, body: dict[str, Any]) -> Said | None:
    """Like llama-cpp-python, which reports a request that it cannot validate as a server error."""
    if body.get("response_format", {}).get("type") == "json_schema":
        said = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]"
        return error(500, said, type="internal_server_error")
    return None


def no_bounds(number: int, body: dict[str, Any]) -> Said | None:
    said = "Invalid schema for response_format 'verdict': 'maxLength' is not permitted."
    return error(400, said, param="response_format") if "maxLength" in json.dumps(body) else None


def fenced(number: int, body: dict[str, Any]) -> Said:
    return completion(body, f"Sure:\n```json\n{sound_reply(body)}\n```")


@pytest.mark.parametrize(
    ("behave", "options", "left_out", "asked"),
    [
        (
            refusing("temperature", "response_format", "chat_template_kwargs"), {},
            ["chat_template_kwargs", "response_format", "temperature"], 7,
        ),
        (no_json_schema, {"structured": "schema"}, ["json_schema"], 4),
        (no_bounds, {"structured": "schema", "reason": True}, ["maxLength"], 4),
        # The first real question shows that a schema is ignored; no other is asked for that.
        (fenced, {}, ["response_format"], 3),
    ],
)  # fmt: skip
def test_settings_without_effect_are_left_out_and_recorded(
    bench: Bench, behave: Any, options: dict[str, Any], left_out: list[str], asked: int
) -> None:
    bench.start(behave)
    table = bench.score(concurrency=1, **options)
    assert np.array_equal(table.sentences, expected(bench.corpus))
    assert len(bench.server.bodies) == asked
    records = [json.loads(line) for line in bench.store.read_text().splitlines()[1:]]
    assert records[-1]["reply"]["sent"]["left_out"] == left_out
    form = bench.server.bodies[-1].get("response_format", {})
    if left_out == ["json_schema"]:
        assert form["type"] == "json_object"
        assert form["schema"]["required"] == ["target1_score", "target2_score"]
    if left_out == ["maxLength"]:
        schema = form["json_schema"]["schema"]
        assert schema["properties"]["reason"] == {"type": "string"}
    if behave is fenced:
        (note,) = table.statistics.notes
        assert note.startswith("tiny: the server ignores JSON schemas (1 of 1 replies to one have")
        assert member(table)["settings"]["schema"] == {"sent": 1, "ignored": 1}
    # A second run uses the stored replies and reports the same.
    assert bench.score(**options).statistics.notes == table.statistics.notes


def test_a_schema_is_sent_where_it_was_requested_or_has_been_obeyed(bench: Bench) -> None:
    for behave, options in (
        (fenced, {"structured": "schema"}),
        (lambda n, body: fenced(n, body) if n == 1 else None, {"seed": 1}),
    ):
        bench.start(behave)
        bench.score(concurrency=1, **options)
        assert all("response_format" in body for body in bench.server.bodies)
    bench.start(refusing("response_format"))
    with pytest.raises(InputError, match="refuses the request"):
        bench.score(structured="schema", seed=2)


def test_a_refused_effort_is_left_out(bench: Bench) -> None:
    """A model that is not in the table may refuse an effort and return probabilities."""
    scorer = load("llm-s:model=unheard-of,scoring=expected")
    assert isinstance(scorer, Judge)
    (model,) = scorer.models()
    attempt = Attempt(scorer.questions(bench.corpus, model, bench.runtime)[0].request)
    assert request_body(model, attempt, set())["reasoning_effort"] == "none"
    server = bench.start(refusing("reasoning_effort"))
    answered: list[Reply] = []
    OpenAIBackend(replace(model, base_url=server.url)).run(
        Assignment(
            attempts=[attempt],
            deliver=lambda attempt, reply: answered.append(reply),
            claim=len,
            release=lambda attempt: None,
            price=None,
            runtime=bench.runtime,
        )
    )
    assert [reply.sent["left_out"] for reply in answered] == [["reasoning_effort"]]


@pytest.mark.parametrize(
    ("behave", "facts"),
    [
        (
            lambda n, body: error(400, "logprobs are not supported", param="logprobs"),
            ["returns no token probabilities", "scoring=argmax"],
        ),
        (
            lambda n, body: error(500, "logprobs is not supported with logits_all=False"),
            ["returns no token probabilities", "--logits_all true"],
        ),
        (None, ["needs token probabilities"]),
        # Like transformers serve, which ignores probabilities and the schema.
        (lambda n, body: completion(body, "Both are fine."), ["needs token probabilities"]),
    ],
)
def test_missing_probabilities_are_reported_before_more_is_spent(
    bench: Bench, behave: Any, facts: list[str]
) -> None:
    bench.start(behave, latency=0.02)
    with pytest.raises(OptionError) as caught:
        bench.score(scoring="expected")
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    assert len(bench.server.bodies) == 1


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
    for form in (SCORE, CHOICE, VALIDITY, scores_form(5)):
        assert has_form(json.dumps(form.typical), form.schema)
    assert not has_form('{"valid": 1}', VALIDITY.schema)


# --- prompts and windows --------------------------------------------------------------------------


def small(window: int, dialect: str) -> Callable[[int, dict[str, Any]], Said | None]:
    """Return a server with a short window; a token has four characters, as in its replies."""

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        read = sum(len(message["content"]) for message in body["messages"]) // 4
        if read + body["max_tokens"] <= window:
            return None
        if dialect == "silent":
            said = completion(body, sound_reply(body))
            said.body["usage"]["prompt_tokens"] = window
            return said
        if dialect == "llama.cpp":
            return error(400, f"{read} tokens", type="exceed_context_size_error", n_ctx=window)
        if dialect == "openai":
            return error(400, f"reduce your {read} tokens", code="context_length_exceeded")
        return error(400, f"This model's maximum context length is {window} tokens. However")

    return behave


@pytest.mark.parametrize("dialect", ["vllm", "openai", "llama.cpp"])
def test_only_prompts_that_cannot_fit_are_left_out_until_the_window_is_longer(
    bench: Bench, dialect: str
) -> None:
    texts = Version(("She goes .", "word " * 2_000, "He is ."))
    bench.corpus = replace(bench.corpus, systems={**bench.corpus.systems, "d": texts})
    bench.start(small(500, dialect))
    table = bench.score()
    assert np.isnan(table.sentences).any(axis=0).tolist() == [False, True, False]
    audit = member(table)
    assert audit["failures"] == {"too-long": 1}
    assert (audit["valid"], audit["requests"]["stored"]) == (2, 0)
    (note,) = table.statistics.notes
    window = "the model's window" if dialect == "openai" else "the window of 500 tokens"
    for fact in ("1 prompts do not fit the model (lines 2)", window, "longer window"):
        assert fact in note
    # The other two are kept, and the third does not count as permanently failed.
    count = len(bench.server.bodies)
    bench.server.behave = small(10_000, dialect)
    table = bench.score()
    assert (len(bench.server.bodies), table.missing) == (count + 1, 0)
    assert table.statistics.notes == ()


def test_the_answer_cap_is_lowered_where_the_prompt_fits_without_it(bench: Bench) -> None:
    bench.score()
    longest = max(len(body["messages"][0]["content"]) // 4 for body in bench.server.bodies)
    cap = bench.server.bodies[0]["max_tokens"]
    bench.start(small(longest + cap - 1, "vllm"))
    assert bench.score(seed=1).missing == 0
    assert min(body["max_tokens"] for body in bench.server.bodies) < cap


def test_a_server_that_silently_cuts_prompts_is_reported(bench: Bench) -> None:
    bench.start(small(60, "silent"))
    (note,) = bench.score().statistics.notes
    assert "far fewer tokens than the prompt has in 3 questions (lines 1, 2, 3)" in note


@pytest.mark.parametrize(
    ("status", "fault", "window"),
    [
        (400, {"message": "This model's maximum context length is 8192 tokens. However"}, 8192),
        (400, {"message": "the model's context length is only 2048 tokens"}, 2048),
        (400, {"message": "x", "type": "exceed_context_size_error", "n_ctx": 512}, 512),
        (413, {"message": "x", "code": "context_length_exceeded"}, None),
        (400, {"message": "(length 3000) is longer than the maximum model length of 2048."}, 2048),
        (422, {"message": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given"}, None),
        (500, {"message": "Requested tokens (9000) exceed context window of 4096"}, 4096),
        (500, {"message": "could not broadcast input array from shape (1,) into shape (0,)"}, None),
    ],
)
def test_refusals_of_long_prompts_are_recognised(
    status: int, fault: dict[str, Any], window: int | None
) -> None:
    assert says_too_long(status, fault, fault["message"])
    assert said_window(fault, fault["message"]) == window
    for other, text in (
        (400, "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"),
        (401, "context length"),
        (500, "out of memory"),
        (400, "this essay is longer than others"),
    ):
        assert not says_too_long(other, {"message": text}, text)


def test_fitting_lowers_the_cap_no_further_than_an_answer_needs() -> None:
    request = Request(
        backend="vllm", model="m", base_url="", messages=(), schema=None,
        sampling={"max_tokens": 100, "thinking": False}, expect="x" * 20,
    )  # fmt: skip
    attempt = Attempt(request)
    assert fitted(attempt, 400, 500) is attempt
    lowered = fitted(attempt, 450, 500)
    assert lowered is not None
    assert lowered.sampling["max_tokens"] == 50
    assert fitted(attempt, 480, 500) is None
    thinking = Attempt(replace(request, sampling={"max_tokens": 5_000, "thinking": True}))
    assert fitted(thinking, 450, 500) is None
    least = capped(attempt)
    assert least is not None
    assert least.sampling["max_tokens"] == 28
    assert capped(least) is None


# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["cache folder", "variable"])
def test_the_cost_cap_is_respected(
    bench: Bench, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OptionError, match=r"no price is known for 'tiny': .*prices\.json"):
        bench.score(max_cost=1.0)
    bench.set_price(1e6, 0.0, "EUR")
    if place == "variable":
        bench.runtime.cache_folder("prices.json").rename(tmp_path / "mine.json")
        monkeypatch.setenv("GECJURY_PRICES", str(tmp_path / "mine.json"))
    plan = bench.judge(bench.server).plan(bench.corpus, bench.runtime)
    assert plan is not None
    assert (plan.requests, plan.cost["amount"]) == (3, plan.tokens["input"])
    assert not bench.server.bodies
    # Room for one of three prompts of 190 tokens at 1 EUR each. A prompt has 770 bytes and a schema
    # of 239, and so at most as many tokens and 64 of the chat format: 190 + 1,055 > 1,200.
    capped, higher = Spending(), Spending()
    stopped = (
        r"stopped before `max_cost=1200` was exceeded with earlier runs: 1\d\d.*2 of 3 questions"
    )
    with pytest.raises(IncompleteError, match=stopped):
        bench.score(max_cost=1200.0, spending=capped)
    assert len(bench.server.bodies) == 1
    # The same command sends nothing more.
    with pytest.raises(IncompleteError, match=stopped):
        bench.score(max_cost=1200.0, spending=Spending())
    assert len(bench.server.bodies) == 1
    # With a higher cap the run continues where it stopped.
    cost = member(bench.score(max_cost=5000.0, spending=higher))["cost"]
    assert max(bench.server.asked.values()) == 1
    assert 0 < capped.known < higher.known
    assert math.isclose(cost["amount"], higher.known)
    assert (cost["currency"], cost["prices"]) == ("EUR", "2020-01-01")


USAGES = [
    None, {}, {"prompt_tokens": None, "completion_tokens": None}, "275", [], 7,
    {"prompt_tokens": -275, "completion_tokens": -40},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": "many", "completion_tokens": {"a": 1}}, {"completion_tokens": 20},
    {"prompt_tokens": 275, "completion_tokens": 0},
    {"prompt_tokens": float("nan"), "completion_tokens": True},
    {"prompt_tokens": [], "completion_tokens": 1e300},
]  # fmt: skip


@pytest.mark.parametrize("usage", USAGES)
def test_the_cost_cap_holds_where_a_server_reports_no_tokens(bench: Bench, usage: Any) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, sound_reply(body))
        said.body["usage"] = usage
        return said

    bench.start(behave)
    bench.set_price(1e6, 0.0)
    # Room for two of three prompts, each counted as the 1,049 to 1,072 tokens that it may have.
    with pytest.raises(
        IncompleteError, match=r"21\d\d\.\d+ USD spent \(an estimate: .*1 of 3 questions"
    ):
        bench.score(max_cost=3000.0, spending=Spending())
    assert len(bench.server.bodies) == 2
    table = bench.score(max_cost=4e3, spending=Spending())
    cost = member(table)["cost"]
    assert (cost["estimated"], cost["amount"]) == (3, 1072 + 1055 + 1049)
    rows = table.statistics.details["audit"]["rows"]
    (said,) = (row["value"] for row in rows if row["what"] == "cost")
    assert "an estimate: the server reports no tokens" in said


@pytest.mark.parametrize(
    ("line", "times"),
    [("I likes cats .", 1.0), ("私は学校に行くました。", 3.0), ("Я ходил в школа .", 9.0)],
)
def test_the_cost_cap_holds_where_an_estimate_is_too_low(
    bench: Bench, line: str, times: float
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, sound_reply(body))
        prompt = body["messages"][0]["content"]
        # Up to a fifth more tokens for some of the prompts, and more tokens than the cap allows.
        read = times * (1 + number % 3 / 10) * len(prompt.encode()) / 4
        said.body["usage"] = {"prompt_tokens": int(read), "completion_tokens": 2 * int(times) * 60}
        return said

    bench.start(behave, latency=0.01)
    bench.set_price(1e6, 1e6)
    lines = [f"{line} {number}" for number in range(60)]
    bench.corpus = corpus_of_texts(lines, lines)
    cap, spending = 15_000.0 * times, Spending()
    with pytest.raises(IncompleteError, match="stopped before `max_cost="):
        bench.score(concurrency=16, max_cost=cap, spending=spending)
    assert 0.5 * cap < spending.known <= cap
    assert bench.server.most_under_way > 1


# What the server does after it has billed a request.
LOSSES = [
    Said(wire=b""),
    Said(200, {"choices": "x" * 400}, cut=True),
    Said(200, raw=b"<html>gateway</html>", headers={"content-type": "text/html"}),
    Said(wait=0.5),
    error(504, "upstream timed out"),
    Said(body=choice_with(error={"message": "x", "code": 502})),
]


class Billing:
    """A server that bills every request at a dollar a token, and loses some of the replies."""

    def __init__(self, loss: Said, every: int) -> None:
        self.loss, self.every, self.billed = loss, every, 0

    def __call__(self, number: int, body: dict[str, Any]) -> Said:
        # More tokens than an estimate by script expects.
        said = completion(body, sound_reply(body))
        read = len(body["messages"][0]["content"].encode()) // 2
        said.body["usage"] = {"prompt_tokens": read, "completion_tokens": 60}
        self.billed += read + 60
        return self.loss if number % self.every == 1 else said


@pytest.mark.parametrize("loss", LOSSES)
def test_no_more_is_billed_than_the_cap_over_repeated_runs(bench: Bench, loss: Said) -> None:
    billing = Billing(loss, 3)
    bench.start(billing)
    bench.set_price(1e6, 1e6)
    lines = [f"I likes cats {number} ." for number in range(40)]
    bench.corpus = corpus_of_texts(lines, lines)
    cap, limits = 9_000.0, limited(Limits(seconds=0.25), [])
    for _ in range(3):
        with pytest.raises(IncompleteError, match=r"at most \d+\.\d+ USD more for requests wi"):
            bench.score(limits, concurrency=4, max_cost=cap, spending=Spending())
        assert billing.billed <= cap
    assert billing.billed > 0.25 * cap
    # A run without a cap counts as well, and its lost requests stay in the account.
    cost = member(bench.score(limits, spending=Spending()))["cost"]
    assert cost["amount"] < billing.billed <= cost["amount"] + cost["lost"]
    asked = len(bench.server.bodies)
    bench.corpus = corpus_of_texts([*lines, "One more ."], [*lines, "One more ."])
    with pytest.raises(IncompleteError, match="1 of 41 questions left"):
        bench.score(max_cost=float(billing.billed), spending=Spending())
    assert len(bench.server.bodies) == asked


@pytest.mark.parametrize("use_cache", [True, False])
def test_refused_requests_cost_nothing(bench: Bench, use_cache: bool) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        return refusing("temperature")(number, body) or (
            error(429, "slow down") if number in (1, 2) else None
        )

    bench.runtime = replace(bench.runtime, use_cache=use_cache)
    bench.start(behave)
    bench.set_price(1e6, 0.0)
    spending = Spending()
    bench.score(max_cost=3e3, spending=spending)
    assert len(bench.server.bodies) > 3
    assert spending.unknown == 0
    # Without a store, the cost of the same run is known nevertheless.
    assert 500 < spending.known < 600
    bench.server.url = "http://127.0.0.1:9/v1"
    with pytest.raises(InputError, match="gives no answer: no connection"):
        bench.score(max_cost=3e3, spending=spending, seed=1)
    assert spending.unknown == 0


def test_requests_of_a_killed_run_count(bench: Bench) -> None:
    bench.set_price(1e6, 0.0)

    def kill(number: int, body: dict[str, Any]) -> Said | None:
        # The line before the request is on the disk; the rest of another one was cut off.
        (ledger,) = bench.runtime.cache_folder("judgments").glob("*.spent")
        kept.append(ledger.read_bytes())
        return None

    kept: list[bytes] = []
    bench.start(kill)
    with pytest.raises(IncompleteError):
        bench.score(max_cost=1200.0, spending=Spending())
    ledger = bench.store.with_suffix(".spent")
    lines = bench.store.read_bytes().splitlines(keepends=True)
    bench.store.write_bytes(lines[0])
    ledger.write_bytes(kept[0] + b'\n{"sent": {"x-0": 5')
    spending = Spending()
    with pytest.raises(IncompleteError, match=r"0\.0000 USD spent, at most 10\d\d.*3 of 3 quest"):
        bench.score(max_cost=1200.0, spending=spending)
    assert len(bench.server.bodies) == 1
    # Later lines are read although one was cut off.
    bench.score(max_cost=9e3, spending=Spending())
    bench.score(max_cost=9e3, spending=spending)
    assert 500 < spending.known < 600
    assert 1000 < spending.unknown < 1100


def test_a_reply_without_a_price_leaves_the_cost_of_the_others_known(bench: Bench) -> None:
    bench.start(lambda number, body: completion(body, "no") if number == 0 else None)
    bench.score(concurrency=1)
    bench.set_price(1e6, 0.0)
    table = bench.score(concurrency=1, seed=1)
    known = member(table)["cost"]
    bench.corpus = replace(bench.corpus, sources=("She go .", *bench.corpus.sources[1:]))
    cost = member(bench.score(concurrency=1))["cost"]
    # Two of the three replies were stored when no price was known.
    assert (cost["unpriced"], known.get("unpriced")) == (2, None)
    assert 100 < cost["amount"] < known["amount"]
    rows = bench.score(concurrency=1).statistics.details["audit"]["rows"]
    (said,) = (row["value"] for row in rows if row["what"] == "cost")
    assert said.endswith(" USD (prices: 2020-01-01), 2 replies without a known price")


def test_the_date_is_that_of_the_prices_that_were_used(bench: Bench) -> None:
    bench.set_price(1e6, 0.0)
    bench.score()
    path = bench.runtime.cache_folder("prices.json")
    path.write_text(path.read_text().replace("2020-01-01", "2021-01-01"))
    assert member(bench.score())["cost"]["prices"] == "2020-01-01"
    bench.corpus = replace(bench.corpus, sources=("She go .", *bench.corpus.sources[1:]))
    assert member(bench.score())["cost"]["prices"] == "2020-01-01 and 2021-01-01"


# --- what the server says about itself ------------------------------------------------------------


def by(model: str) -> Callable[[int, dict[str, Any]], Said]:
    """Return a server that says that a model answers, whatever was asked for."""

    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, sound_reply(body))
        said.body["model"] = model
        return said

    return behave


@pytest.mark.parametrize(
    ("asked", "said", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("openai/gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("gemini-2.0-flash", "models/gemini-2.0-flash-001", True),
        ("Qwen/Qwen3-8B", "Qwen3-8B-Q4_K_M.gguf", True),
        ("qwen3-8b", "qwen/qwen3-8b@q4_k_m", True),
        ("gemma-3-1b", "gemma-3-1b-it", True),
        ("/models/m/", "m", True),
        ("m", "", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4", "gpt-4.1", False),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
        ("Qwen3-32B", "Qwen3-8B", False),
        ("Qwen3-32B", "gemma-3-1b-it", False),
        ("m", "q4" + "_it" * 50 + "!", False),
    ],
)
def test_a_dated_or_prefixed_name_is_the_same_model(asked: str, said: str, same: bool) -> None:
    assert same_model(asked, said) is same


def test_another_model_than_asked_is_named_also_from_the_store(bench: Bench) -> None:
    bench.start(by("gemma-3-1b-it"))
    for _ in range(2):
        table = bench.score(model="tiny+other")
        panel, *notes = table.statistics.notes
        assert panel.startswith("the panel's agreement is not measured: gemma-3-1b-it answered for")
        assert [note.partition(";")[0] for note in notes] == [
            f"{name}: according to the server, gemma-3-1b-it wrote 3 of 3 replies"
            for name in ("tiny", "other")
        ]
        assert "panel" not in table.statistics.details["audit"]
    assert len(bench.server.bodies) == 6
    # With one name of the two in place, it still is one model.
    bench.start(by("openai/tiny-2026-01-01"))
    panel, note = bench.score(model="tiny+other").statistics.notes
    assert ("answered for several" in panel, note.startswith("other: ")) == (True, True)
    assert bench.score().statistics.notes == ()


def test_a_reply_with_marks_of_a_stream_is_read(bench: Bench) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        reply = json.dumps(completion(body, sound_reply(body)).body)
        before = "data: " if number else ""
        return Said(raw=f"{before}{reply}\n\ndata: [DONE]\n\n".encode())

    bench.start(behave)
    assert np.array_equal(bench.score().sentences, expected(bench.corpus))
    assert len(bench.server.bodies) == 3


def test_no_proxy_stands_before_this_machine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://user:secret@127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert bench.score().missing == 0
    assert bench.score(base_url=bench.server.url.replace("127.0.0.1", "localhost")).missing == 0
    with pytest.raises(
        InputError,
        match=r"http://gpu.invalid/v1 \(through the proxy http://127.0.0.1:9\) gives no answer",
    ):
        bench.score(base_url="http://gpu.invalid/v1")
    monkeypatch.setenv("no_proxy", "gpu.invalid")
    with pytest.raises(InputError, match=r"http://gpu.invalid/v1 gives no answer"):
        bench.score(base_url="http://gpu.invalid/v1")


def test_a_long_wait_is_told_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "backoff", lambda *arguments: 0.01)
    monkeypatch.setattr(client, "_TOLD_FROM", 0.01)
    told: list[str] = []
    bench.runtime = replace(bench.runtime, tell=told.append)
    bench.start(lambda number, body: error(429, "slow down") if number < 4 else None)
    bench.score()
    assert told == [
        f"{bench.server.url}: rate limit (429): slow down; waiting 0 s before asking again"
    ]


# --- pace, size and time --------------------------------------------------------------------------


def test_retry_after_reads_seconds_milliseconds_and_dates() -> None:
    assert retry_after({"retry-after": "2"}) == 2
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    date = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert date is not None
    assert 28 < date <= 30
    assert retry_after({}) is None
    for value in ("soon", "", "nan", "-5", "Mon, 01 Jan 0001 00:00:00 -2359"):
        assert not retry_after({"retry-after": value})


def test_backoff_grows_with_jitter_and_honours_the_server() -> None:
    source = random.Random(0)
    for attempt in range(12):
        assert backoff(attempt, None, source) <= min(120, 0.5 * 2**attempt)
        assert 3 <= backoff(attempt, 3.0, source) <= 3.3
    assert len({backoff(3, None, source) for _ in range(20)}) == 20


def test_the_limit_halves_once_for_a_burst_and_grows_back() -> None:
    async def check() -> None:
        pace = RequestPace(16)
        for _ in range(10):  # refused together, which counts once
            pace.slow_down(0.0)
        assert pace.limit == 8
        for _ in range(8):
            await pace.enter()
            await pace.leave(answered=True)
        assert 8.9 < pace.limit <= 9  # it grows by one after as many answers as the limit
        for _ in range(1_000):
            await pace.enter()
            await pace.leave(answered=True)
        assert pace.limit == 16

    asyncio.run(check())


def test_a_pause_is_honoured_by_all(bench: Bench) -> None:
    fault = error(429, "x", {"retry-after": "0.3"})
    bench.start(lambda number, body: None if number else fault)
    bench.score(concurrency=1)
    gaps = np.diff(bench.server.times)
    assert gaps[0] >= 0.3
    assert (gaps[1:] < 0.25).all()


def limited(limits: Limits, made: list[OpenAIBackend]) -> Callable[..., OpenAIBackend]:
    """Return a connection with limits on what a server may send."""

    def connect(model: Model, *, batch: bool = False) -> OpenAIBackend:
        made.append(OpenAIBackend(model, limits))
        return made[-1]

    return connect


def test_concurrency_falls_under_rate_limits_and_stays_below_the_option(bench: Bench) -> None:
    lines = [f"Sentence {number} ." for number in range(16)]
    bench.corpus = corpus_of_texts(lines, lines)

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        busy = bench.server.under_way > 4
        return error(429, "too many", {"retry-after": "0.02"}) if busy else None

    bench.start(behave, latency=0.01)
    made: list[OpenAIBackend] = []
    assert bench.score(limited(Limits(), made), concurrency=16).missing == 0
    assert 4 < bench.server.most_under_way <= 16
    assert made[0].pace.limit < 16


ENDLESS = b'{"choices": "' + b"x" * 20_000_000


@pytest.mark.security
@pytest.mark.parametrize(("status", "packed"), [(200, False), (200, True), (500, False)])
def test_an_oversized_reply_is_abandoned_at_once(bench: Bench, status: int, packed: bool) -> None:
    raw = gzip.compress(ENDLESS, 1) if packed else ENDLESS
    headers = {"content-encoding": "gzip"} if packed else {}
    bench.start(lambda number, body: Said(status, raw=raw, headers=headers))
    with pytest.raises(InputError, match=r"gives no answer: a reply of more than 1 MB"):
        bench.score(concurrency=1)
    assert len(bench.server.bodies) == 3
    assert bench.server.sent < 30_000_000  # of 60 MB: only what was in buffers
    # A later run asks again, and the repaired server's replies are used.
    bench.server.behave = lambda number, body: None
    assert bench.score().missing == 0


@pytest.mark.security
def test_a_reply_that_drips_runs_out_of_time(bench: Bench) -> None:
    bench.start(lambda number, body: Said(body={}, raw=b"x" * 10_000, drip=0.02))
    start = time.monotonic()
    with pytest.raises(InputError, match="the request timed out"):
        bench.score(limited(Limits(seconds=0.1), []), concurrency=1)
    assert time.monotonic() - start < 10


@pytest.mark.security
@pytest.mark.parametrize(
    ("status", "header", "value", "minutes"),
    [
        (429, "retry-after", "601", "10"),
        (503, "retry-after", "86400", "1440"),
        (500, "retry-after-ms", "9999999999", ""),
        (429, "retry-after", "inf", ""),
        (429, "retry-after", "Fri, 31 Dec 9999 23:59:59 GMT", ""),
    ],
)
def test_a_long_wait_is_reported_and_ends_the_run(
    bench: Bench, status: int, header: str, value: str, minutes: str
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if number == 1:  # a wait that is respected until the run ends
            return error(429, "x", {"retry-after": "300"})
        return error(status, "x", {header: value}) if number == 2 else None

    bench.start(behave, latency=0.05)
    start = time.monotonic()
    with pytest.raises(IncompleteError, match=rf"asks to wait {minutes}.*run the same") as caught:
        bench.score()
    assert caught.value.exit_status == 1
    assert time.monotonic() - start < 5
    bench.server.behave = lambda number, body: None
    bench.score()
    assert sorted(bench.server.asked.values()) == [1, 2, 2]  # answers were kept


@pytest.mark.security
@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_receives_neither_key_nor_sentences(bench: Bench, status: int) -> None:
    other = bench.server
    place = f"{other.url}/chat/completions?api_key=hidden"
    bench.start(lambda number, body: Said(status, raw=b"", headers={"location": place}))
    with pytest.raises(OptionError, match=rf"redirects requests to '{other.url}.*not foll") as e:
        bench.score(api_key_env="OPENAI_API_KEY")
    assert "hidden" not in str(e.value)
    assert not other.bodies
    assert not other.authorizations


def test_several_servers_share_the_work(bench: Bench) -> None:
    first, second = bench.start(latency=0.05), bench.start(latency=0.05)
    assert bench.score(base_url=f"{first.url}+{second.url}").missing == 0
    assert len(first.bodies) + len(second.bodies) == 3
    assert first.bodies
    assert second.bodies


def test_a_running_event_loop_is_no_obstacle(bench: Bench) -> None:
    async def inside() -> int:
        return bench.score().missing

    assert asyncio.run(inside()) == 0

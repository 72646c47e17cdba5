"""The OpenAI backend with a server that misbehaves: nothing is lost or asked twice."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import GecjuryError, IncompleteError, InputError, OptionError
from gecjury.core.runtime import Runtime, Spending
from gecjury.corpus.corpus import Corpus, corpus_of_texts
from gecjury.judges.asking.exchange import Attempt, Model, Reply
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.backends.bounded import Limits
from gecjury.judges.backends.openai import OpenAIBackend
from gecjury.scoring.scorer import Scorer
from tests.judges.faultserver import FaultServer, Said, completion, score_of, sound_reply

Serve = Callable[..., FaultServer]
Make = Callable[..., Scorer]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits between tries to milliseconds."""
    from gecjury.judges.backends import openai as openai_client
    from gecjury.judges.backends.openai import backoff

    def quick(attempt: int, asked: float | None, source: random.Random) -> float:
        return backoff(attempt, asked, source) / (100 if asked is None else 1)

    monkeypatch.setattr(openai_client, "backoff", quick)


def expected(corpus: Corpus) -> np.ndarray[Any, Any]:
    """Return the score of every text by the server's rule."""
    return np.array([[score_of(x) for x in v.lines] for v in corpus.systems.values()], dtype=float)


def test_sound_replies(serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime) -> None:
    server = serve()
    table = judge(server).score_corpus(corpus, runtime)
    assert np.array_equal(table.sentences, expected(corpus))
    assert max(server.asked.values()) == 1
    assert len(server.bodies) == 3
    audit = table.statistics.details["audit"]["members"][0]
    assert (audit["valid"], audit["refused"], audit["truncated"], audit["unparsable"]) == (
        3, 0, 0, 0,
    )  # fmt: skip
    # a request contains what it needs and nothing else
    body = server.bodies[0]
    assert set(body) == {
        "model", "messages", "temperature", "seed", "max_tokens", "response_format",
        "chat_template_kwargs",
    }  # fmt: skip
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["response_format"]["json_schema"]["schema"]["required"] == [
        "target1_score",
        "target2_score",
    ]
    assert server.authorizations == {"Bearer none"}


def test_a_second_run_asks_nothing(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve()
    first = judge(server).score_corpus(corpus, runtime)
    second = judge(server).score_corpus(corpus, runtime)
    assert len(server.bodies) == 3
    assert np.array_equal(first.sentences, second.sentences)


@pytest.mark.parametrize(
    "fault",
    [
        Said(500, {"error": {"message": "oops"}}),
        Said(503, {"error": {"message": "busy"}}, {"retry-after": "0.05"}),
        Said(429, {"error": {"message": "slow down"}}, {"retry-after": "0.05"}),
        Said(429, {"error": {"message": "slow down"}}, {"retry-after-ms": "50"}),
        Said(200, {"choices": "x" * 400}, cut=True),
        Said(200, raw=b"<html>gateway</html>", headers={"content-type": "text/html"}),
        Said(200, raw=b"[1, 2]"),
        Said(200, raw=b'{"choices": [{"mess'),
        Said(408, {"error": {"message": "timeout"}}),
    ],
    ids=["500", "503", "429", "429ms", "cut", "html", "array", "half", "408"],
)
def test_transient_faults_are_retried(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, fault: Said
) -> None:
    # each prompt fails once
    failed: set[str] = set()

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        prompt = json.dumps(body["messages"])
        if prompt in failed:
            return None
        failed.add(prompt)
        return fault

    server = serve(behave)
    table = judge(server).score_corpus(corpus, runtime)
    assert np.array_equal(table.sentences, expected(corpus))
    assert len(server.bodies) == 6
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["requests"]["retried"] == 0  # no bad reply was received, only faults


def test_retry_after_is_honoured_by_all(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        return (
            Said(429, {"error": {"message": "x"}}, {"retry-after": "0.6"}) if not number else None
        )

    server = serve(behave)
    judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    gaps = np.diff(server.times)
    assert gaps[0] >= 0.6
    assert (gaps[1:] < 0.5).all()


def test_concurrency_falls_under_rate_limits_and_stays_below_the_option(
    serve: Serve, judge: Make, runtime: Runtime
) -> None:
    from gecjury.corpus.corpus import Version
    from gecjury.judges.backends.openai import OpenAIBackend

    backends: list[OpenAIBackend] = []

    def connect(model: Model, *, batch: bool = False) -> OpenAIBackend:
        backends.append(OpenAIBackend(model))
        return backends[-1]

    lines = tuple(f"Sentence {number} ." for number in range(60))
    corpus = Corpus(lines, {"x": Version(lines)})

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if server.under_way > 4:
            return Said(429, {"error": {"message": "too many"}}, {"retry-after": "0.02"})
        return None

    server = serve(behave, latency=0.02)
    judges = judge(server).asking(connect)
    table = judges.score_corpus(corpus, replace(runtime, concurrency=16))
    assert table.missing == 0
    assert 4 < server.most_under_way <= 16
    pace = backends[0].pace
    assert pace is not None
    assert pace.complaints > 0
    assert pace.lowest <= 8


BAD = [
    ({"text": "I would rather not say."}, "no-json", "unparsable"),
    ({"text": '{"target1_score": 9, "target2_score": 1}'}, "out-of-range", "unparsable"),
    ({"text": '{"target1_score": 4, "tar', "finish": "length"}, "truncated", "truncated"),
    ({"text": " \n" * 50, "finish": "length"}, "truncated", "truncated"),
    ({"text": "", "finish": "content_filter"}, "refused", "refused"),
    ({"text": "", "refusal": "I cannot help with that."}, "refused", "refused"),
    ({"text": "I'm sorry, but I can't do that."}, "refused", "refused"),
    ({"text": ""}, "empty", "unparsable"),
    (None, "empty", "unparsable"),
]


@pytest.mark.parametrize(("said", "kind", "group"), BAD)
def test_replies_that_stay_bad_are_missing_and_listed(
    serve: Serve,
    judge: Make,
    corpus: Corpus,
    runtime: Runtime,
    said: dict[str, Any] | None,
    kind: str,
    group: str,
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if "I likes cats" not in body["messages"][0]["content"]:
            return None
        if said is None:
            return Said(body={"choices": [], "usage": {"prompt_tokens": 5}})
        return completion(body, **said)

    server = serve(behave)
    scorer = judge(server, tries=3)
    table = scorer.score_corpus(corpus, runtime)
    # the sentence is missing: neither zero nor a tie
    assert np.isnan(table.sentences[:, 1]).all()
    assert np.array_equal(table.sentences[:, [0, 2]], expected(corpus)[:, [0, 2]])
    assert table.missing == 3
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["failures"] == {kind: 1}
    assert audit[group] == 1
    assert [entry["line"] for entry in audit["missing"]] == [2]
    assert len(server.bodies) == 2 + 3
    assert "lines 2" in table.statistics.notes[0]
    # the retries differ from the request that failed
    bad = [b for b in server.bodies if "I likes cats" in b["messages"][0]["content"]]
    changed = "max_tokens" if group == "truncated" else "seed"
    assert len({b[changed] for b in bad}) == 3
    # a later run does not pay again for a question that was given up
    again = scorer.score_corpus(corpus, runtime)
    assert len(server.bodies) == 5
    assert again.missing == 3


def test_a_bad_reply_is_kept_and_a_good_one_follows(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(lambda n, body: completion(body, "no") if n < 2 else None)
    table = judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert table.missing == 0
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    records = [json.loads(line) for line in store.read_text().splitlines()[1:]]
    assert [r["reply"]["text"] for r in records[:2]] == ["no", "no"]
    assert len(records) == 5


def test_the_answer_may_be_in_the_reasoning_field(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(lambda n, body: completion(body, "", reasoning_content=sound_reply(body)))
    table = judge(server).score_corpus(corpus, runtime)
    assert np.array_equal(table.sentences, expected(corpus))


JUDGES: list[dict[str, Any]] = [{}, {"protocol": "pointwise"}, {"protocol": "pairwise"}]


@pytest.mark.parametrize("options", [*JUDGES, {"reason": True}])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "content", "part", "marked"])
def test_a_draft_in_the_reasoning_is_no_verdict(
    serve: Serve,
    judge: Make,
    corpus: Corpus,
    runtime: Runtime,
    options: dict[str, Any],
    field: str,
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        draft = f"Could it be {sound_reply(body)}? No, I will say something else."
        if field == "content":
            return completion(body, f"<think>{draft}")
        if field == "marked":
            return completion(body, f"<|channel|>analysis<|message|>{draft}<|end|>")
        if field == "part":
            said = completion(body, "")
            part = {"type": "reasoning", "text": draft}
            said.body["choices"][0]["message"]["content"] = [part]
            return said
        return completion(body, "", **{field: draft})

    server = serve(behave)
    table = judge(server, tries=2, **options).score_corpus(corpus, runtime)
    assert np.isnan(table.sentences).all()
    audit = table.statistics.details["audit"]["members"][0]
    assert (audit["valid"], audit["requests"]["asked"]) == (0, 2 * audit["requests"]["distinct"])
    (note,) = (note for note in table.statistics.notes if "verdicts are missing" in note)
    inside = field in ("content", "marked")
    assert ("the reasoning never ends" if inside else "only reasoning") in note
    # What is stored is read in the same way.
    again = judge(server, tries=2, **options).score_corpus(corpus, runtime)
    assert np.isnan(again.sentences).all()


FATAL = [
    (Said(401, {"error": {"message": "Incorrect key sk-test-key-of-nobody"}}), "requires a key"),
    (Said(403, {"error": {"message": "not for you"}}), r"does not allow this \(403\)"),
    (Said(404, {"error": {"message": "no such model"}}), r"has no model 'tiny' \(404\)"),
    (Said(400, {"error": {"message": "no chat template is set"}}), "tiny has no chat template"),
    (Said(400, {"error": {"message": "you may not"}}), r"refuses the request \(400\): you may not"),
    (
        Said(429, {"error": {"message": "quota", "code": "insufficient_quota"}}),
        "quota is used up",
    ),
]


@pytest.mark.parametrize(("said", "message"), FATAL)
def test_permanent_faults_end_the_run_with_one_line(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, said: Said, message: str
) -> None:
    server = serve(lambda n, body: None if n == 0 else said)
    with pytest.raises(GecjuryError, match=message) as caught:
        judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)
    assert "sk-test" not in str(caught.value)
    # answers are kept, and their questions are not asked again
    server.behave = lambda n, body: None
    judge(server).score_corpus(corpus, runtime)
    answered = list(server.asked.values())
    assert sorted(answered) == [1, 1, 2]


def choice_with(**more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"content": ""}, **more}]}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "slow down", "code": 429}},
        {"error": {"message": "x", "code": "502"}, "choices": []},
        {"error": {"message": "x", "type": "rate_limit_error"}},
        {"error": {"message": "x", "code": 429, "status": "RESOURCE_EXHAUSTED"}},
        {"error": {"message": "x", "code": "server_error"}},
        choice_with(error={"message": "x", "code": 503}),
        choice_with(finish_reason="error"),
        {"object": "error", "message": "x", "code": 500},
    ],
)
def test_an_error_with_status_200_is_waited_for_like_any_other(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, body: dict[str, Any]
) -> None:
    server = serve(lambda n, _: Said(body=body) if n in (0, 2) else None)
    table = judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert np.array_equal(table.sentences, expected(corpus))
    assert sorted(server.asked.values()) == [1, 2, 2]
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["requests"]["retried"] == 0  # an error is no reply


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "no\x1b[2J credits", "code": 402}}, r"\(402\): no.*credits"),
        ({"error": "you may not"}, "refuses the request .*you may not"),
        (choice_with(error={"message": "bad input", "code": 400}), "bad input"),
        ({"error": {"message": "quota", "code": "insufficient_quota"}}, "quota is used up"),
        ({"error": {"message": "no such", "code": "model_not_found"}}, "has no model 'tiny'"),
        (
            {"error": {"message": "Provider", "code": 400, "metadata": {"raw": "own words"}}},
            "Provider: own words",
        ),
        ({"error": {"message": f"bad sk-test-key-of-nobody {'x' * 900}"}}, "bad "),
    ],
)
def test_another_error_with_status_200_ends_the_run(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, body: dict[str, Any], message: str
) -> None:
    server = serve(lambda n, _: Said(body=body))
    named = replace(runtime, concurrency=1, api_key_env="OPENAI_API_KEY")
    with pytest.raises(GecjuryError, match=message) as caught:
        judge(server).score_corpus(corpus, named)
    assert caught.value.exit_status == 2
    assert len(server.bodies) == 1
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert "sk-test" not in str(caught.value)


UNKNOWN = [
    (404, {"message": "The model `tiny` does not exist or you do not have access to it."}),
    (404, {"message": "model 'tiny' not found", "type": "not_found_error"}),
    (400, {"message": "tiny is not available", "code": "model_not_found"}),
    (400, {"message": "tiny is not a valid model ID. Model tiny not found"}),
]


@pytest.mark.parametrize(("status", "error"), UNKNOWN)
def test_an_unknown_model_is_reported_with_the_models_of_the_server(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, status: int, error: dict[str, str]
) -> None:
    server = serve(lambda n, body: Said(status, {"error": error}), latency=0.02)
    key = "sk-test-key-of-nobody"
    names = [f"other-{number:02}" for number in range(60)]
    server.models = {
        "data": [{"id": name} for name in ["tiny-8b", "Tiny", "x\x1b[2J", key, *names]]
    }
    with pytest.raises(OptionError) as caught:
        judge(server).score_corpus(corpus, replace(runtime, api_key_env="OPENAI_API_KEY"))
    said = str(caught.value)
    assert f"has no model 'tiny' ({status})" in said
    assert "did you mean " in said
    nearest = said.partition("did you mean ")[2].partition("?")[0].split(" or ")
    assert {"tiny-8b", "Tiny"} <= set(nearest)
    assert "other-07" in said
    assert said.endswith("and 24 more")
    assert said.isprintable()
    assert key not in said
    assert server.listed == 1  # once, although several requests were refused
    assert not list(runtime.cache_folder("judgments").glob("*.jsonl"))


@pytest.mark.security
@pytest.mark.parametrize(
    "listing", [None, [], {"data": "x"}, {"data": [{"id": 5}, {"id": []}, 7, {"id": ""}]}]
)
def test_an_unknown_model_of_a_server_that_lists_none(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, listing: Any
) -> None:
    server = serve(lambda n, body: Said(404, {"error": {"message": "no such page"}}))
    server.models = listing
    with pytest.raises(OptionError, match=r"\(404\): no such page; check model=.*usually /v1"):
        judge(server).score_corpus(corpus, runtime)


def test_a_refused_effort_is_left_out(serve: Serve, corpus: Corpus, runtime: Runtime) -> None:
    """A model that is not in the table may refuse an effort and return probabilities."""
    from gecjury.judges.backends.openai import request_body
    from gecjury.judges.judge import Judge
    from gecjury.scoring.registry import load

    scorer = load("llm-s:model=unheard-of,scoring=expected")
    assert isinstance(scorer, Judge)
    (model,) = scorer.models()
    attempt = Attempt(scorer.questions(corpus, model, runtime)[0].request)
    assert request_body(model, attempt, set())["reasoning_effort"] == "none"
    assert "reasoning_effort" not in request_body(model, attempt, {"reasoning_effort"})

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if "reasoning_effort" in body:
            message = "Unrecognized request argument supplied: reasoning_effort"
            return Said(400, {"error": {"message": message}})
        return completion(body, sound_reply(body))

    server = serve(behave)
    answered: list[Reply] = []
    backend = OpenAIBackend(replace(model, base_url=server.url))
    backend.run(
        Assignment(
            attempts=[attempt],
            deliver=lambda attempt, reply: answered.append(reply),
            may_send=lambda attempt: True,
            price=None,
            runtime=runtime,
        )
    )
    assert [reply.sent["left_out"] for reply in answered] == [["reasoning_effort"]]


def test_a_model_that_gives_no_probabilities_says_so(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    message = "logprobs are not supported with this model"
    server = serve(lambda n, body: Said(400, {"error": {"message": message, "param": "logprobs"}}))
    with pytest.raises(OptionError, match=r"returns no token probabilities .*scoring=argmax"):
        judge(server, scoring="expected").score_corpus(corpus, runtime)


def test_no_key(monkeypatch: pytest.MonkeyPatch, corpus: Corpus, runtime: Runtime) -> None:
    pytest.importorskip("openai")
    from gecjury.scoring.registry import load

    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(OptionError, match=r"no key for OpenAI: set \$OPENAI_API_KEY"):
        load("llm-s:model=gpt-6-luna").score_corpus(corpus, runtime)


def test_an_unreachable_server(corpus: Corpus, runtime: Runtime) -> None:
    pytest.importorskip("openai")
    from gecjury.scoring.registry import load

    scorer = load("llm-s:base_url=http://127.0.0.1:9/v1,model=tiny")
    with pytest.raises(InputError, match=r"http://127.0.0.1:9/v1 gives no answer: no connection"):
        scorer.score_corpus(corpus, runtime)


def test_settings_that_a_server_refuses_are_left_out_and_recorded(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        for name in ("temperature", "response_format", "chat_template_kwargs"):
            if name in body:
                message = f"Unsupported parameter: '{name}' is not supported"
                return Said(400, {"error": {"message": message, "param": name}})
        return None

    server = serve(behave)
    table = judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert np.array_equal(table.sentences, expected(corpus))
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    record = json.loads(store.read_text().splitlines()[1])
    assert record["reply"]["sent"]["left_out"] == [
        "chat_template_kwargs",
        "response_format",
        "temperature",
    ]
    # a schema that was explicitly requested is not left out
    with pytest.raises(InputError, match="refuses the request"):
        judge(server, structured="schema").score_corpus(
            corpus, replace(runtime, cache=runtime.cache_folder("other"))
        )


def test_a_schema_without_bounds_is_sent_where_they_are_refused(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if "maxLength" not in json.dumps(body):
            return None
        message = "Invalid schema for response_format 'verdict': 'maxLength' is not permitted."
        return Said(400, {"error": {"message": message, "param": "response_format"}})

    server = serve(behave)
    scorer = judge(server, reason=True, structured="schema")
    table = scorer.score_corpus(corpus, replace(runtime, concurrency=1))
    assert table.missing == 0
    schema = server.bodies[-1]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["reason"] == {"type": "string"}
    # It is refused once and left out from then on.
    assert len(server.bodies) == 4


def test_several_servers_share_the_work(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    first, second = serve(latency=0.05), serve(latency=0.05)
    table = judge(first, base_url=f"{first.url}+{second.url}").score_corpus(corpus, runtime)
    assert table.missing == 0
    assert len(first.bodies) + len(second.bodies) == 3
    assert first.bodies
    assert second.bodies


def test_the_cost_cap_is_respected(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, tmp_path: Any
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(
        json.dumps(
            {
                "date": "2020-01-01",
                "currency": "EUR",
                "models": {"tiny": {"input": 1e6, "output": 0}},
            }
        )
    )
    server = serve()
    scorer = judge(server)
    priced = replace(runtime, prices=prices, concurrency=4)
    plan = scorer.plan(corpus, priced)
    assert plan is not None
    assert plan.requests == 3
    assert not server.bodies
    # Room for one of three prompts of 190 tokens at 1 EUR each, held as 194 · 1.3 = 252.2:
    # 190 + 252.2 > 400.
    capped = Runtime(concurrency=4, cache=runtime.cache, prices=prices, max_cost=400.0)
    with pytest.raises(IncompleteError, match=r"stopped before --max-cost 400.*2 of 3 questions"):
        scorer.score_corpus(corpus, capped)
    assert len(server.bodies) == 1
    assert 0 < capped.spending.amount <= 400
    # with a higher cap the run continues where it stopped
    higher = Runtime(concurrency=4, cache=runtime.cache, prices=prices, max_cost=5000.0)
    table = scorer.score_corpus(corpus, higher)
    assert max(server.asked.values()) == 1
    cost = table.statistics.details["audit"]["members"][0]["cost"]
    assert math.isclose(cost["amount"], capped.spending.amount + higher.spending.amount)
    assert cost["currency"] == "EUR"


@pytest.mark.parametrize(
    "usage",
    [
        None, {}, {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -275, "completion_tokens": -40},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": "many", "completion_tokens": "few"}, {"completion_tokens": 20}, "275",
        {"prompt_tokens": 275, "completion_tokens": 0},
    ],
)  # fmt: skip
def test_the_cost_cap_holds_where_a_server_reports_no_tokens(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, usage: Any
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, sound_reply(body))
        said.body["usage"] = usage
        return said

    server = serve(behave)
    # Room for two of three prompts, each counted as 194 tokens · 1.3 = 252.2 USD.
    capped = replace(runtime, price=(1e6, 0.0), max_cost=750.0, spending=Spending())
    with pytest.raises(IncompleteError, match=r"50[45]\.\d+ USD \(an estimate: .*1 of 3 questions"):
        judge(server).score_corpus(corpus, capped)
    assert len(server.bodies) == 2
    table = judge(server).score_corpus(corpus, replace(capped, max_cost=2e3, spending=Spending()))
    audit = table.statistics.details["audit"]
    assert audit["members"][0]["cost"]["estimated"] == 3
    assert audit["members"][0]["cost"]["amount"] == pytest.approx(3 * 252.2, abs=3)
    (cost,) = (row["value"] for row in audit["rows"] if row["what"] == "cost")
    assert "an estimate: the server reports no tokens" in cost


@pytest.mark.parametrize("times", [1.0, 3.0, 9.0])
@pytest.mark.parametrize("line", ["I likes cats .", "私は学校に行くました。", "Я ходил в школа ."])
def test_the_cost_cap_holds_where_an_estimate_is_too_low(
    serve: Serve, judge: Make, runtime: Runtime, line: str, times: float
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, sound_reply(body))
        prompt = body["messages"][0]["content"]
        # Up to a fifth more tokens for some of the prompts, and more tokens than the cap allows.
        read = times * (1 + number % 3 / 10) * len(prompt.encode()) / 4
        said.body["usage"] = {"prompt_tokens": int(read), "completion_tokens": 2 * int(times) * 60}
        return said

    server = serve(behave, latency=0.01)
    lines = [f"{line} {number}" for number in range(60)]
    cap = 15_000.0 * times
    capped = replace(runtime, concurrency=16, price=(1e6, 1e6), max_cost=cap, spending=Spending())
    with pytest.raises(IncompleteError, match="stopped before --max-cost"):
        judge(server).score_corpus(corpus_of_texts(lines, lines), capped)
    assert 0.5 * cap < capped.spending.amount <= cap
    assert server.most_under_way > 1


def test_without_a_cap_no_tokenizer_is_loaded(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_tokenizer(model: str, thinking: bool | None) -> None:
        raise AssertionError(model)

    monkeypatch.setattr("gecjury.judges.asking.ask.counter_for", load_tokenizer)
    assert judge(serve()).score_corpus(corpus, runtime).missing == 0


def test_a_cap_needs_a_price(serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime) -> None:
    server = serve()
    with pytest.raises(OptionError, match=r"no price is known for 'tiny': .*--price IN,OUT"):
        judge(server).score_corpus(corpus, replace(runtime, max_cost=1.0))
    assert not server.bodies


def test_the_cost_cap_uses_a_given_price(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve()
    priced = replace(runtime, price=(1e6, 0.0), spending=Spending())
    plan = judge(server).plan(corpus, priced)
    assert plan is not None
    assert plan.cost == {"amount": plan.tokens["input"], "currency": "USD", "prices": "--price"}
    # Room for one of three prompts, as in the test above.
    with pytest.raises(IncompleteError, match=r"stopped before --max-cost 400.*2 of 3 questions"):
        judge(server).score_corpus(corpus, replace(priced, max_cost=400.0, spending=Spending()))
    assert len(server.bodies) == 1
    table = judge(server).score_corpus(corpus, replace(priced, spending=Spending()))
    cost = table.statistics.details["audit"]["members"][0]["cost"]
    tokens = table.statistics.details["audit"]["members"][0]["tokens"]
    assert cost == {"amount": tokens["input"], "currency": "USD", "prices": "--price"}


def test_a_dry_run_sends_nothing(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve()
    with pytest.raises(OptionError, match="a dry run asks nothing"):
        judge(server).score_corpus(corpus, replace(runtime, dry_run=True))
    plan = judge(server).plan(corpus, replace(runtime, dry_run=True))
    assert plan is not None
    assert plan.tokens["input"] > 0
    assert not server.bodies


async def _inside_a_loop(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> int:
    return scorer.score_corpus(corpus, runtime).missing


def test_a_running_event_loop_is_no_obstacle(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    import asyncio

    assert asyncio.run(_inside_a_loop(judge(serve()), corpus, runtime)) == 0


def limited(scorer: Scorer, limits: Limits) -> Scorer:
    """Return the judge with the given limits on what a server may send."""

    def connect(model: Model, *, batch: bool = False) -> OpenAIBackend:
        return OpenAIBackend(model, limits)

    bounded: Scorer = scorer.asking(connect)  # type: ignore[attr-defined]
    return bounded


ENDLESS = b'{"choices": "' + b"x" * 60_000_000


@pytest.mark.security
@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("packed", [False, True])
def test_an_oversized_reply_is_abandoned_at_once(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, status: int, packed: bool
) -> None:
    raw = gzip.compress(ENDLESS) if packed else ENDLESS
    headers = {"content-encoding": "gzip"} if packed else {}
    server = serve(lambda number, body: Said(status, raw=raw, headers=headers))
    with pytest.raises(
        InputError, match=r"gives no answer: a reply of more than 1 MB, which is too large"
    ):
        judge(server).score_corpus(corpus, replace(runtime, concurrency=1))
    assert len(server.bodies) == 3
    assert server.sent < 30_000_000  # of 180 MB: only what was in buffers
    # a later run asks again, and the repaired server's replies are used
    server.behave = lambda number, body: None
    assert judge(server).score_corpus(corpus, runtime).missing == 0


@pytest.mark.security
def test_a_reply_that_drips_runs_out_of_time(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(lambda number, body: Said(body={}, raw=b"x" * 10_000, drip=0.05))
    scorer = limited(judge(server), Limits(seconds=0.3))
    start = time.monotonic()
    with pytest.raises(InputError, match="the request timed out"):
        scorer.score_corpus(corpus, replace(runtime, concurrency=1))
    assert time.monotonic() - start < 10


def test_timeouts_lower_the_concurrency(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    backends: list[OpenAIBackend] = []

    def connect(model: Model, *, batch: bool = False) -> OpenAIBackend:
        backends.append(OpenAIBackend(model, Limits(seconds=1.0)))
        return backends[-1]

    server = serve(lambda number, body: Said(body={}, wait=1.5) if number < 3 else None)
    asking = judge(server).asking(connect)  # type: ignore[attr-defined]
    assert asking.score_corpus(corpus, runtime).missing == 0
    pace = backends[0].pace
    assert pace is not None
    assert pace.complaints == 3
    assert pace.lowest <= 2


@pytest.mark.security
@pytest.mark.parametrize(
    ("status", "header", "value", "duration"),
    [
        (429, "retry-after", "601", "10 minutes"),
        (503, "retry-after", "86400", "24 hours"),
        (500, "retry-after-ms", "9999999999", "more than two days"),
        (429, "retry-after", "inf", "more than two days"),
        (429, "retry-after", "Fri, 31 Dec 9999 23:59:59 GMT", "more than two days"),
    ],
)
def test_a_long_wait_is_reported_and_ends_the_run(
    serve: Serve,
    judge: Make,
    corpus: Corpus,
    runtime: Runtime,
    status: int,
    header: str,
    value: str,
    duration: str,
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if number == 1:  # a wait that is respected until the run ends
            return Said(429, {"error": {"message": "x"}}, {"retry-after": "300"})
        return Said(status, {"error": {"message": "x"}}, {header: value}) if number == 2 else None

    server = serve(behave, latency=0.05)
    start = time.monotonic()
    with pytest.raises(IncompleteError, match=rf"asks to wait {duration} .*run the same") as caught:
        judge(server).score_corpus(corpus, runtime)
    assert caught.value.exit_status == 1
    assert time.monotonic() - start < 5
    server.behave = lambda number, body: None
    judge(server).score_corpus(corpus, runtime)
    assert sorted(server.asked.values()) == [1, 2, 2]  # answers were kept


@pytest.mark.parametrize("value", ["soon", "", "nan", "-5", "Mon, 01 Jan 0001 00:00:00 -2359"])
def test_an_invalid_wait_is_ignored(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, value: str
) -> None:
    fault = Said(429, {"error": {"message": "x"}}, {"retry-after": value})
    server = serve(lambda number, body: None if number else fault)
    assert judge(server).score_corpus(corpus, runtime).missing == 0


@pytest.mark.security
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_receives_neither_key_nor_sentences(
    serve: Serve,
    judge: Make,
    corpus: Corpus,
    runtime: Runtime,
    status: int,
) -> None:
    other = serve()
    place = f"{other.url}/chat/completions?api_key=hidden"
    server = serve(lambda number, body: Said(status, raw=b"", headers={"location": place}))
    with pytest.raises(
        OptionError, match=rf"redirects requests to '{other.url}.*not followed"
    ) as e:
        judge(server).score_corpus(corpus, replace(runtime, api_key_env="OPENAI_API_KEY"))
    assert "hidden" not in str(e.value)
    assert not other.bodies
    assert not other.authorizations


SHAPES: dict[str, dict[str, Any]] = {
    "choices is text": {"choices": "x"},
    "choices is a number": {"choices": 7},
    "choices is an object": {"choices": {"0": {}}},
    "choice is null": {"choices": [None]},
    "choice is a list": {"choices": [[1]]},
    "message is text": {"choices": [{"message": "x"}]},
    "message is a list": {"choices": [{"message": [1]}]},
}


@pytest.mark.security
@pytest.mark.parametrize("shape", SHAPES)
def test_a_malformed_completion_is_counted(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, shape: str
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said | None:
        return Said(body=SHAPES[shape]) if "likes" in body["messages"][0]["content"] else None

    server = serve(behave)
    table = judge(server, tries=3).score_corpus(corpus, runtime)
    assert np.isnan(table.sentences[:, 1]).all()
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["failures"] == {"malformed": 1}
    assert audit["unparsable"] == 1
    assert len(server.bodies) == 2 + 3  # the usual number of tries
    judge(server, tries=3).score_corpus(corpus, runtime)
    assert len(server.bodies) == 5


@pytest.mark.parametrize(
    "usage",
    ["null", "[]", "7", '"x"', '{"prompt_tokens": -5, "completion_tokens": 1e999}',
     '{"prompt_tokens": NaN, "completion_tokens": true}',
     '{"prompt_tokens": [], "completion_tokens": 1e300}',
     '{"prompt_tokens": "many", "completion_tokens": {"a": 1}}'],
)  # fmt: skip
def test_invalid_token_counts(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, usage: str
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        record = {**completion(body, sound_reply(body)).body, "usage": "HERE"}
        return Said(raw=json.dumps(record).replace('"HERE"', usage).encode())

    table = judge(serve(behave)).score_corpus(corpus, runtime)
    assert np.array_equal(table.sentences, expected(corpus))
    tokens = table.statistics.details["audit"]["members"][0]["tokens"]
    assert tokens == {"input": 0, "output": 0, "reasoning": 0, "cached": 0}


@pytest.mark.security
@pytest.mark.parametrize("logprobs", ['"x"', "[1]", '{"content": 5}', '{"content": [7]}',
                                      '{"content": [{"token": "3", "top_logprobs": [{}]}]}',
                                      '{"content": [{"token": "3", "top_logprobs": '
                                      '[{"token": "3", "logprob": 1e308}]}]}'])  # fmt: skip
def test_malformed_probabilities_are_counted(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, logprobs: str
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        record = completion(body, sound_reply(body)).body
        record["choices"][0]["logprobs"] = "HERE"
        return Said(raw=json.dumps(record).replace('"HERE"', logprobs).encode())

    server = serve(behave)
    table = judge(server, scoring="expected").score_corpus(corpus, runtime)
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["failures"] == {"malformed": 3}
    # where they were not requested, they are ignored
    assert judge(server).score_corpus(corpus, runtime).missing == 0


def test_lone_surrogates_are_replaced(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve(lambda number, body: completion(body, "\ud83d " + sound_reply(body)))
    assert judge(server).score_corpus(corpus, runtime).missing == 0
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    assert '"text":"\\ufffd ' in store.read_text()


def test_a_stored_reply_is_not_read_again(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve()
    first = judge(server).score_corpus(corpus, runtime)
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    head, *lines = [json.loads(line) for line in store.read_text().splitlines()]
    assert all(len(record["read"]["scores"]) == 2 for record in lines)

    def rewrite(change: Callable[[dict[str, Any]], None]) -> None:
        with store.open("w") as file:
            for record in (head, *lines):
                record.pop("sum", None)
                change(record)
                text = json.dumps(record, sort_keys=True, separators=(",", ":"))
                record["sum"] = hashlib.sha256(text.encode()).hexdigest()[:8]
                file.write(json.dumps(record) + "\n")

    # a later version may read a reply differently: the stored verdict takes precedence
    rewrite(lambda record: "read" in record and record["read"].update(scores=[5.0, 1.0]))  # type: ignore[func-returns-value]
    again = judge(server).score_corpus(corpus, runtime)
    assert set(again.sentences.ravel()) <= {5.0, 1.0}
    # old stores have no verdicts, and malformed verdicts are ignored
    for kept in (None, {"scores": [9]}, [], {"failure": "x"}):
        rewrite(lambda record, kept=kept: record.update({"read": kept} if "key" in record else {}))  # type: ignore[misc]
        old = judge(server).score_corpus(corpus, runtime)
        assert np.array_equal(old.sentences, first.sentences)
    assert len(server.bodies) == 3


@pytest.mark.security
def test_a_stored_reply_that_cannot_be_read_is_asked_once_more(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    server = serve()
    first = judge(server).score_corpus(corpus, runtime)
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    lines = store.read_bytes().split(b"\n")
    store.write_bytes(b"\n".join([lines[0], b"[" * 9_000, *lines[2:]]))
    again = judge(server).score_corpus(corpus, runtime)
    assert len(server.bodies) == 4
    assert server.keys[3] in server.keys[:3]  # with the key of the first request
    assert np.array_equal(again.sentences, first.sentences)
    (note,) = again.statistics.notes
    assert f"{store.name}: 1 stored replies cannot be read (lines 2)" in note
    assert ".set-aside" in note
    third = judge(server).score_corpus(corpus, runtime)
    assert len(server.bodies) == 4
    assert not third.statistics.notes


@pytest.mark.security
@pytest.mark.parametrize(
    "url",
    ["http://[", "http://host:99999/v1", "http://host:0/v1", "ftp://host/v1", "file:///etc/passwd",
     "host", "http://", "http://a b/v1", "http://a\nb/v1", "http://" + "a" * 70 + ".com/v1",
     "http://[::1/v1", "//host/v1"],
)  # fmt: skip
def test_invalid_addresses(judge: Make, corpus: Corpus, runtime: Runtime, url: str) -> None:
    pytest.importorskip("openai")
    from gecjury.scoring.registry import load

    with pytest.raises(OptionError, match=r"is not an address \(it.*expected http://HOST:PORT/v1"):
        load("llm-s", model="tiny", base_url=url).score_corpus(corpus, runtime)


def test_an_invalid_proxy(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x:y@[")
    with pytest.raises(OptionError, match=r"the proxy that \$HTTP_PROXY.* cannot be used"):
        judge(serve()).score_corpus(corpus, runtime)


def test_a_proxy_is_used(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gecjury.judges.backends.bounded import bounded_client

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    client = bounded_client(Limits())
    assert client._transport_for_url(client.base_url.copy_with(scheme="http", host="a.example")) \
        is not client._transport  # fmt: skip

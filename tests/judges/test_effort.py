"""Reasoning effort: what is sent, refused, counted and paid for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.judges.backends.completion import read_completion
from gecjury.judges.backends.openai import request_body
from gecjury.judges.exchange import Attempt, Request
from gecjury.judges.judge import Judge
from gecjury.judges.models import Price
from gecjury.scoring.registry import load
from gecjury.scoring.scores import Plan
from tests.judges.conftest import Bench, member
from tests.judges.faultserver import Said, completion, sound_reply

OWN = "llm-s:model=qwen3,base_url=http://judge.example/v1"


def attempt_of(name: str, corpus: Corpus, runtime: Runtime) -> tuple[Judge, Attempt]:
    """Return a judge and its first question."""
    judge = load(name)
    assert isinstance(judge, Judge)
    (model,) = judge.models()
    return judge, Attempt(judge.questions(corpus, model, runtime)[0].request)


def test_without_an_effort_no_setting_of_the_request_changes(
    corpus: Corpus, runtime: Runtime
) -> None:
    _, attempt = attempt_of(OWN, corpus, runtime)
    # `{"target1_score":3,"target2_score":3}` has 37 characters: 37 + 18 + 32
    sampling = {"max_tokens": 87, "temperature": 0.0, "seed": 0, "thinking": False}
    assert attempt.request.sampling == sampling
    assert load(f"{OWN},effort=low").settings()["effort"] == "low"


@pytest.mark.parametrize(
    ("name", "sent", "room", "schema"),
    [
        # An answer has 37 characters with a schema; without one the typical answer has more.
        (f"{OWN},effort=none", {"thinking": False, "reasoning_effort": "none"}, 0, True),
        (f"{OWN},effort=low", {"thinking": True, "reasoning_effort": "low"}, 4096, False),
        (f"{OWN},effort=high", {"thinking": True, "reasoning_effort": "high"}, 16384, False),
        (f"{OWN},thinking=true", {"thinking": True}, 8192, False),
        (f"{OWN},thinking=true,effort=medium",
         {"thinking": True, "reasoning_effort": "medium"}, 8192, False),
        ("llm-s:model=gpt-6-luna", {}, 4096, True),
        ("llm-s:model=gpt-6-luna,effort=none", {"reasoning_effort": "none"}, 0, True),
        ("llm-s:model=gpt-6-luna,effort=minimal", {"reasoning_effort": "minimal"}, 1024, True),
        ("llm-s:model=gpt-6-luna,scoring=expected",
         {"reasoning_effort": "none", "logprobs": 20}, 0, True),
        ("llm-s:model=gpt-5,effort=high", {"reasoning_effort": "high"}, 16384, True),
        ("llm-s:model=unheard-of,effort=medium", {"reasoning_effort": "medium"}, 8192, True),
        ("llm-s:model=gpt-4o,effort=none", {}, 0, True),
        ("llm-s:backend=vllm,model=m,effort=low",
         {"thinking": True, "reasoning_effort": "low"}, 4096, False),
    ],
)  # fmt: skip
def test_an_effort_is_sent_with_room_for_it(
    corpus: Corpus, runtime: Runtime, name: str, sent: dict[str, Any], room: int, schema: bool
) -> None:
    _, attempt = attempt_of(name, corpus, runtime)
    sampling = dict(attempt.request.sampling)
    answer = len(attempt.request.expect)
    assert sampling.pop("max_tokens") == answer + answer // 2 + 32 + room
    assert {n: v for n, v in sampling.items() if n not in ("temperature", "seed")} == sent
    assert (attempt.request.schema is not None) is schema


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("llm-s:model=gpt-4o,effort=low", r"effort=low: gpt-4o never reasons; leave effort out"),
        ("llm-s:model=gpt-5,effort=none", r"effort=none: gpt-5 always reasons; use effort=low"),
        ("llm-s:model=gpt-6-luna,effort=low,scoring=expected",
         "returns no token probabilities while it reasons"),
        (f"{OWN},effort=none,thinking=true", "effort=none and thinking=true cannot be combined"),
        (f"{OWN},effort=max", "effort"),
    ],
)  # fmt: skip
def test_impossible_efforts_are_reported_before_anything_is_sent(
    corpus: Corpus, runtime: Runtime, name: str, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        load(name).plan(corpus, runtime)


def test_requests_state_the_effort_as_servers_expect_it(corpus: Corpus, runtime: Runtime) -> None:
    def body(name: str) -> dict[str, Any]:
        judge, attempt = attempt_of(name, corpus, runtime)
        sent = request_body(judge.models()[0], attempt, set())
        return {n: sent[n] for n in ("reasoning_effort", "extra_body") if n in sent}

    thinks = {"chat_template_kwargs": {"enable_thinking": True}}
    assert body(f"{OWN},effort=low") == {"reasoning_effort": "low", "extra_body": thinks}
    quiet = {"chat_template_kwargs": {"enable_thinking": False}}
    assert body(f"{OWN},effort=none") == {"reasoning_effort": "none", "extra_body": quiet}
    assert body("llm-s:model=gpt-5.1,effort=none") == {"reasoning_effort": "none"}
    deepseek = "llm-s:model=deepseek-flash,base_url=https://api.deepseek.com/v1"
    assert body(f"{deepseek},effort=high") == {
        "reasoning_effort": "high",
        "extra_body": {**thinks, "thinking": {"type": "enabled"}},
    }
    assert body(f"{deepseek},effort=none") == {
        "extra_body": {**quiet, "thinking": {"type": "disabled"}}
    }


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'reasoning_effort' does not support 'low' with this model.",
        "Thinking level LOW is not supported for this model.",
        '"tiny" does not support thinking',
    ],
)
def test_a_refused_effort_ends_the_run_unpaid(bench: Bench, message: str) -> None:
    bench.start(lambda n, body: Said(400, {"error": {"message": message}}))
    with pytest.raises(OptionError, match=r"refuses effort=low for tiny \(400\): .*leave it out"):
        bench.score(effort="low")
    assert not list(bench.runtime.cache_folder("judgments").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("usage", "counts", "cost"),
    [
        # 100 read, of which 60 were cached, and 50 written: 40 · 2 + 60 · .5 + 50 · 10
        ({"prompt_tokens": 100, "completion_tokens": 50,
          "prompt_tokens_details": {"cached_tokens": 60},
          "completion_tokens_details": {"reasoning_tokens": 30}}, (100, 50, 30, 60), 610),
        # reasoning that is counted only in the total: 10 · 2 + (5 + 30) · 10
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45,
          "completion_tokens_details": {"reasoning_tokens": 30}}, (10, 35, 30, 0), 370),
        # DeepSeek's name for cached tokens: 2 · 2 + 8 · .5 + 5 · 10
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8},
         (10, 5, 0, 8), 58),
        # more cached than read, more reasoning than written, and values that are not counts
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens":
          99}, "completion_tokens_details": {"reasoning_tokens": 99}}, (10, 5, 5, 10), 55),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": [],
          "completion_tokens_details": {"reasoning_tokens": "x"}}, (10, 5, 0, 0), 70),
    ],
)  # fmt: skip
def test_reasoning_and_cached_tokens_are_counted_and_paid(
    usage: dict[str, Any], counts: tuple[int, ...], cost: float
) -> None:
    request = Request(
        backend="openai", model="m", base_url="", messages=(), schema=None, sampling={}
    )
    record = {"choices": [{"message": {"content": "{}"}}], "usage": usage}
    reply = read_completion(record, Attempt(request), Price(2e6, 1e7, 5e5), ())
    assert (
        reply.input_tokens, reply.output_tokens, reply.reasoning_tokens, reply.cached_tokens
    ) == counts  # fmt: skip
    assert reply.cost == cost


def test_reasoning_without_an_answer_is_asked_again_with_twice_the_cap(bench: Bench) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        text = sound_reply(body)
        if number == 0:
            # A draft in the reasoning is not an answer.
            said = completion(body, "", "length", reasoning_content=text)
            said.body["usage"] = {"prompt_tokens": 9, "completion_tokens": body["max_tokens"]}
            return said
        said = completion(body, text)
        said.body["usage"] |= {"completion_tokens_details": {"reasoning_tokens": 4}}
        return said

    server = bench.start(behave)
    table = bench.score(effort="low", concurrency=1)
    assert table.missing == 0
    first, again = server.bodies[0], server.bodies[1]
    assert again["messages"] == first["messages"]
    assert again["max_tokens"] == 2 * first["max_tokens"]
    audit = member(table)
    assert audit["settings"]["reasoning"] == {
        "effort": "low", "replies": 4, "of": 4, "ran_out": 1
    }  # fmt: skip
    assert audit["tokens"]["reasoning"] == first["max_tokens"] + 3 * 4
    assert [note for note in table.statistics.notes if "reasoning used up" in note] == [
        "tiny: reasoning used up the token cap of 1 of 4 replies, whose questions are asked again "
        "with twice the cap; a lower effort (effort=low) costs less"
    ]
    record = json.loads(bench.store.read_text().splitlines()[1])
    assert record["reply"]["reasoning_tokens"] == first["max_tokens"]
    # The counts come from the store, and nothing is asked again.
    assert bench.score(effort="low").statistics.notes == table.statistics.notes
    assert len(server.bodies) == 4


@pytest.mark.parametrize(
    ("effort", "thoughts", "message"),
    [
        ("none", 7, "ignores effort=none (3 of 3 replies spent tokens on reasoning)"),
        ("none", 0, ""),
        ("high", 7, ""),
    ],
)
def test_an_effort_without_effect_is_reported(
    bench: Bench, effort: str, thoughts: int, message: str
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, sound_reply(body))
        details = {"reasoning_tokens": thoughts}
        said.body["usage"] |= {"completion_tokens": 20, "completion_tokens_details": details}
        return said

    bench.start(behave)
    table = bench.score(effort=effort)
    assert [message in note for note in table.statistics.notes] == ([True] if message else [])


def test_a_dry_run_shows_the_range_of_reasoning(corpus: Corpus, runtime: Runtime) -> None:
    plan = load("llm-s:model=gpt-6-luna,effort=low").plan(corpus, runtime)
    assert plan is not None
    # Three questions of 4096 / 16 to 4096 tokens each, at 0.5 dollars per million.
    assert plan.tokens["reasoning_least"] == 3 * 256
    assert plan.tokens["reasoning_most"] == 3 * 4096
    amount = plan.cost["amount"]
    assert isinstance(amount, float)
    assert plan.cost["least"] == pytest.approx(amount + 768 * 5e-7)
    assert plan.cost["most"] == pytest.approx(amount + 12_288 * 5e-7)
    (note,) = [n for n in plan.details["notes"] if "hidden tokens" in n]
    assert "256 to 4,096 of them per answer" in note
    # A model that does not reason has no range; in a sum its cost is the amount.
    usual = load("llm-s:model=gpt-4o").plan(corpus, runtime)
    assert usual is not None
    assert set(usual.tokens) == {"input", "output"}
    total = Plan.total([usual, plan])
    assert total.tokens["reasoning_most"] == 3 * 4096
    assert total.cost["most"] == pytest.approx(usual.cost["amount"] + plan.cost["most"])

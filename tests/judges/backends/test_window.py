"""Models with a short window: context is cut and reported, and too long prompts are left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges.asking.exchange import Attempt, Request
from gecjury.judges.backends.window import (
    fitted,
    less_context,
    listed_window,
    narrower,
    said_window,
    says_too_long,
)
from gecjury.judges.showing import cut_context
from gecjury.scoring.scorer import Scorer
from tests.judges.faultserver import FaultServer, Said, completion, score_of, sound_reply

Serve = Callable[..., FaultServer]
Make = Callable[..., Scorer]

BEFORE = " ".join(f"before{number}" for number in range(60))
AFTER = " ".join(f"after{number}" for number in range(60))


def small(window: int, dialect: str = "vllm") -> Callable[[int, dict[str, Any]], Said | None]:
    """Return a server with a short window; a token has four characters, as in its replies."""

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        del number
        read = sum(len(message["content"]) for message in body["messages"]) // 4
        room = body["max_tokens"] if dialect != "llama.cpp" else 0
        if read + room <= window:
            return None
        if dialect == "silent":
            said = completion(body, sound_reply(body))
            said.body["usage"]["prompt_tokens"] = window
            return said
        return Said(400, {"error": REFUSALS[dialect](window, read, room)})

    return behave


REFUSALS: dict[str, Callable[[int, int, int], dict[str, Any]]] = {
    "vllm": lambda window, read, room: {
        "message": f"This model's maximum context length is {window} tokens. However, you "
        f"requested {room} output tokens and your prompt contains {read} input tokens.",
        "type": "BadRequestError",
        "code": 400,
    },
    "openai": lambda window, read, room: {
        "message": f"Please reduce your {read} tokens ({window}, {room}).",
        "code": "context_length_exceeded",
    },
    "llama.cpp": lambda window, read, room: {
        "message": f"the request ({read} tokens) exceeds the available context size",
        "type": "exceed_context_size_error",
        "code": 400,
        "n_prompt_tokens": read,
        "n_ctx": window,
    },
}


@pytest.fixture
def long_context(corpus: Corpus) -> Corpus:
    """The second sentence has sixty words before and after it, the others none."""
    return replace(corpus, contexts=(("", ""), (BEFORE, AFTER), ("", "")))


def expected(corpus: Corpus) -> np.ndarray[Any, Any]:
    return np.array([[score_of(x) for x in v.lines] for v in corpus.systems.values()], dtype=float)


def member(table: Any) -> dict[str, Any]:
    audit: dict[str, Any] = table.statistics.details["audit"]["members"][0]
    return audit


@pytest.mark.parametrize("dialect", ["vllm", "openai", "llama.cpp"])
def test_context_is_cut_until_the_prompt_fits_and_this_is_reported(
    serve: Serve, judge: Make, long_context: Corpus, runtime: Runtime, dialect: str
) -> None:
    server = serve(small(310, dialect))
    server.models = {"object": "list", "data": [{"id": "tiny", "max_model_len": 310}]}
    table = judge(server).score_corpus(long_context, replace(runtime, concurrency=1))
    assert np.array_equal(table.sentences, expected(long_context))
    audit = member(table)
    assert audit["cut"] == {"questions": 1, "words": {"16": 1}, "window": 310, "lines": [2]}
    (note,) = [note for note in table.statistics.notes if "context was cut" in note]
    assert "the model's window of 310 tokens: 1 with 16 words of it on each side, of 3" in note
    assert "(lines 2)" in note
    # the window is looked up only if a refusal does not name it
    assert server.listed == (dialect == "openai")
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    cut = next(prompt for prompt in reversed(prompts) if "before59" in prompt)
    assert "\n… before44 " in cut
    assert "after15 …\n" in cut
    assert "before43" not in cut
    assert "after16" not in cut
    # the cut question is not asked again, and the notes are kept
    count = len(server.bodies)
    again = judge(server).score_corpus(long_context, runtime)
    assert len(server.bodies) == count
    assert again.statistics.notes == table.statistics.notes


def test_the_answer_cap_is_lowered_before_context_is_cut(
    serve: Serve, judge: Make, long_context: Corpus, runtime: Runtime
) -> None:
    # the whole prompt fits, but not together with the generous cap
    server = serve(small(10_000))
    judge(server).score_corpus(long_context, runtime)
    longest = max(len(body["messages"][0]["content"]) // 4 for body in server.bodies)
    cap = server.bodies[0]["max_tokens"]
    server = serve(small(longest + cap - 1))
    table = judge(server, seed=1).score_corpus(long_context, runtime)
    assert table.missing == 0
    assert "cut" not in member(table)
    assert min(body["max_tokens"] for body in server.bodies) < cap


def test_only_prompts_that_cannot_fit_are_left_out_until_the_window_is_longer(
    serve: Serve, judge: Make, long_context: Corpus, runtime: Runtime
) -> None:
    texts = ["She goes .", "word " * 2_000, "He is ."]
    corpus = replace(long_context, systems={**long_context.systems, "d": Version(tuple(texts))})
    server = serve(small(500))
    table = judge(server).score_corpus(corpus, runtime)
    assert np.isnan(table.sentences[:, 1]).all()
    assert not np.isnan(table.sentences[:, [0, 2]]).any()
    audit = member(table)
    assert audit["failures"] == {"too-long": 1}
    assert (audit["valid"], audit["requests"]["stored"]) == (2, 0)
    (note,) = table.statistics.notes
    assert "1 prompts do not fit the model, even without context (lines 2)" in note
    assert "the window of 500 tokens without any context" in note
    assert "Start the model with a longer window" in note
    # the other two are kept, and the third does not count as permanently failed
    count = len(server.bodies)
    server.behave = small(10_000)
    table = judge(server).score_corpus(corpus, runtime)
    assert len(server.bodies) == count + 1
    assert table.missing == 0
    assert table.statistics.notes == ()


@pytest.mark.parametrize("judged", ["llm-s:protocol=pointwise", "llm-s:protocol=pairwise"])
def test_other_prompts_are_cut_as_well(
    serve: Serve, judge: Make, long_context: Corpus, runtime: Runtime, judged: str
) -> None:
    server = serve(small(400))
    name, _, option = judged.partition(":protocol=")
    table = judge(server, name, protocol=option).score_corpus(long_context, runtime)
    assert table.missing == 0
    assert member(table)["cut"]["lines"] == [2]


def test_a_server_that_silently_cuts_prompts_is_reported(
    serve: Serve, judge: Make, long_context: Corpus, runtime: Runtime
) -> None:
    table = judge(serve(small(60, "silent"))).score_corpus(long_context, runtime)
    (note,) = table.statistics.notes
    assert "far fewer tokens than the prompt has in 3 questions (lines 1, 2, 3)" in note
    sound = judge(serve(), seed=1).score_corpus(long_context, runtime)
    assert sound.statistics.notes == ()


def test_a_server_that_accepts_a_schema_only_as_json_object(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    """Like llama-cpp-python, which reports a request that it cannot validate as a server error."""

    def behave(number: int, body: dict[str, Any]) -> Said | None:
        if body.get("response_format", {}).get("type") == "json_schema":
            said = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]"
            return Said(500, {"error": {"message": said, "type": "internal_server_error"}})
        return None

    server = serve(behave)
    options = {"structured": "schema"}
    table = judge(server, **options).score_corpus(corpus, replace(runtime, concurrency=1))
    assert np.array_equal(table.sentences, expected(corpus))
    assert len(server.bodies) == 4  # the form is tried once
    form = server.bodies[-1]["response_format"]
    assert form["type"] == "json_object"
    assert form["schema"]["required"] == ["target1_score", "target2_score"]
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    record = json.loads(store.read_text().splitlines()[1])
    assert record["reply"]["sent"]["left_out"] == ["json_schema"]


def test_a_server_without_probabilities(
    serve: Serve, judge: Make, corpus: Corpus, runtime: Runtime
) -> None:
    said = "logprobs is not supported for models created with logits_all=False"
    server = serve(lambda n, body: Said(500, {"error": {"message": said}}))
    with pytest.raises(OptionError, match=r"returns no token probabilities.*--logits_all true"):
        judge(server, scoring="expected").score_corpus(corpus, replace(runtime, concurrency=1))
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("status", "error", "window"),
    [
        (400, {"message": "This model's maximum context length is 8192 tokens. However"}, 8192),
        (400, {"message": "the model's context length is only 2048 tokens"}, 2048),
        (400, {"message": "x", "type": "exceed_context_size_error", "n_ctx": 512}, 512),
        (413, {"message": "x", "code": "context_length_exceeded"}, None),
        (400, {"message": "(length 3000) is longer than the maximum model length of 2048."}, 2048),
        (422, {"message": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given"}, None),
        (500, {"message": "Requested tokens (9000) exceed context window of 4096"}, 4096),
        (
            500,
            {"message": "could not broadcast input array from shape (17,) into shape (0,)"},
            None,
        ),
    ],
)
def test_refusals_of_long_prompts_are_recognised(
    status: int, error: dict[str, Any], window: int | None
) -> None:
    assert says_too_long(status, error, error["message"])
    assert said_window(error, error["message"]) == window


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"),
        (401, "context length"),
        (500, "out of memory"),
        (400, "this essay is longer than others"),
    ],
)
def test_other_errors_are_not_refusals_of_long_prompts(status: int, text: str) -> None:
    assert not says_too_long(status, {"message": text}, text)


@pytest.mark.security
def test_listings_of_models() -> None:
    def listing(**entry: Any) -> dict[str, Any]:
        return {"data": [{"id": "other", "max_model_len": 1}, {"id": "m", **entry}]}

    assert listed_window(listing(max_model_len=512), "m") == 512
    assert listed_window(listing(meta={"n_ctx_train": 8192, "n_ctx": 1024}), "m") == 1024
    assert listed_window(listing(context_length=4096), "m") == 4096
    assert listed_window(listing(), "m") is None
    assert listed_window({"data": [{"id": "x.gguf", "meta": {"n_ctx": 64}}]}, "m") == 64
    for odd in (None, [], {"data": 3}, {"data": [None]}, listing(max_model_len="many")):
        assert listed_window(odd, "m") is None


def test_fitting_lowers_the_cap_no_further_than_an_answer_needs() -> None:
    request = Request(
        backend="vllm",
        model="m",
        base_url="",
        messages=({"role": "user", "content": "a b c"},),
        schema=None,
        sampling={"max_tokens": 100, "thinking": False},
        expect="x" * 20,
        cut=lambda words: f"{words} left",
    )
    attempt = Attempt(request)
    assert fitted(attempt, 400, 500) is attempt
    lowered = fitted(attempt, 450, 500)
    assert lowered is not None
    assert lowered.sampling["max_tokens"] == 50
    assert fitted(attempt, 480, 500) is None
    thinking = Attempt(replace(request, sampling={"max_tokens": 5_000, "thinking": True}))
    assert fitted(thinking, 450, 500) is None
    # if only the server can count: first the cap is lowered, then context is cut step by step
    steps, now = [], narrower(attempt, 500)
    while now is not None:
        steps.append((now.sampling["max_tokens"], now.messages[0]["content"]))
        now = narrower(now, 500)
    assert steps == [(28, "a b c"), *((28, f"{words} left") for words in (32, 16, 8, 0))]
    assert less_context(Attempt(replace(request, cut=None)), None) is None
    assert less_context(Attempt(replace(request, cut=lambda words: "a b c")), None) is None


def test_words_of_context() -> None:
    assert cut_context(("a b c", "d e f"), 2) == ("… b c", "d e …")
    assert cut_context(("a b", ""), 2) == ("a b", "")
    assert cut_context(("a b", "c"), 0) is None
    assert cut_context(None, 5) is None

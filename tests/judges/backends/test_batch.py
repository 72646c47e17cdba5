"""The Batch API with a local server: any order, duplicates, expired, partial and odd batches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import IncompleteError, InputError, OptionError
from gecjury.core.runtime import Spending
from gecjury.corpus.texts import corpus_of_texts
from gecjury.scoring.registry import load
from tests.judges.conftest import Bench, expected
from tests.judges.faultserver import FaultServer, batch_lines, finish_with

Lines = list[dict[str, Any]]


@pytest.fixture
def batched(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A judge that asks in batches, and waits two milliseconds for a second."""
    real = asyncio.sleep
    sleep = "gecjury.judges.backends.openai_batch.asyncio.sleep"
    monkeypatch.setattr(sleep, lambda seconds: real(seconds / 500))
    bench.runtime = replace(bench.runtime, batch=True)
    return bench


def changing(change: Callable[[Lines], Lines], *, always: bool = False) -> Any:
    """Return how a server finishes a batch: the lines of the first one, or of all, are changed."""

    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        finish_with(server, batch, change(lines) if always or len(server.batches) == 1 else lines)

    return finish


def sizes(server: FaultServer) -> list[int]:
    """Return how many requests each batch had."""
    return [len(server.files[batch["input_file_id"]].splitlines()) for batch in server.batches]


def test_a_batch_is_submitted_polled_and_collected(batched: Bench) -> None:
    table = batched.score()
    assert np.array_equal(table.sentences, expected(batched.corpus))
    assert len(batched.server.batches) == 1
    line = json.loads(batched.server.files["file-0"].decode().splitlines()[0])
    assert line["url"] == "/v1/chat/completions"
    assert line["body"]["chat_template_kwargs"] == {"enable_thinking": False}
    # An ordinary run uses the same store: a batch is only another way to send requests.
    assert np.array_equal(batched.score(batch=False).sentences, table.sentences)
    assert not batched.server.bodies


def reordered(lines: Lines) -> Lines:
    return [*lines[::-1], lines[0], {**lines[0], "custom_id": "somebody-else"}, {"odd": 1}]


def disputed(lines: Lines) -> Lines:
    """Give the answer to the second request the name of the first."""
    lines[1]["custom_id"] = lines[0]["custom_id"]
    lines[1]["response"]["body"]["choices"][0]["message"]["content"] = '{"score": 1}'
    return lines


def unreadable(lines: Lines) -> Lines:
    lines[0]["response"]["body"]["choices"][0]["message"]["content"] = "no"
    return lines


def odd(line: dict[str, Any]) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        text = json.dumps(line).replace("HERE", lines[0]["custom_id"])
        return [json.loads(text), *lines[1:]]

    return change


ODD_LINES: list[dict[str, Any]] = [
    {"custom_id": "HERE", "response": [1]},
    {"custom_id": "HERE", "response": {"status_code": 200, "body": [1]}},
    {"custom_id": "HERE", "response": {"status_code": 400, "body": "x"}, "error": "y"},
    {"custom_id": "HERE", "response": {"status_code": 400, "body": {"error": [5]}}},
    {"custom_id": "HERE", "error": 7},
    {"custom_id": "HERE", "response": {"status_code": 200, "body": {"error": {"code": 429}}}},
    {"custom_id": ["HERE"]},
    {"response": None},
]


@pytest.mark.security
@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (reordered, [3]),
        (disputed, [3, 2]),
        (lambda lines: lines[:1], [3, 2]),
        (unreadable, [3, 1]),
        *((odd(line), [3, 1]) for line in ODD_LINES),
    ],
)
def test_each_request_gets_its_own_answer_and_the_rest_is_submitted_again(
    batched: Bench, change: Callable[[Lines], Lines], asked: list[int]
) -> None:
    batched.server.finish_batch = changing(change)
    assert np.array_equal(batched.score().sentences, expected(batched.corpus))
    assert sizes(batched.server) == asked
    # Nobody else's answer and no duplicate is stored.
    stored = len(batched.store.read_text().splitlines()) - 1
    assert stored == 3 + (change is unreadable)


def test_an_expired_batch_keeps_its_part_and_the_rest_is_resubmitted(batched: Bench) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        if len(server.batches) > 1:
            finish_with(server, batch, lines)
            return
        finish_with(server, batch, lines[:1], "expired")
        fault = {"code": "batch_expired", "message": "expired"}
        failed = [{"custom_id": line["custom_id"], "error": fault} for line in lines[1:]]
        content = "".join(json.dumps(line) + "\n" for line in failed).encode()
        batch["error_file_id"] = server.keep(content)

    batched.server.finish_batch = finish
    assert np.array_equal(batched.score().sentences, expected(batched.corpus))
    assert sizes(batched.server) == [3, 2]


def test_a_killed_run_finds_its_batch_again(
    batched: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    batched.server.polls_to_finish = 10_000
    with monkeypatch.context() as patch:

        def killed(*arguments: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr("gecjury.judges.backends.openai_batch.BatchBackend._wait", killed)
        with pytest.raises(KeyboardInterrupt):
            batched.score()
    batched.server.polls_to_finish = 0
    assert batched.score().missing == 0
    assert sizes(batched.server) == [3]  # nothing was submitted twice


def failed(server: FaultServer, batch: dict[str, Any]) -> None:
    finish_with(server, batch, [], "failed")
    said = {"code": "x", "message": "The model tiny does not exist"}
    batch["errors"] = {"object": "list", "data": [said]}


@pytest.mark.parametrize(
    ("finish", "facts"),
    [
        (
            changing(lambda lines: [{**line, "custom_id": "request-0"} for line in lines]),
            ["custom_id 'request-0', but requests such as '", "-0' were sent"],
        ),
        (
            failed,
            ["3 requests came back unanswered from 4 batches", "The model tiny does not exist"],
        ),
    ],
)
def test_a_server_that_answers_nothing_is_given_up(
    batched: Bench, finish: Any, facts: list[str]
) -> None:
    batched.server.finish_batch = finish
    with pytest.raises(InputError) as caught:
        batched.score()
    assert [fact for fact in facts if fact not in str(caught.value)] == []
    assert len(batched.server.batches) <= 6


def test_where_batches_are_not_available(batched: Bench) -> None:
    with pytest.raises(OptionError, match="`batch=` is for backend=openai"):
        load("llm-s:backend=vllm,model=m").score_corpus(batched.corpus, batched.runtime)
    with pytest.raises(OptionError, match="`batch=` accepts one base_url"):
        batched.score(base_url="http://a/v1+http://b/v1")


RAW_LINES = [b"[" * 50_000, b'{"custom_id": ' + b"9" * 5_000 + b"}", b"\xff\xfe\0", b"{", b"\r\r"]


def test_lines_that_are_not_json_are_not_answers(batched: Bench) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        finish_with(server, batch, batch_lines(server, batch))
        # JSON allows these characters unescaped, and they do not end a line.
        lines = server.files[batch["output_file_id"]]
        lines = lines.replace(b'"id": "x"', '"id": "\u2028\x85"'.encode())
        server.files[batch["output_file_id"]] = b"\n".join([*RAW_LINES, lines, *RAW_LINES])

    batched.server.finish_batch = finish
    assert batched.score().missing == 0
    assert sizes(batched.server) == [3]


@pytest.mark.security
@pytest.mark.parametrize(
    "listed",
    [[], 7, "x", {"data": 5}, {"data": [5]}, {"data": [{"metadata": [1]}]}, {"object": "list"},
     {"data": [{"metadata": {"gecjury": "x"}, "status": None}], "has_more": False},
     {"data": [], "x": "y" * 5_000_000}],
)  # fmt: skip
def test_malformed_lists_of_batches(batched: Bench, listed: Any) -> None:
    batched.server.list_batches = lambda: listed  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"(batch: .*run the same command again|came back unans)"):
        batched.score()


@pytest.mark.parametrize("lost", [0, 4])
def test_batches_grow_and_cost_no_more_than_the_cap(batched: Bench, lost: int) -> None:
    """A server bills every request at a dollar a token, more than estimated, and loses some."""
    billed: list[int] = []

    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        for line, text in zip(
            lines, server.files[batch["input_file_id"]].splitlines(), strict=True
        ):
            read = len(json.loads(text)["body"]["messages"][0]["content"].encode()) // 2
            usage = {"prompt_tokens": read, "completion_tokens": 60}
            line["response"]["body"]["usage"] = usage
            billed.append(read + 60)
        finish_with(
            server, batch, [line for n, line in enumerate(lines) if not lost or n % lost != 1]
        )

    batched.server.finish_batch = finish
    batched.set_price(1e6, 1e6)
    sources = [f"I likes cats {number} ." for number in range(60)]
    batched.corpus = corpus_of_texts(sources, sources)
    cap = 20_000.0
    for _ in range(3):
        with pytest.raises(
            IncompleteError, match=r"stopped before `max_cost=20000` .* questions left"
        ):
            batched.score(max_cost=cap, spending=Spending())
        assert sum(billed) <= cap
    assert sum(billed) > 0.5 * cap
    assert sizes(batched.server)[:2] == [1, 10]
    higher = Spending()
    assert batched.score(max_cost=3 * cap, spending=higher).missing == 0
    # What was lost counts with the most that it may have cost.
    assert higher.known <= sum(billed) <= higher.known + higher.unknown
    assert (higher.unknown > 0) is (lost > 0)


def test_a_killed_batch_counts_until_it_is_collected(
    batched: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    batched.set_price(1e6, 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(
            "gecjury.judges.backends.openai_batch.BatchBackend._wait",
            lambda *arguments: pytest.fail("killed"),
        )
        with pytest.raises(pytest.fail.Exception):
            batched.score()
    spending = Spending()
    # Three requests count at 1,049 to 1,072 tokens each until their replies are known.
    with pytest.raises(IncompleteError, match="3 of 3 questions left"):
        load("llm-s", base_url=batched.server.url, model="tiny").score_corpus(
            batched.corpus, replace(batched.runtime, batch=False, max_cost=4e3, spending=spending)
        )
    assert spending.unknown == 1072 + 1055 + 1049
    assert batched.score(max_cost=4e3, spending=spending).missing == 0
    assert (sizes(batched.server), spending.unknown) == ([3], 0)

"""The Batch API with a local server: any order, duplicates, expired and partial batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from tests.judges.faultserver import FaultServer, batch_lines, finish_with, score_of

Serve = Callable[..., FaultServer]
Make = Callable[..., Scorer]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    real = asyncio.sleep
    monkeypatch.setattr(
        "gecjury.judges.backends.openai_batch.asyncio.sleep", lambda seconds: real(seconds / 500)
    )


@pytest.fixture
def batched(runtime: Runtime) -> Runtime:
    return replace(runtime, batch=True)


def expected(corpus: Corpus) -> Any:
    return np.array([[score_of(x) for x in v.lines] for v in corpus.systems.values()], dtype=float)


def test_a_batch_is_submitted_polled_and_collected(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    server = serve()
    table = judge(server).score_corpus(corpus, batched)
    assert np.array_equal(table.sentences, expected(corpus))
    assert len(server.batches) == 1
    assert not server.bodies  # nothing was asked one by one
    line = json.loads(server.files["file-0"].decode().splitlines()[0])
    assert line["url"] == "/v1/chat/completions"
    assert line["body"]["chat_template_kwargs"] == {"enable_thinking": False}
    # an ordinary run uses the same store: a batch is only another way to send requests
    again = judge(server).score_corpus(corpus, replace(batched, batch=False))
    assert not server.bodies
    assert np.array_equal(again.sentences, table.sentences)


def test_duplicated_and_reordered_lines(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        foreign = {**lines[0], "custom_id": "somebody-else"}
        finish_with(server, batch, [*lines[::-1], lines[0], foreign, {"odd": 1}])

    server = serve()
    server.finish_batch = finish
    table = judge(server).score_corpus(corpus, batched)
    assert np.array_equal(table.sentences, expected(corpus))
    (store,) = batched.cache_folder("judgments").glob("*.jsonl")
    assert len(store.read_text().splitlines()) == 1 + 3


def test_different_answers_to_one_request_are_none(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        if len(server.batches) == 1:
            # The answer to the second request has the name of the first.
            lines[1]["custom_id"] = lines[0]["custom_id"]
            lines[1]["response"]["body"]["choices"][0]["message"]["content"] = '{"score": 1}'
        finish_with(server, batch, lines)

    server = serve()
    server.finish_batch = finish
    table = judge(server).score_corpus(corpus, batched)
    assert np.array_equal(table.sentences, expected(corpus))
    assert [len(server.files[b["input_file_id"]].splitlines()) for b in server.batches] == [3, 2]


def test_an_output_without_our_names_is_refused_with_both(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        finish_with(
            server, batch, [{**line, "custom_id": f"request-{n}"} for n, line in enumerate(lines)]
        )

    server = serve()
    server.finish_batch = finish
    with pytest.raises(InputError, match=r"custom_id 'request-0', but requests such as '\w{32}-0'"):
        judge(server).score_corpus(corpus, batched)
    assert len(server.batches) == 1


def test_an_expired_batch_keeps_its_part_and_the_rest_is_resubmitted(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        if len(server.batches) == 1:
            error = {"code": "batch_expired", "message": "expired"}
            failed = [{"custom_id": li["custom_id"], "error": error} for li in lines[1:]]
            finish_with(server, batch, lines[:1], "expired")
            content = "".join(json.dumps(line) + "\n" for line in failed).encode()
            batch["error_file_id"] = server.keep(content)
        else:
            finish_with(server, batch, lines)

    server = serve()
    server.finish_batch = finish
    table = judge(server).score_corpus(corpus, batched)
    assert np.array_equal(table.sentences, expected(corpus))
    sizes = [
        len(server.files[batch["input_file_id"]].decode().splitlines()) for batch in server.batches
    ]
    assert sizes == [3, 2]


def test_a_killed_run_finds_its_batch_again(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    server.polls_to_finish = 10_000
    with monkeypatch.context() as patch:

        def killed(*arguments: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr("gecjury.judges.backends.openai_batch.BatchBackend._wait", killed)
        with pytest.raises(KeyboardInterrupt):
            judge(server).score_corpus(corpus, batched)
    assert len(server.batches) == 1
    server.polls_to_finish = 0
    table = judge(server).score_corpus(corpus, batched)
    assert len(server.batches) == 1  # nothing was submitted twice
    assert table.missing == 0


def test_bad_replies_go_into_the_next_batch(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        if len(server.batches) == 1:
            lines[0]["response"]["body"]["choices"][0]["message"]["content"] = "no"
        finish_with(server, batch, lines)

    server = serve()
    server.finish_batch = finish
    table = judge(server).score_corpus(corpus, batched)
    assert table.missing == 0
    assert len(server.batches) == 2


def test_a_server_that_never_answers_is_given_up(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    server = serve()
    said = {"object": "list", "data": [{"code": "x", "message": "The model tiny does not exist"}]}

    def fail(server: FaultServer, batch: dict[str, Any]) -> None:
        finish_with(server, batch, [], "failed")
        batch["errors"] = said

    server.finish_batch = fail
    message = r"3 requests came back unanswered from 4 batches \(The model tiny does not exist\)"
    with pytest.raises(InputError, match=message):
        judge(server).score_corpus(corpus, batched)
    assert len(server.batches) <= 6


def test_where_batches_are_not_available(corpus: Corpus, batched: Runtime) -> None:
    with pytest.raises(OptionError, match="--batch is for backend=openai"):
        load("llm-s:backend=vllm,model=m").score_corpus(corpus, batched)
    pytest.importorskip("openai")
    with pytest.raises(OptionError, match="--batch accepts one base_url"):
        load("llm-s:model=m,base_url=http://a/v1+http://b/v1").score_corpus(corpus, batched)


ODD_LINES = [
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
@pytest.mark.parametrize("number", range(len(ODD_LINES)))
def test_malformed_lines_are_not_answers(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime, number: int
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        if len(server.batches) == 1:
            odd = json.dumps(ODD_LINES[number]).replace("HERE", lines[0]["custom_id"])
            lines[0] = json.loads(odd)
        finish_with(server, batch, lines)

    server = serve()
    server.finish_batch = finish
    table = judge(server).score_corpus(corpus, batched)
    assert np.array_equal(table.sentences, expected(corpus))
    assert len(server.batches) == 2  # that request was submitted again


RAW_LINES = [b"[" * 50_000, b'{"custom_id": ' + b"9" * 5_000 + b"}", b"\xff\xfe\0", b"{", b"\r\r"]


@pytest.mark.parametrize("raw", RAW_LINES)
def test_lines_that_are_not_json_are_not_answers(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime, raw: bytes
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        finish_with(server, batch, batch_lines(server, batch))
        file = batch["output_file_id"]
        server.files[file] = raw + b"\n" + server.files[file] + raw

    server = serve()
    server.finish_batch = finish
    assert judge(server).score_corpus(corpus, batched).missing == 0


def test_a_malformed_choice_is_counted(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        lines = batch_lines(server, batch)
        for line in lines:
            line["response"]["body"]["choices"] = [5]
        finish_with(server, batch, lines)

    server = serve()
    server.finish_batch = finish
    table = judge(server).score_corpus(corpus, batched)
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["failures"] == {"malformed": 3}
    assert len(server.batches) == 3


def test_lines_end_only_at_line_feeds(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    def finish(server: FaultServer, batch: dict[str, Any]) -> None:
        finish_with(server, batch, batch_lines(server, batch))
        file = batch["output_file_id"]
        # JSON allows these characters unescaped.
        server.files[file] = server.files[file].replace(b'"id": "x"', '"id": "\u2028\x85"'.encode())

    server = serve()
    server.finish_batch = finish
    assert judge(server).score_corpus(corpus, batched).missing == 0
    assert len(server.batches) == 1


LISTS: list[Any] = [
    [], 7, "x", {"data": 5}, {"data": [5]}, {"data": [{"metadata": [1]}]}, {"object": "list"},
    {"data": [{"metadata": {"gecjury": "x"}, "status": None}], "has_more": False},
]  # fmt: skip


@pytest.mark.parametrize("listed", LISTS)
def test_malformed_lists_of_batches(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime, listed: Any
) -> None:
    server = serve()
    server.list_batches = lambda: listed  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"(batch: .*run the same command again|came back unans)"):
        judge(server).score_corpus(corpus, batched)


@pytest.mark.security
def test_an_oversized_list_of_batches(
    serve: Serve, judge: Make, corpus: Corpus, batched: Runtime
) -> None:
    server = serve()
    server.list_batches = lambda: {"data": [], "x": "y" * 5_000_000}  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"batch: a reply of more than 1 MB"):
        judge(server).score_corpus(corpus, batched)

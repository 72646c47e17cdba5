"""Stored replies as a page shows them; how stores are found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.judges.asking.items import judged_items, review_of
from gecjury.judges.asking.store import Identity, Store
from gecjury.judges.asking.transfer import find_stores
from gecjury.judges.exchange import Reply, Request
from gecjury.prompts import Prompt, read
from tests.judges.conftest import SOURCE, A, B, C

Exchange = tuple[Request, Reply]


def request(wording: Prompt, content: str, repeat: int = 0) -> Request:
    return Request(
        backend="vllm", model="tiny", base_url="", messages=({"role": "user", "content": content},),
        schema=None, sampling={"max_tokens": 9}, repeat=repeat, prompt=wording.id,
    )  # fmt: skip


def listwise(texts: Sequence[str], scores: Sequence[float], *, repeat: int = 0) -> Exchange:
    """A question about corrections in a given order, with scores; without any it is refused."""
    wording = read("sentence")
    content = wording.render(
        criterion="", context=SOURCE, targets="\n".join(texts), scores="x\n" * len(texts)
    )
    answer = {"reason": "A Good Reason."} | {f"target{n}_score": s for n, s in enumerate(scores, 1)}
    return request(wording, content, repeat), Reply(json.dumps(answer) if scores else "I'm sorry")


def single(text: str, score: float) -> Exchange:
    wording = read("pointwise")
    content = wording.render(subject="", criterion="", context=SOURCE, fence="== f", target=text)
    return request(wording, content), Reply(f'{{"score": {score}}}')


def stored(file: Path, *exchanges: Exchange) -> Path:
    with Store(file, Identity.of(exchanges[0][0])) as store:
        for question, reply in exchanges:
            store.append(question, reply)
    return file


def test_replies_are_shown_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = stored(
        tmp_path / "s.jsonl",
        listwise((A, B), (3, 4)),
        listwise((B, A), (), repeat=1),
        listwise((B, C), (1, 5)),
    )
    review = review_of([file], 2)
    assert [reply.line for reply in review.replies] == [2, 3]
    first, second = review.replies
    assert (first.reason, first.scores) == ("A Good Reason.", (3.0, 4.0))
    assert (second.failure, second.scores) == ("refused: I'm sorry", ())
    assert (review.count, review.failed, review.unread) == (3, 1, 0)


def test_lines_that_cannot_be_read_are_counted_and_left_out(tmp_path: Path) -> None:
    strange = replace(listwise((A, B), (1, 5))[0], messages=({"role": "user"},))
    file = stored(
        tmp_path / "s.jsonl",
        (strange, Reply("x")),
        *(listwise((A, B), (1, 5), repeat=n) for n in range(3)),
    )
    with pytest.raises(InputError, match=r"s.jsonl, line 2: not a question of a judge; expected"):
        list(judged_items(file))
    lines = file.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"goes", b"gues")
    file.write_bytes(b"\n".join(lines)[:-30])  # and the last line is cut off
    review = review_of([file], 9)
    assert review.damaged == ["s.jsonl, line 2", "s.jsonl, line 4", "s.jsonl, line 5"]
    assert [reply.line for reply in review.replies] == [3]


def test_replies_to_a_foreign_prompt_are_shown_as_they_were_sent(tmp_path: Path) -> None:
    places = frozenset(("context", "target"))
    own = Prompt("mine", 1, "{{context}}: {{target}}", places, {}, "0" * 16)
    exchange = request(own, "a question of mine"), Reply('{"score": 2}')
    review = review_of([stored(tmp_path / "s.jsonl", exchange)], 9)
    (reply,) = review.replies
    assert (review.unread, reply.judged, reply.question) == (1, None, "a question of mine")
    assert "the wording mine.v1:0000000000000000 is not one of gecjury's" in reply.problem


def test_stores_are_found_by_file_folder_and_name(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "judgments"
    folder.mkdir(parents=True)
    one = stored(folder / "sentence.v1-tiny-1.jsonl", listwise((A, B), (1, 5)))
    two = stored(folder / "pointwise.v1-tiny-2.jsonl", single(A, 3))
    assert find_stores([], folder) == find_stores([str(tmp_path / "cache")], folder) == [two, one]
    assert find_stores([str(one), one.stem, "sentence", "sentence.v1"], folder) == [one]
    assert find_stores(["tiny"], folder) == [two, one]
    (tmp_path / "empty").mkdir()
    for names, place, fact in (
        (["sentense"], folder, r"no file, folder or store 'sentense'.*sentence"),
        ([], tmp_path / "empty", "empty: no stored judgments; score something"),
        (["nothing"], tmp_path / "empty", "nothing: no such file or folder, and .* no store"),
    ):
        with pytest.raises(InputError, match=fact):
            find_stores(names, place)


def test_a_store_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("gecjury.judges.asking.store.STORE_FORMAT", "gecjury-judgments/9")
        file = stored(tmp_path / "s.jsonl", single(A, 3))
    with pytest.raises(InputError, match=r"line 1: a store of version 'gecjury-judgments/9'"):
        review_of([file], 9)

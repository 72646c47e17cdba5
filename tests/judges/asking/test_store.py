"""The store: synced, resumable and locked; damage is reported, models are never mixed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import InputError, OutputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.judges.asking.store import STORE_FORMAT, Identity, Store, read_store, store_path
from gecjury.judges.asking.transfer import export_stores, import_stores, list_stores
from gecjury.judges.exchange import Reply, Request
from tests.judges.conftest import FakeModel

REQUEST = Request(
    backend="openai",
    model="tiny",
    base_url="http://x/v1",
    messages=({"role": "user", "content": "Score « this » \u2028 please"},),
    schema={"type": "object"},
    sampling={"temperature": 0.0, "seed": 0, "max_tokens": 10},
    repeat=0,
    prompt="sentence.v1:abc",
)
REPLY = Reply('{"score": 3}', "stop", 10, 5, None, 0.1 + 0.2, 0.123456789)
IDENTITY = Identity.of(REQUEST)


def other(number: int) -> Request:
    return replace(REQUEST, repeat=number)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "s.jsonl"
    with Store(file, IDENTITY) as store:
        for number in range(3):
            store.append(other(number), replace(REPLY, text=f"reply {number}"))
    return file


def test_replies_come_back_bit_for_bit(path: Path) -> None:
    logprobs = (("4", (("4", -0.1), ("5", -2.5))),)
    reply = replace(REPLY, logprobs=logprobs, cost=None, sent={"seed": 5})
    with Store(path, IDENTITY) as store:
        store.append(other(0), reply)
    with Store(path, IDENTITY) as store:
        assert store.replies(other(0).key)[1] == reply
        assert [r.text for r in store] == ["reply 0", reply.text, "reply 1", "reply 2"]
        assert store.replies("unknown") == []
        assert len([*store]) == 4


# A different value for every part of the key.
CHANGES = {
    "backend": "vllm",
    "model": "other",
    "base_url": "http://y/v1",
    "messages": ({"role": "user", "content": "another prompt"},),
    "schema": None,
    "sampling": {"temperature": 0.5, "seed": 0, "max_tokens": 10},
    "repeat": 1,
    "prompt": "sentence.v2:def",
}


@pytest.mark.parametrize("part", CHANGES)
def test_each_part_changes_the_key(part: str) -> None:
    assert replace(REQUEST, **{part: CHANGES[part]}).key != REQUEST.key  # type: ignore[arg-type]


def test_the_parts_of_the_key_are_stored_and_nothing_else_enters_it(path: Path) -> None:
    assert set(REQUEST.parts) == set(CHANGES)
    assert replace(REQUEST, expect="an estimate").key == REQUEST.key
    record = json.loads(path.read_text().splitlines()[1])
    assert record["parts"] == json.loads(json.dumps(other(0).parts))


def test_a_written_store_answers_everything_and_is_unchanged(
    corpus: Corpus, runtime: Runtime
) -> None:
    """Replies that users have paid for: probabilities, retries, a question given up."""
    (written,) = (Path(__file__).parent / "written").glob("*.jsonl")
    folder = runtime.cache_folder("judgments")
    folder.mkdir(parents=True)
    (folder / written.name).write_bytes(written.read_bytes())
    nobody = FakeModel()
    judge = nobody.load("llm-s:scoring=expected")
    assert judge.plan(corpus, runtime).requests == 0
    table = judge.score_corpus(corpus, runtime)
    assert nobody.attempts == []
    # 4 with .5 and 5 with .25 give 13/3; 2 with .5 and 5 with .25 give 3
    assert table.sentences[:, 1:].tolist() == [[3.0, 3.0], [3.0, 3.0], [pytest.approx(13 / 3)] * 2]
    assert np.isnan(table.sentences[:, 0]).all()
    (member,) = table.statistics.details["audit"]["members"]
    assert member["requests"] == {
        "distinct": 3, "ballots": 3, "asked": 0, "stored": 3, "retried": 2
    }  # fmt: skip
    assert member["failures"] == {"refused": 1}
    assert (folder / written.name).read_bytes() == written.read_bytes()
    # Stores written today have the same form, byte for byte.
    old = read_store(written)
    with Store(store_path(folder / "anew", old.identity), old.identity) as store:
        for record in old.records:
            store.append_record(
                replace(record, record={**record.record, "reply": record.reply.to_json()})
            )
        assert store.path.read_bytes() == written.read_bytes()


@pytest.mark.parametrize("cut", [1, 5, 60, 200])
def test_a_damaged_tail_is_cut_and_counted(path: Path, cut: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    kept = whole[:-cut].rpartition(b"\n")[0] + b"\n"
    with Store(path, IDENTITY) as store:
        assert store.cut == len(whole) - cut - len(kept)
        assert [r.text for r in store] == ["reply 0", "reply 1"]
        store.append(other(2), REPLY)
    assert path.read_bytes().startswith(kept)
    assert read_store(path).sound == path.stat().st_size


@pytest.mark.parametrize(
    "tail",
    [b"\0" * 512, b"{}\n", b"garbage\nmore\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n"],
)
def test_any_tail_is_cut(path: Path, tail: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    with Store(path, IDENTITY) as store:
        assert store.cut == len(tail)
    assert path.read_bytes() == whole
    # Whole lines were not left by a crash, and are set aside.
    side = path.with_suffix(".set-aside")
    assert (side.read_bytes() if side.exists() else b"") == (tail if tail.strip(b"\0") else b"")


@pytest.mark.security
@pytest.mark.parametrize("text", [b"my notes\n", b"x{}\n"])
def test_a_file_that_is_not_a_store_is_unchanged(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(InputError, match="not a store of judgments"):
        Store(path, IDENTITY)
    assert path.read_bytes() == text


@pytest.mark.parametrize("length", [0, 1, 30])
def test_a_truncated_head_is_rewritten(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with Store(path, IDENTITY) as store:
        assert store.cut == length
        assert len([*store]) == 0
        assert read_store(path).identity == IDENTITY


def with_sum(record: dict[str, object]) -> bytes:
    """Return a line with a valid checksum, which anybody can compute."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return json.dumps({**record, "sum": hashlib.sha256(text.encode()).hexdigest()[:8]}).encode()


def reshaped(line: bytes, **parts: object) -> bytes:
    """Return a stored reply with some parts replaced and a valid checksum."""
    record = json.loads(line)
    del record["sum"]
    return with_sum({**record, "reply": {**record["reply"], **parts}})


UNREADABLE = {
    "checksum": lambda line: line.replace(b"reply 1", b"reply 9"),
    "no json": lambda line: line[:50],
    "bytes": lambda line: b"\xff\xfe" + line,
    "nul": lambda line: line.replace(b"reply", b"\0\0\0\0\0"),
    "deep, closed": lambda line: b'{"a":' * 300 + b"1" + b"}" * 300,
    "digits": lambda line: b'{"a": ' + b"9" * 5_000 + b"}",
    "no object": lambda line: b"[1, 2]",
    "text": lambda line: reshaped(line, text=5),
    "finish": lambda line: reshaped(line, finish=None),
    "tokens": lambda line: reshaped(line, input_tokens="many"),
    "cost": lambda line: reshaped(line, cost=float("nan")),
    "cap": lambda line: reshaped(line, sent={"max_tokens": "x"}),
    "logprobs": lambda line: reshaped(line, logprobs=[["a", [["b", 1e308]]]]),
    "logprobs 3": lambda line: reshaped(line, logprobs=[["a", [["b"]]]]),
    "no reply": lambda line: with_sum({"key": "x", "parts": {}, "reply": []}),
    "no parts": lambda line: with_sum({"key": ["x"], "parts": [], "reply": None}),
}


@pytest.mark.security
@pytest.mark.parametrize("how", UNREADABLE)
def test_a_line_that_cannot_be_read_is_set_aside(path: Path, how: str) -> None:
    lines = path.read_bytes().split(b"\n")
    broken = UNREADABLE[how](lines[2])
    assert broken != lines[2]
    path.write_bytes(b"\n".join([*lines[:2], broken, *lines[3:]]))
    assert [r.reply.text for r in read_store(path).records] == ["reply 0", "reply 2"]
    place = r"s\.jsonl, line 3: (damaged|not a judgment)"
    with pytest.raises(InputError, match=place):
        import_stores(path, path.parent / "new")  # all or nothing
    assert not (path.parent / "new").exists()
    with pytest.raises(InputError, match=place):
        export_stores(path.parent, path.parent / "out")
    with Store(path, IDENTITY) as store:
        assert store.aside == (3,)
        assert [r.text for r in store] == ["reply 0", "reply 2"]
        assert store.replies(other(1).key) == []  # so that it is asked again
        store.append(other(1), replace(REPLY, text="anew"))
    # nothing is lost, and nothing is set aside twice
    assert path.with_suffix(".set-aside").read_bytes() == broken + b"\n"
    with Store(path, IDENTITY) as store:
        assert store.aside == ()
        assert [r.text for r in store] == ["reply 0", "reply 2", "anew"]
    assert path.read_bytes().startswith(b"\n".join(lines[:2]) + b"\n" + b" " * len(broken) + b"\n")
    assert path.with_suffix(".set-aside").read_bytes() == broken + b"\n"
    assert export_stores(path.parent, path.parent / "out") == 3
    assert import_stores(path.parent / "out", path.parent / "new") == (3, 0)


@pytest.mark.parametrize("part", ["backend", "model", "base_url", "prompt"])
def test_another_identity_is_never_mixed_in(path: Path, part: str) -> None:
    identity = replace(IDENTITY, **{part: "other"})
    assert store_path(path.parent, identity) != store_path(path.parent, IDENTITY)
    before = path.read_bytes()
    with pytest.raises(InputError, match="move it away"):
        Store(path, identity)
    with (
        Store(path, IDENTITY) as store,
        pytest.raises(InputError, match="of another model or prompt"),
    ):
        store.append(replace(REQUEST, **{part: "other"}), REPLY)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    foreign = replace(REQUEST, **{part: "other"})  # type: ignore[arg-type]
    with Store(path.parent / "t.jsonl", Identity.of(foreign)) as store:
        store.append(foreign, REPLY)
    line = (path.parent / "t.jsonl").read_bytes().split(b"\n")[1] + b"\n"
    path.write_bytes(before + line)
    with pytest.raises(InputError, match=rf"line 5: .* \({part} is 'other'; expected '"):
        Store(path, IDENTITY)


def test_a_reply_under_the_key_of_another_question_is_refused_with_both(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    wrong = {**lines[2], "key": lines[3]["key"]}
    del wrong["sum"]
    whole = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*whole[:2], with_sum(wrong), b""]))
    both = rf"line 3: .*{lines[3]['key']}'; expected '{lines[2]['key']}'"
    with pytest.raises(InputError, match=both):
        import_stores(path, path.parent / "new")
    assert not (path.parent / "new").exists()


def test_a_store_without_a_reply_is_not_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Store(path, IDENTITY):
        assert path.exists()
    assert not list(tmp_path.iterdir())
    with Store(path, IDENTITY), pytest.raises(OutputError, match="another run is writing"):
        Store(path, IDENTITY)
    with Store(path, IDENTITY) as store:
        store.append(other(7), REPLY)
    with Store(path, IDENTITY) as store:
        assert len([*store]) == 1
    assert path.exists()


def test_a_full_disk_keeps_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    real = os.write

    def full(handle: int, data: Any) -> int:
        real(handle, bytes(data)[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    with Store(path, IDENTITY) as store:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(OutputError, match=r"No space left on device\); the replies"):
                store.append(other(7), REPLY)
        assert path.read_bytes() == before
        store.append(other(7), REPLY)
    assert path.read_bytes().startswith(before)


def test_a_reply_is_on_disk_before_it_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(path.stat().st_size))
    with Store(path, IDENTITY) as store:
        store.append(other(5), REPLY)
        assert synced == [path.stat().st_size]  # after the write, before returning


def test_export_and_import_move_stores_bit_for_bit(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "judgments"
    foreign = replace(REQUEST, model="other")
    for request in (REQUEST, foreign):
        identity = Identity.of(request)
        folder.mkdir(exist_ok=True)
        with Store(store_path(folder, identity), identity) as store:
            store.append(request, replace(REPLY, text="bad"))
            store.append(request, REPLY)
    assert export_stores(folder, tmp_path / "out.jsonl") == 4
    assert import_stores(tmp_path / "out.jsonl", tmp_path / "new") == (4, 0)
    names = sorted(file.name for file in folder.iterdir())
    assert names == sorted(file.name for file in (tmp_path / "new").iterdir())
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "new" / name).read_bytes()
    assert import_stores(tmp_path / "out.jsonl", tmp_path / "new") == (0, 4)
    assert [row["replies"] for row in list_stores(folder)] == [2, 2]


@pytest.mark.security
def test_a_damaged_export_changes_nothing(path: Path, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="ends in a damaged line"):
        import_stores(tmp_path / "out.jsonl", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="no stored judgments"):
        export_stores(tmp_path / "none", tmp_path / "x")
    with pytest.raises(InputError, match="no file, folder or store 'nope'"):
        export_stores(path.parent, tmp_path / "x", ["nope"])


FOREIGN = ["../../outside:1", "/tmp/outside:1", "..:1", "a/b/c:1", "x" * 500, ""]


@pytest.mark.security
@pytest.mark.parametrize("part", ["prompt", "model"])
@pytest.mark.parametrize("name", FOREIGN)
def test_an_import_writes_only_in_its_folder(tmp_path: Path, part: str, name: str) -> None:
    request = replace(REQUEST, **{part: name})  # type: ignore[arg-type]
    with Store(tmp_path / "given.jsonl", Identity.of(request)) as store:
        store.append(request, REPLY)
    folder = tmp_path / "a" / "cache"
    assert import_stores(tmp_path / "given.jsonl", folder) == (1, 0)
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    created = files - {Path("given.jsonl")}
    assert [path.parent for path in created] == [Path("a/cache")]
    assert import_stores(tmp_path / "given.jsonl", folder) == (0, 1)


@pytest.mark.security
@pytest.mark.parametrize("part", ["backend", "model", "base_url", "prompt"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [("a\0b", "'a\\x00b'"), (["x"], "['x']"), (5, "5"), (None, "None"), ("\ud800", "ud800")],
)
def test_a_malformed_identity_is_reported(
    tmp_path: Path, part: str, value: object, shown: str
) -> None:
    with Store(tmp_path / "given.jsonl", IDENTITY) as store:
        store.append(REQUEST, REPLY)
    lines = (tmp_path / "given.jsonl").read_bytes().splitlines(keepends=True)
    head = {"format": STORE_FORMAT, "identity": {**IDENTITY.parts, part: value}}
    file = tmp_path / "given.jsonl"
    file.write_bytes(lines[0] + lines[1] + with_sum(head) + b"\n")
    fact = rf"given\.jsonl, line 3: .*: {part} is .*{re.escape(shown)}"
    with pytest.raises(InputError, match=fact):
        import_stores(file, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()  # nothing is written before everything is checked

"""Killed at random moments and run again: nothing is lost, no stored reply is asked twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gecjury.judges.asking.store import read_store
from tests.judges.faultserver import FaultServer, Said, completion

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("GECJURY_KILLS", "50"))
SENTENCES = 8 * KILLS


def command(folder: Path, server: FaultServer, cache: Path) -> list[str]:
    files = [str(folder / name) for name in ("source.txt", "a.txt", "b.txt", "c.txt")]
    metric = f"llm-s:model=tiny,base_url={server.url}"
    options = ["--cache", str(cache), "--concurrency", "4", "--format", "json", "--quiet"]
    return [sys.executable, "-m", "gecjury", "score", *files, "-m", metric, "--sentences", *options]


def run(argv: list[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OPENAI_API_KEY": "sk-test-key-of-nobody"}
    return subprocess.Popen(
        argv, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(argv: list[str]) -> list[dict[str, Any]]:
    process = run(argv)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()
    rows: list[dict[str, Any]] = json.loads(out)["rows"]
    return rows


def prompt_of(messages: Any) -> str:
    return json.dumps(messages)


def stored(cache: Path) -> list[str]:
    """The prompts that have a reply on disk, sound lines only."""
    found = []
    for path in (cache / "judgments").glob("*.jsonl"):
        if path.read_bytes().count(b"\n"):
            found += [prompt_of(r["parts"]["messages"]) for r in read_store(path)[1]]
    return found


def answer_slowly(body: dict[str, Any], seconds: float) -> Said | None:
    time.sleep(seconds)
    # every tenth prompt is refused at first, so that retries are killed as well
    if body["seed"] == 0 and hash(prompt_of(body["messages"])) % 10 == 0:
        return completion(body, "no")
    return None


def test_sigkill_at_random_moments(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    for name in ("source", "a", "b", "c"):
        lines = [f"Sentence {number} of {name} ." for number in range(SENTENCES)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    source = random.Random(5)
    moments: list[int] = []
    with FaultServer(lambda number, body: answer_slowly(body, 0.01)) as server:
        for _ in range(KILLS):
            before = stored(tmp_path / "broken")
            asked_before = len(server.bodies)
            process = run(command(tmp_path, server, tmp_path / "broken"))
            # anywhere from the start of the program to its fifteenth request, and a little later
            target = asked_before + source.randrange(0, 15)
            deadline = time.monotonic() + (source.random() if target == asked_before else 60)
            while len(server.bodies) < target and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(source.random() * 0.02)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            time.sleep(0.05)  # what the server was still working on is counted as asked
            now = [prompt_of(body["messages"]) for body in server.bodies[asked_before:]]
            moments.append(len(now))
            after = stored(tmp_path / "broken")
            assert after[: len(before)] == before, "a stored reply was lost"
            settled = {p for p in before if before.count(p) > 1 or not is_refused(p)}
            assert not settled & set(now), "a stored reply was asked again"
        broken = finish(command(tmp_path, server, tmp_path / "broken"))
        requests, prompts = len(server.keys), len(set(server.keys))
        under_way = requests - prompts
    with FaultServer(lambda number, body: answer_slowly(body, 0.0)) as server:
        whole = finish(command(tmp_path, server, tmp_path / "whole"))
        assert len(server.keys) == prompts
    assert [row["sentences"] for row in broken] == [row["sentences"] for row in whole]
    assert [row["score"] for row in broken] == [row["score"] for row in whole]
    assert None not in broken[0]["sentences"]
    # only requests whose answer the kill kept from arriving were sent again, each under the
    # idempotency key that lets a server answer them without charging twice
    assert under_way <= 4 * KILLS
    print(
        f"{KILLS} kills after {min(moments)} to {max(moments)} requests each: 0 stored replies "
        f"lost, 0 asked again, {under_way} of {requests} requests were under way when killed"
    )


def is_refused(prompt: str) -> bool:
    return hash(prompt) % 10 == 0

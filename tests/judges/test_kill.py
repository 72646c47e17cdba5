"""Runs killed at random moments and repeated: no reply is lost, and no stored one asked again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gecjury.judges.asking.store import read_store
from tests.judges.faultserver import FaultServer, Said, completion

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = 20


@dataclass
class Counts:
    """The outcome of killing runs.

    Attributes:
        lost: replies that were in the store before a kill and not after it.
        asked_again: requests to which the store already had a sound reply.
        sent_again: requests that the server had answered but whose reply was not yet in the store.
        other_keys: such requests with another idempotency key than the first one.
    """

    lost: int = 0
    asked_again: int = 0
    sent_again: int = 0
    other_keys: int = 0


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


def stored(cache: Path) -> list[str]:
    """Return the prompts whose reply is on disk in a sound line."""
    prompts = []
    for path in (cache / "judgments").glob("*.jsonl"):
        if path.read_bytes().count(b"\n"):
            prompts += [json.dumps(r.record["parts"]["messages"]) for r in read_store(path).records]
    return prompts


class Slow:
    """A slow server that refuses every tenth prompt at first, so that retries are killed too."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.answered: Counter[str] = Counter()

    def __call__(self, number: int, body: dict[str, Any]) -> Said | None:
        time.sleep(self.seconds)
        self.answered[json.dumps(body, sort_keys=True)] += 1
        if body["seed"] == 0 and is_refused(json.dumps(body["messages"])):
            return completion(body, "no")
        return None


def is_refused(prompt: str) -> bool:
    return random.Random(prompt).random() < 0.1


def kill_runs(folder: Path, kills: int) -> Counts:
    """Kill runs at random moments, finish the last, and compare it with an undisturbed run."""
    for name in ("source", "a", "b", "c"):
        lines = [f"Sentence {number} of {name} ." for number in range(8 * kills)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    source = random.Random(5)
    counts = Counts()
    behave = Slow(0.01)
    with FaultServer(behave) as server:
        for _ in range(kills):
            before = stored(folder / "broken")
            asked_before = len(server.bodies)
            process = run(command(folder, server, folder / "broken"))
            # anywhere from the start of the program to shortly after its fifteenth request
            target = asked_before + source.randrange(0, 15)
            deadline = time.monotonic() + (source.random() if target == asked_before else 60)
            while len(server.bodies) < target and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(source.random() * 0.02)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            time.sleep(0.05)  # requests that the server is still working on count as asked
            now = [json.dumps(body["messages"]) for body in server.bodies[asked_before:]]
            after = stored(folder / "broken")
            counts.lost += sum(a != b for a, b in zip(before, after, strict=False))
            counts.lost += max(len(before) - len(after), 0)
            settled = {p for p in before if before.count(p) > 1 or not is_refused(p)}
            counts.asked_again += sum(prompt in settled for prompt in now)
        broken = finish(command(folder, server, folder / "broken"))
        counts.sent_again = behave.answered.total() - len(behave.answered)
        keys: dict[str, set[str]] = {}
        for key, body in zip(server.keys, server.bodies, strict=True):
            keys.setdefault(json.dumps(body, sort_keys=True), set()).add(key)
        counts.other_keys = sum(len(used) - 1 for used in keys.values())
        different = len(set(server.keys))
    with FaultServer(Slow(0.0)) as server:
        whole = finish(command(folder, server, folder / "whole"))
        assert len(server.keys) == different
    assert [row["sentences"] for row in broken] == [row["sentences"] for row in whole]
    assert [row["score"] for row in broken] == [row["score"] for row in whole]
    assert None not in broken[0]["sentences"]
    return counts


def test_sigkill_at_random_moments(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    counts = kill_runs(tmp_path, KILLS)
    assert counts.lost == counts.asked_again == counts.other_keys == 0, counts
    # only requests whose reply was lost in a kill were sent again
    assert counts.sent_again <= 4 * KILLS

"""Requests a second and memory of the openai backend, against a fake server.

    python -m speed judges-server

The server is that of the tests, in a separate process: every answer takes 50 ms, without
computation. Both sides ask it the same number of questions, one by one and 64 at once. The memory
is that of a process that judges 100,000 sources, and of one that counts them for a dry run; the
share of the questions is the difference to a process that has only read the same texts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from speed.harness import ROOT, Claim, Options, checked, faster, needs, peak_memory, timed

_LATENCY = 0.05
_AT_ONCE = 64
_MOST_MB = 500.0

_SERVE = """
import sys, time
from tests.judges.faultserver import FaultServer
server = FaultServer(latency=float(sys.argv[1]))
def forget(number, body):
    # The tests look at what was asked; here it would only fill the memory.
    for record in (server.bodies, server.keys, server.times):
        record.clear()
server.behave = forget
print(server.url, flush=True)
time.sleep(1e6)
"""


@contextmanager
def served(latency: float) -> Iterator[str]:
    """Yield the address of a fake server, which ends with the context."""
    argv = [sys.executable, "-c", _SERVE, str(latency)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def corpus_of(count: int) -> Any:
    """Return `count` sources of 20 words with two corrections each: one question per source."""
    from gecjury.corpus.corpus import Corpus, Version

    rest = "have went to the school which stand on hills behind our old house every days ."
    sources = tuple(f"Sentence {n} says that they {rest}" for n in range(count))
    systems = {
        name: Version(tuple(line.replace(old, new) for line in sources))
        for name, old, new in (("a", "went", "gone"), ("b", "stand", "stands"))
    }
    return Corpus(sources, systems)


def child(kind: str, count: int, url: str, concurrency: int) -> dict[str, float]:
    """Build, count or judge questions in this process; return seconds and peak memory."""
    from gecjury.core.runtime import Runtime
    from gecjury.scoring.registry import load

    os.environ["OPENAI_API_KEY"] = "none"
    corpus = corpus_of(count)
    scorer = load("llm-s", base_url=url, model="fake")
    with tempfile.TemporaryDirectory() as folder:
        prices = {"date": "", "currency": "USD", "models": {"fake": {"input": 1, "output": 1}}}
        Path(folder, "prices.json").write_text(json.dumps(prices))
        runtime = Runtime(cache=Path(folder), concurrency=concurrency)
        seconds, asked = 0.0, count
        if kind == "plan":
            plan, seconds, _ = timed(lambda: scorer.plan(corpus, runtime))
            assert plan is not None
            asked = plan.requests
        elif kind == "score":
            table, seconds, _ = timed(lambda: scorer.score_corpus(corpus, runtime))
            asked = count - table.missing
    assert asked == count, asked
    return {"seconds": seconds, "peak": peak_memory()}


def apart(kind: str, count: int, url: str, concurrency: int = _AT_ONCE) -> dict[str, float]:
    """Run `child` in a separate process."""
    code = "import json, sys; from speed.judges_server import child; " + (
        "print(json.dumps(child(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))"
    )
    argv = [sys.executable, "-c", code, kind, str(count), url, str(concurrency)]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(options: Options) -> list[Claim]:
    """Measure requests per second at concurrency 64 and 1, and the memory of many questions."""
    needs("openai")
    few, many, most = (4, 20, 50) if options.quick else (60, 3_000, 100_000)
    with served(_LATENCY) as url:
        one = apart("score", few, url, 1)
        all_at_once = apart("score", many, url)
    with served(0.0) as url:
        texts, plan, score = (apart(kind, most, url) for kind in ("texts", "plan", "score"))
    slow, fast = few / one["seconds"], many / all_at_once["seconds"]
    return [
        faster(
            f"openai backend, 50 ms a reply, {_AT_ONCE} at once and one by one: seconds a request",
            1 / fast,
            1 / slow,
            lines=(f"requests a second {fast:.1f} and {slow:.1f}",),
        ),
        *(
            checked(
                f"openai backend, memory of {what} {most:,} questions",
                f"{result['peak']:.0f} MB",
                f"< {_MOST_MB:.0f} MB",
                result["peak"] < _MOST_MB,
                ours=result["seconds"],
                peak=result["peak"],
                lines=(f"{result['peak'] - texts['peak']:.0f} MB more than the texts alone",),
            )
            for what, result in (("counting", plan), ("judging", score))
        ),
    ]

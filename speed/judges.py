"""Throughput of the judges' backends on one tiny model, in one run.

    python -m speed judges

Needs vLLM (`make test-vllm` creates an environment with it). The model is a random Qwen3 created on
the spot. Requests per second are measured: vLLM with all requests in one batch against one call at
a time, and the openai backend at concurrency 32 against 1 on the served model. Every measurement
uses its own prompts, so that no reply comes from the store; each is preceded by a warm-up.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from speed.harness import Claim, Options, faster, needs

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("OPENAI_API_KEY", "none")


def corpus_of(items: int, mark: str) -> Any:
    from gecjury.corpus.corpus import Corpus, Version

    source = tuple(f"Item {n} {mark} go to school on every days ." for n in range(items))
    systems = {
        name: Version(tuple(line.replace(old, new) for line in source))
        for name, old, new in (
            ("a", "go to", "goes to"),
            ("b", "days", "day"),
            ("c", "on every", "every"),
            ("d", "school", "the school"),
            ("e", "go to", "went to"),
        )
    }
    return Corpus(source, systems)


def rate(scorer: Any, corpus: Any, runtime: Any) -> float:
    start = time.perf_counter()
    table = scorer.score_corpus(corpus, runtime)
    assert table.missing == 0
    return len(corpus) / (time.perf_counter() - start)


def one_at_a_time(scorer: Any, corpus: Any, runtime: Any) -> float:
    """Send each source in a separate call, with the engine loaded and warm."""
    from gecjury.corpus.corpus import Corpus

    parts = [
        Corpus((corpus.sources[n],), {name: v.take([n]) for name, v in corpus.systems.items()})
        for n in range(len(corpus))
    ]
    start = time.perf_counter()
    for part in parts:
        assert scorer.score_corpus(part, runtime).missing == 0
    return len(parts) / (time.perf_counter() - start)


def serve(model: Path) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--enforce-eager"]
    compact = {"backend": "xgrammar", "disable_any_whitespace": True}
    argv += ["--structured-outputs-config", json.dumps(compact)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.5)
    return process, f"http://127.0.0.1:{port}/v1"


def rates(items: int, few: int) -> dict[str, float]:
    from gecjury.core.runtime import Runtime
    from gecjury.scoring.registry import load
    from tests.judges.tinymodel import make_tiny_model

    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = make_tiny_model(Path(folder) / "tiny")
        cache = Path(folder) / "cache"
        process, url = serve(model)
        try:
            scorer = load("llm-s", base_url=url, model=str(model))
            one, many = (Runtime(cache=cache, concurrency=n) for n in (1, 32))
            rate(scorer, corpus_of(8, "warm"), many)
            found["openai, concurrency 1"] = rate(scorer, corpus_of(few, "serial"), one)
            found["openai, concurrency 32"] = rate(scorer, corpus_of(items, "many"), many)
        finally:
            process.terminate()
            process.wait()
        engine = Path(folder) / "engine.toml"
        engine.write_text("enforce_eager = true\n")
        scorer = load("llm-s", backend="vllm", model=str(model), engine=str(engine))
        rate(scorer, corpus_of(8, "warm"), one)
        found["vllm, one call at a time"] = one_at_a_time(scorer, corpus_of(few, "serial"), one)
        found["vllm, one batch"] = rate(scorer, corpus_of(items, "batch"), one)
    return found


def measure(options: Options) -> list[Claim]:
    """Measure requests one after another and at once, on both backends."""
    needs("vllm", "openai")
    found = rates(*((8, 4) if options.quick else (200, 20)))
    pairs = {
        "vLLM in one batch, and one call at a time": (
            "vllm, one call at a time",
            "vllm, one batch",
        ),
        "openai at concurrency 32, and at 1": ("openai, concurrency 1", "openai, concurrency 32"),
    }
    return [
        faster(
            f"{what}: seconds a request",
            1 / found[many],
            1 / found[one],
            lines=(f"requests a second {found[many]:.1f} and {found[one]:.1f}",),
        )
        for what, (one, many) in pairs.items()
    ]

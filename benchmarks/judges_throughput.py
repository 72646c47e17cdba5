"""Throughput of the judges' backends on one tiny model, in one run.

    python benchmarks/judges_throughput.py [--items 200]

Needs vLLM (`make test-vllm` makes an environment that has it). The model is a random Qwen3 made on
the spot. Measured are requests a second: vLLM with all requests in one batch against one call at a
time, and the openai backend at concurrency 32 against 1 on the served model. Every measurement
uses prompts of its own, so that no reply comes from the store; each is preceded by a warm-up.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("GECJURY_VLLM", '{"enforce_eager": true}')
os.environ.setdefault("OPENAI_API_KEY", "none")


def corpus_of(items: int, mark: str):
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


def rate(scorer, corpus, runtime) -> float:
    start = time.perf_counter()
    table = scorer.score_corpus(corpus, runtime)
    assert table.missing == 0
    return len(corpus) / (time.perf_counter() - start)


def one_at_a_time(scorer, corpus, runtime) -> float:
    """Each source in a call of its own, the engine loaded and warm."""
    from gecjury.corpus.corpus import Corpus

    parts = [
        Corpus((corpus.sources[n],), {name: v.take([n]) for name, v in corpus.systems.items()})
        for n in range(len(corpus))
    ]
    start = time.perf_counter()
    for part in parts:
        assert scorer.score_corpus(part, runtime).missing == 0
    return len(parts) / (time.perf_counter() - start)


def serve(model: Path):
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


def measure(items: int, few: int) -> dict[str, float]:
    from gecjury.runtime import Runtime
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
        scorer = load("llm-s", backend="vllm", model=str(model))
        rate(scorer, corpus_of(8, "warm"), one)
        found["vllm, one call at a time"] = one_at_a_time(scorer, corpus_of(few, "serial"), one)
        found["vllm, one batch"] = rate(scorer, corpus_of(items, "batch"), one)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=200, help="requests at once")
    parser.add_argument("--few", type=int, default=20, help="requests one after the other")
    args = parser.parse_args()
    found = measure(args.items, args.few)
    ratios = {
        "vllm": found["vllm, one batch"] / found["vllm, one call at a time"],
        "openai": found["openai, concurrency 32"] / found["openai, concurrency 1"],
    }
    print(json.dumps({"requests_per_second": found, "times_faster": ratios}, indent=2))


if __name__ == "__main__":
    main()

"""ERRANT of 15 SEEDA systems × 391 sentences × 2 references: gec-metrics and gecjury in one run.

    python -m benchmarks.errant_peer_speed --data ../shared/data [--peer-venv DIR]

Both sides use the embedded tagger: it is installed under the name `en_core_web_sm` in the peer's
environment, where gec-metrics looks for it. Extraction and scoring of all sentences and systems are
timed; imports and loading the tagger are not. Nothing is cached before. Prints elapsed and
processor seconds, their ratios, and the greatest difference of sentence and corpus scores. Target:
5 times as fast with one process, 8 times with two workers.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peer import ROOT, add_peer_option, peer_python, run_in_peer

_PEER = """
import time
from gec_metrics import get_metric
ERRANT = get_metric("errant")
metric = ERRANT(ERRANT.Config(beta=0.5))
start, cpu = time.perf_counter(), time.process_time()
sentences = [
    metric.score_sentence(data["sources"], lines, data["references"])
    for lines in data["systems"].values()
]
corpus = [
    metric.score_corpus(data["sources"], lines, data["references"])
    for lines in data["systems"].values()
]
result = {
    "seconds": time.perf_counter() - start,
    "cpu": time.process_time() - cpu,
    "sentences": sentences,
    "corpus": corpus,
}
"""


def install_tagger(python: Path) -> None:
    """Install the embedded tagger as the package `en_core_web_sm`, unless it is there."""
    known = [str(python), "-c", "import en_core_web_sm"]
    if subprocess.run(known, capture_output=True, check=False).returncode == 0:
        return
    model = ROOT / "gecjury" / "tagger" / "model"
    with tempfile.TemporaryDirectory() as folder:
        package = ["-m", "spacy", "package", str(model), folder, "--name", "core_web_sm"]
        subprocess.run(
            [str(python), *package, "--version", "3.8.0", "--build", "none"],
            check=True, capture_output=True,
        )  # fmt: skip
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
             f"{folder}/en_core_web_sm-3.8.0"],
            check=True, capture_output=True,
        )  # fmt: skip


def ours(texts: dict[str, Any], workers: int) -> dict[str, Any]:
    """Score everything once, with an empty cache."""
    from gecjury.runtime import Runtime
    from gecjury.scoring.registry import load

    runtime = Runtime(workers=workers, use_cache=False)
    start, cpu = time.perf_counter(), _cpu()
    table = load("errant").score(
        texts["sources"], texts["systems"], texts["references"], runtime=runtime
    )
    return {
        "seconds": time.perf_counter() - start,
        "cpu": _cpu() - cpu,
        "sentences": table.sentences.tolist(),
        "corpus": list(table.totals),
    }


def _cpu() -> float:
    """Processor seconds of this process and its finished children."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def main() -> int:
    """Run both sides and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("GECJURY_DATA", "../shared/data"))
    add_peer_option(parser)
    options = parser.parse_args()

    from gecjury.benchmarks.load import load_benchmark
    from gecjury.runtime import Runtime
    from gecjury.scoring.registry import load

    corpus = load_benchmark(
        "seeda", systems="all", references="official-as-published", data=options.data
    ).corpus
    texts = {
        "sources": list(corpus.sources),
        "systems": {name: list(version.lines) for name, version in corpus.systems.items()},
        "references": [list(version.lines) for version in corpus.references],
    }
    # Both sides have their tagger loaded before the clock starts.
    load("errant").score(["a b"], {"warm": ["a c"]}, [["a d"]], runtime=Runtime(use_cache=False))
    install_tagger(peer_python(options.peer_venv))
    peer = run_in_peer(options.peer_venv, _PEER, texts)
    print(f"{'gec-metrics':22} {peer['seconds']:7.1f} s elapsed {peer['cpu']:7.1f} s processor")
    failed = 0
    for workers, target in ((1, 5.0), (2, 8.0)):
        mine = ours(texts, workers)
        ratio, work = peer["seconds"] / mine["seconds"], peer["cpu"] / mine["cpu"]
        print(
            f"gecjury, {workers} worker{'s' if workers > 1 else ' '}     {mine['seconds']:7.1f} s "
            f"elapsed {mine['cpu']:7.1f} s processor: {ratio:.1f}× by the clock, {work:.1f}× less "
            f"work (target {target:.0f}× by the clock)"
        )
        different = [
            abs(a - b)
            for one, two in zip(mine["sentences"], peer["sentences"], strict=True)
            for a, b in zip(one, two, strict=True)
        ]
        total = max(abs(a - b) for a, b in zip(mine["corpus"], peer["corpus"], strict=True))
        unequal = sum(value > 1e-9 for value in different)
        print(
            f"  sentence scores that differ: {unequal} of {len(different)}, at most "
            f"{max(different):.4f}; corpus scores at most {total:.1e}"
        )
        failed += ratio < target
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory of this side {peak:.2f} GB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

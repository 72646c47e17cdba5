"""ERRANT of 15 SEEDA systems × 391 sentences × 2 references: gec-metrics and gecjury in one run.

    python -m speed errant --data DIR --peer-venv DIR

Both sides use the embedded tagger, which is installed as `en_core_web_sm` in the peer's
environment, where gec-metrics looks for it. Extraction and scoring of all sentences and systems are
timed; imports and loading the tagger are not. The best of three runs is compared with the best of
the peer's two, each with a new scorer. Target: 12 times as fast by the clock, with one process also
by processor time.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from speed.harness import ROOT, Claim, Options, faster, peak_memory, timed
from speed.peer import peer_python, run_in_peer

_PEER = """
import time
from gec_metrics import get_metric
ERRANT = get_metric("errant")
runs = []
for _ in range(2):
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
    runs.append((time.perf_counter() - start, time.process_time() - cpu))
seconds, cpu = map(min, zip(*runs))
result = {"seconds": seconds, "cpu": cpu, "sentences": sentences, "corpus": corpus}
"""


def install_tagger(python: Path) -> None:
    """Install the embedded tagger as the package `en_core_web_sm`, unless it is installed."""
    known = [str(python), "-c", "import en_core_web_sm"]
    if subprocess.run(known, capture_output=True, check=False).returncode == 0:
        return
    model = ROOT / "gecjury" / "extraction" / "tagger" / "model"
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
    """Score everything three times, each with an empty cache."""
    from gecjury.core.runtime import Runtime
    from gecjury.scoring.registry import load

    runtime = Runtime(workers=workers, use_cache=False)
    runs = [timed(lambda: load("errant").score(*texts.values(), runtime=runtime)) for _ in range(3)]
    table = runs[0][0]
    return {
        "seconds": min(seconds for _, seconds, _ in runs),
        "cpu": min(cpu for _, _, cpu in runs),
        "sentences": table.sentences.tolist(),
        "corpus": list(table.totals),
    }


def measure(options: Options) -> list[Claim]:
    """Run both sides."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.core.runtime import Runtime
    from gecjury.scoring.registry import load

    data, folder = str(options.need_data()), options.need_peer()
    corpus = load_benchmark(
        "seeda", systems="all", references="official-as-published", data=data
    ).corpus
    few = 8 if options.quick else len(corpus)
    texts = {
        "sources": list(corpus.sources[:few]),
        "systems": {name: list(v.lines[:few]) for name, v in corpus.systems.items()},
        "references": [list(version.lines[:few]) for version in corpus.references],
    }
    # Both sides have their tagger loaded before the clock starts.
    load("errant").score(["a b"], {"warm": ["a c"]}, [["a d"]], runtime=Runtime(use_cache=False))
    install_tagger(peer_python(folder))
    peer = run_in_peer(folder, _PEER, texts)
    claims = []
    for workers, kinds in ((1, ("seconds", "cpu")), (2, ("seconds",))):
        mine = ours(texts, workers)
        different = [
            abs(a - b)
            for one, two in zip(mine["sentences"], peer["sentences"], strict=True)
            for a, b in zip(one, two, strict=True)
        ]
        total = max(abs(a - b) for a, b in zip(mine["corpus"], peer["corpus"], strict=True))
        unequal = sum(value > 1e-9 for value in different)
        lines = (
            f"processor seconds {peer['cpu']:.1f} and {mine['cpu']:.1f}, "
            f"{peer['cpu'] / mine['cpu']:.1f}× less work",
            f"sentence scores that differ: {unequal} of {len(different)}, at most "
            f"{max(different):.4f}; corpus scores at most {total:.1e}",
        )
        claims.append(
            faster(
                f"ERRANT, {len(texts['systems'])} × {few} × 2, {workers} worker(s)",
                mine["seconds"],
                peer["seconds"],
                12.0,
                ratio=min(peer[kind] / mine[kind] for kind in kinds),
                peak=peak_memory(),
                lines=lines,
            )
        )
    return claims

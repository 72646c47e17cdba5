"""GREEN and GLEU on 125,000 to 1,000,000 sentence pairs with two references: time and memory.

    python -m speed green-scaling --data DIR

The texts are SEEDA's, all 1,312 sentences in seeded order over and over, each with the output of a
system drawn at random; every row ends with a unique token, so that no two rows are equal. Every
size runs in a separate process, whose peak memory includes the texts and the scores.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time

from speed.harness import ROOT, Claim, Options, checked, peak_memory
from speed.seeda import Texts, read_seeda

_SIZES = (125_000, 250_000, 500_000, 1_000_000)
_QUICK = (500, 1_000)

# The first two are limits for the largest size; a slope of 1 is linear cost.
_MOST_SECONDS = 180.0
_MOST_MEMORY = 2000.0  # MB
_SLOPE = (0.9, 1.05)
_LEAST_RATE = 60_000  # pairs a second of processor time, of one core
_METRICS = {"green": "GREEN", "gleu": "GLEU"}


def make_rows(texts: Texts, count: int) -> tuple[list[str], list[str], list[list[str]]]:
    """Return `count` distinct rows of sources, hypotheses and references, in a fixed order."""
    import numpy as np

    rng = np.random.default_rng(0)
    outputs = list(texts.systems.values())
    sources: list[str] = []
    hypotheses: list[str] = []
    references: list[list[str]] = [[] for _ in texts.references]
    while len(sources) < count:
        order = rng.permutation(len(texts.sources))[: count - len(sources)].tolist()
        drawn = rng.integers(len(outputs), size=len(order)).tolist()
        for row, system in zip(order, drawn, strict=True):
            mark = f" #{len(sources)}"
            sources.append(texts.sources[row] + mark)
            hypotheses.append(outputs[system][row] + mark)
            for made, given in zip(references, texts.references, strict=True):
                made.append(given[row] + mark)
    return sources, hypotheses, references


def score_one(texts: Texts, metric: str, count: int) -> dict[str, float]:
    """Score one size in this process."""
    import gecjury

    sources, hypotheses, references = make_rows(texts, count)
    scorer = gecjury.load(metric)
    before = peak_memory()
    start, start_cpu = time.perf_counter(), time.process_time()
    table = scorer.score(sources, {"system": hypotheses}, references)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return {
        "rows": count,
        "seconds": seconds,
        "cpu": cpu,
        "texts": before,
        "peak": peak_memory(),
        "tokens": sum(len(line.split()) for line in hypotheses),
        "score": table.totals["system"],
    }


def score_apart(options: Options, metric: str, count: int) -> dict[str, float]:
    """Score one size in a separate process."""
    code = (
        "import json, sys; from pathlib import Path; from speed.green_scaling import score_one; "
        "from speed.harness import Options; from speed.seeda import read_seeda; "
        "texts = read_seeda(Options(Path(sys.argv[1])), 'all'); "
        "print(json.dumps(score_one(texts, sys.argv[2], int(sys.argv[3]))))"
    )
    words = [str(options.need_data().resolve()), metric, str(count)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def slope(results: list[dict[str, float]], key: str) -> float:
    """Return the least-squares slope of log(value) over log(rows)."""
    x = [math.log(result["rows"]) for result in results]
    y = [math.log(result[key]) for result in results]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - x_mean) ** 2 for a in x)
    return sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True)) / spread


def measure(options: Options) -> list[Claim]:
    """Check the targets at the largest size, and the slope over all."""
    read_seeda(options, "all")
    return [claim for metric in _METRICS for claim in claims_of(options, metric)]


def claims_of(options: Options, metric: str) -> list[Claim]:
    """Check the targets of one metric."""
    name = _METRICS[metric]
    sizes = _QUICK if options.quick else _SIZES
    results = [score_apart(options, metric, count) for count in sizes]
    last = results[-1]
    lines = [
        f"{r['rows']:,} rows: {r['tokens']:,} tokens, {r['seconds']:.2f} s, CPU {r['cpu']:.2f} s, "
        f"peak {r['peak'] / 1e3:.2f} GB (texts {r['texts'] / 1e3:.2f}), {name} {r['score']:.4f}"
        for r in results
    ]
    low, high = _SLOPE
    # Other work on the machine lengthens elapsed time, by different amounts for each size.
    growth = slope(results, "cpu")
    rate = last["rows"] / last["cpu"]
    return [
        checked(
            f"{name}, {last['rows']:,} pairs × 2 references",
            f"{last['seconds']:.1f} s",
            f"< {_MOST_SECONDS:.0f} s",
            last["seconds"] < _MOST_SECONDS,
            ours=last["seconds"],
            peak=last["peak"],
            lines=lines,
        ),
        checked(
            f"{name}, pairs a second of one core",
            f"{rate:,.0f}",
            f"≥ {_LEAST_RATE:,}",
            rate >= _LEAST_RATE,
        ),
        checked(
            f"{name}, memory of {last['rows']:,} pairs",
            f"{last['peak'] / 1e3:.2f} GB",
            f"< {_MOST_MEMORY / 1e3:.0f} GB",
            last["peak"] < _MOST_MEMORY,
        ),
        checked(
            f"{name}, slope of log(CPU seconds) over log(pairs)",
            f"{growth:.3f}",
            f"{low} to {high}",
            low <= growth <= high,
            lines=(f"of elapsed seconds {slope(results, 'seconds'):.3f}",),
        ),
    ]

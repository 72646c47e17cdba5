"""Time and memory of GREEN on 125,000 to 1,000,000 sentence pairs with two references each.

    python -m benchmarks.green_scaling [--data DIR] [--sizes N N ...]

The texts are SEEDA's, all 1,312 sentences in seeded order over and over, each with the output of a
system drawn at random; a token of its own closes every row, so that no two rows are equal. Every
size runs in a process of its own, whose peak memory includes the texts and the scores. Exit status
1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.green_gleu_speed import Texts, add_data_option, read_seeda
from benchmarks.peer import ONE_THREAD, ROOT

_SIZES = (125_000, 250_000, 500_000, 1_000_000)

# The first two are held against the largest size; a slope of 1 is linear cost.
_MOST_SECONDS = 180.0
_MOST_BYTES = 2 * 10**9
_SLOPE = (0.9, 1.1)


def make_rows(texts: Texts, count: int, seed: int) -> tuple[list[str], list[str], list[list[str]]]:
    """Sources, hypotheses and references of `count` distinct rows; more rows begin alike."""
    import numpy as np

    rng = np.random.default_rng(seed)
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


def peak_bytes() -> int:
    """The most memory this process has held so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def score_one(texts: Texts, count: int, seed: int) -> dict[str, float]:
    """Score one size in this process."""
    import gecjury

    sources, hypotheses, references = make_rows(texts, count, seed)
    scorer = gecjury.load("green")
    before = peak_bytes()
    start, start_cpu = time.perf_counter(), time.process_time()
    table = scorer.score(sources, {"system": hypotheses}, references)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return {
        "rows": count,
        "seconds": seconds,
        "cpu": cpu,
        "texts": before,
        "peak": peak_bytes(),
        "tokens": sum(len(line.split()) for line in hypotheses),
        "green": table.totals["system"],
    }


def score_apart(data: Path, count: int, seed: int) -> dict[str, float]:
    """Score one size in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.green_scaling", "--data", str(data.resolve())]
    command += ["--seed", str(seed), "--only", str(count)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise SystemExit(f"{count} rows failed; the error stands above")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def slope(results: list[dict[str, float]], key: str) -> float:
    """Least-squares slope of log(value) over log(rows)."""
    x = [math.log(result["rows"]) for result in results]
    y = [math.log(result[key]) for result in results]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - x_mean) ** 2 for a in x)
    return sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True)) / spread


def report(results: list[dict[str, float]]) -> bool:
    """Print the targets at the largest size and the slope; tell whether all were met."""
    last = results[-1]
    low, high = _SLOPE
    checks = [
        (f"seconds at {last['rows']:,}", last["seconds"], f"< {_MOST_SECONDS:.0f}"),
        (f"GB at {last['rows']:,}", last["peak"] / 1e9, f"< {_MOST_BYTES / 1e9:.0f}"),
    ]
    reached = [last["seconds"] < _MOST_SECONDS, last["peak"] < _MOST_BYTES]
    if len(results) > 1:
        # Other work on the machine stretches elapsed time, and not that of all sizes alike.
        growth = slope(results, "cpu")
        checks.append(("slope of log(CPU seconds) over log(rows)", growth, f"{low} to {high}"))
        reached.append(low <= growth <= high)
        print(
            f"\n{'slope of log(seconds) over log(rows)':42}{slope(results, 'seconds'):8.3f}", end=""
        )
    print()
    for (label, value, target), met in zip(checks, reached, strict=True):
        print(f"{label:42}{value:8.3f}  target {target}: {'met' if met else 'MISSED'}")
    return all(reached)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time and memory of GREEN by corpus size.")
    add_data_option(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="of the order of rows (default 0)")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    texts = read_seeda(options.data, "all")
    if options.only is not None:
        print(json.dumps(score_one(texts, options.only, options.seed)))
        return 0
    print(f"GREEN, 1 system x {len(texts.references)} references; one process and one thread")
    heads = ("tokens", "seconds", "CPU s", "peak GB", "texts GB", "GREEN")
    print(f"{'rows':>10}{heads[0]:>13}" + "".join(f"{head:>10}" for head in heads[1:]))
    results = []
    for count in sorted(options.sizes):
        result = score_apart(options.data, count, options.seed)
        results.append(result)
        print(
            f"{count:10,}{result['tokens']:13,}{result['seconds']:10.2f}{result['cpu']:10.2f}"
            f"{result['peak'] / 1e9:10.2f}{result['texts'] / 1e9:10.2f}{result['green']:10.4f}",
            flush=True,
        )
    return 0 if report(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""Times M2 counts of all SEEDA outputs (15 systems, 1,312 sentences) in one process.

python benchmarks/m2_speed.py DATA, where DATA holds SEEDA/ and conll14/.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np

from gecjury.refbased.m2.maxmatch import Counts, match
from gecjury.refbased.m2.metric import M2
from gecjury.refbased.m2.paths import GoldEdit
from gecjury.refbased.references import choose_running
from gecjury.stats.counts import f_of_counts


def read_gold(path: Path) -> list[tuple[list[str], list[list[GoldEdit]]]]:
    result = []
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        first, *rest = block.split("\n")
        annotators: dict[int, list[GoldEdit]] = {}
        for line in rest:
            span, kind, text, _, _, number = line[2:].split("|||")
            start, end = map(int, span.split())
            golds = annotators.setdefault(int(number), [])
            if kind != "noop":
                texts = ("" if c == "-NONE-" else c.strip() for c in text.split("||"))
                golds.append(GoldEdit(start, end, tuple(texts)))
        result.append((first[2:].split(), [annotators[n] for n in sorted(annotators)] or [[]]))
    return result


def main(data: Path) -> None:
    gold = read_gold(data / "conll14/official-2014.combined.m2")
    files = sorted((data / "SEEDA/outputs/all").glob("*.txt"))
    stats = np.full((len(files), len(gold), 2, 3), np.nan)
    known: dict[tuple[int, str], list[Counts]] = {}
    slowest = (0.0, "", 0)
    begin = time.perf_counter()
    for row, path in enumerate(files):
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, (source, annotators) in enumerate(gold):
            key = (number, lines[number])
            if key not in known:
                start = time.perf_counter()
                known[key] = match(source, lines[number].split(), annotators)
                slowest = max(slowest, (time.perf_counter() - start, path.stem, number))
            stats[row, number, : len(annotators)] = known[key]
    totals, _ = choose_running(stats, M2().rule)
    seconds = time.perf_counter() - begin
    for path, score in zip(files, f_of_counts(*totals.T, 0.5), strict=True):
        print(f"{path.stem:14} {100 * score:6.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seconds:.1f} s, slowest pair {slowest[0]:.2f} s ({slowest[1]}, sentence {slowest[2]})")
    print(f"peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

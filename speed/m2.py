"""Time M2 counts of all SEEDA outputs (15 systems, 1,312 sentences) in one process.

python -m speed m2 --data DIR
"""

from __future__ import annotations

import time

import numpy as np

from gecjury.corpus.m2 import read_m2
from gecjury.refbased.m2.maxmatch import MatchCounts, match
from gecjury.refbased.m2.metric import M2, gold_edits
from gecjury.refbased.references import choose_running
from gecjury.stats.counts import f_of_counts
from speed.harness import Claim, Options, checked, peak_memory


def measure(options: Options) -> list[Claim]:
    """Time one pass over all outputs."""
    data = options.need_data()
    blocks = read_m2(data / "conll14/official-2014.combined.m2", overlaps="keep")
    gold = [(block.source.split(), gold_edits(block)) for block in blocks]
    files = sorted((data / "SEEDA/outputs/all").glob("*.txt"))
    if options.quick:
        gold, files = gold[:40], files[:3]
    stats = np.full((len(files), len(gold), 2, 3), np.nan)
    known: dict[tuple[int, str], list[MatchCounts]] = {}
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
    scores = zip(files, f_of_counts(*totals.T, 0.5), strict=True)
    return [
        checked(
            f"M2, {len(files)} × {len(gold)}",
            f"{seconds:.1f} s",
            ours=seconds,
            peak=peak_memory(),
            lines=(
                f"slowest pair {slowest[0]:.2f} s ({slowest[1]}, sentence {slowest[2]})",
                ", ".join(f"{path.stem} {100 * score:.2f}" for path, score in scores),
            ),
        )
    ]

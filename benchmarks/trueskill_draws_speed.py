"""Speed of TrueSkill of resampled corpora: all draws side by side, and one after another.

    python -m benchmarks.trueskill_draws_speed [--data DIR] [--scores DIR] [--passes 5]

GJG15: 13 systems × 1,312 sentences, GLEU and ERRANT, 1,000 draws: what `gecjury compare gjg15`
computes for two metrics. One after another is `gecjury.stats.ranking.trueskill` of each draw's
sentences, timed on a few draws and scaled. Exit status 1 if skills differ by more than 2e-5, or if
the ratio of processor seconds is below 20.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from gecjury.benchmarks.load import load_benchmark
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.stats.bootstrap import make_resampled
from gecjury.stats.ranking import trueskill
from gecjury.stats.trueskill import Game, rate_resampled, score_waves

METRICS = ("gleu", "errant")
RESAMPLES = 1000
TARGET = 20.0
CLOSE = 2e-5


def main() -> int:
    """Time both sides and compare the skills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of benchmark data")
    parser.add_argument("--scores", help="folder of score files, kept and used again")
    parser.add_argument("--passes", type=int, default=5, help="draws rated one after another")
    args = parser.parse_args()
    benchmark = load_benchmark("gjg15", data=args.data)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(args.scores or folder)
        found = [score_with_files(load(m), benchmark.corpus, where, Runtime()) for m in METRICS]
    tables = [table.sentences for table in found]
    systems, lines = tables[0].shape
    draws = make_resampled("sentences", RESAMPLES, lines, systems, seed=0)
    assert draws.sentences is not None
    start = time.process_time()
    game = Game()
    together = rate_resampled(score_waves(tables), draws.counts, systems, game, metrics=len(tables))
    middle = time.process_time()
    alone = np.array(
        [
            [trueskill(table[:, row]).scores for row in draws.sentences[: args.passes]]
            for table in tables
        ]
    )
    ours, theirs = middle - start, (time.process_time() - middle) * RESAMPLES / args.passes
    gap = float(np.abs(together[:, : args.passes] - alone).max())
    shape = f"{len(tables)} metrics x {systems} systems x {lines} sentences"
    print(f"{shape}, {RESAMPLES} draws, seconds of processor time")
    print(f"one after another   {theirs:8.1f} s (from {args.passes} draws)")
    print(f"side by side        {ours:8.1f} s")
    print(f"ratio               {theirs / ours:8.0f} (target {TARGET:.0f})")
    print(f"largest difference  {gap:8.1e} (target {CLOSE:.0e})")
    return 0 if gap <= CLOSE and theirs >= TARGET * ours else 1


if __name__ == "__main__":
    raise SystemExit(main())

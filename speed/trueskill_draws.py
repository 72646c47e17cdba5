"""Speed of TrueSkill of resampled corpora: all draws side by side, and one after another.

    python -m speed trueskill-draws --data DIR [--scores DIR]

GJG15: 13 systems × 1,312 sentences, GLEU and ERRANT, 1,000 draws: what `gecjury compare gjg15`
computes for two metrics. One after another is `gecjury.stats.ranking.trueskill` of each draw's
sentences, timed on a few draws and scaled.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.stats.bootstrap import make_resampled
from gecjury.stats.ranking import trueskill
from gecjury.stats.trueskill import Game, ScoreWaves, rate_resampled
from speed.harness import Claim, Options, checked, faster

METRICS = ("gleu", "errant")
RESAMPLES = 1000
PASSES = 5  # draws rated one after another
TARGET = 20.0
CLOSE = 2e-5


def measure(options: Options) -> list[Claim]:
    """Time both sides and compare the skills."""
    resamples, passes = (50, 1) if options.quick else (RESAMPLES, PASSES)
    benchmark = load_benchmark("gjg15", data=str(options.need_data()))
    with tempfile.TemporaryDirectory() as folder:
        where = options.scores or Path(folder)
        found = [score_with_files(load(m), benchmark.corpus, where, Runtime()) for m in METRICS]
    tables = [table.sentences for table in found]
    systems, lines = tables[0].shape
    draws = make_resampled("sentences", resamples, lines, systems, seed=0)
    assert draws.sentences is not None
    start = time.process_time()
    game = Game(0.0, 0.5, 0.25, 0.0, 0.25)
    together = rate_resampled(ScoreWaves(tables), draws.counts, game)
    middle = time.process_time()
    alone = np.array(
        [[trueskill(table[:, row]) for row in draws.sentences[:passes]] for table in tables]
    )
    ours, theirs = middle - start, (time.process_time() - middle) * resamples / passes
    gap = float(np.abs(together[:, :passes] - alone).max())
    shape = f"{len(tables)} metrics × {systems} systems × {lines} sentences, {resamples} draws"
    told = f"seconds of processor time; one after another from {passes} draws"
    return [
        faster(f"TrueSkill of draws, {shape}", ours, theirs, TARGET, lines=(told,)),
        checked(
            "TrueSkill of draws, greatest difference",
            f"{gap:.1e}",
            f"≤ {CLOSE:.0e}",
            gap <= CLOSE,
            agreement=True,
        ),
    ]

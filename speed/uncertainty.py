"""Seconds that intervals, tests and clusters take, from cached scores, on SEEDA.

    python -m speed uncertainty --data DIR [--scores DIR]

Compares twelve metrics with SEEDA-E and SEEDA-S, Base and +Fluency, and reports the seconds of each
stage. Metrics whose score file is missing are scored first, which is not counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.runtime import Runtime
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation
from gecjury.metaeval.uncertainty import Draws
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.system_tests import RankedMetric
from gecjury.stats.resampling import Resampling
from speed.harness import Claim, Options, checked, peak_memory

METRICS = (
    "green", "green:unit=char", "green:n=6", "gleu", "gleu-official", "errant", "errant:beta=1",
    "m2", "gotoscorer", "i-measure", "cleme", "cleme:assumption=dependent",
)  # fmt: skip
RESAMPLES = 1000
TARGET = 20.0
_DRAWS = "TrueSkill of resampled corpora"


def measure(options: Options) -> list[Claim]:
    """Score missing metrics, then time the stages."""
    data = str(options.need_data())
    metrics, resamples = (METRICS[:2], 20) if options.quick else (METRICS, RESAMPLES)
    total: dict[str, float] = {}
    lines: list[str] = []
    for systems in ("base",) if options.quick else ("base", "fluency"):
        benchmark = load_benchmark("seeda", systems=systems, data=data)
        scorers = [load(name) for name in metrics]
        with tempfile.TemporaryDirectory() as made:
            folder = options.scores or made
            for scorer in scorers:
                score_with_files(scorer, benchmark.corpus, folder, Runtime())
            stages = _stages(benchmark, scorers, folder, resamples)
            for stage, wall, used in stages:
                total[stage] = total.get(stage, 0.0) + wall
                lines.append(f"{systems}, {stage}: {wall:.2f} s ({used:.2f} s of processor)")
    rest = sum(total.values()) - total[_DRAWS]
    return [
        checked(
            f"intervals, tests and clusters of {len(metrics)} metrics on SEEDA, without TrueSkill",
            f"{rest:.1f} s",
            f"< {TARGET:.0f} s",
            rest < TARGET,
            ours=rest,
            peak=peak_memory(),
            lines=lines,
        ),
        checked(_DRAWS, f"{total[_DRAWS]:.1f} s", ours=total[_DRAWS]),
    ]


def _stages(
    benchmark: Benchmark, scorers: Sequence[Scorer], folder: str | Path, resamples: int
) -> list[tuple[str, float, float]]:
    """Return each stage with its seconds by the clock and of the processor."""
    told: list[tuple[str, float, float]] = []
    start = time.perf_counter(), time.process_time()

    def done(stage: str) -> None:
        nonlocal start
        now = time.perf_counter(), time.process_time()
        told.append((stage, now[0] - start[0], now[1] - start[1]))
        start = time.perf_counter(), time.process_time()

    tables = [score_with_files(s, benchmark.corpus, folder, Runtime()) for s in scorers]
    entries = [RankedMetric(table, scorer) for scorer, table in zip(scorers, tables, strict=True)]
    done("read score files")
    study = MetaEvaluation(
        benchmark, Settings(human="both", resampling=Resampling(resamples=resamples))
    )
    for table in tables:
        study.evaluate(table)
    done("point estimates, SPA")
    found = Draws(study, entries)
    found.scores  # noqa: B018 (computed on first use)
    done(_DRAWS)
    for view in benchmark.views:
        found.intervals(view, "system")
        found.intervals(view, "sentence")
    done("intervals, E and S")
    for view in benchmark.views:
        found.significance(view, range(len(entries)))
    done("tests between metrics, E and S")
    return told

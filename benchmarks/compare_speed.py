"""Seconds that intervals, tests and clusters take, from cached scores, on SEEDA.

    python benchmarks/compare_speed.py --scores DIR [--data DIR] [--resamples 1000]

Compares twelve metrics with SEEDA-E and SEEDA-S, Base and +Fluency, and prints for each stage its
seconds. Metrics whose score file is not in DIR are scored first, which is not counted.
"""

from __future__ import annotations

import argparse
import time

from gecjury.benchmarks.load import load_benchmark
from gecjury.metaeval.resampled import Entry
from gecjury.metaeval.settings import Resampling
from gecjury.metaeval.study import Study
from gecjury.metaeval.uncertainty import Uncertainty
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files

METRICS = (
    "green", "green:unit=char", "green:n=6", "gleu", "gleu-official", "errant", "errant:beta=1",
    "m2", "gotoscorer", "i-measure", "cleme", "cleme:assumption=dependent",
)  # fmt: skip


def main() -> None:
    """Score what is missing, then time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", required=True, help="folder of score files")
    parser.add_argument("--data", help="folder of benchmark data")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--aggregate", default="trueskill")
    args = parser.parse_args()
    total: dict[str, float] = {}
    for systems in ("base", "fluency"):
        benchmark = load_benchmark("seeda", systems=systems, data=args.data)
        scorers = [load(name) for name in METRICS]
        for scorer in scorers:
            score_with_files(scorer, benchmark.corpus, args.scores, Runtime())
        start = time.perf_counter(), time.process_time()
        tables = [score_with_files(s, benchmark.corpus, args.scores, Runtime()) for s in scorers]
        entries = [
            Entry(
                table.signature.label,
                table.sentences,
                None,
                lambda draws, s=scorer, t=table: s.corpus_scores(t.statistics, draws).score,
            )
            for scorer, table in zip(scorers, tables, strict=True)
        ]
        start = _told(total, systems, "read score files", start)
        study = Study(benchmark, args.aggregate)
        for table in tables:
            study.evaluate(table, benchmark.views)
        start = _told(total, systems, "point estimates, SPA", start)
        found = Uncertainty(study, entries, Resampling("both", args.resamples))
        found.scores  # noqa: B018 (computed on first use)
        start = _told(total, systems, f"{args.aggregate} of resampled corpora", start)
        for view in benchmark.views:
            found.over_systems(view)
            found.over_pairs(view)
        start = _told(total, systems, "intervals, E and S", start)
        for view in benchmark.views:
            found.significance(view, range(len(entries)))
        _told(total, systems, "tests between metrics, E and S", start)
    for stage, seconds in total.items():
        print(f"both     {stage:40} {seconds:6.2f} s")
    print(f"both     {'all':40} {sum(total.values()):6.2f} s")


def _told(
    total: dict[str, float], systems: str, stage: str, start: tuple[float, float]
) -> tuple[float, float]:
    """Print a stage's seconds (wall clock and of the processor) and begin the next."""
    now = time.perf_counter(), time.process_time()
    wall, used = now[0] - start[0], now[1] - start[1]
    total[stage] = total.get(stage, 0.0) + wall
    print(f"{systems:8} {stage:40} {wall:6.2f} s ({used:.2f} s of processor)", flush=True)
    return time.perf_counter(), time.process_time()


if __name__ == "__main__":
    main()

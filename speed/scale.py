"""Datasets scored locally and on Ray: rows a second, memory, slope; SOME by both engines.

    python -m speed scale --data DIR [--some DIR]

GREEN and `changes` read 1, 3 and 10 million made-up rows (4, 12 and 40 Parquet files of 250,000)
with one local worker, two, and two actors of a Ray cluster that the command starts itself. A run is
the whole command, including the start of Python and Ray; the time for a hundred rows counts as the
start, and is excluded from speed and slope. The memory of the process tree is sampled four times a
second. SOME reads 200,000 rows with two workers and two actors; its model is the one given, or a
random one of two layers.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path

from speed.green_scaling import slope
from speed.harness import Claim, Lacking, Options, checked, needs
from speed.refless import HIDDEN, LAYERS, make_models
from speed.scale_made import Ran, make_files, rows_by_id, run_score
from speed.seeda import read_seeda

__all__ = ["measure"]

_ENGINES = {
    "local, 1 worker": ("--workers", "1"),
    "local, 2 workers": ("--workers", "2"),
    "Ray, 2 actors": ("--workers", "2", "--engine", "ray"),
}
_METRICS = ("-m", "green", "-m", "changes")
_MOST_MEGABYTES = 1500.0
_SLOPE = (0.9, 1.1)
_SAME = 1e-6


def measure(options: Options) -> list[Claim]:
    """Measure GREEN and `changes` at three sizes, then SOME."""
    needs("pyarrow", "ray", "torch", "transformers", "tokenizers")
    if not Path("/proc").is_dir():
        raise Lacking("no /proc, from which the memory of a process tree is read")
    texts = read_seeda(options, "all")
    files, rows, sizes = (3, 2_000, (1, 2, 3)) if options.quick else (40, 250_000, (4, 12, 40))
    with tempfile.TemporaryDirectory(prefix="gecjury-scale-") as name:
        folder = Path(name)
        made = make_files(texts, folder / "made", files, rows)
        claims: list[Claim] = []
        few = make_files(texts, folder / "few", 2, 50)
        starts = {}
        for engine, words in _ENGINES.items():
            runs = []
            for files_read in (few, *(made[:size] for size in sizes)):
                out = folder / "scored"
                ran = run_score(files_read, [*_METRICS, *words, "-o", str(out)], folder / "said")
                runs.append((len(files_read) * rows, ran))
                shutil.rmtree(out)
            starts[engine] = runs.pop(0)[1].seconds
            claims += _claims(engine, runs, starts[engine])
        shutil.rmtree(folder / "made")
        pairs = 2_000 if options.quick else 200_000
        claims += _some(options, folder, pairs, texts.sources, starts)
    return claims


def _claims(engine: str, runs: list[tuple[int, Ran]], start: float) -> list[Claim]:
    """Return the claims about one engine, by size.

    Args:
        engine: name in `_ENGINES`.
        runs: number of rows, and the run.
        start: seconds for a hundred rows, which do not grow with rows.
    """
    rows, last = runs[-1]
    low, high = _SLOPE
    speed = rows / max(last.seconds - start, 1e-9)
    least = 1e-3  # small sizes may take no longer than the start
    growth = slope(
        [{"rows": r, "seconds": max(ran.seconds - start, least)} for r, ran in runs], "seconds"
    )
    plain = slope([{"rows": r, "seconds": ran.seconds} for r, ran in runs], "seconds")
    lines = [
        f"{r:,} rows: {ran.seconds:.1f} s, {r / ran.seconds:,.0f} rows a second; MB: driver "
        f"{ran.peaks['driver']:.0f}, workers {ran.peaks['workers']:.0f} together and "
        f"{ran.peaks['worker']:.0f} the largest, engine's own {ran.peaks['engine']:.0f}"
        for r, ran in runs
    ]
    ours = max(last.peaks["driver"], last.peaks["worker"])
    first = runs[0][1]
    started = max(first.peaks["driver"], first.peaks["worker"])
    return [
        checked(
            f"green and changes, {engine}, {rows:,} rows",
            f"{speed:,.0f} rows a second",
            ours=last.seconds,
            peak=ours,
            lines=lines,
        ),
        checked(
            f"{engine}: memory of driver and of a worker",
            f"{ours:.0f} MB ({ours - started:+.0f} from {runs[0][0]:,} rows)",
            f"< {_MOST_MEGABYTES:.0f} MB",
            ours < _MOST_MEGABYTES,
        ),
        checked(
            f"{engine}: slope of log(seconds) over log(rows)",
            f"{growth:.3f}",
            f"{low} to {high}",
            low <= growth <= high,
            lines=(f"of seconds without the start of {start:.1f} s; with it {plain:.3f}",),
        ),
    ]


def _some(
    options: Options, folder: Path, pairs: int, sources: list[str], starts: dict[str, float]
) -> list[Claim]:
    """Compare SOME by both engines: equality of scores, and the cost of Ray."""
    model = options.some
    if model is None:
        make_models(folder / "models", tuple(sources), HIDDEN, LAYERS)
        model = folder / "models" / "some"
    made = make_files(read_seeda(options, "all"), folder / "pairs", 4, pairs // 4)
    words = ["-m", f"some:model={model}", "--device", "cpu"]
    found: dict[str, tuple[Ran, list[str]]] = {}
    for engine in ("local, 2 workers", "Ray, 2 actors"):
        out = folder / "some"
        ran = run_score(made, [*words, *_ENGINES[engine], "-o", str(out)], folder / "said")
        found[engine] = ran, rows_by_id(out)
        shutil.rmtree(out)
    (local, ours), (ray, theirs) = found.values()
    gap = _gap(ours, theirs)
    bare = [ran.seconds - starts[engine] for engine, (ran, _) in found.items()]
    what = f"some, {pairs:,} rows, Ray with two actors beside two local workers"
    return [
        checked(
            what,
            f"{100 * (ray.seconds / local.seconds - 1):+.1f}% of time",
            ours=ray.seconds,
            peak=max(ray.peaks["driver"], ray.peaks["worker"]),
            lines=(
                f"local {local.seconds:.1f} s, Ray {ray.seconds:.1f} s, starts included; without "
                f"them {bare[0]:.1f} s and {bare[1]:.1f} s ({100 * (bare[1] / bare[0] - 1):+.1f}%)",
                "the model is " + (str(options.some) if options.some else "random, two layers"),
            ),
        ),
        checked(
            f"some, {pairs:,} rows: largest difference of a score",
            f"{gap:.1e}",
            f"≤ {_SAME:g}",
            gap <= _SAME,
            agreement=True,
        ),
    ]


def _gap(ours: list[str], theirs: list[str]) -> float:
    """Return the largest difference of numbers in otherwise equal rows; infinite if they differ."""
    import json

    if len(ours) != len(theirs):
        return math.inf
    widest = 0.0
    for one, other in zip(map(json.loads, ours), map(json.loads, theirs), strict=True):
        if one.keys() != other.keys() or one["id"] != other["id"]:
            return math.inf
        for key, value in one.items():
            if isinstance(value, float) and isinstance(other[key], float):
                widest = max(widest, abs(value - other[key]))
            elif value != other[key]:
                return math.inf
    return widest

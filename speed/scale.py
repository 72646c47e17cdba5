"""Datasets scored on a Ray cluster of two nodes: beside plain Ray Data, and ten million rows.

    python -m speed scale --data DIR

GREEN reads made-up rows from Parquet files of 250,000. On one million, `gecjury score --engine ray`
is compared with Ray Data's `read_parquet`, `map_batches` and `write_parquet` around a function that
calls the same metric, and with `gecjury score` on two local workers. Then it reads ten million. A
run is the whole command. Rows a second and core are those of the processor seconds of all
processes, including Ray's own. The time for a hundred rows counts as the start, and is excluded
from speed and slope; the better of two runs is compared. Memory is sampled four times a second.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speed.harness import Claim, Options, checked
from speed.scale_made import Ran, TwoNodes, make_files, read_result, run, score
from speed.seeda import read_seeda

_RAY, _PLAIN, _ = _WAYS = ("gecjury on Ray", "plain Ray Data", "two local workers")
_CORES = 2
_BATCH = 4_096
_MOST_OVERHEAD = 0.15
_MOST_MEGABYTES = 1500.0
_SLOPE = (0.9, 1.1)


def measure(options: Options) -> list[Claim]:
    """Measure three ways on one million rows, and our own on ten million."""
    cluster = TwoNodes()
    texts = read_seeda(options, "all")
    files, rows, few = (6, 2_000, 2) if options.quick else (40, 250_000, 4)
    rounds = 1 if options.quick else 2
    with tempfile.TemporaryDirectory(prefix="gecjury-scale-") as name, cluster:
        folder = Path(name)
        tiny = make_files(texts, folder / "tiny", 2, 50)
        # Twice, since the first run also fills Ray's caches of packages and files.
        starts = {way: [_run(way, tiny, folder) for _ in range(rounds)][-1] for way in _WAYS}
        some = make_files(texts, folder / "some", few, rows)
        runs: dict[str, list[Ran]] = {way: [] for way in _WAYS}
        for way in _WAYS * rounds:
            runs[way].append(_run(way, some, folder))
        tables = [read_result(folder / way) for way in _WAYS]
        equal = tables[0].equals(tables[1]) and tables[0].equals(tables[2])
        whole = _run(_RAY, make_files(texts, folder / "made", files, rows), folder)
    size = few * rows
    net = {way: _net(runs[way], starts[way]) for way in _WAYS}
    claims = [
        checked(
            "rows of all three",
            "equal" if equal else "not equal",
            "equal",
            equal,
            agreement=True,
        )
    ]
    for way, (processor, seconds) in net.items():
        claims.append(_claim(way, size, processor, seconds, runs[way][-1], starts[way]))
    processor, seconds = (
        one / other - 1 for one, other in zip(net[_RAY], net[_PLAIN], strict=True)
    )
    claims.append(
        checked(
            f"overhead of {_RAY} over {_PLAIN}, processor time",
            f"{processor:+.1%}",
            f"≤ {_MOST_OVERHEAD:.0%}",
            processor <= _MOST_OVERHEAD,
            lines=(f"seconds by the clock {seconds:+.1%}",),
        )
    )
    return claims + _whole(files * rows, size, whole, net[_RAY][1], runs[_RAY], starts[_RAY])


def _claim(way: str, rows: int, processor: float, seconds: float, ran: Ran, start: Ran) -> Claim:
    """Return the claim about one way and size."""
    peaks = ran.peaks
    return checked(
        f"{way}, {rows:,} rows",
        f"{rows / processor:,.0f} rows a second and core",
        ours=seconds,
        peak=max(peaks["driver"], peaks["worker"]),
        lines=(
            f"{rows / seconds:,.0f} rows a second; {processor:.1f} s of processor time; start "
            f"{start.seconds:.1f} s and {start.processor:.1f} s",
            f"MB: driver {peaks['driver']:.0f}, the largest worker {peaks['worker']:.0f}, all "
            f"workers {peaks['workers']:.0f}, Ray's own {peaks['engine']:.0f}",
        ),
    )


def _whole(
    rows: int, size: int, whole: Ran, seconds: float, runs: Sequence[Ran], start: Ran
) -> list[Claim]:
    """Return the claims about the largest run: speed, memory and slope.

    Args:
        rows: rows of the largest run.
        size: rows of the smaller runs.
        seconds: seconds of the fastest of the smaller runs, without the start.
    """
    processor, longer = _net([whole], start)
    peak, before = (max(ran.peaks["driver"], ran.peaks["worker"]) for ran in (whole, runs[-1]))
    growth = math.log(longer / seconds) / math.log(rows / size)
    low, high = _SLOPE
    return [
        _claim(_RAY, rows, processor, longer, whole, start),
        checked(
            f"{_RAY}: memory of driver and of a worker",
            f"{peak:.0f} MB ({peak - before:+.0f} from {size:,} rows)",
            f"< {_MOST_MEGABYTES:.0f} MB",
            peak < _MOST_MEGABYTES,
        ),
        checked(
            f"{_RAY}: slope of log(seconds) over log(rows)",
            f"{growth:.3f}",
            f"{low} to {high}",
            low <= growth <= high,
        ),
    ]


def _net(runs: Sequence[Ran], start: Ran) -> tuple[float, float]:
    """Return the least processor seconds and seconds of some runs, without the start."""
    processor = min(ran.processor for ran in runs) - start.processor
    clock = min(ran.seconds for ran in runs) - start.seconds
    return max(processor, 1e-3), max(clock, 1e-3)  # small sizes may take no longer than the start


def _run(way: str, files: Sequence[Path], folder: Path) -> Ran:
    """Score some files, and leave the result in a folder called after the way."""
    out, said = folder / way, folder / "said"
    shutil.rmtree(out, ignore_errors=True)
    if way == _PLAIN:
        call = f"score_plainly({str(out)!r}, {str(files[0].parent)!r}, {len(files)})"
        return run(["-c", f"from speed.scale import score_plainly; {call}"], said)
    engine = "ray" if way == _RAY else "local"
    words = ("-m", "green", "--workers", str(_CORES), "--engine", engine, "-o", str(out))
    return run(score(files, *words), said)


def score_plainly(out: str, folder: str, files: int) -> None:
    """Score the files of a folder by Ray Data alone, as its documentation shows."""
    import ray

    ray.init(os.environ["RAY_ADDRESS"], log_to_driver=False)
    # A folder, since Ray's threads fail at importing fsspec where several files are named.
    rows = ray.data.read_parquet(folder, override_num_blocks=files)
    rows.map_batches(
        _green, batch_size=_BATCH, batch_format="pyarrow", concurrency=_CORES
    ).write_parquet(out)


def _green(batch: Any) -> Any:
    """Return the ids and scores of a batch of rows."""
    import pyarrow as pa

    import gecjury

    scorer = gecjury.load("green")
    lines = {name: batch[name].to_pylist() for name in ("source", "hypothesis", "references")}
    references = list(zip(*lines["references"], strict=True))
    corpus = gecjury.corpus_of_texts(
        lines["source"], {"": lines["hypothesis"]}, references, tokens="space", fold="none"
    )
    scores = scorer.sentence_scores(scorer.statistics(corpus, gecjury.Runtime()))
    columns = {"id": batch["id"], "green": scores.score[0]}
    for name, part in (("precision", scores.precision), ("recall", scores.recall)):
        assert part is not None
        columns[f"green.{name}"] = part[0]
    return pa.table(columns)

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

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speed.harness import Claim, Options, checked
from speed.scale_made import Ran, TwoNodes, make_files, read_result, run, score
from speed.seeda import read_seeda

__all__ = ["measure"]

_WAYS = ("gecjury on Ray", "plain Ray Data", "gecjury, 2 local workers")
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
    with tempfile.TemporaryDirectory(prefix="gecjury-scale-") as name, cluster:
        folder = Path(name)
        tiny = make_files(texts, folder / "tiny", 2, 50)
        starts = {way: _run(way, tiny, folder) for way in _WAYS}
        made = make_files(texts, folder / "made", files, rows)
        runs = {way: [_run(way, made[:few], folder) for _ in range(2)] for way in _WAYS}
        tables = [read_result(folder / way) for way in _WAYS]
        whole = _run(_WAYS[0], made, folder)
    net = {way: _net(runs[way], starts[way]) for way in _WAYS}
    size, most = few * rows, files * rows
    (ours, our_clock), (theirs, their_clock), _ = net.values()
    return [
        checked(
            f"{what}, {size:,} rows of GREEN: Ray beside plain map_batches",
            f"{one / other - 1:+.1%}",
            f"≤ {_MOST_OVERHEAD:+.0%}",
            one / other - 1 <= _MOST_OVERHEAD,
            ours=one,
        )
        for what, one, other in (
            ("processor seconds", ours, theirs),
            ("seconds by the clock", our_clock, their_clock),
        )
    ] + [
        checked(
            f"{way}, {size:,} rows of GREEN",
            f"{size / processor:,.0f} rows a second and core",
            ours=clock,
            lines=(
                f"{processor:.1f} s of processor time, {size / clock:,.0f} rows a second; the start: {starts[way].processor:.1f} s of "
                f"processor time, {starts[way].seconds:.1f} s",
                _memory(runs[way][-1]),
            ),
        )
        for way, (processor, clock) in net.items()
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
    if way == "plain Ray Data":
        return run(["-m", "speed.scale", str(out), *map(str, files)], said)
    engine = "ray" if way == "gecjury on Ray" else "local"
    words = ("-m", "green", "--workers", str(_CORES), "--engine", engine, "-o", str(out))
    return run(score(files, *words), said)


def _plain(out: str, *files: str) -> None:
    """Score files by Ray Data alone, as its documentation shows."""
    import ray

    columns = ["id", "source", "hypothesis", "references"]
    ray.init(os.environ["RAY_ADDRESS"], log_to_driver=False)
    rows = ray.data.read_parquet(list(files), columns=columns, override_num_blocks=len(files))
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
    corpus = gecjury.corpus_of_texts(lines["source"], {"": lines["hypothesis"]}, references)
    scores = scorer.sentence_scores(scorer.statistics(corpus, gecjury.Runtime()))
    columns = {"": scores.score, ".precision": scores.precision, ".recall": scores.recall}
    return pa.table({"id": batch["id"]} | {f"green{n}": part[0] for n, part in columns.items()})


if __name__ == "__main__":
    _plain(*sys.argv[1:])

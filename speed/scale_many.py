"""The cost of a row and of a shard, from which the speed of any number of workers follows.

    python -m speed scale-many --data DIR [--some DIR]

Measured: processor seconds per row of each metric, including reading and writing files, by the
difference of two sizes in one process; the cluster's start; and the driver's ceiling, that is how
many shards per second it distributes and collects if workers have nothing to do (the note that a
shard was begun is still written), by the difference of two numbers of shards. Not measured, since
one machine cannot show it: a network, a file system that slows down under many readers, nodes of
different speed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gecjury.datasets.ray_engine import RayEngine, ShardActor
from gecjury.datasets.shards import InputFile, Shard, ShardJob, ShardSummary, shards_of
from gecjury.scoring.signature import Signature
from speed.harness import Claim, Options, checked, needs
from speed.refless import HIDDEN, LAYERS, make_models
from speed.scale_made import make_files
from speed.seeda import read_seeda

SHARD_ROWS = 100_000


class Idle(ShardActor):
    """An actor that does nothing."""

    def load(self, job: ShardJob) -> Any:
        """Return a function that finishes a shard at once."""
        return SimpleNamespace(finish=_nothing)


class IdleEngine(RayEngine):
    """Ray with nothing to do."""

    actor = Idle


def _nothing(shard: Shard) -> ShardSummary:
    return ShardSummary(shard.number, shard.stop - shard.start)


def measure(options: Options) -> list[Claim]:
    """Measure costs and the ceiling, and compute the table."""
    needs("pyarrow", "ray", "torch", "transformers", "tokenizers")
    texts = read_seeda(options, "all")
    counts = (50, 200) if options.quick else (1_000, 10_000)
    with tempfile.TemporaryDirectory(prefix="gecjury-many-") as name:
        folder = Path(name)
        start, ceiling = _ceiling(folder / "idle", counts)
        some = options.some
        if some is None:
            make_models(folder / "models", tuple(texts.sources), HIDDEN, LAYERS)
            some = folder / "models" / "some"
        costs = {}
        for metric, rows in (
            ("changes", 60_000), ("green", 60_000), ("errant", 3_000), (f"some:model={some}", 3_000)
        ):  # fmt: skip
            size = 100 if options.quick else rows
            made = make_files(texts, folder / f"made-{size}", 4, size)
            costs[metric.partition(":")[0]] = _cost(metric, made, size, folder / "scored")
    claims = [
        checked(
            f"Ray's driver, {counts[1]:,} shards with nothing to do, 2 actors",
            f"{ceiling:,.0f} shards a second",
            lines=(f"until the first answer {start:.1f} s; {1000 / ceiling:.2f} ms a shard",),
        )
    ]
    for metric, cost in costs.items():
        share = 100 / ceiling / (SHARD_ROWS * cost)
        claims.append(
            checked(
                f"{metric}, one worker",
                f"{1 / cost:,.0f} rows a second of processor time",
                lines=(
                    f"measured: {cost * 1e6:.0f} µs a row, {SHARD_ROWS * cost:.1f} s a shard of "
                    f"{SHARD_ROWS:,} rows, of which sharing out is {share:.2g}%",
                    f"reckoned: more than {max(1, int(ceiling * SHARD_ROWS * cost)):,} workers are "
                    "idle at times, since the driver cannot share out faster",
                ),
            )
        )
    return claims


def _ceiling(folder: Path, counts: Sequence[int]) -> tuple[float, float]:
    """Return seconds until the first answer, and shards per second."""
    took, firsts = [], []
    for count in counts:
        place = folder / str(count)
        place.mkdir(parents=True)
        file = InputFile("/nowhere.jsonl", "nowhere.jsonl", count)
        job = ShardJob(
            "", "source", {"": "hypothesis"}, "", folder=str(place), metrics=("green",),
            labels=("green",), signatures=(Signature("green", "refbased", {}),), files=(file,),
            shard_rows=1,
        )  # fmt: skip
        begin = time.perf_counter()
        answers = _answered(job, list(shards_of([file], 1)))
        took.append(answers[-1] - answers[0])
        firsts.append(answers[0] - begin)
    return min(firsts), (counts[1] - counts[0]) / (took[1] - took[0])


def _answered(job: ShardJob, shards: Sequence[Shard]) -> list[float]:
    """Return the time of each answer."""
    answers: list[float] = []
    IdleEngine("local", 2).finish(job, shards, lambda summary: answers.append(time.perf_counter()))
    return answers


def _cost(metric: str, made: Sequence[Path], size: int, out: Path) -> float:
    """Return processor seconds per row, without the start."""
    from gecjury.core.runtime import Runtime
    from gecjury.datasets.run import score_dataset

    runtime = Runtime(device="cpu", use_cache=False)
    spent: list[float] = []
    for files in (made[:1], made[:1], made):  # the first run loads everything that is loaded once
        begin = time.process_time()
        score_dataset(
            list(files), out / f"{metric[:4]}-{len(spent)}", metrics=metric, runtime=runtime
        )
        spent.append(time.process_time() - begin)
    return (spent[2] - spent[1]) / (size * (len(made) - 1))

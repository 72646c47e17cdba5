"""Engines that score shards: the protocol, and one that uses processes of this machine."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Protocol

from gecjury.core.errors import IncompleteError
from gecjury.core.processes import Pool, SpawnedProcess, WorkerDied
from gecjury.core.records import from_record
from gecjury.datasets.shards import Shard, ShardJob, ShardSummary
from gecjury.datasets.work import Worker

TRIES = 3
"""How often a shard is tried if its worker dies."""


class Engine(Protocol):
    """An object that has shards finished somewhere."""

    def finish(
        self, job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        """Have every shard finished somewhere, in any order.

        Args:
            done: called in the driver once a shard's summary is known.
        """


def workers_died(job: ShardJob, shard: Shard, times: str) -> IncompleteError:
    """Return the error for a shard that kills its workers; it names file and rows."""
    return IncompleteError(
        f"{job.files[shard.file].path}, rows {shard.start + 1} to {shard.stop}: the worker died "
        f"{times}: use fewer workers or smaller shards (shard_rows), and run the command again"
    )


class LocalEngine:
    """An engine of processes on this machine; a single worker runs in the driver itself.

    Args:
        workers: number of workers, 1 or more.
    """

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def finish(
        self, job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        """See `Engine.finish`.

        Raises:
            IncompleteError: a shard's worker died three times; names file and rows.
            GecjuryError: raised by a worker.
        """
        count = min(self._workers, len(shards))
        if count < 2:
            _finish_here(job, shards, done)
            return
        # Otherwise numerical libraries would start one thread per core in every worker.
        threads = str(max(1, (os.cpu_count() or 1) // count))
        environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads)}
        # Popping from a deque is atomic, so that the threads below need no lock.
        left, begun = deque(shards), Counter[int]()

        def feed(process: SpawnedProcess) -> None:
            """Have one process finish shards as long as there are any."""
            loaded = False
            with suppress(IndexError):  # of an empty queue
                while True:
                    shard = left.popleft()
                    begun[shard.number] += 1
                    try:
                        if not loaded:
                            process.ask(asdict(job))
                            loaded = True
                        answer = process.ask(asdict(shard))
                        pool.results.put(from_record(ShardSummary, answer))
                    except WorkerDied as death:
                        if begun[shard.number] >= TRIES:
                            times = f"{TRIES} times (status {death.status}; -9 is often memory)"
                            raise workers_died(job, shard, times) from None
                        # To the front, so that a shard that kills its workers is found early.
                        left.appendleft(shard)
                        process.begin_again()
                        loaded = False

        with closing(Pool[ShardSummary]()) as pool:
            work = "gecjury.datasets.work"
            pool.fill(count, lambda: SpawnedProcess(work, environment=environment))
            if not pool.processes:  # the system allows none
                _finish_here(job, shards, done)
                return
            pool.work(feed)
            # Only in this thread, so that `done` need not be thread-safe.
            for _ in shards:
                done(pool.result())


def _finish_here(
    job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
) -> None:
    worker = Worker(job)
    for shard in shards:
        done(worker.finish(shard))

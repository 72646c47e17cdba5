"""Who finishes shards: the protocol, and this machine's processes.

Worker processes are plain children that speak JSON lines over their standard streams, as those of
`gecjury.extraction.workers` do: they start alike on every system, in scripts without a guarded
main part and in notebooks. One that dies is started again, and its shard is done again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

from gecjury import errors
from gecjury.datasets.shards import Job, Shard, ShardSummary
from gecjury.datasets.work import Worker
from gecjury.errors import GecjuryError, IncompleteError

TRIES = 3
"""How often a shard is begun whose worker dies."""


class Engine(Protocol):
    """Has shards finished somewhere."""

    def finish(
        self, job: Job, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        """Have every shard finished somewhere, in any order.

        Args:
            job: what is to be done with each.
            shards: those that are left.
            done: called in the driver once a shard's summary is known.
        """


class _Died(Exception):
    """A worker process ended before it answered."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def shard_rows_of(job: Job, shard: Shard) -> str:
    """A shard as people find it: file and rows."""
    return f"{job.files[shard.file].path}, rows {shard.start + 1} to {shard.stop}"


class LocalEngine:
    """Processes of this machine; a single one is the driver itself.

    Args:
        workers: how many, 1 or more.
    """

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def finish(
        self, job: Job, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        """See `Engine.finish`.

        Raises:
            IncompleteError: a shard's worker died three times; names file and rows.
            GecjuryError: what a worker raised.
        """
        if self._workers == 1 or len(shards) < 2:
            with closing(Worker(job)) as worker:
                for shard in shards:
                    done(worker.finish(shard))
            return
        count = min(self._workers, len(shards))
        pool = [_Process(job, count) for _ in range(count)]
        left, tries = deque(shards), dict.fromkeys((s.number for s in shards), 0)
        try:
            with ThreadPoolExecutor(count) as threads:
                try:
                    self._share(job, pool, left, tries, threads, done)
                finally:
                    # Threads wait for answers, which end with the processes.
                    for process in pool:
                        process.kill()
        finally:
            for process in pool:
                process.stop()

    def _share(
        self,
        job: Job,
        pool: Sequence[_Process],
        left: deque[Shard],
        tries: dict[int, int],
        threads: ThreadPoolExecutor,
        done: Callable[[ShardSummary], None],
    ) -> None:
        running: dict[Future[ShardSummary], tuple[_Process, Shard]] = {}
        idle = list(pool)
        while left or running:
            while left and idle:
                process, shard = idle.pop(), left.popleft()
                tries[shard.number] += 1
                running[threads.submit(process.finish, shard)] = process, shard
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                process, shard = running.pop(future)
                idle.append(process)
                try:
                    summary = future.result()
                except _Died as death:
                    if tries[shard.number] >= TRIES:
                        raise IncompleteError(
                            f"{shard_rows_of(job, shard)}: the worker died {TRIES} times (status "
                            f"{death.status}; -9 is often memory): take fewer workers or smaller "
                            "shards (--shard-rows), and give the command again"
                        ) from None
                    left.appendleft(shard)
                    continue
                done(summary)


class _Process:
    """A worker process, started when its first shard comes."""

    def __init__(self, job: Job, count: int) -> None:
        self._job = job
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        threads = str(max(1, (os.cpu_count() or 1) // count))
        self._environment = {"OMP_NUM_THREADS": threads, **os.environ, "PYTHONPATH": path}
        self._process: subprocess.Popen[str] | None = None
        self._ended = False

    def finish(self, shard: Shard) -> ShardSummary:
        """Have a shard finished.

        Raises:
            _Died: the process ended; the next shard starts another.
            GecjuryError: what it raised.
        """
        process = self._process
        try:
            if process is None:
                process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(shard.to_json() + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line.endswith("\n"):
            status = process.wait() if process else -1
            self.stop()
            raise _Died(status)
        answer: dict[str, str] = json.loads(line)
        if "error" in answer:
            raise getattr(errors, answer["error"], GecjuryError)(answer["message"])
        return ShardSummary.from_json(answer["summary"])

    def _started(self) -> subprocess.Popen[str]:
        if self._is_over():
            raise _Died(-1)
        process = subprocess.Popen(
            [sys.executable, "-m", "gecjury.datasets.work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            encoding="utf-8",
        )
        assert process.stdin is not None
        process.stdin.write(self._job.to_json() + "\n")
        self._process = process
        if self._is_over():  # meanwhile
            process.kill()
        return process

    def _is_over(self) -> bool:
        """Whether no more work is wanted, as another thread may have said."""
        return self._ended

    def kill(self) -> None:
        """End the process, whatever it does, and start no other."""
        self._ended = True
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End the process and close its streams."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

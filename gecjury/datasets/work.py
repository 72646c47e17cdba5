"""A worker: scores a shard, writes its part, tells its summary."""

from __future__ import annotations

from gecjury.datasets.shards import Job, Shard, ShardSummary

__all__ = ["Worker"]


class Worker:
    """Scores shards of one job; metrics are loaded once, their models when first used."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def finish(self, shard: Shard) -> ShardSummary:
        """Score a shard and write its part whole or not at all.

        Finishing a shard twice writes the same bytes twice.

        Raises:
            InputError: the file has changed or cannot be read, or a row is bad under `strict`.
            OutputError: the part cannot be written.
        """
        raise NotImplementedError

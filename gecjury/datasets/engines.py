"""Who finishes shards: the protocol, and this machine's processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gecjury.datasets.shards import Job, Shard, ShardSummary

__all__ = ["Engine"]


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

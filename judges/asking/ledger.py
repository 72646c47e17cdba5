"""A record of what requests have cost or may have cost, over all runs with a store.

A request may be billed although its reply is lost, and a run may be killed at any moment. So the
most that a request may cost is written to disk before it is sent, each time that it is sent, and
counts until the store has its reply, whose cost is known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping
from contextlib import suppress
from pathlib import Path

from gecjury.core.durable import GrowingFile
from gecjury.core.errors import InputError
from gecjury.core.runtime import Spending
from gecjury.core.textfiles import parse_json
from gecjury.judges.asking.store import Replies

SUFFIX = ".spent"
"""Suffix of the file beside a store."""


class Ledger:
    """The costs of one store's requests, which count in a run's spending while it is open.

    The file has JSON lines: `{"sent": {NAME: COST}}` for requests that are about to be sent, and
    `{"unbilled": NAME}` for one that the server refused without any cost.
    """

    def __init__(self, spending: Spending, replies: Replies, store: Path | None) -> None:
        """Open the file beside a store, or count in memory only.

        Args:
            spending: the run's; its entry for the store is replaced.
            replies: the replies in the store.
            store: path of the store; None for a run without one.
        """
        self._spending, self._name = spending, str(store or "")
        self._open: dict[str, list[float]] = {}
        self._known = self._unknown = 0.0
        self._file: GrowingFile | None = None
        if store is None:
            self._known, self._unknown = spending.stores.get(self._name, (0.0, 0.0))
        else:
            path = store.with_suffix(SUFFIX)
            self._file = GrowingFile(
                path,
                busy="another run is writing this file; wait for it to end",
                lost="nothing was sent. Make room and run the same command again",
            )
            for line in path.read_bytes().split(b"\n"):
                self._read(line)
            for name in list(self._open):
                key, _, number = name.rpartition("-")
                costs = [reply.cost for reply in replies.replies(key)]
                if number.isdecimal() and int(number) < len(costs):
                    self._close_claim(name, costs[int(number)])
        self._count()

    def _read(self, line: bytes) -> None:
        """Read a line; one that a crash left incomplete was followed by no request."""
        with suppress(InputError, UnicodeDecodeError, AttributeError, TypeError):
            record = parse_json(line.decode(), "the line", "costs of requests")
            for name, cost in record.get("sent", {}).items():
                if 0 <= cost <= 1e18:
                    self._open_claim(name, float(cost))
            self._close_claim(record.get("unbilled", ""), 0.0)

    def _open_claim(self, name: str, cost: float) -> None:
        self._open.setdefault(name, []).append(cost)
        self._unknown += cost

    def _close_claim(self, name: str, cost: float | None) -> None:
        """Replace one claim of a request by its cost, if that is known."""
        if cost is None or name not in self._open:
            return
        self._unknown -= self._open[name].pop()
        self._known += cost
        if not self._open[name]:
            del self._open[name]

    def _count(self) -> None:
        self._spending.stores[self._name] = self._known, max(0.0, self._unknown)

    def lost(self, keys: Container[str]) -> float:
        """Return the most that requests without a reply may have cost, given their keys."""
        open_of = ((name.rpartition("-")[0], claims) for name, claims in self._open.items())
        return math.fsum(cost for key, claims in open_of if key in keys for cost in claims)

    def claim(self, costs: Mapping[str, float]) -> None:
        """Record that requests are about to be sent, with the most that each may cost.

        Raises:
            OutputError: this cannot be written, so they must not be sent.
        """
        if not costs:
            return
        self._write({"sent": costs})
        for name, cost in costs.items():
            self._open_claim(name, cost)
        self._count()

    def settle(self, name: str, cost: float | None) -> None:
        """Count a reply, which is in the store, at its cost."""
        if name not in self._open:
            # Another machine or an older version sent the request, e.g. in a batch.
            self.claim({name: cost or 0.0})
        self._close_claim(name, cost)
        self._count()

    def release(self, name: str) -> None:
        """Count a request no more that was not billed."""
        if name not in self._open:
            return
        self._write({"unbilled": name})
        self._close_claim(name, 0.0)
        self._count()

    def _write(self, record: Mapping[str, object]) -> None:
        if self._file:
            # The line break in front ends a line that a crash left incomplete.
            self._file.append(b"\n" + json.dumps(record).encode() + b"\n")

    def close(self) -> None:
        """Close the file; one without an entry is removed."""
        if self._file:
            self._file.close(remove=not self._file.size)

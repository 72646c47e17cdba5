"""Limits on concurrent requests, adapted to the server's answers, and waits before retries.

This module does not use aiolimiter, whose rate is fixed in advance. Here one limit, shared by all
requests, follows the server's answers.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

_LONGEST_WAIT = 120.0


class Pace:
    """A limit on concurrent requests: halved when the server complains, raised when it does not.

    It works by additive increase and multiplicative decrease. A Retry-After delays all requests,
    since it applies to the account, not to one request.

    Attributes:
        limit: requests allowed at once now.
        lowest: the lowest limit so far.
        complaints: how often the server asked to slow down.
    """

    def __init__(self, most: int) -> None:
        self.limit = float(most)
        self.lowest = most
        self.complaints = 0
        self._most = most
        self._under_way = 0
        self._not_before = 0.0
        self._last_cut = float("-inf")
        self._changed = asyncio.Condition()
        self._over = asyncio.Event()

    async def enter(self) -> None:
        """Wait for a place and for the end of any pause."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < int(self.limit))
            self._under_way += 1
        while self.pause > 0 and not self._over.is_set():
            await self.rest(self.pause)

    async def rest(self, seconds: float) -> None:
        """Wait, or return earlier if the run ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    def end(self) -> None:
        """Wake all waiting requests: the run is over."""
        self._over.set()

    @property
    def pause(self) -> float:
        """Seconds for which nothing may be sent."""
        return self._not_before - time.monotonic()

    async def leave(self, *, answered: bool) -> None:
        """Free the place; as many good answers as the limit raise it by about one."""
        async with self._changed:
            self._under_way -= 1
            if answered:
                self.limit = min(self._most, self.limit + 1 / self.limit)
            self._changed.notify_all()

    def slow_down(self, wait: float) -> None:
        """Lower the limit, as the server wants it, and send nothing for `wait` seconds."""
        now = time.monotonic()
        self.complaints += 1
        self._not_before = max(self._not_before, now + wait)
        # Requests sent together are refused together: that is one reason to slow down, not many.
        if now >= self._last_cut + 0.5:
            self._last_cut = now + wait
            self.limit = max(1.0, self.limit / 2)
            self.lowest = min(self.lowest, int(self.limit))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a server asks to wait; None if its headers do not say."""
    with suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    value = headers.get("retry-after", "")
    with suppress(ValueError):
        return max(0.0, float(value))
    # A value that is neither a number nor a valid date is ignored.
    with suppress(ValueError, TypeError, OverflowError, OSError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None


def backoff(attempt: int, asked: float | None, source: random.Random) -> float:
    """Return how many seconds to wait before a retry.

    Args:
        attempt: 0 for the first retry.
        asked: the wait that the server asked for, which is honoured in full, plus up to a tenth.
        source: random source of the jitter.
    """
    if asked is not None:
        return asked * (1 + 0.1 * source.random())
    return min(_LONGEST_WAIT, 0.5 * 2.0**attempt) * (0.5 + 0.5 * source.random())

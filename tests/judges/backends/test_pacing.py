"""How many requests run concurrently, and when one is tried again, computed by hand."""

from __future__ import annotations

import asyncio
import random
import time
from email.utils import formatdate

from gecjury.judges.backends.openai import Pace, backoff, retry_after


def test_retry_after_reads_seconds_milliseconds_and_dates() -> None:
    assert retry_after({"retry-after": "2"}) == 2
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    date = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert date is not None
    assert 28 < date <= 30
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_backoff_grows_with_jitter_and_honours_the_server() -> None:
    source = random.Random(0)
    for attempt in range(12):
        assert backoff(attempt, None, source) <= min(120, 0.5 * 2**attempt)
        assert 3 <= backoff(attempt, 3.0, source) <= 3.3
    assert len({backoff(3, None, source) for _ in range(20)}) == 20


def test_the_limit_halves_once_for_a_burst_and_grows_back() -> None:
    async def check() -> None:
        pace = Pace(16)
        for _ in range(10):  # refused together, which counts once
            pace.slow_down(0.0)
        assert pace.limit == 8
        for _ in range(8):
            await pace.enter()
            await pace.leave(answered=True)
        assert 8.9 < pace.limit <= 9  # it grows by one after as many answers as the limit
        for _ in range(1_000):
            await pace.enter()
            await pace.leave(answered=True)
        assert pace.limit == 16

    asyncio.run(check())

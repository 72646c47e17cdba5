"""HTTP connections of the pages' server, which are closed if a request does not arrive in time."""

from __future__ import annotations

import asyncio

HEADER_SECONDS = 5.0
"""Seconds within which the headers of a request must arrive."""


def punctual_protocol() -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP/1.1 protocol with a time limit for headers, which uvicorn lacks.

    Open connections count towards `limit_concurrency`. Without a time limit, a few hundred
    connections that never finish their headers would lock everybody else out. Idle connections are
    closed by uvicorn's `timeout_keep_alive`; bodies are limited by `gecjury.web.guards.PageGuard`.
    """
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Punctual(H11Protocol):
        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]  # uvicorn names its kind
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Run the timer while the headers of a request are incomplete."""
            if self.conn.their_state is not h11.IDLE:
                self._stop()
            elif self._limit is None:
                self._limit = self.loop.call_later(HEADER_SECONDS, self.transport.close)

        def _stop(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    return Punctual

"""Serve pages to this machine only: a port of 127.0.0.1, the server's loop, the browser."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from gecjury.core.errors import MissingExtraError, OptionError, install_hint
from gecjury.web.guards import PageGuard

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


FIRST_PORT = 8765
"""The first port that is tried; the next ones follow."""

_HOST = "127.0.0.1"
_TRIED = 20


def check_installed(what: str) -> None:
    """Check that the server's packages are installed before anything is read.

    Args:
        what: the command, for the error message.

    Raises:
        MissingExtraError: a package is missing; the message says how to install it.
    """
    from importlib.util import find_spec

    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(
                f"{what} needs the package {package}, which is not installed: {install_hint('web')}"
            )


def listen(port: int | None) -> socket.socket:
    """Return a listening socket on 127.0.0.1, which no other machine can reach.

    Args:
        port: the port, which must be free; None for the first free one from `FIRST_PORT` on.

    Raises:
        OptionError: the port is taken or may not be used.
    """
    if port is not None:
        try:
            return _bound(port)
        except OSError as error:
            raise OptionError(
                f"--port {port}: cannot be used ({error.strerror}); give another port, or omit "
                "--port to use a free one"
            ) from None
    # With 0, the last one, the system chooses a free port.
    for free in (*range(FIRST_PORT, FIRST_PORT + _TRIED), 0):
        with suppress(OSError):
            return _bound(free)
    raise OptionError("no port of 127.0.0.1 is free; give one with --port")


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two programs share a port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((_HOST, port))
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made


def serve_pages(
    app: PageGuard, listening: socket.socket, ready: Callable[[str], None], browser: bool
) -> None:
    """Answer requests until the program is interrupted.

    Args:
        listening: the socket from `listen`; it is closed at the end.
        ready: called with the address, which contains the secret, once requests are accepted.
        browser: open the page in the user's browser, if there is one.
    """
    import uvicorn

    address = f"http://{_HOST}:{listening.getsockname()[1]}/?secret="
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        http=punctual_protocol(),
        ws="none",
        loop="asyncio",
        limit_concurrency=200,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=2,
    )
    # The socket is already listening: requests are answered as soon as the loop runs.
    ready(address + app.secret)
    if browser and _has_display():
        import webbrowser

        webbrowser.open(address + app.one_time_secret)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return
    finally:
        listening.close()


def _has_display() -> bool:
    """Return True if a browser would open a window instead of taking over the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

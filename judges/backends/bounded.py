"""HTTP clients for servers, with limits on size, time and address.

A server may send anything, for any length of time. So a reply is read piece by piece and dropped
when its decompressed size exceeds that of any valid reply, or when it does not end in time. A
redirect is not followed, since keys and sentences go only to the address that was named.
"""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

from gecjury.core.errors import OptionError
from gecjury.core.wording import visible

_T = TypeVar("_T")

HttpObject: TypeAlias = Any
"""A client, request or response of the HTTP library, of which the client chooses between two."""


@dataclass(frozen=True)
class Limits:
    """Limits on a server's replies.

    Attributes:
        reply_bytes: size of one reply, decompressed.
        file_bytes: size of a batch's file, which contains thousands of replies.
        seconds: from sending a request to having its whole reply.
        wait: seconds that a server may ask to wait; one that asks for more ends the run.
    """

    reply_bytes: int = 1_000_000
    file_bytes: int = 512_000_000
    seconds: float = 900.0
    wait: float = 600.0


class Unusable(Exception):
    """A reply that is too large, or compressed in a way that is not supported."""


class Moved(Exception):
    """A reply that redirects the request; the message is the new address."""


def bounded_client(limits: Limits, *, proxies: bool = True) -> HttpObject:
    """Return an HTTP client for OpenAI's client.

    Args:
        proxies: whether requests go through the proxies of the environment.

    Raises:
        OptionError: the environment names an invalid proxy.
    """
    import openai

    http = http_library()

    class Bounded(openai.DefaultAsyncHttpxClient):
        async def send(
            self, request: HttpObject, *, stream: bool = False, **options: HttpObject
        ) -> HttpObject:
            del stream
            # No other compression is requested, so no other has to be supported.
            request.headers["accept-encoding"] = "gzip"
            options["follow_redirects"] = False
            try:
                async with asyncio.timeout(limits.seconds):
                    answer = await super().send(request, stream=True, **options)
                    try:
                        return await _whole(answer, limits)
                    finally:
                        await answer.aclose()
            except TimeoutError:
                reason = f"no complete reply within {limits.seconds:g} seconds"
                raise http.ReadTimeout(reason, request=request) from None

    trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    try:
        return Bounded(verify=trusted, trust_env=proxies)
    except Exception as error:  # any error of the library's parts for a proxy's address
        raise OptionError(
            "the proxy that $HTTP_PROXY, $HTTPS_PROXY or $ALL_PROXY names cannot be used "
            f"({type(error).__name__}); set it to http://HOST:PORT, or unset it"
        ) from None


async def _whole(answer: HttpObject, limits: Limits) -> HttpObject:
    """Return an answer whose content has been read, with the headers that are needed.

    Raises:
        Moved: it redirects the request.
        Unusable: see `_unpacked`.
    """
    place = answer.headers.get("location")
    if 300 <= answer.status_code < 400 and place is not None:
        raise Moved(place)
    path = answer.request.url.path
    most = limits.file_bytes if path.endswith("/content") else limits.reply_bytes
    coding = answer.headers.get("content-encoding", "")
    data = await _unpacked(answer.aiter_raw(), coding, most)
    # JSON is UTF-8, whatever a header says.
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    headers = [
        (name, value)
        for name, value in answer.headers.multi_items()
        if name.startswith(("retry-after", "x-"))
    ]
    headers.append(("content-type", "application/json" if "json" in kind else "text/plain"))
    return http_library().Response(
        answer.status_code,
        headers=headers,
        content=data,
        request=answer.request,
        default_encoding="utf-8",
    )


def http_library() -> ModuleType:
    """Return the HTTP library of OpenAI's client: httpx, or its successor in newer versions."""
    import openai

    return import_module(openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])


@functools.cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return the certificates that clients trust; they are read once, as that is slow.

    Args:
        _file: certificate file in the environment; the HTTP library reads it itself.
        _folder: certificate folder in the environment, also read by the library.
    """
    trusted: ssl.SSLContext = http_library().create_ssl_context()
    return trusted


async def _unpacked(pieces: AsyncIterator[bytes], coding: str, most: int) -> bytes:
    """Return the content of a reply, with one layer of gzip decompressed.

    Raises:
        Unusable: more than `most` bytes, damaged, or compressed in another way.
    """
    coding = coding.strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        shown = visible(coding[:40])
        raise Unusable(f"a reply compressed as {shown!r}, which was not requested")
    packed = zlib.decompressobj(16 + zlib.MAX_WBITS) if coding not in ("", "identity") else None
    kept: list[bytes] = []
    size = received = 0
    async for piece in pieces:
        received += len(piece)
        part = piece
        if packed is not None:
            try:
                part = packed.decompress(piece, most + 1 - size)
            except zlib.error:
                raise Unusable("a reply whose gzip data is damaged") from None
        size += len(part)
        if max(size, received) > most:
            raise Unusable(
                f"a reply of more than {most / 1e6:g} MB, which is too large for an answer; the "
                "connection was closed"
            )
        kept.append(part)
    if packed is not None and received and not packed.eof:
        raise Unusable("a reply whose gzip data is cut off")
    return b"".join(kept)


def run_to_end(work: Coroutine[object, None, _T]) -> _T:
    """Run a coroutine from synchronous code, even inside a notebook's event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()

"""The HTTP clients that ask servers, within bounds of size, time and place.

A server may send what it likes, and for as long as it likes. Here a reply is read piece by piece
and left once it is larger than any reply can be, counted as it unpacks; one that has not come to
its end in time is left too; and one that sends on to another place is not followed, since keys and
sentences go to the address that was named and to no other.
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
from typing import Any, TypeVar

from gecjury.errors import OptionError
from gecjury.wording import visible

_T = TypeVar("_T")


@dataclass(frozen=True)
class Limits:
    """Bounds on what a server may take.

    Attributes:
        reply_bytes: of one reply, unpacked.
        file_bytes: of a batch's file, which holds thousands of replies.
        seconds: from sending a request to having its whole reply.
        wait: seconds that a server may ask to wait; one that asks for more ends the run.
    """

    reply_bytes: int = 1_000_000
    file_bytes: int = 512_000_000
    seconds: float = 900.0
    wait: float = 600.0


class Unusable(Exception):
    """A reply that is too large, or packed as it must not be; says so."""


class Moved(Exception):
    """A reply that sends the request elsewhere; holds the place."""


def bounded_client(limits: Limits) -> Any:
    """Return a client of the HTTP library for OpenAI's, proxies of the environment included.

    Raises:
        OptionError: the environment names a proxy that is none.
    """
    import httpx
    import openai

    async def whole(answer: Any) -> Any:
        place = answer.headers.get("location")
        if 300 <= answer.status_code < 400 and place is not None:
            raise Moved(place)
        path = answer.request.url.path
        most = limits.file_bytes if path.endswith("/content") else limits.reply_bytes
        coding = answer.headers.get("content-encoding", "")
        data = await _unpacked(answer.aiter_raw(), coding, most)
        # Bytes of JSON are UTF-8, whatever else a header says of them.
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        headers = [
            (name, value)
            for name, value in answer.headers.multi_items()
            if name.startswith(("retry-after", "x-"))
        ]
        headers.append(("content-type", "application/json" if "json" in kind else "text/plain"))
        return httpx.Response(
            answer.status_code,
            headers=headers,
            content=data,
            request=answer.request,
            default_encoding="utf-8",
        )

    class Bounded(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            del stream
            # No other packing is asked for, so that none has to be undone.
            request.headers["accept-encoding"] = "gzip"
            options["follow_redirects"] = False
            try:
                async with asyncio.timeout(limits.seconds):
                    answer = await super().send(request, stream=True, **options)
                    try:
                        return await whole(answer)
                    finally:
                        await answer.aclose()
            except TimeoutError:
                said = f"no whole reply within {limits.seconds:g} seconds"
                raise httpx.ReadTimeout(said, request=request) from None

    trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    try:
        return Bounded(verify=trusted)
    except Exception as error:  # whatever the library's parts say of a proxy's address
        raise OptionError(
            "the proxy that $HTTP_PROXY, $HTTPS_PROXY or $ALL_PROXY names cannot be used "
            f"({type(error).__name__}); set it to http://HOST:PORT, or unset it"
        ) from None


@functools.cache
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the certificates that clients trust, read once: that takes longer than a request.

    Args:
        file: of certificates that the environment names; the HTTP library reads it itself.
        folder: of certificates, likewise.
    """
    import httpx

    return httpx.create_ssl_context()


async def _unpacked(pieces: AsyncIterator[bytes], coding: str, most: int) -> bytes:
    """Return what a reply holds, with its one layer of gzip undone.

    Raises:
        Unusable: more than `most` bytes, damaged, or packed otherwise.
    """
    coding = coding.strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        shown = visible(coding[:40])
        raise Unusable(f"a reply packed as {shown!r}, which was not asked for")
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
                f"a reply of more than {most / 1e6:g} MB, which no answer has; the connection "
                "was closed"
            )
        kept.append(part)
    if packed is not None and received and not packed.eof:
        raise Unusable("a reply whose gzip data breaks off")
    return b"".join(kept)


def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine from ordinary code, inside a notebook's event loop as well."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()

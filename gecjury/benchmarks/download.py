"""Downloads of pinned files over HTTP: retried, checked by SHA-256, several at a time.

A file gets its name only once its checksum is right, so that a half-written file is never read.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gecjury.core.addresses import check_address, public_address
from gecjury.core.durable import whole_file
from gecjury.core.errors import DataError
from gecjury.core.wording import visible

_CHUNK = 1 << 16
_TIMEOUT = 30.0  # seconds without a byte after which a connection counts as cut
_SLOWEST = 1_000  # bytes a second below which a transfer is too slow, although it never times out
_ATTEMPTS = 5
_WORKERS = 8


class Unreachable(DataError):
    """The server could not be reached or kept failing, so data must come from another source."""


class _CutError(Exception):
    """A transfer that ended early or was refused for now; worth another attempt."""


@dataclass(frozen=True, slots=True)
class Download:
    """One file to fetch.

    Attributes:
        name: name of the file in messages.
        sha256: hexadecimal checksum that it must have.
        size: bytes that it must have.
    """

    name: str
    url: str
    target: Path
    sha256: str
    size: int


def sha256_of(path: Path) -> str:
    """Return SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download_all(
    downloads: Sequence[Download], *, backoff: float = 0.5, quiet: bool = False
) -> None:
    """Fetch files in parallel, with a progress bar on stderr if that is a terminal.

    Args:
        downloads: the files to fetch; the folders of the targets are created.
        backoff: seconds before the second attempt of a file; doubled for each further one.
        quiet: show no progress bar.

    Raises:
        Unreachable: no connection, or the server kept failing.
        DataError: an address is invalid, or a file does not exist or has the wrong checksum.
        OutputError: a file cannot be written.
    """
    for item in downloads:
        if wrong := check_address(item.url):
            raise DataError(
                f"{item.name}: {visible(public_address(item.url))!r} is not an address to fetch "
                f"from ({wrong}); expected http://HOST/... or https://HOST/...: check "
                "$GECJURY_DATA_URL"
            )
    stop = threading.Event()
    with _progress(downloads, quiet=quiet) as advance:
        pool = ThreadPoolExecutor(_WORKERS)
        try:
            jobs = [pool.submit(_fetch, item, advance, stop, backoff) for item in downloads]
            for job in as_completed(jobs):
                job.result()
        finally:
            # The set is useless without the missing file, so one failure stops all transfers.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _fetch(
    item: Download, advance: Callable[[int], None], stop: threading.Event, backoff: float
) -> None:
    """Fetch a file, trying again after a cut connection, and check it before it gets its name."""
    for attempt in range(_ATTEMPTS):
        try:
            data = _received(item, stop)
            break
        except _CutError as error:
            if stop.wait(backoff * 2**attempt):
                return
            reason = error
    else:
        raise Unreachable(
            f"{item.name}: {item.url} given up after {_ATTEMPTS} failed attempts ({reason})"
        )
    if stop.is_set():
        return
    digest = hashlib.sha256(data).hexdigest()
    if digest != item.sha256:
        raise DataError(
            f"{item.name}: wrong checksum after the download from {item.url}: expected sha256 "
            f"{item.sha256}, got {digest}; nothing was kept. Try again, or use another mirror"
        )
    with whole_file(item.target, synced=False) as file:
        file.write(data)
    advance(item.size)


def _received(item: Download, stop: threading.Event) -> bytes:
    """Return the bytes of one connection."""
    end = time.monotonic() + _TIMEOUT + item.size / _SLOWEST
    data = bytearray()
    with _open(item) as answer:
        # One byte too many shows that the file is another one; an endless response must end.
        while len(data) <= item.size and not stop.is_set():
            try:
                chunk = answer.read1(_CHUNK)
            except (http.client.HTTPException, OSError) as error:
                raise _CutError(str(error) or type(error).__name__) from None
            if not chunk:
                break
            if time.monotonic() > end:
                raise _CutError(f"it sends less than {_SLOWEST} bytes a second")
            data += chunk
        declared = answer.headers.get("Content-Length", "")
    if len(data) < item.size and not (declared.isdecimal() and len(data) == int(declared[:20])):
        raise _CutError("the connection was cut")
    return bytes(data)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """A handler that follows a few redirects, only to HTTP: urllib's own also follows ftp."""

    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request of the new address.

        Raises:
            DataError: the new address is not an HTTP address.
        """
        if wrong := check_address(newurl):
            fp.close()
            address = visible(public_address(newurl)[:200])
            raise DataError(f"{req.full_url}: redirects to {address!r}, which is refused ({wrong})")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(item: Download) -> http.client.HTTPResponse:
    request = urllib.request.Request(item.url, headers={"User-Agent": "gecjury"})
    try:
        answer: http.client.HTTPResponse = urllib.request.build_opener(_Redirects).open(
            request, timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        reason = visible(str(error.reason).partition("\n")[0].strip()[:200])
        if error.code == 429 or error.code >= 500:
            raise _CutError(f"HTTP {error.code} {reason}") from None
        raise DataError(
            f"{item.name}: the server answers {error.code} {reason} for {item.url}; "
            "check the base URL ($GECJURY_DATA_URL)"
        ) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionResetError | ConnectionAbortedError):
            raise _CutError(str(error.reason)) from None
        # No server listens, or the host name is unknown: another source helps, waiting seldom does.
        reason = visible(str(error.reason)[:200])
        raise Unreachable(f"{item.name}: no connection to {item.url} ({reason})") from None
    except (http.client.HTTPException, OSError) as error:
        raise _CutError(visible(str(error)[:200]) or type(error).__name__) from None
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"{item.name}: {item.url} cannot be requested ({type(error).__name__}): the address "
            "that it redirects to, or the proxy in $HTTP_PROXY or $HTTPS_PROXY, is not valid"
        ) from None
    return answer


@contextlib.contextmanager
def _progress(downloads: Sequence[Download], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts bytes: on a bar in a terminal, silently elsewhere."""
    # In a log a bar would be noise; the note of `DataFolder.fetch` says what is fetched.
    if quiet or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        total = sum(item.size for item in downloads)
        task = bar.add_task(f"fetching {len(downloads)} files", total=total)
        yield lambda count: bar.advance(task, count)

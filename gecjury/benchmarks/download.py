"""Downloads of pinned files over HTTP: resumed, retried, checked by SHA-256, several at a time.

A file is written to `NAME.part` and gets its own name only once its checksum is right, so that a
half-written file is never read. An interrupted download (a cut connection, Ctrl-C) leaves the part,
and the next one requests only the missing bytes.

pooch is not used, because it starts every download from the beginning and has no lock against a
second process that fetches the same file.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from gecjury.core.addresses import check_address, public_address
from gecjury.core.durable import OPEN_FILES_STAY, lock
from gecjury.core.errors import DataError
from gecjury.core.wording import visible

CHUNK = 1 << 16
TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as cut."""
PATIENCE = 120.0
"""Seconds after which a transfer that is too slow is given up."""
SLOWEST = 1_000.0
"""Bytes a second below which a transfer is too slow, although it never times out."""
ATTEMPTS = 5
"""Attempts in a row that fetch almost nothing, after which a file is given up."""
WORKERS = 8
GRACE = 2.0
"""Seconds that transfers get to stop after an error or Ctrl-C."""


class Unreachable(DataError):
    """The server could not be reached or kept failing, so data must come from another source."""


class _Stopped(Exception):
    """Another file failed or the user interrupted: leave the part as it is."""


class _Cut(Exception):
    """A transfer that ended early or was refused for now; worth another attempt."""


@dataclass(frozen=True, slots=True)
class Download:
    """One file to fetch.

    Attributes:
        name: name of the file in messages.
        url: address of the file.
        target: path of the downloaded file.
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
    downloads: Sequence[Download],
    *,
    backoff: float = 0.5,
    workers: int = WORKERS,
    patience: float = PATIENCE,
    quiet: bool = False,
) -> None:
    """Fetch files in parallel, with a progress bar on stderr if that is a terminal.

    Args:
        downloads: the files to fetch; the folders of the targets are created.
        backoff: seconds before the second attempt of a file; doubled for each further one.
        workers: files in transfer at a time.
        patience: seconds after which a transfer that is too slow is given up.
        quiet: show no progress bar.

    Raises:
        Unreachable: no connection, or the server kept failing.
        DataError: an address is invalid, or a file does not exist, has the wrong checksum or
            cannot be written.
        KeyboardInterrupt: passed on after the transfers have stopped; their parts stay.
    """
    for item in downloads:
        if wrong := check_address(item.url):
            raise DataError(
                f"{item.name}: {visible(public_address(item.url))!r} is not an address to fetch "
                f"from ({wrong}); expected http://HOST/... or https://HOST/...: check "
                "$GECJURY_DATA_URL"
            )
    # One failure stops all transfers, since the set is useless without the missing file.
    stop = threading.Event()
    todo: queue.SimpleQueue[_Transfer] = queue.SimpleQueue()
    errors: list[BaseException] = []

    def work() -> None:
        while not stop.is_set():
            try:
                todo.get_nowait().fetch()
            except (queue.Empty, _Stopped):
                return
            except BaseException as error:  # handed to the caller's thread
                errors.append(error)
                stop.set()

    with _progress(downloads, quiet=quiet) as advance:
        transfers = [_Transfer(item, advance, stop, backoff) for item in downloads]
        for transfer in transfers:
            todo.put(transfer)
        # Daemon threads, so that a silent server does not delay Ctrl-C until its timeout.
        threads = [
            threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(downloads)))
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive() and not stop.is_set():
                    thread.join(0.1)
                    for late in (one.item for one in transfers if one.is_slow(patience)):
                        errors.append(
                            Unreachable(
                                f"{late.name}: {late.url} sends less than {SLOWEST:g} bytes a "
                                f"second; given up after {patience:g} seconds"
                            )
                        )
                        stop.set()
        finally:
            stop.set()
            end = time.monotonic() + GRACE
            for thread in threads:
                if thread.ident is not None:
                    thread.join(max(end - time.monotonic(), 0))
    if errors:
        raise errors[0]


@dataclass
class _Transfer:
    """The transfer of one file in its own thread, monitored by the waiting thread.

    Attributes:
        item: the file.
        advance: called with the number of bytes received.
        stop: set once nothing more is to be fetched.
        backoff: seconds before the second attempt.
        connection: number of the open connection; 0 without one.
        received: bytes over all connections.
        noted: connection, time and `received` at the start of the interval that `is_slow` checks;
            used only there.
    """

    item: Download
    advance: Callable[[int], None]
    stop: threading.Event
    backoff: float
    connection: int = 0
    received: int = 0
    noted: tuple[int, float, int] = (0, 0.0, 0)

    def is_slow(self, patience: float) -> bool:
        """Return whether a connection was too slow for all `patience` seconds."""
        connection, since, before = self.noted
        now = time.monotonic()
        waited = now - since >= patience and self.connection == connection != 0
        if waited and self.received - before < SLOWEST * patience:
            return True
        if waited or self.connection != connection:
            self.noted = self.connection, now, self.received
        return False

    def fetch(self) -> None:
        """Fetch the file, resuming its part and trying again after a cut connection."""
        item = self.item
        part = item.target.with_name(item.target.name + ".part")
        try:
            item.target.parent.mkdir(parents=True, exist_ok=True)
            with _own_part(part, item.target) as file:
                if file is None:
                    self.advance(item.size)
                    return
                try:
                    self._fill(file)
                finally:
                    if not file.tell() and not OPEN_FILES_STAY:
                        part.unlink()
                if OPEN_FILES_STAY:
                    file.close()  # the lock is a file next to it
                _finish(item, part)
        except OSError as error:
            raise DataError(
                f"{part}: cannot be written ({error.strerror or error}); "
                "free disk space or name another folder with --data"
            ) from None

    def _fill(self, file: BinaryIO) -> None:
        """Complete a part, over as many connections as needed."""
        size = self.item.size
        self.advance(min(file.tell(), size))
        failures = attempts = 0
        while file.tell() != size:
            before = file.tell()
            try:
                self.connection = attempts = attempts + 1
                try:
                    complete = self._append(file)
                finally:
                    self.connection = 0
                if complete or file.tell() == size:
                    return
                raise _Cut("the connection was cut")
            except _Cut as error:
                # A server that sends a few bytes per connection must not keep this going forever.
                worth = min(CHUNK, size // 100)
                failures = 1 if file.tell() > before + worth else failures + 1
                if failures >= ATTEMPTS:
                    raise Unreachable(
                        f"{self.item.name}: {file.tell()} of {size} bytes fetched from "
                        f"{self.item.url}, then given up after {failures} failed attempts in a row "
                        f"({error})"
                    ) from None
                if self.stop.wait(self.backoff * 2 ** (failures - 1)):
                    raise _Stopped from None

    def _append(self, file: BinaryIO) -> bool:
        """Append the bytes of one connection; return True if the response is complete."""
        start = file.tell()
        if start > self.item.size:
            start = self._restart(file, self.item.size)
        with _open(self.item, start) as answer:
            ranged = answer.status == 206 and _range_start(answer) == start
            if start and not ranged:
                start = self._restart(file, start)
            if answer.status == 206 and not ranged:
                raise _Cut("the server sent a different range than the one requested")
            declared = answer.headers.get("Content-Length")
            while chunk := _read(answer):
                file.write(chunk)
                file.flush()
                self.advance(len(chunk))
                self.received += len(chunk)
                if self.stop.is_set():
                    raise _Stopped
                if file.tell() > self.item.size:
                    # The checksum will be wrong anyway; an endless response must not fill the disk.
                    return True
        return declared is not None and file.tell() - start == _whole_number(declared)

    def _restart(self, file: BinaryIO, counted: int) -> int:
        """Empty a part that cannot be continued, and take its bytes off the progress bar."""
        file.seek(0)
        file.truncate()
        self.advance(-counted)
        return 0


@contextlib.contextmanager
def _own_part(part: Path, target: Path) -> Iterator[BinaryIO | None]:
    """Open the part for this process alone; return None if another process just finished it."""
    while True:
        # Where locks are not supported, a clash results in a wrong checksum.
        with part.open("ab") as file, lock(file, wait=True) or file:
            # While this process waited, the holder may have finished or removed the part: then
            # the file opened here is no longer the one with that name.
            if target.exists():
                if (
                    not OPEN_FILES_STAY
                    and part.exists()
                    and os.path.samestat(os.fstat(file.fileno()), part.stat())
                ):
                    part.unlink()
                yield None
                return
            if part.exists() and os.path.samestat(os.fstat(file.fileno()), part.stat()):
                yield file
                return


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read1(CHUNK)
    except (http.client.HTTPException, OSError) as error:
        raise _Cut(str(error) or type(error).__name__) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """A handler that follows a few redirects, only to HTTP: urllib's own also follows ftp."""

    max_redirections = 5

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str,
        headers: http.client.HTTPMessage,
    ) -> http.client.HTTPResponse | None:  # fmt: skip
        """Follow a redirect, and close the response where the base class leaves it open."""
        try:
            response: http.client.HTTPResponse | None = super().http_error_302(
                req, fp, code, msg, headers
            )
        except ValueError:
            fp.close()
            raise
        return response

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        """Return the request of the new address.

        Raises:
            DataError: the new address is not an HTTP address.
        """
        if wrong := check_address(newurl):
            fp.close()
            address = visible(public_address(newurl)[:200])
            raise DataError(f"{req.full_url}: redirects to {address!r}, which is refused ({wrong})")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(item: Download, start: int) -> http.client.HTTPResponse:
    request = urllib.request.Request(item.url, headers={"User-Agent": "gecjury"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        answer = urllib.request.build_opener(_Redirects).open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        reason = visible(str(error.reason).partition("\n")[0].strip()[:200])
        if error.code == 416 and start:
            # The server's file is shorter than the part: it is fetched again without a range.
            return _open(item, 0)
        if error.code == 429 or error.code >= 500:
            raise _Cut(f"HTTP {error.code} {reason}") from None
        raise DataError(
            f"{item.name}: the server answers {error.code} {reason} for {item.url}; "
            "check the base URL ($GECJURY_DATA_URL)"
        ) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionResetError | ConnectionAbortedError):
            raise _Cut(str(error.reason)) from None
        # No server listens, or the host name is unknown: another source helps, waiting seldom does.
        reason = visible(str(error.reason)[:200])
        raise Unreachable(f"{item.name}: no connection to {item.url} ({reason})") from None
    except (http.client.HTTPException, OSError) as error:
        raise _Cut(visible(str(error)[:200]) or type(error).__name__) from None
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"{item.name}: {item.url} cannot be requested ({type(error).__name__}): the address "
            "that it redirects to, or the proxy in $HTTP_PROXY or $HTTPS_PROXY, is not valid"
        ) from None
    if not isinstance(answer, http.client.HTTPResponse):
        raise DataError(f"{item.name}: {item.url} is not an HTTP address")
    return answer


def _range_start(answer: http.client.HTTPResponse) -> int | None:
    """Return the first byte of a partial answer, from `Content-Range: bytes 100-199/200`."""
    unit, _, span = answer.headers.get("Content-Range", "").partition(" ")
    first = span.partition("-")[0]
    return _whole_number(first) if unit == "bytes" else None


def _whole_number(text: str) -> int | None:
    """Return the number of bytes in a header; None if there is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _finish(item: Download, part: Path) -> None:
    """Give a complete part its name, or delete it if its checksum is wrong."""
    digest = sha256_of(part)
    if digest != item.sha256:
        part.unlink()
        raise DataError(
            f"{item.name}: wrong checksum after the download from {item.url}: expected sha256 "
            f"{item.sha256}, got {digest}; the part was deleted, nothing was kept. "
            "Try again, or use another mirror"
        )
    part.replace(item.target)


@contextlib.contextmanager
def _progress(
    downloads: Sequence[Download], *, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts bytes: on a bar in a terminal, silently elsewhere."""
    # In a log a bar would be noise; the note of `DataFolder.fetch` says what is fetched.
    if quiet or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    bar = Progress(
        TextColumn("fetching {task.fields[files]} files"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        total = sum(item.size for item in downloads)
        task = bar.add_task("", total=total, files=len(downloads))
        yield lambda count: bar.advance(task, count)

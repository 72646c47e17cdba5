"""Finding, fetching and verifying data, against a real HTTP server on this machine."""

from __future__ import annotations

import hashlib
import http.server
import os
import re
import socket
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.benchmarks.data_folder import DataFolder, Unreachable, open_data
from gecjury.benchmarks.manifest import (
    BASE_URL,
    DATASETS,
    INDEX,
    DataFile,
    dataset_files,
    manifest,
)
from gecjury.core.errors import DataError, OptionError

REPO, COMMIT = "owner/repo", "0123abcd"
FILES = {
    "SET/source+error": b"a sentence .\n" * 20_000,
    "SET/data/scores.csv": b"system,score\nx,1\n",
    "SET/data/empty-ish": b"\n",
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.contents` by URL path, with the faults in `server.faults`."""

    server: Server

    def do_GET(self) -> None:
        path = urllib.parse.unquote(self.path)
        with self.server.lock:
            self.server.requests.append(path)
            faults = self.server.faults.get(path, [])
            fault = faults.pop(0) if faults else ""
        body = self.server.contents.get(path)
        if body is None or fault.isdecimal():
            self.send_error(int(fault or 404))
            return
        self.send_response(302 if fault.startswith("to ") else 200)
        if fault.startswith("to "):
            self.send_header("Location", fault.removeprefix("to "))
        elif fault.startswith("length "):
            self.send_header("Content-Length", fault.removeprefix("length "))
        elif fault != "no-length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Keep the test output clean."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.contents = {f"/{REPO}/{COMMIT}/up/{name}": body for name, body in FILES.items()}
        self.faults: dict[str, list[str]] = {}
        self.requests: list[str] = []


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GECJURY_DATA", raising=False)
    monkeypatch.delenv("GECJURY_DATA_URL", raising=False)
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def server(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server()
    monkeypatch.setenv("GECJURY_DATA_URL", f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(server: Server) -> DataFolder:
    return with_files(open_data())


def with_files(folder: DataFolder) -> DataFolder:
    """Return the folder with `FILES` as its manifest, and a file that cannot be fetched."""
    files = {
        name: DataFile(
            name, REPO, COMMIT, f"up/{name}", hashlib.sha256(body).hexdigest(), len(body), "none"
        )
        for name, body in FILES.items()
    }
    joined = DataFile("SET/joined", REPO, COMMIT, "", "0" * 64, 7, "none")
    return replace(folder, files={**files, "SET/joined": joined})


BIG = "SET/source+error"
BIG_URL = f"/{REPO}/{COMMIT}/up/{BIG}"


def big(folder: DataFolder) -> DataFile:
    return folder.files[BIG]


def test_missing_files_are_fetched_once_and_verified(folder: DataFolder, server: Server) -> None:
    paths = folder.paths(FILES)
    assert {name: path.read_bytes() for name, path in paths.items()} == FILES
    assert sorted(server.requests) == sorted(server.contents)
    folder.paths(FILES)
    assert len(server.requests) == len(FILES)


@pytest.mark.security
@pytest.mark.parametrize(
    ("faults", "requests"),
    [
        (["cut", "503"], 3),
        (["no-length"], 1),
        *(([f"length {length}"], 1) for length in ("abc", "-1", "9" * 6_000, "", "1e3")),
    ],
)
def test_faults_that_are_overcome(
    folder: DataFolder, server: Server, faults: list[str], requests: int
) -> None:
    server.faults[BIG_URL] = list(faults)
    folder.fetch([big(folder)], backoff=0)
    assert folder.path(BIG).read_bytes() == FILES[BIG]
    assert len(server.requests) == requests


@pytest.mark.security
@pytest.mark.parametrize(
    ("fault", "message", "most"),
    [
        ("503", r"5 failed attempts.*503", 5),
        ("cut", "5 failed attempts.*cut", 5),
        ("404", r"source\+error: the server answers 404", 1),
        ("416", "the server answers 416", 1),
        (f"to {BIG_URL}", "infinite loop", 7),
        ("to ftp://127.0.0.1/x", "unknown url type: ftp", 1),
        ("to file:///etc/passwd", "not allowed", 1),
        ("to javascript:x", "not allowed", 1),
    ],
)
def test_faults_that_are_reported_and_leave_nothing(
    folder: DataFolder, server: Server, fault: str, message: str, most: int
) -> None:
    server.faults[BIG_URL] = [fault] * 100
    with pytest.raises(DataError, match=message) as caught:
        folder.fetch([big(folder)], backoff=0)
    assert str(caught.value).isprintable()
    assert len(server.requests) <= most
    assert [path for path in folder.root.rglob("*") if path.is_file()] == []


@pytest.mark.security
@pytest.mark.parametrize("body", [b"A sentence .\n" * 20_000, b"short", FILES[BIG] + b"longer"])
def test_a_wrong_checksum_keeps_nothing(folder: DataFolder, server: Server, body: bytes) -> None:
    server.contents[BIG_URL] = body
    digest = hashlib.sha256(FILES[BIG]).hexdigest()
    with pytest.raises(DataError, match=rf"{re.escape(BIG)}: wrong checksum .*{digest}"):
        folder.fetch([big(folder)], backoff=0)
    assert [path for path in folder.root.rglob("*") if path.is_file()] == []


def test_a_transfer_that_is_too_slow_is_given_up(
    folder: DataFolder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(range(0, 10**9, 10_000))
    monkeypatch.setattr("gecjury.benchmarks.data_folder.time.monotonic", lambda: next(moments))
    with pytest.raises(Unreachable, match="bytes a second"):
        folder.fetch([big(folder)], backoff=0)


def test_without_a_network_the_three_alternatives_are_named_on_one_line(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("GECJURY_DATA_URL", f"http://127.0.0.1:{port}")
    with pytest.raises(Unreachable) as caught:
        with_files(open_data()).paths([BIG], wanted_by="seeda")
    message = str(caught.value)
    assert "\n" not in message
    for way in ("`data=DIR`", "GECJURY_DATA", "gecjury data fetch seeda", "no connection"):
        assert way in message


@pytest.mark.security
@pytest.mark.parametrize("url", ["http://[", "http://host:99999/x", "http://a b/", "file:///etc"])
def test_invalid_addresses(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECJURY_DATA_URL", url)
    with pytest.raises(OptionError, match=r"GECJURY_DATA_URL.* is not an address .*https://"):
        open_data()


def test_an_altered_file_in_the_cache_is_fetched_again(folder: DataFolder, server: Server) -> None:
    path = folder.root / BIG
    path.parent.mkdir(parents=True)
    path.write_bytes(b"X" * len(FILES[BIG]))
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_an_altered_file_in_a_given_folder_is_an_error_and_is_kept(
    server: Server, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    (given / "SET").mkdir(parents=True)
    (given / BIG).write_bytes(b"X" * len(FILES[BIG]))
    folder = with_files(open_data(given))
    for work in (lambda: folder.path(BIG), lambda: folder.fetch([big(folder)])):
        with pytest.raises(DataError, match=r"source\+error: altered: expected sha256"):
            work()
    assert server.requests == []
    assert (given / BIG).read_bytes()[:1] == b"X"


@pytest.mark.security
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_paths_that_are_not_files_are_reported_without_waiting(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "SET").mkdir()
    make(tmp_path / BIG)
    folder = with_files(open_data(tmp_path))
    for work in (lambda: folder.path(BIG), lambda: folder.fetch([big(folder)])):
        with pytest.raises(DataError, match="is not a file; move it away"):
            work()


def test_a_file_changed_after_verification_is_verified_again(
    folder: DataFolder, server: Server
) -> None:
    path = folder.path(BIG)
    path.write_bytes(b"X" * len(FILES[BIG]))
    assert folder.state(big(folder)) == "altered"


def test_a_given_folder_is_not_completed_silently(server: Server, tmp_path: Path) -> None:
    folder = with_files(open_data(tmp_path))
    with pytest.raises(DataError, match=r"scores\.csv is not in .* \(from `data=`\)"):
        folder.path("SET/data/scores.csv")
    assert server.requests == []


def test_a_manually_assembled_file_cannot_be_fetched(folder: DataFolder) -> None:
    with pytest.raises(DataError, match=r"SET/joined .*cannot be fetched: it was put together"):
        folder.path("SET/joined")


def test_the_argument_precedes_the_variable_and_the_variable_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (open_data().origin, open_data().root) == ("cache", cache)
    (tmp_path / "env").mkdir()
    (tmp_path / "arg").mkdir()
    monkeypatch.setenv("GECJURY_DATA", str(tmp_path / "env"))
    assert open_data().root == tmp_path / "env"
    assert open_data(tmp_path / "arg").root == tmp_path / "arg"
    with pytest.raises(DataError, match="no such folder"):
        open_data(tmp_path / "nowhere")


def test_the_base_url_may_be_a_mirror(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert open_data().base_url == BASE_URL
    monkeypatch.setenv("GECJURY_DATA_URL", "https://mirror.example/raw/")
    row = DataFile("p", "o/r", "c", "a+b c", "0", 1, "")
    assert row.url(open_data().base_url) == "https://mirror.example/raw/o/r/c/a%2Bb%20c"


def test_the_package_table_is_complete() -> None:
    files = manifest()
    assert len(files) == 868 + 8
    assert all(len(file.sha256) == 64 for file in files.values())
    assert all(len(file.commit) == 40 for file in files.values() if file.repo != INDEX)
    assert [f.path for f in files.values() if not f.upstream_path] == [
        "ud/en_ewt/en_ewt-ud-train.conllu"
    ]
    assert all(dataset_files(name) for name in DATASETS)
    with pytest.raises(OptionError, match=r"unknown data set .* did you mean seeda"):
        dataset_files("seda")

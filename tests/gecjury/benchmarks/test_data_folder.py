"""Finding, fetching and verifying data, against a real HTTP server on this machine."""

from __future__ import annotations

import hashlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gecjury.benchmarks import data_folder as fetch
from gecjury.benchmarks.data_folder import DataFile, DataFolder, dataset_files, manifest, open_data
from gecjury.benchmarks.download import Download, Unreachable, download_all
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
        asked = self.headers.get("Range")
        with self.server.lock:
            self.server.requests.append((path, asked))
            faults = self.server.faults.get(path, [])
            fault = faults.pop(0) if faults else ""
        body = self.server.contents.get(path)
        if fault.isdecimal():
            self.send_error(int(fault))
            return
        if fault.startswith("to "):
            self.send_response(302)
            self.send_header("Location", fault.removeprefix("to "))
            self.end_headers()
            return
        if fault == "continue":
            while not self.server.release.wait(0.01):
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        if body is None:
            self.send_error(404)
            return
        start = 0
        if asked and fault != "no-range":
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        rest = body[start:]
        if fault.startswith("length "):
            self.send_header("Content-Length", fault.removeprefix("length "))
        elif fault != "no-length":
            self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if fault in ("cut", "stall"):
            rest = rest[: len(rest) // 2]
        if fault == "byte":
            rest = rest[:1]
        if fault == "drip":
            for place in range(len(rest)):
                if self.server.release.wait(0.02):
                    break
                self.wfile.write(rest[place : place + 1])
        self.wfile.write(rest)
        if fault == "stall":
            self.server.release.wait(20)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Keep the test output clean."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.release = threading.Event()
        self.contents: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.requests: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.contents = {f"/{REPO}/{COMMIT}/up/{name}": body for name, body in FILES.items()}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = ["path\trepo\tcommit\tupstream_path\tsha256\tbytes\tlicence"]
    for name, body in FILES.items():
        digest = hashlib.sha256(body).hexdigest()
        rows.append(f"{name}\t{REPO}\t{COMMIT}\tup/{name}\t{digest}\t{len(body)}\tnone")
    rows.append(f"SET/joined\t{REPO}\t{COMMIT}\t\t{'0' * 64}\t7\tnone")
    path = tmp_path / "table.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GECJURY_DATA", raising=False)
    monkeypatch.delenv("GECJURY_DATA_URL", raising=False)
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def folder(server: Server, table: Path, cache: Path) -> DataFolder:
    return open_data(url=server.url, table=table)


BIG = "SET/source+error"
BIG_URL = f"/{REPO}/{COMMIT}/up/{BIG}"


def big(folder: DataFolder) -> DataFile:
    return folder.files[BIG]


def test_missing_files_are_fetched_once_and_verified(folder: DataFolder, server: Server) -> None:
    paths = folder.paths(FILES)
    assert {name: path.read_bytes() for name, path in paths.items()} == FILES
    assert sorted(path for path, _ in server.requests) == sorted(server.contents)
    assert not list(folder.root.rglob("*.part"))
    folder.paths(FILES)
    assert len(server.requests) == len(FILES)


def test_a_cut_connection_is_resumed_with_the_missing_bytes_only(
    folder: DataFolder, server: Server
) -> None:
    half = len(FILES[BIG]) // 2
    server.faults[BIG_URL] = ["cut"]
    folder.fetch([big(folder)], backoff=0)
    assert server.requests == [(BIG_URL, None), (BIG_URL, f"bytes={half}-")]
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_an_interrupted_fetch_is_continued_by_the_next(folder: DataFolder, server: Server) -> None:
    part = folder.root / f"{BIG}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES[BIG][:100_000])
    folder.fetch([big(folder)], backoff=0)
    assert server.requests == [(BIG_URL, "bytes=100000-")]
    assert folder.path(BIG).read_bytes() == FILES[BIG]
    assert not part.exists()


def test_giving_up_after_repeated_cuts_leaves_only_the_part(
    folder: DataFolder, server: Server
) -> None:
    server.faults[BIG_URL] = ["cut"] + ["503"] * 20
    with pytest.raises(DataError, match=r"130000 of 260000 bytes.*5 failed attempts.*503"):
        folder.fetch([big(folder)], backoff=0)
    assert not (folder.root / BIG).exists()
    assert (folder.root / f"{BIG}.part").read_bytes() == FILES[BIG][:130_000]
    server.faults.clear()
    server.requests.clear()
    folder.fetch([big(folder)], backoff=0)
    assert server.requests == [(BIG_URL, "bytes=130000-")]
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_a_complete_part_needs_no_request(folder: DataFolder, server: Server) -> None:
    part = folder.root / f"{BIG}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES[BIG])
    folder.fetch([big(folder)], backoff=0)
    assert server.requests == []
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_a_part_longer_than_the_file_is_fetched_again(folder: DataFolder, server: Server) -> None:
    part = folder.root / f"{BIG}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES[BIG] + b"more")
    folder.fetch([big(folder)], backoff=0)
    assert server.requests == [(BIG_URL, None)]
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_a_server_without_ranges_is_read_from_the_start(folder: DataFolder, server: Server) -> None:
    part = folder.root / f"{BIG}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"not the beginning of the file")
    server.faults[BIG_URL] = ["no-range"]
    folder.fetch([big(folder)], backoff=0)
    assert server.requests == [(BIG_URL, "bytes=29-")]
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_an_answer_without_a_length_uses_the_pinned_size(
    folder: DataFolder, server: Server
) -> None:
    server.faults[BIG_URL] = ["no-length"]
    folder.fetch([big(folder)], backoff=0)
    assert folder.path(BIG).read_bytes() == FILES[BIG]


@pytest.mark.security
@pytest.mark.parametrize(
    "body",
    [b"A sentence .\n" * 20_000, b"short", FILES[BIG] + b"longer"],
    ids=["same size", "shorter", "longer"],
)
def test_a_wrong_checksum_names_both_and_keeps_nothing(
    folder: DataFolder, server: Server, body: bytes
) -> None:
    server.contents[BIG_URL] = body
    with pytest.raises(DataError) as caught:
        folder.fetch([big(folder)], backoff=0)
    message = str(caught.value)
    assert BIG in message
    assert hashlib.sha256(FILES[BIG]).hexdigest() in message
    assert hashlib.sha256(body).hexdigest() in message
    assert [path for path in folder.root.rglob("*") if path.is_file()] == []


def test_a_file_missing_on_the_server_is_not_retried(folder: DataFolder, server: Server) -> None:
    del server.contents[BIG_URL]
    with pytest.raises(DataError, match=r"source\+error: the server answers 404"):
        folder.fetch([big(folder)], backoff=0)
    assert len(server.requests) == 1


def test_without_a_network_the_three_alternatives_are_named_on_one_line(
    table: Path, cache: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = open_data(url=f"http://127.0.0.1:{port}", table=table)
    with pytest.raises(Unreachable) as caught:
        folder.paths([BIG], wanted_by="seeda")
    message = str(caught.value)
    assert "\n" not in message
    for way in ("--data DIR", "GECJURY_DATA", "gecjury data fetch seeda", "no connection"):
        assert way in message


def test_ctrl_c_stops_at_once_and_the_next_fetch_resumes(
    folder: DataFolder, server: Server, table: Path
) -> None:
    server.faults[BIG_URL] = ["stall"]
    program = (
        # A background process ignores the signal from its start, and its children inherit that.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; from pathlib import Path; "
        "from gecjury.benchmarks.data_folder import open_data\n"
        "open_data(url=sys.argv[1], table=Path(sys.argv[2])).path(sys.argv[3])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, server.url, str(table), BIG],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    part = folder.root / f"{BIG}.part"
    for _ in range(6000):  # enough even on a busy machine
        if part.exists() and part.stat().st_size == 130_000:
            break
        time.sleep(0.01)
    else:
        child.kill()
        pytest.fail("the download did not reach the point where it stalls")
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=10)
    server.release.set()
    assert child.returncode != 0
    assert b"KeyboardInterrupt" in errors
    assert not (folder.root / BIG).exists()
    assert part.read_bytes() == FILES[BIG][:130_000]
    folder.fetch([big(folder)], backoff=0)
    assert server.requests[1:] == [(BIG_URL, "bytes=130000-")]
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def one(server: Server, folder: Path, url: str = "") -> Download:
    body = FILES[BIG]
    digest = hashlib.sha256(body).hexdigest()
    return Download("big", url or f"{server.url}{BIG_URL}", folder / "big", digest, len(body))


@pytest.mark.security
@pytest.mark.parametrize(
    "fault", ["416", "to ftp://127.0.0.1/x", "to file:///etc/passwd", "to http://[", "to http:///",
              "to http://127.0.0.1:99999/x", "to javascript:x", f"to {BIG_URL}", "to http://a b/"]
)  # fmt: skip
def test_a_server_that_redirects_elsewhere_or_never_answers(
    server: Server, tmp_path: Path, fault: str
) -> None:
    server.faults[BIG_URL] = [fault] * 100
    with pytest.raises(DataError) as caught:
        download_all([one(server, tmp_path)], backoff=0.001)
    assert str(caught.value).isprintable()
    assert len(server.requests) <= 7
    assert not (tmp_path / "big").exists()


@pytest.mark.security
@pytest.mark.parametrize("length", ["abc", "-1", "9" * 6_000, "", "1e3"])
def test_an_invalid_length(server: Server, tmp_path: Path, length: str) -> None:
    server.faults[BIG_URL] = [f"length {length}"]
    download_all([one(server, tmp_path)], backoff=0.001)
    assert (tmp_path / "big").read_bytes() == FILES[BIG]


@pytest.mark.parametrize("fault", ["drip", "continue"])
def test_a_transfer_that_is_too_slow_is_aborted(server: Server, tmp_path: Path, fault: str) -> None:
    server.faults[BIG_URL] = [fault] * 100
    start = time.monotonic()
    try:
        with pytest.raises(Unreachable, match="sends less than 1000 bytes a second; given up"):
            download_all([one(server, tmp_path)], patience=0.5)
        assert time.monotonic() - start < 5
    finally:
        server.release.set()


def test_one_byte_per_connection_is_not_progress(server: Server, tmp_path: Path) -> None:
    server.faults[BIG_URL] = ["byte"] * 100
    with pytest.raises(Unreachable, match="given up after 5 failed attempts"):
        download_all([one(server, tmp_path)], backoff=0.001)
    assert len(server.requests) == 5


@pytest.mark.security
@pytest.mark.parametrize(
    "url", ["http://[", "http://host:99999/x", "ftp://host/x", "file:///etc/passwd", "http://a b/"]
)
def test_invalid_addresses(
    table: Path, cache: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from gecjury.cli import main

    assert main(["data", "fetch", "jfleg", "--url", url, "--data", str(cache / "x")]) == 2
    assert "expected" in capsys.readouterr().err
    if url.startswith("http"):
        folder = open_data(url=url, table=table)
        with pytest.raises(
            DataError, match=r"is not an address to fetch from \(it.*check --url or"
        ):
            folder.paths(FILES)


def test_an_invalid_proxy(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://[")
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(DataError, match=r"cannot be requested|no connection"):
        download_all([one(server, tmp_path)], backoff=0.001)


def test_two_concurrent_downloads_of_one_file_do_not_mix(server: Server, tmp_path: Path) -> None:
    digest = hashlib.sha256(FILES[BIG]).hexdigest()
    item = Download(BIG, server.url + BIG_URL, tmp_path / "file", digest, len(FILES[BIG]))
    download_all([item] * 4, backoff=0)
    assert item.target.read_bytes() == FILES[BIG]
    assert not list(tmp_path.glob("*.part"))
    assert len(server.requests) == 1


def test_an_altered_file_in_the_cache_is_fetched_again(folder: DataFolder, server: Server) -> None:
    path = folder.root / BIG
    path.parent.mkdir(parents=True)
    path.write_bytes(b"X" * len(FILES[BIG]))
    assert folder.path(BIG).read_bytes() == FILES[BIG]


def test_an_altered_file_in_a_given_folder_is_an_error_and_is_kept(
    server: Server, table: Path, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    (given / "SET").mkdir(parents=True)
    (given / BIG).write_bytes(b"X" * len(FILES[BIG]))
    folder = open_data(given, url=server.url, table=table)
    for work in (lambda: folder.path(BIG), lambda: folder.fetch([big(folder)])):
        with pytest.raises(DataError, match=r"source\+error: altered: expected sha256"):
            work()
    assert server.requests == []
    assert (given / BIG).read_bytes()[:1] == b"X"


@pytest.mark.security
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_paths_that_are_not_files_are_reported_without_waiting(
    table: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "SET").mkdir()
    make(tmp_path / BIG)
    folder = open_data(tmp_path, table=table)
    for work in (lambda: folder.path(BIG), lambda: folder.fetch([big(folder)])):
        with pytest.raises(DataError, match="is not a file; move it away"):
            work()


def test_a_file_changed_after_verification_is_verified_again(
    folder: DataFolder, server: Server
) -> None:
    path = folder.path(BIG)
    path.write_bytes(b"X" * len(FILES[BIG]))
    assert folder.state(big(folder)) == "altered"


def test_a_given_folder_is_not_completed_silently(
    server: Server, table: Path, tmp_path: Path
) -> None:
    folder = open_data(tmp_path, url=server.url, table=table)
    with pytest.raises(DataError, match=r"scores\.csv is not in .* \(from --data\)"):
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
    assert open_data().base_url == fetch.BASE_URL
    monkeypatch.setenv("GECJURY_DATA_URL", "https://mirror.example/raw/")
    row = DataFile("p", "o/r", "c", "a+b c", "0", 1, "")
    assert row.url(open_data().base_url) == "https://mirror.example/raw/o/r/c/a%2Bb%20c"
    with pytest.raises(OptionError, match="https://"):
        open_data(url="file:///etc")


def test_the_package_table_is_complete() -> None:
    files = manifest()
    assert len(files) == 848
    assert all(len(file.sha256) == 64 and len(file.commit) == 40 for file in files.values())
    assert [f.path for f in files.values() if not f.upstream_path] == [
        "ud/en_ewt/en_ewt-ud-train.conllu"
    ]
    assert all(dataset_files(name) for name in fetch.DATASETS)
    with pytest.raises(OptionError, match="did you mean seeda"):
        dataset_files("seda")


def test_the_real_files_match_their_pins_and_can_be_served(
    data_dir: Path, server: Server, cache: Path
) -> None:
    given = open_data(data_dir)
    assert {path for path, f in given.files.items() if given.state(f) != "present"} == set()
    files = [f for f in dataset_files("gjg15") if f.upstream_path]
    server.contents = {
        f"/{f.repo}/{f.commit}/{f.upstream_path}": (data_dir / f.path).read_bytes() for f in files
    }
    server.faults = {path: ["cut"] for path in list(server.contents)[:5]}
    folder = open_data(url=server.url)
    assert folder.fetch(files, backoff=0) == len(files) == 37
    assert all(folder.state(file) == "present" for file in files)
    assert len([asked for _, asked in server.requests if asked]) == 5

"""`gecjury data`, run as the command line runs it."""

from __future__ import annotations

import csv
import functools
import http.server
import json
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.manifest import dataset_files, manifest
from gecjury.cli import command_parser, data
from gecjury.cli.parsers import CommandParser
from gecjury.core.errors import DataError, OptionError, OutputError
from gecjury.core.textfiles import read_lines


def run(*arguments: str, data_folder: Path | None = None, form: str = "json") -> int:
    parser = CommandParser(path="data", declare=data.add_arguments)
    args = parser.parse_args(arguments)
    args.format, args.data = form, None if data_folder is None else str(data_folder)
    return data.run(args)


@pytest.fixture(autouse=True)
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GECJURY_DATA", raising=False)
    monkeypatch.delenv("GECJURY_DATA_URL", raising=False)
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "cache"))


class Mirror(http.server.SimpleHTTPRequestHandler):
    """Serves the files of a data folder at their upstream addresses."""

    def translate_path(self, path: str) -> str:
        places = {
            f"/{f.repo}/{f.commit}/{f.upstream_path}": f.path
            for f in manifest().values()
            if f.upstream_path
        }
        return str(Path(self.directory) / places.get(path, "absent"))

    def log_message(self, *args: object) -> None:
        """Keep the test output clean."""


@pytest.fixture
def mirror(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    handler = functools.partial(Mirror, directory=str(data_dir))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("GECJURY_DATA_URL", f"http://127.0.0.1:{server.server_address[1]}")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def test_list_shows_data_sets_and_where_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("list") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["seeda"]["files"] == 637 + 12 + 10
    assert rows["seeda"]["found"] == "missing"
    assert rows["sample"]["found"] == "package"
    assert (rows["mpnet"]["kind"], rows["smollm2"]["files"]) == ("model", 1)
    assert rows["jfleg"]["licence"] == "CC BY-NC-SA 4.0"


def test_fetch_then_verify_list_and_path(
    mirror: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("fetch", "gug", "gmeg-dev-yahoo") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)[0]["fetched"] == 5
    assert "fetching 5 files" in captured.err
    assert run("verify", "gug", "gmeg-dev-yahoo") == 0
    capsys.readouterr()
    run("list")
    found = {row["name"]: row["found"] for row in json.loads(capsys.readouterr().out)}
    assert found["gug"] == "cache"
    assert found["gmeg-dev-wiki"] == "cache: 1 of 15"
    assert run("path", "gug", form="table") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'cache' / 'data' / 'gug-data'}\n"
    monkeypatch.setenv("GECJURY_DATA_URL", "http://127.0.0.1:9")
    assert run("fetch", "gug") == 0
    assert json.loads(capsys.readouterr().out)[0]["fetched"] == 0


def test_fetch_into_a_new_folder(mirror: None, tmp_path: Path) -> None:
    assert run("fetch", "gug", data_folder=tmp_path / "new") == 0
    assert run("verify", "gug", data_folder=tmp_path / "new") == 0
    assert not (tmp_path / "cache").exists()


def test_files_that_cannot_be_fetched_are_named_and_the_rest_is_fetched(
    mirror: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("fetch", "en-ewt") == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)[0]["fetched"] == 2
    assert "en_ewt-ud-train.conllu cannot be fetched: it was built from files" in captured.err


def test_verify_distinguishes_missing_and_altered_files(
    mirror: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("verify", "gug") == 1
    run("fetch", "gug")
    path = tmp_path / "cache" / "data" / dataset_files("gug")[0].path
    path.write_bytes(b"X" + path.read_bytes()[1:])
    assert run("verify", "gug") == 2
    captured = capsys.readouterr()
    assert f"altered: {path}" in captured.err
    (row,) = json.loads(captured.out[captured.out.rindex("[\n") :])
    assert (row["right"], row["missing"], row["altered"]) == (1, 0, 1)


def test_the_real_data_folder_passes_verification(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("verify", data_folder=data_dir) == 0
    assert sum(row["right"] for row in json.loads(capsys.readouterr().out)) > 749


def test_the_sample_is_written_with_commands_to_try(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = load_benchmark("sample").corpus
    folder = tmp_path / "new" / "my sample"
    assert run("sample", str(folder)) == 0
    captured = capsys.readouterr()
    written = {Path(row["file"]).name: row["lines"] for row in json.loads(captured.out)}
    assert set(written) == {path.name for path in folder.iterdir()}
    assert read_lines(folder / "source.txt") == list(corpus.sources)
    for name, version in corpus.systems.items():
        assert read_lines(folder / f"{name}.txt") == list(version.lines)
    for number, version in enumerate(corpus.references):
        assert read_lines(folder / f"ref{number}.txt") == list(version.lines)
    ratings = list(csv.DictReader(read_lines(folder / "ratings.csv")))
    assert len(ratings) == 68 * 7 == written["ratings.csv"] - 1
    assert {row["grammaticality"] for row in ratings} == {"1", "2", "3", "4"}
    # The commands name the written files, also if the name of the folder has a space.
    commands = [shlex.split(line) for line in captured.err.splitlines()[1:]]
    assert [words[:2] for words in commands] == [
        ["gecjury", command] for command in ("score", "explain", "train")
    ]
    for words in commands:
        command_parser().parse_args(words[1:])
        assert all(Path(word).is_file() for word in words if word.startswith(str(folder)))


def test_the_sample_is_never_written_over_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ref1.txt").write_text("mine\n")
    with pytest.raises(OutputError, match=r"ref1.txt: already exists; name a folder without"):
        run("sample", str(tmp_path))
    assert [path.name for path in tmp_path.glob("*.*")] == ["ref1.txt"]
    with pytest.raises(OutputError):
        run("sample", str(tmp_path / "ref1.txt"))
    assert (tmp_path / "ref1.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch", "jfelg"], "did you mean jfleg"),
        (["path", "all"], "unknown data set 'all'"),
        (["fetch", "sample"], "comes with the package"),
    ],
)
def test_wrong_use(arguments: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        run(*arguments)


def test_path_of_a_missing_data_set_names_the_command_to_fetch_it() -> None:
    with pytest.raises(DataError, match="gecjury data fetch seeda"):
        run("path", "seeda")

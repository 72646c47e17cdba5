"""Files are found, counted and refused before any work is done."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.errors import InputError
from gecjury.core.runtime import Bar
from gecjury.datasets.files import counted, dataset_files, is_dataset, open_rows


def count(paths: list[Path], shard_rows: int | None = None) -> Any:
    folder = paths[0].parent / "out"
    return counted([str(p) for p in paths], str(folder), shard_rows, {}, Bar())


def test_files_are_found_by_folder_glob_and_name(tmp_path: Path, made: Any) -> None:
    for name in (
        "x/b.jsonl",
        "x/a.parquet",
        "x/.hidden.parquet",
        "x/_tmp/c.parquet",
        "x/y/d.jsonl",
    ):
        made.write(tmp_path / name, made.rows(1))
    (tmp_path / "x" / "README.md").write_text("no data")
    (tmp_path / "x" / "dataset_infos.json").write_text("{}")
    folder = [str(tmp_path / "x" / name) for name in ("a.parquet", "b.jsonl", "y/d.jsonl")]
    assert dataset_files([str(tmp_path / "x")]) == folder
    assert dataset_files([str(tmp_path / "x" / "*.jsonl")]) == folder[1:2]
    assert dataset_files([folder[1], folder[0]]) == [folder[1], folder[0]]
    assert dataset_files(["hf:name:split"]) == ["hf:name:split"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("datta.parquet", "no such file.*did you mean data.parquet"),
        ("*.nothing", "no file matches"),
        ("empty", "has no file that ends in"),
        ("text.txt", "unknown ending of a dataset"),
        ("", "not a file name"),
    ],
)
def test_missing_files_are_reported(tmp_path: Path, made: Any, name: str, expected: str) -> None:
    made.write(tmp_path / "data.parquet", made.rows(1))
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("a\n")
    with pytest.raises(InputError, match=expected):
        dataset_files([str(tmp_path / name) if name else ""])


@pytest.mark.security
def test_a_file_of_this_machine_is_read_without_the_network(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *host, **options: asked.append(host))
    path = made.write(tmp_path / "a.jsonl", made.rows(2))
    assert len(open_rows(str(path), str(tmp_path))) == 2
    assert asked == []


def test_a_file_named_twice_is_refused(tmp_path: Path, made: Any) -> None:
    path = str(made.write(tmp_path / "a.parquet", made.rows(1)))
    with pytest.raises(InputError, match="is named twice"):
        dataset_files([path, str(tmp_path)])


@pytest.mark.security
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_compressed_files_are_reported_before_the_work(
    tmp_path: Path, made: Any, damage: str
) -> None:
    path = made.write(tmp_path / "a.jsonl.gz", made.rows(3000))
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) * 3 // 4]
    else:
        data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"a\.jsonl\.gz.* cannot be read as JSON lines"):
        count([path])


@pytest.mark.security
@pytest.mark.parametrize("data", [b"PAR1", b"no parquet at all PAR1", b"PAR1" + b"\0" * 90])
def test_invalid_parquet_is_reported(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        count([path])


def test_files_without_rows_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="has no row"):
        count([tmp_path / "a.jsonl"])


def test_large_datasets_have_about_a_thousand_parts(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.parquet", [{"source": "a"}] * 30)
    assert count([path])[1] == 10_000
    assert count([path], 7)[1] == 7


def test_names_distinguish_files(tmp_path: Path, made: Any) -> None:
    paths = [made.write(tmp_path / n / "a.jsonl", made.rows(1)) for n in ("x", "y")]
    assert [file.name for file in count(paths)[0]] == ["x/a.jsonl", "y/a.jsonl"]


def test_utf16_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes("{}\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"a\.jsonl, line 1: cannot be read"):
        count([tmp_path / "a.jsonl"])


def test_paths_that_are_certainly_datasets(tmp_path: Path) -> None:
    for name in ("hf:a", "a.parquet", "a.ndjson.gz", "x/*.jsonl", str(tmp_path)):
        assert is_dataset(name)
    for name in ("a.txt", "a.jsonl", "a.json", "a.m2", "a.jsonl.gz"):
        assert not is_dataset(name)


def test_a_parquet_file_of_too_many_columns_is_refused_before_it_is_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({f"c{n}": [1] for n in range(10_001)}), path)
    with pytest.raises(InputError, match="10,001 columns; expected at most 10,000"):
        open_rows(str(path), str(tmp_path))

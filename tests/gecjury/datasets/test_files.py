"""Files are found, counted and refused before any work is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecjury.core.errors import InputError
from gecjury.core.runtime import SilentBar
from gecjury.datasets.files import column_names, counted, dataset_files, is_dataset, open_lines
from gecjury.datasets.shards import shards_of


def count(paths: list[Path], shard_rows: int | None = None) -> Any:
    return counted([str(p) for p in paths], shard_rows, {}, SilentBar())


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_rows_are_counted_in_every_format(tmp_path: Path, made: Any, name: str) -> None:
    path = made.write(tmp_path / name, made.rows(2345))
    files, shard_rows = count([path])
    assert (files[0].rows, shard_rows) == (2345, 10_000)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4000), st.integers(1, 3000), st.booleans())
def test_shards_of_plain_lines_know_where_they_begin(
    tmp_path_factory: pytest.TempPathFactory, rows: int, shard_rows: int, newline: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    lines = [f'{{"n": {"9" * (n % 7 + 1)}}}\n' for n in range(rows)]
    text = "".join(lines)
    path.write_bytes(text.encode() if newline else text[:-1].encode())
    files, _ = count([path], shard_rows)
    assert files[0].rows == rows
    for shard in shards_of(files, shard_rows):
        assert shard.offset == len("".join(lines[: shard.start]))


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


def test_a_file_named_twice_is_refused(tmp_path: Path, made: Any) -> None:
    path = str(made.write(tmp_path / "a.parquet", made.rows(1)))
    with pytest.raises(InputError, match="is named twice"):
        dataset_files([path, str(tmp_path)])


@pytest.mark.security
@pytest.mark.parametrize(("ending", "damage"), [("gz", "cut"), ("gz", "flipped"), ("zst", "cut")])
def test_damaged_compressed_files_are_reported_before_the_work(
    tmp_path: Path, made: Any, ending: str, damage: str
) -> None:
    path = made.write(tmp_path / f"a.jsonl.{ending}", made.rows(3000))
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) * 3 // 4]
    else:
        data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"a\.jsonl\..*damaged data"):
        count([path])


@pytest.mark.security
def test_the_checksum_of_zstd_is_verified(tmp_path: Path) -> None:
    # 20 times {"source": "a", "hypothesis": "b", "references": ["c"]}, as compressed by `zstd`.
    packed = bytes.fromhex(
        "28b52ffd646003d50100c4027b22736f75726365223a202261222c20226879706f74686573697362"
        "7265666572656e63655b2263225d7d0a0400256cf506f081bddb3ac75c944552"
    )
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(packed)
    assert count([path])[0][0].rows == 20
    path.write_bytes(packed[:-1] + b"x")
    with pytest.raises(InputError, match=r"a\.jsonl\.zst: damaged data"):
        count([path])


@pytest.mark.security
@pytest.mark.parametrize("data", [b"", b"PAR1", b"no parquet at all PAR1", b"PAR1" + b"\0" * 90])
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


def test_a_list_and_utf16_are_reported(tmp_path: Path) -> None:
    for data, expected in ((b'[{"a": 1}]', "is a JSON list"), ("{}\n".encode("utf-16"), "UTF-16")):
        (tmp_path / "a.jsonl").write_bytes(data)
        files, _ = count([tmp_path / "a.jsonl"])
        with pytest.raises(InputError, match=expected):
            column_names(files[0])


def test_paths_that_are_certainly_datasets(tmp_path: Path) -> None:
    for name in ("hf:a", "a.parquet", "a.jsonl.zst", "x/*.jsonl", str(tmp_path)):
        assert is_dataset(name)
    for name in ("a.txt", "a.jsonl", "a.json", "a.m2", "a.jsonl.gz"):
        assert not is_dataset(name)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other file permissions")
def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_lines(str(tmp_path / "none.jsonl"))

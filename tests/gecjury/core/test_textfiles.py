"""Reading lines, plain or gzip."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core import textfiles
from gecjury.core.durable import write_text
from gecjury.core.errors import InputError
from gecjury.core.textfiles import (
    FileLines,
    file_name,
    lies_in,
    lines_text,
    read_lines,
    refuse_special_files,
    user_path,
)


def made(folder: Path, data: bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a b\nc\n", ["a b", "c"]),
        (b"a b\nc", ["a b", "c"]),  # no newline at the end
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"a \nb\t\n", ["a ", "b\t"]),  # trailing white space is kept
        (b"a\n\nb\n\n", ["a", "", "b", ""]),  # empty lines are empty sentences
        (b"\n", [""]),
        (b"\xef\xbb\xbfa\n", ["a"]),  # byte order mark
        ("a\u00a0b \u2028 c\x0bd\x85e\n".encode(), ["a\u00a0b \u2028 c\x0bd\x85e"]),
        (b"a\rb\n", ["a\rb"]),
        ("👍🏽 ok\n".encode(), ["👍🏽 ok"]),
    ],
)
def test_lines(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert read_lines(made(tmp_path, data)) == lines
    assert read_lines(made(tmp_path, gzip.compress(data, mtime=0))) == lines


@given(st.lists(st.text(st.sampled_from("\n\r\x85\u2028\ufeff a"), max_size=4), min_size=1))
def test_written_lines_are_read_back_or_not_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    try:
        write_text(path, lines_text(lines))
    except InputError:
        assert lines[0].startswith("\ufeff") or any(s[-1:] == "\r" or "\n" in s for s in lines)
        return
    assert read_lines(path) == lines


def lines_or_error(read: Callable[[Path], Sequence[str]], path: Path) -> Sequence[str]:
    """Return the lines of a file, or the error message."""
    try:
        return read(path)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    "data",
    [
        b"a b\nc\n\n" * 9 + b"d",
        b"\xef\xbb\xbfa\r\n" + b"b" * 40 + b"\nc\rd\n\n\r\n",
        "ä \u2028 \u0085 👍🏽\n".encode() * 5,
        b"one long line without an end",
        b"a\nb\nc \xe4\n\nlast\n",
        b"a\nb\ncut short \xf0\x9f",
        "a b\nc\n".encode("utf-16"),
        b"mac\rlines\r",
        gzip.compress(b"a b\nc\n" * 9, mtime=0),
        b"a b c\n" * 100,
    ],
)
def test_lines_on_disk(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path, data)
    expected = lines_or_error(read_lines, path)
    monkeypatch.setattr(textfiles, "MOST_HELD", 5)
    monkeypatch.setattr(textfiles, "_PIECE", 7)
    # The limit applies to text in memory; files on disk may have more lines.
    monkeypatch.setattr(textfiles, "MOST_LINES", 60)
    lines = lines_or_error(FileLines.of, path)
    if isinstance(lines, str):
        assert lines == expected
        return
    on_disk = not data.startswith(b"\x1f") and b"\n" in data
    assert isinstance(lines, FileLines) is on_disk
    assert [lines[row] for row in range(len(lines))] == list(lines) == expected
    assert [lines[-1], *lines[3:1:-1], *lines[1:5]] == [
        expected[-1], *expected[3:1:-1], *expected[1:5],
    ]  # fmt: skip
    with pytest.raises(IndexError):
        lines[len(lines)]


def test_a_dash_means_standard_input_even_if_such_a_file_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("a b\nc\n" * 9)
    monkeypatch.setattr(textfiles, "MOST_HELD", 5)
    monkeypatch.setattr(textfiles, "_input_was_read", True)
    with pytest.raises(InputError, match=r"standard input \(-\) is named twice"):
        FileLines.of("-")


def test_a_line_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MOST_HELD", 5), ("_PIECE", 7), ("MOST_BYTES", 50)):
        monkeypatch.setattr(textfiles, name, value)
    assert len(FileLines.of(made(tmp_path, b"a b c\n" * 30))) == 30
    path = made(tmp_path, b"a b c\n" + b"a" * 80 + b"\n")
    with pytest.raises(InputError, match=r"file\.txt: has more than 0 MB \(decompressed\)"):
        FileLines.of(path)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match=r"file\.txt: the file is empty"):
        read_lines(made(tmp_path, data))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_that_is_not_utf8_is_named_with_its_line(tmp_path: Path, mark: bytes) -> None:
    # 0xe9 is é in WINDOWS-1252; it is at offset 7 of the file, or 10 after a byte order mark.
    path = made(tmp_path, mark + b"one\ncaf\xe9 au lait\n")
    message = rf"file\.txt, line 2: byte 0xe9 at offset {len(mark) + 7} is not UTF-8; .*iconv"
    with pytest.raises(InputError, match=message):
        read_lines(path)


@pytest.mark.parametrize("kind", ["utf-16", "utf-16-be"])
def test_utf16_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    message = "line 1: byte 0xf[ef] at offset 0 is not UTF-8; it is UTF-16: .*`iconv -f UTF-16 "
    mark = "" if kind == "utf-16" else "\ufeff"
    with pytest.raises(InputError, match=message):
        read_lines(made(tmp_path, (mark + "a\n").encode(kind)))


@pytest.mark.parametrize("data", [b"one\rtwo\rthree\r", b"one\rtwo"])
def test_carriage_returns_as_line_ends_are_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="end in a carriage return alone"):
        read_lines(made(tmp_path, data))


@pytest.mark.security
def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"a b c\n" * 1000, mtime=0)
    damaged = [whole[:20], whole[:-4], whole[:12] + b"\xff\xff\xff" + whole[15:], b"\x1f\x8b"]
    damaged.append(whole[:-8] + bytes(4) + whole[-4:])  # wrong checksum
    for data in damaged:
        with pytest.raises(InputError, match=r"file\.txt: damaged gzip data"):
            read_lines(made(tmp_path, data))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.txt: no such file"):
        read_lines(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match="is a folder; expected a text file"):
        read_lines(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(made(tmp_path, b"a") / "inside-a-file.txt")


@pytest.mark.security
@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("sentence.v1", "Qwen/Qwen3-8B", "0123"), "sentence.v1-Qwen-Qwen3-8B-0123.x"),
        (("../../x", "m", "0123"), "x-m-0123.x"),
        (("/etc/cron.d/x", "m", "0123"), "etc-cron.d-x-m-0123.x"),
        (("..", "..", "0123"), "0123.x"),
        (("a\0b\nc", "C:\\d", "0123"), "a-b-c-C-d-0123.x"),
        (("", "é\ud800", "0123"), "0123.x"),
    ],
)
def test_file_names_have_only_plain_characters(parts: tuple[str, ...], name: str) -> None:
    assert file_name(*parts, ending=".x") == name


@pytest.mark.security
@given(st.lists(st.text(max_size=300), max_size=3))
def test_file_names_from_any_text_stay_in_the_folder(parts: list[str]) -> None:
    path = Path("/folder", file_name(*parts, "0123", ending=".json"))
    assert path.resolve().parent == Path("/folder")
    assert not path.name.startswith(".")
    assert len(path.name) <= 3 * 61 + 9


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has its own pipes and devices")
@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
def test_folders_with_pipes_and_devices_are_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    refuse_special_files(tmp_path, tmp_path / "missing", remedy="delete it")
    if kind == "pipe":
        os.mkfifo(tmp_path / "folder" / "x")
    else:
        (tmp_path / "folder" / "x").symlink_to("/dev/null")
    with pytest.raises(InputError, match=r"folder/x: is a pipe or a device; .*: delete it"):
        refuse_special_files(tmp_path, tmp_path / "folder", remedy="delete it")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a special privilege")
@pytest.mark.parametrize(
    ("target", "expected"),
    [("b", True), ("../beside", False), ("link", True), ("../folder/link", True), ("/dev", False)],
)
def test_links_are_followed_to_decide_whether_a_file_is_in_a_folder(
    tmp_path: Path, target: str, expected: bool
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(target)
    assert lies_in(tmp_path / "folder" / "link", tmp_path / "folder") is expected


def test_the_name_of_an_unknown_user_is_a_name() -> None:
    assert user_path("~no-such-user/x") == Path("~no-such-user/x")
    assert user_path("~/x") == Path.home() / "x"

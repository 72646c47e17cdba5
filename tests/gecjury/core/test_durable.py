"""Files that survive a crash: completely written or unchanged, and open in one process only."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.caches import VectorCache
from gecjury.core.durable import (
    GrowingFile,
    append,
    check_place,
    full_disk,
    lock,
    whole_file,
    write_text,
)
from gecjury.core.errors import OutputError

Grow = Callable[[Path], GrowingFile]


@pytest.fixture
def grown() -> Iterator[Grow]:
    opened: list[GrowingFile] = []

    def grow(path: Path) -> GrowingFile:
        opened.append(GrowingFile(path, busy="somebody else writes it", lost="this line is lost"))
        return opened[-1]

    yield grow
    for file in opened:
        file.close()


def test_lines_are_on_the_disk_in_order(
    grown: Grow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "file"
    file = grown(path)
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (synced.append(path.stat().st_size), real(handle))
    )
    file.append(b"one\n")
    assert synced == [4, 4]  # the directory entry of the new file is synchronised too
    file.append(b"two\n")
    assert synced == [4, 4, 8]
    assert (path.read_bytes(), file.size) == (b"one\ntwo\n", 8)
    file.cut(4)
    file.close()
    assert (path.read_bytes(), grown(path).size) == (b"one\n", 4)


def test_only_this_account_can_read_a_new_store(grown: Grow, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        grown(tmp_path / "replies").append(b"one\n")
        append(tmp_path / "aside", b"one\n")
        VectorCache(tmp_path / "vectors").write({b"a": np.zeros(2, dtype=np.float32)})
    finally:
        os.umask(before)
    for name in ("replies", "aside", "vectors"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_found_behind_the_error_that_it_caused() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    error = ValueError("cannot be generated")
    error.__cause__ = full
    assert full_disk(error) is full
    assert full_disk(ValueError()) is None


def test_a_file_can_be_open_only_once(grown: Grow, tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = grown(path)
    with pytest.raises(OutputError, match="somebody else writes it"):
        grown(path)
    file.close(remove=True)
    assert not path.exists()
    grown(path).close()
    assert path.exists()


@pytest.mark.parametrize("how", ["longer", "moved", "replaced"])
def test_changes_by_others_are_detected(grown: Grow, tmp_path: Path, how: str) -> None:
    path = tmp_path / "file"
    file = grown(path)
    file.append(b"one\n")
    assert file.is_untouched()
    if how == "longer":
        path.write_bytes(b"one\ntwo\n")
    else:
        path.rename(tmp_path / "elsewhere")
    if how == "replaced":
        path.write_bytes(b"one\n")
    assert not file.is_untouched()


@pytest.mark.security
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_leaves_no_partial_line(
    grown: Grow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = grown(tmp_path / "file")
    file.append(b"one\n")
    real, calls = getattr(os, call), []

    def full(handle: int, *data: Any) -> int:
        calls.append(handle)
        if len(calls) > 1:
            return int(real(handle, *data) or 0)
        if data:
            real(handle, bytes(data[0])[:2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(OutputError, match=r"\(No space left on device\); this line is lost"):
            file.append(b"two\n")
    assert (tmp_path / "file").read_bytes() == b"one\n"
    file.append(b"three\n")
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"


@pytest.mark.security
def test_a_pipe_is_refused(grown: Grow, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a reader forever
    with pytest.raises(OutputError, match=r"pipe: cannot be written \(it is not a file\)"):
        grown(tmp_path / "pipe")


@pytest.mark.parametrize("beside", [True, False])
def test_a_file_is_written_completely_or_unchanged(tmp_path: Path, beside: bool) -> None:
    path, unfinished = tmp_path / "file", tmp_path / "unfinished"
    with whole_file(path, unfinished if beside else None) as file:
        file.write(b"one")
        assert not path.exists()

    def fail(error: Exception) -> None:
        with whole_file(path, unfinished if beside else None) as file:
            file.write(b"two")
            raise error

    with pytest.raises(KeyError):
        fail(KeyError())
    with pytest.raises(OutputError, match="No space left"):
        fail(OSError(errno.ENOSPC, "No space left on device"))
    assert path.read_bytes() == b"one"
    assert not [entry for entry in tmp_path.rglob("*") if entry.is_file() and entry != path]


def test_a_lock_lasts_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("ab") as mine, path.open("ab") as other:
        assert lock(mine)
        assert not lock(other)
    with path.open("ab") as other:
        assert lock(other)


def test_a_separate_lock_file_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("ab") as mine, path.open("ab") as other:
        held = lock(mine, beside=True)
        assert held is not None
        assert held is not mine
        assert lock(other, beside=True) is None
        assert lock(other) is other  # the file itself is not locked
        held.close()
        held = lock(other, beside=True)
        assert held is not None
        held.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "file.lock"]


def test_the_place_of_a_file_is_checked(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("old")
    check_place(kept)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.txt", "old")]
    with pytest.raises(OutputError, match=r"there is no folder .*; create it first"):
        check_place(tmp_path / "nowhere" / "a.txt")
    with pytest.raises(OutputError, match="this is a folder"):
        check_place(tmp_path)


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_text(tmp_path / "written", "x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "written")]
    assert modes[0] == modes[1]


def test_a_failed_write_keeps_the_existing_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder: cannot be written"):
        write_text(tmp_path / "folder", "x")
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(path / "below" / "a.txt", "x")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(path, "lone surrogate \udcff")
    assert path.read_bytes() == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file.txt", "folder"]


@pytest.mark.security
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has its own pipes and devices")
def test_a_device_or_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="pipe: cannot be written"):  # it has no reader
        write_text(pipe, "x")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "text\n")
        assert os.read(reader, 100) == b"text\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    if Path("/dev/full").is_char_device():
        full = tmp_path / "full"
        full.symlink_to("/dev/full")
        with pytest.raises(OutputError, match="No space left"):
            write_text(full, "x")
        assert full.is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a special privilege")
def test_a_link_that_the_user_names_is_followed_and_others_are_replaced(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "page.html"
    (tmp_path / "named").symlink_to("elsewhere/page.html")
    for text in ("first", "second"):  # the target is created, then replaced
        write_text(tmp_path / "named", text, follow=True)
        assert target.read_text() == text
    assert (tmp_path / "named").is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]
    write_text(tmp_path / "named", "third")
    assert not (tmp_path / "named").is_symlink()
    assert target.read_text() == "second"

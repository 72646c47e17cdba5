"""Reading and writing text files: one sentence a line, plain or gzip, UTF-8 and nothing else."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gecjury.durable import unwritable, whole_file
from gecjury.errors import InputError, OutputError

MOST_BYTES = 512_000_000
"""Bytes of a text that is read at once; a device without an end or a bomb ends there."""

MOST_LINES = 20_000_000
"""Lines of a text that is read at once: an empty one takes eight bytes of memory, not one."""

MOST_JSON = 128_000_000
"""Bytes of JSON read at once: its values may take twenty times the memory of their text."""

MOST_DEPTH = 100
"""Lists and objects within each other in JSON; nothing of ours goes past ten."""

PIPE_SECONDS = 10.0
"""How long a pipe that nobody writes to is waited for."""

_PIECE = 1 << 20
# Windows has no such flag, and no pipes among its files.
_NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)

_input_was_read = False
_kept_input: list[bytes] | None = None


def read_lines(path: str | Path) -> list[str]:
    r"""Read a file as lines.

    Only `\n`, `\r\n` and `\r` before `\n` end a line: other Unicode line separators are text, as
    they may stand inside a learner's sentence. A missing last newline is legal; a blank last
    line is a sentence that was left empty.

    Args:
        path: a UTF-8 text file or `-` for standard input; gzip is told by its content, a byte
            order mark is dropped.

    Returns:
        The lines without their line ends.

    Raises:
        InputError: the file is missing, unreadable, not UTF-8 (names byte and line), empty, or
            its lines end in a carriage return alone.
    """
    text = read_text(path)
    if text.count("\n") > MOST_LINES:
        raise InputError(
            f"{shown_path(path)}: has more than {MOST_LINES // 1_000_000} million lines, which is "
            "the most that is read at once; check that it is the file you mean, or split it"
        )
    if "\n" not in text and "\r" in text.rstrip("\r"):
        raise InputError(
            f"{shown_path(path)}: lines end in a carriage return alone, as on old Macs, and would "
            "be read as one; convert them, e.g. `tr '\\r' '\\n'`"
        )
    # Not splitlines, which parts sentences at U+2028 and its like.
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{shown_path(path)}: the file is empty; expected one sentence a line")
    return [line.removesuffix("\r") for line in lines]


def read_text(path: str | Path, *, most: int = MOST_BYTES) -> str:
    """Read a whole file as text; see `read_lines` for what is accepted.

    Args:
        path: a UTF-8 file, plain or gzip; `-` is standard input.
        most: bytes, decompressed, past which the file is refused before more of it is read.

    Raises:
        InputError: see `read_bytes`; not UTF-8 (names byte and line).
    """
    data = read_bytes(path, most=most)
    try:
        # Decoded before the byte order mark is dropped, so that offsets are those of the file.
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        encoding = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        remedy = f"it is {encoding}: convert it, e.g." if encoding else "convert the file, e.g."
        raise InputError(
            f"{shown_path(path)}, line {line}: byte 0x{data[error.start]:02x} at offset "
            f"{error.start} is not UTF-8; {remedy} `iconv -f {encoding or 'WINDOWS-1252'} -t UTF-8`"
        ) from None


def read_bytes(path: str | Path, *, most: int = MOST_BYTES) -> bytes:
    """Read a whole file, gzip or plain, within bounds of size and patience.

    Devices without an end, compressed bombs and pipes that nobody writes to end in an error, not
    in memory or time. Standard input (`-`) is read once; asking for it again is an error, since
    the second reader would find nothing.

    Args:
        path: of a file, a pipe or a device, or `-`.
        most: bytes, decompressed, past which the file is refused before more of it is read.

    Raises:
        InputError: an empty path, a missing or unreadable file, a folder, more than `most`
            bytes, damaged gzip data, a pipe without a writer for `PIPE_SECONDS`.
    """
    if not str(path) or "\0" in str(path):
        raise InputError(f"{str(path)!r} is no file name; give the path of a file")
    try:
        data = _at_most(_pieces(path), path, most)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; expected a text file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    # Told by the content: names of downloads seldom tell it.
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacked:
            return _at_most(iter(lambda: unpacked.read(_PIECE), b""), path, most)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{shown_path(path)}: damaged gzip data ({error}); fetch or compress it anew"
        ) from None


def shown_path(path: str | Path) -> str:
    """Return the name of a file for messages: `standard input` for `-`."""
    return "standard input" if str(path) == "-" else str(path)


@contextmanager
def standard_input_kept() -> Iterator[None]:
    """Keep what is read from standard input in memory, for whoever reads a file several times."""
    global _kept_input
    _kept_input = []
    try:
        yield
    finally:
        _kept_input = None


def _pieces(path: str | Path) -> Iterator[bytes]:
    """Yield the content of a file piece by piece, so that an endless one can be left."""
    if str(path) == "-":
        global _input_was_read
        if _input_was_read and _kept_input is not None:
            yield from _kept_input
            return
        if _input_was_read:
            raise InputError("standard input (-) is named twice; it can be read once")
        _input_was_read = True
        while piece := os.read(0, _PIECE):
            if _kept_input is not None:
                _kept_input.append(piece)
            yield piece
        return
    if stat.S_ISFIFO(Path(path).stat().st_mode):
        yield from _pipe(path)
        return
    with Path(path).open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _pipe(path: str | Path) -> Iterator[bytes]:
    # Opening a pipe waits until somebody writes, for ever if nobody does. Without waiting, a read
    # gives nothing while there is no writer, and is blocked where one has not written yet.
    handle = os.open(path, os.O_RDONLY | _NO_WAIT)
    try:
        last = time.monotonic() + PIPE_SECONDS
        while True:
            try:
                piece = os.read(handle, _PIECE)
            except BlockingIOError:
                piece = b""
                break
            if piece:
                break
            if time.monotonic() > last:
                raise InputError(
                    f"{path}: is a pipe that nobody has written to for {PIPE_SECONDS:g} seconds; "
                    "start its writer first, or give a file"
                )
            time.sleep(0.02)
        _wait_again(handle)
        # The first piece was read while waiting for a writer.
        while piece := piece or os.read(handle, _PIECE):
            yield piece
            piece = b""
    finally:
        os.close(handle)


def _wait_again(handle: int) -> None:
    """Let reads and writes of a pipe wait for its other end."""
    if _NO_WAIT:
        os.set_blocking(handle, True)


def _at_most(pieces: Iterator[bytes], path: str | Path, most: int) -> bytes:
    kept: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise InputError(
                f"{shown_path(path)}: has more than {most // 1_000_000} MB (decompressed), which "
                "is the most that is read at once; check that it is the file you mean, or split it"
            )
        kept.append(piece)
    return b"".join(kept)


def parse_json(text: str, where: str, expected: str, *, halves: bool = False) -> Any:
    r"""Read JSON of foreign origin: whatever it holds, a value or an `InputError`.

    Args:
        text: one document.
        where: file, or file and line, for messages.
        expected: what should stand there, for messages ("a score file of `gecjury score`").
        halves: whether halves of surrogate pairs pass, for whoever replaces them.

    Raises:
        InputError: no JSON; deeper than `MOST_DEPTH`; an integer of thousands of digits; half a
            surrogate pair (`"\ud800"`), which no file can hold as text.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}: is no JSON ({error.msg} at line {error.lineno}, column {error.colno}); "
            f"expected {expected}"
        ) from None
    except RecursionError:
        raise InputError(_too_deep(where, expected)) from None
    except ValueError:
        # Python refuses to read integers of more than 4,300 digits, whose reading is quadratic.
        raise InputError(
            f"{where}: an integer of thousands of digits; expected {expected}"
        ) from None
    if text.count("[") + text.count("{") > MOST_DEPTH and _deeper(value, MOST_DEPTH):
        raise InputError(_too_deep(where, expected))
    if not halves and ("\\ud" in text or "\\uD" in text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{where}: {error.object[error.start]!r} is half a surrogate pair, which is no "
                "character; write the character itself or both halves"
            ) from None
    return value


def _too_deep(where: str, expected: str) -> str:
    return f"{where}: lists or objects nested deeper than {MOST_DEPTH}; expected {expected}"


def _deeper(value: Any, most: int) -> bool:
    """Return True if lists and objects are nested more than `most` deep; without recursion."""
    level = [value]
    for _ in range(most + 1):
        level = [
            part
            for whole in level
            if isinstance(whole, (dict, list))
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, (dict, list))
        ]
        if not level:
            return False
    return True


def read_json(
    path: str | Path, expected: str, *, most: int = MOST_JSON, halves: bool = False
) -> Any:
    """Read a file of one JSON document; see `read_bytes` and `parse_json`."""
    return parse_json(read_text(path, most=most), str(path), expected, halves=halves)


def refuse_special_files(*folders: Path, remedy: str) -> None:
    """Refuse folders with a pipe or a device in them, or a link to one.

    For folders that other libraries read: opening a pipe waits for its writer, and some devices
    have no end.

    Args:
        *folders: whose own entries are looked at; a missing folder has none.
        remedy: what the user can do.

    Raises:
        InputError: names the first such entry.
    """
    for path in (path for folder in folders if folder.is_dir() for path in folder.iterdir()):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: is a pipe or a device; expected a file: {remedy}")


def lies_in(path: Path, folder: Path) -> bool:
    """Return whether a path is in a folder once links are followed.

    A link that leads to itself counts as the file that it is; `Path.resolve` fails at one before
    Python 3.13.
    """
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file or nothing: a failure leaves what stood there before.

    A device or a pipe (`/dev/stdout`, `>(less)`) is written to, never replaced by a file.

    Raises:
        OutputError: the folder cannot be made or the file not written.
    """
    if not str(path) or "\0" in str(path):
        raise OutputError(f"{str(path)!r} is no file name; give the path of a file")
    target = Path(path)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OutputError(
            f"{path}: cannot be written as UTF-8 ({text[error.start : error.end]!r} is no text); "
            "a file name that is not UTF-8 leads to this: rename the file"
        ) from None
    if not _is_special(target):
        with whole_file(target, synced=False) as file:
            file.write(data)
        return
    # A device or a pipe is written into; in the place of /dev/null a file would do harm.
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | _NO_WAIT), "wb") as file:
            _wait_again(file.fileno())
            file.write(data)
    except OSError as error:
        raise unwritable(path, error) from None


def _is_special(target: Path) -> bool:
    """Return True if a path cannot hold a file: a device, a pipe, or shown as one."""
    parts = target.absolute().parts
    if parts[1:2] in (("dev",), ("proc",)) and parts[1:3] != ("dev", "shm"):
        return True
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def file_name(*parts: str, ending: str) -> str:
    """The name of a file that is made from foreign text: always a plain one in its folder.

    Whatever the parts hold (separators, `..`, control characters, thousands of letters), the name
    is of ASCII letters, digits, dots and hyphens alone, does not begin with a dot and is of at
    most 60 characters a part. Different texts may give one name: where that matters, a hash is to
    be among the parts.

    Args:
        parts: texts for people to tell the file by, and hashes; joined by hyphens.
        ending: of the file, with its dot.
    """
    plain = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-")[-60:] for part in parts]
    return "-".join(plain).lstrip(".-") + ending

"""Reading and writing text files: one sentence a line, plain or gzip, UTF-8 and nothing else.

The lock that keeps processes from writing one file side by side stands here as well.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import zlib
from pathlib import Path
from typing import IO, Any

from gecjury.errors import InputError, OutputError

__all__ = ["file_name", "lock", "read_lines", "read_text", "write_text"]


def read_lines(path: str | Path) -> list[str]:
    r"""Read a file as lines.

    Only `\n`, `\r\n` and `\r` before `\n` end a line: other Unicode line separators are text, as
    they may stand inside a learner's sentence. A missing last newline is legal; a blank last
    line is a sentence that was left empty.

    Args:
        path: a UTF-8 text file; gzip is told by its content, a byte order mark is dropped.

    Returns:
        The lines without their line ends.

    Raises:
        InputError: the file is missing, unreadable, not UTF-8 (names byte and line), empty, or
            its lines end in a carriage return alone.
    """
    text = read_text(path)
    if "\n" not in text and "\r" in text.rstrip("\r"):
        raise InputError(
            f"{path}: lines end in a carriage return alone, as on old Macs, and would be read as "
            "one; convert them, e.g. `tr '\\r' '\\n'`"
        )
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{path}: the file is empty; expected one sentence a line")
    return [line.removesuffix("\r") for line in lines]


def read_text(path: str | Path) -> str:
    """Read a whole file as text; see `read_lines` for what is accepted."""
    data = _read_bytes(Path(path))
    try:
        # Decoded before the byte order mark is dropped, so that offsets are those of the file.
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        told = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        remedy = f"it is {told}: convert it, e.g." if told else "convert the file, e.g."
        raise InputError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} at offset {error.start} is not "
            f"UTF-8; {remedy} `iconv -f {told or 'WINDOWS-1252'} -t UTF-8`"
        ) from None


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; expected a text file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}: damaged gzip data ({error}); fetch or compress it anew"
        ) from None


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file or nothing: a failure leaves what stood there before.

    Raises:
        OutputError: the folder cannot be made or the file not written.
    """
    target = Path(path)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OutputError(
            f"{path}: cannot be written as UTF-8 ({text[error.start : error.end]!r} is no text); "
            "a file name that is not UTF-8 leads to this: rename the file"
        ) from None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files private to their owner; results are as readable as any new file.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
        raise


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


def lock(file: IO[Any], *, wait: bool) -> bool:
    """Lock an open file for this process alone; closing it ends that.

    The lock binds only those who ask for it. A platform without such locks (Windows) or a file
    system that knows none (some network ones) locks nothing: what is written there is as safe as
    its writers are few.

    Args:
        file: open for writing.
        wait: until another process has let go of it.

    Returns:
        False if another process holds it, which cannot be when waiting; else True.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True

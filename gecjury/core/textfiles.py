"""Reading text files: one sentence per line, plain or gzip, only UTF-8."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import time
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias, overload

from gecjury.core.errors import InputError, nearest

MOST_BYTES = 512_000_000
"""The most bytes of a text read at once: stops endless devices and decompression bombs."""

MOST_LINES = 20_000_000
"""The most lines of a text read at once: an empty line takes eight bytes of memory, not one."""

_MOST_TOML = 1_000_000  # bytes
MOST_JSON = 128_000_000
"""The most bytes of JSON read at once: values may take twenty times the memory of their text."""

MOST_DEPTH = 100
"""The deepest nesting of lists and objects in JSON; our own files need at most ten levels."""

MOST_HELD = 64_000_000
"""Size in bytes from which `FileLines` leaves a plain file on disk."""

PIPE_SECONDS = 10.0
"""How long to wait for a pipe that has no writer."""

_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"

NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
"""The flag of opening without waiting; Windows has neither it nor pipes in its file system."""

_input_was_read = False
_kept_input: list[bytes] | None = None


def read_lines(path: str | Path) -> list[str]:
    r"""Read a file as lines.

    Only `\n`, `\r\n` and `\r` before `\n` end a line: other Unicode line separators are text, since
    they may occur inside a learner's sentence. A missing last newline is legal; a blank last line
    is an empty sentence.

    Args:
        path: a UTF-8 text file or `-` for standard input; gzip is recognised by its content, a byte
            order mark is dropped.

    Returns:
        The lines without their line ends.

    Raises:
        InputError: the file is missing, unreadable, not UTF-8 (names byte and line), or empty, or
            its lines end only in carriage returns.
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
            "be read as one line; convert them, e.g. `tr '\\r' '\\n'`"
        )
    lines = _split(text)
    if not lines:
        raise InputError(f"{shown_path(path)}: the file is empty; expected one sentence per line")
    return lines


def _split(text: str) -> list[str]:
    # Not splitlines, which also splits at U+2028 and similar characters.
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def lines_text(lines: Sequence[str]) -> str:
    """Return the text of a file with one sentence a line, from which `read_lines` reads the same.

    Raises:
        InputError: a sentence contains a line break, or the first begins with a byte order mark.
    """
    for number, line in enumerate(lines, 1):
        if "\n" in line or line.endswith("\r") or (number == 1 and line.startswith("\ufeff")):
            raise InputError(
                f"sentence {number}: {line!r:.60} has a line break or begins with a byte order "
                "mark, and cannot be written as a line of text; remove it"
            )
    return "".join(f"{line}\n" for line in lines)


class FileLines(Sequence[str]):
    """The lines of a large plain file, which stay on disk and are read on demand.

    The lines are those of `read_lines`, for files of any size; about one megabyte is in memory at a
    time.
    """

    def __init__(self, path: str | Path) -> None:
        """Read the file once, to check it and to find the lines.

        Args:
            path: a plain file of UTF-8 with several lines.

        Raises:
            InputError: the file is not UTF-8 (names byte and line), is unreadable, or has a line of
                more than `MOST_BYTES`.
        """
        self.path = Path(path)
        self._change: Callable[[str], str] | None = None
        # Where each piece begins: its offset in the file, and the number of its first line.
        self._offsets, self._numbers = array("q", [0]), array("q", [0])
        self._held = (-1, [""])
        self._stamp = self._stamped(self.path.stat())
        with self.path.open("rb") as file:
            for piece in self._whole_lines(file):
                lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
                _decoded(piece, path, self._offsets[-1], self._numbers[-1])
                self._offsets.append(self._offsets[-1] + len(piece))
                self._numbers.append(self._numbers[-1] + lines)

    @classmethod
    def of(cls, path: str | Path) -> FileLines | list[str]:
        """Return the lines of a file: on disk if it is large and plain, else as a list.

        Raises:
            InputError: as `read_lines`.
        """
        place = Path(path)
        with suppress(OSError):  # reported when the whole file is read
            if str(path) != "-" and place.is_file() and place.stat().st_size > MOST_HELD:
                with place.open("rb") as file:
                    is_gzip = file.read(2) == _GZIP
                if not is_gzip and len(lines := cls(path)) > 1:
                    return lines
        return read_lines(path)

    def held(self) -> list[str]:
        """Return all lines, in memory.

        Raises:
            InputError: the file has more than `MOST_BYTES` or `MOST_LINES`, or has changed.
        """
        lines = read_lines(self.path)
        if self._stamped(self.path.stat()) != self._stamp:
            raise self._changed()
        return lines if self._change is None else list(map(self._change, lines))

    def changed_by(self, change: Callable[[str], str]) -> FileLines:
        """Return the lines with a function applied to each when it is read."""
        made, before = copy(self), self._change
        made._change = change if before is None else lambda line: change(before(line))
        made._held = (-1, [""])
        return made

    def __len__(self) -> int:
        return self._numbers[-1]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[row] for row in range(start, stop, step)]
            lines: list[str] = []
            while (row := start + len(lines)) < stop:
                piece, first = self._piece_of(row)
                lines += piece[row - first : stop - first]
            return lines
        row = index + len(self) if index < 0 else index
        if not 0 <= row < len(self):
            raise IndexError(index)
        piece, first = self._piece_of(row)
        return piece[row - first]

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._numbers) - 1):
            yield from self._piece(number)

    def _piece_of(self, row: int) -> tuple[list[str], int]:
        """Return the lines of the piece that contains a line, and the number of the first one."""
        number = bisect_right(self._numbers, row) - 1
        if self._held[0] != number:
            self._held = (number, self._piece(number))
        return self._held[1], self._numbers[number]

    def _piece(self, number: int) -> list[str]:
        start, stop = self._offsets[number : number + 2]
        try:
            with self.path.open("rb") as file:
                if self._stamped(os.fstat(file.fileno())) != self._stamp:
                    raise self._changed()
                file.seek(start)
                text = file.read(stop - start).decode("utf-8")
        except OSError:
            raise self._changed() from None
        lines = _split(text.removeprefix("\ufeff") if number == 0 else text)
        return lines if self._change is None else list(map(self._change, lines))

    def _whole_lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the content of a file in pieces that end at line ends."""
        pieces: list[bytes] = []
        while piece := file.read(_PIECE):
            end = piece.rfind(b"\n") + 1
            if end:
                yield b"".join([*pieces, piece[:end]])
                pieces.clear()
            pieces.append(piece[end:])
            if len(pieces) * _PIECE > MOST_BYTES:
                raise _too_large(self.path, MOST_BYTES)
        if rest := b"".join(pieces):
            yield rest

    def _changed(self) -> InputError:
        return InputError(f"{self.path}: changed while it was read; run the command again")

    @staticmethod
    def _stamped(state: os.stat_result) -> tuple[int, int, int]:
        return (state.st_ino, state.st_size, state.st_mtime_ns)


def read_text(path: str | Path, *, most: int = MOST_BYTES) -> str:
    """Read a whole file as text; see `read_lines` for what is accepted.

    Args:
        path: a UTF-8 file, plain or gzip; `-` is standard input.
        most: the most bytes, decompressed; a larger file is refused as soon as this is exceeded.

    Raises:
        InputError: see `read_bytes`; or the file is not UTF-8 (names byte and line).
    """
    return decoded_text(read_bytes(path, most=most), path)


def decoded_text(data: bytes, path: str | Path) -> str:
    """Return the content of a file as text, without a byte order mark.

    Args:
        path: of the file, for messages.

    Raises:
        InputError: it is not UTF-8, or a known kind of file that is not text; says how to convert
            it.
    """
    for start, kind in _NOT_TEXT.items():
        if data.startswith(start):
            raise InputError(f"{shown_path(path)}: is {kind}")
    # The byte order mark is dropped after decoding, so that offsets refer to the file.
    return _decoded(data, path).removeprefix("\ufeff")


_EXPORT = (
    "not text; export a table as CSV or TSV in UTF-8 (in a spreadsheet: Save As, CSV UTF-8), and "
    "sentences as plain text"
)
_NOT_TEXT = {
    b"PK\x03\x04": f"a spreadsheet (.xlsx, .ods), a document or another zip archive, {_EXPORT}",
    b"\xd0\xcf\x11\xe0": f"an old Excel or Word file, {_EXPORT}",
    b"PAR1": f"a Parquet file, {_EXPORT}",
    b"%PDF-": f"a PDF file, {_EXPORT}",
}
"""Kinds of file that are not text, by their first bytes."""


def _decoded(data: bytes, path: str | Path, offset: int = 0, lines: int = 0) -> str:
    """Return a piece of a file as text.

    Args:
        offset: bytes before the piece.
        lines: lines before the piece.

    Raises:
        InputError: the piece is not UTF-8; names byte and line of the file.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines + data.count(b"\n", 0, error.start) + 1
        encoding = "UTF-16" if not offset and data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        place = f"offset {offset + error.start}"
        remedy = f"it is {encoding}: convert it, e.g." if encoding else "convert the file, e.g."
        raise InputError(
            f"{shown_path(path)}, line {line}: byte 0x{data[error.start]:02x} at "
            f"{place} is not UTF-8; {remedy} `iconv -f {encoding or 'WINDOWS-1252'} -t UTF-8`"
        ) from None


def read_bytes(path: str | Path, *, most: int = MOST_BYTES) -> bytes:
    """Read a whole file, gzip or plain, with limits on size and waiting time.

    Endless devices, decompression bombs and pipes without a writer give an error instead of filling
    the memory or waiting forever. Standard input (`-`) can be read once; reading it again is an
    error, since nothing would be left.

    Args:
        path: path of a file, a pipe or a device, or `-`.
        most: the most bytes, decompressed; a larger file is refused as soon as this is exceeded.

    Raises:
        InputError: an empty path, a missing or unreadable file, a folder, more than `most`
            bytes, damaged gzip data, a pipe without a writer for `PIPE_SECONDS`.
    """
    if not str(path) or "\0" in str(path):
        raise InputError(f"{str(path)!r} is not a file name; give the path of a file")
    try:
        data = _at_most(_pieces(path), path, most)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; expected a text file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    # Recognised by the content, since names of downloads are unreliable.
    if data[:2] != _GZIP:
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacked:
            return _at_most(iter(lambda: unpacked.read(_PIECE), b""), path, most)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{shown_path(path)}: damaged gzip data ({error}); download or compress it again"
        ) from None


def shown_path(path: str | Path) -> str:
    """Return the name of a file for messages; for `-` it is `standard input`."""
    return "standard input" if str(path) == "-" else str(path)


@contextmanager
def standard_input_kept() -> Iterator[None]:
    """Keep standard input in memory once read, for code that reads a file several times."""
    global _kept_input
    _kept_input = []
    try:
        yield
    finally:
        _kept_input = None


def _pieces(path: str | Path) -> Iterator[bytes]:
    """Yield the content of a file piece by piece, so that reading an endless one can stop."""
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
    # Opening a pipe waits for a writer, possibly forever. In non-blocking mode, a read returns
    # nothing while there is no writer, and raises BlockingIOError while a writer has not written
    # yet.
    handle = os.open(path, os.O_RDONLY | NO_WAIT)
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
                    f"{path}: is a pipe that nothing was written to for {PIPE_SECONDS:g} seconds; "
                    "start its writer first, or give a file"
                )
            time.sleep(0.02)
        wait_again(handle)
        # The first piece was read while waiting for a writer.
        while piece := piece or os.read(handle, _PIECE):
            yield piece
            piece = b""
    finally:
        os.close(handle)


def wait_again(handle: int) -> None:
    """Make reads and writes of a pipe wait for its other end."""
    if NO_WAIT:
        os.set_blocking(handle, True)


def _at_most(pieces: Iterator[bytes], path: str | Path, most: int) -> bytes:
    kept: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise _too_large(path, most)
        kept.append(piece)
    return b"".join(kept)


def _too_large(path: str | Path, most: int) -> InputError:
    return InputError(
        f"{shown_path(path)}: has more than {most // 1_000_000} MB (decompressed), which "
        "is the most that is read at once; check that it is the file you mean, or split it"
    )


JsonValue: TypeAlias = Any
"""A value of JSON that its reader checks."""


def parse_json(
    text: str, where: str, expected: str, *, halves: bool = False, unique: bool = False
) -> JsonValue:
    r"""Read JSON from an untrusted source: any content gives a value or an `InputError`.

    Args:
        where: file, or file and line, for messages.
        expected: the expected content, for messages ("a score file of `gecjury score`").
        halves: whether halves of surrogate pairs are allowed, for callers that replace them.
        unique: whether a name that occurs twice in an object is refused; the last one counts
            otherwise.

    Raises:
        InputError: the text is not JSON, is nested deeper than `MOST_DEPTH`, or contains an integer
            of thousands of digits or half a surrogate pair (`"\ud800"`), which cannot be written as
            UTF-8.
    """
    try:
        value = json.loads(text, object_pairs_hook=partial(_once, where) if unique else None)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}: is not JSON ({error.msg} at line {error.lineno}, column {error.colno}); "
            f"expected {expected}"
        ) from None
    except RecursionError:
        raise _nested(where, expected) from None
    except ValueError:
        # Python refuses to parse integers of more than 4,300 digits, which takes quadratic time.
        raise InputError(
            f"{where}: has an integer of thousands of digits; expected {expected}"
        ) from None
    if text.count("[") + text.count("{") > MOST_DEPTH and _too_deep(value):
        raise _nested(where, expected)
    if not halves and ("\\ud" in text or "\\uD" in text):
        _refuse_halves(value, where)
    return value


def _once(where: str, pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return an object in which no name occurs twice."""
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise InputError(f"{where}: {twice!r:.60} occurs twice in an object; rename one of them")
    return value


def _refuse_halves(value: object, where: str) -> None:
    """Refuse text with half a surrogate pair, which cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: {error.object[error.start]!r} is half a surrogate pair, which is not "
            "a character; write the character itself or both halves"
        ) from None


def _nested(where: str, expected: str) -> InputError:
    return InputError(
        f"{where}: lists or objects are nested deeper than {MOST_DEPTH}; expected {expected}"
    )


def _levels(value: object) -> Iterator[list[object]]:
    """Yield the parts of lists and objects at each depth, from the whole on, without recursion."""
    level = [value]
    while level:
        yield level
        level = [
            part
            for whole in level
            if isinstance(whole, (dict, list))
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]


def _too_deep(value: object) -> bool:
    deepest = next(islice(_levels(value), MOST_DEPTH + 1, None), ())
    return any(isinstance(part, (dict, list)) for part in deepest)


def read_json(path: str | Path, expected: str, *, halves: bool = False) -> JsonValue:
    """Read a file that contains one JSON document; see `read_bytes` and `parse_json`."""
    return parse_json(read_text(path, most=MOST_JSON), str(path), expected, halves=halves)


def read_toml(path: str | Path, expected: str) -> dict[str, Any]:
    """Read a TOML file from an untrusted source: any content gives a table or an `InputError`.

    Args:
        path: see `read_text`.
        expected: the expected content, for messages ("a study").

    Raises:
        InputError: see `read_text`; or the file is not TOML, is nested deeper than `MOST_DEPTH`, or
            has a number that does not fit into 64 bits.
    """
    import tomllib

    text, where = read_text(path, most=_MOST_TOML), shown_path(path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: is not TOML: {error}; expected {expected}") from None
    except RecursionError:
        raise _nested(where, expected) from None
    except ValueError:
        # Python refuses to read integers of more than 4,300 digits, and invalid dates.
        raise InputError(
            f"{where}: has a number or date that cannot be read; expected {expected}"
        ) from None
    if _too_deep(table):
        raise _nested(where, expected)
    # Hexadecimal integers have no limit in Python, and cannot be printed beyond that of others.
    parts = (part for level in _levels(table) for part in level)
    if any(type(part) is int and not -(2**63) <= part < 2**63 for part in parts):
        raise InputError(
            f"{where}: has an integer that does not fit into 64 bits; expected {expected}"
        )
    return table


def refuse_special_files(*folders: Path, remedy: str) -> None:
    """Refuse folders that contain a pipe, a device, or a link to one.

    Meant for folders that other libraries read: opening a pipe waits for its writer, and some
    devices are endless.

    Args:
        *folders: folders whose direct entries are checked; a missing folder has none.
        remedy: what the user can do.

    Raises:
        InputError: names the first such entry.
    """
    for path in (path for folder in folders if folder.is_dir() for path in folder.iterdir()):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: is a pipe or a device; expected a file: {remedy}")


def user_path(name: str | Path) -> Path:
    """Return the path of a file or folder that a user names, with `~` as the home folder.

    The name of an unknown user is left as it is; `Path.expanduser` fails on it.
    """
    return Path(os.path.expanduser(name))  # noqa: PTH111


def near_folder(name: str | Path) -> str:
    """Return a question that names folders with similar names; empty if there are none.

    Example: `did you mean my-some in models?` for `models/my-sme`.
    """
    path = user_path(name)
    try:
        beside = [entry.name for entry in path.parent.iterdir() if entry.is_dir()]
    except (OSError, ValueError):  # no such folder; a null character
        return ""
    clause = nearest(path.name, beside)
    place = "" if path.parent == Path() else f" in {path.parent}"
    return clause.replace("?", f"{place}?") if clause.startswith("did") else ""


def lies_in(path: Path, folder: Path) -> bool:
    """Return whether a path is in a folder once links are followed.

    A link that points to itself counts as a file; `Path.resolve` fails on such a link before Python
    3.13.
    """
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def file_name(*parts: str, ending: str) -> str:
    """Return a file name built from untrusted text: always a plain name inside its folder.

    Whatever the parts contain (separators, `..`, control characters, thousands of letters), the
    name consists only of ASCII letters, digits, dots and hyphens, does not begin with a dot and has
    at most 60 characters per part. Different texts may give the same name: where that matters, one
    of the parts should be a hash.

    Args:
        parts: texts by which people recognise the file, and hashes; joined by hyphens.
        ending: file extension, with its dot.
    """
    plain = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-")[-60:] for part in parts]
    return "-".join(plain).lstrip(".-") + ending

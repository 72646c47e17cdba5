"""Where replies are kept: JSON lines, appended and synced before anything is done with them.

A store belongs to one backend, model, base url and prompt, which its first line names; another
run's replies can so never be mixed in. Every further line is one reply with the open parts of its
key. The file is locked while a run writes it. A line that a crash cut off at the end is cut away
and asked again; damage anywhere else is an error, never repaired by guessing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from gecjury.errors import InputError, OutputError
from gecjury.judges.asking.exchange import Reply, Request, key_of
from gecjury.textfiles import file_name, lock

__all__ = ["STORE_FORMAT", "Identity", "Store", "read_segments", "read_store", "store_path"]

STORE_FORMAT = "gecjury-judgments/1"
# Control characters, and halves of characters, which no text has.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Identity:
    """What all replies of one store have in common."""

    backend: str
    model: str
    base_url: str
    prompt: str

    @classmethod
    def of(cls, request: Request) -> Identity:
        """The identity of a request's store."""
        return cls(request.backend, request.model, request.base_url, request.prompt)

    @property
    def parts(self) -> dict[str, str]:
        """As in the first line of the file."""
        return {
            "backend": self.backend,
            "model": self.model,
            "base_url": self.base_url,
            "prompt": self.prompt,
        }


def store_path(folder: Path, identity: Identity) -> Path:
    """The file of a store: prompt and model for people, a hash for uniqueness."""
    prompt = identity.prompt.partition(":")[0]
    return folder / file_name(prompt, identity.model, key_of(identity.parts)[:12], ending=".jsonl")


def read_store(path: Path) -> tuple[Identity, list[dict[str, Any]], int]:
    """Read a store without changing it.

    Returns:
        Its identity, its records, and how many bytes from the start are sound; what follows is a
        tail that a crash left.

    Raises:
        InputError: not a store, or damaged elsewhere than at its tail; names the line.
    """
    segments, sound = _segments(path)
    if len(segments) > 1:
        raise InputError(
            f"{path}: holds several stores; bring them in with `gecjury judgments import`"
        )
    return *segments[0], sound


def read_segments(path: Path) -> list[tuple[Identity, list[dict[str, Any]]]]:
    """Read a file that holds one or more whole stores, one after the other.

    Raises:
        InputError: it is damaged anywhere; names the line.
    """
    segments, sound = _segments(path)
    if sound < path.stat().st_size:
        raise InputError(f"{path}: the file ends in a damaged line; export it again")
    return segments


def _segments(path: Path) -> tuple[list[tuple[Identity, list[dict[str, Any]]]], int]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the store cannot be read ({error.strerror})") from None
    segments: list[tuple[Identity, list[dict[str, Any]]]] = []
    sound = bad = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        record = _record(line)
        if record is None:
            bad = bad or number
            continue
        if bad:
            raise InputError(
                f"{path}, line {bad}: damaged in the middle of the store, so it is left as it is; "
                "restore the file, or move it away to ask everything anew"
            )
        if not segments or "format" in record:
            segments.append((_identity(path, number, record), []))
        else:
            _check(path, number, segments[-1][0], record)
            segments[-1][1].append(record)
        sound += len(line)
    if not segments:
        raise InputError(f"{path}: not a store of judgments (no head line of {STORE_FORMAT})")
    return segments, sound


def _record(line: bytes) -> dict[str, Any] | None:
    """One line's record; None unless it is whole and unchanged."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # also nested too deeply to be anything of ours
        return None
    if not isinstance(record, dict) or record.pop("sum", None) != _sum(record):
        return None
    return record


def _identity(path: Path, number: int, record: Mapping[str, Any]) -> Identity:
    if record.get("format") != STORE_FORMAT or not isinstance(record.get("identity"), dict):
        raise InputError(
            f"{path}, line {number}: not the head of a store of judgments ({STORE_FORMAT})"
        )
    try:
        identity = Identity(**record["identity"])
    except TypeError as error:
        raise InputError(
            f"{path}, line {number}: the head is not that of a store ({error})"
        ) from None
    for name, value in identity.parts.items():
        if not isinstance(value, str) or _CONTROLS.search(value):
            raise InputError(
                f"{path}, line {number}: the head is not that of a store: {name} is "
                f"{_shown(value)}, expected a text of one line without control characters"
            )
    return identity


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _check(path: Path, number: int, identity: Identity, record: Mapping[str, Any]) -> None:
    try:
        parts = record["parts"]
        mine = {key: parts[key] for key in identity.parts}
        sound = record["key"] == key_of(parts)
        Reply.from_json(record["reply"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}, line {number}: not a judgment ({error!r})") from None
    if mine != identity.parts or not sound:
        raise InputError(
            f"{path}, line {number}: a judgment of another model or prompt stands in this store; "
            "stores are never mixed: take the line out or move the file away"
        )


def _sum(record: Mapping[str, Any]) -> str:
    text = json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(
        {**record, "sum": _sum(record)}, sort_keys=True, ensure_ascii=True, separators=(",", ":")
    )
    return text.encode() + b"\n"


class Store(AbstractContextManager["Store"]):
    """The replies of one identity, open for reading and appending.

    Attributes:
        path: the file.
        cut: bytes of a damaged tail that were cut away on opening.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        """Open or make a store and lock it.

        Raises:
            InputError: another run holds it, it belongs to another identity, or it is damaged.
            OutputError: it cannot be made or written.
        """
        self.path, self.identity, self.cut = path, identity, 0
        self._replies: dict[str, list[Reply]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("ab", buffering=0)
        except OSError as error:
            raise OutputError(f"{path}: the store cannot be written ({error.strerror})") from None
        try:
            self._lock()
            self._load()
        except BaseException:
            self._file.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, which frees the lock."""
        self._file.close()

    def __len__(self) -> int:
        return sum(map(len, self._replies.values()))

    def __iter__(self) -> Iterator[Reply]:
        """All replies, in the order of their keys' first reply."""
        return (reply for replies in self._replies.values() for reply in replies)

    def replies(self, key: str) -> list[Reply]:
        """The replies to one request, the last one last."""
        return list(self._replies.get(key, ()))

    def append(self, request: Request, reply: Reply) -> None:
        """Keep a reply: when this returns, it is on the disk.

        Raises:
            OutputError: it could not be written whole; what was there before is intact.
        """
        parts = request.parts
        if Identity.of(request) != self.identity:
            raise InputError(f"{self.path}: a reply of another model or prompt was to be kept here")
        self.append_record({"key": key_of(parts), "parts": parts, "reply": reply.to_json()})

    def append_record(self, record: Mapping[str, Any]) -> None:
        """Keep a record of another store of the same identity; see `append`."""
        _check(self.path, 0, self.identity, record)
        self._write(_line(record))
        self._replies.setdefault(record["key"], []).append(Reply.from_json(record["reply"]))

    def _lock(self) -> None:
        if not lock(self._file, wait=False):
            raise InputError(
                f"{self.path}: another run is writing this store; wait for it to end, "
                "or give this run its own with --cache DIR"
            )

    def _load(self) -> None:
        size = os.fstat(self._file.fileno()).st_size
        if size and not self._headless(size):
            identity, records, sound = read_store(self.path)
            if identity != self.identity:
                raise InputError(
                    f"{self.path}: holds replies of {identity.model} to {identity.prompt}, not of "
                    f"{self.identity.model} to {self.identity.prompt}; move it away"
                )
            if sound < size:
                self._file.truncate(sound)
                os.fsync(self._file.fileno())
                self.cut = size - sound
            for record in records:
                reply = Reply.from_json(record["reply"])
                self._replies.setdefault(record["key"], []).append(reply)
            return
        self._write(_line({"format": STORE_FORMAT, "identity": self.identity.parts}))
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new file's name has to last as well
        finally:
            os.close(folder)

    def _headless(self, size: int) -> bool:
        """Whether a crash left less than a whole head line: nothing to lose, so begin anew."""
        data = self.path.read_bytes()
        if b"\n" in data or not _line({"format": STORE_FORMAT})[:12].startswith(data[:12]):
            return False
        self._file.truncate(0)
        self.cut = size
        return True

    def _write(self, line: bytes) -> None:
        start = os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(28, "no space left")
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(start)
            raise OutputError(
                f"{self.path}: a reply could not be written ({error.strerror}); "
                "those before it are kept. Make room and run the same command again"
            ) from None

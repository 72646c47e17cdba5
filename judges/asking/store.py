"""Where replies are kept: JSON lines, appended and synced before anything is done with them.

A store belongs to one backend, model, base url and prompt, which its first line names; another
run's replies can so never be mixed in. Every further line is one reply with the open parts of its
key and what it was read as. The file is locked while a run writes it. A line that a crash cut off
at the end is cut away and asked again. A line elsewhere that cannot be read is set aside: it is
kept in a file of its own beside the store, blanks take its place, and its question is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from gecjury.errors import InputError, OutputError
from gecjury.judges.asking.exchange import Reply, Request, key_of
from gecjury.textfiles import file_name, lock, parse_json, read_bytes

STORE_FORMAT = "gecjury-judgments/1"
ASIDE = ".set-aside"
"""Ending of the file with a store's lines that could not be read."""
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


def content_key(record: Mapping[str, Any]) -> str:
    """Return the key of a record's question.

    Earlier versions kept the number of the permutation (`order`) among the key parts, although the
    prompt says all of it: the same prompt under another number is the same question.
    """
    parts: Mapping[str, Any] = record["parts"]
    if "order" not in parts:
        return str(record["key"])
    return key_of({name: value for name, value in parts.items() if name != "order"})


@dataclass(frozen=True)
class Damage:
    """A line that cannot be read, with sound ones behind it.

    Attributes:
        line: its number, from 1.
        start: its first byte.
        end: where the next line begins.
        reason: what is wrong with it.
    """

    line: int
    start: int
    end: int
    reason: str


@dataclass
class Found:
    """What a file of stores holds.

    Attributes:
        segments: each store's identity and records.
        sound: bytes from the start to the end of the last sound line; what follows is a tail that
            a crash left.
        damaged: lines before that which cannot be read.
    """

    segments: list[tuple[Identity, list[dict[str, Any]]]]
    sound: int
    damaged: list[Damage]


def read_store(path: Path) -> tuple[Identity, list[dict[str, Any]], int]:
    """Read a store without changing it; lines that cannot be read are passed over.

    Returns:
        Its identity, its records, and how many bytes from the start there are to its last sound
        line; what follows is a tail that a crash left.

    Raises:
        InputError: not a store; names the line.
    """
    found = find_lines(path)
    return *found.segments[0], found.sound


def find_lines(path: Path) -> Found:
    """Read a store, and say which of its lines cannot be read.

    Raises:
        InputError: not a store, or several; names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the store cannot be read ({error.strerror})") from None
    found = _segments(path, data)
    if len(found.segments) > 1:
        raise InputError(
            f"{path}: holds several stores; bring them in with `gecjury judgments import`"
        )
    return found


def read_segments(path: Path) -> list[tuple[Identity, list[dict[str, Any]]]]:
    """Read a file that holds one or more whole stores, one after the other.

    Raises:
        InputError: it is damaged anywhere; names the line.
    """
    data = read_bytes(path)
    found = _segments(path, data)
    for damage in found.damaged:
        raise InputError(
            f"{path}, line {damage.line}: {damage.reason}; nothing was taken from the file: "
            "export it again"
        )
    if found.sound < len(data.rstrip(b" \n")):
        raise InputError(f"{path}: the file ends in a damaged line; export it again")
    return found.segments


def _segments(path: Path, data: bytes) -> Found:
    found = Found([], 0, [])
    bad: list[Damage] = []
    start = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        end = min(start + len(line) + 1, len(data))
        record = _record(line) if end > start + len(line) else None
        reason = "damaged (its checksum is wrong)"
        if record is not None and not found.segments:
            found.segments.append((_identity(path, number, record), []))
            if bad:
                raise InputError(
                    f"{path}, line {bad[0].line}: damaged before the head of the store, so it is "
                    "left as it is; restore the file, or move it away to ask everything anew"
                )
        elif record is not None and "format" in record:
            found.segments.append((_identity(path, number, record), []))
        elif record is not None:
            reason = _check(path, number, found.segments[-1][0], record)
            if reason:
                record = None
            else:
                found.segments[-1][1].append(record)
        if record is not None:
            found.sound = end
            found.damaged += bad
            bad = []
        elif line.strip():  # blanks stand where a line was set aside
            bad.append(Damage(number, start, end, reason))
        start = end
    if not found.segments:
        raise InputError(f"{path}: not a store of judgments (no head line of {STORE_FORMAT})")
    return found


def _record(line: bytes) -> dict[str, Any] | None:
    """One line's record; None unless it is whole and unchanged."""
    if not line.strip():
        return None
    try:
        # Halves of surrogate pairs pass: stores of old have them where a model wrote them.
        record = parse_json(line.decode(), "the line", "a reply", halves=True)
    except ValueError:
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


def _check(path: Path, number: int, identity: Identity, record: Mapping[str, Any]) -> str:
    """What of a record is not a judgment's; empty where nothing is.

    Raises:
        InputError: it is a judgment of another store.
    """
    try:
        parts = record["parts"]
        mine = {key: parts[key] for key in identity.parts}
        sound = record["key"] == key_of(parts)
        Reply.from_json(record["reply"])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        return f"not a judgment ({_shown(error)})"
    if mine != identity.parts or not sound:
        raise InputError(
            f"{path}, line {number}: a judgment of another model or prompt stands in this store; "
            "stores are never mixed: take the line out or move the file away"
        )
    return ""


def _sum(record: Mapping[str, Any]) -> str:
    text = json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(
        {**record, "sum": _sum(record)}, sort_keys=True, ensure_ascii=True, separators=(",", ":")
    )
    return text.encode() + b"\n"


def _head(identity: Identity) -> bytes:
    return _line({"format": STORE_FORMAT, "identity": identity.parts})


class Store(AbstractContextManager["Store"]):
    """The replies of one identity, open for reading and appending.

    Attributes:
        path: the file.
        cut: bytes of a damaged tail that were cut away on opening.
        aside: lines that could not be read and were set aside on opening.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        """Open or make a store and lock it.

        Raises:
            InputError: another run holds it, it belongs to another identity, or it is damaged.
            OutputError: it cannot be made or written.
        """
        self.path, self.identity, self.cut = path, identity, 0
        self.aside: tuple[int, ...] = ()
        self._replies: dict[str, list[Reply]] = {}
        self._read: dict[str, Any] = {}
        self._file, self._held = self._open()
        try:
            self._load()
        except BaseException:
            self._file.close()
            self._held.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, which frees the lock; a store without a reply is not left behind."""
        self._close()

    def __len__(self) -> int:
        return sum(map(len, self._replies.values()))

    def __iter__(self) -> Iterator[Reply]:
        """All replies, in the order of their keys' first reply."""
        return (reply for replies in self._replies.values() for reply in replies)

    def replies(self, key: str) -> list[Reply]:
        """The replies to one request, the last one last."""
        return list(self._replies.get(key, ()))

    def read_as(self, key: str) -> Any:
        """What the last reply to a request was read as; None where that is not kept."""
        return self._read.get(key)

    def append(self, request: Request, reply: Reply, read: Mapping[str, Any] | None = None) -> None:
        """Keep a reply and what it was read as: when this returns, both are on the disk.

        Raises:
            OutputError: it could not be written whole; what was there before is intact.
        """
        parts = request.parts
        if Identity.of(request) != self.identity:
            raise InputError(f"{self.path}: a reply of another model or prompt was to be kept here")
        record = {"key": key_of(parts), "parts": parts, "reply": reply.to_json()}
        self.append_record(record if read is None else {**record, "read": read})

    def append_record(self, record: Mapping[str, Any]) -> None:
        """Keep a record of another store of the same identity; see `append`."""
        if wrong := _check(self.path, 0, self.identity, record):
            raise InputError(f"{self.path}: {wrong} was to be kept here")
        self._write(_line(record))
        self._take(record)

    def _take(self, record: Mapping[str, Any]) -> None:
        key = content_key(record)
        self._replies.setdefault(key, []).append(Reply.from_json(record["reply"]))
        self._read[key] = record.get("read")

    def _open(self) -> tuple[IO[bytes], IO[bytes]]:
        """The file, and what holds its lock."""
        while True:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                file = self.path.open("ab", buffering=0)
            except OSError as error:
                raise self._unwritable(error) from None
            try:
                held = lock(file, wait=False)
                if held is None:
                    raise InputError(
                        f"{self.path}: another run is writing this store; wait for it to end, "
                        "or give this run its own with --cache DIR"
                    )
                # Another run may have taken its empty store away in between.
                if self.path.exists() and os.path.samestat(
                    os.fstat(file.fileno()), self.path.stat()
                ):
                    return file, held
            except OSError as error:
                file.close()
                raise self._unwritable(error) from None
            except BaseException:
                file.close()
                raise
            file.close()
            held.close()

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(f"{self.path}: the store cannot be written ({error.strerror})")

    def _close(self) -> None:
        """Close the file and free the lock; what holds nothing but its head is taken away."""
        head = _head(self.identity)
        with suppress(OSError):
            if os.fstat(self._file.fileno()).st_size == len(head):
                if self._held is not self._file:
                    self._file.close()  # Windows removes no open file
                if self.path.read_bytes() == head:
                    self.path.unlink()
        self._file.close()
        self._held.close()

    def _load(self) -> None:
        size = os.fstat(self._file.fileno()).st_size
        if size and not self._headless(size):
            found = find_lines(self.path)
            (identity, records), sound = found.segments[0], found.sound
            if identity != self.identity:
                raise InputError(
                    f"{self.path}: holds replies of {identity.model} to {identity.prompt}, not of "
                    f"{self.identity.model} to {self.identity.prompt}; move it away"
                )
            if sound < size:
                self._keep_tail(sound)
                self._file.truncate(sound)
                os.fsync(self._file.fileno())
                self.cut = size - sound
            if found.damaged:
                self._set_aside(found.damaged)
            for record in records:
                self._take(record)
            return
        self._write(_head(self.identity))
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
        except PermissionError:
            return  # Windows opens no folder
        try:
            os.fsync(folder)  # the new file's name has to last as well
        finally:
            os.close(folder)

    def _keep_tail(self, sound: int) -> None:
        """Whole lines of a tail are no remains of a crash: they are kept in a file of their own."""
        with self.path.open("rb") as store:
            store.seek(sound)
            tail = store.read()
        whole = tail[: tail.rfind(b"\n") + 1]
        if whole.strip(b"\0 \n"):
            with self.path.with_suffix(ASIDE).open("ab") as kept:
                kept.write(whole)
                kept.flush()
                os.fsync(kept.fileno())

    def _set_aside(self, damaged: list[Damage]) -> None:
        """Keep lines that cannot be read in a file of their own, and leave blanks for them."""
        side = self.path.with_suffix(ASIDE)
        try:
            with self.path.open("r+b") as store:
                with side.open("ab") as kept:
                    for damage in damaged:
                        store.seek(damage.start)
                        kept.write(store.read(damage.end - damage.start))
                    kept.flush()
                    os.fsync(kept.fileno())  # before it is gone from the store
                for damage in damaged:
                    store.seek(damage.start)
                    store.write(b" " * (damage.end - damage.start - 1))
                store.flush()
                os.fsync(store.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.path}, line {damaged[0].line}: {damaged[0].reason}, and it cannot be set "
                f"aside in {side.name} ({error.strerror})"
            ) from None
        self.aside = tuple(damage.line for damage in damaged)

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

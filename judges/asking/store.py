"""Where replies are kept: JSON lines, appended and synced before anything is done with them.

A store belongs to one backend, model, base url and prompt, which its first line names; another
run's replies can so never be mixed in. Every further line is one reply with the open parts of its
key and what it was read as. The file is locked while a run writes it. A line that a crash cut off
at the end is cut away and asked again. A line elsewhere that cannot be read is set aside: it is
kept in a file of its own beside the store, blanks take its place, and its question is asked again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gecjury.durable import GrowingFile, append
from gecjury.errors import InputError, OutputError
from gecjury.judges.asking.exchange import Reply, Request, key_of
from gecjury.records import from_record
from gecjury.textfiles import file_name, parse_json, read_bytes

STORE_FORMAT = "gecjury-judgments/1"
ASIDE = ".set-aside"
"""Ending of the file with a store's lines that could not be read."""
# Control characters, and halves of characters, which no text has.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Identity:
    """The identity that all replies of one store share."""

    backend: str
    model: str
    base_url: str
    prompt: str

    @classmethod
    def of(cls, request: Request) -> Identity:
        """The identity of a request's store."""
        return cls(request.backend, request.model, request.base_url, request.prompt)

    @cached_property
    def parts(self) -> dict[str, str]:
        """The identity as it stands in the first line of the file."""
        return asdict(self)


def store_path(folder: Path, identity: Identity) -> Path:
    """The file of a store: prompt and model for people, a hash for uniqueness."""
    prompt = identity.prompt.partition(":")[0]
    return folder / file_name(prompt, identity.model, key_of(identity.parts)[:12], ending=".jsonl")


def is_store(path: Path) -> bool:
    """Return True if a file begins as a store of replies does."""
    if not path.is_file():
        return False
    head = _line({"format": STORE_FORMAT})[: len(STORE_FORMAT) + 10]
    with path.open("rb") as file:
        return file.read(len(head)) == head


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


@dataclass(frozen=True)
class StoredLine:
    """A sound line of a file of stores.

    Attributes:
        line: its number, from 1.
        start: its first byte.
        end: where the next line begins.
        identity: of its store.
        record: a reply with the parts of its key; None for the head of a store.
    """

    line: int
    start: int
    end: int
    identity: Identity
    record: dict[str, Any] | None


@dataclass
class StoredLines:
    """The content of a file of one or more stores, one after the other.

    Attributes:
        stores: each store's identity and records.
        sound: bytes from the start to the end of the last sound line; what follows is a tail that
            a crash left.
        damaged: lines before that which cannot be read.
    """

    stores: list[tuple[Identity, list[dict[str, Any]]]]
    sound: int
    damaged: list[Damage]

    @property
    def identity(self) -> Identity:
        """The identity of the first store."""
        return self.stores[0][0]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of the first store."""
        return self.stores[0][1]


def read_store(path: Path) -> StoredLines:
    """Read a store without changing it, and say which of its lines cannot be read.

    Raises:
        InputError: not a store, or several; names the line.
    """
    lines = read_stores(path)
    if len(lines.stores) > 1:
        raise InputError(
            f"{path}: holds several stores; bring them in with `gecjury judgments import`"
        )
    return lines


def read_stores(path: Path) -> StoredLines:
    """Read a file of stores, whose lines may be damaged anywhere but before the first head.

    Raises:
        InputError: it holds no store; names the line.
    """
    stores: list[tuple[Identity, list[dict[str, Any]]]] = []
    lines = StoredLines(stores, 0, [])
    bad: list[Damage] = []
    for line in stored_lines(path):
        if isinstance(line, Damage):
            bad.append(line)
            continue
        if line.record is None:
            stores.append((line.identity, []))
        else:
            stores[-1][1].append(line.record)
        # What is bad is no tail once a sound line stands behind it.
        lines.sound = line.end
        lines.damaged += bad
        bad = []
    return lines


def stored_lines(path: Path) -> Iterator[StoredLine | Damage]:
    """Read a file of stores line by line, in the memory of one line.

    Args:
        path: the file; what is no plain file (gzip, a pipe) is read whole first.

    Yields:
        Heads and records, and what cannot be read. Blank lines, which stand where a line was set
        aside, are passed over. A damaged line that no sound one follows may be the tail that a
        crash left.

    Raises:
        InputError: it holds no store, or one is not sound; names the line.
    """
    identity: Identity | None = None
    first_bad = start = 0
    for number, line in enumerate(_lines(path), 1):
        end = start + len(line)
        # A line without its end is a tail, whatever it holds.
        record = _record(line[:-1]) if line.endswith(b"\n") else None
        reason = "damaged (its checksum is wrong)"
        if record is not None and (identity is None or "format" in record):
            identity = _identity(path, number, record)
            if first_bad:
                raise InputError(
                    f"{path}, line {first_bad}: damaged before the head of the store, so it is "
                    "left as it is; restore the file, or move it away to ask everything anew"
                )
            yield StoredLine(number, start, end, identity, None)
        elif record is not None and identity is not None:
            if reason := _fault(path, number, identity, record):
                record = None
            else:
                yield StoredLine(number, start, end, identity, record)
        if record is None and line.strip():
            first_bad = first_bad or (number if identity is None else 0)
            yield Damage(number, start, end, reason)
        start = end
    if identity is None:
        raise InputError(f"{path}: not a store of judgments (no head line of {STORE_FORMAT})")


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file with their ends."""
    if is_plain(path):
        with path.open("rb") as file:
            yield from file
    else:
        yield from io.BytesIO(read_bytes(path))


def record_at(path: Path, line: int, start: int, end: int) -> dict[str, Any]:
    """Return the record of a line that `stored_lines` has read.

    Args:
        path: the file, a plain one; see `is_plain`.
        line: number of the line.
        start: its first byte.
        end: where the next line begins.

    Raises:
        InputError: the file is gone, or the line is another one now.
    """
    try:
        with path.open("rb") as file:
            file.seek(start)
            record = _record(file.read(end - start)[:-1])
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if record is None or "reply" not in record:
        raise InputError(f"{path}, line {line}: has been changed since it was read; start anew")
    return record


def is_plain(path: Path) -> bool:
    """Return whether a file can be read from any byte on: not packed, no pipe, and readable."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(2) != b"\x1f\x8b"
    except OSError:
        return False  # `read_bytes` says what is wrong


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
    """Return the identity in the head of a store.

    Raises:
        InputError: it is no head; names file, line and value.
    """
    where = f"{path}, line {number}: not the head of a store of judgments ({STORE_FORMAT})"
    version = record.get("format")
    if version != STORE_FORMAT:
        if isinstance(version, str) and version.startswith(STORE_FORMAT.partition("/")[0]):
            where = (
                f"{path}, line {number}: a store of the version {_shown(version)}; expected "
                f"{STORE_FORMAT}, so take the gecjury that wrote it, or a later one"
            )
        raise InputError(where)
    try:
        identity = from_record(Identity, record.get("identity"))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    for name, value in identity.parts.items():
        if _CONTROLS.search(value):
            raise InputError(
                f"{where}: {name} is {_shown(value)}; expected a text of one line without control "
                "characters"
            )
    return identity


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _fault(path: Path, number: int, identity: Identity, record: Mapping[str, Any]) -> str:
    """Return what makes a record no judgment; empty for a sound one.

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


def _packed(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def _sum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_packed(record)).hexdigest()[:8]


def _line(record: Mapping[str, Any]) -> bytes:
    return _packed({**record, "sum": _sum(record)}) + b"\n"


def _head(identity: Identity) -> bytes:
    return _line({"format": STORE_FORMAT, "identity": identity.parts})


class Replies:
    """The replies to a model's questions in memory, and what each was read as.

    Attributes:
        file: the name of the store; empty where replies are kept in none.
        cut: bytes of a damaged tail that were cut away on opening.
        aside: lines that could not be read and were set aside on opening.
    """

    file: str = ""
    cut: int = 0
    aside: tuple[int, ...] = ()

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        """Take records over, e.g. those of `read_store`."""
        self._replies: dict[str, list[Reply]] = {}
        self._read: dict[str, Any] = {}
        for record in records:
            self.append_record(record)

    def __len__(self) -> int:
        return sum(map(len, self._replies.values()))

    def __iter__(self) -> Iterator[Reply]:
        """Return all replies, in the order of their keys' first reply."""
        return (reply for replies in self._replies.values() for reply in replies)

    def replies(self, key: str) -> list[Reply]:
        """Return the replies to one request, the last one last."""
        return list(self._replies.get(key, ()))

    def read_as(self, key: str) -> Any:
        """Return what the last reply to a request was read as, where that was stored before.

        None for a reply of this run: whoever appended it holds its verdict.
        """
        return self._read.get(key)

    def append(self, request: Request, reply: Reply, read: Mapping[str, Any] | None = None) -> None:
        """Keep a reply and what it was read as; in a store, both are then on the disk.

        Raises:
            OutputError: it could not be written whole; what was there before is intact.
        """
        record = {"key": request.key, "parts": request.parts, "reply": reply.to_json()}
        self._keep(record if read is None else {**record, "read": read}, reply)
        # A verdict of an earlier reply holds no longer, and the new one is the caller's: a copy of
        # it takes 240 bytes a question.
        del self._read[request.key]

    def append_record(self, record: Mapping[str, Any]) -> None:
        """Keep a record of another store of the same identity; see `append`."""
        self._keep(record, Reply.from_json(record["reply"]))

    def _keep(self, record: Mapping[str, Any], reply: Reply) -> None:
        """Keep a record whose reply is at hand."""
        key = content_key(record)
        self._replies.setdefault(key, []).append(reply)
        self._read[key] = record.get("read")


class Store(Replies, AbstractContextManager["Store"]):
    """The replies of one identity in a file, open for reading and appending.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        """Open or make a store and lock it.

        Raises:
            InputError: another run holds it, it belongs to another identity, or it is damaged.
            OutputError: it cannot be made or written.
        """
        super().__init__()
        self.path, self.identity, self.file = path, identity, path.name
        self._file = GrowingFile(
            path,
            busy="another run is writing this store; wait for it to end, or give this run its own "
            "with --cache DIR",
            lost="the replies before this one are kept. Make room and run the same command again",
        )
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, *error: object) -> None:
        """Close the file, which frees the lock; a store without a reply is not left behind."""
        self._file.close(remove=self._file.size == len(_head(self.identity)))

    def _keep(self, record: Mapping[str, Any], reply: Reply) -> None:
        """Keep a record whose reply is at hand, on the disk first."""
        if wrong := _fault(self.path, 0, self.identity, record):
            raise InputError(f"{self.path}: {wrong} was to be kept here")
        self._file.append(_line(record))
        super()._keep(record, reply)

    def _load(self) -> None:
        """Read the store; cut off what a crash left, and set aside what cannot be read."""
        size = self._file.size
        if size and not self._headless(size):
            lines = read_store(self.path)
            if (theirs := lines.identity) != (ours := self.identity):
                raise InputError(
                    f"{self.path}: holds replies of {theirs.model} to {theirs.prompt}, not of "
                    f"{ours.model} to {ours.prompt}; move it away"
                )
            if lines.sound < size:
                tail = self.path.read_bytes()[lines.sound :]
                # Whole lines are no remains of a crash.
                if (whole := tail[: tail.rfind(b"\n") + 1]).strip(b"\0 \n"):
                    append(self.path.with_suffix(ASIDE), whole)
                self._file.cut(lines.sound)
                self.cut = size - lines.sound
            if lines.damaged:
                self._set_aside(lines.damaged)
            for record in lines.records:
                super()._keep(record, Reply.from_json(record["reply"]))
            return
        self._file.append(_head(self.identity))

    def _set_aside(self, damaged: list[Damage]) -> None:
        """Keep lines that cannot be read in a file of their own, and leave blanks for them."""
        side = self.path.with_suffix(ASIDE)
        data = self.path.read_bytes()
        try:
            # The lines are on the disk there before they are gone from the store.
            append(side, b"".join(data[line.start : line.end] for line in damaged))
            with self.path.open("r+b") as store:
                for line in damaged:
                    store.seek(line.start)
                    store.write(b" " * (line.end - line.start - 1))
                store.flush()
                os.fsync(store.fileno())
        except OSError as error:
            raise OutputError(
                f"{self.path}, line {damaged[0].line}: {damaged[0].reason}, and it cannot be set "
                f"aside in {side.name} ({error.strerror})"
            ) from None
        self.aside = tuple(line.line for line in damaged)

    def _headless(self, size: int) -> bool:
        """Cut off less than a whole head line, which a crash left; return whether there was one."""
        data = self.path.read_bytes()
        if b"\n" in data or not _line({"format": STORE_FORMAT})[:12].startswith(data[:12]):
            return False
        self._file.cut(0)
        self.cut = size
        return True

"""Stores of replies: JSON lines, appended and synced before the replies are used.

A store belongs to one backend, model, base url and prompt, which its first line names, so that
replies of other runs are never mixed in. Every further line is one reply with the readable parts of
its key; what the reply means is read from it on every use. The file is locked while a run writes
it. A line at the end that a crash left incomplete is cut off, and its question is asked again. A
line elsewhere that cannot be read is set aside: it is moved to a separate file next to the store,
blanks replace it, and its question is asked again.
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

from gecjury.core.durable import GrowingFile, append
from gecjury.core.errors import InputError, OutputError
from gecjury.core.records import from_record
from gecjury.core.textfiles import file_name, parse_json, read_bytes
from gecjury.judges.exchange import Reply, Request, key_of

STORE_FORMAT = "gecjury-judgments/1"
ASIDE = ".set-aside"
"""Suffix of the file with a store's lines that could not be read."""
# Control characters and lone surrogates, which a text never contains.
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
        """Return the identity of a request's store."""
        return cls(request.backend, request.model, request.base_url, request.prompt)

    @cached_property
    def parts(self) -> dict[str, str]:
        """The identity as written in the first line of the file."""
        return asdict(self)


def store_path(folder: Path, identity: Identity) -> Path:
    """Return the file of a store: prompt and model for people, a hash for uniqueness."""
    prompt = identity.prompt.partition(":")[0]
    return folder / file_name(prompt, identity.model, key_of(identity.parts)[:12], ending=".jsonl")


def is_store(path: Path) -> bool:
    """Return True if a file begins like a store of replies."""
    if not path.is_file():
        return False
    head = _line({"format": STORE_FORMAT})[: len(STORE_FORMAT) + 10]
    with path.open("rb") as file:
        return file.read(len(head)) == head


@dataclass(frozen=True)
class StoreDamage:
    """A line that cannot be read.

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
class StoredReply:
    """A reply with its line as read, which has the parts of its key."""

    key: str
    reply: Reply
    record: Mapping[str, object]


@dataclass(frozen=True)
class StoredLine:
    """A sound line of a file of stores.

    Attributes:
        line: its number, from 1.
        end: where the next line begins.
        record: its reply; None for the head of a store.
    """

    line: int
    end: int
    identity: Identity
    record: StoredReply | None


@dataclass
class StoredLines:
    """The content of a file of one or more stores, one after the other.

    Attributes:
        stores: each store's identity and records.
        sound: bytes from the start to the end of the last sound line; the rest is a tail that a
            crash left.
        damaged: lines before that tail that cannot be read.
    """

    stores: list[tuple[Identity, list[StoredReply]]]
    sound: int
    damaged: list[StoreDamage]

    @property
    def identity(self) -> Identity:
        """The identity of the first store."""
        return self.stores[0][0]

    @property
    def records(self) -> list[StoredReply]:
        """The records of the first store."""
        return self.stores[0][1]


def read_store(path: Path) -> StoredLines:
    """Read a store without changing it, and find the lines that cannot be read.

    Raises:
        InputError: the file is not a store, or contains several; names the line.
    """
    lines = read_stores(path)
    if len(lines.stores) > 1:
        raise InputError(
            f"{path}: contains several stores; import them with `gecjury judgments import`"
        )
    return lines


def read_stores(path: Path) -> StoredLines:
    """Read a file of stores, whose lines may be damaged anywhere except before the first head.

    Raises:
        InputError: it contains no store; names the line.
    """
    stores: list[tuple[Identity, list[StoredReply]]] = []
    lines = StoredLines(stores, 0, [])
    bad: list[StoreDamage] = []
    for line in stored_lines(path):
        if isinstance(line, StoreDamage):
            bad.append(line)
            continue
        if line.record is None:
            stores.append((line.identity, []))
        else:
            stores[-1][1].append(line.record)
        # Damaged lines are not part of the tail if a sound line follows them.
        lines.sound = line.end
        lines.damaged += bad
        bad = []
    return lines


def stored_lines(path: Path) -> Iterator[StoredLine | StoreDamage]:
    """Read a file of stores line by line, with one line in memory at a time.

    Args:
        path: the file; one that is not a plain file (gzip, a pipe) is read whole first.

    Yields:
        Heads, records and damaged lines. Blank lines, which replace lines that were set aside, are
        skipped. A damaged line that no sound line follows may be the tail that a crash left.

    Raises:
        InputError: the file contains no store, or a store is not sound; names the line.
    """
    identity: Identity | None = None
    first_bad = start = 0
    for number, line in enumerate(_lines(path), 1):
        end = start + len(line)
        # A line without a line break is a tail, whatever its content.
        record = _record(line[:-1]) if line.endswith(b"\n") else None
        reason = "damaged (its checksum is wrong)"
        if record is not None and (identity is None or "format" in record):
            identity = _identity(path, number, record)
            if first_bad:
                raise InputError(
                    f"{path}, line {first_bad}: damaged before the head of the store, so the file "
                    "is not changed; restore it, or move it away to ask everything again"
                )
            yield StoredLine(number, end, identity, None)
        elif record is not None and identity is not None:
            stored = _stored(path, number, identity, record)
            if isinstance(stored, str):
                record, reason = None, stored
            else:
                yield StoredLine(number, end, identity, stored)
        if record is None and line.strip():
            first_bad = first_bad or (number if identity is None else 0)
            yield StoreDamage(number, start, end, reason)
        start = end
    if identity is None:
        raise InputError(
            f"{path}: not a store of judgments (no head line of {STORE_FORMAT}); expected JSON "
            "lines as `gecjury judgments export` writes them"
        )


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file with their line breaks."""
    if is_plain(path):
        with path.open("rb") as file:
            yield from file
    else:
        yield from io.BytesIO(read_bytes(path))


def is_plain(path: Path) -> bool:
    """Return whether a file can be read from any byte on: readable, no pipe, not compressed."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(2) != b"\x1f\x8b"
    except OSError:
        return False  # `read_bytes` says what is wrong


def _record(line: bytes) -> dict[str, object] | None:
    """Return a line's record; None unless it is complete and unchanged."""
    if not line.strip():
        return None
    try:
        record = parse_json(line.decode(), "the line", "a reply", halves=True)
    except ValueError:
        return None
    if not isinstance(record, dict) or record.pop("sum", None) != _sum(record):
        return None
    return record


def _identity(path: Path, number: int, record: Mapping[str, object]) -> Identity:
    """Return the identity in the head of a store.

    Raises:
        InputError: it is not a head; names file, line and value.
    """
    where = f"{path}, line {number}: not the head of a store of judgments ({STORE_FORMAT})"
    version = record.get("format")
    if version != STORE_FORMAT:
        if isinstance(version, str) and version.startswith(STORE_FORMAT.partition("/")[0]):
            where = (
                f"{path}, line {number}: a store of version {version!a:.60}; expected "
                f"{STORE_FORMAT}, so use the version of gecjury that wrote it, or a later one"
            )
        raise InputError(where)
    try:
        identity = from_record(Identity, record.get("identity"))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    for name, value in identity.parts.items():
        if _CONTROLS.search(value):
            raise InputError(
                f"{where}: {name} is {value!a:.60}; expected one line of text without control "
                "characters"
            )
    return identity


def _stored(
    path: Path, number: int, identity: Identity, record: Mapping[str, object]
) -> StoredReply | str:
    """Return the reply in a record, or why it is not a judgment.

    Raises:
        InputError: it is a judgment for another store.
    """
    try:
        parts = from_record(dict[str, object], record["parts"], "parts")
        mine = {key: parts[key] for key in identity.parts}
        stated, key = record["key"], key_of(parts)
        reply = Reply.from_json(from_record(dict[str, object], record["reply"], "reply"))
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        return f"not a judgment ({error!a:.60})"
    wrong = [
        (name, mine[name], expected)
        for name, expected in identity.parts.items()
        if mine[name] != expected
    ]
    if stated != key:
        wrong.append(("key", stated, key))
    if wrong:
        name, value, expected = wrong[0]
        raise InputError(
            f"{path}, line {number}: a judgment of another model or prompt ({name} is "
            f"{value!a:.60}; expected {expected!a:.60}); stores are never mixed: remove the "
            "line or move the file away"
        )
    return StoredReply(key, reply, record)


def _packed(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def _sum(record: Mapping[str, object]) -> str:
    return hashlib.sha256(_packed(record)).hexdigest()[:8]


def _line(record: Mapping[str, object]) -> bytes:
    return _packed({**record, "sum": _sum(record)}) + b"\n"


def _head(identity: Identity) -> bytes:
    return _line({"format": STORE_FORMAT, "identity": identity.parts})


class Replies:
    """The replies to a model's questions in memory.

    Attributes:
        file: the name of the store; empty if replies are not stored.
        cut: bytes of a damaged tail that were cut off on opening.
        aside: lines that could not be read and were set aside on opening.
    """

    file: str = ""
    cut: int = 0
    aside: tuple[int, ...] = ()

    def __init__(self, records: Iterable[StoredReply] = ()) -> None:
        """Add records, e.g. those of `read_store`."""
        self._replies: dict[str, list[Reply]] = {}
        for record in records:
            self.append_record(record)

    def __iter__(self) -> Iterator[Reply]:
        """Return all replies, in the order of their keys' first reply."""
        return (reply for replies in self._replies.values() for reply in replies)

    def replies(self, key: str) -> list[Reply]:
        """Return the replies to one request, in the order in which they were added."""
        return list(self._replies.get(key, ()))

    def append(self, request: Request, reply: Reply) -> None:
        """Add a reply; a store writes it to disk before it returns.

        Raises:
            OutputError: the reply could not be written whole; earlier replies are intact.
        """
        record = {"key": request.key, "parts": request.parts, "reply": reply.to_json()}
        self.append_record(StoredReply(request.key, reply, record))

    def append_record(self, stored: StoredReply) -> None:
        """Add a reply from another store of the same identity; see `append`."""
        self._replies.setdefault(stored.key, []).append(stored.reply)


class Store(Replies, AbstractContextManager["Store"]):
    """The replies of one identity in a file, open for reading and appending."""

    def __init__(self, path: Path, identity: Identity) -> None:
        """Open or create a store and lock it.

        Raises:
            InputError: another run is writing it, it belongs to another identity, or it is damaged.
            OutputError: it cannot be created or written.
        """
        super().__init__()
        self.path, self.identity, self.file = path, identity, path.name
        self._file = GrowingFile(
            path,
            busy="another run is writing this store; wait for it to end, or give this run its own "
            "with `cache=DIR`",
            lost="the replies before this one are kept. Make room and run the same command again",
        )
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, *error: object) -> None:
        """Close the file, which releases the lock, and delete a store without replies."""
        self._file.close(remove=self._file.size == len(_head(self.identity)))

    def append_record(self, stored: StoredReply) -> None:
        """Add a reply from another store of the same identity; see `append`."""
        checked = _stored(self.path, 0, self.identity, stored.record)
        if isinstance(checked, str):
            raise InputError(f"{self.path}: a record cannot be stored here: {checked}")
        self._file.append(_line(stored.record))
        super().append_record(stored)

    def _load(self) -> None:
        """Read the store; cut off the tail of a crash, and set aside lines that cannot be read."""
        size = self._file.size
        if size and not self._headless(size):
            lines = read_store(self.path)
            if (theirs := lines.identity) != (ours := self.identity):
                raise InputError(
                    f"{self.path}: contains replies of {theirs.model} to {theirs.prompt}, not of "
                    f"{ours.model} to {ours.prompt}; move it away"
                )
            if lines.sound < size:
                tail = self.path.read_bytes()[lines.sound :]
                # Whole lines were not left by a crash.
                if (whole := tail[: tail.rfind(b"\n") + 1]).strip(b"\0 \n"):
                    append(self.path.with_suffix(ASIDE), whole)
                self._file.cut(lines.sound)
                self.cut = size - lines.sound
            if lines.damaged:
                self._set_aside(lines.damaged)
            for record in lines.records:
                super().append_record(record)
            return
        self._file.append(_head(self.identity))

    def _set_aside(self, damaged: list[StoreDamage]) -> None:
        """Move lines that cannot be read to a separate file, and replace them by blanks."""
        side = self.path.with_suffix(ASIDE)
        data = self.path.read_bytes()
        try:
            # The lines are on disk in that file before they are removed from the store.
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
        """Cut off an incomplete head line that a crash left; return whether there was one."""
        data = self.path.read_bytes()
        if b"\n" in data or not _line({"format": STORE_FORMAT})[:12].startswith(data[:12]):
            return False
        self._file.cut(0)
        self.cut = size
        return True

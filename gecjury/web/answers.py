"""Answers of annotators on disk: a journal that only grows, and the CSV file that is made of it.

Every answer, skip and withdrawal is one line of JSON, appended and synchronised before anybody is
told that it is saved. The CSV file is written anew after each, whole or not at all, so that it can
be read at any time. If it cannot be written, the answers are kept in the journal all the same, and
the next answer or the next start writes it. A line that was cut off by a power failure is removed,
and told, when the journal is opened again.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gecjury.errors import InputError, OutputError
from gecjury.textfiles import MOST_BYTES, lock, parse_json, read_bytes, read_text, write_text
from gecjury.web import Task
from gecjury.web.guards import Refused
from gecjury.web.tasks import ASPECTS

FORMAT = "gecjury-answers/1"

COLUMNS: Mapping[Task, tuple[str, ...]] = {
    "rank": ("sentence", "system", "rank", "annotator", "item"),
    "rate": ("sentence", "system", "score", "annotator", "aspect"),
    "edits": ("sentence", "system", "start", "end", "correction", "valid", "annotator"),
}
"""Of the CSV file, by task; the first two are forms that `compare` reads."""

_EXPECTED = "one answer a line, as `gecjury annotate` writes them"


@dataclass(frozen=True)
class Answer:
    """What one annotator said of one item.

    Attributes:
        key: made by the page, so that an answer that is sent twice is one.
        annotator: who.
        item: of the task.
        sentence: line of the source, from 1.
        systems: of each correction shown those that made it.
        values: ranks, ratings (in the order of `ASPECTS`) or verdicts (1 right, 0 wrong).
        edits: start, end and correction of each edit judged.
        comment: of the annotator; stays in the journal.
        seconds: since the page was shown; 0 where that is not known.
        time: when it came, UTC.
    """

    key: str
    annotator: str
    item: str
    sentence: int
    systems: tuple[tuple[str, ...], ...]
    values: tuple[int, ...]
    edits: tuple[tuple[int, int, str], ...] = ()
    comment: str = ""
    seconds: float = 0.0
    time: str = ""

    def rows(self, task: Task) -> list[tuple[object, ...]]:
        """Its rows of the CSV file, every system with what was said of its text."""
        if task == "rank":
            return [
                (self.sentence, name, rank, self.annotator, self.item)
                for names, rank in zip(self.systems, self.values, strict=True)
                for name in names
            ]
        (names,) = self.systems
        if task == "rate":
            return [
                (self.sentence, name, value, self.annotator, aspect)
                for name in names
                for aspect, value in zip(ASPECTS, self.values, strict=True)
            ]
        return [
            (self.sentence, name, *edit, value, self.annotator)
            for name in names
            for edit, value in zip(self.edits, self.values, strict=True)
        ]

    def record(self) -> dict[str, Any]:
        """As a line of the journal."""
        found = {"answer": self.key, **{k: v for k, v in vars(self).items() if k != "key"}}
        return {key: value for key, value in found.items() if value not in ("", (), 0.0)}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Answer:
        """Return the answer in a line of the journal.

        Raises:
            AttributeError, KeyError, OverflowError, TypeError, ValueError: it holds none.
        """
        systems = tuple(tuple(map(_text, names)) for names in record["systems"])
        edits = tuple((_whole(a), _whole(b), _text(c)) for a, b, c in record.get("edits", ()))
        values = tuple(_whole(value) for value in record["values"])
        if len(values) != (len(edits) or (len(systems) if len(systems) > 1 else len(ASPECTS))):
            raise ValueError("values")
        return cls(
            _text(record["answer"]),
            _text(record["annotator"]),
            _text(record["item"]),
            _whole(record["sentence"]),
            systems,
            values,
            edits,
            _text(record.get("comment", "")),
            float(record.get("seconds", 0.0)),
            _text(record.get("time", "")),
        )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError("no whole number")
    return value


@dataclass
class Progress:
    """Where one annotator stands.

    Attributes:
        answers: by item, in the order in which they came.
        skipped: items that were set aside, in order.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    skipped: dict[str, None] = field(default_factory=dict)


def journal_path(output: Path) -> Path:
    """The journal of a CSV file: beside it, `judgments.answers.jsonl`."""
    return output.with_name(f"{output.stem}.answers.jsonl")


class Journal:
    """All answers of a study; one process at a time writes them.

    Attributes:
        output: the CSV file.
        path: the journal itself.
        task: what is asked.
        people: the progress of each annotator, by name.
        behind: why the last answers are not in the CSV file, such as "No space left on device";
            "" where they are.
    """

    def __init__(self, output: Path, about: Mapping[str, Any], tell: Callable[[str], None]) -> None:
        """Open or begin a journal, and bring its CSV file up to date.

        Args:
            output: the CSV file.
            about: task, settings, and fingerprints of what is judged; a journal of others is
                refused.
            tell: is told what was found and mended.

        Raises:
            InputError: the journal is of another study or damaged, or the CSV file is not what it
                says.
            OutputError: another process writes it, or it cannot be written.
        """
        self.output, self.path = output, journal_path(output)
        self.task: Task = about["task"]
        self._systems = frozenset(about["systems"])
        self.people: dict[str, Progress] = {}
        self.behind = ""
        self._made: dict[tuple[str, str], tuple[Answer, str]] = {}
        self._tell = tell
        if self.path.exists() and not self.path.is_file():
            # Opening a pipe would wait for somebody who reads it.
            raise OutputError(
                f"{self.path}: cannot be written (it is no file); move it away, or give another -o"
            )
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self.path.open("ab")
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror})") from None
        held = lock(self._file, wait=False)
        if held is None:
            self._file.close()
            raise OutputError(
                f"{self.path}: another `gecjury annotate` is writing it; go to its page, end it, "
                "or give another -o"
            )
        self._held = held
        try:
            self._open(about)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the files; everything is on disk already."""
        self._held.close()
        self._file.close()

    def _open(self, about: Mapping[str, Any]) -> None:
        header = {"format": FORMAT, **about}
        data = read_bytes(self.path, most=MOST_BYTES) if self.path.stat().st_size else b""
        whole = data[: data.rfind(b"\n") + 1]
        torn = len(data) - len(whole)
        if torn:
            self._cut(len(whole))
        self._size = len(whole)
        records: list[Any] = []
        if whole:
            records = self._read(whole, header)
        elif self.output.exists():
            raise InputError(
                f"{self.output}: exists, and there is no {self.path.name} beside it with the "
                "answers that it was made of; give another -o, or move the file away"
            )
        else:
            self._append(header)
            _sync_folder(self.path.parent)
        if torn:
            self._tell(
                f"{self.path}: its last line was cut off ({torn} bytes of an answer that was never "
                "told to be saved) and is removed"
            )
        self._check_output(records)
        self._write_output()

    def _read(self, data: bytes, header: Mapping[str, Any]) -> list[Any]:
        """Take over what a journal says, and return its lines without the header."""
        try:
            lines = data.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError:
            raise InputError(f"{self.path}: is not UTF-8; expected {_EXPECTED}") from None
        self._check_header(parse_json(lines[0], f"{self.path}, line 1", _EXPECTED), header)
        records = []
        for number, line in enumerate(lines[1:], 2):
            where = f"{self.path}, line {number}"
            records.append(parse_json(line, where, _EXPECTED))
            try:
                self._take(records[-1])
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
                raise InputError(
                    f"{where}: is no answer; expected {_EXPECTED}: take the line out, or go on "
                    "from a copy of the file that is sound"
                ) from None
        return records

    def _check_header(self, found: Any, wanted: Mapping[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"{self.path}: holds no answers; expected {_EXPECTED}")
        words = {
            "task": "--task {}",
            "sets_of": "--sets-of {}",
            "edits": "edits {}",
            "seed": "--seed {}",
            "language": "language {} (--lang, --tokens, --fold)",
        }
        for key, words_of in words.items():
            if found.get(key) != wanted[key]:
                raise InputError(
                    f"{self.path}: was begun with {words_of.format(found.get(key))}, not "
                    f"{words_of.format(wanted[key])}; go on as it was begun, or give another -o"
                )
        if found.get("source") != wanted["source"]:
            raise InputError(
                f"{self.path}: was begun with other sources; the source file has changed since, or "
                "is another one: give the one it was begun with, or another -o"
            )
        if found.get("systems") != wanted["systems"]:
            known = found.get("systems")
            known = known if isinstance(known, dict) else {}
            names = {*known, *wanted["systems"]}
            differ = sorted(n for n in names if known.get(n) != wanted["systems"].get(n))
            raise InputError(
                f"{self.path}: was begun with other outputs ({', '.join(differ)[:300]} differ): "
                "give those it was begun with, or another -o"
            )

    def _take(self, record: Mapping[str, Any]) -> None:
        """Let one line change what is known."""
        person = self.people.setdefault(_text(record["annotator"]), Progress())
        if "answer" in record:
            given = Answer.of(record)
            given.rows(self.task)  # what does not fit the task is no answer
            if not self._systems.issuperset(name for names in given.systems for name in names):
                raise ValueError("systems")
            person.answers.pop(given.item, None)
            person.skipped.pop(given.item, None)
            person.answers[given.item] = given
        elif "undo" in record:
            del person.answers[_text(record["undo"])]
        elif "skip" in record:
            person.skipped[_text(record["skip"])] = None
        elif "again" in record:
            person.skipped.clear()
        else:
            raise ValueError("kind")

    def save(self, answer: Answer) -> None:
        """Keep an answer; the same sent twice is kept once, another one of its page replaces it.

        Raises:
            Refused: the annotator has answered the item on another page, or files have changed.
            OutputError: the journal cannot be written, and nothing of the answer was. (Where only
                the CSV file cannot be written, see `behind`.)
        """
        known = self.people.get(answer.annotator, Progress()).answers.get(answer.item)
        if known is not None and known.key != answer.key:
            raise Refused(
                f"{answer.annotator} has answered this one already, in another window; load the "
                "page again to go on",
                409,
                "done",
            )
        if known is not None and (known.values, known.comment) == (answer.values, answer.comment):
            return
        self._keep(answer.record())

    def skip(self, annotator: str, item: str, time: str) -> None:
        """Set an item aside."""
        if item not in self.people.get(annotator, Progress()).skipped:
            self._keep({"skip": item, "annotator": annotator, "time": time})

    def undo(self, annotator: str, time: str) -> Answer | None:
        """Take back an annotator's last answer; None where there is none."""
        answers = self.people.get(annotator, Progress()).answers
        if not answers:
            return None
        last = next(reversed(answers.values()))
        self._keep({"undo": last.item, "annotator": annotator, "time": time})
        return last

    def again(self, annotator: str, time: str) -> None:
        """Ask an annotator again what was set aside."""
        self._keep({"again": True, "annotator": annotator, "time": time})

    def _keep(self, record: Mapping[str, Any]) -> None:
        self._check_underneath()
        self._append(record)
        self._take(record)
        try:
            self._write_output()
        except OutputError as error:
            # The answer is on disk: the file is made of the journal, and follows once it can.
            self.behind = str(error)

    def _append(self, record: Mapping[str, Any]) -> None:
        data = (json.dumps(record, ensure_ascii=True) + "\n").encode()
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file.fileno(), view) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # A full disk may have taken half a line.
            with contextlib.suppress(OSError, OutputError):
                self._cut(self._size)
            raise OutputError(
                f"{self.path}: cannot be written ({error.strerror}); the answer is not saved"
            ) from None
        self._size += len(data)

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._file.fileno(), size)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror})") from None

    def _check_underneath(self) -> None:
        """Refuse to write where somebody else has."""
        mine = os.fstat(self._file.fileno())
        try:
            there = self.path.stat()
            same = (there.st_ino, there.st_dev) == (mine.st_ino, mine.st_dev)
        except OSError:
            same = False
        if not same or mine.st_size != self._size:
            raise Refused(
                f"{self.path.name} was changed or moved by another program: nothing more is "
                "written. End the program, see what became of the file, and start it again",
                409,
                "changed",
            )
        if _mark(self.output) != self._mark:
            raise Refused(
                f"{self.output.name} was changed by another program, and would be overwritten: "
                "nothing more is written. Move it away, end the program and start it again (the "
                "answers so far are kept)",
                409,
                "changed",
            )

    def _check_output(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a CSV file that somebody has changed; one that lags behind is brought up."""
        if not self.output.exists():
            return
        there = read_text(self.output)
        if there and not self.csv().startswith(there) and not self._was(there, records):
            raise InputError(
                f"{self.output}: is not what the answers in {self.path.name} make, so somebody has "
                "changed it; move it away to have it written anew, or give another -o"
            )

    def _was(self, text: str, records: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the CSV file was this text after one of the journal's lines.

        A full disk or a kill may have kept the file from following any number of lines, which
        change and withdraw answers as well as add some.
        """
        people, self.people = self.people, {}
        try:
            for record in records:
                if self.csv() == text:
                    return True
                self._take(record)
            return False
        finally:
            self.people = people

    def csv(self) -> str:
        """The CSV file: of every annotator the answers that stand, in the order they came."""
        answers = [a for person in self.people.values() for a in person.answers.values()]
        lines = [self._lines(answer) for answer in sorted(answers, key=lambda a: a.time)]
        return _csv([COLUMNS[self.task]]) + "".join(lines)

    def _lines(self, answer: Answer) -> str:
        """An answer's lines of the CSV file, made once."""
        known, text = self._made.get((answer.annotator, answer.item), (None, ""))
        if known is not answer:
            text = _csv(answer.rows(self.task))
            self._made[answer.annotator, answer.item] = answer, text
        return text

    def _write_output(self) -> None:
        try:
            write_text(self.output, self.csv())
            self.behind = ""
        finally:
            self._mark = _mark(self.output)

    def answers(self) -> Sequence[Answer]:
        """The answers that stand, annotator by annotator."""
        return [a for person in self.people.values() for a in person.answers.values()]


def _csv(rows: Sequence[Sequence[object]]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What tells that a file was changed; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _sync_folder(folder: Path) -> None:
    """Make a new file's name last as well, on systems that can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

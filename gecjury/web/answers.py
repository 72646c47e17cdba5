"""Answers of annotators on disk: an append-only journal, and the CSV file generated from it.

Every answer, skip and withdrawal is one line of JSON, which is appended and synchronised before it
is reported as saved. The CSV file is rewritten atomically after each, so that it can be read at any
time. If it cannot be written, the answers are still kept in the journal, and the next answer or the
next start writes the file. A line that was cut off by a power failure is removed, and reported,
when the journal is opened again.
"""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from gecjury.core.durable import GrowingFile, write_text
from gecjury.core.errors import InputError, OutputError
from gecjury.core.records import from_record
from gecjury.core.textfiles import JsonValue, parse_json, read_text
from gecjury.web import AnnotationTask
from gecjury.web.guards import RequestRefused, changed
from gecjury.web.tasks import ASPECTS

COLUMNS: Mapping[AnnotationTask, tuple[str, ...]] = {
    "rank": ("sentence", "system", "rank", "annotator", "item"),
    "rate": ("sentence", "system", "score", "annotator", "aspect"),
    "edits": ("sentence", "system", "start", "end", "correction", "valid", "annotator"),
}
"""Columns of the CSV file, by task; `compare` reads the first two formats."""

_EXPECTED = "one answer per line, as `gecjury annotate` writes them"


@dataclass(frozen=True, kw_only=True)
class StudyHead:
    """The first line of a journal: what is judged, and how.

    Attributes:
        seed: seed of all random choices.
        language: code, tokens and folding of the texts.
        systems: fingerprint of each system's output.
    """

    format: Literal["gecjury-answers/1"] = "gecjury-answers/1"
    task: AnnotationTask
    seed: int
    language: str
    source: str
    systems: Mapping[str, str]


@dataclass(frozen=True)
class ItemAnswer:
    """The answer of one annotator on one item.

    Attributes:
        answer: key created by the page, so that an answer that is sent twice is saved once.
        sentence: line of the source, from 1.
        systems: for each correction shown, the systems that made it.
        values: ranks, ratings (in the order of `ASPECTS`) or verdicts (1 right, 0 wrong).
        edits: start, end and correction of each judged edit.
        comment: comment of the annotator; it is kept only in the journal.
        seconds: time since the page was shown; 0 if not known.
        time: time of arrival, UTC.
    """

    answer: str
    annotator: str
    item: str
    sentence: int
    systems: tuple[tuple[str, ...], ...]
    values: tuple[int, ...]
    edits: tuple[tuple[int, int, str], ...] = ()
    comment: str = ""
    seconds: float = 0.0
    time: str = ""

    def rows(self, task: AnnotationTask) -> list[tuple[object, ...]]:
        """Return its rows of the CSV file: every system with the judgments of its text."""
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

    def __post_init__(self) -> None:
        """Check the number of values.

        Raises:
            ValueError: there are more or fewer than the item has questions.
        """
        # A set has one rank per correction; a single correction has its edits or the aspects.
        asked = len(self.edits) or (len(self.systems) if len(self.systems) > 1 else len(ASPECTS))
        if len(self.values) != asked:
            raise ValueError(f"{len(self.values)} values; expected {asked}")


@dataclass(frozen=True)
class _AnswerStep:
    """A line of the journal that is not an answer.

    Attributes:
        undo: the item whose answer is taken back.
        skip: the item that is set aside.
        again: whether the items that were set aside are asked again.
        time: time of the step, UTC.
    """

    annotator: str
    undo: str = ""
    skip: str = ""
    again: bool = False
    time: str = ""


def _record(line: ItemAnswer | _AnswerStep) -> dict[str, object]:
    """Return a line of the journal: its fields that differ from the defaults."""
    return {k: v for k, v in vars(line).items() if k == "answer" or v not in ("", (), 0)}


@dataclass
class AnnotatorState:
    """The progress of one annotator.

    Attributes:
        answers: answers by item, in the order in which they were given.
        skipped: items that were set aside, in order.
    """

    answers: dict[str, ItemAnswer] = field(default_factory=dict)
    skipped: dict[str, None] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The median time per answer; NaN if no time is known."""
        times = [answer.seconds for answer in self.answers.values() if answer.seconds]
        return statistics.median(times) if times else math.nan


def journal_path(output: Path) -> Path:
    """Return the path of the journal next to a CSV file, such as `judgments.answers.jsonl`."""
    return output.with_name(f"{output.stem}.answers.jsonl")


class Journal:
    """All answers of a study; one process at a time writes them.

    Attributes:
        output: the CSV file.
        path: the journal itself.
        people: the progress of each annotator, by name.
        behind: why the last answers are not in the CSV file, such as "No space left on device";
            "" if they are.
    """

    def __init__(self, output: Path, head: StudyHead, tell: Callable[[str], None]) -> None:
        """Open or create a journal, and bring its CSV file up to date.

        Args:
            output: the CSV file.
            head: task, settings, and fingerprints of what is judged; a journal with a different
                head is refused.
            tell: called with messages about repairs.

        Raises:
            InputError: the journal belongs to another study or is damaged, or the CSV file does not
                match it.
            OutputError: another process writes it, or it cannot be written.
        """
        self.output, self.path = output, journal_path(output)
        self.task: AnnotationTask = head.task
        self._systems = frozenset(head.systems)
        self.people: dict[str, AnnotatorState] = {}
        self.behind = ""
        self._made: dict[tuple[str, str], tuple[ItemAnswer, str]] = {}
        self._tell = tell
        self._file = GrowingFile(
            self.path,
            busy="another `gecjury annotate` is writing it; use its page, stop it, or give another "
            "-o",
            lost="the answer is not saved",
        )
        try:
            self._open(head)
        except BaseException:
            self.close()
            raise

    def person(self, name: str) -> AnnotatorState:
        """Return an annotator's progress; it is empty for one who has not begun."""
        return self.people.get(name, AnnotatorState())

    def close(self) -> None:
        """Close the files; everything is already on disk."""
        self._file.close()

    def _open(self, head: StudyHead) -> None:
        # A line is on disk only with its line end; a rest without one was never reported as saved.
        whole = self.path.read_bytes().rfind(b"\n") + 1
        torn = self._file.size - whole
        if torn:
            self._file.cut(whole)
        records: list[JsonValue] = []
        if whole:
            records = self._read(read_text(self.path).split("\n")[:-1], head)
        elif self.output.exists():
            raise InputError(
                f"{self.output}: the file exists, but {self.path.name} with its answers is not "
                "next to it; give another -o, or move the file away"
            )
        else:
            self._append(asdict(head))
        # Reported only now, after a journal of another study has been refused.
        if torn:
            self._tell(
                f"{self.path}: the last line was cut off ({torn} bytes of an answer that was never "
                "reported as saved) and has been removed"
            )
        self._check_output(records)
        self._write_output()

    def _append(self, record: Mapping[str, object]) -> None:
        self._file.append((json.dumps(record) + "\n").encode())

    def _read(self, lines: Sequence[str], head: StudyHead) -> list[JsonValue]:
        """Apply the lines of a journal, and return them without the head."""
        # The head is checked first, so that another study's answers are not reported as damage.
        self._check_head(parse_json(lines[0], f"{self.path}, line 1", _EXPECTED), head)
        records = []
        for number, line in enumerate(lines[1:], 2):
            where = f"{self.path}, line {number}"
            records.append(parse_json(line, where, _EXPECTED))
            try:
                self._take(records[-1])
            except (LookupError, ValueError) as error:
                raise InputError(
                    f"{where}: not a valid answer ({error!s:.100}); expected {_EXPECTED}: remove "
                    "the line, or continue with an intact copy of the file"
                ) from None
        return records

    def _check_head(self, record: object, wanted: StudyHead) -> None:
        """Refuse to continue a journal of another study or with other settings."""
        try:
            begun = from_record(StudyHead, record)
        except ValueError as error:
            raise InputError(
                f"{self.path}: not a file of answers ({error}); expected {_EXPECTED}"
            ) from None
        outputs = begun.systems.items() ^ wanted.systems.items()
        differ = ", ".join(sorted({name for name, _ in outputs}))
        for key, words in {
            "task": "--task {}",
            "seed": "--seed {}",
            "language": "language {} (--lang, --tokens, --fold)",
            "source": "other sources",
            "systems": f"other outputs ({differ:.300} differ)",
        }.items():
            then, now = getattr(begun, key), getattr(wanted, key)
            if then != now:
                instead = f", not {words.format(now)}" if "{}" in words else ""
                raise InputError(
                    f"{self.path}: was begun with {words.format(then)}{instead}; continue with "
                    "the same options and files, or give another -o"
                )

    def _take(self, record: Mapping[str, object]) -> None:
        """Apply one line to the state.

        Raises:
            LookupError, ValueError: it is not a line of a journal of this study.
        """
        # Every line has its annotator.
        step = from_record(_AnswerStep, record)
        person = self.people.setdefault(step.annotator, AnnotatorState())
        if "answer" in record:
            answer = from_record(ItemAnswer, record)
            answer.rows(self.task)  # raises if the answer does not fit the task
            if not self._systems.issuperset(name for names in answer.systems for name in names):
                raise ValueError("unknown systems")
            # A new answer to an item moves to the end: `undo` takes back the last answer.
            person.answers.pop(answer.item, None)
            person.skipped.pop(answer.item, None)
            person.answers[answer.item] = answer
        elif step.undo:
            del person.answers[step.undo]
        elif step.skip:
            person.skipped[step.skip] = None
        elif step.again:
            person.skipped.clear()
        else:
            raise ValueError("it is neither an answer nor a step")

    def save(self, answer: ItemAnswer) -> None:
        """Save an answer.

        An answer that is sent twice is saved once; a different one from the same page replaces it.

        Raises:
            Refused: the annotator has answered the item on another page, or files have changed.
            OutputError: the journal cannot be written, and no part of the answer was saved. (If
                only the CSV file cannot be written, see `behind`.)
        """
        before = self.person(answer.annotator).answers.get(answer.item)
        if before is not None and before.answer != answer.answer:
            said = f"{answer.annotator} has already answered this item in another window"
            raise RequestRefused(f"{said}; reload the page to continue", 409, "done")
        if before is None or (before.values, before.comment) != (answer.values, answer.comment):
            self._keep(answer)

    def skip(self, annotator: str, item: str, time: str) -> None:
        """Set an item aside."""
        if item not in self.person(annotator).skipped:
            self._keep(_AnswerStep(annotator, skip=item, time=time))

    def undo(self, annotator: str, time: str) -> ItemAnswer | None:
        """Take back an annotator's last answer and return it; None if there is none."""
        answers = self.person(annotator).answers
        if not answers:
            return None
        last = next(reversed(answers.values()))
        self._keep(_AnswerStep(annotator, undo=last.item, time=time))
        return last

    def again(self, annotator: str, time: str) -> None:
        """Ask an annotator again about the items that were set aside."""
        self._keep(_AnswerStep(annotator, again=True, time=time))

    def _keep(self, line: ItemAnswer | _AnswerStep) -> None:
        # Files that another program has changed are not written.
        if not self._file.is_untouched():
            raise changed(self.path, "Check the file, and start the program again")
        if file_mark(self.output) != self._mark:
            raise changed(self.output, "Move the file away, and start the program again")
        record = _record(line)
        self._append(record)
        self._take(record)
        try:
            self._write_output()
        except OutputError as error:
            # The answer is on disk in the journal; the CSV file follows as soon as possible.
            self.behind = str(error)

    def _check_output(self, records: Sequence[Mapping[str, object]]) -> None:
        """Refuse a CSV file that was changed by hand; one that is only out of date is accepted."""
        if not self.output.exists():
            return
        # A crash may leave an empty file or the beginning of the present one.
        there = read_text(self.output)
        if there and not self.csv().startswith(there) and not self._was(there, records):
            raise InputError(
                f"{self.output}: does not match the answers in {self.path.name}, so it has been "
                "changed; move it away to have it written again, or give another -o"
            )

    def _was(self, text: str, records: Sequence[Mapping[str, object]]) -> bool:
        """Return True if the CSV file had this text after one of the journal's lines.

        After a full disk or a killed process the file may be behind by any number of lines, which
        may have added, changed or withdrawn answers.
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
        """Return the CSV file: all answers that were not taken back, in the order of arrival."""
        parts = [_csv([COLUMNS[self.task]])]
        for answer in sorted(self.answers(), key=lambda answer: answer.time):
            # The file is rewritten for each answer, so the lines of an answer are cached.
            made, text = self._made.get((answer.annotator, answer.item), (None, ""))
            if made is not answer:
                text = _csv(answer.rows(self.task))
                self._made[answer.annotator, answer.item] = answer, text
            parts.append(text)
        return "".join(parts)

    def _write_output(self) -> None:
        try:
            write_text(self.output, self.csv(), follow=True)
            self.behind = ""
        finally:
            self._mark = file_mark(self.output)

    def answers(self) -> Sequence[ItemAnswer]:
        """Return the answers that were not taken back, annotator by annotator."""
        return [a for person in self.people.values() for a in person.answers.values()]


def _csv(rows: Sequence[Sequence[object]]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


def file_mark(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes with the file; None if there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns

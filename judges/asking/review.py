"""Stored replies for browsing: filtered, sorted and searched, next to people's verdicts.

Files are read once, line by line. Only some numbers and the compressed texts of each reply stay in
memory; the rest is read from the file when the reply is shown.
"""

from __future__ import annotations

import threading
import zlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from gecjury.core.errors import GecjuryError, InputError
from gecjury.judges.asking.exchange import Reply
from gecjury.judges.asking.items import (
    Judged,
    Wordings,
    check_question,
    question_of,
    verdict_of,
)
from gecjury.judges.asking.people import Human, People, edit_key, text_key
from gecjury.judges.asking.store import Damage, Identity, StoredLine, record_at, stored_lines
from gecjury.judges.replies.reply import Failure, read_reason
from gecjury.prompts import Prompt

Sort = Literal["line", "people", "flips", "low", "high"]
"""Orders of replies: by line, by pairs against people, by flipped pairs, or by mean score."""

_WHOLE = 2_000_000  # characters of a reason; the page shows a part, and the rest on request
_CHUNK = 256  # replies whose texts are compressed together
_FIELDS = "\0"
_ROWS = "\n"


@dataclass(slots=True)
class _Row:
    """The numbers of one reply, with hashes instead of its texts."""

    file: int
    line: int
    start: int
    end: int
    store: int
    repeat: int = 0
    scores: tuple[float, ...] = ()
    failure: str = ""
    source: int = 0
    context: int = 0
    texts: tuple[int, ...] = ()
    edit: int = 0
    shows_edits: bool = False
    again: int = -1
    others: tuple[int, ...] = ()
    flips: int = 0
    decided: int = 0
    against: int = 0

    @property
    def top(self) -> int:
        """The position of the only highest score, from 1; 0 where several share it."""
        best = max(self.scores, default=0.0)
        return self.scores.index(best) + 1 if self.scores.count(best) == 1 else 0


@dataclass(frozen=True, kw_only=True)
class ReviewedReply:
    """One stored reply, with everything that is shown about it.

    Attributes:
        number: of the reply in the review, from 0.
        file: name of its file.
        line: its line there, from 1.
        identity: backend, model, server and prompt.
        judged: the texts that were judged; None if they cannot be identified.
        problem: why they cannot be identified; empty otherwise.
        question: the message that was sent.
        answer: the reply as it is.
        reason: the reason in the reply; empty without one.
        scores: one per correction; empty if the reply could not be read.
        failure: why it could not be read: kind and detail; empty otherwise.
        people: one per correction; empty without a benchmark, or if it does not have the source.
        decided: pairs of corrections that people decided.
        against: how many of them the scores contradict.
        flips: pairs of corrections whose preference was reversed in another order.
        others: numbers of the replies about the same corrections in another order.
        again: number of the next reply to the same question, if it was asked again; -1 otherwise.
        repeat: number of the repetition, from 0.
        sampling: settings of sampling, including those of a retry.
        tokens: tokens read and written.
        finish: why the model stopped.
    """

    number: int
    file: str
    line: int
    identity: Identity
    judged: Judged | None
    problem: str
    question: str
    answer: str
    reason: str
    scores: tuple[float, ...]
    failure: str
    people: tuple[Human, ...]
    decided: int
    against: int
    flips: int
    others: tuple[int, ...]
    again: int
    repeat: int
    sampling: Mapping[str, Any]
    tokens: tuple[int, int]
    finish: str


class Review:
    """The replies in some files, and people's verdicts on the same corrections.

    Attributes:
        stores: identities, in the order of the files.
        share: share of the files that has been read, 0 to 1.
        done: whether all files have been read, so that flips and disagreements are complete.
        damaged: lines that cannot be read, as `FILE, line N`.
        unread: number of replies whose texts cannot be identified.
        problem: why reading ended early; empty otherwise.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        people: People | None = None,
        prompts: Iterable[Prompt] = (),
    ) -> None:
        """Set the files, which `read` reads.

        Args:
            paths: paths of stores, see `find_stores`.
            people: people's verdicts.
            prompts: wordings that are not packaged.
        """
        self._paths = list(paths)
        self._people = people
        self._wordings = Wordings(prompts)
        self._rows: list[_Row] = []
        self._packed: list[bytes] = []
        self._waiting: list[str] = []
        self._may_read = threading.Event()
        self._may_read.set()
        self._last: dict[tuple[int, str], int] = {}  # by question, its last reply
        self._chosen: tuple[tuple[Any, ...], list[int]] | None = None
        self.stores: list[Identity] = []
        self.share = 0.0
        self.done = False
        self.damaged: list[str] = []
        self.unread = 0
        self.problem = ""

    def __len__(self) -> int:
        """Return how many replies are read so far."""
        return len(self._rows)

    @property
    def summary(self) -> str:
        """How many replies were read, and what could not be read."""
        parts = [f"{len(self):,} {'reply' if len(self) == 1 else 'replies'} read"]
        if unread := sum(self.failures().values()):
            parts.append(f"{unread:,} without a verdict")
        if self.damaged:
            lines = "line" if len(self.damaged) == 1 else "lines"
            parts.append(f"{len(self.damaged)} damaged {lines} left out ({self.damaged[0]})")
        return ", ".join(parts) + (f"; stopped: {self.problem}" if self.problem else "")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause `read`, which runs in another thread, so that a page is served first."""
        self._may_read.clear()
        try:
            yield
        finally:
            self._may_read.set()

    def read(self) -> None:
        """Read all files; `problem` says what ended this early, if anything did."""
        try:
            sizes = [path.stat().st_size for path in self._paths]
            for file, path in enumerate(self._paths):
                before = sum(sizes[:file])
                for line in stored_lines(path):
                    self._may_read.wait()
                    self.share = (before + line.end) / max(sum(sizes), 1)
                    self._take(file, line)
            self._settle()
        except (GecjuryError, OSError) as error:
            self.problem = str(error)
        finally:
            self.share, self.done = 1.0, True

    def _take(self, file: int, line: StoredLine | Damage) -> None:
        """Record a line: the number of a damaged line, or the store or reply of a sound one."""
        if isinstance(line, Damage):
            self.damaged.append(f"{self._paths[file].name}, line {line.line}")
        elif line.record is None:
            self.stores.append(line.identity)
        else:
            try:
                self._add(file, line, line.record)
            except ValueError:
                self.damaged.append(f"{self._paths[file].name}, line {line.line}")
                return
            key = len(self.stores), str(line.record["key"])
            last = len(self._rows) - 1
            if key in self._last:
                self._rows[self._last[key]].again = last
            self._last[key] = last

    def _add(self, file: int, line: StoredLine, record: Mapping[str, Any]) -> None:
        """Record the numbers of a reply, and compress its texts."""
        check_question(record)
        row = _Row(file, line.line, line.start, line.end, len(self.stores) - 1)
        row.repeat = int(record["parts"]["repeat"])
        texts = [str(record["reply"]["text"])]
        try:
            judged = self._wordings.judged(record)
        except ValueError:
            # The wording is the user's own: only the whole message can be searched and shown.
            self.unread += 1
            texts.append(question_of(record["parts"]["messages"]))
            kept = record.get("read")
            row.failure = str(kept.get("failure") or "") if isinstance(kept, dict) else ""
        else:
            texts += [judged.source, *(judged.context or ()), *judged.shown, judged.edit]
            verdict = verdict_of(record, judged)
            if isinstance(verdict, Failure):
                row.failure = verdict.kind
            else:
                row.scores = tuple(verdict)
            row.source = text_key(judged.source)
            row.context = hash(judged.context)
            row.texts = tuple(map(text_key, judged.corrections))
            row.edit = edit_key(judged.edit)
            row.shows_edits = judged.shows_edits
        self._waiting.append(_FIELDS.join(" ".join(text.lower().split()) for text in texts))
        self._rows.append(row)
        if len(self._waiting) == _CHUNK:
            packed = _ROWS.join(self._waiting).encode("utf-8", "surrogatepass")
            self._packed.append(zlib.compress(packed, 1))
            self._waiting = []

    def _settle(self) -> None:
        """Compare replies with each other and with people, once all are read."""
        orders: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        alone: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
        for number, row in enumerate(self._rows):
            if len(row.texts) > 1:
                key = row.store, row.source, row.context, row.repeat, frozenset(row.texts)
                orders[key].append(number)
            elif row.scores and not row.edit:
                # Corrections judged one by one are compared with the others of their source.
                alone[row.store, row.source, row.context, row.repeat][row.texts[0]] = row.scores[0]
        for numbers in orders.values():
            for number in numbers:
                self._flips(number, numbers)
        for row in self._rows:
            row.decided, row.against = self._contradictions(row, alone)

    def _contradictions(
        self, row: _Row, alone: Mapping[tuple[Any, ...], Mapping[int, float]]
    ) -> tuple[int, int]:
        """Return how many pairs people decided, and how many of them the scores contradict."""
        people = self._people
        if people is None or not row.scores:
            return 0, 0
        if row.edit:
            verdicts = people.edit(row.source, row.texts[0], row.edit)
            lead = verdicts[True] - verdicts[False]
            return int(lead != 0), int(lead * (row.scores[0] - 0.5) < 0)
        scores: Mapping[int, float] = dict(zip(row.texts, row.scores, strict=True))
        pairs: Iterable[tuple[int, int]] = combinations(scores, 2)
        if len(row.texts) == 1:
            scores = alone[row.store, row.source, row.context, row.repeat]
            pairs = ((row.texts[0], other) for other in scores if other != row.texts[0])
        wins = people.wins(row.source, shows_edits=row.shows_edits)
        decided = against = 0
        for a, b in pairs:
            lead = wins.get((a, b), 0) - wins.get((b, a), 0)
            decided += lead != 0
            against += lead * (scores[a] - scores[b]) < 0
        return decided, against

    def _flips(self, number: int, numbers: Sequence[int]) -> None:
        row = self._rows[number]
        others = [n for n in numbers if self._rows[n].texts != row.texts]
        row.others = tuple(others)
        flipped = set()
        mine = dict(zip(row.texts, row.scores, strict=False))
        for other in (self._rows[n] for n in others):
            theirs = dict(zip(other.texts, other.scores, strict=False))
            for a, b in combinations(sorted(mine.keys() & theirs.keys()), 2):
                if (mine[a] - mine[b]) * (theirs[a] - theirs[b]) < 0:
                    flipped.add((a, b))
        row.flips = len(flipped)

    def at(self, file: str, line: int) -> int:
        """Return the number of the reply in a line of a file; an empty name is the first file.

        Raises:
            InputError: the line has no reply.
        """
        names = [path.name for path in self._paths]
        place = names.index(file) if file in names else 0
        number = bisect_left(self._rows, (place, line), key=lambda row: (row.file, row.line))
        row = self._rows[number] if number < len(self._rows) else None
        if row is None or (row.file, row.line) != (place, line):
            raise InputError(f"{names[place]}, line {line}: there is no reply on this line")
        return number

    def failures(self) -> dict[str, int]:
        """Return how many replies could not be read, by kind, the most frequent first."""
        counts = Counter(row.failure for row in self._rows if row.failure)
        return dict(counts.most_common())

    def positions(self) -> int:
        """Return the largest number of corrections in a question."""
        return max((len(row.texts) for row in self._rows), default=0)

    def select(
        self, show: str = "", position: int = 0, search: str = "", sort: Sort = "line"
    ) -> list[int]:
        """Return the numbers of the replies that pass the filters, sorted.

        Args:
            show: `people` (scores contradict a preference of people), `flips`, `failed`, or a kind
                of failure; empty for all.
            position: position of the only highest score, from 1; 0 for any.
            search: a text in the reply, the source, its context or a correction; letter case and
                blanks do not matter.
            sort: the order; ties stay in the order of the files.
        """
        selection = (show, position, search, sort, len(self._rows), self.done)
        # Successive pages are built from the same selection.
        if self._chosen is not None and self._chosen[0] == selection:
            return self._chosen[1]
        rows = self._rows
        numbers: Iterable[int] = range(len(rows)) if not search else self._holding(search)
        if show == "people":
            numbers = [n for n in numbers if rows[n].against]
        elif show == "flips":
            numbers = [n for n in numbers if rows[n].flips]
        elif show:
            numbers = [
                n for n in numbers if rows[n].failure and show in ("failed", rows[n].failure)
            ]
        if position:
            numbers = [n for n in numbers if len(rows[n].scores) > 1 and rows[n].top == position]
        chosen = list(numbers)
        if sort == "people":
            chosen.sort(key=lambda n: -rows[n].against)
        elif sort == "flips":
            chosen.sort(key=lambda n: -rows[n].flips)
        elif sort in ("low", "high"):
            sign = 1 if sort == "low" else -1
            # Replies without scores come last.
            chosen.sort(key=lambda n: (not rows[n].scores, sign * _mean(rows[n].scores)))
        self._chosen = selection, chosen
        return chosen

    def _holding(self, search: str) -> list[int]:
        """Return the numbers of the replies whose texts contain a text."""
        sought = " ".join(search.lower().split())
        numbers: list[int] = []
        chunks = [*self._packed, None]
        for place, packed in enumerate(chunks):
            if packed is None:
                lines = list(self._waiting)
            else:
                text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
                if sought not in text:
                    continue
                lines = text.split(_ROWS)
            numbers += [place * _CHUNK + at for at, line in enumerate(lines) if sought in line]
        return numbers

    def reply(self, number: int) -> ReviewedReply:
        """Return one reply, read from its place in the file.

        Raises:
            InputError: there is no such reply, or the file has been changed.
        """
        if not 0 <= number < len(self._rows):
            raise InputError(f"there is no reply {number + 1}; expected 1 to {len(self._rows)}")
        row = self._rows[number]
        path = self._paths[row.file]
        record = record_at(path, row.line, row.start, row.end)
        reply = Reply.from_json(record["reply"])
        judged, problem, failure = None, "", row.failure
        people: tuple[Human, ...] = ()
        try:
            judged = self._wordings.judged(record)
        except ValueError as error:
            problem = str(error)
        else:
            verdict = verdict_of(record, judged)
            if isinstance(verdict, Failure):
                failure = ": ".join(filter(None, (verdict.kind, verdict.detail)))
            people = self._verdicts_on(row)
        parts = record["parts"]
        return ReviewedReply(
            number=number,
            file=path.name,
            line=row.line,
            identity=self.stores[row.store],
            judged=judged,
            problem=problem,
            question=question_of(parts["messages"]),
            answer=reply.text,
            reason=read_reason(reply.text, _WHOLE),
            scores=row.scores,
            failure=failure,
            people=people,
            decided=row.decided,
            against=row.against,
            flips=row.flips,
            others=row.others,
            again=row.again,
            repeat=row.repeat,
            sampling={**parts["sampling"], **reply.sent},
            tokens=(reply.input_tokens, reply.output_tokens),
            finish=reply.finish,
        )

    def _verdicts_on(self, row: _Row) -> tuple[Human, ...]:
        """Return people's verdicts on a reply's corrections; none if they lack its source."""
        people = self._people
        if people is None or not people.knows(row.source):
            return ()
        wins = people.wins(row.source, shows_edits=row.shows_edits)
        humans = []
        for text in row.texts:
            # A correction that was judged alone is compared with all others of its source.
            others = {one for pair in wins for one in pair} if len(row.texts) == 1 else row.texts
            won = sum(wins.get((text, other), 0) for other in others)
            lost = sum(wins.get((other, text), 0) for other in others)
            verdicts = people.edit(row.source, text, row.edit)
            humans.append(
                Human(
                    won=won,
                    decided=won + lost,
                    rating=people.rating(row.source, text),
                    valid=verdicts[True],
                    annotators=verdicts.total(),
                )
            )
        return tuple(humans)


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0

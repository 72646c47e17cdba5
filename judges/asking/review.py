"""Stored replies as a page shows them: texts, answer, scores, and people's verdicts on the same."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.wording import number
from gecjury.corpus.edits import ARROW
from gecjury.judges.asking.items import Judged, Wordings, check_question, question_of, verdict_of
from gecjury.judges.asking.store import Damage, Identity, stored_lines
from gecjury.judges.replies.reply import Failure, read_reason
from gecjury.judges.showing import mark_safe, one_line

_WHOLE = 2_000_000  # characters of a reason; the page shows a part


@dataclass(frozen=True, kw_only=True)
class ReviewedReply:
    """One stored reply, with everything that is shown about it.

    Attributes:
        file: name of its file.
        line: its line there, from 1.
        repeat: number of the repetition, from 0.
        judged: the texts that were judged; None if they cannot be identified.
        problem: why they cannot be identified; empty otherwise.
        question: the message that was sent.
        answer: the reply as it is.
        reason: the reason in the reply; empty without one.
        scores: one per correction; empty if the reply could not be read.
        failure: why it could not be read: kind and detail; empty otherwise.
        people: what people said of each correction; empty without a benchmark, or if the benchmark
            does not have the source.
        decided: pairs of corrections that people decided.
        against: how many of them the scores contradict.
    """

    file: str
    line: int
    repeat: int
    judged: Judged | None = None
    problem: str = ""
    question: str
    answer: str
    reason: str
    scores: tuple[float, ...] = ()
    failure: str = ""
    people: tuple[str, ...] = ()
    decided: int = 0
    against: int = 0


@dataclass
class Review:
    """The replies in some files.

    Attributes:
        replies: those to show.
        count: number of all replies.
        failed: how many of them could not be read.
        unread: how many have texts that cannot be identified.
        stores: identities, in the order of the files.
        damaged: lines that cannot be read, as `FILE, line N`.
    """

    replies: list[ReviewedReply] = field(default_factory=list)
    count: int = 0
    failed: int = 0
    unread: int = 0
    stores: list[Identity] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def review_of(paths: Sequence[Path], most: int, people: People | None = None) -> Review:
    """Read files of stores, line by line.

    Args:
        paths: paths of stores, see `find_stores`.
        most: most replies to keep: the first ones, or those that people contradict most.
        people: people's verdicts.
    """
    review = Review()
    replies = _read(paths, review, people)
    # Equal elements keep their order.
    review.replies = heapq.nlargest(most, replies, key=lambda reply: reply.against)
    return review


def _read(paths: Sequence[Path], review: Review, people: People | None) -> Iterator[ReviewedReply]:
    """Yield all replies, and count them in the review."""
    wordings = Wordings()
    for path in paths:
        for line in stored_lines(path):
            if not isinstance(line, Damage) and line.record is None:
                review.stores.append(line.identity)
                continue
            try:
                if isinstance(line, Damage) or line.record is None:
                    raise ValueError(line)
                check_question(line.record)
            except ValueError:
                review.damaged.append(f"{path.name}, line {line.line}")
                continue
            reply = _reviewed(path.name, line.line, line.record, wordings, people)
            review.count += 1
            review.failed += bool(reply.failure)
            review.unread += reply.judged is None
            yield reply


def _reviewed(
    file: str, line: int, record: Mapping[str, Any], wordings: Wordings, people: People | None
) -> ReviewedReply:
    parts, answer = record["parts"], str(record["reply"]["text"])
    told: dict[str, Any] = {
        "file": file,
        "line": line,
        "repeat": int(parts["repeat"]),
        "question": question_of(parts["messages"]),
        "answer": answer,
        "reason": read_reason(answer, _WHOLE),
    }
    try:
        judged = wordings.judged(record)
    except ValueError as error:
        # The wording is the user's own: only the whole message can be shown.
        read = record.get("read")
        failure = str(read.get("failure") or "") if isinstance(read, dict) else ""
        return ReviewedReply(**told, problem=str(error), failure=failure)
    verdict = verdict_of(record, judged)
    scores: tuple[float, ...] = ()
    if isinstance(verdict, Failure):
        told["failure"] = ": ".join(filter(None, (verdict.kind, verdict.detail)))
    else:
        scores = tuple(verdict)
    if people is not None and people.knows(judged.source):
        told["people"] = people.verdicts(judged)
        told["decided"], told["against"] = people.contradictions(judged, scores)
    return ReviewedReply(**told, judged=judged, scores=scores)


@lru_cache(maxsize=20_000)  # orders and repetitions show the same texts again
def _plain(text: str) -> str:
    """Return a text without blanks, which prompts and tokenizers add."""
    return "".join(one_line(mark_safe(text)).split())


class People:
    """The human judgments of a benchmark, looked up by texts."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Collect the judgments of a benchmark, which should have all its systems."""
        self._views, self._view = tuple(benchmark.rankings), benchmark.view
        corpus = benchmark.corpus
        self._sources = {_plain(source) for source in corpus.sources}
        # How often people preferred the first of two corrections of a source, by view.
        self._wins: dict[tuple[View, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for view, ranked in benchmark.rankings.items():
            for item in ranked:
                ranks: dict[str, int] = {}
                for group, rank in zip(item.groups, item.ranks, strict=True):
                    # All systems of a group made the same correction.
                    name = next((name for name in group if name in corpus.systems), None)
                    if name is not None:
                        text = corpus.systems[name].lines[item.sentence]
                        ranks.setdefault(_plain(text), rank)
                wins = self._wins[view, _plain(corpus.sources[item.sentence])]
                for (a, first), (b, second) in combinations(ranks.items(), 2):
                    if first != second:
                        wins[(a, b) if first < second else (b, a)] += 1
        table = benchmark.segment_scores
        self._ratings = {
            (_plain(corpus.sources[row]), _plain(version.lines[row])): float(table[at, row])
            for at, version in enumerate(corpus.systems.values())
            for row in range(len(corpus))
            if table is not None and table[at, row] == table[at, row]
        }
        self._edits: dict[tuple[str, str, str], Counter[bool]] = defaultdict(Counter)
        for verdict in benchmark.verdicts()[0] if benchmark.has_verdicts else ():
            edit = f"[{mark_safe(verdict.old)}{ARROW}{mark_safe(verdict.new)}]"
            place = _plain(verdict.sentence), _plain(verdict.correction), _edit(edit)
            self._edits[place][verdict.valid] += 1

    def knows(self, source: str) -> bool:
        """Return whether a source is one of the benchmark's."""
        return _plain(source) in self._sources

    def _of(self, judged: Judged) -> Counter[tuple[str, str]]:
        # If a benchmark has rankings of both edits and sentences, those of the same view count.
        wanted: View = "edit" if judged.shows_edits else "sentence"
        view = wanted if wanted in self._views else self._view
        return self._wins.get((view, _plain(judged.source)), Counter())

    def _on_edit(self, judged: Judged, text: str) -> Counter[bool]:
        place = _plain(judged.source), _plain(text), _edit(judged.edit)
        return self._edits.get(place, Counter())

    def contradictions(self, judged: Judged, scores: Sequence[float]) -> tuple[int, int]:
        """Return how many pairs people decided, and how many of them the scores contradict.

        Verdicts on an edit are one such pair: valid or not.
        """
        if not scores:
            return 0, 0
        if judged.edit:
            verdicts = self._on_edit(judged, judged.corrections[0])
            lead = verdicts[True] - verdicts[False]
            return int(lead != 0), int(lead * (scores[0] - 0.5) < 0)
        wins, decided, against = self._of(judged), 0, 0
        texts = dict(zip(map(_plain, judged.corrections), scores, strict=True))
        for (a, score), (b, other) in combinations(texts.items(), 2):
            lead = wins[a, b] - wins[b, a]
            decided += lead != 0
            against += lead * (score - other) < 0
        return decided, against

    def verdicts(self, judged: Judged) -> tuple[str, ...]:
        """Return for each correction how many comparisons it won, its rating, or both."""
        wins, texts = self._of(judged), list(map(_plain, judged.corrections))
        # A correction that was judged alone is compared with all others of its source.
        others = texts if len(texts) > 1 else {one for pair in wins for one in pair}
        told = []
        for text in texts:
            words = []
            if verdicts := self._on_edit(judged, text):
                words.append(f"valid for {verdicts[True]} of {verdicts.total()}")
            rating = self._ratings.get((_plain(judged.source), text))
            if rating is not None:
                words.append(f"rated {number(rating, 2)}")
            won = sum(wins[text, other] for other in others)
            if decided := won + sum(wins[other, text] for other in others):
                words.append(f"{won} of {decided}")
            told.append(", ".join(words) or "–")
        return tuple(told)


def _edit(edit: str) -> str:
    """Return an edit, written `[old→new]`, without blanks; empty if there is none."""
    old, arrow, new = edit.partition(ARROW)
    # The edit's own arrow is the first one: arrows in the words are written `->`.
    return f"{_plain(old)}{arrow}{_plain(new)}" if arrow else ""

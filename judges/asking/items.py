"""Stored replies as judged corrections: the texts that a prompt showed, read from its message.

A store contains the message that was sent, not the texts that were filled in. The prompt's wording,
which is looked up by its id, shows where they are in the message
(`gecjury.prompts.Prompt.unrender`). A review adds what a page shows of each reply: the answer
and the scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gecjury.core.errors import InputError, OptionError
from gecjury.core.records import from_record
from gecjury.corpus.edits import ARROW
from gecjury.judges.asking.ask import read_reply
from gecjury.judges.asking.store import Identity, StoreDamage, StoredLine, StoredReply, stored_lines
from gecjury.judges.exchange import Reply
from gecjury.judges.own_wording import kept_own
from gecjury.judges.replies.forms import (
    CHOICE,
    GRADED,
    GRADED_WEIGHED,
    SCORE,
    TEXT,
    VALIDITY,
    AnswerForm,
    scores_form,
)
from gecjury.judges.replies.reply import IMPORTANCE, Failure, Verdict, read_reason
from gecjury.prompts import Prompt, packaged

Protocol = Literal["listwise", "pointwise", "pairwise", "edit-verdict", "post-edit", "grades"]

_AnyForm = AnswerForm[list[float]] | AnswerForm[str]
# The places for texts in a prompt determine its protocol, and this the form of the answer, which
# otherwise depends on the number of corrections.
_TASKS: Mapping[Protocol, tuple[tuple[str, ...], _AnyForm | None]] = {
    "listwise": (("targets",), None),
    "pairwise": (("first", "second"), CHOICE),
    "edit-verdict": (("target", "edit"), VALIDITY),
    "pointwise": (("target",), SCORE),
    "post-edit": (("output",), TEXT),
    "grades": (("correction",), GRADED),
}
# An edit as `gecjury.judges.showing.marked` shows it. No blank follows its first bracket or
# precedes its last one, which distinguishes them from brackets in the text itself.
_MARK = re.compile(
    rf"(?<!\[)\[(?! )((?:[^\[{ARROW}]|\[(?=[ {ARROW}]))*+){ARROW}((?:[^\]{ARROW}]|\](?=\]))*+)\]"
)


@dataclass(frozen=True, kw_only=True)
class JudgedTexts:
    """The texts that a prompt showed.

    Texts are as in the prompt: one line each, with control characters replaced
    (`gecjury.judges.showing.one_line`), and spaced as in their language, but without the marks of
    edits.

    Attributes:
        source: the sentence that was corrected.
        context: previous and next sentence, empty at the edge of a document; None without any.
        corrections: the correction at each position of the prompt.
        shown: the corrections with the marks of edits, as the model saw them.
        protocol: `listwise`, `pointwise`, `pairwise`, `edit-verdict`, `post-edit` or `grades`.
        criterion: the sentence of the criterion; empty without one.
        edit: for `edit-verdict`, the edit that was judged, as `[old→new]`.
        language: English name of the language, if the prompt names it; empty for English.
    """

    source: str
    context: tuple[str, str] | None
    corrections: tuple[str, ...]
    shown: tuple[str, ...]
    protocol: Protocol
    criterion: str = ""
    edit: str = ""
    language: str = ""


@dataclass(frozen=True, kw_only=True)
class JudgedItem(JudgedTexts):
    """Corrections with a model's scores of them.

    Attributes:
        scores: one per correction: 1 to 5, higher is better; for `pairwise` 1, 0, or .5 for a tie;
            for `edit-verdict` 1 for a valid edit and 0 otherwise. With `scoring=expected` they are
            expected scores.
        prompt: id of the prompt; see `gecjury.prompts.Prompt.id`.
        model: the model, as its backend calls it.
        repeat: number of the repetition, from 0.
        reason: the reason in the reply; empty without one.
        line: line of the file, from 1.
    """

    scores: tuple[float, ...]
    prompt: str
    model: str
    repeat: int = 0
    reason: str = ""
    line: int = 0


@dataclass(frozen=True)
class _SentMessage:
    content: str
    role: str = ""


@dataclass(frozen=True)
class StoredQuestion:
    """The parts of a stored reply that say what was asked."""

    prompt: str
    messages: Sequence[_SentMessage]
    sampling: Mapping[str, object]
    repeat: int

    @property
    def message(self) -> str:
        """The last message of the user; earlier turns are examples."""
        return next(
            message.content for message in reversed(self.messages) if message.role == "user"
        )


def judged_items(path: Path, prompts: Iterable[Prompt] = ()) -> Iterator[JudgedItem]:
    """Yield the verdicts of a store, or of an exported file of several stores, one per question.

    Memory grows by one key per question. Post-edits, grades, replies that could not be read,
    damaged lines and further verdicts on the same question are skipped.

    Args:
        prompts: wordings that are not packaged.

    Raises:
        InputError: the file is not a store, a prompt is neither packaged nor in `prompts`, or a
            message does not follow its prompt; names the line.
    """
    wordings = Wordings(prompts)
    seen: set[str] = set()
    for line in stored_lines(path):
        if isinstance(line, StoreDamage) or line.record is None:
            continue
        stored = _reviewed(path, line.line, line.record, wordings)
        if stored is None or stored.judged is None:
            unasked = "not a question of a judge; expected messages, sampling, repeat"
            problem = stored.problem if stored else unasked
            raise InputError(f"{path}, line {line.line}: {problem}")
        if stored.scores and line.record.key not in seen:
            seen.add(line.record.key)
            yield JudgedItem(
                **vars(stored.judged),
                scores=stored.scores,
                prompt=line.identity.prompt,
                model=line.identity.model,
                repeat=stored.repeat,
                reason=read_reason(stored.answer),
                line=line.line,
            )


class Wordings:
    """The wordings that are used to read texts from stored messages."""

    def __init__(self, prompts: Iterable[Prompt] = (), folder: Path | None = None) -> None:
        """Add wordings that are not packaged; packaged ones are looked up by their id.

        Args:
            prompts: wordings.
            folder: folder of stores, which has copies of the users' own prompts.
        """
        self._by_id = {_own(prompt.id): prompt for prompt in prompts}
        self._folder = folder
        self._looked_up: dict[str, Prompt | None] = {}

    def judged(self, question: StoredQuestion) -> JudgedTexts:
        """Return the texts that a stored question is about.

        Raises:
            ValueError: its prompt is unknown, or its message does not follow the prompt.
        """
        name = question.prompt
        if name not in self._looked_up:
            kept = None if self._folder is None else kept_own(name, self._folder)
            self._looked_up[name] = self._by_id.get(_own(name)) or packaged(name) or kept
        wording = self._looked_up[name]
        if wording is None:
            raise ValueError(
                f"the wording {name} is not one of gecjury's and not kept with the replies, so "
                "the texts in its questions cannot be identified"
            )
        values = wording.unrender(question.message)
        fits = wording.placeholders.issuperset
        protocol = next((name for name, (places, _) in _TASKS.items() if fits(places)), None)
        if protocol is None or ("context" not in values and protocol != "post-edit"):
            raise ValueError(f"the wording {name} has no place for context and corrections")
        if protocol == "listwise":
            shown = tuple(values["targets"].split("\n"))
        else:
            shown = tuple(values[place] for place in _TASKS[protocol][0] if place != "edit")
        # A wording that shows edits explains their arrow, or its subject does.
        marked = ARROW in wording.text + values.get("subject", "")
        lines = values.get("context", "").split("\n")
        if len(lines) not in (1, 3):
            raise ValueError(f"expected one or three lines of context, not {len(lines)}")
        return JudgedTexts(
            source=lines[len(lines) // 2],
            context=None if len(lines) == 1 else (lines[0], lines[2]),
            corrections=tuple(map(unmarked, shown)) if marked else shown,
            shown=shown,
            protocol=protocol,
            criterion=values.get("criterion", ""),
            edit=values.get("edit", ""),
            language=values.get("language", ""),
        )


def _own(prompt_id: str) -> str:
    """Return name, version and digest of a prompt, without the parts that were added to it."""
    return prompt_id.partition("+")[0]


def unmarked(text: str) -> str:
    """Return a correction without the marks of its edits: `a c d` for `a [b→c] d`.

    An edit of words that contain a bracket next to letters, such as `[sic`, keeps its marks.
    """
    plain = _MARK.sub(lambda mark: mark[2], text)
    # A deletion leaves the blanks on both sides of it.
    return text if plain == text else " ".join(plain.split())


def verdict_of(question: StoredQuestion, reply: Reply, judged: JudgedTexts) -> Verdict | str:
    """Return the verdict or the text in a reply; for grades, which are no scores, no text."""
    form = _TASKS[judged.protocol][1] or scores_form(len(judged.shown))
    if form is GRADED and f'"{IMPORTANCE}"' in question.message:
        form = GRADED_WEIGHED
    if any(part.startswith("reason.") for part in question.prompt.split("+")[1:]):
        form = form.with_reason()
    read = form.reader(weighted=bool(question.sampling.get("logprobs")))
    try:
        said: Verdict | str = read_reply(read, reply)
    except OptionError:
        return Failure("malformed", "token probabilities were asked for, and there are none")
    return "" if judged.protocol == "grades" and not isinstance(said, Failure) else said


_WHOLE = 2_000_000  # characters of a reason; the page shows a part


@dataclass(frozen=True, kw_only=True)
class ReviewedReply:
    """One stored reply, with everything that is shown about it.

    Attributes:
        line: its line there, from 1.
        repeat: number of the repetition, from 0.
        judged: the texts that were judged; None if they cannot be identified.
        problem: why they cannot be identified; empty otherwise.
        question: the message that was sent.
        answer: the reply as it is.
        reason: the reason in the reply; empty without one.
        scores: one per correction; empty if the reply could not be read.
        written: the post-edit in the reply; empty without one.
        failure: why it could not be read: kind and detail; empty otherwise.
    """

    file: str
    line: int
    repeat: int
    judged: JudgedTexts | None = None
    problem: str = ""
    question: str
    answer: str
    reason: str
    scores: tuple[float, ...] = ()
    written: str = ""
    failure: str = ""


@dataclass
class Review:
    """The replies in some files.

    Attributes:
        replies: those to show.
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


def review_of(paths: Sequence[Path], most: int) -> Review:
    """Read files of stores, line by line.

    Args:
        paths: paths of stores, see `find_stores`.
        most: most replies to keep; the others are counted.
    """
    review = Review()
    for path in paths:
        wordings = Wordings(folder=path.parent)
        for line in stored_lines(path):
            if isinstance(line, StoredLine) and line.record is None:
                review.stores.append(line.identity)
                continue
            reply = None
            if isinstance(line, StoredLine) and line.record is not None:
                reply = _reviewed(path, line.line, line.record, wordings)
            if reply is None:
                review.damaged.append(f"{path.name}, line {line.line}")
                continue
            review.count += 1
            review.failed += bool(reply.failure)
            review.unread += reply.judged is None
            if len(review.replies) < most:
                review.replies.append(reply)
    return review


def _reviewed(
    path: Path, line: int, stored: StoredReply, wordings: Wordings
) -> ReviewedReply | None:
    """Return a reply with what it means; None if it answers no question of a judge."""
    try:
        question = from_record(StoredQuestion, stored.record["parts"])
        message = question.message
    except (StopIteration, ValueError):
        return None
    judged, problem = None, ""
    try:
        judged = wordings.judged(question)
        said = verdict_of(question, stored.reply, judged)
    except ValueError as error:
        # The wording is the user's own and was not kept: only the whole message can be shown.
        problem, said = str(error), read_reply(lambda _: "", stored.reply)
    failure = (said.kind, said.detail if judged else "") if isinstance(said, Failure) else ()
    return ReviewedReply(
        file=path.name,
        line=line,
        repeat=question.repeat,
        judged=judged,
        problem=problem,
        question=message,
        answer=stored.reply.text,
        reason=read_reason(stored.reply.text, _WHOLE),
        scores=() if isinstance(said, Failure | str) else tuple(said),
        written=said if isinstance(said, str) else "",
        failure=": ".join(filter(None, failure)),
    )

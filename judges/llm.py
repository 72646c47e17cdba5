"""LLM-S and LLM-E (Kobayashi, Mita and Komachi 2024): sentence- and edit-level judging by a model.

Both judge up to five distinct corrections of a source together; on a benchmark that records what
its annotators saw together, these are exactly those sets.
"""

from __future__ import annotations

import functools
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gecjury.corpus.corpus import Corpus, Group
from gecjury.corpus.language import ENGLISH, Language
from gecjury.errors import OptionError, nearest_of
from gecjury.judges.asking.ask import Question
from gecjury.judges.asking.exchange import Model
from gecjury.judges.audit import audit_of, merge_audits, systems_by_text
from gecjury.judges.judge import Judge, Wording, load_wording
from gecjury.judges.protocols.ballots import Ballot, MakeBallots, Options, combine, count_ballots
from gecjury.judges.protocols.listwise import listwise_ballots
from gecjury.judges.protocols.pairwise import pairwise_ballots
from gecjury.judges.protocols.pointwise import pointwise_ballots
from gecjury.judges.showing import (
    CandidateSet,
    collect_sets,
    edits_of_pairs,
    extraction_parts,
    marked,
    one_line,
    with_tagger,
)
from gecjury.prompts import CRITERIA
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import GroupScorer
from gecjury.scoring.scores import Statistics
from gecjury.scoring.signature import Signature

_PROTOCOLS: Mapping[str, MakeBallots] = {
    "listwise": listwise_ballots,
    "pointwise": pointwise_ballots,
    "pairwise": pairwise_ballots,
}
_MOST_ORDERS = {"listwise": 1_000, "pointwise": 1, "pairwise": 2}

Sets = list[CandidateSet]
Places = list[tuple[int, tuple[int, ...]]]


@dataclass(frozen=True)
class _GroupJudge(Judge, GroupScorer):
    """Judges the corrections of a source side by side; see `LLMS` and `LLME`.

    Annotators' sets are shown in the annotators' order. Other corrections are shown in an order
    drawn for every sentence by `seed`, so that a preference for a position is no system's gain.

    Attributes:
        criterion: what to focus on, one of those published for the prompt.
        protocol: `listwise` as published; `pointwise`; `pairwise`.
        orders: how many permutations of each set are judged and averaged.
    """

    wording_name: ClassVar[str]
    subject: ClassVar[str]
    version: ClassVar[int] = 2

    criterion: str | None = None
    protocol: Literal["listwise", "pointwise", "pairwise"] = "listwise"
    orders: int = 1

    def __post_init__(self) -> None:
        known = CRITERIA[self.wording_name]
        if self.criterion is not None and self.criterion not in known:
            raise OptionError(
                f"{self.name}: unknown criterion {self.criterion!r}: "
                f"{nearest_of(self.criterion, tuple(known))}"
            )
        most = _MOST_ORDERS[self.protocol]
        if not 1 <= self.orders <= most:
            raise OptionError(
                f"{self.name}: orders={self.orders} is out of range; "
                f"protocol={self.protocol} takes 1 to {most}"
            )
        if self.protocol == "pairwise" and self.scoring == "expected":
            raise OptionError(
                f"{self.name}: scoring=expected is for scores, and protocol=pairwise has none"
            )
        super().__post_init__()

    def wording(self, language: Language = ENGLISH) -> Wording:
        """The published prompt, or the protocol's own."""
        name = self.wording_name if self.protocol == "listwise" else self.protocol
        return load_wording(name, self.criterion, language)

    @property
    def draw_seed(self) -> int:
        """The judge's seed."""
        return self.seed

    @abstractmethod
    def shown(self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime) -> Mapping[Any, str]:
        """How each (row, text) is shown."""

    def sets(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[Sets, Places]:
        """The distinct candidate sets, and where the groups' places stand in them."""
        shown = self.shown(corpus, groups, runtime)
        return collect_sets(
            corpus,
            groups,
            self.contexts(corpus),
            lambda _, texts, row: [shown[row, text] for text in texts],
        )

    def ballots(
        self, sets: Sequence[CandidateSet], model: Model, language: Language = ENGLISH
    ) -> list[Ballot]:
        """What is asked of a model."""
        wording = self.wording(language)
        options = Options(
            wording,
            self.subject,
            functools.partial(self.request, model, wording=wording),
            self.orders,
            self.repeats,
            self.seed,
            self.scoring == "expected",
        )
        return _PROTOCOLS[self.protocol](sets, options)

    def questions(self, corpus: Corpus, model: Model, runtime: Runtime) -> list[Question]:
        """See `Judge.questions`; one entry for every group that poses a question."""
        sets, places = self.sets(corpus, self.groups_of(corpus), runtime)
        by_set: dict[int, list[Question]] = {}
        for ballot in self.ballots(sets, model, corpus.language):
            by_set.setdefault(ballot.set, []).append(ballot.question)
        return [question for number, _ in places for question in by_set.get(number, ())]

    def judge(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[list[float]], Statistics]:
        """See `GroupScorer.judge`; the audit stands in the details."""
        sets, places = self.sets(corpus, groups, runtime)
        sizes = [len(candidates.texts) for candidates in sets]
        shown_by = systems_by_text(groups, places, len(sets))
        by_model, audits = [], []

        def pose(model: Model) -> list[Question]:
            return [ballot.question for ballot in self.ballots(sets, model, corpus.language)]

        self.refuse_ended(pose, runtime)
        for model in self.models():
            start = time.perf_counter()
            ballots = self.ballots(sets, model, corpus.language)
            questions = [ballot.question for ballot in ballots]
            asked = self.ask(questions, model, runtime)
            counted, means = count_ballots(ballots, asked.answers, sizes)
            by_model.append(means)
            seconds = time.perf_counter() - start
            audits.append(audit_of(model, counted, asked, sets, runtime, seconds, shown_by))
        scores = [
            [combine([means[number][index] for means in by_model], self.panel) for index in indices]
            for number, indices in places
        ]
        audit, notes = merge_audits(audits)
        notes = (*notes, *self.notes(runtime))
        return scores, Statistics(np.empty(0), None, {"audit": audit}, notes)


@dataclass(frozen=True)
class LLMS(_GroupJudge):
    """LLM-S: a model scores whole corrected sentences (Kobayashi et al. 2024, figure 3).

    Scores are 1 to 5 (`protocol=pairwise`: 0 to 1), higher is better; a correction judged in
    several groups has a score in each and their mean as sentence score.
    """

    name: ClassVar[str] = "llm-s"
    summary: ClassVar[str] = "a language model scores corrected sentences side by side, 1 to 5"
    paper: ClassVar[str] = "Kobayashi et al. 2024"
    reads: ClassVar[Literal["tokens", "text"]] = "text"
    wording_name: ClassVar[str] = "sentence"
    subject: ClassVar[str] = "the quality of the corrected sentence"

    def shown(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """The corrections as they are."""
        del runtime
        return {
            (group.sentence, text): one_line(text)
            for group in groups
            for text in corpus.group_texts(group)
        }


@dataclass(frozen=True)
class LLME(_GroupJudge):
    """LLM-E: a model scores corrections by their edits, shown inline (figure 2 of the paper).

    Edits are those of the hypothesis files where these are M2, otherwise ERRANT's. A correction
    without edits is shown as the plain sentence. Scores as for LLM-S.
    """

    name: ClassVar[str] = "llm-e"
    summary: ClassVar[str] = "a language model scores corrections by their edits, 1 to 5"
    paper: ClassVar[str] = "Kobayashi et al. 2024"
    wording_name: ClassVar[str] = "edit"
    subject: ClassVar[str] = "the quality of the edits alone, which are marked as [old→new]"

    def shown(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """The corrections with their edits marked."""
        wanted: dict[int, list[str]] = {}
        for group in groups:
            wanted.setdefault(group.sentence, []).extend(corpus.group_texts(group))
        rows = {row: tuple(dict.fromkeys(texts)) for row, texts in wanted.items()}
        edits = edits_of_pairs(corpus, rows, runtime)
        language = corpus.language
        return {
            pair: marked(corpus.sources[pair[0]], found, language) for pair, found in edits.items()
        }

    def extra_signature(self, runtime: Runtime) -> dict[str, str]:
        """The prompt, and the tagger behind the edits."""
        return {**super().extra_signature(runtime), **extraction_parts()}

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """As usual, with the tagger of the texts' language."""
        return with_tagger(super().signature(corpus, runtime), corpus.language)

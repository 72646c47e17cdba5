"""LLM-S and LLM-E (Kobayashi, Mita and Komachi 2024): sentence- and edit-level judging by a model.

Both judge up to five distinct corrections of a source together; on a benchmark that records which
corrections its annotators saw together, they judge exactly those sets. The protocols are:

- *listwise*: all corrections of a set at once, in `orders` permutations, scored 1 to 5. The prompt
  is the published one, word for word, which shows every target on its own line;
- *pointwise*: each correction alone, scored 1 to 5;
- *pairwise*: every two corrections of a set; a win is worth 1, a tie one half. A correction that
  is alone in its set has no score, because it was not compared.

A correction's score is the mean over the ballots that score it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import ClassVar, Literal

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus, Group
from gecjury.judges.audit import Check
from gecjury.judges.judge import Judge
from gecjury.judges.options import ShowsExamples, TakesCriterion, Weighs
from gecjury.judges.own_wording import Examples, VerdictColumn
from gecjury.judges.posing import Render, Sheet, context_lines, render_fenced
from gecjury.judges.replies.forms import CHOICE, SCORE, scores_form
from gecjury.judges.replies.reply import REASON_CHARACTERS
from gecjury.judges.showing import (
    CandidateSet,
    collect_sets,
    edits_of_pairs,
    marked,
    one_line,
    permutations,
    read_contexts,
    text_digest,
)
from gecjury.models.origin import TrainingOrigin, taught_judge
from gecjury.prompts import Prompt
from gecjury.scoring.scorer import GroupScorer, ReadsText
from gecjury.scoring.scores import Statistics

Sheets = Iterator[Sheet[list[float]]]

_MOST_ORDERS = {"listwise": 1_000, "pointwise": 1, "pairwise": 2}


@dataclass(frozen=True)
class GroupJudge(
    Weighs,
    TakesCriterion,
    ShowsExamples[CandidateSet],
    Judge[list[float], CandidateSet],
    GroupScorer,
):
    """A judge of the corrections of a source side by side.

    Annotators' sets are shown in the annotators' order. Other corrections are shown in an order
    drawn for every sentence by `seed`, so that no system gains from a preference for a position.

    Attributes:
        prompt: a file with your own wording; `gecjury judgments prompt` prints the built-in one. Or
            `short-grade`, the packaged prompt of taught judges, for `protocol=pointwise`.
        protocol: `listwise` as published; `pointwise`; `pairwise`.
        orders: how many permutations of each set are judged and averaged.
    """

    subject: ClassVar[str]
    """Words for what is judged, in our own prompts."""
    version: ClassVar[int] = 3
    checks: ClassVar[tuple[Check, ...]] = ("flips", "repeat_agreement", "histogram", "positions")

    protocol: Literal["listwise", "pointwise", "pairwise"] = "listwise"
    orders: int = option(1, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.orders > (most := _MOST_ORDERS[self.protocol]):
            raise OptionError(
                f"{self.name}: orders={self.orders}: expected 1 to {most} with "
                f"protocol={self.protocol}"
            )

    @property
    def usual_wording(self) -> str:
        """The name of the published prompt, or of the protocol's own."""
        return self.wording_name if self.protocol == "listwise" else self.protocol

    @property
    def example_verdict(self) -> VerdictColumn:
        """The column of `examples` with the verdict: `better` of two, or a `score`."""
        return "better" if self.protocol == "pairwise" else "score"

    def example_items(
        self, examples: Examples, corpus: Corpus, runtime: Runtime
    ) -> Iterator[tuple[CandidateSet, Sequence[float], str]]:
        """Yield each example as a candidate set; with `listwise`, the examples of one source."""
        texts = list(zip(*(version.lines for version in corpus.systems.values()), strict=True))
        pairs = [(row, text) for row, of_row in enumerate(texts) for text in of_row]
        shown = self.shown(corpus, pairs, runtime)
        together: dict[str, list[int]] = {}
        for row, source in enumerate(corpus.sources):
            key = source if self.protocol == "listwise" else str(row)
            together.setdefault(key, []).append(row)
        for rows in together.values():
            at = [(row, text) for row in rows for text in texts[row]]
            scores = [score for row in rows for score in examples.rows[row].scores]
            reason = " ".join(examples.rows[row].reason for row in rows)[:REASON_CHARACTERS]
            candidates = CandidateSet(
                rows[0],
                corpus.language.joined(corpus.sources[rows[0]]),
                None,
                tuple(text for _, text in at),
                tuple(shown[pair] for pair in at),
            )
            yield candidates, scores, reason

    @property
    def draw_seed(self) -> int:
        """The judge's seed."""
        return self.seed

    @abstractmethod
    def shown(
        self, corpus: Corpus, pairs: Sequence[tuple[int, str]], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """Return how each text of a row is shown."""

    def sets(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[CandidateSet], list[tuple[int, tuple[int, ...]]]]:
        """Return the distinct candidate sets, and where the groups' places are in them."""
        pairs = [(group.sentence, text) for group in groups for text in corpus.group_texts(group)]
        shown = self.shown(corpus, pairs, runtime)
        return collect_sets(corpus, groups, read_contexts(self.context, corpus), shown)

    def items(self, corpus: Corpus, runtime: Runtime) -> list[CandidateSet]:
        """Return the candidate set of every group."""
        sets, places = self.sets(corpus, self.groups_of(corpus), runtime)
        return [sets[number] for number, _ in places]

    def size(self, item: CandidateSet) -> int:
        """Return how many corrections a set has."""
        return len(item.texts)

    def sheets(self, item: CandidateSet, wording: Prompt) -> Sheets:
        """Return the prompts about a set, according to the protocol."""
        return _PROTOCOLS[self.protocol](self, wording, item)

    def fenced(self, wording: Prompt, candidates: CandidateSet, **places: int) -> Render:
        """Return the renderer of our own prompts; `places` name their corrections by index."""
        texts = {place: candidates.shown[index] for place, index in places.items()}
        # A user's own wording may describe what is judged in its own words.
        more = {"subject": self.subject} if "subject" in wording.placeholders else {}
        return partial(render_fenced, wording, candidates.source, candidates.context, texts, **more)

    def judge(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[list[float]], Statistics]:
        """Score the distinct texts of every group; the details contain the audit."""
        sets, places = self.sets(corpus, groups, runtime)
        scores, report = self.verdicts(sets, corpus.language, runtime)
        notes = (*report.notes, *self._teaching_notes(corpus))
        report = replace(report, notes=notes)
        return [[scores[number][at] for at in indices] for number, indices in places], report

    def _teaching_notes(self, corpus: Corpus) -> list[str]:
        """Return warnings if a judge was taught sentences of the corpus."""
        notes = []
        for model in self.models():
            if model.backend == "vllm" and (taught := taught_judge(model.name)):
                notes += TrainingOrigin.of(Path(model.name), model.name, taught.language).notes(
                    corpus
                )
        return notes


def _listwise(judge: GroupJudge, wording: Prompt, candidates: CandidateSet) -> Sheets:
    form = scores_form(len(candidates.texts))
    for order, shown in enumerate(permutations(candidates, judge.orders, judge.seed)):
        yield Sheet(form, partial(render_listwise, wording, candidates, shown), shown, order)


def _pointwise(judge: GroupJudge, wording: Prompt, candidates: CandidateSet) -> Sheets:
    for index in range(len(candidates.texts)):
        yield Sheet(SCORE, judge.fenced(wording, candidates, target=index), (index,))


def _pairwise(judge: GroupJudge, wording: Prompt, candidates: CandidateSet) -> Sheets:
    for pair in combinations(range(len(candidates.texts)), 2):
        # Only the texts decide which is shown first in order 0, so that a pair in several sets is
        # asked once.
        first, second = sorted(pair, key=lambda index: text_digest(candidates.texts[index]))
        for order, (a, b) in enumerate(((first, second), (second, first))[: judge.orders]):
            render = judge.fenced(wording, candidates, first=a, second=b)
            yield Sheet(CHOICE, render, (a, b), order)


_PROTOCOLS: Mapping[str, Callable[[GroupJudge, Prompt, CandidateSet], Sheets]] = {
    "listwise": _listwise,
    "pointwise": _pointwise,
    "pairwise": _pairwise,
}


def render_listwise(wording: Prompt, candidates: CandidateSet, order: Sequence[int]) -> str:
    """Render the published prompt for one candidate set.

    Args:
        wording: `sentence` or `edit` with its criterion.
        candidates: the corrections that are judged.
        order: indices of the corrections by position.
    """
    line = wording.head["score_line"]
    numbers = range(1, len(candidates.shown) + 1)
    return wording.render(
        context=context_lines(candidates.source, candidates.context),
        targets="\n".join(candidates.shown[index] for index in order),
        scores="\n".join(line.replace("{{number}}", str(number)) for number in numbers),
    )


@dataclass(frozen=True)
class LLMS(GroupJudge, ReadsText):
    """LLM-S: a model scores whole corrected sentences (Kobayashi et al. 2024, figure 3).

    Scores are 1 to 5 (`protocol=pairwise`: 0 to 1), higher is better; a correction judged in
    several groups has a score in each, and its sentence score is their mean.

    Attributes:
        criterion: what to focus on, as a sentence of your own, a file, or a published criterion:
            grammaticality, fluency or meaning.
    """

    name: ClassVar[str] = "llm-s"
    summary: ClassVar[str] = "a language model scores corrected sentences side by side, 1 to 5"
    paper: ClassVar[str] = "Kobayashi et al. 2024"
    wording_name: ClassVar[str] = "sentence"
    subject: ClassVar[str] = "the quality of the corrected sentence"

    def shown(
        self, corpus: Corpus, pairs: Sequence[tuple[int, str]], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """Return the corrections as they are."""
        del corpus, runtime
        return {(row, text): one_line(text) for row, text in pairs}


@dataclass(frozen=True)
class LLME(GroupJudge):
    """LLM-E: a model scores corrections by their edits, shown inline (figure 2 of the paper).

    Edits come from the hypothesis files if these are M2, otherwise from ERRANT. A correction
    without edits is shown as the plain sentence. Scores are 1 to 5, higher is
    better, as for LLM-S.

    Attributes:
        criterion: what to focus on, as a sentence of your own, a file, or a published criterion:
            difficulty or impact.
    """

    name: ClassVar[str] = "llm-e"
    summary: ClassVar[str] = "a language model scores corrections by their edits, 1 to 5"
    paper: ClassVar[str] = "Kobayashi et al. 2024"
    shows_edits: ClassVar[bool] = True
    wording_name: ClassVar[str] = "edit"
    subject: ClassVar[str] = "the quality of the edits alone, which are marked as [old→new]"

    def shown(
        self, corpus: Corpus, pairs: Sequence[tuple[int, str]], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """Return the corrections with their edits marked."""
        return {
            (row, text): marked(corpus.sources[row], edits, corpus.language)
            for (row, text), edits in edits_of_pairs(corpus, pairs, runtime).items()
        }

"""The base of all judges: a task for a language model, with a typed answer.

    class Mine(Judge[T, ItemT]):     T is the type of an answer, ItemT what questions are about
        def items(...)              the items of a corpus
        def sheets(...)             the prompts about an item, each with the form of its answer
        def scores_of(...)             the scores that answers mean
        def statistics(...)         the scores, from `verdicts`, in the form of a metric

A form (`gecjury.judges.replies.forms`) reads a reply as an answer or as a failure. Replies are
stored, and read and scored on every use. A task declares its own options; those of
`gecjury.judges.options` are declared by inheriting from a class there. It names the checks of its
answers that belong in the audit (`checks`); the audit of the asking itself is that of all judges.
"""

from __future__ import annotations

import statistics
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.leakage import corpus_texts
from gecjury.judges.asker import Asker
from gecjury.judges.asking.ask import Question
from gecjury.judges.audit import Check, ScoredQuestion, audit_of, checked, merge_audits
from gecjury.judges.exchange import Model
from gecjury.judges.options import ShowsExamples, TakesCriterion
from gecjury.judges.own_wording import keep_own, read_own
from gecjury.judges.posing import Sheet, example_turns, pose
from gecjury.judges.replies.reply import Failure
from gecjury.judges.showing import extraction_parts
from gecjury.models.origin import taught_judge
from gecjury.prompts import Prompt, has, read
from gecjury.scoring.scores import Plan, Statistics
from gecjury.scoring.signature import Signature

T = TypeVar("T")


class OfRow(Protocol):
    """Something about a row of a corpus."""

    @property
    def row(self) -> int:
        """The row of the source, from 0."""


ItemT = TypeVar("ItemT", bound=OfRow)


@dataclass(frozen=True)
class Judge(Asker, Generic[T, ItemT]):
    """A metric whose scores follow from the answers of a language model.

    Attributes:
        context: the sentences around a source that the model sees: `corpus` (those of the
            benchmark, if it has any), `neighbours` (the lines before and after), `none`, or a file
            with the previous and the next sentence of every source, separated by a tab.
        panel: how the scores of several models become one.
        prompt: a file with your own wording; `gecjury judgments prompt` prints the built-in one.
    """

    family: ClassVar[str] = "judges"
    wording_name: ClassVar[str]
    """The name of the prompt of the judge's own question."""
    shows_edits: ClassVar[bool] = False
    """True if prompts show edits, which depend on the tagger."""
    checks: ClassVar[tuple[Check, ...]] = ("repeat_agreement",)
    """The checks of the scores in the audit."""
    compared: ClassVar[int | None] = None
    """How many of an item's numbers models of a panel should agree on; None for all."""

    context: str = "corpus"
    panel: Literal["mean", "median", "majority"] = "mean"
    prompt: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wording()

    @abstractmethod
    def items(self, corpus: Corpus, runtime: Runtime) -> Sequence[ItemT]:
        """Return what the questions about a corpus are about; one may occur several times."""

    @abstractmethod
    def sheets(self, item: ItemT, wording: Prompt) -> Iterable[Sheet[T]]:
        """Return the prompts about an item, each with the form of its answer."""

    @abstractmethod
    def scores_of(
        self, answers: Sequence[T], items: Sequence[ItemT], runtime: Runtime
    ) -> Sequence[Sequence[float]]:
        """Return the scores that answers mean, higher is better.

        Args:
            answers: answers as read from replies.
            items: for each answer, the item that it is about.

        Returns:
            For each answer, one score per correction that its sheet shows.
        """

    def size(self, item: ItemT) -> int:
        """Return how many corrections of an item are scored."""
        return 1

    @property
    def usual_wording(self) -> str:
        """The name of the prompt that is used without `prompt`."""
        return self.wording_name

    def wording(self, language: Language = ENGLISH) -> Prompt:
        """Return the prompt in use for texts in a language.

        Raises:
            InputError: a file of the user's cannot be used.
            OptionError: the criterion is unknown, or the prompt has no place for it.
        """
        added = self.added_criterion() if isinstance(self, TakesCriterion) else None
        if self.prompt:
            # The user's file needs the placeholders of the built-in wording.
            protocol = getattr(self, "protocol", None)
            typed = f"{self.name}:protocol={protocol}" if protocol else self.name
            own = read_own(self.prompt, read(self.usual_wording).placeholders, typed, added)
            wording = replace(own, language=language.name)
        else:
            wording = load_wording(self.usual_wording, added, language)
        if not isinstance(self, ShowsExamples):
            return wording
        shown = self.shown_examples
        return replace(
            wording,
            reason=read("reason") if self.reason else None,
            examples=shown.digest if shown else "",
        )

    def questions(self, corpus: Corpus, model: Model, runtime: Runtime) -> list[Question[T]]:
        """Return all questions to a model, repeated ones included."""
        return self.pose(self.items(corpus, runtime), model, corpus.language, runtime)

    def pose(
        self, items: Sequence[ItemT], model: Model, language: Language, runtime: Runtime
    ) -> list[Question[T]]:
        """Return the questions to a model about some items."""
        if not items:
            return []
        wording = self.wording(language)
        turns = example_turns(self, model, self._shown(wording, language, runtime))
        return [
            question
            for number, item in enumerate(items)
            for sheet in self.sheets(item, wording)
            for question in pose(self, model, wording, sheet, number, turns)
        ]

    def _shown(
        self, wording: Prompt, language: Language, runtime: Runtime
    ) -> Iterable[tuple[Sheet[T], Sequence[float], str]]:
        """Yield the sheet of each example, the scores of its corrections, and a reason."""
        if not isinstance(self, ShowsExamples) or (examples := self.shown_examples) is None:
            return
        corpus = self.read(examples.corpus(language))
        for item, scores, reason in self.example_items(examples, corpus, runtime):
            # The first of several orders: which correction of a pair comes first is quasi-random.
            yield next(iter(self.sheets(item, wording))), scores, reason

    def check(self, corpus: Corpus) -> None:
        """Refuse what `Scorer.check` does, a judge without a model, and examples of the corpus."""
        super().check(corpus)
        self.models()
        if self.shows_edits:
            # Missing packages are reported before the questions of other judges are paid for.
            extraction_parts(corpus.language)
        if isinstance(self, ShowsExamples):
            # Examples must not come from the rest of the benchmark either if a sample is judged.
            whole = corpus if corpus.drawn is None else corpus.drawn[0]
            shown = [text for group in whole.groups or () for text in group.texts]
            self.refuse_leaks(corpus_texts(whole, systems=True) | {"correction": shown})

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the prompt with its digest, a context file's digest, and the tagger of edits."""
        return self._prompt_parts(ENGLISH)

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, with the prompt and the tagger for the texts' language."""
        signature = super().signature(corpus, runtime)
        return replace(signature, extra={**signature.extra, **self._prompt_parts(corpus.language)})

    def _prompt_parts(self, language: Language) -> dict[str, str]:
        """Return what the signature says of prompt, context and edits."""
        extra = {"prompt": self.wording(language).id}
        if self.context not in ("corpus", "neighbours", "none"):
            from gecjury.core.textfiles import read_lines
            from gecjury.corpus.fingerprints import fingerprint

            extra["context"] = fingerprint(read_lines(self.context))[:8]
        return extra | (extraction_parts(language) if self.shows_edits else {})

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return requests, tokens and cost of what no stored reply answers yet."""
        return self.plan_of(lambda model: self.questions(corpus, model, runtime), runtime)

    def verdicts(
        self,
        items: Sequence[ItemT],
        language: Language,
        runtime: Runtime,
        keep: Callable[[ItemT, T], object] | None = None,
    ) -> tuple[list[list[float]], Statistics]:
        """Ask every model of the panel, and combine the scores that their answers mean.

        Args:
            items: items whose corrections are scored.
            language: language of the texts.
            runtime: concurrency, caches, progress, budget.
            keep: called with every answer and the item that it is about.

        Returns:
            For each item the score of each correction, NaN where the panel has none, and statistics
            with the audit in their details.
        """
        by_model, audits, taught = [], [], []
        if self.prompt and runtime.use_cache:
            keep_own(self.prompt, runtime.cache_folder("judgments"))
        rows, sizes = [item.row for item in items], list(map(self.size, items))
        for model in self.models():
            start = time.perf_counter()
            questions = self.pose(items, model, language, runtime)
            asked = self.ask(questions, model, runtime)
            verdicts = ((q, asked.answers[q.request.key].verdict) for q in questions)
            answered = [(q, verdict) for q, verdict in verdicts if not isinstance(verdict, Failure)]
            of_items = [items[question.set] for question, _ in answered]
            answers = [verdict for _, verdict in answered]
            if keep is not None:
                for item, answer in zip(of_items, answers, strict=True):
                    keep(item, answer)
            scores = self.scores_of(answers, of_items, runtime)
            scored = [(q, of_q) for (q, _), of_q in zip(answered, scores, strict=True)]
            by_model.append(mean_scores(scored, sizes))
            audit = audit_of(model, questions, asked, rows, runtime, time.perf_counter() - start)
            audits.append(audit | checked(scored, self.checks))
            taught += self._taught_otherwise(model, questions)
        combined = [
            [combine(said, self.panel) for said in zip(*means, strict=True)]
            for means in zip(*by_model, strict=True)
        ]
        agreed = [[numbers[: self.compared] for numbers in means] for means in by_model]
        merged, notes = merge_audits(audits, agreed)
        notes = (*notes, *taught, *self.server_notes, *self._wording_notes(language))
        return combined, Statistics(np.empty(0), None, {"audit": merged}, notes)

    def needs_all(self) -> str:
        """Return why all sentences are needed; neighbours and a file's lines belong to a corpus."""
        if self.context not in ("corpus", "none"):
            return f"context={self.context} shows neighbours in the corpus; use context=none"
        return super().needs_all()

    def _wording_notes(self, language: Language) -> tuple[str, ...]:
        """Return a note if the packaged prompt has no version for the texts' language."""
        english = language.code == ENGLISH.code
        if self.prompt or english or self.wording(language).language:
            return ()
        return (
            f"{self.name}: the prompt {self.usual_wording} is worded for English only, and is used "
            f"as it is for texts in {language.name}",
        )

    def _taught_otherwise(self, model: Model, questions: Sequence[Question[T]]) -> list[str]:
        """Return a note if a taught judge is not asked as it was taught."""
        taught = taught_judge(model.name) if model.backend == "vllm" and questions else None
        if taught is None:
            return []
        name, _, options = taught.metric.partition(":")
        words = {True: "expected", False: "argmax"}
        parts = (
            ("the prompt", taught.prompt, questions[0].request.prompt),
            ("judge", name, self.name),
            ("scoring", words["scoring=expected" in options], words[self.weighted]),
        )
        asked = [f"{what} {now} (taught: {before})" for what, before, now in parts if now != before]
        if not asked:
            return []
        return [
            f"{model.name} is asked with {', '.join(asked)}: its scores are untested; it was "
            f"taught for -m {taught.metric}"
        ]


_NAMED = 2
"""Version of the prompts that name the language; the published ones are for English."""
_WITH_CRITERION = {"edit-verdict": 2}
"""How many versions later a prompt has a place for a criterion, if its first version has none."""


def load_wording(name: str, added: Prompt | None = None, language: Language = ENGLISH) -> Prompt:
    """Read a prompt of this package.

    Args:
        name: name of the prompt.
        added: the sentence of a criterion.
        language: language of the texts, which prompts for languages other than English name. A
            prompt without such a version is read as it is for English.
    """
    later = _WITH_CRITERION.get(name, 0) if added else 0
    named = language.code != ENGLISH.code and has(name, _NAMED + later)
    prompt = read(name, (_NAMED if named else 1) + later)
    return replace(prompt, added=added, language=language.name if named else "")


def mean_scores(scored: Sequence[ScoredQuestion], sizes: Sequence[int]) -> list[list[float]]:
    """Return for each candidate set the mean score of each correction; NaN where it has none.

    Args:
        scored: the questions of one model whose replies could be read.
        sizes: how many corrections each set has.
    """
    # One array for all sets: a hundred thousand small arrays need more memory than their numbers.
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=int)]).tolist()
    sums, counts = np.zeros(starts[-1]), np.zeros(starts[-1])
    for question, scores in scored:
        places = [starts[question.set] + text for text in question.texts]
        np.add.at(sums, places, scores)
        np.add.at(counts, places, 1)
    with np.errstate(invalid="ignore"):
        means = (sums / counts).tolist()
    return [means[start:end] for start, end in pairwise(starts)]


def combine(scores: Sequence[float], how: Literal["mean", "median", "majority"]) -> float:
    """Return one score for several models' scores of one correction.

    Args:
        scores: one per model; NaN where a model has none.
        how: `majority` takes the most frequent score, and the median of several equally
            frequent ones.

    Returns:
        NaN unless more than half of the models have a score: fewer do not represent the panel.
    """
    verdicts = [score for score in scores if not np.isnan(score)]
    if 2 * len(verdicts) <= len(scores):
        return float("nan")
    if how == "mean":
        return statistics.fmean(verdicts)
    # Nothing but their median decides between equally frequent scores.
    return statistics.median(statistics.multimode(verdicts) if how == "majority" else verdicts)

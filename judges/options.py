"""Options of judges that mean something to some tasks only; a task inherits those it has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.judges.own_wording import Examples, VerdictColumn, read_criterion, read_examples
from gecjury.prompts import CRITERIA, Prompt

ItemT_co = TypeVar("ItemT_co", covariant=True)


@dataclass(frozen=True)
class Weighs:
    """A task whose answers are scores, which can be weighted by their probabilities.

    Attributes:
        scoring: the verdict as written, or the probability-weighted one.
    """

    scoring: Literal["argmax", "expected"] = "argmax"

    @property
    def weighted(self) -> bool:
        """True if answers are weighted by the probabilities of their tokens."""
        return self.scoring == "expected"

    def scores_of(
        self, answers: Sequence[list[float]], items: Sequence[object], runtime: Runtime
    ) -> Sequence[Sequence[float]]:
        """Return the answers."""
        return answers


@dataclass(frozen=True)
class TakesCriterion:
    """A task whose prompt has a place for a criterion.

    Attributes:
        criterion: what to judge by: a published criterion, a file or a sentence.
    """

    name: ClassVar[str]
    wording_name: ClassVar[str]

    criterion: str | None = None

    def added_criterion(self) -> Prompt | None:
        """Return the sentence of the criterion; None without one."""
        if self.criterion is None:
            return None
        return read_criterion(self.name, self.criterion, CRITERIA.get(self.wording_name, ()))


@dataclass(frozen=True)
class ShowsExamples(ABC, Generic[ItemT_co]):
    """A task with answers that a user can give as examples, and that a model can give reasons for.

    Attributes:
        examples: a table of judged corrections that the model is shown before each question.
        reason: whether the model gives a short reason before every verdict.
    """

    examples: str | None = None
    reason: bool = False

    @property
    @abstractmethod
    def example_verdict(self) -> VerdictColumn:
        """The column of `examples` with the verdict."""

    @abstractmethod
    def example_items(
        self, examples: Examples, corpus: Corpus, runtime: Runtime
    ) -> Iterable[tuple[ItemT_co, Sequence[float], str]]:
        """Return examples as items of the judge, each with a score per correction and a reason.

        Args:
            corpus: the sources and corrections of the examples, row by row.
        """

    @property
    def shown_examples(self) -> Examples | None:
        """The judged corrections that the model is shown; None without.

        Raises:
            InputError: the file cannot be used.
        """
        if self.examples is None:
            return None
        return read_examples(self.examples, self.example_verdict, reasons=self.reason)

    def refuse_leaks(self, tested: Mapping[str, Sequence[str]]) -> None:
        """Refuse examples whose sentences are judged; see `Examples.refuse_leaks`."""
        if (examples := self.shown_examples) is not None:
            examples.refuse_leaks(tested)

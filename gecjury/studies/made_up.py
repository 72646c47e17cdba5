"""Studies of metrics on texts that are made up from a corpus, such as damaged corrections.

`attack` and `maege` are such studies: they say how texts are made and what their scores mean. Here
the texts are scored, and sentences are resampled.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

from gecjury.core.settings import option
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.study import SCORES, Output, Study, Work

if TYPE_CHECKING:
    from gecjury.core.arrays import FloatArray
    from gecjury.corpus.corpus import Corpus
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import ScoreTable

PlaceT = TypeVar("PlaceT")
"""Says where in a corpus of made-up texts each of them is."""

MadeTexts: TypeAlias = "Callable[[Scorer], Iterable[tuple[Corpus, PlaceT]]]"
"""A function that returns the corpora that a metric scores."""


@dataclass(frozen=True)
class ScoredTexts(Generic[PlaceT]):
    """A metric's scores of made-up texts.

    Attributes:
        parts: the scores of each corpus; at least one.
    """

    scorer: Scorer
    parts: Sequence[tuple[ScoreTable, PlaceT]]

    @property
    def label(self) -> str:
        """The metric's name with its options."""
        return self.parts[0][0].signature.label

    @property
    def signature(self) -> str:
        """The metric's signature."""
        return str(self.parts[0][0].signature)

    @property
    def seconds(self) -> float:
        """The time that scoring took."""
        return sum(table.seconds for table, _ in self.parts)


@dataclass(frozen=True, kw_only=True)
class MadeUp(Study, Generic[PlaceT]):
    """A study that scores texts that it makes up.

    Attributes:
        seed: seed of the texts and of the resamples.
        resampling: the bootstrap over sentences, for intervals.
    """

    keeps: ClassVar[Output | None] = SCORES
    seed: int = option(0, least=0)
    resampling: Resampling = option(Resampling(over="sentences"), offers=("resamples",))

    @abstractmethod
    def make(self, work: Work) -> MadeTexts[PlaceT]:
        """Make up the texts."""

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield every metric with each corpus of made-up texts that it scores."""
        made = self.make(work)
        for scorer in work.scorers:
            for corpus, _ in made(scorer):
                yield scorer, corpus

    def scored(self, work: Work, made: MadeTexts[PlaceT]) -> list[ScoredTexts[PlaceT]]:
        """Score the texts with every metric.

        Raises:
            OutputError: the folder of score files cannot be written; raised before scoring, which
                may take hours.
        """
        from gecjury.scoring.score_files import check_writable, score_with_files

        if work.folder:
            check_writable(work.folder)
        return [
            ScoredTexts(
                scorer,
                [
                    (score_with_files(scorer, corpus, work.folder, work.runtime), place)
                    for corpus, place in made(scorer)
                ],
            )
            for scorer in work.scorers
        ]

    def resampled(self, sentences: int, stream: int) -> FloatArray:
        """Return how often each sentence occurs in each resample, resamples × sentences.

        All metrics use the same resamples, so that their intervals can be compared.

        Args:
            stream: number of the random stream.
        """
        from gecjury.stats.bootstrap import sentence_counts

        resamples = self.resampling.resamples
        check_resamples(resamples, sentences)
        return sentence_counts(sentences, resamples, [self.seed, stream])


def notes_of(scored: Sequence[ScoredTexts[PlaceT]]) -> tuple[str, ...]:
    """Return the remarks of scorers on the texts, each once."""
    tables = (table for one in scored for table, _ in one.parts)
    return tuple(dict.fromkeys(note for table in tables for note in table.statistics.notes))

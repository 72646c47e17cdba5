"""gec-metrics' kinds of metrics, for its own calls and for metrics that users derive from them."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gecjury.errors import OptionError
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.trueskill import Game, rate

PairwiseScores = list[list[list[int | None]]]
"""Sentences × systems × systems: 1 where the first wins, −1 where it loses, 0 for a tie; None
where the two are not compared."""


@dataclass
class Score:
    """Counts or weights of a hypothesis, and what follows from them.

    Attributes:
        tp: right edits.
        fp: wrong ones.
        fn: missed ones.
        tn: what was rightly left.
        beta: weight of recall.
    """

    tp: float = 0.0
    fp: float = 0.0
    fn: float = 0.0
    tn: float = 0.0
    beta: float = 0.5

    def __add__(self, other: Score) -> Score:
        return Score(
            self.tp + other.tp,
            self.fp + other.fp,
            self.fn + other.fn,
            self.tn + other.tn,
            self.beta,
        )

    def __lt__(self, other: Score) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[float, ...]:
        return self.f, self.tp, -self.fp, -self.fn

    @property
    def precision(self) -> float:
        """Share of right edits among those made; 1 where none is wrong."""
        return self.tp / (self.tp + self.fp) if self.fp else 1.0

    @property
    def recall(self) -> float:
        """Share of wanted edits that were made; 1 where none is missed."""
        return self.tp / (self.tp + self.fn) if self.fn else 1.0

    @property
    def f(self) -> float:
        """F-score, 0 to 1; 0 where recall is 0, also with β = 0."""
        precision, recall, square = self.precision, self.recall, self.beta**2
        both = square * precision + recall
        return (1 + square) * precision * recall / both if both else 0.0

    @property
    def accuracy(self) -> float:
        """Share of what is right; 0 where nothing is counted."""
        whole = self.tp + self.fp + self.fn + self.tn
        return (self.tp + self.tn) / whole if whole else 0.0


class MetricBase(ABC):
    """What all metrics share: settings, verdicts on pairs of systems, TrueSkill."""

    Score = Score

    @dataclass
    class Config:
        """Settings."""

    def __init__(self, config: Any = None) -> None:
        self.config: Any = self.Config() if config is None else config

    @abstractmethod
    def score_pairwise(self, *args: Any, **kwargs: Any) -> PairwiseScores:
        """Who wins on each sentence, from what `inputs_handler` gives."""

    @abstractmethod
    def rank_systems(self, *args: Any, **kwargs: Any) -> list[float]:
        """A score a system, from what `inputs_handler` gives and `aggregation`."""

    def make_pairwise_scores(self, scores: Sequence[Sequence[float]]) -> PairwiseScores:
        """Who wins on each sentence, from sentence scores, systems × sentences."""
        return [
            [[(one > two) - (one < two) for two in column] for one in column]
            for column in zip(*scores, strict=True)
        ]

    def run_trueskill(self, pairwise_scores: PairwiseScores) -> list[float]:
        """TrueSkill's means over verdicts on pairs, in their order; None is left out."""
        systems = len(pairwise_scores[0]) if pairwise_scores else 0
        pairs = list(itertools.combinations(range(systems), 2))
        outcomes = (
            (first, second, verdict)
            for table in pairwise_scores
            for first, second in pairs
            if (verdict := table[first][second]) is not None
        )
        means, _, _ = rate(outcomes, systems, Game())
        return [float(mean) for mean in means]

    def _ranked(
        self,
        corpus: Callable[[], list[float]],
        pairwise: Callable[[], PairwiseScores],
        aggregation: str,
    ) -> list[float]:
        if aggregation == "default":
            return corpus()
        if aggregation == "trueskill":
            return self.run_trueskill(pairwise())
        raise OptionError(f"aggregation={aggregation!r:.40}: expected default or trueskill")


class Texts(NamedTuple):
    """What a call is about.

    Attributes:
        sources: one a sentence.
        systems: systems × sentences.
        references: references × sentences; empty for a metric that reads none.
    """

    sources: Sequence[str]
    systems: Sequence[Sequence[str]]
    references: Sequence[Sequence[str]] = ()

    def as_lists(self) -> tuple[list[str], list[list[str]], list[list[str]]]:
        """The same, as methods of metrics take them."""
        systems, references = (
            [list(lines) for lines in side] for side in (self.systems, self.references)
        )
        return list(self.sources), systems, references

    def of_named_systems(
        self,
    ) -> tuple[Sequence[str], Mapping[str, Sequence[str]], Sequence[Sequence[str]]]:
        """The same, systems under made-up names."""
        names = {f"hypothesis {number}": lines for number, lines in enumerate(self.systems)}
        return self.sources, names, self.references


class MetricBaseForReferenceBased(MetricBase):
    """A metric that reads sources, hypotheses and references (references × sentences)."""

    @abstractmethod
    def score_sentence(
        self, sources: list[str], hypotheses: list[str], references: list[list[str]]
    ) -> list[float]:
        """A score a sentence."""

    def score_corpus(
        self, sources: list[str], hypotheses: list[str], references: list[list[str]]
    ) -> float:
        """The mean of the sentence scores, unless a metric says otherwise."""
        return _mean(self.score_sentence(sources, hypotheses, references))

    def score_pairwise(
        self, sources: list[str], hypotheses: list[list[str]], references: list[list[str]]
    ) -> PairwiseScores:
        """Who wins on each sentence, of systems × sentences."""
        texts = Texts(sources, hypotheses, references)
        return self.make_pairwise_scores(self.sentence_scores(texts))

    def rank_systems(
        self,
        sources: list[str],
        hypotheses: list[list[str]],
        references: list[list[str]],
        aggregation: str = "default",
    ) -> list[float]:
        """A score a system: of its corpus, or by TrueSkill over sentence scores."""
        return self._ranked(
            lambda: self.corpus_scores(Texts(sources, hypotheses, references)),
            lambda: self.score_pairwise(sources, hypotheses, references),
            aggregation,
        )

    def corpus_scores(self, texts: Texts) -> list[float]:
        """A score a system."""
        sources, systems, references = texts.as_lists()
        return [self.score_corpus(sources, lines, references) for lines in systems]

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Scores, systems × sentences."""
        sources, systems, references = texts.as_lists()
        return [self.score_sentence(sources, lines, references) for lines in systems]


class MetricBaseForReferenceFree(MetricBase):
    """A metric that reads sources and hypotheses."""

    @abstractmethod
    def score_sentence(self, sources: list[str], hypotheses: list[str]) -> list[float]:
        """A score a sentence."""

    def score_corpus(self, sources: list[str], hypotheses: list[str]) -> float:
        """The mean of the sentence scores, unless a metric says otherwise."""
        return _mean(self.score_sentence(sources, hypotheses))

    def score_pairwise(self, sources: list[str], hypotheses: list[list[str]]) -> PairwiseScores:
        """Who wins on each sentence, of systems × sentences."""
        return self.make_pairwise_scores(self.sentence_scores(Texts(sources, hypotheses)))

    def rank_systems(
        self, sources: list[str], hypotheses: list[list[str]], aggregation: str = "default"
    ) -> list[float]:
        """A score a system: of its corpus, or by TrueSkill over sentence scores."""
        return self._ranked(
            lambda: self.corpus_scores(Texts(sources, hypotheses)),
            lambda: self.score_pairwise(sources, hypotheses),
            aggregation,
        )

    def corpus_scores(self, texts: Texts) -> list[float]:
        """A score a system."""
        sources, systems, _ = texts.as_lists()
        return [self.score_corpus(sources, lines) for lines in systems]

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Scores, systems × sentences."""
        sources, systems, _ = texts.as_lists()
        return [self.score_sentence(sources, lines) for lines in systems]


class MetricBaseForSourceFree(MetricBase):
    """A score of hypotheses by references (references × sentences) alone."""

    @abstractmethod
    def score_sentence(self, hypotheses: list[str], references: list[list[str]]) -> list[float]:
        """A score a sentence."""

    def score_corpus(self, hypotheses: list[str], references: list[list[str]]) -> float:
        """The mean of the sentence scores, unless a metric says otherwise."""
        return _mean(self.score_sentence(hypotheses, references))

    def score_pairwise(
        self, hypotheses: list[list[str]], references: list[list[str]]
    ) -> PairwiseScores:
        """Who wins on each sentence, of systems × sentences."""
        return self.make_pairwise_scores([self.score_sentence(h, references) for h in hypotheses])

    def rank_systems(
        self, hypotheses: list[list[str]], references: list[list[str]], aggregation: str = "default"
    ) -> list[float]:
        """A score a system: of its corpus, or by TrueSkill over sentence scores."""
        return self._ranked(
            lambda: [self.score_corpus(lines, references) for lines in hypotheses],
            lambda: self.score_pairwise(hypotheses, references),
            aggregation,
        )


def _mean(scores: Sequence[float]) -> float:
    if not scores:
        raise OptionError("no sentences: expected at least one")
    return sum(scores) / len(scores)


def inputs_handler(
    metric: MetricBase, sources: Any, hypotheses: Any, references: Any
) -> dict[str, Any]:
    """What a kind of metric reads, as keywords for its methods.

    Raises:
        OptionError: (a ValueError) the metric is of no kind that is known.
    """
    if isinstance(metric, MetricBaseForReferenceBased):
        return {"sources": sources, "hypotheses": hypotheses, "references": references}
    if isinstance(metric, MetricBaseForReferenceFree):
        return {"sources": sources, "hypotheses": hypotheses}
    if isinstance(metric, MetricBaseForSourceFree):
        return {"hypotheses": hypotheses, "references": references}
    raise OptionError(
        f"{type(metric).__name__} is derived from none of gec-metrics' kinds of metrics; take one "
        "from get_metric, or derive it from MetricBaseForReferenceBased and the like"
    )


class _Scored:
    """What metrics of this package share behind those calls: all systems are scored at once."""

    scorer: Scorer
    runtime: Runtime
    whole: ClassVar[bool] = False
    """Whether scores are whole numbers."""

    def table(self, texts: Texts) -> ScoreTable:
        """The metric's own table of some systems.

        Raises:
            InputError: lengths differ, something is no text, or references are missing.
        """
        return self.scorer.score(*texts.of_named_systems(), runtime=self.runtime)

    def corpus_scores(self, texts: Texts) -> list[float]:
        """A score a system."""
        found = self.table(texts).by_system.score
        return [self._number(score) for score in found]

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Scores, systems × sentences."""
        found: Any = self.table(texts).sentences
        return [[self._number(score) for score in line] for line in np.asarray(found)]

    def _number(self, score: float) -> float:
        return int(score) if self.whole else float(score)


class ByReference(_Scored, MetricBaseForReferenceBased):
    """A metric of this package that reads references."""

    def score_sentence(
        self, sources: list[str], hypotheses: list[str], references: list[list[str]]
    ) -> list[float]:
        """A score a sentence."""
        return self.sentence_scores(Texts(sources, [hypotheses], references))[0]

    def score_corpus(
        self, sources: list[str], hypotheses: list[str], references: list[list[str]]
    ) -> float:
        """The metric's own corpus score."""
        return self.corpus_scores(Texts(sources, [hypotheses], references))[0]


class WithoutReference(_Scored, MetricBaseForReferenceFree):
    """A metric of this package that reads no references."""

    def score_sentence(self, sources: list[str], hypotheses: list[str]) -> list[float]:
        """A score a sentence."""
        return self.sentence_scores(Texts(sources, [hypotheses]))[0]

    def score_corpus(self, sources: list[str], hypotheses: list[str]) -> float:
        """The metric's own corpus score."""
        return self.corpus_scores(Texts(sources, [hypotheses]))[0]

"""The base classes of metrics of gec-metrics, also for metrics that users derive from them."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import BoundArguments, Parameter, Signature
from typing import Any, ClassVar, NamedTuple

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.trueskill import Game, rate

PairwiseScores = list[list[list[int | None]]]
"""Sentences × systems × systems: 1 if the first system wins, −1 if it loses, 0 for a tie, and None
if the two are not compared."""


@dataclass
class Score:
    """Counts or weights of a hypothesis, and the scores computed from them.

    Attributes:
        tp: right edits.
        fp: wrong edits.
        fn: missed edits.
        tn: tokens correctly left unchanged.
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
        """Return the share of right edits among those made; 1 if none is wrong."""
        return self.tp / (self.tp + self.fp) if self.fp else 1.0

    @property
    def recall(self) -> float:
        """Return the share of wanted edits that were made; 1 if none is missed."""
        return self.tp / (self.tp + self.fn) if self.fn else 1.0

    @property
    def f(self) -> float:
        """Return the F-score, 0 to 1; it is 0 if recall is 0, even with β = 0."""
        precision, recall, square = self.precision, self.recall, self.beta**2
        # The denominator is 0 if β and recall are 0.
        both = square * precision + recall
        return (1 + square) * precision * recall / both if both else 0.0

    @property
    def accuracy(self) -> float:
        """Return the share of right decisions; 0 if nothing is counted."""
        whole = self.tp + self.fp + self.fn + self.tn
        return (self.tp + self.tn) / whole if whole else 0.0


class MetricBase(ABC):
    """The methods that all metrics share: scores, outcomes of pairs of systems, TrueSkill.

    Methods accept the arguments listed in `reads`, in that order or by name. Hypotheses are the
    sentences of one system for `score_sentence` and `score_corpus`, and systems × sentences for
    `score_pairwise` and `rank_systems`. References are references × sentences.
    """

    Score = Score
    reads: ClassVar[tuple[str, ...]] = ()

    @dataclass
    class Config:
        """Settings."""

    def __init__(self, config: Any = None) -> None:
        self.config: Any = self.Config() if config is None else config

    @abstractmethod
    def score_sentence(self, *texts: Any, **named: Any) -> list[float]:
        """Return a score for each sentence."""

    def score_corpus(self, *texts: Any, **named: Any) -> float:
        """Return the corpus score: the mean of the sentence scores unless a metric overrides it."""
        scores = self.score_sentence(*texts, **named)
        if not scores:
            raise OptionError("no sentences: expected at least one")
        return sum(scores) / len(scores)

    def score_pairwise(self, *texts: Any, **named: Any) -> PairwiseScores:
        """Return the outcome of each pair of systems on each sentence."""
        return self.make_pairwise_scores(self.sentence_scores(self._texts(texts, named)))

    def rank_systems(self, *texts: Any, **named: Any) -> list[float]:
        """Return a score for each system: its corpus score, or TrueSkill over sentence scores.

        `aggregation`, the last argument, is `default` or `trueskill`.
        """
        # Bound by a signature, since arguments differ by metric and may be positional or named.
        *arguments, aggregation = self._call(texts, named).args
        if aggregation == "default":
            return self.corpus_scores(self._texts(arguments, {}))
        if aggregation == "trueskill":
            return self.run_trueskill(self.score_pairwise(*arguments))
        raise OptionError(f"aggregation={aggregation!r:.40}: expected default or trueskill")

    def corpus_scores(self, texts: Texts) -> list[float]:
        """Return a score for each system."""
        return [self.score_corpus(*arguments) for arguments in self._by_system(texts)]

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Return scores, systems × sentences."""
        return [self.score_sentence(*arguments) for arguments in self._by_system(texts)]

    def _by_system(self, texts: Texts) -> Iterator[list[Any]]:
        """Yield the arguments listed in `reads` for each system."""
        references = [list(lines) for lines in texts.references]
        for lines in texts.systems:
            by_name = {
                "sources": list(texts.sources),
                "hypotheses": list(lines),
                "references": references,
            }
            yield [by_name[name] for name in self.reads]

    def _call(self, texts: Sequence[Any], named: Mapping[str, Any]) -> BoundArguments:
        """Return the arguments of a call, with the default aggregation if none is given."""
        places = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.reads]
        last = Parameter("aggregation", Parameter.POSITIONAL_OR_KEYWORD, default="default")
        bound = Signature([*places, last]).bind(*texts, **named)
        bound.apply_defaults()
        return bound

    def _texts(self, texts: Sequence[Any], named: Mapping[str, Any]) -> Texts:
        """Return the texts of a call."""
        read = self._call(texts, named).arguments
        return Texts(read.get("sources", ()), read["hypotheses"], read.get("references", ()))

    def make_pairwise_scores(self, scores: Sequence[Sequence[float]]) -> PairwiseScores:
        """Return the outcomes of pairs by sentence, given sentence scores (systems × sentences)."""
        return [
            [[(first > second) - (first < second) for second in column] for first in column]
            for column in zip(*scores, strict=True)
        ]

    def run_trueskill(self, pairwise_scores: PairwiseScores) -> list[float]:
        """Return TrueSkill's means over the outcomes of pairs, in their order, without None."""
        systems = len(pairwise_scores[0]) if pairwise_scores else 0
        pairs = list(itertools.combinations(range(systems), 2))
        outcomes = (
            (first, second, verdict)
            for table in pairwise_scores
            for first, second in pairs
            if (verdict := table[first][second]) is not None
        )
        # TrueSkill depends on the order of games: sentence by sentence, as in gec-metrics.
        means, _ = rate(outcomes, systems, Game())
        return [float(mean) for mean in means]


class Texts(NamedTuple):
    """The texts of a call.

    Attributes:
        sources: one per sentence.
        systems: systems × sentences.
        references: references × sentences; empty for a metric that does not use them.
    """

    sources: Sequence[str]
    systems: Sequence[Sequence[str]]
    references: Sequence[Sequence[str]] = ()

    def of_named_systems(
        self,
    ) -> tuple[Sequence[str], Mapping[str, Sequence[str]], Sequence[Sequence[str]]]:
        """Return the texts with made-up names of the systems."""
        names = {f"hypothesis {number}": lines for number, lines in enumerate(self.systems)}
        return self.sources, names, self.references


class MetricBaseForReferenceBased(MetricBase):
    """A metric that reads sources, hypotheses and references."""

    reads: ClassVar[tuple[str, ...]] = ("sources", "hypotheses", "references")


class MetricBaseForReferenceFree(MetricBase):
    """A metric that reads sources and hypotheses."""

    reads: ClassVar[tuple[str, ...]] = ("sources", "hypotheses")


class MetricBaseForSourceFree(MetricBase):
    """A metric that scores hypotheses only by references."""

    reads: ClassVar[tuple[str, ...]] = ("hypotheses", "references")


def inputs_handler(
    metric: MetricBase, sources: Any, hypotheses: Any, references: Any
) -> dict[str, Any]:
    """Return the texts that a metric reads, as keyword arguments for its methods.

    Raises:
        OptionError: (a ValueError) the metric is not derived from one of the base classes.
    """
    if not getattr(metric, "reads", ()):
        raise OptionError(
            f"{type(metric).__name__} is not derived from a base class of gec-metrics; use a "
            "metric from get_metric, or derive it from MetricBaseForReferenceBased or a similar "
            "class"
        )
    texts = {"sources": sources, "hypotheses": hypotheses, "references": references}
    return {name: texts[name] for name in metric.reads}


class _Scored(MetricBase):
    """A metric of this package with that interface; all systems are scored at once."""

    whole: ClassVar[bool] = False
    """True if scores are integers."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.runtime = Runtime(
            device="cpu" if getattr(self.config, "no_cuda", False) else "auto",
            batch_size=getattr(self.config, "batch_size", Runtime.batch_size),
        )
        self.scorer = self._scorer()

    @abstractmethod
    def _scorer(self) -> Scorer:
        """Return the metric with its settings."""

    def table(self, texts: Texts) -> ScoreTable:
        """Return the metric's score table of the systems.

        Raises:
            InputError: lengths differ, something is not text, or references are missing.
        """
        return self.scorer.score(*texts.of_named_systems(), runtime=self.runtime)

    def corpus_scores(self, texts: Texts) -> list[float]:
        """Return a score for each system."""
        return self._numbers(self.table(texts).by_system.score)

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Return scores, systems × sentences."""
        return [self._numbers(line) for line in self.table(texts).sentences]

    def score_sentence(self, *texts: Any, **named: Any) -> list[float]:
        """Return a score for each sentence."""
        return self.sentence_scores(self._alone(texts, named))[0]

    def score_corpus(self, *texts: Any, **named: Any) -> float:
        """Return the metric's own corpus score."""
        return self.corpus_scores(self._alone(texts, named))[0]

    def _alone(self, texts: Sequence[Any], named: Mapping[str, Any]) -> Texts:
        """Return the texts of a call about one system."""
        # Here `systems` are the sentences of the one system.
        call: Any = self._texts(texts, named)
        return Texts(call.sources, [call.systems], call.references)

    def _numbers(self, scores: FloatArray) -> list[float]:
        return [int(score) if self.whole else float(score) for score in scores]


class ByReference(_Scored, MetricBaseForReferenceBased):
    """A metric of this package that uses references."""


class WithoutReference(_Scored, MetricBaseForReferenceFree):
    """A metric of this package that does not use references."""

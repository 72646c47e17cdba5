"""M2: the edits of a hypothesis chosen so that most of them match gold edits (MaxMatch)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.m2 import M2Sentence
from gecjury.errors import InputError, OptionError
from gecjury.refbased.counts import ratio
from gecjury.refbased.edit_metric import check_beta
from gecjury.refbased.m2.maxmatch import Counts, f_beta, match
from gecjury.refbased.m2.paths import GoldEdit
from gecjury.refbased.references import RatioRule, choose_best, choose_running
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, Statistics

__all__ = ["M2", "SentenceM2", "gold_edits"]


@dataclass(frozen=True)
class M2(Scorer):
    """F0.5 over the edits that agree best with gold M2 edits (Dahlmeier and Ng 2012).

    Range 0 to 1, higher is better; case-sensitive. Precision is 1 when nothing is proposed,
    recall 1 when nothing is gold. The corpus score takes, sentence by sentence, the annotator with
    the best running F (ties: more correct, then smaller proposed + β²·gold); the sentence score the
    best by itself. A sentence without A lines has one empty gold set; an annotator without lines in
    a sentence that others annotated is not counted there. Counts equal the official scorer 3.2's.

    Attributes:
        beta: weight of recall.
        unchanged: most unchanged words inside an edit.
    """

    name: ClassVar[str] = "m2"
    family: ClassVar[str] = "refbased"
    summary: ClassVar[str] = "F0.5 over edits matched as well as possible to gold M2 edits"
    needs: ClassVar[frozenset[str]] = frozenset({"gold"})
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})

    beta: float = 0.5
    unchanged: int = 2

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)
        if not 0 <= self.unchanged <= 30:
            raise OptionError(f"{self.name}: unchanged={self.unchanged}; expected 0 to 30")

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Correct, proposed, gold: systems × sentences × annotators × 3; NaN if absent."""
        if corpus.gold is None:
            raise InputError(f"{self.name} needs gold edits: give an M2 file with --m2 FILE")
        golds = [gold_edits(block) for block in corpus.gold]
        width = max(len(gold) for gold in golds)
        values = np.full((len(corpus.systems), len(corpus), width, 3), np.nan)
        lines = [version.lines for version in corpus.systems.values()]
        rows = runtime.track(range(len(corpus)), f"{self.name}: matching", len(corpus))
        for row in rows:
            source, gold = corpus.gold[row].source.split(), golds[row]
            known: dict[str, list[Counts]] = {}
            for system, texts in enumerate(lines):
                text = texts[row]
                if text not in known:
                    known[text] = match(source, text.split(), gold, self.unchanged)
                values[system, row, : len(gold)] = known[text]
        return Statistics(values)

    def best_annotators(self, values: FloatArray) -> IntArray:
        """The annotator that each sentence is scored by, from counts ... × annotators × 3."""
        return choose_best(self._keys(values, values), ~np.isnan(values[..., 0]))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """The best annotator's score of each sentence."""
        values = statistics.values
        best = self.best_annotators(values)
        return self._scores(np.take_along_axis(values, best[..., None, None], axis=2)[:, :, 0])

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Scores of the counts summed by the running choice of annotators."""
        return self._scores(choose_running(statistics.values, self._rule, draws)[0])

    @property
    def _rule(self) -> RatioRule:
        square = self.beta * self.beta
        return RatioRule(self._keys, 1 + square, (0.0, 1.0, square))

    def _keys(self, sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        del own
        correct, proposed, gold = np.moveaxis(sums, -1, 0)
        weighted = proposed + self.beta * self.beta * gold
        return (f_beta(correct, proposed, gold, self.beta), correct, -weighted)

    def _scores(self, counts: FloatArray) -> Scores:
        correct, proposed, gold = np.moveaxis(counts, -1, 0)
        return Scores(
            f_beta(correct, proposed, gold, self.beta),
            ratio(correct, proposed, 1.0),
            ratio(correct, gold, 1.0),
        )


@dataclass(frozen=True)
class SentenceM2(M2):
    """Mean of the M2 scores of single sentences, 0 to 1, higher is better."""

    name: ClassVar[str] = "sentm2"
    summary: ClassVar[str] = "mean of M2's sentence scores"

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Means over the sentences, of a resampled corpus with `draws`."""
        return self.sentence_scores(statistics).mean(draws)


def gold_edits(block: M2Sentence) -> list[list[GoldEdit]]:
    """The gold edits of every annotator with lines in the block; one empty set without any."""
    golds = [
        [
            GoldEdit(
                a.start,
                a.end,
                tuple("" if c == "-NONE-" else c.strip() for c in a.correction.split("||")),
            )
            for a in block.annotations
            if a.annotator == annotator and not a.is_noop
        ]
        for annotator in block.annotators
    ]
    return golds or [[]]

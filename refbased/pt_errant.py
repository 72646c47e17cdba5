"""PT-ERRANT: ERRANT's counts, each edit weighted by how much it moves BERTScore or BARTScore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.arrays import IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.refbased.edit_metric import EditScorer, check_beta
from gecjury.refbased.references import RatioRule, best_f, choose_best, choose_running, prf
from gecjury.refbased.weighing.edit_weights import (
    EditWeights,
    Key,
    Kinds,
    WeightModel,
    Weights,
    _kinds,
    weight_model,
)
from gecjury.runtime import Runtime
from gecjury.scoring.scores import Scores, Statistics

__all__ = ["PTERRANT"]


@dataclass(frozen=True)
class PTERRANT(EditScorer):
    """F-score over weighted edits (Gong et al. 2022).

    An edit e weighs |BERTScore(S with e alone, R) − BERTScore(S, R)|, or BARTScore's change
    likewise. Range 0 to 1, higher is better. Precision is 1 without false positives, recall 1
    without false negatives. Several references: as for ERRANT, both in a sentence and over the
    corpus.

    Attributes:
        weights: `bertscore`, or `bartscore` (see `BARTScore`).
        model: encoder of BERTScore (`embedded` works offline) or sequence-to-sequence model of
            BARTScore; None for google-bert/bert-base-uncased, facebook/bart-large-cnn.
        layer: hidden states BERTScore compares; None for those the bert-score package takes (9 of
            bert-base-uncased, else the last).
        revision: commit, tag or branch of a hub model.
        beta: weight of recall.
    """

    name: ClassVar[str] = "pt-errant"
    summary: ClassVar[str] = "ERRANT with edits weighted by their effect on BERTScore or BARTScore"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    weights: Weights = "bertscore"
    model: str | None = None
    layer: int | None = None
    revision: str | None = None
    beta: float = 0.5

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)
        _ = self.weight_model  # refuses options that do not go together

    @property
    def weight_model(self) -> WeightModel:
        """What weighs edits."""
        return weight_model(self.weights, self.model, self.layer, self.revision)

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """What decides edits, and the model's files."""
        return {**super().extra_signature(runtime), "model": self.weight_model.identity}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Weighted TP, FP, FN: systems × sentences × references × 3."""
        edits = self.edits(corpus, runtime)
        mine = [[_kinds(line) for line in lines] for lines in edits.systems.values()]
        theirs = [[_kinds(line) for line in lines] for lines in edits.references]
        weights = EditWeights(corpus.sources, [version.lines for version in corpus.references])
        for row in range(len(corpus)):
            for index, reference in enumerate(theirs):
                for some in (*(lines[row] for lines in mine), reference[row]):
                    weights.want(row, index, some)
        notes = weights.compute(self.weight_model, runtime)
        values = np.zeros((len(mine), len(corpus), len(theirs), 3))
        types: dict[tuple[int, int, int], dict[tuple[str, int], float]] = {}
        for system, lines in enumerate(mine):
            for row, own in enumerate(lines):
                for index, reference in enumerate(theirs):
                    place = (system, row, index)
                    types[place] = _count(own, reference[row], weights.of(row, index))
                    for (_, kind), amount in types[place].items():
                        values[place][kind] += amount
        _, chosen = choose_running(values, self._rule)
        by_type: dict[str, dict[str, list[float]]] = {}
        for system, name in enumerate(edits.systems):
            table = by_type.setdefault(name, {})
            for row in range(len(corpus)):
                for (error, kind), amount in types[system, row, int(chosen[system, row])].items():
                    table.setdefault(error, [0.0, 0.0, 0.0])[kind] += amount
        return Statistics(values, details={"by_type": by_type}, notes=(*edits.notes, *notes))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """The best reference's score of each sentence."""
        values = statistics.values
        best = choose_best(self._rule(values, values), np.ones(values.shape[:3], dtype=bool))
        chosen = np.take_along_axis(values, best[..., None, None], axis=2)[:, :, 0]
        precision, recall, score = prf(chosen, self.beta)
        return Scores(score, precision, recall)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Scores of the weights summed by the running choice of references."""
        totals, _ = choose_running(statistics.values, self._rule, draws)
        precision, recall, score = prf(totals, self.beta)
        return Scores(score, precision, recall)

    @property
    def _rule(self) -> RatioRule:
        return best_f(self.beta)


def _count(
    mine: Kinds, theirs: Kinds, weights: Mapping[Key, float]
) -> dict[tuple[str, int], float]:
    """TP (0) and FP (1) by the hypothesis edit's type, FN (2) by the reference edit's."""
    found: dict[tuple[str, int], float] = {}
    for key, kind in mine.items():
        place = (kind, 0 if key in theirs else 1)
        found[place] = found.get(place, 0.0) + weights[key]
    for key, kind in theirs.items():
        if key not in mine:
            found[kind, 2] = found.get((kind, 2), 0.0) + weights[key]
    return found

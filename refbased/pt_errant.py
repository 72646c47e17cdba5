"""PT-ERRANT: ERRANT's counts, each edit weighted by how much it moves BERTScore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.models.precision import DType
from gecjury.refbased.bertscore import (
    EditKey,
    EditWeights,
    Kinds,
    ModelWeighted,
    edit_kinds,
)
from gecjury.refbased.edit_metric import TypedCounts, TypedEditMetric, Types, distinct_corrections
from gecjury.refbased.references import wordless
from gecjury.scoring.abilities import EditCase, EditCounts
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class PTERRANT(ModelWeighted, TypedEditMetric):
    """F-score over weighted edits (Gong et al. 2022).

    The weight of an edit e is |BERTScore(S with only e applied, R) − BERTScore(S, R)|. Range 0 to
    1, higher is better. Precision is 1 without false positives, recall 1 without false negatives.
    An output without words has no hits. Several references are handled as in ERRANT, both for a
    sentence and for the corpus.

    Attributes:
        beta: weight of recall.
        dtype: precision in which BERTScore's encoder computes: `bfloat16` is several times as fast
            on processors that support it but less exact, `float16` is for GPUs,
            `float32-onednn` differs only in the last bits and is faster on AMD processors.
    """

    name: ClassVar[str] = "pt-errant"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "ERRANT with edits weighted by their effect on BERTScore"
    paper: ClassVar[str] = "Gong et al. 2022"
    apart: ClassVar[bool] = False

    beta: float = option(0.5, least=0, most=1e100)
    dtype: DType = "float32"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Compute weighted TP, FP, FN: systems × sentences × references × 3."""
        edits = self.edits(corpus, runtime)
        outputs = [[edit_kinds(line) for line in lines] for lines in edits.systems.values()]
        references = [[edit_kinds(line) for line in lines] for lines in edits.references]
        weights = EditWeights(corpus.sources, [version.lines for version in corpus.references])
        for row in range(len(corpus)):
            for index, reference in enumerate(references):
                for text_edits in (*(lines[row] for lines in outputs), reference[row]):
                    weights.want(row, index, text_edits)
        notes = weights.compute(self.weight_model, runtime)
        values = np.zeros((len(outputs), len(corpus), len(references), 3))
        types: dict[tuple[int, int, int], Types] = {}
        for system, lines in enumerate(outputs):
            for row, kinds in enumerate(lines):
                for index, reference in enumerate(references):
                    # Kept for every reference: which one counts is known only at the end.
                    place = (system, row, index)
                    types[place] = _count(kinds, reference[row], weights.of(row, index))
                    values[place] = _totals(types[place])
        counts = TypedCounts(values, lambda *place: types[place], edits, notes)
        return next(self.typed_statistics([counts.without_hits(wordless(corpus))]))

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return the edit's weight, negative where the reference lacks the edit."""
        references = [
            [edit_kinds(line) for line in lines] for lines in self.reference_edits(corpus, runtime)
        ]
        corrections, place = distinct_corrections(cases)
        outputs = [edit_kinds(edits) for _, edits in corrections]
        weights = EditWeights(corpus.sources, [version.lines for version in corpus.references])
        for (row, _), kinds in zip(corrections, outputs, strict=True):
            for index, lines in enumerate(references):
                weights.want(row, index, {**kinds, **lines[row]})
        notes = weights.compute(self.weight_model, runtime)
        counts = np.zeros((len(corrections), len(references), 3))
        for number, ((row, _), kinds) in enumerate(zip(corrections, outputs, strict=True)):
            for index, lines in enumerate(references):
                counts[number, index] = _totals(_count(kinds, lines[row], weights.of(row, index)))
        credit = np.zeros((len(cases), len(references)))
        for number, case in enumerate(cases):
            key = (case.edit.start, case.edit.end, case.edit.correction)
            for index, lines in enumerate(references):
                # A wrong edit loses as much as it would have earned if it were right.
                sign = 1.0 if key in lines[case.row] else -1.0
                credit[number, index] = sign * weights.of(case.row, index)[key]
        return self.credited(credit, counts, place, tuple(notes))


def _count(
    mine: Kinds, theirs: Kinds, weights: Mapping[EditKey, float]
) -> dict[tuple[str, int], float]:
    """Sum TP (0) and FP (1) weights by the hypothesis edit's type, FN (2) by the reference's."""
    sums: dict[tuple[str, int], float] = {}
    for key, kind in mine.items():
        cell = (kind, 0 if key in theirs else 1)
        sums[cell] = sums.get(cell, 0.0) + weights[key]
    for key, kind in theirs.items():
        if key not in mine:
            sums[kind, 2] = sums.get((kind, 2), 0.0) + weights[key]
    return sums


def _totals(types: Types) -> list[float]:
    """Sum TP, FP and FN over the types."""
    totals = [0.0, 0.0, 0.0]
    for (_, kind), amount in types.items():
        totals[kind] += amount
    return totals

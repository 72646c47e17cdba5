"""PT-M2: M2's counts, each edit weighted by how much it moves BERTScore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.models.precision import DType
from gecjury.refbased.bertscore import EditKey, EditWeights, ModelWeighted
from gecjury.refbased.m2.maxmatch import extract_system_edits
from gecjury.refbased.m2.metric import M2, gold_edits
from gecjury.refbased.m2.paths import GoldEdit, SystemEdit
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class PTM2(ModelWeighted, M2):
    """F0.5 over weighted edits matched to gold M2 edits (Gong et al. 2022).

    The weight of an edit e is |BERTScore(S with only e applied, R) − BERTScore(S, R)|, where R is
    the source with the annotator's edits. Sums of the weights
    of correct, proposed and gold edits replace M2's counts; everything else is as in M2: range 0 to
    1, higher is better. Gold edits typed `UNK` or `Um` do not count, since R is without them.

    Attributes:
        layer: layer whose hidden states BERTScore compares; None for the bert-score package's
            choice.
        dtype: precision in which BERTScore's encoder computes: `bfloat16` is several times as fast
            on processors that support it but less exact, `float16` is for GPUs,
            `float32-onednn` differs only in the last bits and is faster on AMD processors.
    """

    name: ClassVar[str] = "pt-m2"
    summary: ClassVar[str] = "M2 with edits weighted by their effect on BERTScore"
    paper: ClassVar[str] = "Gong et al. 2022"

    dtype: DType = "float32"

    # M2's credit counts edits and ignores weights, so edits are credited by attribution.
    credit = None  # type: ignore[assignment]

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Sum correct, proposed, gold: systems × sentences × annotators × 3; NaN if absent."""
        assert corpus.gold is not None  # see `check`
        golds = [gold_edits(block, detected=False) for block in corpus.gold]
        width = max(len(gold) for gold in golds)
        references = [
            [
                block.text(block.annotators[place])
                if place < len(block.annotators)
                else block.source  # No such annotator here: the source is the reference.
                for block in corpus.gold
            ]
            for place in range(width)
        ]
        weights = EditWeights(corpus.sources, references)
        edits_of: dict[tuple[int, str], list[list[SystemEdit]]] = {}
        lines = [version.lines for version in corpus.systems.values()]
        for row in runtime.track(range(len(corpus)), f"{self.name}: matching", len(corpus)):
            tokens = corpus.gold[row].source.split()
            for text in dict.fromkeys(texts[row] for texts in lines):
                # Edits are applied to the source one by one, so insertions need real positions.
                edits = extract_system_edits(
                    tokens, text.split(), golds[row], self.unchanged, release=False
                )
                edits_of[row, text] = edits
                for place, proposals in enumerate(edits):
                    weights.want(row, place, {_key(edit): None for edit in proposals})
            for place, wanted in enumerate(golds[row]):
                weights.want(row, place, {_gold_key(edit): None for edit in wanted})
        notes = weights.compute(self.weight_model, runtime)
        values = np.full((len(lines), len(corpus), width, 3), np.nan)
        for row, gold in enumerate(golds):
            for place, wanted in enumerate(gold):
                # A gold edit with alternatives is one edit: its first alternative gives the weight.
                weight_of = weights.of(row, place)
                total = sum(weight_of[_gold_key(edit)] for edit in wanted)
                for system, texts in enumerate(lines):
                    proposed = edits_of[row, texts[row]][place]
                    # An output without words has no correct edits, as in M2.
                    empty = not texts[row].split() and bool(references[place][row].split())
                    correct = [edit for edit in proposed if edit.correct and not empty]
                    values[system, row, place] = (
                        sum(weight_of[_key(edit)] for edit in correct),
                        sum(weight_of[_key(edit)] for edit in proposed),
                        total,
                    )
        return Statistics(values, notes=tuple(notes))


def _key(edit: SystemEdit) -> EditKey:
    return edit.start, edit.end, edit.correction


def _gold_key(edit: GoldEdit) -> EditKey:
    """Return the key of a gold edit; the first of several alternatives gives its weight."""
    return edit.start, edit.end, edit.corrections[0]

"""Weights of edits by BERTScore or BARTScore behind one interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from gecjury.corpus.edits import Edit, apply_edits, counted_edits
from gecjury.errors import OptionError
from gecjury.models.precision import DType
from gecjury.refbased.weighing.bartscore import BARTScore
from gecjury.refbased.weighing.bertscore import BERTScore
from gecjury.runtime import Runtime

Weights = Literal["bertscore", "bartscore"]


WeightModel = BERTScore | BARTScore
"""A score of sentence pairs; an edit weighs as much as it changes the score."""


def weight_model(
    weights: Weights,
    model: str | None,
    layer: int | None,
    revision: str | None,
    dtype: DType = "float32",
) -> WeightModel:
    """Return the score that weighs edits.

    Args:
        weights: name of the score.
        model: encoder of BERTScore, sequence-to-sequence model of BARTScore; None for the
            customary one (google-bert/bert-base-uncased, facebook/bart-large-cnn).
        layer: hidden states that BERTScore compares; None for the customary ones.
        revision: of a hub model.
        dtype: numbers that BERTScore's encoder computes with.

    Raises:
        OptionError: a layer for BARTScore, which has none to choose, or other numbers.
    """
    if weights == "bartscore":
        if layer is not None:
            raise OptionError(f"layer={layer} is for weights=bertscore; BARTScore takes no layer")
        if dtype != "float32":
            raise OptionError(f"dtype={dtype} is for weights=bertscore; BARTScore takes float32")
        return BARTScore(model or BARTScore.model, revision)
    return BERTScore(model or BERTScore.model, layer, revision, dtype=dtype)


EditKey = tuple[int, int, str]
Kinds = dict[EditKey, str]


class EditWeights:
    """Weights of single edits, requested first and computed together.

    Args:
        sources: N sentences.
        references: R lists of N sentences.
    """

    def __init__(self, sources: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        self._sources = [" ".join(source.split()) for source in sources]
        self._references = [[" ".join(line.split()) for line in lines] for lines in references]
        self._texts: list[dict[EditKey, str]] = [{} for _ in sources]
        self._wanted: dict[tuple[int, int], dict[EditKey, None]] = {}
        self._scores: dict[tuple[str, str], float] = {}

    def want(self, row: int, index: int, keys: Mapping[EditKey, object]) -> None:
        """Ask for the weights of a sentence's edits against one reference."""
        wanted = self._wanted.setdefault((row, index), {})
        for key in keys:
            wanted[key] = None
            if key not in self._texts[row]:
                tokens = apply_edits(self._sources[row].split(), [Edit(*key)])
                self._texts[row][key] = " ".join(tokens)

    def compute(self, scorer: WeightModel, runtime: Runtime) -> list[str]:
        """Score every distinct pair of sentences; return notes for the user."""
        # A dict keeps the order of the sentences, in which neighbours share texts.
        pairs: dict[tuple[str, str], None] = {}
        for (row, index), keys in self._wanted.items():
            reference = self._references[index][row]
            if keys:
                pairs[self._sources[row], reference] = None
            for key in keys:
                pairs[self._texts[row][key], reference] = None
        scores, truncated = scorer.score(list(pairs), runtime)
        self._scores = dict(zip(pairs, scores.tolist(), strict=True))
        if not truncated:
            return []
        return [f"{scorer.label}: {truncated} texts are longer than its model reads and were cut"]

    def of(self, row: int, index: int) -> dict[EditKey, float]:
        """Return the weights that were requested."""
        reference = self._references[index][row]
        keys = self._wanted.get((row, index), {})
        if not keys:
            return {}
        # The weight is the change of the source's own score by the edit alone.
        plain = self._scores[self._sources[row], reference]
        return {key: abs(self._scores[self._texts[row][key], reference] - plain) for key in keys}


def edit_kinds(edits: Sequence[Edit]) -> Kinds:
    """Return the keys by which edits are compared, with the type of each."""
    kinds: Kinds = {}
    for edit in counted_edits(edits):
        kinds.setdefault((edit.start, edit.end, edit.correction), edit.type)
    return kinds

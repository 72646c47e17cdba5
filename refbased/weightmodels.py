"""What weighs edits: BERTScore or BARTScore behind one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from gecjury.arrays import FloatArray
from gecjury.errors import OptionError
from gecjury.refbased.bartscore import BARTScore
from gecjury.refbased.bertscore import BERTScore
from gecjury.runtime import Runtime

__all__ = ["WeightModel", "Weights", "weight_model"]

Weights = Literal["bertscore", "bartscore"]


class WeightModel(Protocol):
    """A score of sentence pairs; how much an edit moves it is the edit's weight."""

    @property
    def label(self) -> str:
        """Name of the score."""

    @property
    def identity(self) -> str:
        """Name and pinned version of the model's files."""

    def score(
        self, pairs: Sequence[tuple[str, str]], runtime: Runtime | None = None
    ) -> tuple[FloatArray, int]:
        """Scores of (hypothesis, reference) pairs, and how many texts were cut."""


def weight_model(
    weights: Weights, model: str | None, layer: int | None, revision: str | None
) -> WeightModel:
    """The score that weighs edits.

    Args:
        weights: which score.
        model: encoder of BERTScore, sequence-to-sequence model of BARTScore; None for the
            customary one (google-bert/bert-base-uncased, facebook/bart-large-cnn).
        layer: hidden states that BERTScore compares; None for the customary ones.
        revision: of a hub model.

    Raises:
        OptionError: a layer for BARTScore, which has none to choose.
    """
    if weights == "bartscore":
        if layer is not None:
            raise OptionError(f"layer={layer} is for weights=bertscore; BARTScore takes no layer")
        return BARTScore(model or BARTScore.model, revision)
    return BERTScore(model or BERTScore.model, layer, revision)

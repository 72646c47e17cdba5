"""Weights of edits by BERTScore, and the settings of metrics that use them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gecjury.core.runtime import Runtime
from gecjury.corpus.edits import Edit, apply_edits, counted_edits
from gecjury.models.precision import DType
from gecjury.refbased.edit_metric import BestReference
from gecjury.refbased.weighing.bertscore import BERTScore


@dataclass(frozen=True)
class ModelWeighted(BestReference):
    """Base of metrics in which an edit weighs as much as it changes BERTScore.

    Attributes:
        model: encoder of BERTScore (`embedded` works offline); None for
            google-bert/bert-base-uncased.
        layer: layer whose hidden states BERTScore compares; None for the bert-score package's
            choice (9 of bert-base-uncased, else the last).
        revision: commit, tag or branch of a hub model.
    """

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    typed: ClassVar[Mapping[str, str]] = {"model": "encoder"}  # as in other metrics

    model: str | None = None
    layer: int | None = None
    revision: str | None = None

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The precision in which BERTScore's encoder computes."""

    @property
    def weight_model(self) -> BERTScore:
        """The score that weighs edits."""
        return BERTScore(self.model or BERTScore.model, self.layer, self.revision, dtype=self.dtype)

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The model that weighs edits."""
        return (self.weight_model.model,)

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the facts that decide edits, and the model's files."""
        return {**super().extra_signature(runtime), "model": self.weight_model.identity}


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

    def compute(self, scorer: BERTScore, runtime: Runtime) -> list[str]:
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
        return [f"BERTScore: {truncated} texts are longer than its model reads and were cut"]

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

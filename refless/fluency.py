"""The metric `fluency`: how probable a language model finds the correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.models.precision import DType
from gecjury.refless.nets.language import english_model_notes, fluencies
from gecjury.refless.some import LanguageModelScorer, distinct_pairs
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class Fluency(LanguageModelScorer, MeanScorer):
    """1/(1 + H), with H the mean negative log probability of a word piece (Asano et al. 2017).

    0 to 1, higher is better; an empty hypothesis has 0. It does not read the source, so it cannot
    see whether the meaning is kept. The corpus score is the mean. The default model is English.

    Attributes:
        model: folder or hub name of a causal language model.
        dtype: precision of the language model; see `SOME`.
    """

    name: ClassVar[str] = "fluency"
    summary: ClassVar[str] = "probability of the correction, by any causal language model"
    paper: ClassVar[str] = "Asano et al. 2017"

    model: str = "HuggingFaceTB/SmolLM2-135M-Instruct"
    dtype: DType = "float32"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """The scores, systems × sentences."""
        texts, _, text_of, _ = distinct_pairs(corpus)
        values = fluencies(self.model, texts, runtime, self.dtype)
        return Statistics(values[text_of], notes=english_model_notes(self.model, corpus))

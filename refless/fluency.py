"""The metric `fluency`: how probable a language model finds the correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.models.precision import DType
from gecjury.refless.nets.language import english_model_notes, surprises
from gecjury.refless.some import LanguageModelScorer, distinct_pairs
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class Fluency(LanguageModelScorer, MeanScorer):
    """exp(−H/10), with H the improbability of the correction under a causal language model.

    H = −(Σ log p(piece | all before) − 0.4 Σ log p(piece | start of text))/√words, and 0 if that is
    negative. The first sum is over all word pieces. The second is over those that begin a word, by
    blanks, each counted once: a word may cost more if it is rare on its own. Words are counted in
    the same way. The mean over pieces (Asano et al. 2017) rewards a superfluous word that is easy
    to predict, and a sentence said twice. All is read from one pass over the sentence, so a score
    depends on no other text. The 10 only sets the range.

    0 to 1, higher is better; an empty hypothesis has 0. It does not read the source, so it cannot
    see whether the meaning is kept. The corpus score is the mean. The default model is English.

    Attributes:
        model: folder or hub name of a causal language model.
        dtype: precision of the language model; see `SOME`.
    """

    name: ClassVar[str] = "fluency"
    summary: ClassVar[str] = "probability of the correction, by any causal language model"
    paper: ClassVar[str] = "Asano et al. 2017, altered"
    version: ClassVar[int] = 2  # not the mean over pieces

    model: str = "HuggingFaceTB/SmolLM2-135M-Instruct"
    dtype: DType = "float32"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """The scores, systems × sentences."""
        texts, _, text_of, _ = distinct_pairs(corpus)
        improbable = surprises(self.model, texts, runtime, self.dtype)
        values = np.exp(-np.maximum(improbable, 0) / 10)
        return Statistics(values[text_of], notes=english_model_notes(self.model, corpus))

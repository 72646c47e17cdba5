"""Scribendi score: a good correction is more probable than its source and stays close to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.models.precision import DType
from gecjury.refless.nets.language import english_model_notes, mean_log_probabilities
from gecjury.refless.similarity import indel_ratio, token_sort_ratio
from gecjury.refless.some import LanguageModelScorer, distinct_pairs
from gecjury.scoring.scorer import SummedScorer
from gecjury.scoring.scores import Scores, Statistics


@dataclass(frozen=True)
class Scribendi(LanguageModelScorer, SummedScorer):
    """1, 0 or −1 a sentence, summed over the corpus (Islam and Magnani 2021).

    0 if the hypothesis equals its source. 1 if its perplexity is lower and the greater of token
    sort ratio and Levenshtein ratio (substitutions at cost 2, over characters) reaches the
    threshold. Otherwise −1. An empty hypothesis or source has no perplexity: −1. Two texts of
    punctuation alone count as alike, as in fuzzywuzzy, since neither contains a word. fuzzywuzzy
    drops some letters; that is done for English only. The default model is English.

    Attributes:
        model: folder or hub name of a causal language model.
        threshold: least similarity to the source.
        dtype: precision of the language model; see `SOME`.
    """

    name: ClassVar[str] = "scribendi"
    summary: ClassVar[str] = "perplexity and closeness to the source, by any causal model"
    paper: ClassVar[str] = "Islam and Magnani 2021"
    # 2: the signature names the commit of a language model from the hub. 3: texts without a word
    # are alike.
    version: ClassVar[int] = 3

    model: str = "openai-community/gpt2"
    threshold: float = option(0.8, least=0, most=1)
    dtype: DType = "float32"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """The scores, systems × sentences."""
        _, (sources, hypotheses), _, pair_of = distinct_pairs(corpus)
        # Unchanged hypotheses score 0 by definition: no model reads them.
        pairs = enumerate(zip(sources, hypotheses, strict=True))
        changed = [row for row, (source, hypothesis) in pairs if source != hypothesis]
        texts = [side[row] for side in (sources, hypotheses) for row in changed]
        likely = mean_log_probabilities(self.model, texts, runtime, self.dtype)
        english = corpus.language.code == "en"
        scores = np.zeros(len(sources))
        for row, before, after in zip(changed, *np.split(likely, 2), strict=True):
            near = after > before and self._near(sources[row], hypotheses[row], english)
            scores[row] = 1.0 if near else -1.0
        return Statistics(scores[pair_of], notes=english_model_notes(self.model, corpus))

    def _near(self, source: str, hypothesis: str, english: bool) -> bool:
        # The token sort ratio is slower, so it is computed only if the other one is too low.
        return (
            indel_ratio(source, hypothesis) >= self.threshold
            or token_sort_ratio(source, hypothesis, english=english) >= self.threshold
        )

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """The statistics themselves."""
        return Scores(statistics.values)

    def summands(self, statistics: Statistics) -> FloatArray:
        """The statistics, systems × sentences × 1."""
        return statistics.values[:, :, None]

    def total_scores(self, totals: FloatArray) -> Scores:
        """The sums themselves."""
        return Scores(totals[..., 0])

"""SOME: grammaticality, fluency and meaning by trained regressors, weighted into one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.models.checkpoints import weights_identity
from gecjury.models.precision import DType
from gecjury.refless.data.annotations import ASPECTS, QUALITY
from gecjury.refless.nets.bundle import (
    USUAL_WEIGHTS,
    Bundle,
    bundle_identity,
    bundle_models,
    bundle_scale,
    metric_for,
    open_bundle,
)
from gecjury.scoring.abilities import HasParts
from gecjury.scoring.scorer import MeanScorer, ReadsText, Scorer, setting
from gecjury.scoring.scores import Scores, Statistics


class ModelScorer(Scorer, ReadsText):
    """A metric whose networks read raw, untokenised texts, on any device."""

    family: ClassVar[str] = "refless"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    model: str


class LanguageModelScorer(ModelScorer):
    """A metric whose only network is a causal language model."""

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The language model."""
        return (self.model,)

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The hash of the language model's weights, or its name and commit on the hub."""
        return {"weights": weights_identity(self.model)}


class WeighedAspects(ModelScorer, MeanScorer, HasParts):
    """A metric that is a weighted sum of grammaticality, fluency and meaning."""

    part_names: ClassVar[tuple[str, ...]] = ASPECTS
    alpha: float
    beta: float
    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights.min() < 0 or abs(self.weights.sum() - 1) > 1e-6:
            raise OptionError(
                f"{self.name}: alpha={self.alpha:g}, beta={self.beta:g}, gamma={self.gamma:g}: "
                "weights must be 0 or more and sum to 1"
            )

    @property
    def weights(self) -> FloatArray:
        """α, β, γ, shape (3,)."""
        return np.array([self.alpha, self.beta, self.gamma])

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return weighted sums, systems × sentences."""
        return Scores(statistics.values @ self.weights)

    def parts(self, statistics: Statistics, scores: Scores) -> dict[str, FloatArray]:
        """Return the aspects; NaN for an aspect with weight 0, which need not be computed."""
        values = np.where(self.weights > 0, statistics.values, np.nan)
        return {aspect: values[:, :, column] for column, aspect in enumerate(ASPECTS)}


@dataclass(frozen=True)
class SOME(WeighedAspects):
    """Weighted sum of three predicted human ratings (Yoshimura et al. 2020).

    Grammaticality and fluency read the hypothesis, meaning reads source and hypothesis; each
    prediction x is scaled to (x − low)/(high − low) of the rating scale, (x − 1)/3 for TMU-GFM.
    About 0 to 1, higher is better; predictions outside the scale are not clipped. The corpus
    score is the mean. Statistics keep the three aspects, so that weights can be searched without
    scoring again.

    A model of one rating of the whole correction (`quality`, as in autoJQE) reads source and
    hypothesis; its scaled prediction is the score, and there are no weights.

    Attributes:
        model: `embedded`, which comes with gecjury and needs the extra of that name; a folder that
            `gecjury train some` wrote, a hub name, or a folder with the models `grammaticality` (or
            `grammer`), `fluency` and `meaning`.
        alpha: weight of grammaticality; the defaults are the paper's at sentence level, tuned on
            a tenth of GJG15. At system level, tuned on JFLEG, they are 0, 1, 0.
        beta: weight of fluency.
        gamma: weight of meaning.
        max_length: longest input in word pieces; 0 uses the length the model was trained with.
        dtype: precision of the encoders; `bfloat16` is several times as fast on processors that
            support it and changes scores slightly, `float16` is for GPUs; `float32-onednn` differs
            only in the last bits and is faster on AMD processors.
    """

    name: ClassVar[str] = "some"
    summary: ClassVar[str] = "grammaticality, fluency and meaning by trained regressors"
    paper: ClassVar[str] = "Yoshimura et al. 2020"
    tuning: ClassVar[Mapping[str, str]] = {
        "alpha": "0:1:0.01",
        "beta": "0:1:0.01",
        "gamma": "rest",
        "folds": "1",
        "aggregate": "mean",
    }

    model: str = "embedded"
    alpha: float = setting(USUAL_WEIGHTS[0], scoring=True)
    beta: float = setting(USUAL_WEIGHTS[1], scoring=True)
    gamma: float = setting(USUAL_WEIGHTS[2], scoring=True)
    max_length: int = option(0, least=0, most=1_000_000)
    dtype: DType = "float32"

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The trained model, and the encoders that it names."""
        return bundle_models(self.model)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Mean and deviation of its scores on development data, as the training recorded them."""
        return bundle_scale(self.model)

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The hash of the trained weights, or the hub's commit; see `bundle_identity`."""
        return bundle_identity(self.model)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Scaled predictions, systems × sentences × (grammaticality, fluency, meaning).

        For a model of quality: systems × sentences × 1.
        """
        # A folder that has been trained again since the last call has another identity.
        identity = tuple(self.extra_signature(runtime).items())
        bundle = _open(identity, self.model, self.max_length, runtime.device, self.dtype)
        notes = bundle.origin.notes(corpus)
        weights = (self.alpha, self.beta, self.gamma)
        aspects: tuple[str, ...] = ASPECTS
        if bundle.aspects == (QUALITY,):
            aspects = bundle.aspects
            if weights != USUAL_WEIGHTS:
                raise OptionError(
                    f"some: {self.model} rates one aspect, {QUALITY}, so there are no weights: "
                    "leave out alpha, beta and gamma"
                )
        for aspect, weight in zip(aspects, weights, strict=False):
            # An aspect without weight needs no model.
            if weight and aspect not in bundle.aspects:
                raise OptionError(
                    f"some: {self.model} has no model of {aspect}, whose weight is not 0; use "
                    f"-m {metric_for(self.model, bundle.aspects)}"
                )
        texts, pairs, text_of, pair_of = distinct_pairs(corpus)
        predicted = bundle.predict(texts, pairs, runtime)
        # Aspects without a model stay 0; their weight is 0 as well.
        values = np.zeros((*text_of.shape, len(aspects)))
        low, high = bundle.manifest.scale
        for column, aspect in enumerate(aspects):
            if aspect in predicted:
                rows = pair_of if aspect in bundle.pair_aspects else text_of
                values[:, :, column] = (predicted[aspect][rows] - low) / (high - low)
        notes += [
            f"{name}: {count} hypotheses are empty; the regressors were not trained on empty text, "
            "so their predictions for them mean nothing"
            for name, version in corpus.systems.items()
            if (count := sum(not line.strip() for line in version.lines))
        ]
        return Statistics(values, notes=tuple(notes))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return weighted sums, systems × sentences; for a model of quality, its ratings."""
        if statistics.values.shape[2] == 1:
            return Scores(statistics.values[:, :, 0])
        return super().sentence_scores(statistics)

    def parts(self, statistics: Statistics, scores: Scores) -> dict[str, FloatArray]:
        """Return the aspects; all are NaN for a model of quality, which has none."""
        if statistics.values.shape[2] == 1:
            return {aspect: np.full(statistics.values.shape[:2], np.nan) for aspect in ASPECTS}
        return super().parts(statistics, scores)


@lru_cache(maxsize=2)
def _open(
    _identity: tuple[tuple[str, str], ...],
    location: str,
    max_length: int,
    device: str,
    dtype: DType,
) -> Bundle:
    """Load a trained SOME; `_identity` is a part of the cache key only."""
    return open_bundle(location, max_length, device, dtype)


def distinct_pairs(
    corpus: Corpus,
) -> tuple[Sequence[str], tuple[Sequence[str], Sequence[str]], IntArray, IntArray]:
    """Return the distinct hypotheses and (source, hypothesis) pairs of a corpus.

    Returns:
        The hypotheses; the pairs as two lists; and for each system and sentence, the index into the
        hypotheses and the index into the pairs.
    """
    texts: dict[str, int] = {}
    pairs: dict[tuple[str, str], int] = {}
    shape = (len(corpus.systems), len(corpus))
    text_of, pair_of = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    for row, version in enumerate(corpus.systems.values()):
        for column, (source, text) in enumerate(zip(corpus.sources, version.lines, strict=True)):
            text_of[row, column] = texts.setdefault(text, len(texts))
            pair_of[row, column] = pairs.setdefault((source, text), len(pairs))
    return list(texts), ([s for s, _ in pairs], [h for _, h in pairs]), text_of, pair_of

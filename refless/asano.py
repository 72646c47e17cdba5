"""The reference-free baseline of Asano et al. (2017): grammaticality, fluency and METEOR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.models.checkpoints import weights_identity
from gecjury.models.precision import DType
from gecjury.refless.nets.bundle import bundle_identity, bundle_models, open_bundle
from gecjury.refless.nets.language import english_model_notes, mean_log_probabilities
from gecjury.refless.similarity import Meteor, words_of_any
from gecjury.refless.some import WeighedAspects, distinct_pairs
from gecjury.scoring.scorer import setting
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class Asano(WeighedAspects):
    """Weighted sum of grammaticality by GUG, fluency by a language model and meaning by METEOR.

    Grammaticality is a regression trained on GUG and scaled to 0–1. Fluency is 1/(1 + H) with H
    the mean negative log probability of a word piece, which maps it to 0–1. Meaning is METEOR of
    the hypothesis against the source, exact and stem stages. Higher is better; the corpus score
    is the mean. An aspect with weight 0 is not computed.

    Attributes:
        model: folder written by `gecjury train some gug -o DIR`.
        language_model: folder or hub name of a causal language model.
        alpha: weight of grammaticality; defaults from Yoshimura's thesis (2021), table 6.3.
        beta: weight of fluency.
        gamma: weight of meaning.
        dtype: precision of both models; see `SOME`.
    """

    name: ClassVar[str] = "asano"
    summary: ClassVar[str] = "grammaticality from GUG, language model fluency, METEOR"
    paper: ClassVar[str] = "Asano et al. 2017"
    # 2: the signature names the commit of a language model from the hub.
    version: ClassVar[int] = 2

    model: str = setting("", names="model")
    language_model: str = "openai-community/gpt2"
    alpha: float = 0.02
    beta: float = 0.82
    gamma: float = 0.16
    dtype: DType = "float32"

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The model of grammaticality, the encoders that it names, and the language model."""
        trained = bundle_models(self.model) if self.model and self.alpha else ()
        return (*trained, self.language_model) if self.beta else trained

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The hashes of both models in use, or their names and commits on the hub."""
        identity: dict[str, str] = {}
        if self.model and self.alpha:
            identity |= bundle_identity(self.model)
        if self.beta:
            identity["language-model"] = weights_identity(self.language_model)
        return identity

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """The three parts, systems × sentences × 3; an empty hypothesis has fluency 0."""
        texts, (sources, hypotheses), text_of, pair_of = distinct_pairs(corpus)
        values = np.zeros((*text_of.shape, 3))
        notes: list[str] = []
        if self.alpha:
            if not self.model:
                raise OptionError(
                    "asano: no model is named. Train one, e.g. with `gecjury train some gug -o "
                    "my-model --recipe small`, and score with -m asano:model=my-model; or leave "
                    "grammaticality out with alpha=0,beta=0.84,gamma=0.16"
                )
            bundle = open_bundle(self.model, device=runtime.device, dtype=self.dtype)
            if "grammaticality" not in bundle.aspects:
                raise OptionError(
                    f"asano: {self.model} rates {', '.join(bundle.aspects)}; expected a model of "
                    "grammaticality (`gecjury train some gug`), or leave it out with "
                    "alpha=0,beta=0.84,gamma=0.16"
                )
            notes = bundle.origin.notes(corpus)
            # A regression that also reads the source rates pairs, not single sentences.
            paired = "grammaticality" in bundle.pair_aspects
            pairs = (sources, hypotheses) if paired else ([], [])
            aspect = "grammaticality"
            rated = bundle.predict(texts, pairs, runtime, (aspect,))[aspect]
            rows = pair_of if paired else text_of
            low, high = bundle.manifest.scale
            values[..., 0] = ((rated - low) / (high - low))[rows]
        if self.beta:
            means = mean_log_probabilities(self.language_model, texts, runtime, self.dtype)
            values[..., 1] = np.nan_to_num(1 / (1 - means))[text_of]
            notes = [*notes, *english_model_notes(self.language_model, corpus)]
        if self.gamma:
            english = corpus.language.code == "en"
            meteor = Meteor(stems=english)
            sides: tuple[Sequence[str], ...] = (sources, hypotheses)
            if not english:
                # METEOR splits words at spaces, which not all languages write.
                sides = tuple([" ".join(words_of_any(t)) for t in side] for side in sides)
            kept = [meteor.score(s, h) for s, h in zip(*sides, strict=True)]
            values[..., 2] = np.array(kept)[pair_of]
        return Statistics(values, notes=tuple(notes))

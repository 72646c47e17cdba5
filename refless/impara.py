"""IMPARA: a ranker of corrections, trained on parallel text, with a filter for meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.core.textfiles import user_path
from gecjury.corpus.corpus import Corpus
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import (
    PACKAGED_ENCODERS,
    inside,
    named_within,
    resolve,
    weights_identity,
)
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.networks import read_config, read_network, read_tokenizer
from gecjury.models.origin import TrainingOrigin
from gecjury.models.precision import DType, check_dtype, placed
from gecjury.refless.nets.manifest import (
    IMPARA_FORMAT,
    IMPARA_POOLED_FORMAT,
    ImparaManifest,
    folder_of,
    read_manifest,
)
from gecjury.refless.nets.pooled import open_pooled
from gecjury.refless.nets.regressor import Regressor
from gecjury.refless.some import ModelScorer, distinct_pairs
from gecjury.scoring.scorer import MeanScorer, setting
from gecjury.scoring.scores import Statistics

_TRAIN = "impara jfleg gmeg-dev"
"""Target and data of the command that trains a ranker."""


@dataclass(frozen=True)
class IMPARA(ModelScorer, MeanScorer):
    """Quality of the hypothesis if it keeps the source's meaning, else 0 (Maeda et al. 2022).

    sigmoid(QE(hypothesis)) if cos(Enc(source), Enc(hypothesis)) ≥ `threshold`, with means of
    the last hidden states as vectors. 0 to 1, higher is better. The corpus score is the mean.
    IMPARA-GED (Sakai et al. 2025) is a model trained after error detection, with threshold=none.

    Attributes:
        model: folder that `gecjury train impara` wrote, or the folder or hub name of any
            single-output sequence classification model.
        encoder: encoder for the similarity; empty means the encoder used in training, which is in
            the model's folder or named there, or bert-base-cased if the folder does not name one.
        threshold: least similarity; `none` computes no similarity and needs no encoder.
        max_length: longest input in word pieces.
        dtype: precision of both networks; `bfloat16` is several times as fast on processors that
            support it and changes scores slightly, `float16` is for GPUs; `float32-onednn` differs
            only in the last bits and is faster on AMD processors.
    """

    name: ClassVar[str] = "impara"
    summary: ClassVar[str] = "ranker trained on parallel text, with a similarity threshold"
    paper: ClassVar[str] = "Maeda et al. 2022"

    model: str = setting("", names="model")
    encoder: str = ""
    threshold: float | None = option(0.9, least=-1, most=1, hint="a cosine; or none")
    max_length: int = option(128, least=1, most=1_000_000)
    dtype: DType = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is None and self.encoder:
            raise OptionError(
                "impara: encoder= is for the similarity, which threshold=none does not use; leave "
                "one of them out"
            )

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The ranker, and the encoder for similarities."""
        if not self.model:
            return ()
        folder_of(self.model, _TRAIN)
        return (self.model,) if self.threshold is None else (self.model, self._encoder())

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The trained weights' hash, or name and commit on the hub; the encoder's identity."""
        if not self.model:
            return {}
        identity = {"weights": weights_identity(self.model)}
        if self.threshold is None:
            return identity
        with _or_without_similarity():
            return identity | {"encoder": EncoderSpec(self._encoder()).checkpoint().identity}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Scores, systems × sentences; `details` counts the sentences set to 0 by the filter."""
        self.refuse_unnamed(_TRAIN)
        threshold = self.threshold
        encoder = "" if threshold is None else self._encoder()
        # A folder that has been trained again since the last call has another identity.
        weights = weights_identity(self.model)
        ranker, origin = _open(weights, self.model, self.max_length, runtime.device, self.dtype)
        texts, (sources, hypotheses), text_of, pair_of = distinct_pairs(corpus)
        # Only differences between outputs are trained; the sigmoid turns them into 0 to 1.
        quality = 1.0 / (1.0 + np.exp(-ranker.predict(texts, None, runtime)[:, 0]))
        notes = origin.notes(corpus)
        if threshold is None:
            return Statistics(quality[text_of], details={"filtered": 0}, notes=tuple(notes))
        similarity = self._similarity(encoder, sources, hypotheses, runtime)
        kept = similarity[pair_of] >= threshold
        values = np.where(kept, quality[text_of], 0.0)
        manifest = None if self.encoder else _manifest(self.model)
        if manifest is not None and manifest.encoder == encoder not in PACKAGED_ENCODERS:
            notes.append(f"{self.model} names its encoder: {encoder} of the Hugging Face hub")
        return Statistics(values, details={"filtered": int((~kept).sum())}, notes=tuple(notes))

    def _encoder(self) -> str:
        """The encoder for similarities.

        Raises:
            InputError: the model's folder names an encoder in another folder.
        """
        if self.encoder:
            return self.encoder
        manifest = _manifest(self.model)
        if manifest is None:
            return "bert-base-cased"
        with _or_without_similarity():
            return named_within(user_path(self.model), manifest.encoder)

    def _similarity(
        self, encoder: str, sources: Sequence[str], hypotheses: Sequence[str], runtime: Runtime
    ) -> FloatArray:
        """Return the cosine of each source and hypothesis."""
        spec = EncoderSpec(encoder, max_length=self.max_length, dtype=self.dtype)
        texts = [*sources, *hypotheses]
        with _or_without_similarity():
            loaded = load_encoder(spec, runtime)
        vectors = loaded.encode(texts).vectors.astype(np.float64)
        if not np.isfinite(vectors).all():
            raise InputError(
                f"the encoder {encoder} gives no finite numbers: its weights are damaged; copy it "
                "again"
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(norms > 0, norms, 1.0)
        cosines: FloatArray = np.einsum("ij,ij->i", *np.split(vectors, 2))
        return cosines.round(6)


@contextmanager
def _or_without_similarity() -> Iterator[None]:
    """Add to errors about the encoder that a model can be used without one."""
    try:
        yield
    except (DataError, InputError, OptionError) as error:
        raise type(error)(f"{error}; or score without the similarity: threshold=none") from None


@lru_cache(maxsize=2)
def _open(
    weights: str, location: str, max_length: int, device: str, dtype: DType
) -> tuple[Regressor, TrainingOrigin]:
    """Load the ranker and the origin of its training data."""
    device = pick_device(device)
    check_dtype(dtype, device)
    manifest = _manifest(location)
    checkpoint = resolve(location, packaged=False)
    # Links in an untrusted folder must not lead out of it.
    inside(checkpoint.folder, ".")
    config = read_config(checkpoint)
    if manifest is not None and manifest.format == IMPARA_POOLED_FORMAT:
        model = open_pooled(checkpoint, config)
    else:
        model, _ = read_network(checkpoint, config, "sentences")
    if model.config.num_labels != 1:
        raise InputError(
            f"{location}: a model with {model.config.num_labels} outputs "
            f"({', '.join(model.config.id2label.values())}); an IMPARA model has one"
        )
    tokenizer = read_tokenizer(checkpoint, config, padded=True)
    # The identity covers all weights of a folder: the head of a pooled ranker is a separate file.
    identity = f"{weights}|{dtype}"
    ranker = Regressor(placed(model, dtype, device), tokenizer, ("rank",), max_length, identity)
    if manifest is None:
        return ranker, TrainingOrigin(location)
    return ranker, TrainingOrigin.of(checkpoint.folder, location, manifest.language)


def _manifest(location: str) -> ImparaManifest | None:
    """Return the manifest of a folder; None for a model without one.

    Raises:
        OptionError: neither a folder nor a model of the hub.
        InputError: not an IMPARA model.
    """
    folder = folder_of(location, _TRAIN)
    if not folder.is_dir():
        return None
    return read_manifest(folder, ImparaManifest, (IMPARA_FORMAT, IMPARA_POOLED_FORMAT))

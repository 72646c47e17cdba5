"""IMPARA: a ranker of corrections, trained on parallel text, with a filter for meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import (
    EMBEDDED,
    PACKAGED_ENCODERS,
    inside,
    is_folder,
    named_within,
    resolve,
    weights_identity,
)
from gecjury.models.encoder import EncoderSpec
from gecjury.models.networks import read_config, read_network, read_tokenizer
from gecjury.models.origin import TrainingOrigin
from gecjury.models.precision import DType, check_dtype, placed
from gecjury.refless.nets.bundle import encoder_identity
from gecjury.refless.nets.manifest import (
    IMPARA_FORMAT,
    IMPARA_LINEAR_FORMAT,
    IMPARA_POOLED_FORMAT,
    ImparaManifest,
    folder_of,
    read_manifest,
)
from gecjury.refless.nets.pooled import open_pooled
from gecjury.refless.nets.ranker import LinearRanker, mean_states, open_head
from gecjury.refless.nets.regressor import Regressor
from gecjury.refless.some import ModelScorer, distinct_pairs
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics

_TRAIN = "impara jfleg gmeg-dev"
"""Target and data of the command that trains a ranker."""

_PACKAGED = Path(__file__).parent / "packaged" / "ranker"
_PUBLISHED = ImparaManifest(IMPARA_FORMAT, "bert-base-cased")  # for models without a manifest

RankerOutputs = Callable[[Sequence[str], Runtime], FloatArray]
"""A function that returns a ranker's output for each text."""


@dataclass(frozen=True)
class IMPARA(ModelScorer, MeanScorer):
    """Quality of the hypothesis if it keeps the source's meaning, else 0 (Maeda et al. 2022).

    sigmoid(QE(hypothesis)) if cos(Enc(source), Enc(hypothesis)) ≥ `threshold`, with means of
    hidden states as vectors. 0 to 1, higher is better. The corpus score is the mean. IMPARA-GED
    (Sakai et al. 2025) is a model trained after error detection, with threshold=none.

    Attributes:
        model: `embedded`, a linear ranker that comes with gecjury and needs the extra of that name;
            a folder that `gecjury train impara` wrote; or the folder or hub name of any
            single-output sequence classification model.
        encoder: encoder for the similarity; empty means the encoder used in training, which is in
            the model's folder or named there, or bert-base-cased if the folder does not name one.
        threshold: least similarity; 0 means the one that the model's folder records, or that of the
            papers: 0.9, none for a model that reads means; `none` computes no similarity.
        max_length: longest input in word pieces.
        dtype: precision of the networks; `bfloat16` is several times as fast on processors that
            support it and changes scores slightly, `float16` is for GPUs; `float32-onednn` differs
            only in the last bits and is faster on AMD processors.
    """

    name: ClassVar[str] = "impara"
    summary: ClassVar[str] = "ranker trained on parallel text, with a similarity threshold"
    paper: ClassVar[str] = "Maeda et al. 2022"

    model: str = "embedded"
    encoder: str = ""
    threshold: float | None = option(0.0, least=-1, most=1, hint="a cosine; or none")
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
        """The ranker, the encoder that it reads if it is linear, and that for similarities."""
        encoders = [self._base()] if self._manifest().format == IMPARA_LINEAR_FORMAT else []
        if self._least() is not None:
            encoders.append(self._encoder())
        return (self._location(), *dict.fromkeys(encoders))

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The trained weights' hash, or name and commit on the hub; identities of encoders."""
        identity = {"weights": weights_identity(self._location())}
        manifest = self._manifest()
        if manifest.format == IMPARA_LINEAR_FORMAT:
            identity["base"] = f"{encoder_identity(self._base())}:{manifest.layer}"
        least = self._least()
        if least is None:
            return identity
        if self.threshold == 0:
            identity["least"] = f"{least:g}"
        with _or_without_similarity():
            return identity | {"encoder": encoder_identity(self._encoder())}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Scores, systems × sentences; `details` counts the sentences set to 0 by the filter."""
        least, manifest = self._least(), self._manifest()
        # A folder that has been trained again since the last call has another identity.
        weights, sees_last = weights_identity(self._location()), least is not None
        settings = self.max_length, runtime.device, self.dtype
        outputs, origin = _open(weights, self._folder(), self.model, sees_last, *settings)
        texts, (sources, hypotheses), text_of, pair_of = distinct_pairs(corpus)
        # Only differences between outputs are trained; the sigmoid turns them into 0 to 1.
        quality = 1.0 / (1.0 + np.exp(-outputs(texts, runtime)))
        values, filtered = quality[text_of], 0
        if least is not None:
            kept = self._similarity(sources, hypotheses, runtime)[pair_of] >= least
            values, filtered = np.where(kept, values, 0.0), int((~kept).sum())
        notes = origin.notes(corpus)
        reads_named = manifest.format == IMPARA_LINEAR_FORMAT or not (self.encoder or least is None)
        if reads_named and manifest is not _PUBLISHED:
            named = self._base()
            if named == manifest.encoder not in PACKAGED_ENCODERS and not is_folder(named):
                notes.append(f"{self.model} names its encoder: {named} of the Hugging Face hub")
        return Statistics(values, details={"filtered": filtered}, notes=tuple(notes))

    def _folder(self) -> Path:
        """The folder of the ranker; for a hub name, there is none at this path."""
        return _PACKAGED if self.model == EMBEDDED else folder_of(self.model, _TRAIN)

    def _location(self) -> str:
        """The name of the ranker, as functions of checkpoints read it."""
        folder = self._folder()
        return str(folder) if self.model == EMBEDDED else self.model

    def _manifest(self) -> ImparaManifest:
        return _manifest(self._folder())

    def _least(self) -> float | None:
        """The least similarity; None for no filter.

        Raises:
            OptionError: the model's folder has one for its own encoder, or none, and another
                encoder is named.
        """
        if self.threshold != 0:
            return self.threshold
        manifest = self._manifest()
        if self.encoder and manifest.format != IMPARA_FORMAT:
            raise OptionError(
                f"impara: model={self.model} has a least similarity for its own encoder only; with "
                f"encoder={self.encoder}, name one, e.g. threshold=0.9, or leave encoder= out"
            )
        return manifest.least

    def _encoder(self) -> str:
        """The encoder for similarities."""
        with _or_without_similarity():
            return self.encoder or self._base()

    def _base(self) -> str:
        """The encoder that the model's folder names.

        Raises:
            InputError: it is in another folder.
        """
        manifest = self._manifest()
        if manifest is _PUBLISHED:
            return manifest.encoder
        return _base_of(self._folder(), manifest)

    def _similarity(
        self, sources: Sequence[str], hypotheses: Sequence[str], runtime: Runtime
    ) -> FloatArray:
        """Return the cosine of each source and hypothesis."""
        spec = EncoderSpec(self._encoder(), max_length=self.max_length, dtype=self.dtype)
        with _or_without_similarity():
            vectors = mean_states(spec, [*sources, *hypotheses], runtime)
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
    weights: str,
    folder: Path,
    location: str,
    sees_last: bool,
    max_length: int,
    device: str,
    dtype: DType,
) -> tuple[RankerOutputs, TrainingOrigin]:
    """Load the ranker and the origin of its training data.

    Args:
        sees_last: True if the last states of a linear ranker's encoder are read as well.
    """
    device = pick_device(device)
    check_dtype(dtype, device)
    manifest = _manifest(folder)
    if manifest.format == IMPARA_LINEAR_FORMAT:
        name, layer = _base_of(folder, manifest), manifest.layer
        last = None if sees_last else layer
        spec = EncoderSpec(name, layer=last, max_length=max_length, dtype=dtype)
        weight, bias = open_head(folder, 1, int(read_config(resolve(name)).hidden_size))
        linear = LinearRanker(spec, layer, weight[0], float(bias[0]))
        return linear.outputs, TrainingOrigin.of(folder, location, manifest.language)
    checkpoint = resolve(location, packaged=False)
    # Links in an untrusted folder must not lead out of it.
    inside(checkpoint.folder, ".")
    config = read_config(checkpoint)
    if manifest.format == IMPARA_POOLED_FORMAT:
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
    origin = TrainingOrigin(location)
    if manifest is not _PUBLISHED:
        origin = TrainingOrigin.of(checkpoint.folder, location, manifest.language)
    return lambda texts, runtime: ranker.predict(texts, None, runtime)[:, 0], origin


def _base_of(folder: Path, manifest: ImparaManifest) -> str:
    """Return the encoder that a folder names; see `IMPARA._base`."""
    if manifest.format == IMPARA_LINEAR_FORMAT:  # which has no use for another encoder
        return named_within(folder, manifest.encoder, "copy the model again")
    return named_within(folder, manifest.encoder)


def _manifest(folder: Path) -> ImparaManifest:
    """Return the manifest of a folder; `_PUBLISHED` for a model without one.

    Raises:
        InputError: not an IMPARA model.
    """
    formats = (IMPARA_FORMAT, IMPARA_POOLED_FORMAT, IMPARA_LINEAR_FORMAT)
    manifest = read_manifest(folder, ImparaManifest, formats) if folder.is_dir() else None
    return manifest or _PUBLISHED

"""IMPARA: a ranker of corrections trained on parallel text, with a meaning filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.errors import InputError, OptionError
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import (
    EMBEDDED,
    inside,
    named_within,
    resolve,
    weights_identity,
)
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.networks import (
    read_config,
    read_network,
    read_tokenizer,
    refuse_padless,
)
from gecjury.models.precision import DType, check_dtype, placed
from gecjury.refless.nets.bundle import (
    IMPARA_FORMAT,
    IMPARA_POOLED_FORMAT,
    KEYS_FILE,
    MANIFEST,
    Bundle,
)
from gecjury.refless.nets.pooled import open_pooled
from gecjury.refless.nets.regressor import Regressor
from gecjury.refless.some import distinct_pairs
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics
from gecjury.textfiles import read_json, read_text


@dataclass(frozen=True)
class IMPARA(MeanScorer):
    """Quality of the hypothesis if it keeps the source's meaning, else 0 (Maeda et al. 2022).

    sigmoid(QE(hypothesis)) where cos(Enc(source), Enc(hypothesis)) ≥ `threshold`, with means of
    the last hidden states as vectors. 0 to 1, higher is better. The corpus score is the mean.
    IMPARA-GED (Sakai et al. 2025) is a model trained after error detection, with threshold=none.

    Attributes:
        model: folder that `gecjury train impara` wrote, or the folder or hub name of any
            single-output sequence classification model.
        encoder: for the similarity; empty takes the encoder that the training used, which lies in
            the model's folder or is named by it, or bert-base-cased where that is not told.
        threshold: least similarity; `none` reads no similarity, and needs no encoder for it.
        max_length: longest input in word pieces.
        dtype: numbers that both networks compute with; `bfloat16` is several times as fast on
            processors that have it and moves scores a little, `float16` is for GPUs;
            `float32-onednn` differs in the last bits alone, and is faster on AMD's processors.
    """

    name: ClassVar[str] = "impara"
    family: ClassVar[str] = "refless"
    summary: ClassVar[str] = "ranker trained on parallel text, with a similarity threshold"
    reads: ClassVar[Literal["tokens", "text"]] = "text"
    paper: ClassVar[str] = "Maeda et al. 2022"
    must_name: ClassVar[Mapping[str, str]] = {"model": "model"}
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    later_settings: ClassVar[frozenset[str]] = frozenset({"dtype"})

    model: str = ""
    encoder: str = ""
    threshold: float | None = 0.9
    max_length: int = 128
    dtype: DType = "float32"

    def __post_init__(self) -> None:
        if self.threshold is not None and not -1 <= self.threshold <= 1:
            raise OptionError(
                f"impara: threshold={self.threshold:g} is no cosine; expected −1 to 1, or none"
            )
        if self.threshold is None and self.encoder:
            raise OptionError(
                "impara: threshold=none reads no similarity, for which encoder= is; leave one out"
            )
        if not 0 < self.max_length <= 1_000_000:
            raise OptionError(f"impara: max_length={self.max_length}; expected 1 to 1000000")

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The ranker, and the encoder for similarities."""
        if not self.model:
            return ()
        return (self.model,) if self.threshold is None else (self.model, self._encoder())

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The trained weights' hash, or name and commit on the hub; the encoder's files."""
        if not self.model:
            return {}
        found = {"weights": weights_identity(self.model)}
        if self.threshold is None:
            return found
        return found | {"encoder": EncoderSpec(self._encoder()).checkpoint().identity}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Scores, systems × sentences; details say how often the filter decided."""
        if not self.model:
            raise OptionError(
                "impara: no model is named, and the authors' was not released. Train one, e.g. "
                "`gecjury train impara jfleg gmeg-dev -o my-impara --recipe small`, and "
                "score with -m impara:model=my-impara"
            )
        threshold = self.threshold
        encoder = "" if threshold is None else self._encoder()
        ranker, trained = _open(self.model, self.max_length, runtime.device, self.dtype)
        texts, (sources, hypotheses), text_of, pair_of = distinct_pairs(corpus)
        quality = 1.0 / (1.0 + np.exp(-ranker.predict(texts, None, runtime)[:, 0]))
        notes = trained.notes(corpus)
        if threshold is None:
            return Statistics(quality[text_of], details={"filtered": 0}, notes=tuple(notes))
        similarity = self._similarity(encoder, sources, hypotheses, runtime)
        kept = similarity[pair_of] >= threshold
        values = np.where(kept, quality[text_of], 0.0)
        named = None if self.encoder else _trained_with(self.model)[0]
        if named == encoder != EMBEDDED:
            notes.append(f"{self.model} names its encoder: {encoder} of the Hugging Face hub")
        return Statistics(values, details={"filtered": int((~kept).sum())}, notes=tuple(notes))

    def _encoder(self) -> str:
        """The encoder for similarities.

        Raises:
            InputError: the model's folder names one that lies elsewhere.
        """
        if self.encoder:
            return self.encoder
        named, _ = _trained_with(self.model)
        if named is None:
            return "bert-base-cased"
        return named_within(Path(self.model).expanduser(), named)

    def _similarity(
        self, encoder: str, sources: Sequence[str], hypotheses: Sequence[str], runtime: Runtime
    ) -> FloatArray:
        """Cosine of each source and hypothesis, every distinct sentence encoded once."""
        rows: dict[str, int] = {}
        left = [rows.setdefault(text, len(rows)) for text in sources]
        right = [rows.setdefault(text, len(rows)) for text in hypotheses]
        spec = EncoderSpec(encoder, max_length=self.max_length, dtype=self.dtype)
        vectors = load_encoder(spec, runtime).encode(list(rows)).vectors.astype(np.float64)
        if not np.isfinite(vectors).all():
            raise InputError(
                f"the encoder {encoder} gives no numbers: its weights are damaged; copy it anew"
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(norms > 0, norms, 1.0)
        cosines: FloatArray = np.einsum("ij,ij->i", vectors[left], vectors[right])
        return cosines.round(6)


@lru_cache(maxsize=2)
def _open(location: str, max_length: int, device: str, dtype: DType) -> tuple[Regressor, Bundle]:
    """The ranker, and what is known of its training."""
    device = pick_device(device)
    check_dtype(dtype, device)
    _, trained = _trained_with(location)
    checkpoint = resolve(location, packaged=False)
    inside(checkpoint.folder, ".")
    config = read_config(checkpoint)
    if _is_pooled(location):
        model = open_pooled(checkpoint, config)
    else:
        model, _ = read_network(checkpoint, config, "sentences")
    if model.config.num_labels != 1:
        raise InputError(
            f"{location}: a model with {model.config.num_labels} outputs "
            f"({', '.join(model.config.id2label.values())}); IMPARA's has one"
        )
    tokenizer = read_tokenizer(checkpoint, config)
    refuse_padless(checkpoint, config, tokenizer)
    # Of a folder all weights count: a mean's head lies beside the encoder's.
    identity = f"{weights_identity(location)}|{dtype}"
    network = placed(model, dtype, device)
    return Regressor(network, tokenizer, ("rank",), max_length, identity), trained


def _is_pooled(location: str) -> bool:
    """Whether a folder, which `_trained_with` has looked at, says that its ranker reads means."""
    path = Path(location).expanduser() / MANIFEST
    if not path.exists():
        return False
    record = read_json(path, "the manifest of an IMPARA; train anew")
    return isinstance(record, dict) and record.get("format") == IMPARA_POOLED_FORMAT


def _trained_with(location: str) -> tuple[str | None, Bundle]:
    """The encoder that a training used, and hashes and language of its sentences, where told.

    Raises:
        InputError: no such folder, or not an IMPARA model.
    """
    folder = Path(location).expanduser()
    base: str | None = None
    keys: frozenset[str] = frozenset()
    language: object = "und"
    if (folder / MANIFEST).exists():
        record = read_json(inside(folder, MANIFEST), "the manifest of an IMPARA; train anew")
        found = record.get("format") if isinstance(record, dict) else record
        # A text alone may read like the format.
        if found not in (IMPARA_FORMAT, IMPARA_POOLED_FORMAT) or not isinstance(record, dict):
            raise InputError(
                f"{location}: not an IMPARA model (format {found!r:.60}, expected "
                f"{IMPARA_FORMAT!r}); a SOME model is used with -m some:model=..."
            )
        base = record.get("encoder")
        if not isinstance(base, str) or "\0" in base or not 0 < len(base) < 1000:
            raise InputError(
                f"{folder / MANIFEST}: damaged (encoder {base!r:.60}); train or copy the model anew"
            )
        language = record.get("language", "en")
        if not isinstance(language, str) or not 0 < len(language) < 40:
            raise InputError(
                f"{folder / MANIFEST}: damaged (language {language!r:.60}); train or copy the "
                "model anew"
            )
        if (folder / KEYS_FILE).exists():
            keys = frozenset(read_text(inside(folder, KEYS_FILE)).split())
    elif not folder.is_dir() and location.startswith((".", "/", "~")):
        raise InputError(
            f"{location}: no such folder. Train a model with `gecjury train impara jfleg gmeg-dev "
            f"-o {location}`, or correct the path"
        )
    return base, Bundle((), keys=keys, where=location, language=str(language))

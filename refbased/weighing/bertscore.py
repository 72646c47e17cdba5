"""BERTScore F1 (Zhang et al. 2020) of sentence pairs; distinct pairs are computed once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import Float32Array, FloatArray
from gecjury.core.caches import VectorCache
from gecjury.core.runtime import Runtime
from gecjury.models.encoder import Encoder, EncoderSpec, load_encoder
from gecjury.models.precision import DType

_Pair = tuple[str, str]

# The bert-score package's default layers, by model name without its owner.
_LAYERS = {
    "bert-base-uncased": 9,
    "bert-base-cased": 9,
    "bert-large-uncased": 18,
    "roberta-base": 10,
    "roberta-large": 17,
    "electra-base-discriminator": 9,
}
# F1 of random sentence pairs by layer for bert-base-uncased on English, from that package's table.
_BASELINES = {
    "bert-base-uncased": (
        0.31853873, 0.32197207, 0.36834884, 0.36059204, 0.3767926, 0.40032896, 0.38282546,
        0.36949417, 0.37049443, 0.35219112, 0.37991408, 0.44040316, 0.40038353,
    )
}  # fmt: skip
# Texts whose word pieces are kept at once; bounds memory (about 0.1 MB a text).
_WINDOW = 2000


def customary_layer(model: str) -> int | None:
    """Return the layer that bert-score uses for a model, or None for the last."""
    return _LAYERS.get(model.rpartition("/")[2])


def baseline_f(model: str, layer: int) -> float | None:
    """Return the rescaling baseline of a model's layer; None if no table has one.

    Tables of other models than bert-base-uncased are read from the bert-score package.
    """
    short = model.rpartition("/")[2]
    if short in _BASELINES:
        table = _BASELINES[short]
        return table[layer] if layer < len(table) else None
    if find_spec("bert_score") is None:
        return None
    folder = resources.files("bert_score") / "rescale_baseline" / "en"
    for name in (model, short):
        path = folder / f"{name}.tsv"
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines()[1:]:
                cells = line.split(",")
                if int(cells[0]) == layer:
                    return float(cells[3])
    return None


@dataclass(frozen=True)
class BERTScore:
    """F1 of greedily matched word pieces, without IDF, rescaled where a baseline is known.

    Equals the bert-score package; higher is better, 1 for equal sentences.

    Attributes:
        model: encoder; see `EncoderSpec.name`.
        layer: layer whose hidden states are compared; None for bert-score's choice.
        revision: commit, tag or branch of a hub model.
        rescale: subtract the baseline of random pairs, if the model has one.
        dtype: precision, see `EncoderSpec`.
    """

    model: str = "google-bert/bert-base-uncased"
    layer: int | None = None
    revision: str | None = None
    rescale: bool = True
    dtype: DType = "float32"

    @property
    def encoder_spec(self) -> EncoderSpec:
        """The encoder, which reads up to 512 word pieces."""
        layer = customary_layer(self.model) if self.layer is None else self.layer
        return EncoderSpec(
            self.model, layer=layer, revision=self.revision, max_length=512, dtype=self.dtype
        )

    @property
    def identity(self) -> str:
        """Name and pinned version of the encoder's files."""
        return self.encoder_spec.checkpoint().identity

    def score(
        self, pairs: Sequence[_Pair], runtime: Runtime | None = None
    ) -> tuple[FloatArray, int]:
        """Score (candidate, reference) pairs by F1, and count the texts that were cut.

        Pairs that share texts should be close to each other: texts are kept only for a while.
        """
        runtime = runtime or Runtime()
        encoder = load_encoder(self.encoder_spec, runtime)
        # Systems agree on many sentences, so most pairs occur more than once.
        distinct = list(dict.fromkeys(pairs))
        cache = None
        if runtime.use_cache:
            cache = VectorCache(runtime.cache_folder("vectors") / "bertscore.sqlite")
        keys = [_key(encoder.identity, pair) for pair in distinct]
        stored = {} if cache is None else cache.read(keys, 2)
        todo = [pair for pair, key in zip(distinct, keys, strict=True) if key not in stored]
        computed = dict(self._fresh(todo, encoder, runtime))
        fresh = {_key(encoder.identity, pair): np.float64(f) for pair, f in computed.items()}
        if cache is not None:
            cache.write({key: _packed(value) for key, value in fresh.items()})
        raw = {key: _unpacked(vector) for key, vector in stored.items()} | fresh
        values = dict(zip(distinct, (raw[key] for key in keys), strict=True))
        _, truncated = encoder.tokenise(list(dict.fromkeys(t for pair in todo for t in pair)))
        scores = np.array([values[pair] for pair in pairs])
        base = baseline_f(self.model, encoder.layer) if self.rescale else None
        return scores if base is None else (scores - base) / (1 - base), truncated

    def _fresh(
        self, pairs: Sequence[_Pair], encoder: Encoder, runtime: Runtime
    ) -> Iterator[tuple[_Pair, float]]:
        with runtime.progress.task(f"BERTScore with {self.model}", len(pairs)) as bar:
            for part in _windows(pairs):
                texts = list(dict.fromkeys(text for pair in part for text in pair))
                states = dict(zip(texts, _unit_states(encoder, texts), strict=True))
                for candidate, reference in part:
                    yield (candidate, reference), _f1(states[candidate], states[reference])
                    bar.advance()


def _windows(pairs: Iterable[_Pair]) -> Iterator[list[_Pair]]:
    """Yield runs of pairs that contain a limited number of texts."""
    part: list[_Pair] = []
    texts: set[str] = set()
    for pair in pairs:
        if len(texts) >= _WINDOW and not texts.issuperset(pair):
            yield part
            part, texts = [], set()
        part.append(pair)
        texts.update(pair)
    if part:
        yield part


def _unit_states(
    encoder: Encoder, texts: Sequence[str]
) -> list[tuple[Float32Array, NDArray[np.bool_]]]:
    """Return word pieces as unit vectors, and which of them are the sentence's own."""
    result = []
    for states, ids in encoder.token_states(texts):
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        real = ~np.isin(ids, list(encoder.special_ids))
        result.append((states, real))
    return result


def _f1(
    candidate: tuple[Float32Array, NDArray[np.bool_]],
    reference: tuple[Float32Array, NDArray[np.bool_]],
) -> float:
    """Return F1 of the mean best match of each side's own pieces; special pieces may be matched."""
    (x, in_candidate), (y, in_reference) = candidate, reference
    if not in_candidate.any() or not in_reference.any():
        return 0.0
    similar = x @ y.T
    precision = float(similar.max(axis=1)[in_candidate].mean(dtype=np.float64))
    recall = float(similar.max(axis=0)[in_reference].mean(dtype=np.float64))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _key(identity: str, pair: _Pair) -> bytes:
    digest = hashlib.sha256(f"bertscore|{identity}|{len(pair[0])}|".encode())
    digest.update("\n".join(pair).encode("utf-8", "surrogatepass"))
    return digest.digest()[:16]


def _packed(value: float) -> Float32Array:
    """Return a 64-bit float stored as two 32-bit ones."""
    return np.frombuffer(np.float64(value).tobytes(), dtype=np.float32)


def _unpacked(vector: Float32Array) -> np.float64:
    return np.float64(np.frombuffer(vector.tobytes(), dtype=np.float64)[0])

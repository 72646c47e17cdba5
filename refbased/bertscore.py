"""BERTScore F1 (Zhang et al. 2020) of sentence pairs, and weights of edits by it.

Distinct pairs are computed once.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import BoolArray, Float32Array, FloatArray
from gecjury.core.kept import kept_rows
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.edits import Edit, apply_edits, counted_edits
from gecjury.models.encoder import Encoder, EncoderSpec, load_encoder
from gecjury.models.precision import DType
from gecjury.refbased.edit_metric import BestReference

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
        todo: list[_Pair] = []

        def compute(places: list[int]) -> FloatArray:
            todo.extend(distinct[place] for place in places)
            return np.array([*self._fresh(todo, encoder, runtime)])[:, None]

        keys = [_key(encoder.identity, pair) for pair in distinct]
        values = dict(zip(distinct, kept_rows(keys, 1, None, compute, runtime)[:, 0], strict=True))
        _, truncated = encoder.tokenise(list(dict.fromkeys(t for pair in todo for t in pair)))
        scores = np.array([values[pair] for pair in pairs])
        base = baseline_f(self.model, encoder.layer) if self.rescale else None
        return scores if base is None else (scores - base) / (1 - base), truncated

    def _fresh(self, pairs: Sequence[_Pair], encoder: Encoder, runtime: Runtime) -> Iterator[float]:
        with runtime.progress.task(f"BERTScore with {self.model}", len(pairs)) as bar:
            for part in _windows(pairs):
                texts = list(dict.fromkeys(text for pair in part for text in pair))
                states = dict(zip(texts, _unit_states(encoder, texts), strict=True))
                for candidate, reference in part:
                    yield _f1(states[candidate], states[reference])
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


def _unit_states(encoder: Encoder, texts: Sequence[str]) -> list[tuple[Float32Array, BoolArray]]:
    """Return word pieces as unit vectors, and which of them are the sentence's own."""
    result = []
    for states, ids in encoder.token_states(texts):
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        real = ~np.isin(ids, list(encoder.special_ids))
        result.append((states, real))
    return result


def _f1(
    candidate: tuple[Float32Array, BoolArray],
    reference: tuple[Float32Array, BoolArray],
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

    # The option has the name that it has in other metrics.
    model: str | None = option(None, "encoder")
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

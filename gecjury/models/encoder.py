"""Pretrained encoders: tokenizer, model, their limits, and vectors of texts."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from gecjury.core.arrays import Float32Array
from gecjury.core.caches import VectorCache
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.models.batching import cpu_threads, in_batches, pick_device
from gecjury.models.checkpoints import Checkpoint, resolve
from gecjury.models.foreign import ModelConfig, Network, Tensor, Tokenizer
from gecjury.models.networks import (
    check_packages,
    cut_length,
    read_config,
    read_network,
    read_tokenizer,
)
from gecjury.models.precision import DType, check_dtype, placed

if TYPE_CHECKING:
    import torch


def _read_model(
    spec: EncoderSpec, checkpoint: Checkpoint, device: str
) -> tuple[Network, Tokenizer]:
    """Load the tokenizer and the model; the model is on the device and in evaluation mode."""
    check_dtype(spec.dtype, device)
    config = read_config(checkpoint)
    tokenizer = read_tokenizer(checkpoint, config)
    if tokenizer.pad_token_id is None or getattr(config, "is_decoder", False):
        raise OptionError(
            f"encoder {spec.name}: a {config.model_type} model is not a sentence encoder (its "
            "tokenizer cannot pad); choose an encoder such as BERT, ELECTRA, RoBERTa or LaBSE"
        )
    model, _ = read_network(checkpoint, config, "encoder")
    if getattr(config, "is_encoder_decoder", False):
        model = model.get_encoder()
    return tokenizer, placed(model, spec.dtype, device)


def _hidden_index(spec: EncoderSpec, config: ModelConfig) -> int:
    """Return the index of the hidden states that `spec.layer` names; 0 is the embeddings."""
    count = int(config.num_hidden_layers)
    layer = count if spec.layer is None else spec.layer
    index = layer + count + 1 if layer < 0 else layer
    if not 0 <= index <= count:
        raise OptionError(
            f"encoder {spec.name}: layer={spec.layer} is out of range; it has {count} layers: "
            f"expected 0 (embeddings) to {count}, or -1 to {-count - 1} from the last"
        )
    return index


Pooling = Literal["mean", "cls"]
_KEPT = 4  # encoders kept in memory
_KEPT_AT_ONCE = 1000  # vectors that are written to the disk together
_REMEMBERED = 512 * 1024**2  # bytes of vectors that an encoder keeps in memory


@dataclass(frozen=True)
class EncoderSpec:
    """The settings that determine an encoder's vectors.

    Attributes:
        name: `embedded`, a folder, or a name on the Hugging Face hub.
        pooling: `mean` over all word pieces, including special ones, or the first one's (`cls`).
        layer: hidden states used: 0 for the embeddings, 1 for the first layer, …; negative
            numbers count from the last; None for the last.
        revision: commit, tag or branch on the hub; None for the main branch.
        max_length: word pieces of a sentence that are read, including special ones.
        dtype: precision of the products of linear layers (see `gecjury.models.precision`); vectors
            are 32-bit floats in any case.
    """

    name: str = "embedded"
    pooling: Pooling = "mean"
    layer: int | None = None
    revision: str | None = None
    max_length: int = 128
    dtype: DType = "float32"

    def checkpoint(self) -> Checkpoint:
        """Return the model's files; see `gecjury.models.checkpoints.resolve` for the errors."""
        return resolve(self.name, self.revision)


@dataclass(frozen=True)
class Encoded:
    """Vectors of some texts.

    Attributes:
        vectors: N × d, in the order of the texts. Texts with the same word pieces have exactly the
            same vector.
        truncated: number of distinct texts longer than the encoder reads.
        distinct: number of distinct texts.
        fresh: number of inputs that the model had to read now; the others were cached.
    """

    vectors: Float32Array
    truncated: int
    distinct: int
    fresh: int


def load_encoder(spec: EncoderSpec, runtime: Runtime | None = None) -> Encoder:
    """Return an encoder ready to use; it is loaded once per run, specification and device.

    Raises:
        GecjuryError: the model cannot be found or used; the message says what to do instead.
    """
    runtime = runtime or Runtime()
    check_packages(f"the encoder {spec.name}")
    cache = runtime.cache_folder("vectors") / "vectors.sqlite" if runtime.use_cache else None
    key = (spec, spec.checkpoint(), pick_device(runtime.device), cache)
    if key not in _loaded:
        # The oldest is dropped before the new one is loaded, so that memory never has to hold one
        # encoder more than `_KEPT`.
        if len(_loaded) >= _KEPT:
            del _loaded[next(iter(_loaded))]
        _loaded[key] = Encoder(*key[:3], None if cache is None else VectorCache(cache))
    encoder = _loaded[key]
    encoder.runtime = runtime
    return encoder


def forget() -> None:
    """Drop the vectors that loaded encoders keep in memory; models and disk caches stay."""
    for encoder in _loaded.values():
        encoder.clear()


_loaded: dict[tuple[EncoderSpec, Checkpoint, str, Path | None], Encoder] = {}


class Encoder:
    """A pretrained encoder with its tokenizer; use `load_encoder`.

    Attributes:
        spec: settings that determine the vectors.
        checkpoint: the model's files.
        device: device that it runs on.
        layer: index of the hidden states used; 0 is the embeddings.
        limit: word pieces that are read of a sentence.
        runtime: batch size and progress of the next texts.
    """

    def __init__(
        self, spec: EncoderSpec, checkpoint: Checkpoint, device: str, cache: VectorCache | None
    ) -> None:
        self.spec = spec
        self.checkpoint = checkpoint
        self.device = device
        self.runtime = Runtime()
        self._cache = cache
        self._memory: dict[bytes, Float32Array] = {}
        self._held = 0
        self._tokenizer, self._model = _read_model(spec, checkpoint, device)
        self.layer = _hidden_index(spec, self._model.config)
        # True if the model's last layer is the one wanted.
        self._whole = self.layer == int(self._model.config.num_hidden_layers)
        self._drop_layers()
        self._passing = threading.local()
        self._watched = self._watch_layers()
        self.limit = cut_length(self._tokenizer, spec.max_length)
        if spec.pooling == "cls" and self._tokenizer.cls_token_id is None:
            raise OptionError(
                f"encoder {spec.name}: pooling=cls needs a [CLS] token and this model's tokenizer "
                "has none; use pooling=mean"
            )

    def clear(self) -> None:
        """Forget the vectors kept in memory."""
        self._memory.clear()
        self._held = 0

    @property
    def identity(self) -> str:
        """A string of everything that determines a vector besides the text."""
        return self._identity(self.layer)

    def _identity(self, layer: int) -> str:
        spec = self.spec
        # Earlier versions cached vectors of networks that had 16 bits throughout.
        numbers = spec.dtype if spec.dtype == "float32" else f"{spec.dtype} products"
        return f"{self.checkpoint.identity}|{spec.pooling}|layer={layer}|{self.limit}|{numbers}"

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the word pieces at the start and end of a sentence ([CLS], [SEP])."""
        ids = (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id)
        return frozenset(number for number in ids if number is not None)

    def tokenise(self, texts: Sequence[str]) -> tuple[list[list[int]], int]:
        """Return the word-piece ids of every text, cut at `limit`, and how many texts were cut."""
        if not texts:
            return [], 0
        ids = self._ids(texts, cut=False)
        long = [place for place, pieces in enumerate(ids) if len(pieces) > self.limit]
        if long:
            for place, pieces in zip(
                long, self._ids([texts[place] for place in long], cut=True), strict=True
            ):
                ids[place] = pieces
        return ids, len(long)

    def _ids(self, texts: Sequence[str], cut: bool) -> list[list[int]]:
        options: dict[str, object] = {"truncation": True, "max_length": self.limit} if cut else {}
        encoded = self._tokenizer(
            list(texts),
            add_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
            **options,
        )
        return [list(pieces) for pieces in encoded["input_ids"]]

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return vectors of texts; the encoder reads each distinct text only once.

        Args:
            texts: any number, in any order, repeated or not.
        """
        return self.encode_layers(texts, (self.layer,))[0]

    def encode_layers(self, texts: Sequence[str], layers: Sequence[int]) -> list[Encoded]:
        """Return vectors of several layers from one pass over the texts.

        They equal the vectors of encoders of the single layers, with which they share the cache.

        Args:
            texts: texts, repeated or not.
            layers: counted from 0 for the embeddings, each at most the encoder's own.

        Raises:
            OptionError: the encoder does not compute such a layer.
        """
        if over := [layer for layer in layers if not 0 <= layer <= self.layer]:
            raise OptionError(
                f"encoder {self.spec.name}: layer {over[0]} is out of range; this encoder computes "
                f"layers 0 to {self.layer}"
            )
        # Three steps avoid repeated work: distinct texts, then distinct word pieces (texts that
        # differ only in what the tokenizer drops share theirs), then vectors in memory or on disk.
        distinct = list(dict.fromkeys(texts))
        pieces, truncated = self.tokenise(distinct)
        inputs: dict[tuple[int, ...], int] = {}
        row_of: dict[str, int] = {}
        for text, ids in zip(distinct, pieces, strict=True):
            row_of[text] = inputs.setdefault(tuple(ids), len(inputs))
        keys_of: dict[int, list[bytes]] = {}
        for layer in layers:
            prefix = self._identity(layer).encode()
            keys_of[layer] = [_key(prefix, ids) for ids in inputs]
        every = [key for keys in keys_of.values() for key in keys]
        stored = {key: self._memory[key] for key in every if key in self._memory}
        unknown = [key for key in every if key not in stored]
        width = int(self._model.config.hidden_size)
        if self._cache is not None and unknown:
            stored |= self._cache.read(unknown, width)
        # One pass computes all layers, so an input is read if any layer lacks it.
        absent = {row for keys in keys_of.values() for row, k in enumerate(keys) if k not in stored}
        lacking = sorted(absent)
        unread = [ids for ids, row in inputs.items() if row in absent]
        new: dict[bytes, Float32Array] = {}

        def keep() -> None:
            if self._cache is not None:
                self._cache.write(new)
            stored.update(new)
            new.clear()

        def reduce(states: torch.Tensor) -> torch.Tensor:
            return _pool(states, self.spec.pooling)

        try:
            for places, pooled in self._states(unread, tuple(keys_of), reduce):
                rows = [lacking[place] for place in places]
                for keys, vectors in zip(keys_of.values(), pooled, strict=True):
                    # Vectors of a layer that were stored before are not written again.
                    made = {keys[row]: vector for row, vector in zip(rows, vectors, strict=True)}
                    new |= {key: vector for key, vector in made.items() if key not in stored}
                if len(new) >= _KEPT_AT_ONCE:
                    keep()
        finally:
            # What an interrupted run has read, the next one finds: its batches are the same.
            keep()
        self._remember(stored)
        results = []
        for layer in layers:
            vectors = [stored[keys_of[layer][row_of[text]]] for text in texts]
            table = np.array(vectors, dtype=np.float32).reshape(len(texts), width)
            results.append(Encoded(table, truncated, len(distinct), len(lacking)))
        return results

    def token_states(self, texts: Sequence[str]) -> list[tuple[Float32Array, list[int]]]:
        """Return for each text the hidden states of its word pieces, tokens × d, and their ids."""
        pieces, _ = self.tokenise(texts)
        result: list[tuple[Float32Array, list[int]]] = [
            (np.empty((0, 0), dtype=np.float32), ids) for ids in pieces
        ]
        layers = (self.layer,)
        for places, states in self._states(pieces, layers, lambda states: states.float()):
            for place, table in zip(places, states[0], strict=True):
                result[place] = (table.copy(), pieces[place])
        return result

    def _remember(self, vectors: dict[bytes, Float32Array]) -> None:
        for key, vector in vectors.items():
            if key not in self._memory and self._held + vector.nbytes <= _REMEMBERED:
                self._memory[key] = vector
                self._held += vector.nbytes

    def _states(
        self,
        pieces: Sequence[Sequence[int]],
        layers: tuple[int, ...],
        reduce: Callable[[torch.Tensor], torch.Tensor],
    ) -> Iterator[tuple[list[int], Float32Array]]:
        """Yield positions in `pieces`, and `reduce` of each layer's states (batch × length × d)."""
        import torch

        below = tuple(layer for layer in layers if layer != self.layer)
        recorded = not self._whole or (below and not self._watched)

        def read(ids: torch.Tensor) -> torch.Tensor:
            if recorded:
                states = self._model(input_ids=ids, output_hidden_states=True).hidden_states
                return torch.stack([reduce(states[layer]) for layer in layers])
            passing = self._passing.states = dict.fromkeys(below)
            passing[self.layer] = self._model(input_ids=ids).last_hidden_state
            return torch.stack([reduce(passing[layer]) for layer in layers])

        def compute(places: list[int]) -> Float32Array:
            with torch.inference_mode():
                output = read(torch.tensor([pieces[p] for p in places], device=self.device))
                table: Float32Array = output.cpu().numpy()
                return table

        # It is not known whether recording the states of all layers is thread-safe.
        threads = 1 if recorded else cpu_threads(self.device)
        lengths = [len(ids) for ids in pieces]
        batches = in_batches(
            self._model, lengths, compute, self.runtime.batch_size, equal=True, threads=threads
        )
        with self.runtime.progress.task(f"encoding with {self.spec.name}", len(pieces)) as bar:
            for places, output in batches:
                yield places, output
                bar.advance(len(places))

    def _drop_layers(self) -> None:
        """Remove the layers above the one wanted if the model has the usual layout."""
        layers = self._layers()
        if layers is not None and 0 < self.layer < len(layers):
            self._model.encoder.layer = layers[: self.layer]
            self._whole = True

    def _watch_layers(self) -> bool:
        """Make each layer record its input, which is the output of the layer below.

        Each thread records the states of its own batch, and only those of the layers wanted.

        Returns:
            True if the model has the usual layout.
        """
        layers = self._layers()
        if layers is None:
            return False

        def show(number: int) -> Callable[[Network, tuple[Tensor, ...], dict[str, Tensor]], None]:
            def look(_module: Network, args: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
                wanted = getattr(self._passing, "states", None)
                if wanted is not None and number in wanted:
                    wanted[number] = args[0] if args else named["hidden_states"]

            return look

        for number, layer in enumerate(layers):
            layer.register_forward_pre_hook(show(number), with_kwargs=True)
        return True

    def _layers(self) -> Network | None:
        """Return the model's layers in order; None if the model does not have the usual layout."""
        from torch import nn

        layers = getattr(getattr(self._model, "encoder", None), "layer", None)
        return layers if isinstance(layers, nn.ModuleList) else None


def _pool(states: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """Pool states without padding (batch × length × d) to vectors (batch × d, 32-bit floats)."""
    return states[:, 0].float() if pooling == "cls" else states.float().mean(dim=1)


def _key(prefix: bytes, ids: Sequence[int]) -> bytes:
    """Return the cache key, from the word pieces: the model sees nothing else of a text."""
    digest = hashlib.sha256(prefix)
    digest.update(np.asarray(ids, dtype="<i4").tobytes())
    return digest.digest()[:16]

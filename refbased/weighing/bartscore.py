"""BARTScore (Yuan et al. 2021) of sentence pairs; each distinct direction is computed once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray
from gecjury.core.caches import VectorCache
from gecjury.core.errors import DataError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.models.batching import pick_device, run_batch
from gecjury.models.checkpoints import Checkpoint, resolve
from gecjury.models.networks import (
    check_packages,
    cut_length,
    network_class,
    read_config,
    read_network,
    read_tokenizer,
    refuse_missing,
)

_Pair = tuple[str, str]
_Pieces = tuple[int, ...]
Direction = tuple[_Pieces, _Pieces]  # word pieces of the source, and of the target

# Word pieces that are read from a text, as in the authors' code.
_LENGTH = 1024
# Target pieces of a batch; bounds the logits' memory (0.8 GB for BART's 50,265 pieces).
_BATCH_PIECES = 4096
_IGNORED = -100  # the label that transformers uses for padding


@dataclass(frozen=True)
class BARTScore:
    """F variant: the mean of log p(reference | hypothesis) and log p(hypothesis | reference).

    The score of a direction is the mean log-probability of the target's word pieces given the
    source, including the special ones that the tokenizer adds (Yuan et al. 2021, section 3.2, with
    equal weights). Natural logarithms: 0 or less, higher is better.

    Attributes:
        model: a sequence-to-sequence model, as a folder or a name of the Hugging Face hub.
        revision: commit, tag or branch of a hub model.
    """

    label: ClassVar[str] = "BARTScore"

    model: str = "facebook/bart-large-cnn"
    revision: str | None = None

    @property
    def identity(self) -> str:
        """Name and pinned version of the model's files.

        Raises:
            GecjuryError: see `gecjury.models.checkpoints.resolve`.
        """
        return self._checkpoint().identity

    def _checkpoint(self) -> Checkpoint:
        try:
            return resolve(self.model, self.revision)
        except DataError as error:
            raise DataError(
                f"{error}. BARTScore needs a sequence-to-sequence model, which 'embedded' is not; "
                "BERTScore can use it (weights=bertscore,encoder=embedded)"
            ) from None

    def score(
        self, pairs: Sequence[_Pair], runtime: Runtime | None = None
    ) -> tuple[FloatArray, int]:
        """Score (hypothesis, reference) pairs, and count the distinct texts that were cut.

        Raises:
            GecjuryError: the model cannot be loaded or is not a sequence-to-sequence model.
        """
        runtime = runtime or Runtime()
        check_packages("BARTScore")
        model = _load(self._checkpoint(), pick_device(runtime.device))
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        pieces, truncated = model.tokenise(texts)
        pieces_of = dict(zip(texts, pieces, strict=True))
        # Both directions of a pair share their texts' word pieces.
        ways = [((pieces_of[x], pieces_of[y]), (pieces_of[y], pieces_of[x])) for x, y in pairs]
        score_of = self._directions(
            list(dict.fromkeys(way for two_ways in ways for way in two_ways)), model, runtime
        )
        scores = [(score_of[forward] + score_of[back]) / 2 for forward, back in ways]
        return np.array(scores, dtype=np.float64), truncated

    def _directions(
        self, directions: Sequence[Direction], model: _Model, runtime: Runtime
    ) -> Mapping[Direction, float]:
        """Return mean log-probabilities; those cached on disk are not computed again."""
        cache = None
        if runtime.use_cache:
            cache = VectorCache(runtime.cache_folder("vectors") / "bartscore.sqlite")
        keys = {direction: _key(model.identity, direction) for direction in directions}
        stored = {} if cache is None else cache.read(list(keys.values()), 1)
        todo = [direction for direction in directions if keys[direction] not in stored]
        fresh: dict[bytes, np.float32] = {}
        size = runtime.batch_size
        with runtime.progress.task(f"BARTScore with {self.model}", len(todo)) as bar:
            for part in _batches(todo, size):
                values = run_batch(model.log_probabilities, part, size, size)
                fresh.update(zip((keys[direction] for direction in part), values, strict=True))
                bar.advance(len(part))
        if cache is not None:
            cache.write({key: np.array([value]) for key, value in fresh.items()})
        values_of = {key: float(vector[0]) for key, vector in stored.items()}
        values_of |= {key: float(value) for key, value in fresh.items()}
        return {direction: values_of[key] for direction, key in keys.items()}


class _Model:
    """A sequence-to-sequence model with its tokenizer; use `_load`."""

    def __init__(self, checkpoint: Checkpoint, device: str) -> None:
        self.device = device
        self._tokenizer, self._model = _read_model(checkpoint, device)
        self.limit = cut_length(self._tokenizer, _LENGTH)
        self.identity = f"{checkpoint.identity}|{self.limit}"

    def tokenise(self, texts: Sequence[str]) -> tuple[list[_Pieces], int]:
        """Return the word pieces of every text, cut at `limit`, and how many texts were cut."""
        if not texts:
            return [], 0
        pieces = self._ids(texts)
        long = [place for place, ids in enumerate(pieces) if len(ids) > self.limit]
        if long:
            cut = self._ids([texts[p] for p in long], truncation=True, max_length=self.limit)
            for place, ids in zip(long, cut, strict=True):
                pieces[place] = ids
        return pieces, len(long)

    def _ids(self, texts: Sequence[str], **options: Any) -> list[_Pieces]:
        encoded = self._tokenizer(
            list(texts), return_attention_mask=False, verbose=False, **options
        )
        return [tuple(ids) for ids in encoded["input_ids"]]

    def log_probabilities(self, batch: Sequence[Direction]) -> NDArray[np.float32]:
        """Return the mean log-probability of each direction's target, in the order given."""
        import torch

        padding = self._tokenizer.pad_token_id
        inputs, mask = self._padded([source for source, _ in batch], padding)
        labels, real = self._padded([target for _, target in batch], _IGNORED)
        with torch.inference_mode():
            logits = self._model(
                input_ids=inputs,
                attention_mask=mask.to(inputs.dtype),
                decoder_input_ids=self._model.prepare_decoder_input_ids_from_labels(labels=labels),
                use_cache=False,
            ).logits.float()
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), labels, ignore_index=_IGNORED, reduction="none"
            )
            means = -losses.sum(dim=1) / real.sum(dim=1)
        values: NDArray[np.float32] = means.cpu().numpy()
        return values

    def _padded(self, rows: Sequence[_Pieces], padding: int) -> tuple[Any, Any]:
        """Return ids padded to the longest row, and which of them are real: both rows × length."""
        import torch

        length = max(len(row) for row in rows)
        table = [[*row, *[padding] * (length - len(row))] for row in rows]
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        real = torch.arange(length, device=self.device)[None] < lengths[:, None]
        return torch.tensor(table, device=self.device), real


_load = lru_cache(maxsize=1)(_Model)


def _read_model(checkpoint: Checkpoint, device: str) -> tuple[Any, Any]:
    """Load tokenizer and model, in evaluation mode on the device."""
    import torch

    config = read_config(checkpoint)
    tokenizer = read_tokenizer(checkpoint, config)
    _check_parts(checkpoint, config, tokenizer)
    model, missing = read_network(checkpoint, config, "text-to-text")
    refuse_missing(checkpoint, config, missing, "a whole sequence-to-sequence model")
    return tokenizer, model.to(device=device, dtype=torch.float32).eval()


def _check_parts(checkpoint: Checkpoint, config: Any, tokenizer: Any) -> None:
    """Refuse a model whose targets cannot be scored, before its weights are read."""

    def refused(reason: str) -> OptionError:
        return OptionError(
            f"BARTScore model {checkpoint.name}: {reason}; choose a sequence-to-sequence model "
            "such as facebook/bart-large-cnn"
        )

    if not getattr(config, "is_encoder_decoder", False):
        raise refused(f"a {config.model_type} model does not generate a target from a source")
    if tokenizer.pad_token_id is None or not tokenizer("")["input_ids"]:
        raise refused("its tokenizer cannot pad or does not add an end of sentence")
    try:
        kind = network_class(config, "text-to-text")
    except ValueError:
        raise refused(
            f"transformers cannot generate text with a {config.model_type} model"
        ) from None
    if not hasattr(kind, "prepare_decoder_input_ids_from_labels"):
        raise refused(f"a {config.model_type} model cannot score given targets")


def _batches(directions: Sequence[Direction], size: int) -> Iterator[list[Direction]]:
    """Yield runs of similar length, limited in number and in padded target pieces."""
    part: list[Direction] = []
    for direction in sorted(directions, key=lambda d: (len(d[1]), len(d[0]))):
        if part and (len(part) >= size or (len(part) + 1) * len(direction[1]) > _BATCH_PIECES):
            yield part
            part = []
        part.append(direction)
    if part:
        yield part


def _key(identity: str, direction: Direction) -> bytes:
    """Return the cache key, made from word pieces, since the model sees nothing else of a text."""
    source, target = direction
    digest = hashlib.sha256(f"bartscore|{identity}|{len(source)}|".encode())
    digest.update(np.asarray([*source, *target], dtype="<i4").tobytes())
    return digest.digest()[:16]

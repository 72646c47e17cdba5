"""Causal language models: how probable a sentence is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.models.batching import in_batches, pick_device
from gecjury.models.checkpoints import Checkpoint, resolve
from gecjury.models.foreign import Network, Tokenizer
from gecjury.models.kept import input_key, kept_rows
from gecjury.models.networks import read_config, read_network, read_tokenizer, refuse_missing
from gecjury.models.precision import DType, check_dtype, placed

_DIGITS = 6
_ENGLISH_MODELS = frozenset(
    {"gpt2", "openai-community/gpt2", "HuggingFaceTB/SmolLM2-135M-Instruct"}
)


def english_model_notes(model: str, corpus: Corpus) -> tuple[str, ...]:
    """Return a warning if a default model is used for texts that are not English."""
    if model not in _ENGLISH_MODELS or corpus.language.code in ("en", "und"):
        return ()
    name = corpus.language.name
    return (
        f"language: {model} was trained on English, and the texts are {name}: its probabilities "
        "say little about them; name a model that was trained on the language",
    )


def mean_log_probabilities(
    model: str, texts: Sequence[str], runtime: Runtime, dtype: DType = "float32"
) -> FloatArray:
    """Return the mean log probability of each sentence's word pieces, after a start-of-text piece.

    Args:
        model: folder or hub name of a causal language model.
        texts: N sentences.
        runtime: device, batch size and cache.
        dtype: precision of the model; see `gecjury.models.precision`.

    Returns:
        N numbers, 0 or less; perplexity is exp(−x). NaN for an empty sentence, which has no pieces.

    Raises:
        GecjuryError: the model cannot be found, or is not a complete language model.
    """
    device = pick_device(runtime.device)
    checkpoint = resolve(model, packaged=False)
    tokenizer, network = _open(checkpoint, device, dtype)
    # The first word needs a piece before it to have a probability: the token that begins texts, or
    # else the one that ends them.
    start = tokenizer.bos_token or tokenizer.eos_token or ""
    encoded = tokenizer(
        [start + text for text in texts], truncation=True, max_length=tokenizer.model_max_length
    )["input_ids"]

    def compute(places: list[int]) -> FloatArray:
        means = np.full((len(places), 1), np.nan)
        rows = [row for row, place in enumerate(places) if len(encoded[place]) > 1]
        pieces = [encoded[places[row]] for row in rows]

        def score(batch: list[int]) -> FloatArray:
            return _score(network, [pieces[number] for number in batch])

        batches = in_batches(network, [len(ids) for ids in pieces], score, runtime.batch_size)
        with runtime.progress.task(f"{model}: probabilities", len(pieces)) as bar:
            for batch, values in batches:
                means[[rows[number] for number in batch], 0] = values
                bar.advance(len(batch))
        return means

    # Sentences with the same pieces must get exactly the same value, whatever batch they are in.
    identity = f"{checkpoint.identity}|mean log probability|{dtype}"
    keys = [input_key(identity, ids) for ids in encoded]
    return kept_rows(keys, 1, _DIGITS, compute, runtime)[:, 0]


def fluencies(
    model: str, texts: Sequence[str], runtime: Runtime, dtype: DType = "float32"
) -> FloatArray:
    """Return 1/(1 + H) of each sentence, with H the mean negative log probability of its pieces.

    N numbers from 0 to 1; 0 for an empty sentence. Arguments and errors are those of
    `mean_log_probabilities`.
    """
    return np.nan_to_num(1 / (1 - mean_log_probabilities(model, texts, runtime, dtype)))


def _score(network: Network, batch: Sequence[Sequence[int]]) -> FloatArray:
    """Return the mean log probability of each sequence's pieces except the first."""
    import torch

    pieces = [torch.tensor(ids) for ids in batch]
    ids, mask = (
        torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(network.device)
        for rows in (pieces, [torch.ones_like(ids) for ids in pieces])
    )
    with torch.inference_mode():
        logits = network(ids, attention_mask=mask).logits[:, :-1].float()
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), ids[:, 1:], reduction="none"
        )
    counted = mask[:, 1:]
    means: FloatArray = -((losses * counted).sum(1) / counted.sum(1)).cpu().double().numpy()
    return means.round(_DIGITS)


@lru_cache(maxsize=1)
def _open(checkpoint: Checkpoint, device: str, dtype: DType) -> tuple[Network, Tokenizer]:
    check_dtype(dtype, device)
    config = read_config(checkpoint)
    network, missing = read_network(checkpoint, config, "next-word")
    refuse_missing(checkpoint, config, missing, "a whole causal language model")
    # `whole`, because the output matrix is a fifth of a small model.
    return read_tokenizer(checkpoint, config), placed(network, dtype, device, whole=True)

"""Causal language models: how probable a sentence is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.kept import input_key, kept_rows
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.models.batching import in_batches, pick_device
from gecjury.models.checkpoints import Checkpoint, resolve
from gecjury.models.foreign import Network, Tensor, Tokenizer
from gecjury.models.networks import read_config, read_network, read_tokenizer, refuse_missing
from gecjury.models.precision import DType, check_dtype, placed

_DIGITS = 6
# Of what a word would cost on its own; chosen on development data (docs/measured/seeda.md).
_ALLOWANCE = 0.4
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
    return _read(model, texts, runtime, dtype)[:, 0]


def surprises(
    model: str, texts: Sequence[str], runtime: Runtime, dtype: DType = "float32"
) -> FloatArray:
    """Return how improbable each sentence is, with an allowance for its length and its rare words.

    This is −(Σ log p(piece | all before) − 0.4 Σ log p(piece | start of text))/√words. The first
    sum is over all word pieces; the second is over the pieces that begin a word, each once, and
    their number is that of the words, so that saying things twice is never better. Words are
    separated by blanks; in a text without any, each piece is a word.

    Returns:
        N numbers, the lower the better; infinite for an empty sentence. Arguments and errors are
        those of `mean_log_probabilities`.
    """
    means, alone, pieces, words = _read(model, texts, runtime, dtype).T
    with np.errstate(invalid="ignore"):
        improbable = -pieces * (means - _ALLOWANCE * alone) / np.sqrt(words)
    return np.where(pieces > 0, improbable, np.inf)


def _read(model: str, texts: Sequence[str], runtime: Runtime, dtype: DType) -> FloatArray:
    """Return four figures of each sentence, N × 4.

    They are the mean log probability of its pieces; the sum of those of distinct pieces that begin
    a word, read directly after the start of the text, over the number of all pieces; and how many
    pieces and distinct words it has. The first two are NaN for an empty sentence.
    """
    if not texts:
        return np.empty((0, 4))
    device = pick_device(runtime.device)
    checkpoint = resolve(model, packaged=False)
    tokenizer, network = _open(checkpoint, device, dtype)
    # The first word needs a piece before it to have a probability: the token that begins texts, or
    # else the one that ends them.
    start = tokenizer.bos_token or tokenizer.eos_token or ""
    read = [start + text for text in texts]
    encoded = tokenizer(
        read,
        truncation=True,
        max_length=tokenizer.model_max_length,
        return_offsets_mapping=tokenizer.is_fast,
    )
    ids = encoded["input_ids"]
    places_of = encoded["offset_mapping"] if tokenizer.is_fast else [[]] * len(texts)
    begins = [
        _first_pieces(text, len(start), row[1:], at[1:])
        for text, row, at in zip(read, ids, places_of, strict=True)
    ]

    def compute(places: list[int]) -> FloatArray:
        means = np.full((len(places), 2), np.nan)
        rows = [row for row, place in enumerate(places) if len(ids[place]) > 1]

        def score(batch: list[int]) -> FloatArray:
            chosen = [places[rows[number]] for number in batch]
            return _score(network, [ids[place] for place in chosen], [begins[p] for p in chosen])

        lengths = [len(ids[places[row]]) for row in rows]
        batches = in_batches(network, lengths, score, runtime.batch_size)
        with runtime.progress.task(f"{model}: probabilities", len(rows)) as bar:
            for batch, values in batches:
                means[[rows[number] for number in batch]] = values
                bar.advance(len(batch))
        return means

    # Sentences with the same pieces must get exactly the same value, whatever batch they are in.
    identity = f"{checkpoint.identity}|mean log probabilities|{dtype}"
    keys = [input_key(identity, row, first) for row, first in zip(ids, begins, strict=True)]
    counts = [[len(first), sum(first)] for first in begins]
    means = kept_rows(keys, 2, _DIGITS, compute, runtime)
    return np.hstack([means, np.array(counts, dtype=float).reshape(len(texts), 2)])


def _first_pieces(
    text: str, start: int, ids: Sequence[int], places: Sequence[tuple[int, int]]
) -> list[bool]:
    """Return which pieces begin a word, by blanks, with which no word before it begins.

    In a text without blanks, or if the places of pieces are unknown, each piece is a word.

    Args:
        text: a sentence after the token that begins texts.
        start: the length of that token.
        ids: the sentence's pieces.
        places: their places in the text; empty if they are unknown.
    """
    if not places or not any(map(str.isspace, text[start:].strip())):
        begins = [True] * len(ids)
    else:
        begins = [at <= start or any(map(str.isspace, text[at - 1 : at + 1])) for at, _ in places]
    firsts: dict[int, int] = {}
    for place, (piece, first) in enumerate(zip(ids, begins, strict=True)):
        if first:
            firsts.setdefault(piece, place)
    return [firsts.get(piece) == place for place, piece in enumerate(ids)]


def _score(
    network: Network, batch: Sequence[Sequence[int]], begins: Sequence[Sequence[bool]]
) -> FloatArray:
    """Return two means over each sequence's pieces except the first; see `_read`."""
    import torch

    def padded(rows: Sequence[Sequence[int]]) -> Tensor:
        tensors = [torch.tensor(row) for row in rows]
        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True).to(network.device)

    ids, mask = padded(batch), padded([[1] * len(row) for row in batch])
    counted, first = mask[:, 1:], padded([[int(x) for x in row] for row in begins])
    with torch.inference_mode():
        logits = network(ids, attention_mask=mask).logits[:, :-1].float()
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), ids[:, 1:], reduction="none"
        )
        alone = logits[:, 0].log_softmax(1).gather(1, ids[:, 1:])
    sums = torch.stack([-(losses * counted).sum(1), (alone * first).sum(1)], dim=1)
    means: FloatArray = (sums / counted.sum(1)[:, None]).cpu().double().numpy()
    return means.round(_DIGITS)


@lru_cache(maxsize=1)
def _open(checkpoint: Checkpoint, device: str, dtype: DType) -> tuple[Network, Tokenizer]:
    check_dtype(dtype, device)
    config = read_config(checkpoint)
    network, missing = read_network(checkpoint, config, "next-word")
    refuse_missing(checkpoint, config, missing, "a whole causal language model")
    # `whole`, because the output matrix is a fifth of a small model.
    return read_tokenizer(checkpoint, config), placed(network, dtype, device, whole=True)

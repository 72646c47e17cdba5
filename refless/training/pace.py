"""How long a training takes, measured on a few batches of its own texts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gecjury.core.runtime import Runtime
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import quiet_transformers, resolve
from gecjury.models.foreign import Tensor
from gecjury.models.networks import NetworkKind, read_config, read_tokenizer
from gecjury.refless.nets.regressor import load_model, padded, tokenise
from gecjury.refless.nets.trainable import choose_attention, freeze_lowest
from gecjury.refless.training.recipe import TrainSettings

_BATCHES = 3


@dataclass(frozen=True)
class TrainingPace:
    """Seconds for one input: when the model learns from it, and when it only reads it."""

    learning: float
    reading: float


def measured_pace(
    encoder: str,
    texts: Sequence[str],
    settings: TrainSettings,
    runtime: Runtime,
    kind: NetworkKind = "sentences",
    *,
    learns: bool = True,
) -> TrainingPace:
    """Return the pace of a model over some of the texts; nothing is written.

    Args:
        encoder: hub name or folder.
        texts: the inputs of the training; a few batches are taken evenly from them.
        learns: measure learning as well, which needs several times the memory of reading.
    """
    import torch

    quiet_transformers()
    checkpoint = resolve(encoder)
    tokenizer = read_tokenizer(checkpoint, read_config(checkpoint))
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    device = torch.device(pick_device(runtime.device))
    model = load_model(encoder, ["score"], kind=kind).to(device)
    if settings.freeze_layers is not None:
        freeze_lowest(model, settings.freeze_layers)
    size = settings.train_batch
    sample = texts[:: max(1, len(texts) // (_BATCHES * size))][: _BATCHES * size]
    rows = tokenise(tokenizer, sample, None, settings.max_length)
    batches = [padded(tokenizer, rows[start : start + size]) for start in range(0, len(rows), size)]
    kept = {}
    if kind == "next-word":
        # A judge's loss reads only the word pieces of its answer.
        kept = {"logits_to_keep": 8}
        choose_attention(model, max(len(row["input_ids"]) for row in rows), settings.bf16)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=0.0) if learns else None

    def seconds(batch: dict[str, Tensor], learn: bool) -> float:
        start = time.perf_counter()
        inputs = {key: value.to(device) for key, value in batch.items()}
        with (
            torch.set_grad_enabled(learn),
            torch.autocast(device.type, torch.bfloat16, enabled=settings.bf16),
        ):
            loss = model(**inputs, **kept).logits.float().square().mean()
        if learn and optimiser is not None:
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
        loss.item()  # waits for a GPU
        return (time.perf_counter() - start) / len(batch["input_ids"])

    paces = [] if learns else [0.0]
    for learn in (True, False) if learns else (False,):
        # The first batch is slower: it allocates memory and the optimiser's states.
        seconds(batches[0], learn)
        paces.append(sum(seconds(batch, learn) for batch in batches) / len(batches))
    return TrainingPace(*paces)

"""Causal language models: how probable a sentence is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gecjury.runtime import Runtime
from gecjury.scoretable import FloatArray
from refless.regressor import (
    batches_by_length,
    check_folder,
    load_tokenizer,
    loading_errors,
    model_device,
    quiet_transformers,
)

__all__ = ["mean_log_probabilities"]


def mean_log_probabilities(model: str, texts: Sequence[str], runtime: Runtime) -> FloatArray:
    """Mean log probability of the word pieces of each sentence, after a start-of-text piece.

    Args:
        model: folder or hub name of a causal language model.
        texts: N sentences.
        runtime: device and batch size.

    Returns:
        N numbers, 0 or less; perplexity is exp(−x). An empty sentence has no piece: NaN.
    """
    import torch

    tokenizer, network = _open(model, model_device(runtime))
    start = tokenizer.bos_token or tokenizer.eos_token or ""
    encoded = tokenizer(
        [start + text for text in texts], truncation=True, max_length=tokenizer.model_max_length
    )["input_ids"]
    lengths = [len(ids) for ids in encoded]
    result = np.full(len(texts), np.nan)
    for rows in runtime.track(batches_by_length(lengths, runtime), f"{model}: probabilities"):
        rows = [row for row in rows if lengths[row] > 1]
        if not rows:
            continue
        width = max(lengths[row] for row in rows)
        ids = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : lengths[row]] = torch.tensor(encoded[row])
            mask[place, : lengths[row]] = 1
        ids, mask = ids.to(network.device), mask.to(network.device)
        with torch.inference_mode():
            logits = network(ids, attention_mask=mask).logits[:, :-1].float()
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), ids[:, 1:], reduction="none"
            )
        counted = mask[:, 1:]
        result[rows] = -((losses * counted).sum(1) / counted.sum(1)).cpu().numpy()
    return result.round(6)


@lru_cache(maxsize=1)
def _open(model: str, device: str) -> tuple[Any, Any]:
    quiet_transformers()
    from transformers import AutoModelForCausalLM

    check_folder(model)
    with loading_errors(model):
        network = AutoModelForCausalLM.from_pretrained(model, use_safetensors=True)
    return load_tokenizer(model), network.to(device).eval()

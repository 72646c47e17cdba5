"""Encoders with regression heads: running in sorted batches, saving as plain folders.

A model here is transformers' sequence classification model with one output for each aspect, whose
names stand in the configuration (`id2label`), so that plain transformers loads it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.errors import GecjuryError, InputError, OutputError
from gecjury.models.batching import padded_batches
from gecjury.models.checkpoints import resolve
from gecjury.models.kept import input_key, kept_rows
from gecjury.models.networks import (
    NetworkKind,
    cut_length,
    read_config,
    read_network,
    read_tokenizer,
)
from gecjury.runtime import Runtime

_DIGITS = 6


@dataclass(frozen=True)
class Regressor:
    """A loaded model with its tokenizer.

    Attributes:
        model: a transformers model for sequence classification, in evaluation mode.
        tokenizer: its tokenizer.
        aspects: names of its outputs, in order.
        max_length: longest input in word pieces; longer ones are cut.
        identity: what pins the weights and the numbers that they are computed with; its outputs
            are then kept between runs. Empty while a model is trained.
    """

    model: Any
    tokenizer: Any
    aspects: tuple[str, ...]
    max_length: int = 128
    identity: str = ""

    def predict(
        self, first: Sequence[str], second: Sequence[str] | None, runtime: Runtime
    ) -> FloatArray:
        """Outputs for lone texts, or for pairs; inputs of the same word pieces are read once.

        Args:
            first: N texts.
            second: N texts to be read as pairs with `first`, or None.
            runtime: device, batch size and cache.

        Returns:
            N × aspects; rounded to six digits, since the last bits depend on the batch.

        Raises:
            InputError: an output is no number.
        """
        encoded = self.tokenizer(
            list(first),
            None if second is None else list(second),
            truncation=True,
            max_length=cut_length(self.tokenizer, self.max_length),
        )
        parts = [list(encoded[key]) for key in encoded if key != "attention_mask"]
        keys = [input_key(self.identity, *inputs) for inputs in zip(*parts, strict=True)]

        def compute(places: list[int]) -> FloatArray:
            wanted = {key: [rows[place] for place in places] for key, rows in encoded.items()}
            return predict(self.model, self.tokenizer, wanted, runtime)

        outputs = kept_rows(
            keys, len(self.aspects), _DIGITS, compute, runtime, keep=bool(self.identity)
        )
        if not np.isfinite(outputs).all():
            row = int(np.flatnonzero(~np.isfinite(outputs).all(axis=1))[0])
            raise InputError(
                f"the model of {' and '.join(self.aspects)} gives no number for "
                f"{first[row]!r:.60}: its weights are damaged; train or copy it anew"
            )
        return outputs


def predict(
    model: Any, tokenizer: Any, encoded: Mapping[str, Sequence[Any]], runtime: Runtime
) -> FloatArray:
    """Logits of tokenised inputs, N × outputs; longest first, in batches padded to their longest.

    Args:
        model: in evaluation mode or not: it is put there and left there.
        tokenizer: pads.
        encoded: what the tokenizer gave, without tensors.
        runtime: batch size.
    """
    import torch

    model.eval()
    lengths = [len(ids) for ids in encoded["input_ids"]]
    result = np.empty((len(lengths), model.config.num_labels))
    device = next(model.parameters()).device
    with torch.inference_mode():
        for rows in padded_batches(lengths, runtime.batch_size):
            batch = tokenizer.pad(
                {key: [values[row] for row in rows] for key, values in encoded.items()},
                return_tensors="pt",
            ).to(device)
            logits = model(**batch).logits.float().cpu().numpy().astype(np.float64)
            result[rows] = logits.round(_DIGITS)
    return result


def load_model(
    location: str, aspects: Sequence[str] | None = None, *, kind: str = "regression"
) -> Any:
    """Load a model, with fresh heads where `aspects` are given.

    Args:
        location: folder or hub name, or `embedded`.
        aspects: names of the outputs that fresh heads are made for; None keeps the heads.
        kind: `regression` or `detection` (one label a token); only with `aspects`.

    Raises:
        GecjuryError: see `gecjury.models.checkpoints.resolve` and
            `gecjury.models.networks.read_network`.
    """
    checkpoint = resolve(location)
    if aspects is None:
        return read_network(checkpoint, read_config(checkpoint), "sentences")[0]
    heads = head_config(aspects)
    outputs: NetworkKind = "word-pieces" if kind == "detection" else "sentences"
    if kind == "regression":
        heads["problem_type"] = "regression"
    config = read_config(checkpoint, **heads)
    return read_network(checkpoint, config, outputs, ignore_mismatched_sizes=True)[0]


def head_config(names: Sequence[str]) -> dict[str, Any]:
    """Return the entries of a configuration that name a network's outputs."""
    return {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: number for number, name in enumerate(names)},
    }


def load_tokenizer(location: str) -> Any:
    """Load a tokenizer that can pad and knows how long an input its model takes.

    Raises:
        GecjuryError: as `load_model`; or it cannot pad.
    """
    checkpoint = resolve(location)
    config = read_config(checkpoint)
    return read_tokenizer(checkpoint, config, padded=True)


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model as a plain transformers folder: all of it or nothing.

    Raises:
        OutputError: the folder cannot be written, e.g. the disk is full.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    with output_errors(folder):
        partial.mkdir(parents=True, exist_ok=True)
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(partial.iterdir()):
            file.replace(folder / file.name)
        partial.rmdir()


@contextmanager
def output_errors(folder: Path) -> Iterator[None]:
    """Turn failures of writing into `OutputError`."""
    try:
        yield
    except GecjuryError:
        raise
    except Exception as error:
        # safetensors reports a full disk by an error class of its own, torch by RuntimeError.
        text = str(error)
        full = "No space left" in text or "os error 28" in text or "PytorchStreamWriter" in text
        if not isinstance(error, OSError) and not full:
            raise
        reason = "no space left on the disk" if full else text
        raise OutputError(
            f"{folder}: cannot be written ({reason}); what was saved before is kept: free space "
            "or name another folder, and run the command again to go on"
        ) from None

"""Encoders with regression heads: running in sorted batches, saving as plain folders.

A model here is transformers' sequence classification model with one output for each aspect, whose
names stand in the configuration (`id2label`), so that plain transformers loads it as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        encoded = tokenise(self.tokenizer, first, second, self.max_length)
        keys = [
            input_key(self.identity, *(row[key] for key in row if key != "attention_mask"))
            for row in encoded
        ]

        def compute(places: list[int]) -> FloatArray:
            wanted = [encoded[place] for place in places]
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


Inputs = Mapping[str, Any]
"""A tokenised text or pair: `input_ids` and what else the model reads of it, without tensors."""


def tokenise(
    tokenizer: Any, first: Sequence[str], second: Sequence[str] | None, max_length: int
) -> list[dict[str, Any]]:
    """Return the inputs of texts, or of pairs with the texts of `second`."""
    encoded = tokenizer(
        list(first),
        None if second is None else list(second),
        truncation=True,
        max_length=cut_length(tokenizer, max_length),
    )
    return [{key: list(encoded[key][row]) for key in encoded} for row in range(len(first))]


def padded(tokenizer: Any, inputs: Sequence[Inputs]) -> Any:
    """Return inputs as one batch of tensors; their labels, if any, are left out."""
    read = [{key: one[key] for key in one if key != "labels"} for one in inputs]
    return tokenizer.pad(read, return_tensors="pt")


def batch_logits(
    model: Any, tokenizer: Any, inputs: Sequence[Inputs], batches: Iterable[Sequence[int]]
) -> Iterator[tuple[Sequence[int], Any]]:
    """Yield the places of each batch and the model's 32-bit outputs for them, as a tensor.

    Args:
        model: in evaluation mode or not: it is put there and left there.
        tokenizer: pads.
        inputs: of the model.
        batches: places in `inputs`.
    """
    import torch

    model.eval()
    device = next(model.parameters()).device
    for rows in batches:
        batch = padded(tokenizer, [inputs[row] for row in rows]).to(device)
        # A generator that paused within would leave the mode on for whoever reads from it.
        with torch.inference_mode():
            logits = model(**batch).logits.float()
        yield rows, logits


def predict(model: Any, tokenizer: Any, inputs: Sequence[Inputs], runtime: Runtime) -> FloatArray:
    """Return logits of sentences or pairs, N × outputs, longest first; see `batch_logits`."""
    result = np.empty((len(inputs), model.config.num_labels))
    batches = padded_batches([len(one["input_ids"]) for one in inputs], runtime.batch_size)
    for rows, logits in batch_logits(model, tokenizer, inputs, batches):
        result[rows] = logits.cpu().numpy().astype(np.float64).round(_DIGITS)
    return result


def load_model(
    location: str, names: Sequence[str], *, seed: int = 0, kind: NetworkKind = "sentences"
) -> Any:
    """Load a model with fresh heads.

    Args:
        location: folder or hub name, or `embedded`.
        names: of the outputs.
        seed: that the heads are drawn by.
        kind: `sentences` for regression, or `word-pieces` for one label a token.

    Raises:
        GecjuryError: see `gecjury.models.checkpoints.resolve` and
            `gecjury.models.networks.read_network`.
    """
    from transformers import set_seed

    checkpoint = resolve(location)
    heads = head_config(names)
    if kind == "sentences":
        heads["problem_type"] = "regression"
    config = read_config(checkpoint, **heads)
    set_seed(seed)
    # A detector that is started from has a head of another size, which is thrown away.
    return read_network(checkpoint, config, kind, ignore_mismatched_sizes=True)[0]


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


def save_tensors(tensors: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write arrays as safetensors: all of them or nothing.

    Raises:
        OutputError: the file cannot be written.
    """
    from safetensors.numpy import save_file

    with output_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial")
        save_file(dict(tensors), partial)
        partial.replace(path)


@contextmanager
def damaged_tensors(path: Path) -> Iterator[None]:
    """Turn failures of reading a file of arrays, and of what is made of them, into `InputError`."""
    try:
        yield
    except Exception as error:
        # safetensors reports a damaged file by an error class of its own.
        raise InputError(
            f"{path}: absent or damaged ({type(error).__name__}: {error!s:.200}); copy or train "
            "the model anew"
        ) from None


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

"""Encoders with regression heads: run them in sorted batches, save them as plain folders.

A model here is a transformers sequence classification model with one output for each aspect. The
names of the outputs are in its configuration (`id2label`), so that plain transformers can load it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import GecjuryError, InputError, OutputError
from gecjury.core.kept import input_key, kept_rows
from gecjury.core.runtime import Runtime
from gecjury.models.batching import in_batches
from gecjury.models.checkpoints import resolve
from gecjury.models.foreign import Network, Tensor, Tokenizer
from gecjury.models.networks import (
    NetworkKind,
    cut_length,
    read_config,
    read_network,
    read_tokenizer,
)

_DIGITS = 6


@dataclass(frozen=True)
class Regressor:
    """A loaded model with its tokenizer.

    Attributes:
        model: a transformers model for sequence classification, in evaluation mode.
        tokenizer: its tokenizer.
        aspects: names of its outputs, in order.
        max_length: longest input in word pieces; longer ones are cut.
        identity: identity of the weights and of the precision; if given, outputs are cached
            between runs. Empty while a model is trained.
    """

    model: Network
    tokenizer: Tokenizer
    aspects: tuple[str, ...]
    max_length: int = 128
    identity: str = ""

    def predict(
        self, first: Sequence[str], second: Sequence[str] | None, runtime: Runtime
    ) -> FloatArray:
        """Return outputs for single texts or for pairs; equal inputs are read only once.

        Args:
            first: N texts.
            second: N texts to be read as pairs with `first`, or None.

        Returns:
            N × aspects; rounded to six digits, since the last bits depend on the batch.

        Raises:
            InputError: an output is not a finite number.
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
                f"the model of {' and '.join(self.aspects)} gives no finite number for "
                f"{first[row]!r:.60}: its weights are damaged; train or copy it again"
            )
        return outputs


EncoderInputs = Mapping[str, Any]
"""A tokenised text or pair: lists under `input_ids` and the names of the model's other inputs."""


def tokenise(
    tokenizer: Tokenizer, first: Sequence[str], second: Sequence[str] | None, max_length: int
) -> list[EncoderInputs]:
    """Return the inputs of texts, or of pairs with the texts of `second`."""
    encoded = tokenizer(
        list(first),
        None if second is None else list(second),
        truncation=True,
        max_length=cut_length(tokenizer, max_length),
    )
    columns = dict(encoded)
    return [{key: column[row] for key, column in columns.items()} for row in range(len(first))]


def padded(tokenizer: Tokenizer, inputs: Sequence[EncoderInputs]) -> dict[str, Tensor]:
    """Return inputs as one batch of tensors; their labels, if any, are left out.

    The tokenizer's own method gives the same but takes five times as long, while a GPU waits.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    fillers = {
        "input_ids": tokenizer.pad_token_id,
        "token_type_ids": tokenizer.pad_token_type_id,
    }
    return {
        key: pad_sequence(
            [torch.tensor(row[key]) for row in inputs],
            batch_first=True,
            padding_value=fillers.get(key, 0),
            padding_side=tokenizer.padding_side,
        )
        for key in inputs[0]
        if key != "labels"
    }


def batch_logits(
    model: Network, tokenizer: Tokenizer, inputs: Sequence[EncoderInputs], runtime: Runtime
) -> Iterator[tuple[list[int], Tensor]]:
    """Yield the positions of each batch and the model's 32-bit outputs for them, as a tensor.

    The model is put into evaluation mode and stays in it. The longest inputs are read first.
    """
    import torch

    model.eval()
    device = next(model.parameters()).device

    def logits_of(rows: list[int]) -> Tensor:
        batch = padded(tokenizer, [inputs[row] for row in rows])
        batch = {key: values.to(device) for key, values in batch.items()}
        # Not around the `yield`: the mode would stay on in the caller while the generator waits.
        with torch.inference_mode():
            return model(**batch).logits.float()

    lengths = [len(row["input_ids"]) for row in inputs]
    yield from in_batches(model, lengths, logits_of, runtime.batch_size)


def predict(
    model: Network, tokenizer: Tokenizer, inputs: Sequence[EncoderInputs], runtime: Runtime
) -> FloatArray:
    """Return logits of sentences or pairs, N × outputs."""
    result = np.empty((len(inputs), model.config.num_labels))
    for rows, logits in batch_logits(model, tokenizer, inputs, runtime):
        result[rows] = logits.cpu().numpy().astype(np.float64).round(_DIGITS)
    return result


def load_model(
    location: str, names: Sequence[str], *, seed: int = 0, kind: NetworkKind = "sentences"
) -> Tensor:
    """Load a model with randomly initialised heads.

    Args:
        kind: `sentences` for regression, or `word-pieces` for one label per token.

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
    # An error detector as the starting point has a head of another size, which is discarded.
    return read_network(checkpoint, config, kind, ignore_mismatched_sizes=True)[0]


def head_config(names: Sequence[str]) -> dict[str, object]:
    """Return the configuration entries that name a network's outputs."""
    return {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: number for number, name in enumerate(names)},
    }


def load_tokenizer(location: str) -> Tokenizer:
    """Load a tokenizer that can pad and that limits inputs to the length its model accepts.

    Raises:
        GecjuryError: as `load_model`; or the tokenizer cannot pad.
    """
    checkpoint = resolve(location)
    config = read_config(checkpoint)
    return read_tokenizer(checkpoint, config, padded=True)


def save_model(model: Network, tokenizer: Tokenizer, folder: Path) -> None:
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


def save_tensors(
    tensors: Mapping[str, NDArray[np.generic]], path: Path, notes: dict[str, str] | None = None
) -> None:
    """Write arrays, with notes in the header, as safetensors: all of them or nothing.

    Raises:
        OutputError: the file cannot be written.
    """
    from safetensors.numpy import save_file

    with output_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial")
        save_file(dict(tensors), partial, metadata=notes)
        partial.replace(path)


@contextmanager
def damaged_tensors(path: Path) -> Iterator[None]:
    """Turn failures of reading and using a file of arrays into `InputError`."""
    try:
        yield
    except Exception as error:
        # safetensors reports a damaged file by its own error class.
        raise InputError(
            f"{path}: missing or damaged ({type(error).__name__}: {error!s:.200}); copy or train "
            "the model again"
        ) from None


@contextmanager
def output_errors(folder: Path) -> Iterator[None]:
    """Turn failures of writing into `OutputError`."""
    try:
        yield
    except GecjuryError:
        raise
    except Exception as error:
        # safetensors reports a full disk by its own error class, torch by RuntimeError.
        text = str(error)
        full = "No space left" in text or "os error 28" in text or "PytorchStreamWriter" in text
        if not isinstance(error, OSError) and not full:
            raise
        reason = "no space left on the disk" if full else text
        raise OutputError(
            f"{folder}: cannot be written ({reason}); what was saved before is kept: free space "
            "or name another folder, and run the command again to continue"
        ) from None

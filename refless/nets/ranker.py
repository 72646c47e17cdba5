"""A linear ranker: a linear head on the mean states of one layer of an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import refuse_special_files
from gecjury.models.checkpoints import inside
from gecjury.models.encoder import Encoded, EncoderSpec, load_encoder
from gecjury.refless.nets.regressor import damaged_tensors, save_tensors

HEAD_FILE = "head.safetensors"
"""File of a head in its folder: `weight`, outputs × hidden size, and `bias`."""


@dataclass(frozen=True)
class LinearRanker:
    """A linear ranker.

    Attributes:
        spec: the encoder, with the last layer that it computes.
        layer: its layer that is read; the embeddings are 0.
        weight: weights of a mean state, hidden size.
        bias: what is added.
    """

    spec: EncoderSpec
    layer: int
    weight: FloatArray
    bias: float

    def outputs(self, texts: Sequence[str], runtime: Runtime) -> FloatArray:
        """Return an output for each text; higher is better.

        Raises:
            OptionError: the encoder has no such layer.
            InputError: the states are not finite numbers.
        """
        encoder = load_encoder(self.spec, runtime)
        # One pass computes the last layer as well, which the encoder remembers for similarities.
        states, _ = encoder.encode_layers(texts, (self.layer, encoder.layer))
        outputs: FloatArray = _finite(states, self.spec) @ self.weight + self.bias
        return outputs.round(6)  # the last bits depend on the batch


def mean_states(spec: EncoderSpec, texts: Sequence[str], runtime: Runtime) -> FloatArray:
    """Return the mean states of texts, texts × hidden size.

    Raises:
        InputError: they are not finite numbers.
    """
    return _finite(load_encoder(spec, runtime).encode(texts), spec)


def _finite(encoded: Encoded, spec: EncoderSpec) -> FloatArray:
    states = encoded.vectors.astype(np.float64)
    if not np.isfinite(states).all():
        raise InputError(
            f"the encoder {spec.name} gives no finite numbers: its weights are damaged; copy it "
            "again"
        )
    return states


def save_head(folder: Path, weight: FloatArray, bias: FloatArray) -> None:
    """Write a head.

    Args:
        weight: outputs × hidden size.
        bias: one for each output.

    Raises:
        OutputError: the folder cannot be written.
    """
    arrays = {"weight": weight, "bias": bias}
    tensors = {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}
    save_tensors(tensors, folder / HEAD_FILE)


def open_head(folder: Path, outputs: int, width: int) -> tuple[FloatArray, FloatArray]:
    """Return weight and bias of a head that `save_head` wrote.

    Args:
        outputs: number of outputs expected.
        width: hidden size expected.

    Raises:
        InputError: the head is missing or damaged, or fits another encoder.
    """
    from safetensors.numpy import load_file

    path = inside(folder, HEAD_FILE)
    refuse_special_files(folder, remedy="copy the model again")
    with damaged_tensors(path):
        tensors = load_file(path)
        weight, bias = (np.asarray(tensors[name], dtype=np.float64) for name in ("weight", "bias"))
        shaped = weight.shape == (outputs, width) and bias.shape == (outputs,)
        if not shaped or not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(
                f"weight of shape {weight.shape}, expected finite numbers, {outputs} × {width}"
            )
    return weight, bias

"""Small changes of the packaged encoder: what a training altered, as products of thin matrices.

A folder with `change.safetensors` in place of weights stands for the packaged encoder with the
change added. All numbers have 16 bits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.errors import InputError
from gecjury.models.checkpoints import CHANGE_FILE, EMBEDDED, change_of, resolve
from gecjury.models.networks import read_config, read_network

_LAYER = re.compile(r"\blayers?\.(\d+)\.")


def save_change(tuned: str, folder: Path, *, rank: int, layers: int) -> None:
    """Write what a training altered in the packaged encoder.

    Args:
        tuned: folder of the trained encoder.
        folder: where the change is written.
        rank: of what is kept of a matrix's change: the largest singular values.
        layers: how many of the lowest layers are kept, as the ones above are not read.
    """
    from safetensors.numpy import save_file

    before, after = (_weights(name) for name in (EMBEDDED, tuned))
    tensors = {}
    for name, values in before.items():
        layer = _LAYER.search(name)
        change = after[name] - values
        if (layer and int(layer[1]) >= layers) or not change.any():
            continue
        if change.ndim == 1:
            tensors[name] = change.astype(np.float16)
            continue
        left, sizes, right = np.linalg.svd(change, full_matrices=False)
        # The root on both sides keeps numbers within what 16 bits hold.
        root = np.sqrt(sizes[:rank])
        tensors[f"{name}.left"] = (left[:, :rank] * root).astype(np.float16)
        tensors[f"{name}.right"] = (root[:, None] * right[:rank]).astype(np.float16)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / CHANGE_FILE, metadata={"base": resolve(EMBEDDED).identity})


def _weights(name: str) -> dict[str, Any]:
    """Return an encoder's parameters as arrays of 64-bit numbers, without a prefix of its head."""
    checkpoint = resolve(name)
    network, _ = read_network(checkpoint, read_config(checkpoint), "encoder")
    return {key: value.detach().double().numpy() for key, value in network.named_parameters()}


def add_change(network: Any, file: Path) -> None:
    """Add a change to a network of the packaged encoder.

    Args:
        network: of transformers, with the encoder's own weights.
        file: written by `save_change`.

    Raises:
        InputError: the file is damaged, or belongs to another encoder.
    """
    import torch

    parameters = dict(network.base_model.named_parameters())
    change = change_of(file)
    for name in {re.sub(r"\.(left|right)$", "", key) for key in change}:
        addition = (
            change[name].astype(np.float32)
            if name in change
            else _product(change.get(f"{name}.left"), change.get(f"{name}.right"))
        )
        if name not in parameters or addition.shape != tuple(parameters[name].shape):
            raise InputError(
                f"{file}: changes {name:.80}, which the packaged encoder does not have in that "
                "shape; copy or train the model anew"
            )
        with torch.no_grad():
            parameters[name].add_(torch.from_numpy(addition))


def _product(left: Any, right: Any) -> Any:
    if left is None or right is None or left.ndim != 2 or left.shape[1:] != right.shape[:1]:
        return np.empty(0, dtype=np.float32)
    return left.astype(np.float32) @ right.astype(np.float32)

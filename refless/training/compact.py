"""A compact SOME on the packaged encoder: the changes made by its training, and few points."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.models.checkpoints import CHANGE_FILE, EMBEDDED, resolve
from gecjury.models.networks import read_config, read_network
from gecjury.refless.nets.probe import states_layer

# Chosen on the dev part of TMU-GFM among ranks 4, 8, 16 and 200 or 400 points: larger values gave
# no improvement. See docs/measured/packaged-models.md.
RANK = 8
POINTS = 200

_LAYER = re.compile(r"\blayers?\.(\d+)\.")


def layers_read() -> int:
    """Return how many of the packaged encoder's lowest layers compute the states that are read."""
    return states_layer(int(read_config(resolve(EMBEDDED)).num_hidden_layers))


def save_change(tuned: str, folder: Path, *, rank: int, layers: int) -> None:
    """Write the changes that a training made to the packaged encoder.

    Args:
        tuned: folder of the trained encoder.
        folder: folder to write the change to.
        rank: number of singular values kept of a matrix's change.
        layers: number of the lowest layers whose changes are kept; those above are not used.
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
        # The root on both sides keeps values within the range of 16 bits.
        root = np.sqrt(sizes[:rank])
        tensors[f"{name}.left"] = (left[:, :rank] * root).astype(np.float16)
        tensors[f"{name}.right"] = (root[:, None] * right[:rank]).astype(np.float16)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / CHANGE_FILE, metadata={"base": resolve(EMBEDDED).identity})


def _weights(name: str) -> dict[str, Any]:
    """Return an encoder's parameters as 64-bit arrays, by their names in the encoder alone."""
    checkpoint = resolve(name)
    network, _ = read_network(checkpoint, read_config(checkpoint), "encoder")
    return {key: value.detach().double().numpy() for key, value in network.named_parameters()}

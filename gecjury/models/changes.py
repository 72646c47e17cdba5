"""Small changes of the packaged encoder: what a training altered, as products of thin matrices.

A folder with `change.safetensors` instead of weights means the packaged encoder with that change
added. All values have 16 bits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.core.errors import InputError
from gecjury.models.checkpoints import EMBEDDED, resolve


def _change_of(file: Path) -> dict[str, Any]:
    """Return the arrays of a change by name.

    Raises:
        InputError: the file is damaged, or belongs to another release of the packaged encoder.
    """
    from safetensors import safe_open

    base = resolve(EMBEDDED).identity
    try:
        with safe_open(file, framework="np") as tensors:
            made_of = (tensors.metadata() or {}).get("base", "")
            arrays = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
    except Exception as error:  # safetensors has its own error class
        raise InputError(
            f"{file}: damaged ({error!s:.200}); copy or train the model again"
        ) from None
    if made_of != base:
        raise InputError(
            f"{file}: changes {made_of:.60}, but the packaged encoder here is {base}; install the "
            "release that the model was trained with, or train it again"
        )
    return arrays


def add_change(network: Any, file: Path) -> None:
    """Add a change to a network of the packaged encoder.

    Args:
        network: a transformers network with the encoder's own weights.
        file: written by `gecjury.refless.nets.probe.save_change`.

    Raises:
        InputError: the file is damaged, or belongs to another encoder.
    """
    import torch

    parameters = dict(network.base_model.named_parameters())
    change = _change_of(file)
    for name in {re.sub(r"\.(left|right)$", "", key) for key in change}:
        addition = (
            change[name].astype(np.float32)
            if name in change
            else _product(change.get(f"{name}.left"), change.get(f"{name}.right"))
        )
        if name not in parameters or addition.shape != tuple(parameters[name].shape):
            raise InputError(
                f"{file}: changes {name:.80}, which the packaged encoder does not have in that "
                "shape; copy or train the model again"
            )
        with torch.no_grad():
            parameters[name].add_(torch.from_numpy(addition))


def _product(left: Any, right: Any) -> Any:
    if left is None or right is None or left.ndim != 2 or left.shape[1:] != right.shape[:1]:
        return np.empty(0, dtype=np.float32)
    return left.astype(np.float32) @ right.astype(np.float32)

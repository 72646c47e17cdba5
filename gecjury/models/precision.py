"""Numbers that a network computes with: 32 bits, or products of 16 bits if asked for.

With 16 bits the matrices of linear layers and what they are multiplied by are rounded; sums,
residual connections, normalisation and what stands above the base network (a head for ratings)
keep 32. That costs little time beside a network that is wholly of 16 bits, and its vectors are
nearly twice as near to those of 32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal

from gecjury.errors import OptionError

DType = Literal["float32", "float32-onednn", "bfloat16", "float16"]
"""`float32-onednn` is no approximation: the products of linear layers are made by oneDNN, which
torch has aboard, and differ from those of its usual library in the last bits. Where that library
does not take a processor's widest instructions (AMD's), they are made twice as fast."""


def check_dtype(dtype: DType, device: str) -> None:
    """Refuse numbers that a device does not compute with.

    Args:
        dtype: numbers, as typed.
        device: from `pick_device`.

    Raises:
        OptionError: float16 without a GPU; oneDNN on one, or where torch has it not.
    """
    import torch

    if dtype == "float32-onednn" and (device != "cpu" or not torch.backends.mkldnn.is_available()):
        raise OptionError(
            f"dtype={dtype} is for processors for which torch has oneDNN, and this runs on "
            f"{device}: leave it out"
        )
    if dtype == "float16" and device == "cpu":
        raise OptionError(
            "dtype=float16 is for GPUs (--device cuda or mps), and this runs on the CPU: take "
            "dtype=bfloat16, or leave it out"
        )


def placed(network: Any, dtype: DType, device: str, *, whole: bool = False) -> Any:
    """Put a network on a device, in evaluation mode, with the numbers asked for.

    Args:
        network: of transformers.
        dtype: of what linear layers multiply.
        device: from `pick_device`.
        whole: also what stands above the base network: a matrix of many thousand words, whose
            outputs are then of 16 bits. Without it the outputs of a head keep 32 bits, which
            ratings need: one of bfloat16 has steps of 1/64 from 2 to 4.

    Raises:
        OptionError: see `check_dtype`.
    """
    import torch

    check_dtype(dtype, device)
    network = network.to(device=device, dtype=torch.float32).eval()
    if dtype == "float32":
        return network
    if dtype == "float32-onednn":
        for module in network.modules():
            if isinstance(module, torch.nn.Linear):
                _multiply_by_onednn(module)
        return network
    numbers = getattr(torch, dtype)
    # A network without a head is its own base.
    base = network if whole else network.base_model
    # What makes one vector of a sentence for a head reads a single word piece: it costs nothing.
    pooler = getattr(base, "pooler", None)
    exact = set() if pooler is None else set(pooler.modules())
    for module in base.modules():
        # GPT-2 calls its linear layers Conv1D. Their weights become parameters of their own, so
        # that word vectors which share them keep 32 bits.
        if module in exact or not (
            isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"
        ):
            continue
        for name, values in list(module.named_parameters(recurse=False)):
            rounded = torch.nn.Parameter(values.detach().to(numbers), requires_grad=False)
            setattr(module, name, rounded)
    kind = torch.device(device).type
    _forward_within(base, lambda: torch.autocast(kind, dtype=numbers))
    if pooler is not None:
        _forward_within(pooler, lambda: torch.autocast(kind, enabled=False))
    return network


def _multiply_by_onednn(layer: Any) -> None:
    """Have a linear layer compute its product by oneDNN."""
    import torch

    weight = layer.weight.detach()
    bias = None if layer.bias is None else layer.bias.detach()

    def forward(inputs: Any) -> Any:
        # What torch's own compiler calls; linear layers as such have no switch for 32 bits.
        return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")

    layer.forward = forward


def _forward_within(module: Any, context: Callable[[], AbstractContextManager[Any]]) -> None:
    """Have a module work within a context, made anew each time because threads may share it."""
    plain = module.forward

    @functools.wraps(plain)
    def forward(*args: Any, **kwargs: Any) -> Any:
        with context():
            return plain(*args, **kwargs)

    module.forward = forward

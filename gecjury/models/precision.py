"""Precision that a network computes with: 32 bits, or 16-bit products on request.

With 16 bits, the matrices of linear layers and their inputs are rounded; sums, residual
connections, normalisation and everything on top of the base network (such as a head for ratings)
keep 32 bits. That is little slower than a network with 16 bits throughout, and its vectors are
nearly twice as close to those of 32 bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal

from gecjury.core.errors import OptionError
from gecjury.models.foreign import Network, Tensor

DType = Literal["float32", "float32-onednn", "bfloat16", "float16"]
"""`float32-onednn` is not an approximation: oneDNN, which comes with torch, computes the products
of linear layers, which differ from those of torch's usual library in the last bits. It is twice as
fast on processors whose widest instructions the usual library does not use (AMD's)."""


def check_dtype(dtype: DType, device: str) -> None:
    """Raise an error for a precision that a device does not support.

    Args:
        dtype: precision, as given on the command line.
        device: from `pick_device`.

    Raises:
        OptionError: float16 without a GPU; oneDNN on a GPU, or with a torch that lacks it.
    """
    import torch

    if dtype == "float32-onednn" and (device != "cpu" or not torch.backends.mkldnn.is_available()):
        raise OptionError(
            f"dtype={dtype} needs a CPU and a torch with oneDNN, and this runs on "
            f"{device}: leave it out"
        )
    if dtype == "float16" and device == "cpu":
        raise OptionError(
            "dtype=float16 is for GPUs (`device=cuda` or mps), and this runs on the CPU: use "
            "dtype=bfloat16, or leave it out"
        )


def placed(network: Network, dtype: DType, device: str, *, whole: bool = False) -> Network:
    """Move a network to a device, in evaluation mode and with the precision wanted.

    Args:
        dtype: precision of the products of linear layers.
        device: from `pick_device`.
        whole: True to include what is on top of the base network, such as an output matrix of many
            thousand words, whose outputs then have 16 bits. Otherwise the outputs of a head keep 32
            bits, which ratings need: from 2 to 4, bfloat16 has steps of 1/64.

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
    # The pooler, which computes the sentence vector for a head, reads one word piece: it costs
    # next to nothing.
    pooler = getattr(base, "pooler", None)
    exact = set() if pooler is None else set(pooler.modules())
    _round_layers(base, exact, numbers, packs=device == "cpu" and multiplies_bfloat16())
    kind = torch.device(device).type
    _forward_within(base, lambda: torch.autocast(kind, dtype=numbers))
    if pooler is not None:
        _forward_within(pooler, lambda: torch.autocast(kind, enabled=False))
    return network


def _round_layers(base: Network, exact: set[Network], numbers: object, *, packs: bool) -> None:
    """Round the weights of linear layers, except in the modules `exact`.

    Args:
        numbers: the number format.
        packs: whether products are computed by oneDNN, which orders weights in its own way.
    """
    import torch

    for module in base.modules():
        # GPT-2 calls its linear layers Conv1D. Their weights become separate parameters, so that
        # word vectors that share them keep 32 bits.
        if module in exact or not (
            isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"
        ):
            continue
        for name, values in list(module.named_parameters(recurse=False)):
            rounded = torch.nn.Parameter(values.detach().to(numbers), requires_grad=False)
            setattr(module, name, rounded)
        if packs and type(module) is torch.nn.Linear:
            # In the order in which oneDNN reads it; otherwise every product reorders it.
            packed = torch.ops.mkldnn._reorder_linear_weight(module.weight, None)
            module.weight = torch.nn.Parameter(packed, requires_grad=False)
            _multiply_by_onednn(module)


def multiplies_bfloat16() -> bool:
    """Return True if the processor multiplies bfloat16; others take minutes instead of seconds."""
    import torch

    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _multiply_by_onednn(layer: Network) -> None:
    """Make a linear layer compute its product by oneDNN, in the number format of its weight."""
    import torch

    weight = layer.weight.detach()
    bias = None if layer.bias is None else layer.bias.detach()

    def forward(inputs: Tensor) -> Tensor:
        # torch's own compiler calls this operator; linear layers have no option for 32 bits.
        rounded = inputs.to(weight.dtype)
        return torch.ops.mkldnn._linear_pointwise(rounded, weight, bias, "none", [], "")

    layer.forward = forward


def _forward_within(module: Network, context: Callable[[], AbstractContextManager[object]]) -> None:
    """Run a module in a context, which is created for each call because threads may share it."""
    plain = module.forward

    @functools.wraps(plain)
    def forward(*args: Tensor, **kwargs: Tensor) -> Tensor:
        with context():
            return plain(*args, **kwargs)

    module.forward = forward

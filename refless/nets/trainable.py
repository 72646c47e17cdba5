"""Trainable parts of a network, and their memory.

On small machines, base-size encoders run out of memory because of their gradients, the optimiser's
states and the activations kept for the backward pass. Freezing the lowest layers saves all three;
recomputing layers (gradient checkpointing) saves the activations.
"""

from __future__ import annotations

from collections.abc import Callable

from gecjury.core.errors import OptionError
from gecjury.models.foreign import ModelConfig, Network, Tensor


def check_layers(config: ModelConfig, count: int) -> None:
    """Raise an error if more layers are to be frozen than an encoder has.

    Raises:
        OptionError: the encoder has fewer.
    """
    layers = int(getattr(config, "num_hidden_layers", None) or 0)
    if count > layers:
        raise OptionError(
            f"`freeze_layers={count}`: this {config.model_type} encoder has {layers} layers; "
            f"expected 0 to {layers}"
        )


def encoder_layers(model: Network) -> list[Network]:
    """Return the layers of a model's encoder, the lowest first.

    Raises:
        OptionError: the architecture has no list of its layers.
    """
    from torch.nn import ModuleList

    count = int(getattr(model.config, "num_hidden_layers", None) or 0)
    for module in model.base_model.modules():
        if isinstance(module, ModuleList) and len(module) == count:
            return list(module)
    raise OptionError(
        f"a {model.config.model_type} model has no list of its layers: leave out "
        "`freeze_layers=` and `gradient_checkpointing=`"
    )


def output_layer(model: Network) -> Network | None:
    """Return the last linear layer of a model's head, which computes its outputs.

    Its name depends on the architecture: `classifier` (BERT, DistilBERT), `classifier.out_proj`
    (RoBERTa, ELECTRA, MPNet), `classification_head.out_proj` (BART), `score` (GPT-2), ...

    Returns:
        The layer; None for a head without one.
    """
    from torch.nn import Linear

    encoder = {id(module) for module in model.base_model.modules()}
    layers = [
        module
        for module in model.modules()
        if isinstance(module, Linear)
        and id(module) not in encoder
        and module.out_features == model.config.num_labels
    ]
    return layers[-1] if layers else None


def freeze_lowest(model: Network, count: int) -> None:
    """Freeze the lowest layers and everything below them (embeddings, position biases).

    Args:
        count: number of layers; 0 freezes the embeddings alone. This saves memory and time, and
            rare words keep their vectors.

    Raises:
        OptionError: see `check_layers` and `encoder_layers`.
    """
    if not count:
        # Language models have no embeddings module other than the matrix of word vectors.
        embeddings = getattr(model.base_model, "embeddings", None) or model.get_input_embeddings()
        for parameter in embeddings.parameters():
            parameter.requires_grad_(False)
        return
    check_layers(model.config, count)
    layers = encoder_layers(model)
    kept = {id(p) for layer in layers[count:] for p in layer.parameters()}
    kept |= {id(p) for p in _pooler(model)}
    for parameter in model.base_model.parameters():
        if id(parameter) not in kept:
            parameter.requires_grad_(False)


_SHORT = 256
"""Longest input, in word pieces, whose attention weights are kept in memory for all layers."""


def choose_attention(model: Network, longest: int, bf16: bool) -> None:
    """Choose the faster attention for training a language model.

    The backward pass of torch's fused attention takes a fifth of a step in bfloat16 on CPUs.

    Args:
        longest: number of word pieces of the longest input.
    """
    if bf16 and model.device.type == "cpu" and longest <= _SHORT:
        model.set_attn_implementation("eager")


def recompute_layers(model: Network) -> None:
    """Turn on gradient checkpointing: layers keep only their inputs and are recomputed backward.

    This also works for architectures for which transformers lacks it (MPNet). Dropout repeats its
    random numbers, so the resulting weights are the same as without checkpointing.

    Raises:
        OptionError: see `encoder_layers`.
    """
    import functools

    import torch
    from torch.utils.checkpoint import checkpoint

    def recomputed(forward: Callable[..., Tensor], *inputs: Tensor, **named: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return forward(*inputs, **named)
        return checkpoint(forward, *inputs, use_reentrant=False, **named)

    for layer in encoder_layers(model):
        layer.forward = functools.partial(recomputed, layer.forward)


def keep_layers(model: Network) -> None:
    """Undo `recompute_layers`."""
    for layer in encoder_layers(model):
        layer.__dict__.pop("forward", None)


def _pooler(model: Network) -> list[Tensor]:
    pooler = getattr(model.base_model, "pooler", None)
    return [] if pooler is None else list(pooler.parameters())

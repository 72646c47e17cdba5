"""Trainable parts of a network, their learning rates, and their memory.

Base-size encoders outgrow small machines by their gradients, their optimiser's states and what each
layer keeps for the way back. Freezing the lowest layers spares all three, recomputing layers the
last one alone.
"""

from __future__ import annotations

from typing import Any

from gecjury.errors import OptionError


def check_layers(config: Any, count: int) -> None:
    """Refuse to freeze more layers than an encoder has.

    Args:
        config: of the model.
        count: layers to freeze.

    Raises:
        OptionError: the encoder has fewer.
    """
    layers = int(getattr(config, "num_hidden_layers", None) or 0)
    if count > layers:
        raise OptionError(
            f"--freeze-layers {count}: this {config.model_type} encoder has {layers} layers; "
            f"expected 0 to {layers}"
        )


def encoder_layers(model: Any) -> list[Any]:
    """The layers of a model's encoder, the lowest first.

    Raises:
        OptionError: the architecture keeps no list of its layers.
    """
    from torch.nn import ModuleList

    count = int(getattr(model.config, "num_hidden_layers", None) or 0)
    for module in model.base_model.modules():
        if isinstance(module, ModuleList) and len(module) == count:
            return list(module)
    raise OptionError(
        f"a {model.config.model_type} model keeps no list of its layers: leave out "
        "--freeze-layers, --gradient-checkpointing and --layer-decay"
    )


def output_layer(model: Any) -> Any | None:
    """The last linear layer of a model's head, which gives its outputs.

    Its place depends on the architecture: `classifier` (BERT, DistilBERT), `classifier.out_proj`
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


def freeze_embeddings(model: Any) -> None:
    """Keep the embeddings out of training: less memory and time, and rare words stay put."""
    # Language models keep no module of embeddings beside the matrix of their words.
    embeddings = getattr(model.base_model, "embeddings", None) or model.get_input_embeddings()
    for parameter in embeddings.parameters():
        parameter.requires_grad_(False)


def freeze_lowest(model: Any, count: int) -> None:
    """Keep the lowest layers and all that feeds them (embeddings, position biases) as they are.

    Args:
        model: what is to be trained.
        count: layers; 0 freezes nothing.

    Raises:
        OptionError: see `check_layers` and `encoder_layers`.
    """
    if not count:
        return
    check_layers(model.config, count)
    layers = encoder_layers(model)
    kept = {id(p) for layer in layers[count:] for p in layer.parameters()}
    kept |= {id(p) for p in _pooler(model)}
    for parameter in model.base_model.parameters():
        if id(parameter) not in kept:
            parameter.requires_grad_(False)


def recompute_layers(model: Any) -> None:
    """Gradient checkpointing: a layer keeps its input alone and is computed again on the way back.

    Also for architectures for which transformers has none (MPNet). Dropout draws the same numbers
    again, so that the weights are those of a training without.

    Raises:
        OptionError: see `encoder_layers`.
    """
    import functools

    import torch
    from torch.utils.checkpoint import checkpoint

    def recomputed(forward: Any, *inputs: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*inputs, **named)
        return checkpoint(forward, *inputs, use_reentrant=False, **named)

    for layer in encoder_layers(model):
        layer.forward = functools.partial(recomputed, layer.forward)


def keep_layers(model: Any) -> None:
    """Undo `recompute_layers`."""
    for layer in encoder_layers(model):
        vars(layer).pop("forward", None)


def rates_by_layer(model: Any, decay: float) -> dict[int, float]:
    """The share of the learning rate that each parameter gets, by `id`.

    Head and pooler get all of it, each layer `decay` times what the layer above it gets, and what
    lies below the lowest layer `decay` times that layer's share.

    Raises:
        OptionError: see `encoder_layers`.
    """
    # Later entries overrule: what lies in no layer is below them, but the pooler, which is above.
    layers = encoder_layers(model)
    levels = {id(p): -1 for p in model.base_model.parameters()}
    levels |= {id(p): row for row, layer in enumerate(layers) for p in layer.parameters()}
    levels |= {id(p): len(layers) for p in _pooler(model)}
    top = len(layers)
    return {id(p): decay ** (top - levels.get(id(p), top)) for p in model.parameters()}


def _pooler(model: Any) -> list[Any]:
    pooler = getattr(model.base_model, "pooler", None)
    return [] if pooler is None else list(pooler.parameters())

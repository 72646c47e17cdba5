"""Trainable parts of a network, and their memory.

On small machines, base-size encoders run out of memory because of their gradients, the optimiser's
states and the activations kept for the backward pass. Freezing the lowest layers saves all three;
recomputing layers (gradient checkpointing) saves the activations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from gecjury.core.errors import OptionError


def check_layers(config: Any, count: int) -> None:
    """Raise an error if more layers are to be frozen than an encoder has.

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
        "--freeze-layers and --gradient-checkpointing"
    )


def output_layer(model: Any) -> Any | None:
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


def freeze_lowest(model: Any, count: int) -> None:
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


def word_embeddings(model: Any) -> Any | None:
    """Return the word embeddings, or None if they are frozen or also used elsewhere.

    A language model often uses the same matrix as its last layer, where every row is trained.
    """
    from torch.nn import Embedding

    try:
        embeddings = model.base_model.get_input_embeddings()
    except NotImplementedError:
        return None
    if type(embeddings) is not Embedding or not embeddings.weight.requires_grad:
        return None
    uses = sum(p is embeddings.weight for _, p in model.named_parameters(remove_duplicate=False))
    return embeddings if uses == 1 else None


class _OccurringRows:
    """Word embeddings whose trained rows are a separate matrix.

    A mixin for torch's Module, which is only imported where this class is used.

    Attributes:
        weight: all rows; not trained.
        rows: the trained rows, sorted by id.
        places: each id's row in `rows`, or −1.
    """

    weight: Any
    rows: Any
    places: Any

    def forward(self, input_ids: Any) -> Any:
        """Return the embeddings of word pieces."""
        import torch
        from torch.nn.functional import embedding

        places = self.places[input_ids]
        trained = embedding(places.clamp(min=0), self.rows)
        return torch.where((places < 0).unsqueeze(-1), embedding(input_ids, self.weight), trained)

    def write_back(self) -> None:
        """Copy the trained rows into the matrix of all rows."""
        self.weight.data[self.places >= 0] = self.rows.data


@contextmanager
def only_occurring(model: Any, occurring: Collection[int]) -> Iterator[None]:
    """Train only those rows of the word embeddings that occur.

    The gradients of all other rows are zero, but every step would compute them and update the rows.
    State dicts contain the whole matrix under its usual name. On exit, the model has its usual
    modules again.

    Args:
        model: see `word_embeddings` for models that are left unchanged.
        occurring: ids of the word pieces in the examples.
    """
    import torch
    from torch import nn

    whole = word_embeddings(model)
    if whole is None:
        yield
        return
    split: Any = type("OccurringRows", (_OccurringRows, nn.Module), {})()
    # Padding is never trained: torch's Embedding does not train it either.
    ids = torch.tensor(sorted(set(occurring) - {whole.padding_idx}), device=whole.weight.device)
    places = torch.full((whole.num_embeddings,), -1, device=ids.device)
    places[ids] = torch.arange(len(ids), device=ids.device)
    split.register_buffer("places", places, persistent=False)
    split.weight = whole.weight.requires_grad_(False)
    split.rows = nn.Parameter(whole.weight.data[ids])

    def save(module: Any, state: dict[str, Any], prefix: str, _: Any) -> None:
        module.write_back()
        del state[f"{prefix}rows"]

    def load(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
        weight = state[f"{prefix}weight"]
        state[f"{prefix}rows"] = weight[module.places.to(weight.device) >= 0]

    split.register_state_dict_post_hook(save)
    split.register_load_state_dict_pre_hook(load)
    model.base_model.set_input_embeddings(split)
    try:
        yield
    finally:
        split.write_back()
        whole.weight.requires_grad_(True)
        model.base_model.set_input_embeddings(whole)


def recompute_layers(model: Any) -> None:
    """Turn on gradient checkpointing: layers keep only their inputs and are recomputed backward.

    This also works for architectures for which transformers lacks it (MPNet). Dropout repeats its
    random numbers, so the resulting weights are the same as without checkpointing.

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


def _pooler(model: Any) -> list[Any]:
    pooler = getattr(model.base_model, "pooler", None)
    return [] if pooler is None else list(pooler.parameters())

"""A ranker that reads the mean of an encoder's last hidden states (transformers has no such class).

On disk it is a plain transformers folder, which `AutoModel` can load, with the linear head in
`head.safetensors`: `weight`, outputs × hidden size, and `bias`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gecjury.models.checkpoints import Checkpoint, resolve
from gecjury.models.foreign import ModelConfig, Network, Tensor, Tokenizer
from gecjury.models.networks import read_config, read_network, refuse_missing
from gecjury.refless.nets.ranker import open_head, save_head
from gecjury.refless.nets.regressor import head_config, save_model

_DROPOUT = 0.1


class _Pooled:
    """A mixin for torch's Module: a linear head on the mean of the last hidden states."""

    encoder: Network
    config: ModelConfig
    dropout: Network
    classifier: Network

    @property
    def base_model(self) -> Network:
        """The encoder, under transformers' name for it."""
        return self.encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **others: Tensor) -> Tensor:
        """Return the outputs, batch × outputs, as `logits`."""
        from transformers.modeling_outputs import SequenceClassifierOutput

        outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **others)
        states = outputs.last_hidden_state.float()
        mask = attention_mask.unsqueeze(-1).float()
        mean = (states * mask).sum(1) / mask.sum(1)
        return SequenceClassifierOutput(logits=self.classifier(self.dropout(mean)))


def _joined(encoder: Network, outputs: int) -> Network:
    """Return the encoder with a randomly initialised head."""
    from torch import nn

    # A pooler is not used here; a random one would be saved with the weights.
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    # torch is only imported here, so the class can only be built here.
    model: Network = type("PooledRanker", (_Pooled, nn.Module), {})()
    model.encoder, model.config = encoder, encoder.config
    share = getattr(encoder.config, "hidden_dropout_prob", None)
    model.dropout = nn.Dropout(_DROPOUT if share is None else share)
    model.classifier = nn.Linear(int(encoder.config.hidden_size), outputs)
    nn.init.normal_(model.classifier.weight, std=0.02)
    nn.init.zeros_(model.classifier.bias)
    return model


def _encoder(checkpoint: Checkpoint, config: ModelConfig) -> Network:
    network, missing = read_network(checkpoint, config, "encoder")
    lacking = frozenset(name for name in missing if not name.startswith("pooler."))
    refuse_missing(checkpoint, config, lacking, "an encoder")
    return network


def fresh_pooled(location: str, names: Sequence[str], *, seed: int = 0) -> Network:
    """Load an encoder with a randomly initialised head on the mean of its states.

    Raises:
        GecjuryError: see `gecjury.refless.nets.regressor.load_model`.
    """
    from transformers import set_seed

    checkpoint = resolve(location)
    config = read_config(checkpoint, **head_config(names))
    set_seed(seed)
    return _joined(_encoder(checkpoint, config), len(names))


def save_pooled(model: Network, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the encoder as a plain transformers folder, and the head into the same folder.

    Raises:
        OutputError: the folder cannot be written.
    """
    save_model(model.encoder, tokenizer, folder)
    head = model.classifier.state_dict()
    save_head(folder, *(head[name].double().cpu().numpy() for name in ("weight", "bias")))


def open_pooled(checkpoint: Checkpoint, config: ModelConfig) -> Network:
    """Read a model that `save_pooled` wrote, in evaluation mode.

    Raises:
        InputError: the head or the encoder is missing or damaged.
    """
    import torch

    weight, bias = open_head(checkpoint.folder, int(config.num_labels), int(config.hidden_size))
    model = _joined(_encoder(checkpoint, config), int(config.num_labels))
    with torch.no_grad():
        model.classifier.weight.copy_(torch.from_numpy(weight))
        model.classifier.bias.copy_(torch.from_numpy(bias))
    return model.eval()

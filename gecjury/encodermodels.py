"""What an encoder is made of: its tokenizer and model, and the limits that these set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gecjury.checkpoints import Checkpoint, quiet_transformers, state_dict
from gecjury.errors import InputError, OptionError

if TYPE_CHECKING:
    from gecjury.encoders import EncoderSpec

__all__ = ["hidden_index", "length_limit", "read_model"]


def read_model(spec: EncoderSpec, checkpoint: Checkpoint, device: str) -> tuple[Any, Any]:
    """Tokenizer and model, in evaluation mode on the device."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    quiet_transformers()
    try:
        config = AutoConfig.from_pretrained(checkpoint.folder, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(
            f"{checkpoint.folder}: not a model that transformers can read ({error})"
        ) from None
    if tokenizer.pad_token_id is None or getattr(config, "is_decoder", False):
        raise OptionError(
            f"encoder {spec.name}: a {config.model_type} model is not a sentence encoder (its "
            "tokenizer cannot pad); choose an encoder such as BERT, ELECTRA, RoBERTa or LaBSE"
        )
    model: Any
    if checkpoint.safe:
        model = AutoModel.from_pretrained(
            checkpoint.folder, config=config, use_safetensors=True, trust_remote_code=False
        )
    else:
        weights = state_dict(checkpoint)
        with torch.device("meta"):
            drawn = AutoModel.from_config(config)
        kind: Any = type(drawn)
        model = kind.from_pretrained(None, config=config, state_dict=weights)
    if getattr(config, "is_encoder_decoder", False):
        model = model.get_encoder()
    numbers = torch.bfloat16 if spec.dtype == "bfloat16" else torch.float32
    return tokenizer, model.to(device=device, dtype=numbers).eval()


def length_limit(wanted: int, tokenizer: Any, config: Any) -> int:
    """The most word pieces that model and user allow."""
    positions = getattr(config, "max_position_embeddings", None) or wanted
    if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # positions start behind the padding index there
    return int(min(wanted, tokenizer.model_max_length, positions))


def hidden_index(spec: EncoderSpec, config: Any) -> int:
    """The hidden states that `spec.layer` names, counted from 0 for the embeddings."""
    count = int(config.num_hidden_layers)
    layer = count if spec.layer is None else spec.layer
    index = layer + count + 1 if layer < 0 else layer
    if not 0 <= index <= count:
        raise OptionError(
            f"encoder {spec.name}: layer={spec.layer} is out of range; it has {count} layers: "
            f"expected 0 (embeddings) to {count}, or -1 to {-count - 1} from the last"
        )
    return index

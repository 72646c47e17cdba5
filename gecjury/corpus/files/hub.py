"""Datasets of the package `datasets`, from the hub or from a folder that it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, TypeAlias

from gecjury.core.errors import InputError, MissingExtraError, install_hint
from gecjury.core.textfiles import lies_in

HubDataset: TypeAlias = Any
"""A `datasets.Dataset`."""


def datasets_package(name: str) -> ModuleType:
    """Return the package `datasets`.

    Args:
        name: what needs it, for the message.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        package, bars = import_module("datasets"), import_module("tqdm").tqdm
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{name} needs the package {error.name}, which is not installed: "
            f"{install_hint('scale')}"
        ) from None
    # Its bars would be locked for several processes. From Python 3.14 on, such a lock starts a
    # process that imports from the working directory, where the data may be.
    if not hasattr(bars, "_lock"):
        bars.set_lock(RLock())
    # It tells its makers of every data set that is read, even of a file of this machine.
    package.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    return package


def hub_dataset(name: str) -> HubDataset:
    """Load a dataset called `hf:NAME[:SPLIT]`.

    Args:
        name: name on the hub, or a folder that `save_to_disk` wrote. Other folders are refused: the
            description in their README.md selects the files to read, which may be anywhere.

    Raises:
        InputError: it cannot be loaded, names files outside its folder, or has several splits and
            none is named.
        MissingExtraError: the package is not installed.
    """
    datasets = datasets_package(name)
    folder, _, split = name.removeprefix("hf:").partition(":")
    path = Path(folder)
    kept = (path / "dataset_info.json").exists() or (path / "dataset_dict.json").exists()
    if path.exists() and not kept:
        raise InputError(
            f"hf:{folder}: not a folder written by save_to_disk; name the files in it themselves "
            f"(without hf:, e.g. {path / '*.jsonl'} or .parquet)"
        )
    try:
        if kept:
            # The data stay on disk, so that their files are known.
            data = datasets.load_from_disk(folder, keep_in_memory=False)
        else:
            data = datasets.load_dataset(folder)
    except Exception as error:  # the hub's clients raise errors of many kinds
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise InputError(
            f"hf:{folder}: the dataset cannot be loaded ({type(error).__name__}: {reason:.200}); "
            "check the name and the network, or name a folder written by save_to_disk"
        ) from None
    if kept:
        _check_within(path, data)
    return data[_split_of(folder, split, list(data))] if isinstance(data, dict) else data


def _split_of(folder: str, split: str, splits: Sequence[str]) -> str:
    """Return the name of the split that is read: the one named, or the only one."""
    if not split and len(splits) > 1:
        raise InputError(
            f"hf:{folder}: has splits {', '.join(splits)}; name one, e.g. hf:{folder}:{splits[0]}"
        )
    split = split or splits[0]
    if split not in splits:
        raise InputError(f"hf:{folder}: has no split {split[:60]!r}; it has {', '.join(splits)}")
    return split


def _check_within(folder: Path, data: HubDataset | dict[str, HubDataset]) -> None:
    """Refuse a saved dataset whose description names files of another folder.

    Raises:
        InputError: names the first such file.
    """
    parts = data.values() if isinstance(data, dict) else [data]
    for file in (Path(entry["filename"]) for part in parts for entry in part.cache_files):
        if not lies_in(file, folder):
            raise InputError(
                f"hf:{folder}: refers to {str(file)[:200]!r}, which is outside the folder; "
                "save the dataset again with save_to_disk"
            )

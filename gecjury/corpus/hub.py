"""Datasets of the package `datasets`: of the hub, or of a folder that it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gecjury.errors import InputError, MissingExtraError

__all__ = ["hub_dataset"]


def hub_dataset(name: str) -> Any:
    """A dataset called `hf:NAME[:SPLIT]`.

    Raises:
        InputError: it cannot be loaded, or has several splits and none is named.
        MissingExtraError: the package is not installed.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{name} needs the package {error.name}, which is not installed: pip install datasets"
        ) from None
    folder, _, split = name.removeprefix("hf:").partition(":")
    try:
        here = Path(folder)
        kept = (here / "dataset_info.json").exists() or (here / "dataset_dict.json").exists()
        data = datasets.load_from_disk(folder) if kept else datasets.load_dataset(folder)
    except Exception as error:  # whatever the hub's clients raise
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise InputError(
            f"hf:{folder}: the dataset cannot be loaded ({type(error).__name__}: {reason:.200}); "
            "check the name and the network, or name a folder written by save_to_disk"
        ) from None
    if isinstance(data, dict):
        if not split and len(data) > 1:
            raise InputError(
                f"hf:{folder}: has splits {', '.join(data)}; name one, e.g. "
                f"hf:{folder}:{next(iter(data))}"
            )
        split = split or next(iter(data))
        if split not in data:
            raise InputError(f"hf:{folder}: has no split {split[:60]!r}; it has {', '.join(data)}")
        data = data[split]
    return data

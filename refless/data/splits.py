"""Splits of rated sentences into train, dev and test, with no source in two of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gecjury.arrays import IntArray
from gecjury.corpus.leakage import normalise
from gecjury.errors import InputError
from gecjury.refless.data.annotations import Annotations

__all__ = ["Split", "split_as_named", "split_by_source"]

_LEAST = 2


@dataclass(frozen=True)
class Split:
    """Row numbers of each part, in order of the data."""

    train: IntArray
    dev: IntArray
    test: IntArray

    def __str__(self) -> str:
        return f"{len(self.train)} train, {len(self.dev)} dev, {len(self.test)} test"


def split_by_source(
    data: Annotations, seed: int = 0, *, dev: float = 0.1, test: float = 0.1
) -> Split:
    """Draw a split in which each source, and so all its corrections, stands in one part.

    Sources are compared after normalising (see `gecjury.corpus.leakage.normalise`); rows without a
    source are grouped by their own text. The shares are met as nearly as whole groups allow: on
    TMU-GFM about the 3,376/422/423 of Yoshimura et al. (2020), whose own split is not public.

    Args:
        data: what to split.
        seed: of the draw.
        dev: share of dev.
        test: share of test.

    Raises:
        InputError: a part would hold fewer than two rows.
    """
    keys = [normalise(s or o) for s, o in zip(data.sources, data.outputs, strict=True)]
    groups: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    members = list(groups.values())
    order = np.random.default_rng(seed).permutation(len(members))
    parts: dict[str, list[int]] = {"dev": [], "test": [], "train": []}
    wanted = {"dev": round(dev * len(data)), "test": round(test * len(data))}
    for index in order:
        group = members[index]
        part = next((p for p, size in wanted.items() if len(parts[p]) < size), "train")
        parts[part] += group
    return _checked(parts, f"{len(data)} rows of {len(members)} sources")


def split_as_named(data: Annotations) -> Split:
    """The split that the data brings along (`Annotations.names`).

    Raises:
        InputError: a part holds fewer than two rows.
    """
    parts: dict[str, list[int]] = {"train": [], "dev": [], "test": []}
    for row, name in enumerate(data.names):
        parts[name].append(row)
    return _checked(parts, "the split column")


def _checked(parts: dict[str, list[int]], what: str) -> Split:
    for part in ("train", "dev", "test"):
        if len(parts[part]) < _LEAST:
            raise InputError(
                f"too few rows for a split: {what} leave {len(parts[part])} for {part}, "
                f"expected at least {_LEAST}; give more data, or the parts as files (--dev, --test)"
            )
    return Split(*(np.array(sorted(parts[p]), dtype=np.int64) for p in ("train", "dev", "test")))

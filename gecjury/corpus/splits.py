"""Random splits of sources into train, dev and test, with no source in two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import IntArray
from gecjury.corpus.leakage import normalise

_SHARE = 0.1  # of rows, for dev and for test


@dataclass(frozen=True)
class Split:
    """Row numbers of each part, in order of the data."""

    train: IntArray
    dev: IntArray
    test: IntArray

    def __str__(self) -> str:
        return f"{len(self.train)} train, {len(self.dev)} dev, {len(self.test)} test"


def split_sources(sources: Sequence[str], seed: int = 0) -> Split:
    """Draw a split in which each source, and so all its corrections, is in one part.

    Sources are compared after normalising (see `gecjury.corpus.leakage.normalise`). Dev and test
    are as close to a tenth each as whole groups allow: on TMU-GFM about the 3,376/422/423 of
    Yoshimura et al. (2020), whose own split is not public.

    Args:
        sources: source of each row; rows of equal sources stay together.
        seed: seed of the draw.

    Returns:
        Row numbers; a part is empty where there are too few sources.
    """
    groups: dict[str, list[int]] = {}
    for row, source in enumerate(sources):
        groups.setdefault(normalise(source), []).append(row)
    together = list(groups.values())
    parts: dict[str, list[int]] = {"dev": [], "test": [], "train": []}
    wanted = round(_SHARE * len(sources))
    for index in np.random.default_rng(seed).permutation(len(together)):
        part = next((p for p in ("dev", "test") if len(parts[p]) < wanted), "train")
        parts[part] += together[index]
    return Split(**{part: np.array(sorted(rows), dtype=np.int64) for part, rows in parts.items()})

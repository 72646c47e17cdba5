"""Splits of rated sentences into train, dev and test: drawn by source, or as the data says."""

from __future__ import annotations

import numpy as np

from gecjury.corpus.leakage import normalise
from gecjury.corpus.splits import Split, split_sources
from gecjury.errors import InputError
from gecjury.refless.data.annotations import Annotations

_LEAST = 2


def split_by_source(
    data: Annotations, seed: int = 0, *, dev: float = 0.1, test: float = 0.1
) -> Split:
    """Draw a split in which each source, and so all its corrections, stands in one part.

    Rows without a source are grouped by their own text; see `gecjury.corpus.splits.split_sources`.

    Args:
        data: what to split.
        seed: of the draw.
        dev: share of dev.
        test: share of test.

    Raises:
        InputError: a part would hold fewer than two rows.
    """
    keys = [source or output for source, output in zip(data.sources, data.outputs, strict=True)]
    sources = len(set(map(normalise, keys)))
    split = split_sources(keys, seed, dev=dev, test=test)
    return _checked(split, f"{len(data)} rows of {sources} sources")


def split_as_named(data: Annotations) -> Split:
    """The split that the data brings along (`Annotations.names`).

    Raises:
        InputError: a part holds fewer than two rows.
    """
    names = np.array(data.names, dtype=np.str_)
    parts = {part: np.flatnonzero(names == part) for part in ("train", "dev", "test")}
    return _checked(Split(**parts), "the split column")


def _checked(split: Split, what: str) -> Split:
    for part in ("train", "dev", "test"):
        rows = getattr(split, part)
        if len(rows) < _LEAST:
            raise InputError(
                f"too few rows for a split: {what} leave {len(rows)} for {part}, "
                f"expected at least {_LEAST}; give more data, or the parts as files (--dev, --test)"
            )
    return split

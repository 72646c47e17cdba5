"""The sources that training on TMU-GFM keeps for its test part, asked for by the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gecjury.corpus.leakage import normalise
from gecjury.refless.data.annotations import read_annotations
from gecjury.refless.data.splits import split_by_source

__all__ = ["held_out"]


def held_out(path: Path, sources: Sequence[str], seed: int = 0) -> list[bool]:
    """Which sources are in the test part of the split that training draws by default.

    Args:
        path: the ratings trained on.
        sources: sources of the same file.
        seed: of the split, `--split-seed`.

    Returns:
        One entry a source.
    """
    data = read_annotations(path)
    split = split_by_source(data, seed)
    test = {normalise(data.sources[row]) for row in split.test}
    return [normalise(source) in test for source in sources]

"""Outputs without words: an empty line earns nothing where its reference has a word.

A system that deletes a whole sentence also deletes what a reference deletes, and has no n-grams or
edits that could be wrong. Metrics that would credit such an output count nothing of it as right.
"""

from __future__ import annotations

import numpy as np

from gecjury.core.arrays import BoolArray
from gecjury.corpus.corpus import Corpus


def wordless(corpus: Corpus) -> BoolArray:
    """Return where an output has no word although the reference has one.

    Returns:
        Systems × sentences × references.
    """
    shape = len(corpus.systems), len(corpus), len(corpus.references)
    result = np.zeros(shape, dtype=bool)
    for of_system, version in zip(result, corpus.systems.values(), strict=True):
        empty = [row for row, line in enumerate(map(str.strip, version.lines)) if not line]
        for row in empty:
            of_system[row] = [bool(r.lines[row].strip()) for r in corpus.references]
    return result

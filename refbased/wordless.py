"""Outputs without words: an empty line earns nothing where its reference has a word.

A system that deletes a whole sentence also deletes what a reference deletes, and has no n-grams or
edits that could be wrong. Metrics that would credit such an output count nothing of it as right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gecjury.arrays import BoolArray
from gecjury.corpus.corpus import Corpus


def wordless(corpus: Corpus) -> BoolArray:
    """Return where an output has no word although the reference has one.

    Returns:
        Systems × sentences × references.
    """
    worded = [_worded(version.lines) for version in corpus.references]
    result = np.zeros((len(corpus.systems), len(corpus), len(worded)), dtype=bool)
    for of_system, version in zip(result, corpus.systems.values(), strict=True):
        empty = np.flatnonzero(~_worded(version.lines))
        for reference, words in enumerate(worded):
            of_system[empty, reference] = words[empty]
    return result


def _worded(lines: Sequence[str]) -> BoolArray:
    """Return which lines contain a character that is not white space."""
    return np.fromiter(map(str.strip, lines), np.bool_, len(lines))

"""The metric `changes`: how many tokens differ from the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.corpus import Corpus
from gecjury.runtime import Runtime
from gecjury.scorer import MeanScorer
from gecjury.scoretable import Statistics

__all__ = ["Changes", "token_distance"]


@dataclass(frozen=True)
class Changes(MeanScorer):
    """Tokens inserted, deleted or replaced: the Levenshtein distance from the source.

    0 or more. It looks at no correction and is no measure of quality: where people prefer whoever
    changes more, it agrees with them, so it is what other metrics have to beat there. A jury
    learns from judgments whether more of it is better (`directed` is false). The corpus score is
    the mean number a sentence.
    """

    name: ClassVar[str] = "changes"
    family: ClassVar[str] = "refless"
    summary: ClassVar[str] = "tokens changed; not a measure of quality, a baseline to beat"
    directed: ClassVar[bool] = False

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Distances, systems × sentences."""
        sources = [source.split() for source in corpus.sources]
        values = np.empty((len(corpus.systems), len(corpus)))
        known: dict[tuple[int, str], int] = {}
        for row, version in enumerate(corpus.systems.values()):
            for column, line in enumerate(version.lines):
                if (column, line) not in known:
                    known[column, line] = token_distance(sources[column], line.split())
                values[row, column] = known[column, line]
        return Statistics(values)


def token_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Levenshtein distance of two token sequences, each operation at cost 1."""
    start, ends = 0, (len(first), len(second))
    while start < min(ends) and first[start] == second[start]:
        start += 1
    while min(ends) > start and first[ends[0] - 1] == second[ends[1] - 1]:
        ends = ends[0] - 1, ends[1] - 1
    left, right = first[start : ends[0]], second[start : ends[1]]
    above = list(range(len(right) + 1))
    for row, token in enumerate(left, 1):
        line = [row]
        for column, other in enumerate(right, 1):
            replaced = above[column - 1] + (token != other)
            line.append(min(replaced, above[column] + 1, line[-1] + 1))
        above = line
    return above[-1]

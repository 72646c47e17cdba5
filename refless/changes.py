"""The metric `changes`: how many tokens differ from the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.abilities import CountsInParts
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class Changes(MeanScorer, CountsInParts):
    """Tokens inserted, deleted or replaced: the Levenshtein distance from the source.

    0 or more. It does not check whether a change is right, so it does not measure quality. Where
    people prefer systems that change more, it agrees with them, so it is a baseline for other
    metrics to beat. Whether more changes are better is not known (`directed` is false). The corpus
    score is the mean number per sentence.
    """

    name: ClassVar[str] = "changes"
    family: ClassVar[str] = "refless"
    summary: ClassVar[str] = "tokens changed; not a measure of quality, a baseline to beat"
    paper: ClassVar[str] = "this package"
    directed: ClassVar[bool] = False

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Distances, systems × sentences."""
        from rapidfuzz.distance import Levenshtein

        sources = [source.split() for source in corpus.sources]
        values = np.empty((len(corpus.systems), len(corpus)))
        for row, version in enumerate(corpus.systems.values()):
            for column, line in enumerate(version.lines):
                values[row, column] = Levenshtein.distance(sources[column], line.split())
        return Statistics(values)

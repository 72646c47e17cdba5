"""Statistics of a large corpus on disk, counted and scored part by part."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from gecjury.core.arrays import NumberArray, blocks
from gecjury.core.runtime import Progress, Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scores import Scores, Statistics

CountedPart: TypeAlias = Any
"""Counts of a part of a corpus, which the metric joins: its statistics, or more than these."""

_PART = 1 << 15  # sentences of a corpus on disk that are held at once


class CountsInParts(ABC):
    """Mix-in of metrics whose statistics of a corpus can be combined from those of its parts.

    A corpus on disk is then read part by part; otherwise it is loaded as a whole.
    """

    @abstractmethod
    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Read the corpus once, as every scorer does."""

    @abstractmethod
    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the score of every single sentence, as every scorer does."""

    def by_parts(self, corpus: Corpus) -> bool:
        """Return True unless the statistics depend on the whole corpus."""
        return True

    def count_part(self, corpus: Corpus, runtime: Runtime) -> CountedPart:
        """Return what `join_parts` needs from a part of a corpus on disk: its statistics.

        Values that need the whole corpus are left to `join_parts`.
        """
        return self.statistics(corpus, runtime)

    def join_parts(self, parts: Iterable[CountedPart], corpus: Corpus) -> Statistics:
        """Return the statistics of a corpus from those of its parts.

        Counts by error type (`by_type`), the only details, are summed.

        Args:
            parts: results of `count_part`, in order, each computed when it is requested.
            corpus: the whole corpus, whose texts may be on disk.
        """
        values: NumberArray | None = None
        details: dict[str, dict[str, dict[str, list[float]]]] = {}
        notes: dict[str, str] = {}
        done = 0
        for part in parts:
            rows = slice(done, done + part.values.shape[1])
            if rows == slice(0, len(corpus)):
                whole: Statistics = part
                return whole
            # Allocated once and filled in, since joining the parts would need twice the memory.
            if values is None:
                shape = (len(part.values), len(corpus), *part.values.shape[2:])
                values = np.empty(shape, part.values.dtype)
            values[:, rows] = part.values
            for name, by_system in part.details.items():
                for system, counts in by_system.items():
                    sums = details.setdefault(name, {}).setdefault(system, {})
                    for kind, more in counts.items():
                        before = sums.get(kind, [0] * len(more))
                        sums[kind] = [a + b for a, b in zip(before, more, strict=True)]
            # Of remarks that differ only in numbers, keep the first, as for datasets.
            where = f"lines {rows.start + 1} to {rows.stop}, counted from the first of them"
            for note in part.notes:
                notes.setdefault(re.sub(r"\d+", "#", note), f"{where}: {note}")
            done = rows.stop
            del part  # its memory is freed before the next part is computed
        assert values is not None  # no corpus is empty
        return Statistics(values, details=details, notes=tuple(notes.values()))


def counted_in_parts(
    scorer: CountsInParts, name: str, corpus: Corpus, runtime: Runtime
) -> Statistics:
    """Return the statistics of a corpus on disk, of which one part at a time is held.

    Args:
        name: name of the metric, for the progress bar.
    """
    bare = replace(runtime, progress=Progress())

    def counted() -> Iterator[CountedPart]:
        with runtime.progress.task(name, len(corpus)) as bar:
            for rows in blocks(len(corpus), 1, _PART):
                yield scorer.count_part(corpus.take(range(rows.start, rows.stop)), bare)
                bar.advance(rows.stop - rows.start)

    return scorer.join_parts(counted(), corpus)


def scored_in_parts(scorer: CountsInParts, statistics: Statistics, count: int) -> Scores:
    """Return the sentence scores of a corpus of so many sentences, computed part by part."""
    parts = (
        scorer.sentence_scores(Statistics(statistics.values[:, rows]))
        for rows in blocks(count, 1, _PART)
    )
    return Scores.joined(parts, count)
